"""Where the matches and the late events of a job go: from `--out` and `--late` to what executors and driver do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.cap import Cap, Tally
from connectors.staging import RowStager, remove_stale
from runtime.spark.ends.console import Console, sortable
from runtime.spark.ends.directory import LATE, MATCHES, FilePublication, FileStager, clean
from runtime.spark.ends.lines import lines, values
from runtime.spark.ends.offset_log import OffsetLog
from runtime.spark.ends.sinks import End, sink, staging_of
from runtime.spark.flow.late import LateUnpacker
from runtime.spark.flow.unpack import Unpacker
from runtime.spark.job.start import KAFKA, Job, Prepared, kafka_config, located

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def outputs(
    prepared: Prepared, found: DataFrame, tally: Tally, check: Callable[[], None] | None = None
) -> tuple[DataFrame, Callable[[DataFrame, int], None]]:
    """What executors do with matches and late events, and what the driver then does with each batch, after `check`."""
    job = prepared.job
    matches, late = _topic_ends(prepared, tally)
    if matches is None:
        matches = _console_end(job, tally) if job.out == "-" else _directory_end(prepared, job.out, MATCHES, tally)
    if late is None and job.late is not None:
        late = _directory_end(prepared, job.late, LATE, tally)
    unpack_late = LateUnpacker.of(prepared.plans, job.inputs) if late is not None else None
    return sink(found, Unpacker.of(prepared.plans), matches, unpack_late, late, check)


def _topic_ends(prepared: Prepared, tally: Tally) -> tuple[End | None, End | None]:
    """The ends for matches and for late events that are topics."""
    job = prepared.job
    topics = [spec.removeprefix(KAFKA) if spec.startswith(KAFKA) else None for spec in (job.out, job.late or "")]
    if topics == [None, None]:
        return None, None
    from runtime.spark.ends.kafka_ends import KafkaOutput, kafka_ends

    output = KafkaOutput(
        topic=topics[0],
        late_topic=topics[1],
        config=kafka_config(job),
        job=prepared.manifest.job,
        checkpoint=job.checkpoint,
        on_rewind=job.on_rewind,
        cap=Cap(job.max_matches, job.on_too_many),
        tally=tally,
    )
    return kafka_ends(output)


def _console_end(job: Job, tally: Tally) -> End:
    staging = staging_of(located(job.checkpoint))
    remove_stale(staging)
    console = Console(staging=staging, cap=Cap(job.max_matches, job.on_too_many), tally=tally)
    return End(RowStager(staging=staging, prepare=sortable), console.publish)


def _directory_end(prepared: Prepared, spec: str, kind: str, tally: Tally) -> End:
    job, name, directory = prepared.job, prepared.manifest.job[:8], str(Path(spec).absolute())
    clean(Path(directory), name)
    cap = Cap(job.max_matches, job.on_too_many) if kind == MATCHES else Cap()
    publication = FilePublication(
        directory=directory,
        job=name,
        kind=kind,
        ranges=OffsetLog(job.checkpoint),
        on_rewind=job.on_rewind,
        cap=cap,
        tally=tally,
    )
    stager = FileStager(directory=directory, job=name, text=lines if kind == MATCHES else values)
    return End(stager, publication.publish)

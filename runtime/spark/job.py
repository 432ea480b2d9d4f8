"""`cep run` without its command line: from plans and bindings to a running query, and until it ends."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from cep.model import Stream
from cep.plan import Plan
from connectors.kafka.config import KafkaConfig, KafkaFailureError
from runtime.spark import manifest as manifests
from runtime.spark.errors import JobError
from runtime.spark.sources import FileInput, read_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from runtime.spark.progress import Batch

KAFKA = "kafka:"
DEFAULT_BUCKETS = 16
_POLL = 0.2
logger = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the command line says."""

    inputs: Mapping[str, str]
    out: str
    checkpoint: str
    once: bool = False
    name: str = "cep"
    master: str | None = None
    buckets: int | None = None
    trigger: str | None = None
    on_error: str = "fail"
    on_pattern_change: str = "fail"
    kind: str | None = None
    bootstrap: str | None = None
    kafka_source: str = "auto"
    kafka_options: Mapping[str, str] = field(default_factory=dict)
    starting_offsets: str = "earliest"
    on_data_loss: str = "fail"
    max_files: int | None = None
    max_offsets: int | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    debug: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A job that the checkpoint allows."""

    job: Job
    plans: tuple[Plan, ...]
    manifest: manifests.Manifest
    changes: tuple[manifests.Change, ...]

    @property
    def streams(self) -> tuple[str, ...]:
        """The bound streams in the order of the job's sources."""
        return tuple(sorted(self.job.inputs))


def prepare(job: Job, plans: Sequence[Plan]) -> Prepared:
    """Compare the job with its checkpoint and look at its ends, before Spark is started; writes the manifest."""
    from runtime.spark.dataflow import make_layout, plans_of

    ordered = plans_of(plans)
    old = manifests.load(job.checkpoint)
    new, changes = manifests.reconcile(old, ordered, tuple(job.inputs), job.buckets, job.on_pattern_change)
    if old is None and job.buckets is None:
        new = manifests.Manifest(job=new.job, buckets=_cores(job.master), streams=new.streams, patterns=new.patterns)
    make_layout(ordered, job.inputs, new.buckets, new.generations)
    _check_ends(job)
    manifests.store(new, job.checkpoint)
    return Prepared(job=job, plans=ordered, manifest=new, changes=tuple(changes))


def start(prepared: Prepared, spark: SparkSession) -> StreamingQuery:
    """Start the query. Raises `JobError` where a stream does not fit."""
    from runtime.spark.dataflow import packed_matches

    job = prepared.job
    frames = _frames(prepared, spark)
    found = packed_matches(
        prepared.plans,
        frames,
        buckets=prepared.manifest.buckets,
        on_pattern_change=job.on_pattern_change,
        generations=prepared.manifest.generations,
    )
    writer = _writer(prepared, found)
    writer = writer.queryName(job.name).outputMode("append").option("checkpointLocation", _located(job.checkpoint))
    if job.once:
        writer = writer.trigger(availableNow=True)
    elif job.trigger is not None:
        writer = writer.trigger(processingTime=job.trigger)
    query: StreamingQuery = writer.start()
    return query


def follow(
    query: StreamingQuery, prepared: Prepared, report: Callable[[Batch], None], stopping: Callable[[], bool]
) -> None:
    """Report each batch until the query ends, or until it has finished its batch after `stopping` says so.

    Raises what ended the query.
    """
    from runtime.spark.progress import batch_of

    patterns = [plan.pattern for plan in prepared.plans]
    topics = [name for name, spec in prepared.job.inputs.items() if spec.startswith(KAFKA)]
    seen = -1
    last_batch: int | None = None
    while True:
        ended = query.awaitTermination(_POLL)  # type: ignore[arg-type]  # fractions of a second are fine
        fresh = [progress for progress in query.recentProgress if progress.batchId > seen]
        for progress in fresh:
            seen = max(seen, progress.batchId)
            if progress.numInputRows or "addBatch" in progress.durationMs:
                report(batch_of(progress, prepared.streams, patterns, topics))
        if ended:
            return
        if stopping():
            last_batch = seen if last_batch is None else last_batch
            if seen > last_batch or not query.status["isTriggerActive"]:
                query.stop()
                return


# --- ends ----------------------------------------------------------------------------------------------------------


def _check_ends(job: Job) -> None:
    if not job.inputs:
        raise JobError("expected at least one --in STREAM=SOURCE")
    kafka = [spec for spec in (*job.inputs.values(), job.out) if spec.startswith(KAFKA)]
    if kafka and job.bootstrap is None and "bootstrap.servers" not in job.kafka_options:
        raise JobError(f"{kafka[0]} needs --bootstrap HOST:PORT")
    for stream, spec in job.inputs.items():
        if (
            not spec.startswith(KAFKA)
            and "://" not in spec
            and not any(c in spec for c in "*?[")
            and not Path(spec).exists()
        ):
            raise JobError(f"--in {stream}={spec}: no such file or directory")
    if kafka:
        _check_topics(job, kafka)
    if job.out != "-" and not job.out.startswith(KAFKA):
        if "://" in job.out:
            raise JobError(
                f"--out {job.out}: expected a directory on a mounted file system; elsewhere, write the DataFrame of "
                "runtime.spark.detect with a Spark sink"
            )
        try:
            Path(job.out).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JobError(f"--out {job.out}: {error.strerror}") from error


def _check_topics(job: Job, specs: Sequence[str]) -> None:
    from connectors.kafka.cluster import ensure_topics, partitions_of

    config = kafka_config(job)
    try:
        for spec in specs:
            topic = spec.removeprefix(KAFKA)
            if spec == job.out:
                ensure_topics(config, [topic], create=False)
            else:
                partitions_of(config, topic, None)
    except KafkaFailureError as error:
        raise JobError(str(error)) from error


def kafka_config(job: Job) -> KafkaConfig:
    """The client settings of a job."""
    settings = dict(job.kafka_options)
    if job.bootstrap is not None:
        settings["bootstrap.servers"] = job.bootstrap
    return KafkaConfig.of(settings)


def redacted(job: Job, text: str) -> str:
    """A text without the job's secrets."""
    has_kafka = job.bootstrap is not None or "bootstrap.servers" in job.kafka_options
    return kafka_config(job).redact(text) if has_kafka else text


def _frames(prepared: Prepared, spark: SparkSession) -> dict[str, DataFrame]:
    from runtime.spark.dataflow import make_layout

    job = prepared.job
    made = make_layout(prepared.plans, job.inputs, prepared.manifest.buckets, {})
    feeds = {feed.stream.name: feed for feed in made.feeds}
    frames = {}
    for name, spec in job.inputs.items():
        feed = feeds.get(name)
        stream: Stream | None = feed.stream if feed is not None else None
        columns = feed.columns if feed is not None else ()
        if spec.startswith(KAFKA):
            from runtime.spark.kafka_ends import KafkaInput, read_kafka

            topic = KafkaInput(
                topic=spec.removeprefix(KAFKA),
                config=kafka_config(job),
                source=job.kafka_source,
                starting_offsets=job.starting_offsets,
                max_offsets=job.max_offsets,
                on_error=job.on_error.partition("=")[0],
                fail_on_data_loss=job.on_data_loss == "fail",
            )
            frames[name] = read_kafka(spark, topic, columns)
        else:
            files = FileInput(
                stream=name, path=spec, kind=job.kind, on_error=job.on_error, files_per_trigger=job.max_files
            )
            frames[name] = read_files(spark, files, stream, columns)
    return frames


def _writer(prepared: Prepared, found: DataFrame) -> Any:
    from runtime.spark.dataflow import unpacked

    job = prepared.job
    if job.out == "-":
        return unpacked(found, prepared.plans).writeStream.foreachBatch(_print)
    if job.out.startswith(KAFKA):
        from runtime.spark.kafka_ends import match_writer

        staging = f"{job.checkpoint.rstrip('/')}/staging"
        topic = job.out.removeprefix(KAFKA)
        return match_writer(found, prepared.plans, kafka_config(job), topic, prepared.manifest.job, staging)
    from runtime.spark.sinks import write_files
    from runtime.spark.unpack import Unpacker

    packed = found.select("pattern", "blob").filter("blob IS NOT NULL")
    return write_files(packed, str(Path(job.out).absolute()), prepared.manifest.job[:8], Unpacker.of(prepared.plans))


def _print(matches: DataFrame, _batch: int) -> None:
    from runtime.spark.sinks import lines

    for batch in matches.toArrow().to_batches():
        sys.stdout.writelines(lines(batch))
    sys.stdout.flush()


def _located(checkpoint: str) -> str:
    directory = manifests.local(checkpoint)
    return str(directory.absolute()) if directory is not None else checkpoint


def ship(spark: SparkSession) -> None:
    """Send our code to the executors of a cluster."""
    from runtime.spark.package import package

    directory = Path(tempfile.mkdtemp(prefix="cep-"))
    spark.addArtifacts(str(package(directory / "cep_engine.zip")), pyfile=True)


def is_local(master: str | None) -> bool:
    """Whether executors run in this process's environment."""
    return master is None or re.fullmatch(r"local(\[.*\])?", master) is not None


def _cores(master: str | None) -> int:
    if not is_local(master):
        return DEFAULT_BUCKETS
    match = re.fullmatch(r"local\[(\d+)(?:,.*)?\]", master or "")
    return int(match[1]) if match else (1 if master == "local" else os.cpu_count() or 1)

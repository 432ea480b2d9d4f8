"""`cep run` without its command line: from plans and bindings to a running query, and until it ends."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from cep.ir.model import Stream
from cep.ir.plan import Plan
from cep.ir.types import MICROS
from connectors.cap import Tally
from connectors.files.times import max_ahead, readable
from connectors.kafka.config import KafkaConfig, KafkaFailureError
from runtime.spark.ends import manifest as manifests
from runtime.spark.ends.sources import FileInput, read_files
from runtime.spark.errors import JobError
from runtime.state.id_key import IdKey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from connectors.kafka.settings import Heartbeat
    from runtime.spark.ends.kafka_ends import KafkaInput
    from runtime.spark.watch.follow import Running

KAFKA = "kafka:"
DEFAULT_BUCKETS = 16
DEFAULT_AHEAD = MICROS["DAY"]
"""How far after the clock of the machine that reads it an event may be, where nobody says."""
DEFAULT_OFFSETS = 1_000_000
"""Kafka offsets of all streams in a batch, unless told otherwise: the first batch of a new job must end some day."""
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
    strict_schema: bool = False
    bootstrap: str | None = None
    kafka_source: str = "auto"
    kafka_options: Mapping[str, str] = field(default_factory=dict)
    starting_offsets: str = "earliest"
    on_data_loss: str = "fail"
    max_files: int | None = None
    max_offsets: int | None = None
    max_ahead: int | None = None
    max_matches: int | None = None
    on_too_many: str = "fail"
    on_rewind: str = "fail"
    conf: Mapping[str, str] = field(default_factory=dict)
    debug: bool = False
    id_key: IdKey | None = None
    restart: str = "on-failure"
    late: str | None = None
    """Where late events go: `kafka:TOPIC` or a directory. None: they are counted."""


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
    from runtime.spark.flow.dataflow import make_layout, plans_of

    ordered = plans_of(plans)
    old = manifests.load(job.checkpoint)
    new, changes = manifests.reconcile(old, ordered, tuple(job.inputs), job.buckets, job.on_pattern_change)
    new = manifests.with_id_key(new, old, job.id_key.digest if job.id_key is not None else None)
    if old is None and job.buckets is None:
        new = replace(new, buckets=_cores(job.master))
    make_layout(ordered, job.inputs, new.buckets, new.generations)
    _check_silence(job, ordered)
    _check_ends(job)
    (manifests.create if old is None else manifests.store)(new, job.checkpoint)
    return Prepared(job=job, plans=ordered, manifest=new, changes=tuple(changes))


def start(prepared: Prepared, spark: SparkSession) -> Running:
    """Start the query; `runtime.spark.watch.follow.follow` is next. Raises `JobError` where a stream does not fit."""
    from runtime.spark.flow.dataflow import EMPTY_BATCHES, packed_matches, waits
    from runtime.spark.job.outputs import outputs
    from runtime.spark.watch.follow import Gate, Gated, Progresses, Running

    job = prepared.job
    if EMPTY_BATCHES not in job.conf:
        spark.conf.set(EMPTY_BATCHES, "true" if waits(prepared.plans) else "false")
    sources = _sources(prepared, spark)
    frames = _frames(prepared, spark, sources)
    found = packed_matches(
        prepared.plans,
        frames,
        buckets=prepared.manifest.buckets,
        on_pattern_change=job.on_pattern_change,
        generations=prepared.manifest.generations,
        id_key=job.id_key,
        keep_late=job.late is not None,
    )
    tally = Tally()
    rows, sink = outputs(prepared, found, tally, _guard(job, sources))
    gate = Gate()
    writer = rows.writeStream.foreachBatch(Gated(gate, sink))
    writer = writer.queryName(job.name).outputMode("append").option("checkpointLocation", located(job.checkpoint))
    if job.once:
        writer = writer.trigger(availableNow=True)
    elif job.trigger is not None:
        writer = writer.trigger(processingTime=job.trigger)
    progresses = Progresses(spark)
    try:
        query = writer.start()
    except BaseException:
        progresses.close()
        raise
    return Running(
        query=query,
        progresses=progresses,
        gate=gate,
        streams=prepared.streams,
        patterns=[plan.pattern for plan in prepared.plans],
        topics=[name for name, spec in job.inputs.items() if spec.startswith(KAFKA)],
        tally=tally,
    )


def _check_silence(job: Job, plans: Sequence[Plan]) -> None:
    """Only our own source knows that it has read everything, and here there is a choice."""
    for name, delay in promised(job, plans).items():
        if delay is not None and job.kafka_source == "jvm":
            waiting = next(plan.pattern for plan in plans if plan.hold is not None)
            raise JobError(
                f"--kafka-source jvm: stream `{name}` is declared with IDLE AFTER, and pattern `{waiting}` waits for "
                "it while it is silent: only topics that are read by the Python source have heartbeats. Use "
                "--kafka-source python, or leave the clause out and send an event of the stream (of any key) from "
                "time to time"
            )


def promised(job: Job, plans: Sequence[Plan]) -> dict[str, int | None]:
    """By stream with event time: after how many microseconds its silence says something.

    None: never; without `IDLE AFTER`, and for files, of which nobody knows when the next one comes. Empty where no
    pattern waits for the watermark: then nobody needs to know.
    """
    if all(plan.hold is None for plan in plans):
        return {}
    return {
        stream.name: stream.idle_after if job.inputs.get(stream.name, "").startswith(KAFKA) else None
        for plan in plans
        for stream in plan.streams
        if stream.time is not None
    }


# --- ends ----------------------------------------------------------------------------------------------------------


def _check_ends(job: Job) -> None:
    if not job.inputs:
        raise JobError("expected at least one --in STREAM=SOURCE")
    outputs = {"--out": job.out} | ({} if job.late is None else {"--late": job.late})
    kafka = [spec for spec in (*job.inputs.values(), *outputs.values()) if spec.startswith(KAFKA)]
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
    if job.late is not None:
        _check_late(job, job.late)
    if kafka:
        _check_topics(job)
    for option, spec in outputs.items():
        if spec != "-" and not spec.startswith(KAFKA):
            _check_directory(option, spec)


def _check_late(job: Job, late: str) -> None:
    """Late events go where neither matches nor events are: a directory is read with what is below it."""
    if late == "-":
        raise JobError("--late -: expected kafka:TOPIC or a directory")
    others = {"--out": job.out} | {f"--in {stream}": spec for stream, spec in job.inputs.items()}
    for option, spec in others.items():
        same = spec == late
        if not (same or spec.startswith(KAFKA) or late.startswith(KAFKA) or "://" in spec):
            same = Path(late).resolve().is_relative_to(Path(spec).resolve())
        if same:
            what = "topic" if late.startswith(KAFKA) else "directory"
            raise JobError(f"--late {late}: expected a {what} of its own, found that of {option}")


def _check_directory(option: str, spec: str) -> None:
    if "://" in spec:
        raise JobError(
            f"{option} {spec}: expected a directory on a mounted file system; elsewhere, write the DataFrame of "
            "runtime.spark.detect with a Spark sink"
        )
    try:
        Path(spec).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JobError(f"{option} {spec}: {error.strerror}") from error


def _check_topics(job: Job) -> None:
    from connectors.kafka.cluster import ensure_topics
    from connectors.kafka.dead_letter import LETTER_SETTINGS
    from connectors.kafka.oversize import SUFFIX
    from runtime.spark.ends.topics import check_topics

    config = kafka_config(job)
    inputs = sorted({spec.removeprefix(KAFKA) for spec in job.inputs.values() if spec.startswith(KAFKA)})
    outputs = [spec.removeprefix(KAFKA) for spec in (job.out, job.late or "") if spec.startswith(KAFKA)]
    try:
        if outputs:
            ensure_topics(config, outputs, create=False)
        if job.on_error == "dead-letter":  # now, not at the first bad record, which may come after a month
            ensure_topics(config, [topic + SUFFIX for topic in inputs], settings=LETTER_SETTINGS)
        check_topics(job.checkpoint, config, inputs, fail=job.on_data_loss == "fail")
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
    return kafka_config(job).redact(text) if uses_kafka(job) else text


def uses_kafka(job: Job) -> bool:
    """Whether a job names brokers."""
    return job.bootstrap is not None or "bootstrap.servers" in job.kafka_options


def _sources(prepared: Prepared, spark: SparkSession) -> dict[str, KafkaInput]:
    """The streams that are topics, each with the connector that reads it."""
    job = prepared.job
    topics = {name: spec.removeprefix(KAFKA) for name, spec in job.inputs.items() if spec.startswith(KAFKA)}
    if not topics:
        return {}
    from runtime.spark.ends.kafka_ends import KafkaInput, chosen_source

    found = {}
    for name, topic in topics.items():
        source = KafkaInput(
            topic=topic,
            config=kafka_config(job),
            source=job.kafka_source,
            starting_offsets=job.starting_offsets,
            max_offsets=max(1, (job.max_offsets or DEFAULT_OFFSETS) // len(topics)),
            on_error=job.on_error.partition("=")[0],
            fail_on_data_loss=job.on_data_loss == "fail",
            checkpoint=job.checkpoint,
            heartbeat=_heartbeat(prepared, name),
        )
        found[name] = replace(source, source=chosen_source(spark, source))
    return found


def _heartbeat(prepared: Prepared, name: str) -> Heartbeat | None:
    from connectors.kafka.settings import Heartbeat

    delay = promised(prepared.job, prepared.plans).get(name)
    if delay is None:
        return None
    time = next(stream.time for plan in prepared.plans for stream in plan.streams if stream.name == name)
    assert time is not None
    return Heartbeat(time, -(-delay // 1000))


def _guard(job: Job, sources: Mapping[str, KafkaInput]) -> Callable[[], None] | None:
    """What looks after the topics that Spark's own connector reads, None where there are none."""
    topics = [source.topic for source in sources.values() if source.source == "jvm"]
    if not topics:
        return None
    from runtime.spark.ends.topics import TopicGuard

    return TopicGuard(job.checkpoint, kafka_config(job), topics, fail=job.on_data_loss == "fail")


def _frames(prepared: Prepared, spark: SparkSession, sources: Mapping[str, KafkaInput]) -> dict[str, DataFrame]:
    from runtime.spark.flow.dataflow import make_layout

    job = prepared.job
    late = job.late is not None
    made = make_layout(prepared.plans, job.inputs, prepared.manifest.buckets, {}, every_column=late)
    feeds = {feed.stream.name: feed for feed in made.feeds}
    frames = {}
    for name, spec in job.inputs.items():
        feed = feeds.get(name)
        stream: Stream | None = feed.stream if feed is not None else None
        columns = feed.columns if feed is not None else ()
        ahead = max_ahead(stream, job.max_ahead, DEFAULT_AHEAD) if stream is not None else None
        if name in sources:
            from runtime.spark.ends.kafka_ends import read_kafka

            wanted = readable(stream, columns, ahead) if stream is not None else ()
            frames[name] = read_kafka(spark, sources[name], wanted)
        else:
            files = FileInput(
                stream=name,
                path=spec,
                kind=job.kind,
                on_error=job.on_error,
                files_per_trigger=job.max_files,
                max_ahead=ahead,
            )
            frames[name] = read_files(spark, files, stream, columns)
    return frames


def located(checkpoint: str) -> str:
    """A checkpoint as Spark is to find it, wherever it runs."""
    directory = manifests.local(checkpoint)
    return str(directory.absolute()) if directory is not None else checkpoint


def ship(spark: SparkSession) -> None:
    """Send our code to the executors of a cluster."""
    spark.addArtifacts(_packaged(), pyfile=True)


@cache
def _packaged() -> str:
    """Our code as a zip, made once: executors fetch it whenever they start."""
    from runtime.spark.package import package

    return str(package(Path(tempfile.mkdtemp(prefix="cep-")) / "cep_engine.zip"))


def is_local(master: str | None) -> bool:
    """Whether executors run in this process's environment."""
    return master is None or re.fullmatch(r"local(\[.*\])?", master) is not None


def _cores(master: str | None) -> int:
    if not is_local(master):
        return DEFAULT_BUCKETS
    match = re.fullmatch(r"local\[(\d+)(?:,.*)?\]", master or "")
    return int(match[1]) if match else (1 if master == "local" else os.cpu_count() or 1)

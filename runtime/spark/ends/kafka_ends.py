"""Kafka topics as both ends of a job; `connectors.kafka` does the work.

Source: Spark's own connector where its jar is on the class path, else the Python source `cep-kafka`. Either way records
are decoded by `connectors.kafka.decode`, and those that cannot be are an error that ends the job, left out, or sent to
`<topic>.dlq` (`fail`, `skip`, `dead-letter`). Dead letters are sent when a record is read: a batch that is repeated
sends its letters again, and topic, partition and offset in their headers tell.

Sink: transactions on the driver (`connectors.kafka.sink`), which know a batch by what the offset log says it read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from connectors.cap import Cap, Tally
from connectors.files.errors import InputError
from connectors.files.match_writer import timestamp_texts
from connectors.files.times import Column, at_clock, plain
from connectors.kafka.config import KafkaConfig
from connectors.kafka.dead_letter import DeadLetter, DeadLetters
from connectors.kafka.decode import DecodeError, decode
from connectors.kafka.settings import Heartbeat
from connectors.staging import RowStager
from runtime.spark.ends.kafka_jvm import jvm_options
from runtime.spark.ends.lines import lines
from runtime.spark.ends.sinks import End, staging_of
from runtime.spark.errors import JobError
from runtime.spark.flow.schema import HEARTBEAT
from runtime.spark.sql import SPARK_TYPES, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PREFIX = "kafka:"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaInput:
    """A topic with the events of one stream."""

    topic: str
    config: KafkaConfig
    source: str = "auto"
    starting_offsets: str = "earliest"
    max_offsets: int | None = None
    on_error: str = "fail"
    fail_on_data_loss: bool = True
    checkpoint: str | None = None
    heartbeat: Heartbeat | None = None


def chosen_source(spark: SparkSession, topic: KafkaInput) -> str:
    """`python` or `jvm`; `JobError` where the checkpoint does not allow it."""
    from runtime.spark.ends.topics import has_ids

    named = topic.checkpoint is not None and has_ids(topic.checkpoint)
    if topic.source == "jvm" and named:
        raise JobError(
            f"--kafka-source jvm: the offsets in the checkpoint {topic.checkpoint} name topic ids, as only the Python "
            "source reads them: use --kafka-source python, or a new checkpoint"
        )
    if topic.source == "auto":
        return "jvm" if not named and topic.heartbeat is None and _has_jar(spark) else "python"
    return topic.source


def read_kafka(spark: SparkSession, topic: KafkaInput, columns: Sequence[Column]) -> DataFrame:
    """The wanted columns of the events on a topic."""
    from connectors.kafka.settings import source_options
    from connectors.kafka.source import FORMAT, register

    if chosen_source(spark, topic) == "jvm":
        return _jvm(spark, topic, columns)
    register(spark)
    options = source_options(
        topic.config,
        topic=topic.topic,
        columns=columns,
        start=topic.starting_offsets,
        max_offsets=topic.max_offsets,
        fail_on_data_loss=topic.fail_on_data_loss,
        heartbeat=topic.heartbeat,
    )
    events = spark.readStream.format(FORMAT).options(**options).load()
    names = [quote(name) for name, _ in columns]
    if topic.heartbeat is not None:
        names.append(f"_offset IS NULL AS {HEARTBEAT}")
    if topic.on_error == "skip":
        return events.filter("_error IS NULL").selectExpr(*names)
    if topic.on_error == "fail":
        where = "concat('BadRecordError: ', _topic, '[', _partition, '] offset ', _offset, ': ', _error)"
        return events.filter(f"CASE WHEN _error IS NULL THEN TRUE ELSE raise_error({where}) END").selectExpr(*names)
    schema = _schema(columns) + (f", {HEARTBEAT} BOOLEAN" if topic.heartbeat is not None else "")
    letters = _Letters(columns=tuple(columns), config=topic.config, beats=topic.heartbeat is not None)
    return events.mapInArrow(letters, schema)


def _schema(columns: Sequence[Column]) -> str:
    return ", ".join(f"{quote(name)} {SPARK_TYPES[type_]}" for name, type_ in plain(columns))


def _has_jar(spark: SparkSession) -> bool:
    from pyspark.errors import PySparkException

    try:
        probe = (
            spark.readStream.format("kafka").option("subscribe", "x").option("kafka.bootstrap.servers", "127.0.0.1:1")
        )
        probe.load()
    except PySparkException:
        return False
    return True


def _jvm(spark: SparkSession, topic: KafkaInput, columns: Sequence[Column]) -> DataFrame:
    from pyspark.errors import PySparkException

    options = {"kafka.isolation.level": "read_committed"} | jvm_options(topic.config) | _start(topic.starting_offsets)
    reader = spark.readStream.format("kafka").options(**options).option("subscribe", topic.topic)
    reader = reader.option("includeHeaders", "true").option("failOnDataLoss", str(topic.fail_on_data_loss).lower())
    if topic.max_offsets is not None:
        reader = reader.option("maxOffsetsPerTrigger", topic.max_offsets)
    try:
        records = reader.load()
    except PySparkException as error:
        raise JobError(
            "Spark's Kafka connector is not on the class path: add it with --conf spark.jars.packages=..., or use "
            f"--kafka-source python ({str(error).splitlines()[0]})"
        ) from error
    decoder = _Decoder(columns=tuple(columns), config=topic.config, on_error=topic.on_error)
    return records.mapInArrow(decoder, _schema(columns))


def _start(text: str) -> dict[str, str]:
    """`earliest`, `latest` or a time, as the options of Spark's connector."""
    from connectors.kafka.settings import starting_offsets

    at = starting_offsets(text)
    if isinstance(at, str):
        return {"startingOffsets": at}
    return {"startingTimestamp": str(at), "startingOffsetsByTimestampStrategy": "latest"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Letters:
    """For `mapInArrow`: decoded records of `cep-kafka`, the bad ones sent away."""

    columns: tuple[Column, ...]
    config: KafkaConfig
    beats: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        letters = DeadLetters(self.config)
        names = [name for name, _ in self.columns]
        for batch in batches:
            bad = pc.is_valid(batch.column("_error"))
            letters.send(_letter(row) for row in batch.filter(bad).to_pylist())
            good = batch.filter(pc.invert(bad))
            events = good.select(names)
            yield events.append_column(HEARTBEAT, pc.is_null(good.column("_offset"))) if self.beats else events


def _letter(row: dict[str, object]) -> DeadLetter:
    headers = row.get("_headers") or ()
    return DeadLetter(
        str(row["_topic"]),
        int(str(row["_partition"])),
        int(str(row["_offset"])),
        str(row["_error"]),
        row["_key"],  # type: ignore[arg-type]
        row["_value"],  # type: ignore[arg-type]
        tuple((header["key"], header["value"]) for header in headers),  # type: ignore[attr-defined]
        _milliseconds(row["_timestamp"]),
    )


def _milliseconds(moment: object) -> int:
    """A record's timestamp as Kafka has it, 0 where there is none."""
    if not isinstance(moment, datetime):
        return 0
    return (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decoder:
    """For `mapInArrow`: records of Spark's own connector to events."""

    columns: tuple[Column, ...]
    config: KafkaConfig
    on_error: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        letters = DeadLetters(self.config)
        for records in batches:
            events, errors = decode(records.column("value"), at_clock(self.columns))
            if errors:
                self._report(records, errors, letters)
                good = pa.array([True] * events.num_rows).to_numpy(zero_copy_only=False)
                good[[error.row for error in errors]] = False
                events = events.filter(pa.array(good))
            yield events

    def _report(self, records: pa.RecordBatch, errors: Sequence[DecodeError], letters: DeadLetters) -> None:
        if self.on_error == "skip":
            return
        rows = records.take(pa.array([error.row for error in errors])).to_pylist()
        if self.on_error == "fail":
            first = rows[0]
            where = f"{first['topic']}[{first['partition']}] offset {first['offset']}"
            raise InputError(f"{where}: {errors[0].reason}")
        letters.send(
            DeadLetter(
                row["topic"],
                row["partition"],
                row["offset"],
                error.reason,
                row["key"],
                row["value"],
                tuple((header["key"], header["value"]) for header in row["headers"] or ()),
                _milliseconds(row["timestamp"]),
            )
            for row, error in zip(rows, errors, strict=True)
        )


# --- the sink ------------------------------------------------------------------------------------------------------


def _records(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For `RowStager`: rows of matches to records."""
    for rows in batches:
        yield pa.RecordBatch.from_arrays(
            [
                rows.column("key"),
                pa.array([line.rstrip("\n") for line in lines(rows)], pa.string()),
                rows.column("id"),
                rows.column("pattern"),
                timestamp_texts(rows.column("end")),
                rows.column("end"),
            ],
            names=["key", "value", "id", "pattern", "time", "end"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOutput:
    """Topics for matches and for late events: one of them, or both.

    `job` names the publisher for as long as the checkpoint lives.
    """

    topic: str | None
    config: KafkaConfig
    job: str
    checkpoint: str
    late_topic: str | None = None
    on_rewind: str = "fail"
    cap: Cap = field(default_factory=Cap)
    tally: Tally = field(default_factory=Tally)


def kafka_ends(output: KafkaOutput) -> tuple[End | None, End | None]:
    """The ends for matches and for late events: each exactly once, older drivers are fenced.

    There is one publisher, and one marker for both, in the marker topic of the matches where these go to a topic.
    """
    from connectors.kafka.publisher import TransactionalPublisher
    from connectors.kafka.sink import Publication
    from runtime.spark.ends.ledger import CheckpointLedger
    from runtime.spark.ends.offset_log import OffsetLog

    topic = output.topic or output.late_topic
    assert topic is not None
    staging = staging_of(output.checkpoint)
    ledger = CheckpointLedger(output.checkpoint, topic)
    with TransactionalPublisher(
        output.config, output.job, topic=topic, ledger=ledger, on_rewind=output.on_rewind
    ) as publisher:
        generation = publisher.claim()
    publication = Publication(
        config=output.config,
        topic=topic,
        job_id=output.job,
        staging=staging,
        generation=generation,
        late_topic=output.late_topic,
        ranges=OffsetLog(output.checkpoint),
        ledger=ledger,
        on_rewind=output.on_rewind,
        cap=output.cap,
        tally=output.tally,
    )
    late = RowStager(staging=staging)
    if output.topic is None:
        return None, End(late, publication.publish)
    matches = End(RowStager(staging=staging, prepare=_records), publication.publish)
    return matches, End(late, None) if output.late_topic is not None else None

"""The Spark data source `cep-kafka`: Kafka topics as a streaming DataFrame, without the JVM connector.

Offsets are planned on the driver and live in Spark's checkpoint; no consumer group commits anything. Executors read one
partition's range each and hand over Arrow batches.

Options (names as in Spark, in any case; librdkafka properties with the prefix `kafka.`):

    kafka.bootstrap.servers   required
    subscribe | subscribePattern   a topic, or a regular expression over whole topic names
    startingOffsets           earliest (default) | latest | a time: milliseconds since the epoch or ISO-8601
    maxOffsetsPerTrigger      at most so many offsets a batch
    failOnDataLoss            true (default): fail where retention overtook the query; false: warn and go on
    columns                   JSON `[["ts", "TIMESTAMP"], ...]`: decode these; without it, records come raw
    format                    json (the decoder)
    maxValueBytes             longer values are errors
    idleTimeout               seconds without progress after which a read fails (default 120)

Decoded rows have the columns asked for and `_topic`, `_partition`, `_offset`, `_timestamp`, `_error`, `_key`, `_value`,
`_headers`; the last four are NULL except for records that could not be decoded, where `_error` says why and the others
hold the record untouched. Raw rows have `key`, `value`, `headers`, `topic`, `partition`, `offset`, `timestamp`.

Guaranteed: each offset range is read whole or the task fails; only committed records are read (`isolation.level` can be
set); data loss is never silent. A limit counts offsets, of which transactions and compaction use up some.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from cep.types import Type
from connectors.files.values import ARROW, iso_micros
from connectors.kafka import offsets as plan
from connectors.kafka.cluster import Partition, admin_client, offsets, partitions_of, unreachable
from connectors.kafka.config import KafkaConfig, KafkaFailureError, logger
from connectors.kafka.decode import DECODERS, MAX_VALUE_BYTES, decode

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message
    from confluent_kafka.admin import AdminClient
    from pyspark.sql import SparkSession

FORMAT = "cep-kafka"
ROWS = 10_000
"""Rows of an Arrow batch, at most."""
_PAUSE = 0.05
_SPARK = {
    Type.INT: "bigint",
    Type.DOUBLE: "double",
    Type.STRING: "string",
    Type.BOOLEAN: "boolean",
    Type.TIMESTAMP: "timestamp",
}
_HEADERS = "array<struct<key: string, value: binary>>"
_ENVELOPE = (
    "_topic string, _partition int, _offset bigint, _timestamp timestamp, "
    f"_error string, _key binary, _value binary, _headers {_HEADERS}"
)
_RAW = f"key binary, value binary, headers {_HEADERS}, topic string, partition int, offset bigint, timestamp timestamp"
_ARROW_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of the source, checked."""

    config: KafkaConfig
    topic: str | None
    pattern: str | None
    start: str | int
    limit: int | None
    fail_on_loss: bool
    columns: tuple[tuple[str, Type], ...] | None
    decoder: str
    max_value_bytes: int
    idle: float

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Settings:
        """The settings that options give; `KafkaFailureError` names the option that is wrong."""
        lower = {name.lower(): value for name, value in options.items()}
        topic, pattern = lower.get("subscribe"), lower.get("subscribepattern")
        if (topic is None) == (pattern is None):
            raise KafkaFailureError("expected one of the options subscribe (a topic) and subscribePattern (a regex)")
        columns = lower.get("columns")
        decoder = lower.get("format", "json")
        if decoder not in DECODERS:
            raise KafkaFailureError(f"format: expected one of {', '.join(sorted(DECODERS))}, found {decoder!r}")
        return cls(
            KafkaConfig.from_options(lower),
            topic,
            pattern,
            starting_offsets(lower.get("startingoffsets", "earliest")),
            _positive(lower, "maxOffsetsPerTrigger"),
            _flag(lower, "failOnDataLoss", default=True),
            None if columns is None else tuple((name, Type(type_)) for name, type_ in json.loads(columns)),
            decoder,
            _positive(lower, "maxValueBytes") or MAX_VALUE_BYTES,
            float(_positive(lower, "idleTimeout") or 120),
        )


def source_options(
    config: KafkaConfig,
    *,
    topic: str | None = None,
    pattern: str | None = None,
    columns: Sequence[tuple[str, Type]] | None = None,
    start: str | int = "earliest",
    max_offsets: int | None = None,
    fail_on_data_loss: bool = True,
) -> dict[str, str]:
    """The options for `spark.readStream.format("cep-kafka").options(**...)`."""
    chosen: dict[str, str | None] = {
        "subscribe": topic,
        "subscribePattern": pattern,
        "startingOffsets": str(start),
        "maxOffsetsPerTrigger": None if max_offsets is None else str(max_offsets),
        "failOnDataLoss": str(fail_on_data_loss).lower(),
        "columns": None if columns is None else json.dumps([[name, type_.value] for name, type_ in columns]),
    }
    return config.options() | {name: value for name, value in chosen.items() if value is not None}


def starting_offsets(text: str) -> str | int:
    """`earliest`, `latest`, or a time in milliseconds since the epoch."""
    if text in ("earliest", "latest"):
        return text
    try:
        return int(text) if text.isdigit() else iso_micros(text) // 1000
    except ValueError:
        raise KafkaFailureError(
            f"startingOffsets: expected earliest, latest, a time in ISO-8601 or milliseconds, found {text!r}"
        ) from None


def _positive(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name.lower())
    if text is None:
        return None
    if not text.isdigit() or int(text) == 0:
        raise KafkaFailureError(f"{name}: expected a positive number, found {text!r}")
    return int(text)


def _flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name.lower(), str(default)).lower()
    if text not in ("true", "false"):
        raise KafkaFailureError(f"{name}: expected true or false, found {text!r}")
    return text == "true"


class KafkaDataSource(DataSource):
    """`spark.readStream.format("cep-kafka")`."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return FORMAT

    def schema(self) -> str:
        """The columns asked for and the record's envelope, or raw records."""
        columns = Settings.of(self.options).columns
        if columns is None:
            return _RAW
        return ", ".join([*(f"`{name}` {_SPARK[type_]}" for name, type_ in columns), _ENVELOPE])

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802, ARG002 - Spark's names
        """The source."""
        return KafkaStreamReader(Settings.of(self.options))


def register(spark: SparkSession) -> None:
    """Make the format known to a session."""
    spark.dataSource.register(KafkaDataSource)


@dataclass(frozen=True, slots=True)
class _Range(InputPartition):
    """Offsets of a partition, `start` to before `end`."""

    topic: str
    partition: int
    start: int
    end: int


class KafkaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans offsets on the driver, reads them on executors."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.target: plan.Positions | None = None
        self.reported: plan.Positions | None = None
        self._admin: AdminClient | None = None

    def __getstate__(self) -> dict[str, object]:
        """What executors get: they do not plan."""
        return {**self.__dict__, "_admin": None}

    # On the driver

    def initialOffset(self) -> dict[str, dict[str, int]]:  # noqa: N802 - Spark's name
        """Where a new query starts."""
        places = self._places()
        if not places:
            wanted = self.settings.topic or f"matching {self.settings.pattern}"
            raise KafkaFailureError(
                f"no such topic: {wanted} (at {self.settings.config.bootstrap}). Create it, or check the name"
            )
        return plan.encode(self._offsets(places, self.settings.start))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The limit that the options set."""
        return ReadAllAvailable() if self.settings.limit is None else ReadMaxRows(self.settings.limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Remember where the topics end now: the query stops there."""
        self.target = self._offsets(self._places(), "latest")

    def latestOffset(self, start: dict[str, dict[str, int]], limit: ReadLimit) -> dict[str, dict[str, int]]:  # noqa: N802 - Spark's name
        """Where the next batch ends."""
        places = self._places()
        begin, end = self._offsets(places, "earliest"), self._offsets(places, "latest")
        self.reported = end
        position = plan.decode(start)
        for loss in self._losses(position, begin, end):
            place = (loss.topic, loss.partition)
            if plan.is_new(loss):
                del position[place]
            elif loss.found is not None:
                position[place] = loss.found
        if self.target is not None:
            target = self.target
            end = {place: min(offset, target[place]) for place, offset in end.items() if place in target}
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return plan.encode(plan.advance(position, begin, end, rows))

    def reportLatestOffset(self) -> dict[str, dict[str, int]] | None:  # noqa: N802 - Spark's name
        """Where the topics ended at the last look, for the query's progress."""
        return None if self.reported is None else plan.encode(self.reported)

    def partitions(self, start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]) -> Sequence[InputPartition]:
        """One task a partition that has anything to read."""
        begin, until = plan.decode(start), plan.decode(end)
        return [
            _Range(topic, number, begin[topic, number], offset)
            for (topic, number), offset in until.items()
            if offset > begin.get((topic, number), offset)
        ]

    def _client(self) -> AdminClient:
        """One connection for all batches."""
        if self._admin is None:
            self._admin = admin_client(self.settings.config)
        return self._admin

    def _places(self) -> list[Partition]:
        return partitions_of(self.settings.config, self.settings.topic, self.settings.pattern, admin=self._client())

    def _offsets(self, places: Sequence[Partition], at: str | int) -> plan.Positions:
        committed = dict(self.settings.config.properties).get("isolation.level") != "read_uncommitted"
        return offsets(self.settings.config, places, at, committed=committed, admin=self._client())

    def _losses(self, start: plan.Positions, begin: plan.Positions, end: plan.Positions) -> list[plan.Loss]:
        losses = plan.lost(start, begin, end)
        if losses and self.settings.fail_on_loss:
            raise plan.DataLossError(losses)
        for loss in losses:
            logger.warning("data loss: %s; going on without", loss)
        return losses

    # On executors

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of a range as Arrow batches, in offset order."""
        assert isinstance(partition, _Range)
        for messages in _messages(self.settings, partition):
            if self.settings.columns is None:
                yield _raw(messages)
            else:
                yield _decoded(messages, self.settings)


def _messages(settings: Settings, part: _Range) -> Iterator[list[Message]]:
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

    client = settings.config.client(
        {"isolation.level": "read_committed", "queued.max.messages.kbytes": 32 << 10, "fetch.wait.max.ms": 100},
        group_id="cep-source",  # required by the client; nothing is ever committed
        enable_auto_commit=False,
        enable_auto_offset_store=False,
        enable_partition_eof=True,
        auto_offset_reset="error",
    )
    consumer = Consumer(client, logger=logger)
    try:
        consumer.assign([TopicPartition(part.topic, part.partition, part.start)])
        position, deadline = part.start, time.monotonic() + settings.idle
        while position < part.end:
            kept = []
            for message in consumer.consume(min(ROWS, part.end - position), _PAUSE):
                error = message.error()
                offset = message.offset() or 0
                if error is None:
                    position = offset + 1
                    if offset < part.end:
                        kept.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's name
                    position = max(position, offset)
                elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):  # noqa: SLF001 - as above
                    position = _skip_loss(settings, part, position, consumer)
                elif error.fatal() or not error.retriable():
                    raise unreachable(settings.config, KafkaException(error))
            if kept:
                deadline = time.monotonic() + settings.idle
                yield kept
            elif time.monotonic() > deadline and position < part.end:
                raise KafkaFailureError(
                    f"{part.topic}[{part.partition}]: no record from offset {position} for {settings.idle:.0f} s, "
                    f"expected records up to {part.end}. Check that the partition has a leader"
                )
    except KafkaException as error:
        raise unreachable(settings.config, error) from None
    finally:
        consumer.close()


def _skip_loss(settings: Settings, part: _Range, position: int, consumer: Consumer) -> int:
    """Where to go on after the offsets asked for have gone; raises where the user wants no loss."""
    from confluent_kafka import TopicPartition

    low = offsets(settings.config, [(part.topic, part.partition)], "earliest")[part.topic, part.partition]
    loss = plan.Loss(part.topic, part.partition, position, low)
    if settings.fail_on_loss:
        raise plan.DataLossError([loss])
    logger.warning("data loss: %s; going on without", loss)
    position = min(max(low, position), part.end) if low > position else part.end
    consumer.assign([TopicPartition(part.topic, part.partition, position)])
    return position


def _raw(messages: Sequence[Message]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([message.key() for message in messages], pa.binary()),
            pa.array([message.value() for message in messages], pa.binary()),
            pa.array([_headers(message) for message in messages], _ARROW_HEADERS),
            pa.array([message.topic() for message in messages], pa.string()),
            pa.array([message.partition() for message in messages], pa.int32()),
            pa.array([message.offset() for message in messages], pa.int64()),
            _times(messages),
        ],
        ["key", "value", "headers", "topic", "partition", "offset", "timestamp"],
    )


def _decoded(messages: Sequence[Message], settings: Settings) -> pa.RecordBatch:
    assert settings.columns is not None
    values = pa.array([message.value() for message in messages], pa.binary())
    batch, errors = decode(values, settings.columns, decoder=settings.decoder, max_value_bytes=settings.max_value_bytes)
    reasons: list[str | None] = [None] * len(messages)
    keys, raw, headers = list[Any](reasons), list[Any](reasons), list[Any](reasons)
    for row, reason in errors:
        message = messages[row]
        reasons[row], keys[row], raw[row], headers[row] = reason, message.key(), message.value(), _headers(message)
    envelope = {
        "_topic": pa.array([message.topic() for message in messages], pa.string()),
        "_partition": pa.array([message.partition() for message in messages], pa.int32()),
        "_offset": pa.array([message.offset() for message in messages], pa.int64()),
        "_timestamp": _times(messages),
        "_error": pa.array(reasons, pa.string()),
        "_key": pa.array(keys, pa.binary()),
        "_value": pa.array(raw, pa.binary()),
        "_headers": pa.array(headers, _ARROW_HEADERS),
    }
    return pa.RecordBatch.from_arrays([*batch.columns, *envelope.values()], [*batch.schema.names, *envelope])


def _headers(message: Message) -> list[dict[str, Any]] | None:
    found = message.headers()
    if found is None:
        return None
    pairs = found.items() if isinstance(found, dict) else found
    return [{"key": name, "value": value} for name, value in pairs]


def _times(messages: Sequence[Message]) -> pa.Array:
    stamps = [message.timestamp()[1] for message in messages]
    return pa.array([None if at < 0 else at * 1000 for at in stamps], pa.int64()).cast(ARROW[Type.TIMESTAMP])

"""Reading a range of a partition, on executors: records as Arrow batches, whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from cep.ir.types import Type
from connectors.files.times import at_clock
from connectors.files.values import ARROW
from connectors.kafka import offsets as plan
from connectors.kafka.cluster import identified, offsets, unreachable
from connectors.kafka.config import KafkaFailureError, logger
from connectors.kafka.decode import decode
from connectors.kafka.settings import Settings

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

ROWS = 10_000
"""Rows of an Arrow batch, at most."""
_PAUSE = 0.05
_ARROW_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))


@dataclass(frozen=True, slots=True)
class Range(InputPartition):
    """Offsets of a partition, `start` to before `end`; `id` is the topic's, None where it is not known."""

    topic: str
    partition: int
    start: int
    end: int
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Beat(InputPartition):
    """No records: everything that had arrived at a moment, in milliseconds, is read."""

    at: int


def heartbeat(settings: Settings, part: Beat) -> pa.RecordBatch:
    """A row that has a time and nothing else, not even an offset."""
    assert settings.columns is not None
    assert settings.heartbeat is not None
    nothing = _decoded([], settings)
    time_ = (part.at - settings.heartbeat.delay) * 1000
    return pa.RecordBatch.from_arrays(
        [
            pa.array([time_], pa.int64()).cast(field.type)
            if field.name == settings.heartbeat.column
            else pa.nulls(1, field.type)
            for field in nothing.schema
        ],
        schema=nothing.schema,
    )


def read(settings: Settings, part: Range) -> Iterator[pa.RecordBatch]:
    """The records of a range, in offset order."""
    for messages in _messages(settings, part):
        yield _raw(messages) if settings.columns is None else _decoded(messages, settings)
    _check_topic(settings, part)


def _check_topic(settings: Settings, part: Range) -> None:
    """Make sure, after the last record, that the topic was not made anew meanwhile: then these were other records.

    Raises also where the job goes on after losses: the batch must not count as read.
    """
    if part.id is None:
        return
    now = identified(settings.config, part.topic, None)[1].topics.get(part.topic, "none")
    if now != part.id:
        raise plan.DataLossError([plan.Replaced(part.topic, part.id, now)])


def _messages(settings: Settings, part: Range) -> Iterator[list[Message]]:
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


def _skip_loss(settings: Settings, part: Range, position: int, consumer: Consumer) -> int:
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
    columns = at_clock(settings.columns)
    batch, errors = decode(values, columns, decoder=settings.decoder, max_value_bytes=settings.max_value_bytes)
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

"""Markers: the records that say which batches of a job are published.

A marker is written in each transaction of a batch, to partition 0 of `<topic>.cep-commits`, with the job as key. The
topic is compacted, so it holds about one marker a job, for ever: a job that was stopped for a year still knows.

A large batch takes several transactions, *parts*, each with a marker: `records` counts what is there of the batch so
far, `content` is a digest of these records, `last` says that it is all. `range` is the digest of the input that the
batch read, `start` and `end` are the positions of its sources (`decide.InputRange`), `history` the ranges of batches
before it. `serial` counts the markers of the job, claims included. Markers of earlier versions have none of these.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from connectors.kafka.cluster import offsets, unreachable
from connectors.kafka.config import KafkaConfig, KafkaFailureError, logger

MARKER_SUFFIX = ".cep-commits"
MARKER_SETTINGS = {
    "cleanup.policy": "compact",
    "segment.bytes": str(1 << 20),  # only closed segments are compacted: small ones keep recovery short
    "min.cleanable.dirty.ratio": "0.05",
}
PATIENCE = 120.0
"""Seconds that a call may be retried for before the broker counts as gone."""
HISTORY = 100
"""Batches that a marker remembers: as many as Spark keeps offsets of, so as many as a checkpoint can go back by."""
SMALLEST_RECORD = 16 << 10
"""Bytes that a record must be allowed to have: enough for a marker with a full history and a hundred partitions."""
_LONGEST_START = 500
"""Positions up to which `start` is written: it is for people."""


@dataclass(frozen=True, slots=True)
class Marker:
    """What a marker of a job says. Batch -1: nothing is published yet."""

    job: str
    batch: int
    records: int
    generation: int
    time: str
    part: int = 0
    last: bool = True
    serial: int = 0
    content: str = ""
    range: str | None = None
    start: Mapping[str, int] | None = None
    end: Mapping[str, int] | None = None
    history: tuple[tuple[int, str], ...] = ()

    def encode(self) -> bytes:
        """The value of the marker's record."""
        start = None if self.start is None or len(self.start) > _LONGEST_START else dict(self.start)
        fields = {
            "job": self.job,
            "batch": self.batch,
            "records": self.records,
            "generation": self.generation,
            "time": self.time,
            "part": self.part,
            "last": self.last,
            "serial": self.serial,
            "content": self.content,
            "range": self.range,
            "start": start,
            "end": None if self.end is None else dict(self.end),
            "history": [list(entry) for entry in self.history],
        }
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, value: bytes | None) -> Marker:
        """From a record's value; `ValueError`, `KeyError` or `TypeError` where it is no marker.

        >>> Marker.decode(b'{"job": "j", "batch": 3, "records": 7, "generation": 1, "time": "-"}').last
        True
        """
        fields = json.loads(value or b"")
        return cls(
            str(fields["job"]),
            int(fields["batch"]),
            int(fields["records"]),
            int(fields["generation"]),
            str(fields["time"]),
            int(fields.get("part", 0)),
            bool(fields.get("last", True)),
            int(fields.get("serial", 0)),
            str(fields.get("content", "")),
            fields.get("range"),
            fields.get("start"),
            fields.get("end"),
            tuple((int(batch), str(digest)) for batch, digest in fields.get("history", ())),
        )


class MarkerTooLargeError(KafkaFailureError):
    """A record has no room for a marker. Trying again cannot help."""

    passing = False


def check_room(most: int) -> None:
    """`MarkerTooLargeError` where records may have so few bytes that markers would not fit, now or some day."""
    if most < SMALLEST_RECORD:
        raise MarkerTooLargeError(
            f"message.max.bytes={most} is too little for the markers of published batches: expected at least "
            f"{SMALLEST_RECORD:,} bytes (--kafka-option message.max.bytes=...)"
        )


def fitting(marker: Marker, most: int, topic: str) -> bytes:
    """The value of a marker's record; `MarkerTooLargeError` where it has more bytes than a record may have."""
    value = marker.encode()
    if len(value) > most:
        raise MarkerTooLargeError(
            f"the marker of batch {marker.batch} has {len(value):,} bytes, for {len(marker.end or ()):,} positions in "
            f"the input; a record has room for {most:,}: raise --kafka-option message.max.bytes=... and, if need be, "
            f"max.message.bytes of {topic}"
        )
    return value


def newest_marker(config: KafkaConfig, marker_topic: str, job_id: str, *, patience: float = PATIENCE) -> Marker | None:
    """The newest committed marker of a job. O(markers since the last compaction).

    Other jobs may share the topic, and an open transaction of theirs hides what lies behind it, so this waits until
    everything that was there at the call is decided; Kafka bounds that by the other job's transaction timeout.
    """
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

    settings = config.client(
        None,
        group_id=f"cep-markers-{job_id}",
        isolation_level="read_committed",
        enable_auto_commit=False,
        enable_partition_eof=True,
        auto_offset_reset="earliest",
        fetch_wait_max_ms=10,
    )
    newest: Marker | None = None
    consumer = Consumer(settings, logger=logger)
    try:
        end = offsets(config, [(marker_topic, 0)], "latest", committed=False)[marker_topic, 0]
        consumer.assign([TopicPartition(marker_topic, 0, 0)])
        position, deadline, warned = 0, time.monotonic() + patience, False
        while position < end:
            message = consumer.poll(1.0)
            if message is None:
                if time.monotonic() > deadline:
                    raise KafkaFailureError(f"{marker_topic} cannot be read: no answer for {patience:.0f} s")
                continue
            error = message.error()
            if error is None:
                position = (message.offset() or 0) + 1
                deadline = time.monotonic() + patience
                if message.key() == job_id.encode():
                    newest = _marker(message.value(), marker_topic, position - 1)
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's name
                position = max(position, message.offset() or 0)
                if position < end and not warned:
                    logger.warning("waiting for an open transaction of another job on %s", marker_topic)
                    warned, deadline = True, time.monotonic() + max(patience, 900.0)
            elif error.fatal() or not error.retriable():
                raise unreachable(config, KafkaException(error))
    except KafkaException as error:
        raise unreachable(config, error) from None
    finally:
        consumer.close()
    return newest


def _marker(value: bytes | None, topic: str, offset: int) -> Marker:
    try:
        return Marker.decode(value)
    except (ValueError, KeyError, TypeError) as error:
        raise KafkaFailureError(
            f"{topic} offset {offset}: expected a marker of a cep job, found {value!r:.100} ({error}). "
            "The topic is for markers only"
        ) from None


def now() -> str:
    """The time of day, for people who read markers."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

"""Markers: the records that say which batches of a job are published.

A marker is written in the transaction of its batch, to partition 0 of `<topic>.cep-commits`, with the job as key. The
topic is compacted, so it holds about one marker a job, for ever: a job that was stopped for a year still knows.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass

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


@dataclass(frozen=True, slots=True)
class Marker:
    """What the newest marker of a job says."""

    job: str
    batch: int
    records: int
    generation: int
    time: str

    def encode(self) -> bytes:
        """The value of the marker's record."""
        return json.dumps(asdict(self)).encode()


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
        fields = json.loads(value or b"")
        return Marker(
            fields["job"], int(fields["batch"]), int(fields["records"]), int(fields["generation"]), fields["time"]
        )
    except (ValueError, KeyError, TypeError) as error:
        raise KafkaFailureError(
            f"{topic} offset {offset}: expected a marker of a cep job, found {value!r:.100} ({error}). "
            "The topic is for markers only"
        ) from None


def now() -> str:
    """The time of day, for people who read markers."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

"""Dead letters: records that could not be used go to `<topic>.dlq` as they were, with headers that say why.

Key, value and headers are those of the original, byte for byte, its headers first. The headers added are those of Kafka
Connect, which the usual tools read: `__connect.errors.topic`, `.partition`, `.offset`, `.stage`, `.exception.message`;
and `.timestamp`, the original's in milliseconds: the letter itself carries the time it was written, or retention would
remove the letters of old events at once.

`DeadLetters` waits until the broker has every letter, so a batch is not counted as done before. A batch that is run
again sends its letters again; topic, partition and offset tell repeats. `record_of` makes a record that
`TransactionalPublisher` writes in the batch's own transaction, where repeats cannot happen.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from connectors.kafka.cluster import ensure_topics, error_of, unreachable
from connectors.kafka.config import KafkaConfig, KafkaFailureError, logger
from connectors.kafka.oversize import PREFIX, SUFFIX
from connectors.kafka.record import Record

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

_PATIENCE = 60.0
_LONGEST_REASON = 2000
_LARGEST = 64 << 20
LETTER_SETTINGS = {"max.message.bytes": str(_LARGEST)}
"""Of a topic of dead letters: what was too large elsewhere must fit, with headers."""


class DeadLetter(NamedTuple):
    """A record that could not be used, and why. `timestamp` is its own, in milliseconds, 0 where it has none."""

    topic: str
    partition: int
    offset: int
    reason: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = 0
    stage: str = "VALUE_CONVERTER"


def record_of(letter: DeadLetter) -> Record:
    """The record to write for a letter.

    >>> letter = DeadLetter("t", 0, 7, "expected a JSON object", b"k", b"junk")
    >>> record_of(letter).topic, dict(record_of(letter).headers)["__connect.errors.offset"]
    ('t.dlq', b'7')
    """
    why = {
        "topic": letter.topic,
        "partition": str(letter.partition),
        "offset": str(letter.offset),
        "stage": letter.stage,
        "exception.message": letter.reason[:_LONGEST_REASON],
    }
    if letter.timestamp > 0:
        why["timestamp"] = str(letter.timestamp)
    added = tuple((PREFIX + name, text.encode()) for name, text in why.items())
    return Record(letter.key, letter.value, (*letter.headers, *added), letter.topic + SUFFIX)


class DeadLetters:
    """Sends dead letters. With `create`, a missing topic is created; otherwise that is an error that says how."""

    def __init__(self, config: KafkaConfig, *, create: bool = False, partitions: int = 1) -> None:
        self.config = config
        self.create = create
        self.partitions = partitions
        self._producer: Producer | None = None
        self._known: set[str] = set()
        self._failed: KafkaError | None = None

    def send(self, letters: Iterable[DeadLetter]) -> int:
        """Send letters and wait until the broker has them; how many. `KafkaFailureError` where one was not taken."""
        from confluent_kafka import Producer

        count = 0
        deadline = time.monotonic() + _PATIENCE
        for letter in letters:
            record = record_of(letter)
            assert record.topic is not None
            if record.topic not in self._known:
                ensure_topics(
                    self.config,
                    [record.topic],
                    create=self.create,
                    partitions=self.partitions,
                    settings=LETTER_SETTINGS,
                )
                self._known.add(record.topic)
            if self._producer is None:
                settings = {"enable.idempotence": True, "compression.type": "lz4", "message.max.bytes": _LARGEST}
                self._producer = Producer(self.config.client(settings), logger=logger)
            self._send(self._producer, record, record.topic, deadline)
            count += 1
        if self._producer is not None and count:
            left = self._producer.flush(max(1.0, deadline - time.monotonic()))
            failed, self._failed = self._failed, None
            if failed is not None:
                raise KafkaFailureError(f"a dead letter was not taken: {self.config.redact(failed.str())}")
            if left:
                raise KafkaFailureError(f"{left} dead letters were not taken within {_PATIENCE:.0f} s")
        return count

    def _send(self, producer: Producer, record: Record, topic: str, deadline: float) -> None:
        from confluent_kafka import KafkaException

        while True:
            try:
                producer.produce(
                    topic,
                    record.value,
                    record.key,
                    on_delivery=self._delivered,
                    headers=list(record.headers),
                )
            except BufferError:  # noqa: PERF203 - a full queue is the ordinary case
                producer.poll(0.1)
                if time.monotonic() > deadline:
                    raise unreachable(self.config, TimeoutError(f"{topic} takes no record")) from None
            except KafkaException as error:
                reason = error_of(error)
                text = reason.str() if reason is not None else str(error)
                raise KafkaFailureError(f"cannot write to {topic}: {self.config.redact(text)}") from None
            else:
                producer.poll(0)
                return

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None and self._failed is None:
            self._failed = error

"""Exactly-once publication of batches: one Kafka transaction a batch, with a marker record in it.

The matches of a batch and a *marker* are written in one transaction. The marker lies in partition 0 of
`<topic>.cep-commits` (compacted: it keeps the newest marker of each job, for ever), its key is the job, its value says
which batch it was: `{"job", "batch", "records", "generation", "time"}`. A batch whose id is not above the newest marker
has been published and is skipped; a batch without matches costs neither transaction nor marker. So a `read_committed`
consumer sees each match once, whatever is killed and whenever, as long as a batch is offered again, with the same id,
until `publish` has returned.

*Order.* Records of one key go to one partition in the order they were given.

*Zombies.* The transactional id is `cep-<job>`. Opening a publisher fences every older one of the job: its next call
raises `FencedError` and nothing it has begun becomes visible. The newest marker is read only afterwards, when no
transaction of the job can be open any more. A publisher may have to be opened again (after an aborted transaction, or
in another process), and then the epoch alone cannot tell the old driver from the new one. So a driver takes a
*generation* when it starts (`claim`), and markers carry it. A publisher that is fenced gives the other one time to
write its claim down and looks; it stops where there is a higher generation, and opens again where there is none.

*What a job is.* One checkpoint: batch ids count up within it. Give a new checkpoint a new job id (Spark's query id is
right), or its first batches are taken for the published ones of the old.

Not guaranteed: anything to `read_uncommitted` consumers; and on librdkafka's built-in cluster neither isolation nor
fencing exist.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from connectors.kafka.cluster import ensure_topics, error_of, unreachable
from connectors.kafka.config import KafkaConfig, KafkaFailureError, logger
from connectors.kafka.marker import MARKER_SETTINGS, MARKER_SUFFIX, PATIENCE, Marker, newest_marker, now

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

_ATTEMPTS = 5
_COURTESY = 2.0
"""Seconds from being fenced to looking who did it: a claim takes a few round trips to the broker."""
_DEFAULTS: dict[str, object] = {
    "compression.type": "lz4",
    "linger.ms": 20,
    "queue.buffering.max.kbytes": 32 << 10,  # bounds the memory of a large batch
    "queue.buffering.max.messages": 200_000,
    "transaction.timeout.ms": 180_000,
    "enable.idempotence": True,
}


class FencedError(KafkaFailureError):
    """A newer publisher of the same job has taken over."""


class PublishError(KafkaFailureError):
    """The batch could not be published; nothing of it is visible."""


class Record(NamedTuple):
    """A record to publish; `topic` None is the publisher's own."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    topic: str | None = None
    timestamp: int = 0


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What became of a batch: `records` were published now, or it had been published before (`skipped`)."""

    batch: int
    records: int
    skipped: bool = False


class _AbortableError(Exception):
    """The transaction must be aborted, if need be by a new producer, and can then be tried again."""


class TransactionalPublisher:
    """Publishes the batches of a job. One thread at a time.

    `publish` wants the batches in order and may be given one again. Opened by the first batch that has records, or by
    `open`; close it, or leave the `with` block, to let go of the connection.
    """

    def __init__(
        self,
        config: KafkaConfig,
        job_id: str,
        *,
        topic: str,
        marker_topic: str | None = None,
        generation: int | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.config = config
        self.job_id = job_id
        self.topic = topic
        self.marker_topic = marker_topic or topic + MARKER_SUFFIX
        self.generation = generation
        self.patience = patience
        self._claimed = generation is not None
        self._producer: Producer | None = None
        self._last: Marker | None = None
        self._delivery: KafkaError | None = None

    # Opening

    def open(self) -> None:
        """Fence older publishers of the job and learn what is committed."""
        if self._producer is not None:
            return
        from confluent_kafka import Producer

        ensure_topics(self.config, [self.marker_topic], settings=MARKER_SETTINGS, timeout=min(15.0, self.patience))
        settings = self.config.client(_DEFAULTS, transactional_id=f"cep-{self.job_id}")
        producer = Producer(settings, logger=logger)
        self._producer = producer
        try:
            self._insist(producer.init_transactions, "start transactions")
            self._look()
        except BaseException:
            self._drop()
            raise
        logger.info(
            "publishing to %s as job %s, generation %s, last committed batch %s",
            self.topic,
            self.job_id,
            self.generation,
            self._last.batch if self._last else None,
        )

    def _look(self) -> None:
        """Read the newest marker; raises where it is of a newer driver."""
        self._last = newest_marker(self.config, self.marker_topic, self.job_id, patience=self.patience)
        seen = self._last.generation if self._last else 0
        if not self._claimed:
            self.generation = max(seen + 1, self.generation or 0)
        elif self.generation is not None and seen > self.generation:
            raise self._fenced(f"generation {seen} of the job is publishing, this is generation {self.generation}")

    def last_committed(self) -> int | None:
        """The newest batch that is published, None where there is none. Opens the publisher."""
        self.open()
        return self._last.batch if self._last and self._last.batch >= 0 else None

    def claim(self) -> int:
        """Take the next generation of the job and write it down, so that older drivers are fenced for good."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self.open()
                assert self.generation is not None
                before = self._last
                self._transaction(iter(()), Marker(
                    self.job_id, before.batch if before else -1, before.records if before else 0, self.generation, now()
                ))  # fmt: skip
            except FencedError:  # noqa: PERF203 - the driver that this one replaces opened again before the claim
                self._drop()
                if attempt == _ATTEMPTS:
                    raise
            else:
                break
        self._claimed = True
        assert self.generation is not None
        return self.generation

    def close(self) -> None:
        """Let go of the connection; an open transaction is aborted. The publisher can be opened again."""
        self._drop()

    def __enter__(self) -> TransactionalPublisher:  # noqa: PYI034 - Self is Python 3.11's
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _drop(self) -> None:
        from confluent_kafka import KafkaException

        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            with suppress(KafkaException):  # it may only now tell of what made us let go
                producer.flush(0)

    # Publishing

    def publish(self, batch_id: int, records: Iterable[Record]) -> PublishResult:
        """Publish a batch, or find that it has been published. O(records) time, bounded memory.

        `records` that can be iterated again (a list, not a generator) let an aborted transaction be retried here;
        otherwise `PublishError` asks for the batch to be offered again.
        """
        again = iter(records) is not records
        for attempt in range(1, _ATTEMPTS + 1):
            rows = iter(records)
            first = next(rows, None)
            if first is None:
                return PublishResult(batch_id, 0)
            try:
                self.open()
                if self._last is not None and batch_id <= self._last.batch:
                    level = logger.info if batch_id == self._last.batch else logger.warning
                    level("batch %d of %s was published before (newest: %d): skipped",
                          batch_id, self.job_id, self._last.batch)  # fmt: skip
                    return PublishResult(batch_id, self._last.records if batch_id == self._last.batch else 0, True)
                assert self.generation is not None
                marker = Marker(self.job_id, batch_id, 0, self.generation, now())
                return PublishResult(batch_id, self._transaction(chain((first,), rows), marker))
            except _AbortableError as error:
                self._drop()
                if not again or attempt == _ATTEMPTS:
                    raise PublishError(
                        f"batch {batch_id} was not published: {error}. Nothing of it is visible; offer it again"
                    ) from None
                logger.warning("batch %d: %s; trying again", batch_id, error)
            except FencedError:
                self._drop()
                # With a claimed generation the epoch says only that someone opened later; the marker says who is right.
                if not self._claimed or not again or attempt == _ATTEMPTS:
                    raise
                time.sleep(_COURTESY)
                self._look()  # before opening, which would fence the successor
            except BaseException:
                self._drop()
                raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _transaction(self, records: Iterator[Record], marker: Marker) -> int:
        """Write the records and the marker in one transaction; the number of records."""
        producer = self._producer
        assert producer is not None
        self._delivery = None
        count = 0
        self._once(producer.begin_transaction, "begin a transaction")
        try:
            for record in records:
                self._produce(producer, record, record.topic or self.topic)
                count += 1
            stamped = Marker(marker.job, marker.batch, count or marker.records, marker.generation, marker.time)
            value = stamped.encode()
            self._produce(producer, Record(self.job_id.encode(), value), self.marker_topic, partition=0)
            self._insist(producer.commit_transaction, "commit")
        except FencedError:
            raise
        except BaseException as error:
            self._abort(producer)
            if isinstance(error, _AbortableError) and self._delivery is not None:
                raise _AbortableError(f"{error} ({self.config.redact(self._delivery.str())})") from None
            raise
        self._last = stamped
        return count

    def _produce(self, producer: Producer, record: Record, topic: str, partition: int = -1) -> None:
        arguments: dict[str, Any] = {"timestamp": record.timestamp} if record.timestamp else {}
        if partition >= 0:
            arguments["partition"] = partition
        deadline = time.monotonic() + self.patience
        while True:
            try:
                producer.produce(
                    topic,
                    record.value,
                    record.key,
                    on_delivery=self._delivered,
                    headers=list(record.headers),
                    **arguments,
                )
                producer.poll(0)  # tells of fatal errors, too
            except BufferError:  # noqa: PERF203 - a full queue is the ordinary case
                self._once(lambda: producer.poll(0.1), f"write to {topic}")
                if time.monotonic() > deadline:
                    raise PublishError(f"the broker took no record of {topic} for {self.patience:.0f} s") from None
            except Exception as exception:  # triage re-raises what is not Kafka's
                self._triage(exception, f"write to {topic} (a record of {len(record.value or b''):,} bytes)")
            else:
                return

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None and self._delivery is None:
            self._delivery = error

    def _abort(self, producer: Producer) -> None:
        try:
            producer.abort_transaction(self.patience)
        except Exception as exception:  # the error that led here is the one to report
            logger.debug("abort failed: %s", self.config.redact(str(exception)))
            self._drop()

    # Errors

    def _insist(self, call: Callable[[float], object], what: str) -> None:
        """Make a call that may be repeated until it is done."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                call(max(1.0, min(30.0, deadline - time.monotonic())))
            except Exception as exception:  # noqa: PERF203 - triage re-raises what is not Kafka's
                if not self._triage(exception, what, retry=time.monotonic() < deadline):
                    raise
            else:
                return

    def _once(self, call: Callable[[], object], what: str) -> None:
        try:
            call()
        except Exception as exception:  # triage re-raises what is not Kafka's
            self._triage(exception, what)

    def _triage(self, exception: Exception, what: str, *, retry: bool = False) -> bool:
        """Whether to repeat the call that failed; raises what the failure means where not."""
        from confluent_kafka import KafkaError

        error = error_of(exception)
        if error is None:
            raise exception
        if error.code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH):  # noqa: SLF001 - librdkafka's name
            raise self._fenced(error.str()) from None
        if error.retriable() and retry:
            logger.info("%s: %s; trying again", what, self.config.redact(error.str()))
            return True
        if error.txn_requires_abort() or error.fatal():  # e.g. the broker forgot a producer that was silent for a week
            raise _AbortableError(f"cannot {what}: {self.config.redact(error.str())}") from None
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            raise PublishError(
                f"cannot {what}: more than message.max.bytes. Raise kafka.message.max.bytes here and "
                "max.message.bytes of the topic, or return fewer fields"
            ) from None
        if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._TIMED_OUT):  # noqa: SLF001 - as above
            raise unreachable(self.config, exception) from None
        raise PublishError(f"cannot {what}: {self.config.redact(error.str())} ({error.name()})") from None

    def _fenced(self, reason: str) -> FencedError:
        return FencedError(
            f"job {self.job_id} was taken over by a newer publisher ({self.config.redact(reason)}). This one stops; "
            "nothing it had not committed is visible. If two drivers run on one checkpoint, stop the older one"
        )

"""Exactly-once publication of batches: Kafka transactions of bounded size, with a marker record in each.

Records and a *marker* (`connectors.kafka.marker`) are written in one transaction. A batch that is too large for one is
written in *parts*, each a transaction with a marker that says how many of its records are there and what they were; a
batch that is cut off goes on after the part that was committed last. So a `read_committed` consumer sees each record
once, whatever is killed and whenever, as long as a batch is offered again, with the same number and the same records in
the same order, until `publish` has returned. It may see the first parts of a batch before the last. A batch without
records costs neither transaction nor marker.

*The same batch.* A number alone does not name a batch: `ranges` says what a batch read, and `connectors.kafka.decide`
compares that with the newest marker, the copy of it in the checkpoint (`ledger`), and what the checkpoint says today.
What does not fit is refused (`RewindError`), or published again where `on_rewind` is `republish`. Records of a part
that is there are compared by digest with those offered; other records, or another order, are refused likewise.

*Order.* Records of one key go to one partition in the order they were given.

*Zombies.* The transactional id is `cep-<job>`. Opening a publisher fences every older one of the job: its next call
raises `FencedError` and nothing it has begun becomes visible. The newest marker is read only afterwards, when no
transaction of the job can be open any more. A publisher may have to be opened again (after an aborted transaction, or
in another process), and then the epoch alone cannot tell the old driver from the new one. So a driver takes a
*generation* when it starts (`claim`), and markers carry it. A publisher that is fenced gives the other one time to
write its claim down and looks; it stops where there is a higher generation, and opens again where there is none: then
it was another zombie, or the broker, which fences a producer whose transaction was open for too long.

*What a job is.* One checkpoint: batch numbers count up within it. Give a new checkpoint a new job id.

*Effects.* Everything that touches the world is in `broker` and `ledger`, so that a simulation runs this very code.

Not guaranteed: anything to `read_uncommitted` consumers; and on librdkafka's built-in cluster neither isolation nor
fencing exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

from connectors.kafka.broker import Broker, RealBroker
from connectors.kafka.config import KafkaConfig, KafkaFailureError, logger
from connectors.kafka.decide import FAIL, REPUBLISH, InputRange, Offer, Publish, Refuse, Skip, decide, reconcile
from connectors.kafka.marker import MARKER_SUFFIX, PATIENCE, Marker, check_room, fitting
from connectors.kafka.oversize import OVERHEAD, SUFFIX, Room, letter_of
from connectors.kafka.parts import BatchRecords, ContentError, PartLimits
from connectors.kafka.record import Record
from connectors.kafka.session import AbortableError, FencedError, PublishError, Session, fenced

__all__ = [
    "FencedError",
    "LedgerError",
    "PublishError",
    "PublishResult",
    "Record",
    "RewindError",
    "TransactionalPublisher",
]
_ATTEMPTS = 5
_COURTESY = 2.0
"""Seconds from being fenced to looking who did it: a claim takes a few round trips to the broker."""


class RewindError(KafkaFailureError):
    """The batch is not the one that what is published goes on with. Trying again cannot help."""

    passing = False


class LedgerError(KafkaFailureError):
    """The checkpoint could not be read or written, which may pass. A batch that is published is not repeated."""

    passing = True


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What became of a batch: `records` were published now, or it had been published before (`skipped`).

    `too_large` of them went to the dead letters.
    """

    batch: int
    records: int
    skipped: bool = False
    too_large: int = 0


class Ledger(Protocol):
    """The copy of the newest marker in the checkpoint."""

    def load(self) -> Marker | None:
        """The copy, None where there is none."""

    def store(self, marker: Marker) -> None:
        """Replace it, all or nothing; `LedgerError` where that cannot be done."""


class TransactionalPublisher:
    """Publishes the batches of a job. One thread at a time.

    `publish` wants the batches in order and may be given one again. Opened by the first batch that has records, or by
    `open`; close it, or leave the `with` block, to let go of the connection. `ranges` gives what a batch read, None
    where it is not known (any more); without it, a number is taken for a batch. `also` are topics that records name
    beside `topic`.
    """

    def __init__(
        self,
        config: KafkaConfig,
        job_id: str,
        *,
        topic: str,
        also: Sequence[str] = (),
        marker_topic: str | None = None,
        generation: int | None = None,
        patience: float = PATIENCE,
        ranges: Callable[[int], InputRange | None] | None = None,
        ledger: Ledger | None = None,
        on_rewind: str = FAIL,
        limits: PartLimits | None = None,
        broker: Broker | None = None,
    ) -> None:
        self.config = config
        self.job_id = job_id
        self.topic = topic
        self.topics = (topic, *(name for name in also if name != topic))
        self.marker_topic = marker_topic or topic + MARKER_SUFFIX
        self.generation = generation
        self.patience = patience
        self.ranges = ranges
        self.ledger = ledger
        self.on_rewind = on_rewind
        self.limits = limits or PartLimits()
        self.broker: Broker = broker or RealBroker(config, patience)
        self._claimed = generation is not None
        self._session: Session | None = None
        self._last: Marker | None = None
        self._kept = -1
        self._rooms: dict[str, Room] = {}
        self._letters: set[str] = set()

    # Opening

    def open(self) -> None:
        """Fence older publishers of the job and learn what is committed."""
        if self._session is not None:
            return
        self.broker.prepare(self.marker_topic)
        self._rooms = {topic: self.broker.room(topic) for topic in self.topics}
        check_room(self._room(self.topic).client)
        self._session = Session(self.broker, self.config, self.job_id, self.patience)
        try:
            self._session.open()
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
        """Read the newest marker; raises where it is of a newer driver, or where markers were lost."""
        kept = self.ledger.load() if self.ledger is not None else None  # before the marker, which is written earlier
        if self._last is not None and (kept is None or kept.serial < self._last.serial):
            kept = self._last  # what this process knows to be committed
        known = reconcile(self.broker.newest_marker(self.marker_topic, self.job_id), kept, self.on_rewind)
        if isinstance(known, Refuse):
            raise RewindError(known.reason)
        if known.warning is not None:
            logger.warning("%s", known.warning)
        self._last = known.marker
        seen = self._last.generation if self._last else 0
        if not self._claimed:
            self.generation = max(seen + 1, self.generation or 0)
        elif self.generation is not None and seen > self.generation:
            raise fenced(
                self.job_id, f"generation {seen} of the job is publishing, this is generation {self.generation}"
            )

    def last_committed(self) -> int | None:
        """The newest batch of which anything is published, None where there is none. Opens the publisher."""
        self.open()
        return self._last.batch if self._last and self._last.batch >= 0 else None

    def claim(self) -> int:
        """Take the next generation of the job and write it down, so that older drivers are fenced for good."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self.open()
                before = self._last or Marker(self.job_id, -1, 0, 0, "")
                self._transaction(before)
            except FencedError:  # noqa: PERF203 - the driver that this one replaces opened again before the claim
                self._drop()
                if attempt == _ATTEMPTS:
                    raise
            except AbortableError as error:
                self._drop()
                if attempt == _ATTEMPTS:
                    raise PublishError(f"job {self.job_id} cannot publish: {error}") from None
            else:
                break
        self._claimed = True
        self._keep()
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
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _keep(self) -> None:
        """Copy the newest marker to the checkpoint."""
        if self.ledger is not None and self._last is not None and self._last.serial > self._kept:
            self.ledger.store(self._last)
            self._kept = self._last.serial

    # Publishing

    def publish(self, batch_id: int, records: Iterable[Record]) -> PublishResult:
        """Publish a batch, or find that it has been published. O(records) time, bounded memory.

        `records` that can be iterated again (a list, not a generator) let an aborted transaction be retried here;
        otherwise `PublishError` asks for the batch to be offered again. `RewindError`: it is not the batch that has to
        come.
        """
        again = iter(records) is not records
        attempt, serial, begin_anew = 0, -1, False
        while True:
            rows = iter(records)
            first = next(rows, None)
            if first is None:
                return PublishResult(batch_id, 0)
            attempt += 1
            try:
                self.open()
                if serial != self._serial:  # something was committed since the last attempt
                    serial, attempt, begin_anew = self._serial, 1, begin_anew and serial < 0
                read = self._read(batch_id)
                decision = self._decide(batch_id, read, begin_anew=begin_anew)
                result = self._carry_out(decision, batch_id, read, chain((first,), rows))
            except ContentError as error:
                if self.on_rewind != REPUBLISH or not again:
                    raise RewindError(str(error)) from None
                logger.warning("%s; publishing it from its beginning", error)
                begin_anew = True
            except AbortableError as error:
                self._drop()
                if not again or attempt >= _ATTEMPTS:
                    raise PublishError(
                        f"batch {batch_id} was not published: {error}. What is committed of it is not repeated; offer "
                        "it again"
                    ) from None
                logger.warning("batch %d: %s; trying again", batch_id, error)
            except FencedError as error:
                self._drop()
                # With a claimed generation the epoch says only that someone opened later; the marker says who is right.
                if not self._claimed or not again or attempt >= _ATTEMPTS:
                    raise
                logger.info("batch %d: %s; looking who it was", batch_id, error)
                self.broker.sleep(_COURTESY)
                self._look()  # before opening, which would fence the successor
            except BaseException:
                self._drop()
                raise
            else:
                self._keep()
                return result

    @property
    def _serial(self) -> int:
        return self._last.serial if self._last is not None else 0

    def _read(self, batch: int) -> InputRange | None:
        """What the batch read."""
        if self.ranges is None:
            return None
        read = self.ranges(batch)
        if read is None:
            raise PublishError(f"the checkpoint does not say what batch {batch} read: its offset log is damaged")
        return read

    def _decide(self, batch: int, read: InputRange | None, *, begin_anew: bool) -> Publish | Skip:
        then = None
        if self.ranges is not None and self._last is not None and 0 <= self._last.batch < batch:
            then = self.ranges(self._last.batch)
        decision = decide(self._last, Offer(batch, read, then), self.on_rewind)
        if isinstance(decision, Refuse):
            raise RewindError(decision.reason)
        if decision.warning is not None:
            logger.warning("%s", decision.warning)
        if isinstance(decision, Publish) and begin_anew:
            return replace(decision, after=0, content="", part=0)
        return decision

    def _carry_out(
        self, decision: Publish | Skip, batch: int, read: InputRange | None, rows: Iterator[Record]
    ) -> PublishResult:
        if isinstance(decision, Skip):
            logger.info("batch %d of %s was published before: skipped", batch, self.job_id)
            return PublishResult(batch, decision.records, True)
        records = BatchRecords(rows)
        while records.head is not None and records.records < decision.after:
            records.step()
        if decision.after and (records.records != decision.after or records.content != decision.content):
            raise ContentError(
                f"batch {batch} of job {self.job_id} was published in part, {decision.after:,} records of it, and "
                f"these are not the first {records.records:,} that it has now. Did the patterns, or the options of the "
                "job, change? Start it as it was until the batch is done, or once with --on-rewind republish: consumers"
                " may see matches of the batch again, with the same ids"
            )
        if decision.after:
            logger.info("batch %d: going on after %d records", batch, decision.after)
        marker = Marker(
            self.job_id,
            batch,
            0,
            0,
            "",
            decision.part - 1,
            range=read.digest if read is not None else None,
            start=read.start if read is not None else None,
            end=read.end if read is not None else None,
            history=decision.history,
        )
        last = False
        while not last:
            marker = self._transaction(replace(marker, part=marker.part + 1), records)
            self._keep()
            last = marker.last
        if records.too_large:
            logger.warning("batch %d: %d records are too large: sent to dead letters", batch, records.too_large)
        return PublishResult(batch, records.records - decision.after, too_large=records.too_large)

    def _transaction(self, marker: Marker, records: BatchRecords | None = None) -> Marker:
        """Write a part of the records and the marker, as it then is, in one transaction."""
        session = self._session
        assert session is not None
        assert self.generation is not None
        session.begin()
        try:
            if records is not None:
                self._write_part(session, records)
                done = records.head is None
                marker = replace(marker, records=records.records, last=done, content=records.content)
            marker = replace(marker, generation=self.generation, time=self.broker.now(), serial=self._serial + 1)
            value = fitting(marker, self._room(self.topic).client - OVERHEAD, self.marker_topic)
            session.send(Record(self.job_id.encode(), value), self.marker_topic, partition=0)
            session.commit()
        except FencedError:
            raise
        except BaseException:
            if not session.abort():
                self._drop()
            raise
        self._last = marker
        return marker

    def _write_part(self, session: Session, records: BatchRecords) -> None:
        clock = self.broker.monotonic
        deadline = clock() + self.broker.transaction_timeout() / 4
        count = total = 0
        while (record := records.head) is not None and count < self.limits.records and total < self.limits.bytes:
            if count and clock() > deadline:
                return
            size, topic = record.size, record.topic or self.topic
            if self._room(topic).takes(record, size):
                session.send(record, topic)
            else:
                self._put_aside(session, record, topic)
                records.too_large += 1
            records.step()
            count += 1
            total += size

    def _room(self, topic: str) -> Room:
        return self._rooms.get(topic, self._rooms[self.topic])

    def _put_aside(self, session: Session, record: Record, topic: str) -> None:
        """Send the letter of a record that is too large instead of it."""
        if topic not in self._letters:
            self.broker.prepare_letters(topic + SUFFIX)
            self._letters.add(topic)
            logger.warning("a record of %d bytes is too large for %s: see %s", record.size, topic, topic + SUFFIX)
        session.send(letter_of(record, topic, self._room(topic)), topic + SUFFIX)

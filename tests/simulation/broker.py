"""A simulated Kafka cluster: logs, transactions, fencing, isolation, compaction, retention.

What is modelled, after Apache Kafka's own rules:

* A partition is a log of records with offsets. Transactions end in a control record, which uses up an offset, in every
  partition they wrote to. `read_committed` sees nothing from the first record of an open transaction on.
* The coordinator knows for each transactional id a producer id and an epoch. `init_producer` aborts what is open and
  raises the epoch; requests with an older epoch are refused. A transaction that stays open for longer than its
  timeout is aborted, and the epoch raised, so its producer is refused from then on (KIP-588).
* Ending a transaction again, the same way and in the same epoch, succeeds: the answer to the first request was lost.
* A retried write of an idempotent producer is not appended again (sequence numbers); that of a plain one is.
* A topic has an id, which is another one when it is deleted and made anew.

There is one broker and it never loses what it acknowledged: what clients see of leader changes and partitions is the
matter of `clients`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from confluent_kafka import KafkaError

MAX_MESSAGE_BYTES = 1_048_588
"""Kafka's default of `max.message.bytes`."""


class BrokerError(Exception):
    """An error code in a response."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(slots=True, eq=False)
class Transaction:
    """`outcome`: None while it is open, then whether it was committed."""

    started: float
    outcome: bool | None = None
    logs: list[Log] = field(default_factory=list)


@dataclass(slots=True)
class Stored:
    """A record in a log; `control` ones end transactions and are never handed out."""

    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = 0
    transaction: Transaction | None = None
    control: bool = False


class Log:
    """One partition. `start` and `end` are its offsets, `end` the next to be written."""

    def __init__(self) -> None:
        self.records: list[Stored] = []
        self.start = 0
        self.end = 0
        self.open: dict[Transaction, int] = {}
        """The open transactions that wrote here, each with the offset of its first record."""

    def append(self, stored: Stored) -> None:
        stored.offset = self.end
        self.records.append(stored)
        self.end += 1

    def stable(self) -> int:
        """The last stable offset: `read_committed` ends here."""
        return min(self.open.values(), default=self.end)

    def visible(self, *, committed: bool) -> list[Stored]:
        """What a consumer gets to see, in order."""
        end = self.stable() if committed else self.end
        return [
            stored
            for stored in self.records
            if stored.offset < end
            and not stored.control
            and (not committed or stored.transaction is None or stored.transaction.outcome)
        ]

    def compact(self, until: int) -> int:
        """Keep the newest committed record of each key among those before `until`; how many went."""
        until = min(until, self.stable())
        before = len(self.records)
        newest = {stored.key: stored.offset for stored in self.visible(committed=True) if stored.offset < until}
        self.records = [
            stored
            for stored in self.records
            if stored.offset >= until or (not stored.control and newest.get(stored.key) == stored.offset)
        ]
        return before - len(self.records)

    def expire(self, until: int) -> int:
        """Retention: remove what lies before `until`; how many records went."""
        until = max(self.start, min(until, self.stable()))
        before = len(self.records)
        self.records = [stored for stored in self.records if stored.offset >= until]
        self.start = until
        return before - len(self.records)


class Topic:
    """A topic with its settings."""

    def __init__(self, id_: str, partitions: int, settings: dict[str, str]) -> None:
        self.id = id_
        self.logs = [Log() for _ in range(partitions)]
        self.settings = settings

    @property
    def max_bytes(self) -> int:
        return int(self.settings.get("max.message.bytes", MAX_MESSAGE_BYTES))


@dataclass(slots=True)
class Registration:
    """What the coordinator knows of a transactional id."""

    producer: int
    epoch: int
    timeout: float
    transaction: Transaction | None = None
    ended: bool | None = None
    """How the newest transaction ended, where none is open."""


class Broker:
    """A cluster."""

    def __init__(self, rng: random.Random, cluster_id: str = "simulated-cluster") -> None:
        self.rng = rng
        self.cluster_id = cluster_id
        self.topics: dict[str, Topic] = {}
        self.registrations: dict[str, Registration] = {}
        self.now = 0.0
        self.timed_out = 0
        self._producers = 1000

    # Topics

    def create(self, name: str, partitions: int = 1, settings: dict[str, str] | None = None) -> Topic:
        if name in self.topics:
            raise BrokerError(KafkaError.TOPIC_ALREADY_EXISTS)
        self.topics[name] = Topic(f"{self.rng.getrandbits(64):016x}", partitions, dict(settings or {}))
        return self.topics[name]

    def delete(self, name: str) -> None:
        self.topics.pop(name, None)

    def log(self, name: str, partition: int) -> Log:
        topic = self.topics.get(name)
        if topic is None or not 0 <= partition < len(topic.logs):
            raise BrokerError(KafkaError.UNKNOWN_TOPIC_OR_PART)
        return topic.logs[partition]

    # Writing

    def write(self, name: str, partition: int, stored: Stored) -> None:
        """A record of a producer without transactions."""
        log = self.log(name, partition)
        self._check_size(name, stored)
        log.append(stored)

    def write_in_transaction(
        self, id_: str, producer: int, epoch: int, name: str, partition: int, stored: Stored
    ) -> None:
        """AddPartitionsToTxn and Produce in one: the transaction begins with its first record."""
        found = self._authentic(id_, producer, epoch, KafkaError.INVALID_PRODUCER_EPOCH)
        log = self.log(name, partition)
        self._check_size(name, stored)
        if found.transaction is None:
            found.transaction = Transaction(self.now)
        if found.transaction not in log.open:
            log.open[found.transaction] = log.end
            found.transaction.logs.append(log)
        stored.transaction = found.transaction
        log.append(stored)

    def _check_size(self, name: str, stored: Stored) -> None:
        size = len(stored.value or b"") + len(stored.key or b"")
        size += sum(len(header) + len(value or b"") for header, value in stored.headers)
        if size > self.topics[name].max_bytes:
            raise BrokerError(KafkaError.MSG_SIZE_TOO_LARGE)

    # Transactions

    def init_producer(self, id_: str, timeout: float) -> tuple[int, int]:
        """Register a producer: older ones with its id are fenced, what they had open is aborted."""
        found = self.registrations.get(id_)
        if found is None:
            self._producers += 1
            found = self.registrations[id_] = Registration(self._producers, -1, timeout)
        self._end(found, commit=False)
        found.epoch += 1
        found.timeout = timeout
        found.ended = None
        return found.producer, found.epoch

    def end_transaction(self, id_: str, producer: int, epoch: int, *, commit: bool) -> None:
        found = self._authentic(id_, producer, epoch, KafkaError.PRODUCER_FENCED)
        if found.transaction is None:
            if found.ended is not None and found.ended == commit:
                return  # the answer to the first request was lost
            raise BrokerError(KafkaError.INVALID_TXN_STATE)
        self._end(found, commit=commit)

    def _authentic(self, id_: str, producer: int, epoch: int, otherwise: int) -> Registration:
        found = self.registrations.get(id_)
        if found is None or found.producer != producer:
            raise BrokerError(KafkaError.INVALID_PRODUCER_ID_MAPPING)
        if found.epoch != epoch:
            raise BrokerError(otherwise)
        return found

    def _end(self, found: Registration, *, commit: bool) -> None:
        transaction, found.transaction = found.transaction, None
        if transaction is None:
            return
        transaction.outcome = commit
        found.ended = commit
        for log in transaction.logs:
            del log.open[transaction]
            log.append(Stored(0, None, None, transaction=transaction, control=True))

    def tick(self, now: float) -> None:
        """Time has passed: transactions over their timeout are aborted, their producers fenced."""
        self.now = now
        for found in self.registrations.values():
            if found.transaction is not None and now - found.transaction.started > found.timeout:
                self._end(found, commit=False)
                found.epoch += 1
                self.timed_out += 1

"""`Producer`, `Consumer` and `AdminClient` with the surface and the errors of confluent_kafka, over a simulated broker.

Each belongs to a process and reaches the broker through `Process.request`, where faults happen. What a fault looks like
to the application follows librdkafka (`rdkafka_txnmgr.c`, `rdkafka_msg.c`):

* `init_transactions`, `commit_transaction` and `abort_transaction` without an answer raise a retriable `_TIMED_OUT` and
  can be called again, which resumes them; `abort_transaction` while a commit is in doubt is a `_STATE` error.
* Being fenced is fatal (`_FENCED`) where the coordinator says so, and an error that asks for an abort
  (`INVALID_PRODUCER_EPOCH`) where a partition's leader does. `produce` then raises `_FATAL` or `_STATE`, without flags
  or reason; the reason of a fatal error is raised by `poll`, once, if that is called before.
* A record that the topic refuses is told in its delivery report; the commit raises `_INCONSISTENT`.
* Leader changes are retried by the client: the application sees time pass.
* A producer that is idempotent retries a write without doubling it, any other doubles it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from tests.simulation.admin import failure, metadata
from tests.simulation.broker import BrokerError, Stored
from tests.simulation.process import AnswerLostError, NoAnswerError, Process

REQUEST = 4
"""Records of a produce request, at most: between two of them, anything can happen."""
_FENCED = (KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


def _unable(code: int) -> KafkaException:
    """As `produce` says it: no flags, no reason."""
    return failure(code, f"Unable to produce message: {KafkaError(code).str()}")


class Message:
    """A record, a delivery report, or an error."""

    __slots__ = ("_error", "_offset", "_partition", "_stored", "_topic")

    def __init__(
        self, topic: str, partition: int, stored: Stored | None, error: KafkaError | None = None, offset: int = -1
    ) -> None:
        self._topic, self._partition, self._stored, self._error = topic, partition, stored, error
        self._offset = stored.offset if stored is not None else offset

    def error(self) -> KafkaError | None:
        return self._error

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes | None:
        return self._stored.key if self._stored else None

    def value(self) -> bytes | None:
        return self._stored.value if self._stored else None

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return list(self._stored.headers) or None if self._stored else None

    def timestamp(self) -> tuple[int, int]:
        return (1, self._stored.timestamp if self._stored else 0)


class Producer:
    """Plain, idempotent or transactional, as its settings say."""

    def __init__(self, settings: dict[str, Any], process: Process) -> None:
        self.process = process
        self.id: str | None = settings.get("transactional.id")
        self.idempotent = self.id is not None or str(settings.get("enable.idempotence", "")).lower() == "true"
        self.timeout = int(settings.get("transaction.timeout.ms", 60_000)) / 1000
        self.max_bytes = int(settings.get("message.max.bytes", 1_000_000))
        self.room = int(settings.get("queue.buffering.max.messages", 100_000))
        self.queue: deque[tuple[str, int, Stored, Callable[..., None] | None]] = deque()
        self.registered: tuple[int, int] | None = None
        self.state = "init"
        self.error: KafkaError | None = None
        self.untold: KafkaException | None = None
        self.sent = False
        self.failed = 0

    def __len__(self) -> int:
        return len(self.queue)

    # Transactions

    def init_transactions(self, timeout: float = -1) -> None:
        assert self.id is not None
        self.registered = self._coordinate(lambda broker: broker.init_producer(self.id, self.timeout), timeout)
        self.state = "ready"

    def begin_transaction(self) -> None:
        self._expect("ready")
        self.state, self.sent, self.failed, self.error = "in transaction", False, 0, None

    def commit_transaction(self, timeout: float = -1) -> None:
        self._expect("in transaction", "flushing", "committing")
        if self.state != "committing":
            self.state = "flushing"
            if self._flush(timeout) and self.state == "flushing":
                raise failure(KafkaError._TIMED_OUT, "messages are still waiting to be delivered", retriable=True)
            self._expect("flushing")
            if self.failed:
                reason = f"{self.failed} message(s) failed delivery (see individual delivery reports)"
                raise self._to_abort(KafkaError._INCONSISTENT, reason)
            if not self.sent:
                self.state = "ready"
                return
            self.state = "committing"
        self._end(commit=True, timeout=timeout)
        self.state = "ready"

    def abort_transaction(self, timeout: float = -1) -> None:
        self._expect("in transaction", "abortable", "aborting")
        self.queue.clear()
        self.state = "aborting"
        if self.sent:
            self._end(commit=False, timeout=timeout)
        self.state = "ready"

    def _end(self, *, commit: bool, timeout: float) -> None:
        producer, epoch = self.registered or (0, 0)
        self._coordinate(lambda broker: broker.end_transaction(self.id, producer, epoch, commit=commit), timeout)

    def _coordinate(self, action: Callable[[Any], Any], timeout: float) -> Any:
        """A request to the coordinator."""
        try:
            return self.process.request("coordinator", action, timeout)
        except (NoAnswerError, AnswerLostError):
            raise failure(KafkaError._TIMED_OUT, "no answer from the coordinator", retriable=True) from None
        except BrokerError as error:
            if error.code == KafkaError.INVALID_PRODUCER_ID_MAPPING:
                raise self._to_abort(error.code) from None
            raise self._fatal(KafkaError._FENCED if error.code in _FENCED else error.code) from None

    def _expect(self, *states: str) -> None:
        self.process.alive()
        if self.state in states:
            return
        if self.state in ("fatal", "abortable"):
            assert self.error is not None
            raise KafkaException(self.error)
        raise failure(KafkaError._STATE, f"Operation not valid in state {self.state}")

    def _to_abort(self, code: int, reason: str = "") -> KafkaException:
        found = failure(code, reason, txn_requires_abort=True)
        self.state, self.error = "abortable", found.args[0]
        self.queue.clear()
        return found

    def _fatal(self, code: int) -> KafkaException:
        found = self.untold = failure(code, fatal=True)
        self.state, self.error = "fatal", found.args[0]
        self.queue.clear()
        return found

    # Records

    def produce(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        partition: int = -1,
        on_delivery: Callable[..., None] | None = None,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
        timestamp: int = 0,
    ) -> None:
        self.process.alive()
        if self.state == "fatal":
            raise _unable(KafkaError._FATAL)
        if self.id is not None and self.state != "in transaction":
            raise _unable(KafkaError._STATE)
        if len(value or b"") + len(key or b"") > self.max_bytes:
            raise _unable(KafkaError.MSG_SIZE_TOO_LARGE)
        if len(self.queue) >= self.room or self.process.queue_is_full():
            raise BufferError("Local: Queue full")
        stamp = timestamp or int(self.process.world.clock.time() * 1000)
        self.queue.append((topic, partition, Stored(0, key, value, tuple(headers or ()), stamp), on_delivery))

    def poll(self, timeout: float = -1) -> int:
        self.process.alive()
        if timeout > 0 or len(self.queue) >= REQUEST:
            self._send(max(timeout, 0.05))
        if self.untold is not None and self.process.world.rng.random() < 0.5:
            untold, self.untold = self.untold, None
            raise untold
        return 0

    def flush(self, timeout: float = -1) -> int:
        self.process.alive()
        return self._flush(timeout) if timeout else len(self.queue)

    def purge(self, *_: object, **__: object) -> None:
        self.process.alive()
        self.queue.clear()

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        return metadata(self.process, topic, timeout)

    def _flush(self, timeout: float) -> int:
        world = self.process.world
        deadline = world.clock.now + (timeout if timeout > 0 else 300.0)
        while self.queue and self._send(max(0.05, deadline - world.clock.now)) and world.clock.now < deadline:
            pass
        return len(self.queue)

    def _send(self, timeout: float) -> bool:
        """One produce request; whether the broker answered."""
        batch = [self.queue[place] for place in range(min(REQUEST, len(self.queue)))]
        if not batch:
            return True
        try:
            self.process.request("produce", lambda broker: self._write(broker, batch), timeout)
        except NoAnswerError:
            return False
        except AnswerLostError:
            if not self.idempotent:
                return False  # the retry appends them again
        except BrokerError as error:
            self._refused(error.code, batch)
            return True
        for _ in batch:
            if self.queue:
                _topic, _partition, stored, report = self.queue.popleft()
                if report is not None:
                    report(None, Message(_topic, _partition, stored))
        return True

    def _write(self, broker: Any, batch: list[tuple[str, int, Stored, Any]]) -> None:
        for topic, partition, stored, _ in batch:
            count = len(broker.topics[topic].logs) if topic in broker.topics else 1
            place = partition if partition >= 0 else _partition_of(stored.key, count)
            stored.transaction = None
            if self.id is None:
                broker.write(topic, place, Stored(0, stored.key, stored.value, stored.headers, stored.timestamp))
            else:
                producer, epoch = self.registered or (0, 0)
                copy = Stored(0, stored.key, stored.value, stored.headers, stored.timestamp)
                broker.write_in_transaction(self.id, producer, epoch, topic, place, copy)
                self.sent = True

    def _refused(self, code: int, batch: list[tuple[str, int, Stored, Any]]) -> None:
        """A request with a record that the broker refuses fails whole, as far as its client can tell."""
        for topic, partition, stored, report in batch:
            if self.queue:
                self.queue.popleft()
            self.failed += 1
            if report is not None:
                report(KafkaError(code), Message(topic, partition, stored, KafkaError(code)))
        if self.id is None:
            return
        if code in _FENCED and not self.sent:
            self._fatal(KafkaError._FENCED)  # the coordinator says so when the first partition is added
        elif code in (*_FENCED, KafkaError.INVALID_PRODUCER_ID_MAPPING):
            self._to_abort(code)


def _partition_of(key: bytes | None, count: int) -> int:
    return sum(key or b"") % count


class Consumer:
    """Reads assigned partitions from assigned positions; commits nothing."""

    def __init__(self, settings: dict[str, Any], process: Process) -> None:
        self.process = process
        self.committed = settings.get("isolation.level", "read_committed") == "read_committed"
        self.tells_end = str(settings.get("enable.partition.eof", "")).lower() == "true"
        self.reset = settings.get("auto.offset.reset", "latest")
        self.positions: dict[tuple[str, int], int] = {}
        self.told: dict[tuple[str, int], int] = {}

    def assign(self, places: list[TopicPartition]) -> None:
        self.process.alive()
        self.positions = {(place.topic, place.partition): place.offset for place in places}
        self.told = {}

    def poll(self, timeout: float = -1) -> Message | None:
        found = self.consume(1, timeout)
        return found[0] if found else None

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        try:
            found = self.process.request("fetch", lambda broker: self._fetch(broker, num_messages), timeout)
        except (NoAnswerError, AnswerLostError):
            return []
        if not found:
            self.process.world.clock.advance(max(timeout, 0.01))
        for message in found:
            place, error = (message.topic(), message.partition()), message.error()
            if error is None:
                self.positions[place] = message.offset() + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                self.told[place] = self.positions[place] = message.offset()
        return list(found)

    def _fetch(self, broker: Any, count: int) -> list[Message]:
        found: list[Message] = []
        for (topic, partition), position in self.positions.items():
            try:
                log = broker.log(topic, partition)
            except BrokerError as error:
                found.append(Message(topic, partition, None, KafkaError(error.code)))
                continue
            if not log.start <= position <= log.end:
                if self.reset == "error":
                    found.append(Message(topic, partition, None, KafkaError(KafkaError._AUTO_OFFSET_RESET), position))
                    continue
                position = log.start if self.reset == "earliest" else log.end
            end = log.stable() if self.committed else log.end
            ready = [stored for stored in log.visible(committed=self.committed) if stored.offset >= position][:count]
            found += [Message(topic, partition, stored) for stored in ready]
            if not ready and self.tells_end and self.told.get((topic, partition)) != end and position <= end:
                found.append(Message(topic, partition, None, KafkaError(KafkaError._PARTITION_EOF), end))
        return found

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        return metadata(self.process, topic, timeout)

    def close(self) -> None:
        """Nothing to tell the broker."""

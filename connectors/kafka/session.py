"""One transactional producer, from its opening to its end: calls that are repeated, errors that say what to do.

What an error means is decided in `triage`; here it becomes one of three exceptions: `AbortableError` (drop the session
and try the transaction again with a new one), `FencedError` (someone else opened), `PublishError` or another
`KafkaFailureError` (the user must do something).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from connectors.kafka import triage as errors
from connectors.kafka.broker import Broker
from connectors.kafka.cluster import error_of, unreachable
from connectors.kafka.config import KafkaConfig, KafkaFailureError, logger
from connectors.kafka.record import Record

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message


class FencedError(KafkaFailureError):
    """A newer publisher of the same job has taken over."""


class PublishError(KafkaFailureError):
    """The batch could not be published, or not all of it; what is committed of it is known and not repeated."""


class BrokerRefusesError(PublishError):
    """A right, a setting or the broker's version is at fault: trying again is of no use."""

    passing = False


class AbortableError(Exception):
    """The transaction must be aborted, if need be by a new producer, and can then be tried again."""


def fenced(job: str, reason: str, more: str = "") -> FencedError:
    """The error of one who is replaced."""
    return FencedError(
        f"job {job} was taken over by a newer publisher ({reason}). This one stops; nothing it had not committed is "
        f"visible. If two drivers run on one checkpoint, stop the older one{more}"
    )


class Session:
    """A producer of a job. One thread, one transaction at a time."""

    def __init__(self, broker: Broker, config: KafkaConfig, job: str, patience: float) -> None:
        self.broker = broker
        self.config = config
        self.job = job
        self.patience = patience
        self.producer = broker.producer(f"cep-{job}")
        self._begun: float | None = None
        self._delivery: KafkaError | None = None

    def open(self) -> None:
        """Fence every older producer of the job."""
        self._insist(self.producer.init_transactions, "start transactions")

    def close(self) -> None:
        """Forget what is queued and let go."""
        from confluent_kafka import KafkaException

        self.producer.purge()
        with suppress(KafkaException):  # it may only now tell of what made us let go
            self.producer.flush(0)

    @property
    def elapsed(self) -> float:
        """Seconds since the transaction was begun."""
        return 0.0 if self._begun is None else self.broker.monotonic() - self._begun

    # Transactions

    def begin(self) -> None:
        """Begin a transaction."""
        self._delivery = None
        self._once(self.producer.begin_transaction, "begin a transaction")
        self._begun = self.broker.monotonic()

    def send(self, record: Record, topic: str, partition: int = -1) -> None:
        """Queue a record of the transaction; waits while the queue is full."""
        arguments: dict[str, Any] = {"timestamp": record.timestamp} if record.timestamp else {}
        if partition >= 0:
            arguments["partition"] = partition
        deadline: float | None = None
        while True:
            try:
                self.producer.produce(
                    topic,
                    record.value,
                    record.key,
                    on_delivery=self._delivered,
                    headers=list(record.headers),
                    **arguments,
                )
                self.producer.poll(0)  # tells of fatal errors, too
            except BufferError:  # noqa: PERF203 - a full queue is the ordinary case
                deadline = deadline or self.broker.monotonic() + self.patience
                self._once(lambda: self.producer.poll(0.1), f"write to {topic}")
                if self.broker.monotonic() > deadline:
                    raise PublishError(
                        f"the broker took no record of {topic} for {self.patience:.0f} s{self._overtime()}"
                    ) from None
            except Exception as exception:  # triage re-raises what is not Kafka's
                self._fail(self._reason(exception), f"write to {topic} (a record of {record.size:,} bytes)")
            else:
                return

    def commit(self) -> None:
        """Wait until all records are there, and make them visible."""
        try:
            self._insist(self.producer.commit_transaction, "commit")
        except AbortableError as error:
            if self._delivery is None:
                raise
            reason = self.config.redact(self._delivery.str())
            if errors.triage(self._delivery) == errors.TOO_LARGE:
                raise PublishError(
                    f"cannot write to the topic: {reason}. Raise max.message.bytes of the topic, or let the job read "
                    "it (DescribeConfigs on the topic): then such matches go to the dead letters"
                ) from None
            raise AbortableError(f"{error} ({reason})") from None
        self._begun = None

    def abort(self) -> bool:
        """Give up the transaction; False where the producer is of no more use."""
        try:
            self.producer.abort_transaction(self.patience)
        except Exception as exception:  # the error that led here is the one to report
            logger.debug("abort failed: %s", self.config.redact(str(exception)))
            return False
        self._begun = None
        return True

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None and self._delivery is None:
            self._delivery = error

    # Errors

    def _insist(self, call: Callable[[float], object], what: str) -> None:
        """Make a call that may be repeated until it is done."""
        deadline = self.broker.monotonic() + self.patience
        while True:
            try:
                call(max(1.0, min(30.0, deadline - self.broker.monotonic())))
            except Exception as exception:  # noqa: PERF203 - triage re-raises what is not Kafka's
                self._fail(exception, what, retry=self.broker.monotonic() < deadline)
            else:
                return

    def _reason(self, exception: Exception) -> Exception:
        """What is behind an error of `produce`, which says only that the transaction or the producer has failed.

        The commit of a transaction that has failed does nothing but say why.
        """
        from confluent_kafka import KafkaException

        error = error_of(exception)
        if error is not None and error.name() in errors.UNTOLD:
            try:
                self.producer.commit_transaction(1.0)
            except KafkaException as known:
                return known
        return exception

    def _once(self, call: Callable[[], object], what: str) -> None:
        try:
            call()
        except Exception as exception:  # triage re-raises what is not Kafka's
            self._fail(exception, what)

    def _fail(self, exception: Exception, what: str, *, retry: bool = False) -> None:
        """Return where the call may be repeated; raise what the failure means where not."""
        error = error_of(exception)
        if error is None:
            raise exception
        text = self.config.redact(error.str())
        verdict = errors.triage(error, retry=retry)
        if verdict == errors.REPEAT:
            logger.info("%s: %s; trying again", what, text)
        elif verdict == errors.FENCED:
            raise fenced(self.job, text, self._overtime()) from None
        elif verdict == errors.REOPEN:
            raise AbortableError(f"cannot {what}: {text}{self._overtime()}") from None
        elif verdict == errors.GONE:
            raise unreachable(self.config, exception) from None
        elif verdict == errors.TOO_LARGE:
            raise PublishError(f"cannot {what}: {text}. Raise --kafka-option message.max.bytes=...") from None
        else:
            advice = errors.advice(error)
            kind = BrokerRefusesError if advice else PublishError
            raise kind(f"cannot {what}: {text} ({error.name()}){advice}") from None

    def _overtime(self) -> str:
        """What to say where the transaction was open for longer than the broker allows: it looks like fencing."""
        limit = self.broker.transaction_timeout()
        if self.elapsed < limit:
            return ""
        return (
            f". The transaction was open for {self.elapsed:.0f} s, longer than transaction.timeout.ms allows "
            f"({limit:.0f} s), so the broker has aborted it: find out why it is slow, or raise --kafka-option "
            "transaction.timeout.ms=... (up to the broker's transaction.max.timeout.ms)"
        )

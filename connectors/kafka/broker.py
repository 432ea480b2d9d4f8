"""What the publisher does to the world, in one place: clients, topics, the clock.

`Broker` is what `TransactionalPublisher` needs; `RealBroker` does it with confluent-kafka. Tests and simulations give
another one: the decisions (`decide`, `triage`) and their order (`publisher`) are then the same code.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from connectors.kafka.cluster import admin_client, ensure_topics, is_built_in, topic_settings, unreachable
from connectors.kafka.config import KafkaConfig, KafkaFailureError, logger
from connectors.kafka.marker import MARKER_SETTINGS, PATIENCE, SMALLEST_RECORD, Marker, newest_marker, now
from connectors.kafka.oversize import OVERHEAD, Room

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

DEFAULTS: dict[str, object] = {
    "compression.type": "lz4",
    "linger.ms": 20,
    "queue.buffering.max.kbytes": 32 << 10,  # bounds the memory of a large batch
    "queue.buffering.max.messages": 200_000,
    "message.max.bytes": 1_000_000,
    "transaction.timeout.ms": 180_000,
    "enable.idempotence": True,
}


_BATCH = 1_000_000
"""librdkafka's own `batch.size`."""


class TransactionalProducer(Protocol):
    """Of confluent_kafka.Producer, what is used here. Failures are `KafkaException`s."""

    def init_transactions(self, timeout: float) -> None:
        """Fence older producers of the id."""

    def begin_transaction(self) -> None:
        """Begin."""

    def commit_transaction(self, timeout: float) -> None:
        """Wait for all records, then commit."""

    def abort_transaction(self, timeout: float) -> None:
        """Give up the transaction."""

    def produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        *,
        on_delivery: Callable[[KafkaError | None, Message], None],
        headers: list[tuple[str, bytes | None]],
        **more: Any,
    ) -> None:
        """Queue a record; `BufferError` where the queue is full. `more`: partition, timestamp."""

    def poll(self, timeout: float) -> int:
        """Serve delivery reports."""

    def purge(self) -> None:
        """Forget what is queued."""

    def flush(self, timeout: float) -> int:
        """Wait for what is queued."""


class Broker(Protocol):
    """The world as the publisher sees it."""

    def prepare(self, marker_topic: str) -> None:
        """Make sure that the marker topic is there and keeps markers for ever."""

    def producer(self, transactional_id: str) -> TransactionalProducer:
        """A new producer."""

    def newest_marker(self, marker_topic: str, job: str) -> Marker | None:
        """The newest committed marker of a job."""

    def room(self, topic: str) -> Room:
        """How large records of a topic may be."""

    def prepare_letters(self, topic: str) -> None:
        """Make sure that a topic of dead letters is there."""

    def transaction_timeout(self) -> float:
        """Seconds after which the broker aborts an open transaction."""

    def monotonic(self) -> float:
        """Seconds, from anywhere, that never go back."""

    def sleep(self, seconds: float) -> None:
        """Wait."""

    def now(self) -> str:
        """The time of day, for people."""


_LOOK_AGAIN = 0.2


class RealBroker:
    """Brokers that `config` leads to."""

    def __init__(self, config: KafkaConfig, patience: float = PATIENCE) -> None:
        self.config = config
        self.patience = patience
        self._largest: dict[str, int] = {}

    def prepare(self, marker_topic: str) -> None:
        """Create the marker topic where it is missing; `KafkaFailureError` where it would lose markers."""
        from confluent_kafka import KafkaException

        ensure_topics(self.config, [marker_topic], settings=MARKER_SETTINGS, timeout=min(15.0, self.patience))
        admin = admin_client(self.config)
        deadline = self.monotonic() + self.patience
        while True:
            try:
                metadata = admin.list_topics(marker_topic, timeout=min(15.0, self.patience))
            except KafkaException as error:
                raise unreachable(self.config, error) from None
            if is_built_in(metadata.cluster_id):
                return
            found = metadata.topics[marker_topic]
            if found.error is None and found.partitions:
                break
            if self.monotonic() > deadline:  # a topic that was just made is not known to every broker at once
                raise KafkaFailureError(f"{marker_topic} is there, but no broker tells its partitions: is one down?")
            self.sleep(_LOOK_AGAIN)
        settings = topic_settings(self.config, marker_topic, admin=admin, timeout=self.patience)
        check_marker_topic(marker_topic, len(found.partitions), settings, self.config.bootstrap)

    def producer(self, transactional_id: str) -> TransactionalProducer:
        """A new producer, which sends no more at a time than the topics take: see `room`."""
        from confluent_kafka import Producer

        least = min(self._largest.values(), default=None)
        fits = {} if least is None else {"batch.size": max(1, min(_BATCH, least - OVERHEAD))}
        settings = self.config.client({**DEFAULTS, **fits}, transactional_id=transactional_id)
        return Producer(settings, logger=logger)  # type: ignore[return-value]  # its stubs lack keywords

    def newest_marker(self, marker_topic: str, job: str) -> Marker | None:
        """See `marker.newest_marker`."""
        return newest_marker(self.config, marker_topic, job, patience=self.patience)

    def room(self, topic: str) -> Room:
        """From the client's settings and the topic's, where these can be had."""
        settings = {**DEFAULTS, **dict(self.config.properties)}
        found = topic_settings(self.config, topic, timeout=self.patience)
        text = (found or {}).get("max.message.bytes")
        largest = None if text is None else int(text)
        self._largest.pop(topic, None)
        if largest is not None:
            self._largest[topic] = largest
        return Room(int(str(settings["message.max.bytes"])), largest, str(settings["compression.type"]))

    def prepare_letters(self, topic: str) -> None:
        """Create the topic where it is missing."""
        ensure_topics(self.config, [topic], timeout=min(15.0, self.patience))

    def transaction_timeout(self) -> float:
        """As set, in seconds."""
        return int(str({**DEFAULTS, **dict(self.config.properties)}["transaction.timeout.ms"])) / 1000

    def monotonic(self) -> float:
        """The process's clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def now(self) -> str:
        """The time of day."""
        return now()


def check_marker_topic(topic: str, partitions: int, settings: Mapping[str, str] | None, bootstrap: str) -> None:
    """`KafkaFailureError` where a topic does not keep one marker a job for ever; `settings` None: they are hidden."""
    if partitions != 1:
        raise KafkaFailureError(
            f"{topic} has {partitions} partitions, expected 1: it is for the markers of published batches. Stop the "
            f"jobs that publish to the topic, delete {topic}, and start each once with --on-rewind republish (their "
            "checkpoints know what they published), which makes it anew"
        )
    if settings is None:
        logger.warning("the settings of %s cannot be read: expected cleanup.policy=compact", topic)
        return
    change = f"  kafka-configs.sh --bootstrap-server {bootstrap} --alter --entity-type topics --entity-name {topic}"
    policy = settings.get("cleanup.policy", "compact")
    if policy != "compact":
        raise KafkaFailureError(
            f"{topic} has cleanup.policy={policy}, expected compact: the markers of published batches would expire, "
            f"and batches be published twice. Change it:\n{change} --add-config cleanup.policy=compact"
        )
    largest = settings.get("max.message.bytes")
    if largest is not None and int(largest) < SMALLEST_RECORD:
        raise KafkaFailureError(
            f"{topic} has max.message.bytes={largest}, expected at least {SMALLEST_RECORD:,}: the markers of published "
            f"batches would not fit. Change it:\n{change} --add-config max.message.bytes=1048588"
        )

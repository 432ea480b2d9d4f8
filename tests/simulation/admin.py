"""`AdminClient` with the surface of confluent_kafka, over a simulated broker, and what all clients share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import ConfigResource

from tests.simulation.broker import MAX_MESSAGE_BYTES, BrokerError
from tests.simulation.process import AnswerLostError, NoAnswerError, Process


def failure(code: int, reason: str = "", **flags: bool) -> KafkaException:
    error = KafkaError(
        code,
        reason or KafkaError(code).str(),
        flags.get("fatal", False),
        flags.get("retriable", False),
        flags.get("txn_requires_abort", False),
    )
    return KafkaException(error)


class Future:
    """The result of an admin request, or why there is none."""

    def __init__(self, value: object = None, error: KafkaException | None = None) -> None:
        self.value, self.error = value, error

    def result(self, timeout: float | None = None) -> Any:  # noqa: ARG002 - as Future.result
        if self.error is not None:
            raise self.error
        return self.value


class AdminClient:
    """Asks for topics, offsets and settings, and makes topics."""

    def __init__(self, settings: dict[str, Any], process: Process) -> None:  # noqa: ARG002 - as the others
        self.process = process

    def __len__(self) -> int:
        return 0  # as confluent_kafka's: it is false in a condition

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        return metadata(self.process, topic, timeout)

    def create_topics(self, topics: Iterable[Any], request_timeout: float = 30.0, **_: object) -> dict[str, Future]:
        return {
            new.topic: self._ask(
                "create topic",
                lambda broker, new=new: broker.create(new.topic, new.num_partitions, dict(new.config or {})),
                request_timeout,
            )
            for new in topics
        }

    def list_offsets(
        self, wanted: dict[TopicPartition, Any], isolation_level: Any = None, request_timeout: float = 30.0
    ) -> dict[TopicPartition, Future]:
        committed = isolation_level is not None and isolation_level.name == "READ_COMMITTED"

        def look(broker: Any, place: TopicPartition, spec: int) -> Any:
            log = broker.log(place.topic, place.partition)
            if spec == -2:
                return SimpleNamespace(offset=log.start)
            return SimpleNamespace(offset=log.stable() if committed else log.end)

        return {
            place: self._ask(
                "list offsets",
                lambda broker, place=place, spec=spec: look(broker, place, spec._value),
                request_timeout,
            )
            for place, spec in wanted.items()
        }

    def describe_topics(self, wanted: Any, request_timeout: float = 30.0, **_: object) -> dict[str, Future]:
        def look(broker: Any, name: str) -> Any:
            if name not in broker.topics:
                raise BrokerError(KafkaError.UNKNOWN_TOPIC_OR_PART)
            topic = broker.topics[name]
            return SimpleNamespace(name=name, topic_id=topic.id, partitions=list(range(len(topic.logs))))

        return {
            name: self._ask("describe topic", lambda broker, name=name: look(broker, name), request_timeout)
            for name in wanted.topic_names
        }

    def describe_cluster(self, request_timeout: float = 30.0, **_: object) -> Future:
        return self._ask(
            "describe cluster", lambda broker: SimpleNamespace(cluster_id=broker.cluster_id), request_timeout
        )

    def describe_configs(
        self, resources: Iterable[ConfigResource], request_timeout: float = 30.0, **_: object
    ) -> dict[ConfigResource, Future]:
        def look(broker: Any, name: str) -> dict[str, Any]:
            if name not in broker.topics:
                raise BrokerError(KafkaError.UNKNOWN_TOPIC_OR_PART)
            found = {
                "cleanup.policy": "delete",
                "max.message.bytes": str(MAX_MESSAGE_BYTES),
                "retention.ms": "604800000",
            }
            found |= broker.topics[name].settings
            return {key: SimpleNamespace(name=key, value=value) for key, value in found.items()}

        return {
            resource: self._ask(
                "describe settings", lambda broker, name=resource.name: look(broker, name), request_timeout
            )
            for resource in resources
        }

    def _ask(self, what: str, action: Callable[[Any], Any], timeout: float) -> Future:
        try:
            return Future(self.process.request(what, action, timeout))
        except (NoAnswerError, AnswerLostError):
            return Future(error=failure(KafkaError._TIMED_OUT, f"no answer: {what}"))
        except BrokerError as error:
            return Future(error=failure(error.code))


def metadata(process: Process, topic: str | None, timeout: float) -> Any:
    def look(broker: Any) -> Any:
        names: Iterator[str] = iter(broker.topics) if topic is None else iter((topic,))
        topics = {}
        for name in names:
            found = broker.topics.get(name)
            topics[name] = SimpleNamespace(
                topic=name,
                error=None if found else KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART),
                partitions={number: SimpleNamespace(id=number) for number in range(len(found.logs))} if found else {},
            )
        return SimpleNamespace(cluster_id=broker.cluster_id, topics=topics, brokers={1: SimpleNamespace(id=1)})

    try:
        return process.request("metadata", look, timeout)
    except (NoAnswerError, AnswerLostError):
        raise failure(KafkaError._TRANSPORT, "no answer: metadata") from None

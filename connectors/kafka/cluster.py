"""What is asked of a cluster before records flow: which topics and partitions it has, where they begin and end.

Every failure is a `KafkaFailureError` that says what to do; none of these calls creates anything but `ensure_topics`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from connectors.kafka.config import KafkaConfig, KafkaFailureError, logger

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import AdminClient

TIMEOUT = 30.0
Partition = tuple[str, int]


def error_of(exception: BaseException) -> KafkaError | None:
    """The `KafkaError` that an exception carries, None where it carries none."""
    from confluent_kafka import KafkaError

    first = exception.args[0] if exception.args else None
    return first if isinstance(first, KafkaError) else None


def ensure_topics(
    config: KafkaConfig,
    topics: Iterable[str],
    *,
    partitions: int = 1,
    replication: int = -1,
    settings: Mapping[str, str] | None = None,
    create: bool = True,
    timeout: float = 15.0,
) -> None:
    """Make sure that topics are there: `KafkaFailureError`, with the command to run, where they cannot be made.

    `replication` -1 takes the broker's default. librdkafka's built-in cluster knows no such request and makes topics
    when they are first used.
    """
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.cimpl import NewTopic

    admin = admin_client(config)
    try:
        metadata = admin.list_topics(timeout=timeout)
    except KafkaException as error:
        raise unreachable(config, error) from None
    missing = sorted(set(topics) - {name for name, topic in metadata.topics.items() if topic.error is None})
    if not missing:
        return
    if is_built_in(metadata.cluster_id):
        for name in missing:
            admin.list_topics(name, timeout=timeout)
        return
    advice = "\n".join(
        f"  kafka-topics.sh --bootstrap-server {config.bootstrap} --create --topic {name} --partitions {partitions}"
        + "".join(f" --config {key}={value}" for key, value in (settings or {}).items())
        for name in missing
    )
    if not create:
        raise KafkaFailureError(f"no such topic: {', '.join(missing)}. Create it first:\n{advice}")
    wanted = [
        NewTopic(name, num_partitions=partitions, replication_factor=replication, config=dict(settings or {}))
        for name in missing
    ]
    for name, future in admin.create_topics(wanted, operation_timeout=timeout, request_timeout=timeout).items():
        try:
            future.result()
        except KafkaException as error:  # noqa: PERF203 - one topic, one verdict
            reason = error_of(error)
            if reason is not None and reason.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                continue
            text = reason.str() if reason is not None else str(error)
            raise KafkaFailureError(
                f"cannot create topic {name}: {config.redact(text)}. Create it by hand:\n{advice}"
            ) from None
    logger.info("created topics %s", ", ".join(missing))


def topic_settings(
    config: KafkaConfig, topic: str, *, admin: AdminClient | None = None, timeout: float = TIMEOUT
) -> dict[str, str] | None:
    """The settings of a topic, defaults included; None where they cannot be had (no right, no topic, built-in)."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin._config import ConfigResource
    from confluent_kafka.admin._resource import ResourceType

    client = admin_client(config) if admin is None else admin
    try:
        if is_built_in(client.list_topics(topic, timeout=timeout).cluster_id):
            return None
        (future,) = client.describe_configs(
            [ConfigResource(ResourceType.TOPIC, topic)], request_timeout=max(1.0, timeout)
        ).values()
        return {name: str(entry.value) for name, entry in future.result().items()}
    except KafkaException as error:
        reason = error_of(error)
        hidden = (
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            KafkaError.CLUSTER_AUTHORIZATION_FAILED,
            KafkaError.UNKNOWN_TOPIC_OR_PART,
        )
        if reason is None or reason.code() not in hidden:
            raise unreachable(config, error) from None
        logger.info("the settings of %s cannot be read: %s", topic, config.redact(reason.str()))
        return None


def is_built_in(cluster_id: str | None) -> bool:
    """Whether a cluster is librdkafka's built-in one, which keeps transactions for show only."""
    return bool(cluster_id) and str(cluster_id).startswith("mockCluster")


class TopicGoneError(KafkaFailureError):
    """A topic was deleted after it was listed, or the broker that was asked has not heard of it yet."""


def unreachable(config: KafkaConfig, error: BaseException) -> KafkaFailureError:
    """The error for brokers that do not answer."""
    reason = error_of(error)
    text = reason.str() if reason is not None else str(error)
    return KafkaFailureError(
        f"cannot reach Kafka at {config.bootstrap}: {config.redact(text)}. "
        "Check the address, that the broker is up, and security.protocol"
    )


def admin_client(config: KafkaConfig) -> AdminClient:
    """A client for those who ask often: `partitions_of` and `offsets` connect anew where they are given none."""
    from confluent_kafka.admin import AdminClient

    return AdminClient(config.client(), logger=logger)


@dataclass(frozen=True, slots=True)
class Identity:
    """Which cluster and topics these are, whatever their names: None, or left out, where that is not known.

    A topic that is deleted and made anew gets another id; a cluster keeps its own for life.
    """

    cluster: str | None = None
    topics: Mapping[str, str] = field(default_factory=dict)


def partitions_of(
    config: KafkaConfig, topic: str | None, pattern: str | None, *, admin: AdminClient | None = None
) -> list[Partition]:
    """The partitions of a topic, or of all topics whose whole name matches a regular expression, in order."""
    return _listed(config, topic, pattern, admin_client(config) if admin is None else admin)[0]


def identified(
    config: KafkaConfig, topic: str | None, pattern: str | None, *, admin: AdminClient | None = None
) -> tuple[list[Partition], Identity]:
    """The partitions as `partitions_of` gives them, and the ids of cluster and topics. Two requests."""
    client = admin_client(config) if admin is None else admin
    places, cluster = _listed(config, topic, pattern, client)
    names = sorted({name for name, _ in places})
    ids = {} if is_built_in(cluster) else topic_ids(config, names, client)
    return places, Identity(cluster, ids)


def _listed(
    config: KafkaConfig, topic: str | None, pattern: str | None, admin: AdminClient
) -> tuple[list[Partition], str | None]:
    from confluent_kafka import KafkaException

    try:
        metadata = admin.list_topics(timeout=TIMEOUT)
    except KafkaException as error:
        raise unreachable(config, error) from None
    names = [topic] if topic is not None else [name for name in metadata.topics if re.fullmatch(pattern or "", name)]
    found: list[Partition] = []
    for name in sorted(names):
        entry = metadata.topics.get(name)
        if entry is not None and entry.error is None:
            found += [(name, number) for number in sorted(entry.partitions)]
    return found, metadata.cluster_id


def topic_ids(config: KafkaConfig, names: Sequence[str], admin: AdminClient) -> dict[str, str]:
    """The ids of topics, without those that are gone; brokers before 2.8 have none. One request."""
    from confluent_kafka import KafkaError, KafkaException, TopicCollection

    if not names:
        return {}
    found = {}
    for name, future in admin.describe_topics(TopicCollection(list(names)), request_timeout=TIMEOUT).items():
        try:
            found[name] = str(future.result().topic_id)
        except KafkaException as error:  # noqa: PERF203 - one topic, one verdict
            reason = error_of(error)
            if reason is None or reason.code() not in (
                KafkaError.UNKNOWN_TOPIC_OR_PART,
                KafkaError._UNSUPPORTED_FEATURE,  # noqa: SLF001 - librdkafka's name
                KafkaError.TOPIC_AUTHORIZATION_FAILED,
            ):
                raise unreachable(config, error) from None
            logger.info("the id of %s cannot be read: %s", name, config.redact(str(error)))
    return {name: text for name, text in found.items() if text.strip("A=")}  # all zeros: it has none


def offsets(
    config: KafkaConfig,
    partitions: Iterable[Partition],
    at: str | int,
    *,
    committed: bool = True,
    admin: AdminClient | None = None,
) -> dict[Partition, int]:
    """Offsets of partitions: `earliest`, `latest`, or of the first record not before a time in milliseconds.

    Where no record is that late, the offset is the end. `committed` takes the end of what is decided
    (`read_committed`) instead of the end of the log. One request a broker.
    """
    from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
    from confluent_kafka.admin._listoffsets import OffsetSpec

    wanted = list(partitions)
    if not wanted:
        return {}
    spec = (
        OffsetSpec.for_timestamp(at)
        if isinstance(at, int)
        else OffsetSpec.earliest()  # type: ignore[no-untyped-call]
        if at == "earliest"
        else OffsetSpec.latest()  # type: ignore[no-untyped-call]
    )
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    client = admin_client(config) if admin is None else admin  # it has a length, and is false where that is 0
    futures = client.list_offsets(
        {TopicPartition(name, number): spec for name, number in wanted}, isolation_level=level, request_timeout=TIMEOUT
    )
    try:
        found = {(place.topic, place.partition): int(future.result().offset) for place, future in futures.items()}
    except KafkaException as error:
        reason = error_of(error)
        if reason is not None and reason.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            topics = ", ".join(sorted({name for name, _ in wanted}))
            raise TopicGoneError(f"a topic is not there any more (of {topics}, at {config.bootstrap})") from None
        raise unreachable(config, error) from None
    if isinstance(at, int):
        past = [place for place, offset in found.items() if offset < 0]
        found.update(offsets(config, past, "latest", committed=committed, admin=admin))
    return found

"""What is asked of a cluster before records flow: which topics and partitions it has, where they begin and end.

Every failure is a `KafkaFailureError` that says what to do; none of these calls creates anything but `ensure_topics`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
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


def is_built_in(cluster_id: str | None) -> bool:
    """Whether a cluster is librdkafka's built-in one, which keeps transactions for show only."""
    return bool(cluster_id) and str(cluster_id).startswith("mockCluster")


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


def partitions_of(
    config: KafkaConfig, topic: str | None, pattern: str | None, *, admin: AdminClient | None = None
) -> list[Partition]:
    """The partitions of a topic, or of all topics whose whole name matches a regular expression, in order."""
    from confluent_kafka import KafkaException

    try:
        metadata = (admin_client(config) if admin is None else admin).list_topics(timeout=TIMEOUT)
    except KafkaException as error:
        raise unreachable(config, error) from None
    names = [topic] if topic is not None else [name for name in metadata.topics if re.fullmatch(pattern or "", name)]
    found: list[Partition] = []
    for name in sorted(names):
        entry = metadata.topics.get(name)
        if entry is not None and entry.error is None:
            found += [(name, number) for number in sorted(entry.partitions)]
    return found


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
    from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
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
        raise unreachable(config, error) from None
    if isinstance(at, int):
        past = [place for place, offset in found.items() if offset < 0]
        found.update(offsets(config, past, "latest", committed=committed, admin=admin))
    return found

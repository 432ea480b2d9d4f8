"""A broker for the session, topics of one's own, and ways to look at what is in them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from connectors.kafka.built_in import BuiltInCluster
from connectors.kafka.cluster import ensure_topics
from connectors.kafka.config import KafkaConfig
from connectors.testing import RealKafka, kafka_for_tests
from tests.kafka.decided import decided


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest) -> Iterator[RealKafka | BuiltInCluster]:
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        cluster = kafka_for_tests()
        started = cluster.__enter__()
    yield started
    cluster.__exit__(None, None, None)


@pytest.fixture
def config(kafka) -> KafkaConfig:
    return KafkaConfig.of({"bootstrap.servers": kafka.bootstrap})


@pytest.fixture
def real(kafka) -> RealKafka:
    if not isinstance(kafka, RealKafka):
        pytest.skip("librdkafka's built-in cluster has no isolation, fencing or retention: this needs a real broker")
    return kafka


@pytest.fixture
def topic(kafka, config) -> Callable[..., str]:
    """Make a topic with a name of its own."""

    def make(partitions: int = 1, **settings: str) -> str:
        name = f"t-{uuid.uuid4().hex[:10]}"
        if isinstance(kafka, BuiltInCluster):
            kafka.create_topic(name, partitions)
        else:
            ensure_topics(
                config,
                [name],
                partitions=partitions,
                settings={"retention.ms": "-1"} | {key.replace("_", "."): value for key, value in settings.items()},
            )
        return name

    return make


@pytest.fixture
def send(config):
    """Write records plainly: (partition, key, value[, headers[, timestamp]])."""

    def write(name: str, records) -> None:
        from confluent_kafka import Producer

        producer = Producer(config.client({"message.max.bytes": 64 << 20}))
        failed = []
        for partition, key, value, *rest in records:
            producer.produce(
                name,
                value,
                key,
                partition,
                headers=rest[0] if rest else None,
                timestamp=rest[1] if len(rest) > 1 else 0,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
            producer.poll(0)
        assert producer.flush(60) == 0
        assert not failed

    return write


@pytest.fixture
def committed(config):
    """Every committed record of a topic, as messages in partition and offset order."""
    return lambda name: decided(config, name)


@pytest.fixture(scope="session")
def spark(spark):
    """The session of all tests, which knows our source."""
    from connectors.kafka.source import register

    register(spark)
    return spark

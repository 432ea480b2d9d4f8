"""A broker for the session, topics of one's own, and ways to look at what is in them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from connectors.kafka.built_in import BuiltInCluster
from connectors.kafka.cluster import ensure_topics, offsets, partitions_of
from connectors.kafka.config import KafkaConfig
from connectors.testing import RealKafka, kafka_for_tests


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

    def read(name: str):
        from confluent_kafka import Consumer, KafkaError, TopicPartition

        places = partitions_of(config, name, None)
        end = offsets(config, places, "latest")
        consumer = Consumer(
            config.client(
                {"fetch.message.max.bytes": 64 << 20},
                group_id="look",
                isolation_level="read_committed",
                enable_auto_commit=False,
                enable_partition_eof=True,
                auto_offset_reset="earliest",
            )
        )
        try:
            consumer.assign([TopicPartition(topic_, number, 0) for topic_, number in places])
            left = {place for place in places if end[place] > 0}
            found = []
            while left:
                message = consumer.poll(30)
                assert message is not None, f"no answer from {name}"
                if message.error():
                    assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                    left.discard((message.topic(), message.partition()))
                else:
                    found.append(message)
        finally:
            consumer.close()
        return sorted(found, key=lambda message: (message.partition(), message.offset()))

    return read


@pytest.fixture(scope="session")
def spark(spark):
    """The session of all tests, which knows our source."""
    from connectors.kafka.source import register

    register(spark)
    return spark

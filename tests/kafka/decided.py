"""What a `read_committed` consumer finds in a topic once everything in it is decided.

A producer's commit returns when the coordinator has written it down; the markers that let readers pass follow. So the
end of what is decided, asked for right after a commit, may lie before it: this reads to the end of the log as it was at
the call, and waits for the markers on the way.
"""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from connectors.kafka.cluster import offsets, partitions_of
from connectors.kafka.config import KafkaConfig

PATIENCE = 120.0
"""Seconds without any answer: only a transaction that nobody will end takes that long."""


def decided(config: KafkaConfig, topic: str) -> list[Message]:
    """Every committed record of a topic, in partition and offset order."""
    places = partitions_of(config, topic, None)
    end = offsets(config, places, "latest", committed=False)
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
    found: list[Message] = []
    try:
        consumer.assign([TopicPartition(name, number, 0) for name, number in places])
        left = {place for place in places if end[place] > 0}
        while left:
            message = consumer.poll(PATIENCE)
            assert message is not None, f"no answer from {topic}, or a transaction is open for good"
            if message.error() is None:
                found.append(message)
                continue
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            place = (message.topic(), message.partition())
            if message.offset() >= end[place]:
                left.discard(place)
    finally:
        consumer.close()
    return sorted(found, key=lambda message: (message.partition(), message.offset()))

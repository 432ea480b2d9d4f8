"""A look at the newest records of a topic, for messages that name what is there. Commits nothing, waits little."""

from __future__ import annotations

import time

from connectors.kafka.cluster import offsets, partitions_of
from connectors.kafka.config import KafkaConfig, logger

RECORDS = 20
PATIENCE = 5.0


def newest_values(
    config: KafkaConfig, topic: str, *, records: int = RECORDS, patience: float = PATIENCE
) -> list[bytes]:
    """Values of some of the newest records, fewer where they do not come in `patience` seconds.

    `KafkaFailureError` where the brokers do not answer.
    """
    from confluent_kafka import Consumer, TopicPartition

    places = partitions_of(config, topic, None)
    begin, end = offsets(config, places, "earliest"), offsets(config, places, "latest")
    wanted = {place: max(begin[place], end[place] - records) for place in places if end[place] > begin[place]}
    if not wanted:
        return []
    settings = config.client(
        {"isolation.level": "read_committed", "fetch.wait.max.ms": 100},
        group_id="cep-sample",  # required by the client; nothing is ever committed
        enable_auto_commit=False,
        enable_auto_offset_store=False,
        auto_offset_reset="earliest",
    )
    consumer = Consumer(settings, logger=logger)
    values: list[bytes] = []
    try:
        consumer.assign([TopicPartition(*place, offset) for place, offset in wanted.items()])
        deadline = time.monotonic() + patience
        reachable = sum(end[place] - offset for place, offset in wanted.items())
        while len(values) < min(records, reachable) and time.monotonic() < deadline:
            for message in consumer.consume(records - len(values), 0.2):
                value = message.value()
                if message.error() is None and value is not None:
                    values.append(value)
    finally:
        consumer.close()
    return values

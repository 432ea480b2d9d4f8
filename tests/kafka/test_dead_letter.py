"""Dead letters are the records as they were, with the reason beside them."""

from __future__ import annotations

import os
import uuid

import pytest

from connectors.kafka.cluster import ensure_topics
from connectors.kafka.config import KafkaFailureError
from connectors.kafka.dead_letter import DeadLetter, DeadLetters, record_of
from connectors.kafka.publisher import TransactionalPublisher

pytestmark = pytest.mark.kafka
HEADERS = (("trace", b"\x00\xff"), ("trace", b"again"), ("none", None))


def test_key_value_and_headers_are_untouched(config, topic, committed):
    name = topic()
    big = os.urandom(10_000_000)
    letters = [
        DeadLetter(name, 3, 17, "expected a JSON object", b"\xffkey", b"\x00\xff{", HEADERS, 1_900_000_000_123),
        DeadLetter(name, 3, 18, "expected a JSON object, found no value (a tombstone)", None, None),
        DeadLetter(name, 3, 19, "too long", b"k", big),
    ]

    assert DeadLetters(config, create=True).send(letters) == 3

    found = committed(f"{name}.dlq")
    assert [(m.key(), m.value()) for m in found] == [(letter.key, letter.value) for letter in letters]
    assert tuple(found[0].headers()[:3]) == HEADERS
    assert found[0].headers()[3:] == [
        ("__connect.errors.topic", name.encode()),
        ("__connect.errors.partition", b"3"),
        ("__connect.errors.offset", b"17"),
        ("__connect.errors.stage", b"VALUE_CONVERTER"),
        ("__connect.errors.exception.message", b"expected a JSON object"),
        ("__connect.errors.timestamp", b"1900000000123"),
    ]


@pytest.mark.usefixtures("real")
def test_a_missing_topic_is_not_made_unasked(config, topic):
    name = topic()
    with pytest.raises(KafkaFailureError, match=rf"no such topic: {name}\.dlq. Create it first:\n  kafka-topics"):
        DeadLetters(config).send([DeadLetter(name, 0, 0, "why", b"k", b"v")])


def test_letters_can_be_part_of_a_batch_s_transaction(config, topic, committed):
    name = topic()
    ensure_topics(config, [f"{name}.dlq"])
    letter = DeadLetter(name, 0, 5, "why", b"k", b"v", HEADERS)
    with TransactionalPublisher(config, f"job-{uuid.uuid4().hex[:8]}", topic=topic()) as publisher:
        publisher.publish(0, [record_of(letter)])
        publisher.publish(0, [record_of(letter)])
    (message,) = committed(f"{name}.dlq")
    assert (message.key(), message.value(), tuple(message.headers()[:3])) == (b"k", b"v", HEADERS)

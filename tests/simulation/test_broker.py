"""The simulated broker and clients keep Kafka's rules: a wrong model would prove nothing."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from tests.simulation.admin import AdminClient
from tests.simulation.broker import Broker, Stored
from tests.simulation.clients import Consumer, Producer
from tests.simulation.process import KilledError, Process
from tests.simulation.world import Setup, World

SETUP = Setup(
    partitions=1, limit=None, record_bytes=2000, topic_bytes=1000, timeout=60.0, slowness=1.0, large=False,
    many=False, inline=1 << 20, part=100_000,
)  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(random.Random(1), tmp_path, SETUP, frozenset(), 0.0)
    made.broker.create("t")
    return made


@pytest.fixture
def process(world: World) -> Process:
    return Process(world, "p")


def transactional(process: Process, id_: str = "x") -> Producer:
    producer = Producer({"transactional.id": id_, "transaction.timeout.ms": "60000"}, process)
    producer.init_transactions(1)
    return producer


def values(broker: Broker, *, committed: bool = True) -> list[bytes | None]:
    return [stored.value for stored in broker.topics["t"].logs[0].visible(committed=committed)]


def error_of(caught: pytest.ExceptionInfo[KafkaException]) -> KafkaError:
    error = caught.value.args[0]
    assert isinstance(error, KafkaError)
    return error


def test_a_transaction_is_seen_when_it_is_committed_and_hides_what_lies_behind_it(world, process):
    producer = transactional(process)
    producer.begin_transaction()
    producer.produce("t", b"a")
    producer.flush(1)
    world.broker.write("t", 0, Stored(0, None, b"plain"))

    assert values(world.broker) == []
    assert values(world.broker, committed=False) == [b"a", b"plain"]
    producer.commit_transaction(1)
    assert values(world.broker) == [b"a", b"plain"]
    assert world.broker.topics["t"].logs[0].end == 3, "a control record uses up an offset"


def test_an_aborted_transaction_is_never_seen(world, process):
    producer = transactional(process)
    producer.begin_transaction()
    producer.produce("t", b"a")
    producer.flush(1)
    producer.abort_transaction(1)
    producer.begin_transaction()
    producer.produce("t", b"b")
    producer.commit_transaction(1)
    assert values(world.broker) == [b"b"]


def test_a_newer_producer_fences_the_older_one_and_ends_its_transaction(world, process):
    old = transactional(process)
    old.begin_transaction()
    old.produce("t", b"a")
    old.flush(1)
    new = transactional(process)
    with pytest.raises(KafkaException) as caught:
        old.commit_transaction(1)
    assert error_of(caught).code() == KafkaError._FENCED
    assert error_of(caught).fatal()
    with pytest.raises(KafkaException) as caught:
        old.produce("t", b"again")
    assert error_of(caught).code() == KafkaError._FATAL
    assert not error_of(caught).fatal()
    new.begin_transaction()
    new.produce("t", b"b")
    new.commit_transaction(1)
    assert values(world.broker) == [b"b"]


def test_a_transaction_over_its_timeout_is_aborted_and_its_producer_fenced(world, process):
    producer = transactional(process)
    producer.begin_transaction()
    producer.produce("t", b"a")
    producer.flush(1)
    world.clock.advance(61)
    with pytest.raises(KafkaException) as caught:
        producer.commit_transaction(1)
    assert error_of(caught).code() == KafkaError._FENCED
    assert values(world.broker) == []


def test_a_commit_whose_answer_was_lost_can_be_repeated(world, process):
    producer = transactional(process)
    producer.begin_transaction()
    producer.produce("t", b"a")
    producer.flush(1)
    world.broker.end_transaction("x", *producer.registered, commit=True)
    producer.commit_transaction(1)
    assert values(world.broker) == [b"a"]


def test_without_an_answer_a_commit_is_retriable_and_cannot_be_aborted(world, process):
    producer = transactional(process)
    producer.begin_transaction()
    producer.produce("t", b"a")
    producer.flush(1)
    process.down = world.clock.now + 5
    with pytest.raises(KafkaException) as caught:
        producer.commit_transaction(1)
    assert (error_of(caught).code(), error_of(caught).retriable()) == (KafkaError._TIMED_OUT, True)
    with pytest.raises(KafkaException) as caught:
        producer.abort_transaction(1)
    assert error_of(caught).code() == KafkaError._STATE
    producer.commit_transaction(10)
    assert values(world.broker) == [b"a"]


def test_a_record_that_the_topic_refuses_must_be_aborted(world, process):
    world.broker.topics["t"].settings["max.message.bytes"] = "10"
    reports = []
    producer = transactional(process)
    producer.begin_transaction()
    producer.produce("t", b"x" * 100, on_delivery=lambda error, _: reports.append(error))
    with pytest.raises(KafkaException) as caught:
        producer.commit_transaction(1)
    assert (error_of(caught).code(), error_of(caught).txn_requires_abort()) == (KafkaError._INCONSISTENT, True)
    assert [report.code() for report in reports] == [KafkaError.MSG_SIZE_TOO_LARGE]
    with pytest.raises(KafkaException) as caught:
        producer.produce("t", b"y")
    assert error_of(caught).code() == KafkaError._STATE
    producer.abort_transaction(1)


def test_compaction_keeps_the_newest_committed_record_of_each_key(world):
    for key, value in ((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"a", b"4")):
        world.broker.write("t", 0, Stored(0, key, value))
    world.broker.topics["t"].logs[0].compact(3)
    assert values(world.broker) == [b"2", b"3", b"4"]
    world.broker.topics["t"].logs[0].expire(3)
    assert values(world.broker) == [b"4"]


def test_a_topic_that_is_made_anew_has_another_id(world, process):
    def id_() -> str:
        names = SimpleNamespace(topic_names=["t"])
        return AdminClient({}, process).describe_topics(names)["t"].result().topic_id

    before = id_()
    world.broker.delete("t")
    world.broker.create("t")
    assert id_() != before


def test_a_consumer_tells_the_end_once_and_an_offset_that_is_gone(world, process):
    for value in (b"a", b"b"):
        world.broker.write("t", 0, Stored(0, None, value))
    consumer = Consumer({"enable.partition.eof": True, "auto.offset.reset": "error"}, process)
    consumer.assign([TopicPartition("t", 0, 0)])
    assert [consumer.poll(1).value() for _ in range(2)] == [b"a", b"b"]
    assert consumer.poll(1).error().code() == KafkaError._PARTITION_EOF
    assert consumer.poll(1) is None
    world.broker.topics["t"].logs[0].expire(1)
    consumer.assign([TopicPartition("t", 0, 0)])
    assert consumer.poll(1).error().code() == KafkaError._AUTO_OFFSET_RESET


def test_a_killed_process_has_no_effects_any_more(world, process):
    producer = transactional(process)
    producer.begin_transaction()
    producer.produce("t", b"a")
    process.dead = True
    for call in (lambda: producer.commit_transaction(1), lambda: producer.abort_transaction(1), producer.purge):
        with pytest.raises(KilledError):
            call()
    assert values(world.broker, committed=False) == []

"""Publication: each batch once, in order, whatever is killed and whoever else publishes."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid

import pytest

from connectors.kafka import publisher as publisher_module
from connectors.kafka.cloudevents import headers
from connectors.kafka.config import KafkaConfig, KafkaFailureError
from connectors.kafka.marker import newest_marker
from connectors.kafka.publisher import FencedError, PublishResult, Record, TransactionalPublisher

pytestmark = pytest.mark.kafka


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    """Who takes over here has done so before the other one notices: there is nothing to wait for."""
    monkeypatch.setattr(publisher_module, "_COURTESY", 0.0)


@pytest.fixture
def job() -> str:
    return f"job-{uuid.uuid4().hex[:10]}"


def records(*values: str, key: str = "k") -> list[Record]:
    return [Record(key.encode(), value.encode()) for value in values]


def values(messages) -> list[str]:
    return [message.value().decode() for message in messages]


def test_a_batch_that_is_offered_again_is_skipped(config, topic, committed, job):
    name = topic()
    with TransactionalPublisher(config, job, topic=name) as publisher:
        assert publisher.last_committed() is None
        assert publisher.publish(0, records("a", "b")) == PublishResult(0, 2)
        assert publisher.publish(0, records("a", "b")) == PublishResult(0, 2, skipped=True)
        assert publisher.publish(3, records("c")) == PublishResult(3, 1)
    with TransactionalPublisher(config, job, topic=name) as publisher:
        assert publisher.publish(3, records("c")) == PublishResult(3, 1, skipped=True)
        assert publisher.publish(2, records("x")) == PublishResult(2, 0, skipped=True)
        assert publisher.publish(4, records("d")) == PublishResult(4, 1)
        assert publisher.last_committed() == 4

    assert values(committed(name)) == ["a", "b", "c", "d"]


def test_an_empty_batch_costs_neither_transaction_nor_marker_nor_connection(job):
    publisher = TransactionalPublisher(KafkaConfig.of({"bootstrap.servers": "127.0.0.1:1"}), job, topic="t", patience=1)
    assert publisher.publish(0, []) == PublishResult(0, 0)
    assert publisher.publish(1, iter(())) == PublishResult(1, 0)


def test_jobs_do_not_see_each_other_s_markers(config, topic, committed, job):
    name = topic()
    with (
        TransactionalPublisher(config, job, topic=name) as one,
        TransactionalPublisher(config, job + "-2", topic=name) as two,
    ):
        one.publish(7, records("a"))
        assert two.publish(0, records("b")) == PublishResult(0, 1)
    marker = newest_marker(config, f"{name}.cep-commits", job)
    assert marker is not None
    assert (marker.job, marker.batch, marker.records, marker.generation) == (job, 7, 1, 1)
    assert sorted(values(committed(name))) == ["a", "b"]


@pytest.mark.usefixtures("real")
def test_the_older_of_two_publishers_is_fenced(config, topic, committed, job):
    name = topic()
    old = TransactionalPublisher(config, job, topic=name)
    old.publish(0, records("a"))
    new = TransactionalPublisher(config, job, topic=name)
    assert new.last_committed() == 0

    with pytest.raises(FencedError) as caught:
        old.publish(1, records("from the old one"))
    assert f"job {job} was taken over" in str(caught.value)

    assert new.publish(1, records("b")) == PublishResult(1, 1)
    assert values(committed(name)) == ["a", "b"]


@pytest.mark.usefixtures("real")
def test_a_zombie_in_the_middle_of_a_transaction_leaves_nothing_behind(config, topic, committed, job):
    name = topic()
    old = TransactionalPublisher(config, job, topic=name)

    def slow():
        yield from records("zombie 1")
        assert old._session is not None
        old._session.producer.flush(10)
        new = TransactionalPublisher(config, job, topic=name)
        assert new.publish(0, records("a")) == PublishResult(0, 1)
        yield from records("zombie 2")

    with pytest.raises(FencedError):
        old.publish(0, slow())

    assert values(committed(name)) == ["a"]


@pytest.mark.usefixtures("real")
def test_generations_tell_drivers_apart_where_every_batch_opens_a_publisher(config, topic, committed, job):
    name = topic()

    def commit(generation: int, batch: int, *texts: str) -> PublishResult:
        with TransactionalPublisher(config, job, topic=name, generation=generation) as publisher:
            return publisher.publish(batch, records(*texts))

    with TransactionalPublisher(config, job, topic=name) as publisher:
        first = publisher.claim()
        assert publisher.last_committed() is None
    assert commit(first, 0, "a") == PublishResult(0, 1)
    with TransactionalPublisher(config, job, topic=name) as publisher:
        second = publisher.claim()
        assert publisher.last_committed() == 0

    with pytest.raises(FencedError, match=f"generation {second}"):
        commit(first, 1, "zombie")
    assert commit(second, 1, "b") == PublishResult(1, 1)
    assert values(committed(name)) == ["a", "b"]


@pytest.mark.usefixtures("real")
def test_a_driver_that_is_replaced_cannot_keep_its_successor_from_claiming(config, topic, committed, job):
    name = topic()
    old, new = (TransactionalPublisher(config, job, topic=name) for _ in range(2))
    assert old.claim() == 1
    new.open()
    assert old.publish(0, records("a")) == PublishResult(0, 1)  # fenced, finds no newer claim, opens again
    assert new.claim() == 2
    with pytest.raises(FencedError, match="generation 2"):
        old.publish(1, records("zombie"))
    assert new.publish(1, records("b")) == PublishResult(1, 1)
    assert values(committed(name)) == ["a", "b"]


@pytest.mark.usefixtures("real")
def test_a_zombie_that_opens_in_the_middle_of_a_batch_does_not_stop_the_rightful_driver(config, topic, committed, job):
    name = topic()
    with TransactionalPublisher(config, job, topic=name) as publisher:
        zombie = publisher.claim()
    with TransactionalPublisher(config, job, topic=name) as publisher:
        rightful = publisher.claim()

    class Interrupted(list[Record]):
        passes = 0

        def __iter__(self):
            yield self[0]
            self.passes += 1
            if self.passes == 1:
                with (
                    pytest.raises(FencedError),
                    TransactionalPublisher(config, job, topic=name, generation=zombie) as old,
                ):
                    old.publish(0, records("zombie"))
            yield from self[1:]

    batch = Interrupted(records("a", "b"))
    with TransactionalPublisher(config, job, topic=name, generation=rightful) as publisher:
        assert publisher.publish(0, batch) == PublishResult(0, 2)
    assert batch.passes == 2
    assert values(committed(name)) == ["a", "b"]


def test_records_of_a_key_keep_their_order_and_partition(config, topic, committed, job):
    name = topic(4)
    batch = [Record(b"k%d" % (n % 10), b"%d" % n) for n in range(2000)]
    with TransactionalPublisher(config, job, topic=name) as publisher:
        publisher.publish(0, batch[:1000])
        publisher.publish(1, batch[1000:])

    found = committed(name)
    for key in {record.key for record in batch}:
        of_key = [message for message in found if message.key() == key]
        assert [message.value() for message in of_key] == [record.value for record in batch if record.key == key]
        assert len({message.partition() for message in of_key}) == 1
    assert len({message.partition() for message in found}) > 1


def test_headers_are_cloudevents(config, topic, committed, job):
    name = topic()
    given = headers("0a1b", "CardTesting", "2024-01-01T00:00:00Z", "/cep/fraud")
    with TransactionalPublisher(config, job, topic=name) as publisher:
        publisher.publish(0, [Record(b"acc", b"{}", given)])

    (message,) = committed(name)
    assert message.headers() == [
        ("ce_specversion", b"1.0"),
        ("ce_id", b"0a1b"),
        ("ce_type", b"cep.match.CardTesting"),
        ("ce_source", b"/cep/fraud"),
        ("ce_time", b"2024-01-01T00:00:00Z"),
        ("content-type", b"application/json"),
    ]


@pytest.mark.usefixtures("real")
def test_a_failure_while_records_are_made_publishes_nothing(config, topic, committed, job):
    name = topic()

    def broken():
        yield from records("a", "b")
        raise OSError("the disk is gone")

    with TransactionalPublisher(config, job, topic=name) as publisher:
        with pytest.raises(OSError, match="the disk is gone"):
            publisher.publish(0, broken())
        assert publisher.publish(0, records("c")) == PublishResult(0, 1)
    assert values(committed(name)) == ["c"]


def test_brokers_that_do_not_answer_are_named(job):
    publisher = TransactionalPublisher(
        KafkaConfig.of({"bootstrap.servers": "127.0.0.1:1", "socket.connection.setup.timeout.ms": "1000"}),
        job,
        topic="t",
        patience=1,
    )
    with pytest.raises(KafkaFailureError, match=r"cannot reach Kafka at 127\.0\.0\.1:1"):
        publisher.publish(0, records("a"))


LARGE = """
import sys
from connectors.kafka.config import KafkaConfig
from connectors.kafka.publisher import Record, TransactionalPublisher
from runtime.memory import peak_rss
publisher = TransactionalPublisher(KafkaConfig.of({"bootstrap.servers": sys.argv[1]}), sys.argv[2], topic=sys.argv[3])
publisher.publish(0, [Record(b"k", b"first")])
before = peak_rss()
publisher.publish(1, (Record(b"k", b"x" * 10_000) for _ in range(30_000)))
print(peak_rss() - before)
"""


def test_a_large_batch_takes_bounded_memory(config, topic, job):
    """300 MB of records, of which the client holds 32 MB at a time."""
    name = topic()
    done = subprocess.run(
        [sys.executable, "-c", LARGE, config.bootstrap, job, name],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 150_000_000, f"grew by {done.stdout} bytes"
    marker = newest_marker(config, f"{name}.cep-commits", job)
    assert marker is not None
    assert marker.records == 30_000


def test_a_stranger_s_record_in_the_marker_topic_is_reported(config, topic, send, job):
    name = topic()
    with TransactionalPublisher(config, job, topic=name) as publisher:
        publisher.publish(0, records("a"))
    send(f"{name}.cep-commits", [(0, job.encode(), json.dumps({"hello": 1}).encode())])
    with (
        TransactionalPublisher(config, job, topic=name) as publisher,
        pytest.raises(KafkaFailureError, match="expected a marker"),
    ):
        publisher.publish(1, records("b"))

"""Large batches, large records, slow transactions: published in parts, put aside, or said what to do."""

from __future__ import annotations

import json
import os
import time
import uuid

import pytest
from confluent_kafka import KafkaError

from connectors.kafka.config import KafkaConfig
from connectors.kafka.marker import newest_marker
from connectors.kafka.oversize import OVERHEAD, Room, letter_of
from connectors.kafka.parts import PartLimits
from connectors.kafka.publisher import FencedError, PublishResult, Record, RewindError, TransactionalPublisher
from connectors.kafka.triage import FENCED, FINAL, GONE, REOPEN, REPEAT, TOO_LARGE, advice, triage

SMALL = PartLimits(records=10)


@pytest.fixture
def job() -> str:
    return f"job-{uuid.uuid4().hex[:10]}"


def numbered(count: int, first: int = 0) -> list[Record]:
    return [Record(b"k", b"%d" % n) for n in range(first, first + count)]


def numbers(messages) -> list[int]:
    return [int(message.value()) for message in messages]


class Breaking(list[Record]):
    """Records that end in an error after so many."""

    def __init__(self, records: list[Record], after: int) -> None:
        super().__init__(records)
        self.after = after

    def __iter__(self):
        yield from self[: self.after]
        raise OSError("the disk is gone")


@pytest.mark.kafka
def test_a_batch_is_published_in_parts_of_bounded_size(config, topic, committed, job):
    name = topic()
    with TransactionalPublisher(config, job, topic=name, limits=SMALL) as publisher:
        assert publisher.publish(0, numbered(35)) == PublishResult(0, 35)
        assert publisher.publish(0, numbered(35)) == PublishResult(0, 35, skipped=True)
        assert publisher.publish(1, numbered(10, 35)) == PublishResult(1, 10)
        assert publisher.publish(2, iter(numbered(5, 45))) == PublishResult(2, 5)
    assert numbers(committed(name)) == list(range(50))
    markers = [json.loads(message.value()) for message in committed(f"{name}.cep-commits")]
    told = [(marker["batch"], marker["part"], marker["records"], marker["last"]) for marker in markers]
    assert told[-6:] == [(0, 0, 10, False), (0, 1, 20, False), (0, 2, 30, False), (0, 3, 35, True),
                         (1, 0, 10, True), (2, 0, 5, True)]  # fmt: skip


@pytest.mark.kafka
@pytest.mark.usefixtures("real")
def test_a_batch_that_was_cut_off_goes_on_after_its_last_part(config, topic, committed, job):
    name = topic()
    with (
        TransactionalPublisher(config, job, topic=name, limits=SMALL) as publisher,
        pytest.raises(OSError, match="the disk is gone"),
    ):
        publisher.publish(0, Breaking(numbered(35), 27))
    assert numbers(committed(name)) == list(range(20))

    # Another process, with other limits: how a batch is cut does not matter to who goes on with it.
    with TransactionalPublisher(config, job, topic=name, limits=PartLimits(records=7)) as publisher:
        assert publisher.publish(0, numbered(35)) == PublishResult(0, 15)
    assert numbers(committed(name)) == list(range(35))


@pytest.mark.kafka
@pytest.mark.usefixtures("real")
def test_a_batch_that_comes_with_other_records_is_refused_or_published_from_its_beginning(
    config, topic, committed, job
):
    name = topic()
    other = numbered(35)[::-1]
    with TransactionalPublisher(config, job, topic=name, limits=SMALL) as publisher:
        with pytest.raises(OSError, match="the disk is gone"):
            publisher.publish(0, Breaking(numbered(35), 27))
        with pytest.raises(RewindError, match=r"published in part, 20 records.*--on-rewind republish"):
            publisher.publish(0, other)
        with pytest.raises(RewindError, match="not the first 5"):
            publisher.publish(0, numbered(5))
        with pytest.raises(RewindError, match=r"batch 0.*in part only"):
            publisher.publish(1, numbered(5))
    with TransactionalPublisher(config, job, topic=name, limits=SMALL, on_rewind="republish") as publisher:
        with pytest.raises(OSError, match="the disk is gone"):
            publisher.publish(0, Breaking(other, 25))
        assert publisher.publish(0, other) == PublishResult(0, 15)
    assert numbers(committed(name)) == [*range(20), *range(34, -1, -1)]


@pytest.mark.kafka
@pytest.mark.usefixtures("real")
def test_a_match_too_large_for_the_topic_goes_to_the_dead_letters_with_the_batch(config, topic, committed, job):
    name = topic(max_message_bytes="2000")
    large = json.dumps({"id": "0a", "pattern": "P", "fields": {"n": 1, "blob": os.urandom(4000).hex()}}).encode()
    squeezable = json.dumps({"id": "0b", "pattern": "P", "fields": {"blob": "x" * 5000}}).encode()
    batch = [Record(b"k", b"before"), Record(b"k", large, (("ce_id", b"0a"),)), Record(b"k", squeezable)]
    with TransactionalPublisher(config, job, topic=name) as publisher:
        assert publisher.publish(0, [*batch, Record(b"k", b"after")]) == PublishResult(0, 4, too_large=1)
        huge = Record(b"k" * 2_000_000, b"y" * 2_000_000)
        assert publisher.publish(1, [huge]) == PublishResult(1, 1, too_large=1)
        assert publisher.publish(1, [huge]) == PublishResult(1, 1, skipped=True)
    assert [message.value() for message in committed(name)] == [b"before", squeezable, b"after"]

    first, second = committed(f"{name}.dlq")
    assert json.loads(first.value()) == {"id": "0a", "pattern": "P", "fields": {"n": 1}, "dropped": ["blob"]}
    headers = dict(first.headers())
    assert headers["ce_id"] == b"0a"
    assert headers["__connect.errors.topic"] == name.encode()
    assert int(headers["__connect.errors.size"]) > 8000
    assert b"max.message.bytes" in headers["__connect.errors.exception.message"]
    assert len(second.value()) <= 1000
    assert len(second.key()) == 1024
    assert b"message.max.bytes" in dict(second.headers())["__connect.errors.exception.message"]


@pytest.mark.kafka
@pytest.mark.usefixtures("real")
def test_small_matches_are_not_sent_together_in_more_than_the_topic_takes(config, topic, committed, job):
    name = topic(max_message_bytes="2000")
    batch = [Record(b"k", os.urandom(200)) for _ in range(300)]
    with TransactionalPublisher(config, job, topic=name) as publisher:
        assert publisher.publish(0, batch) == PublishResult(0, 300)
    assert [message.value() for message in committed(name)] == [record.value for record in batch]


def test_what_a_topic_takes_is_measured_compressed():
    noise, zeros = Record(b"k", os.urandom(5000)), Record(b"k", b"0" * 5000)
    assert Room(client=10_000).takes(noise)
    assert not Room(client=5000).takes(zeros)
    assert not Room(client=10_000, topic=3000).takes(noise)
    assert Room(client=10_000, topic=3000).takes(zeros)
    assert not Room(client=10_000, topic=3000, codec="none").takes(zeros)
    assert Room(client=5000 + 1 + OVERHEAD).takes(zeros)


@pytest.mark.parametrize("value", [b"x" * 9000, b"[1, 2" + b" " * 9000, b'{"fields": 1, "x": "' + b"y" * 9000 + b'"}'])
def test_a_value_that_is_no_match_is_cut(value):
    letter = letter_of(Record(None, value), "t", Room(client=2000))
    assert letter.value == value[:1000]
    assert letter.topic == "t.dlq"


@pytest.mark.kafka
@pytest.mark.usefixtures("real")
def test_a_transaction_over_its_timeout_is_named(config, topic, committed, job):
    short = KafkaConfig.of({**dict(config.properties), "transaction.timeout.ms": "1000"})
    name = topic()

    def slow():
        yield from numbered(1)
        time.sleep(14)  # the broker looks for such transactions every ten seconds
        yield from numbered(1, 1)

    publisher = TransactionalPublisher(short, job, topic=name, limits=SMALL)
    publisher._write_part = lambda session, records: _write_all(session, records, name)  # type: ignore[method-assign]
    said = r"longer than transaction\.timeout\.ms allows \(1 s\).*transaction\.max\.timeout"
    with publisher, pytest.raises(FencedError, match=said):
        publisher.publish(0, slow())
    assert committed(name) == []


def _write_all(session, records, name) -> None:
    """A part that takes no heed of time, as if one record took that long."""
    while records.head is not None:
        session.send(records.head, name)
        records.step()


@pytest.mark.kafka
@pytest.mark.usefixtures("real")
def test_a_part_ends_in_time(config, topic, committed, job):
    short = KafkaConfig.of({**dict(config.properties), "transaction.timeout.ms": "2000"})
    name = topic()

    def slow():
        for record in numbered(6):
            yield record
            time.sleep(0.4)

    with TransactionalPublisher(short, job, topic=name) as publisher:
        assert publisher.publish(0, slow()) == PublishResult(0, 6)
    assert numbers(committed(name)) == list(range(6))
    marker = newest_marker(config, f"{name}.cep-commits", job)
    assert marker is not None
    assert (marker.records, marker.last) == (6, True)
    assert marker.part >= 2


@pytest.mark.kafka
@pytest.mark.usefixtures("real")
def test_a_timeout_that_the_broker_does_not_allow_says_what_to_change(config, topic, job):
    long = KafkaConfig.of({**dict(config.properties), "transaction.timeout.ms": str(24 * 3600 * 1000)})
    with (
        TransactionalPublisher(long, job, topic=topic(), patience=20) as publisher,
        pytest.raises(Exception, match=r"transaction\.max\.timeout\.ms: lower it"),
    ):
        publisher.publish(0, numbered(1))


@pytest.mark.parametrize(
    ("code", "flags", "retry", "expected"),
    [
        (KafkaError._FENCED, {"fatal": True}, True, FENCED),
        (KafkaError.INVALID_PRODUCER_EPOCH, {}, False, FENCED),
        (KafkaError._TIMED_OUT, {"retriable": True}, True, REPEAT),
        (KafkaError._TIMED_OUT, {"retriable": True}, False, GONE),
        (KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, {"fatal": True}, False, REOPEN),
        (KafkaError.UNKNOWN_PRODUCER_ID, {"txn_requires_abort": True}, False, REOPEN),
        (KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, {"fatal": True}, True, FINAL),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, {"txn_requires_abort": True}, True, FINAL),
        (KafkaError.INVALID_TRANSACTION_TIMEOUT, {"fatal": True}, True, FINAL),
        (KafkaError.MSG_SIZE_TOO_LARGE, {"txn_requires_abort": True}, True, TOO_LARGE),
        (KafkaError._STATE, {}, True, REOPEN),
        (KafkaError._FATAL, {}, True, REOPEN),
    ],
)
def test_errors_are_told_apart_that_pass_and_that_do_not(code, flags, retry, expected):
    error = KafkaError(code, "reason", **flags)
    assert triage(error, retry=retry) == expected
    assert ("What to do" in advice(error)) == (expected == FINAL)


def test_a_fatal_error_is_known_by_the_one_that_led_to_it():
    """librdkafka says the first one by its code, and `_FATAL` from then on."""
    told = KafkaError(KafkaError._FATAL, "Fatal error: UNSUPPORTED_FOR_MESSAGE_FORMAT: old", fatal=True)
    assert triage(told) == FINAL
    assert "message.format.version" in advice(told)
    assert triage(KafkaError(KafkaError._FATAL, "Fatal error: _FENCED: Local: replaced", fatal=True)) == FENCED
    assert triage(KafkaError(KafkaError._FATAL, "Fatal error: out of sequence", fatal=True)) == REOPEN

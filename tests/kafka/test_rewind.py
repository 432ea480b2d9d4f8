"""A checkpoint that goes back in time, markers that are lost: nothing is skipped that was not published."""

from __future__ import annotations

import uuid

import pytest

from connectors.kafka.broker import check_marker_topic
from connectors.kafka.cluster import ensure_topics
from connectors.kafka.config import KafkaFailureError
from connectors.kafka.decide import InputRange
from connectors.kafka.marker import Marker, newest_marker
from connectors.kafka.publisher import PublishResult, Record, RewindError, TransactionalPublisher
from tests.kafka.jobs import delete


@pytest.fixture
def job() -> str:
    return f"job-{uuid.uuid4().hex[:10]}"


def records(*values: str) -> list[Record]:
    return [Record(b"k", value.encode()) for value in values]


def values(messages) -> list[str]:
    return [message.value().decode() for message in messages]


class Checkpoint:
    """A checkpoint of a job that reads one partition: what each batch read, and the copy of the newest marker."""

    def __init__(self, **ends: int) -> None:
        self.ends = [0, *ends.values()]
        self.kept: Marker | None = None

    def __call__(self, batch: int) -> InputRange | None:
        if not 0 <= batch < len(self.ends) - 1:
            return None
        start = {"0:trades[0]": self.ends[batch]} if batch else None
        return InputRange(start, {"0:trades[0]": self.ends[batch + 1]})

    def load(self) -> Marker | None:
        return self.kept

    def store(self, marker: Marker) -> None:
        self.kept = marker

    def goes_back(self, *ends: int) -> Checkpoint:
        """As a backup would have it, with what Spark plans from there on."""
        older = Checkpoint()
        older.ends, older.kept = [0, *ends], self.kept
        return older


@pytest.fixture
def publish(config, job):
    def once(topic: str, checkpoint: Checkpoint, batch: int, *texts: str, on_rewind: str = "fail") -> PublishResult:
        with TransactionalPublisher(
            config, job, topic=topic, ranges=checkpoint, ledger=checkpoint, on_rewind=on_rewind
        ) as publisher:
            return publisher.publish(batch, records(*texts))

    return once


@pytest.mark.kafka
def test_a_restored_backup_is_refused_until_told_and_then_goes_on(topic, committed, publish):
    name = topic()
    checkpoint = Checkpoint(first=100, second=200, third=300)
    for batch, text in enumerate("abc"):
        assert publish(name, checkpoint, batch, text) == PublishResult(batch, 1)

    restored = checkpoint.goes_back(100, 300, 400)
    with pytest.raises(RewindError) as caught:
        publish(name, restored, 1, "b", "c")
    said = str(caught.value)
    assert "batch 1" in said
    assert "trades[0] 100-300" in said
    assert "trades[0] 200-300" in said
    assert "--on-rewind republish" in said
    assert values(committed(name)) == ["a", "b", "c"]

    assert publish(name, restored, 1, "b", "c", on_rewind="republish") == PublishResult(1, 2)
    assert publish(name, restored, 1, "b", "c") == PublishResult(1, 2, skipped=True)
    assert publish(name, restored, 2, "d") == PublishResult(2, 1)
    assert values(committed(name)) == ["a", "b", "c", "b", "c", "d"]


@pytest.mark.kafka
def test_a_restored_backup_whose_batches_come_out_as_they_were_needs_no_word(topic, committed, publish):
    name = topic()
    checkpoint = Checkpoint(first=100, second=200, third=300)
    for batch, text in enumerate("abc"):
        publish(name, checkpoint, batch, text)
    again = checkpoint.goes_back(100, 200, 300, 400)
    assert publish(name, again, 1, "b").skipped
    assert publish(name, again, 2, "c").skipped
    assert publish(name, again, 3, "d") == PublishResult(3, 1)
    assert values(committed(name)) == ["a", "b", "c", "d"]


@pytest.mark.kafka
def test_a_checkpoint_that_lost_spark_s_part_is_refused(topic, committed, publish):
    name = topic()
    publish(name, Checkpoint(first=100), 0, "a")
    with pytest.raises(RewindError, match=r"trades\[0\] up to 100.*trades\[0\] up to 250"):
        publish(name, Checkpoint(first=250), 0, "a", "b")
    assert values(committed(name)) == ["a"]


@pytest.mark.kafka
@pytest.mark.usefixtures("real")
def test_markers_that_were_lost_are_noticed(config, topic, committed, publish, job):
    name = topic()
    checkpoint = Checkpoint(first=100, second=200, third=300)
    publish(name, checkpoint, 0, "a")
    delete(config, f"{name}.cep-commits")
    with pytest.raises(RewindError, match=r"batch 0 of job .* was published, the marker topic has none"):
        publish(name, checkpoint, 1, "b")
    with (
        TransactionalPublisher(config, job, topic=name, ledger=checkpoint) as publisher,
        pytest.raises(RewindError, match="the marker topic has none"),
    ):
        publisher.claim()
    assert publish(name, checkpoint, 0, "a", on_rewind="republish").skipped
    assert publish(name, checkpoint, 1, "b", on_rewind="republish") == PublishResult(1, 1)
    assert publish(name, checkpoint, 2, "c") == PublishResult(2, 1)
    assert values(committed(name)) == ["a", "b", "c"]


@pytest.mark.kafka
def test_the_generation_is_kept_in_the_checkpoint(config, topic, job):
    checkpoint = Checkpoint(first=100)
    with TransactionalPublisher(config, job, topic=topic(), ledger=checkpoint) as publisher:
        assert publisher.claim() == 1
        assert checkpoint.kept is not None
        assert (checkpoint.kept.generation, checkpoint.kept.batch) == (1, -1)


@pytest.mark.kafka
def test_a_job_goes_on_after_an_upgrade(config, topic, send, committed, publish, job):
    name = topic()
    ensure_topics(config, [f"{name}.cep-commits"], settings={"cleanup.policy": "compact"})
    old = b'{"job": "%s", "batch": 1, "records": 7, "generation": 3, "time": "2026-01-01T00:00:00Z"}' % job.encode()
    send(f"{name}.cep-commits", [(0, job.encode(), old)])
    checkpoint = Checkpoint(first=100, second=200, third=300)
    assert publish(name, checkpoint, 1, "b") == PublishResult(1, 7, skipped=True)
    assert publish(name, checkpoint, 2, "c") == PublishResult(2, 1)
    marker = newest_marker(config, f"{name}.cep-commits", job)
    assert marker is not None
    assert (marker.generation, marker.range) == (4, checkpoint(2).digest)
    assert values(committed(name)) == ["c"]


@pytest.mark.kafka
@pytest.mark.usefixtures("real")
@pytest.mark.parametrize(
    ("partitions", "settings", "said"),
    [
        (1, {"cleanup.policy": "delete"}, r"cleanup\.policy=delete, expected compact.*\n.*kafka-configs\.sh .*--alter"),
        (1, {"cleanup.policy": "compact,delete"}, r"cleanup\.policy=compact,delete"),
        (3, {"cleanup.policy": "compact"}, "3 partitions, expected 1"),
    ],
)
def test_a_marker_topic_that_would_lose_markers_is_refused(config, topic, publish, partitions, settings, said):
    name = topic()
    ensure_topics(config, [f"{name}.cep-commits"], partitions=partitions, settings=settings)
    with pytest.raises(KafkaFailureError, match=said):
        publish(name, Checkpoint(first=100), 0, "a")


def test_settings_that_are_hidden_are_let_pass(caplog):
    check_marker_topic("t.cep-commits", 1, None, "b:1")
    assert "expected cleanup.policy=compact" in caplog.text

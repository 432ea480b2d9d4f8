"""The Spark sink: staged on executors, published once by the driver."""

from __future__ import annotations

import json
import os
import pickle
import time
import uuid

import pyarrow as pa
import pytest

from connectors.kafka.sink import INLINE, STAGED, Publication, RecordStager, remove, remove_stale, stage


def matches(first: int, count: int, size: int = 0) -> pa.RecordBatch:
    ids = [f"{n:032x}" for n in range(first, first + count)]
    return pa.RecordBatch.from_pydict(
        {
            "key": [f"acc{n % 3}" for n in range(first, first + count)],
            "value": [json.dumps({"id": id_, "pad": os.urandom(size // 2).hex()}).encode() for id_ in ids],
            "id": ids,
            "pattern": ["P"] * count,
            "time": ["2026-01-01T00:00:00Z"] * count,
        }
    )


def test_few_rows_travel_in_the_message_many_in_a_file(tmp_path):
    small = stage(iter([matches(0, 10), matches(10, 5)]), str(tmp_path / "s"), 3)
    assert (small.task, small.rows, small.path) == (3, 15, None)
    assert not (tmp_path / "s").exists()

    large = stage(iter([matches(n * 100, 100, INLINE // 150) for n in range(6)]), str(tmp_path / "s"), 4)
    assert (large.rows, large.data) == (600, None)
    assert len(pickle.dumps(large)) < 1000
    assert len(list((tmp_path / "s").iterdir())) == 1

    remove([large], str(tmp_path / "s"))
    assert list((tmp_path / "s").iterdir()) == []


def test_no_rows_are_no_message(tmp_path):
    assert stage(iter([]), str(tmp_path), 0) is None
    assert stage(iter([matches(0, 0)]), str(tmp_path), 0) is None
    assert list(RecordStager(staging=str(tmp_path))(iter([matches(0, 0)]))) == []


def test_files_that_a_killed_driver_left_are_removed_after_a_day(tmp_path):
    old, young, other = tmp_path / "a.staged.arrow", tmp_path / "b.staged.arrow", tmp_path / "mine.txt"
    for path in (old, young, other):
        path.write_bytes(b"x")
        if path is not young:
            os.utime(path, (time.time() - 90_000,) * 2)
    remove_stale(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.staged.arrow", "mine.txt"]


@pytest.mark.kafka
def test_a_batch_is_committed_once_in_task_order_with_headers(config, topic, committed, tmp_path):
    name, job, staging = topic(), f"job-{uuid.uuid4().hex[:8]}", str(tmp_path / "s")
    publication = Publication(config=config, topic=name, job_id=job, staging=staging)
    big = stage(iter([matches(100 + n * 100, 100, INLINE // 150) for n in range(3)]), staging, 1)

    publication.publish([big, stage(iter([matches(0, 100)]), staging, 0)], 5)
    publication.publish([stage(iter([matches(0, 100)]), staging, 0)], 5)
    publication.publish([], 6)
    # What a second process would do, whose driver died before Spark wrote down that the batch was done.
    pickle.loads(pickle.dumps(publication)).publish([stage(iter([matches(0, 100)]), staging, 0)], 5)

    found = committed(name)
    assert [json.loads(message.value())["id"] for message in found] == [f"{n:032x}" for n in range(400)]
    assert dict(found[7].headers()) == {
        "ce_specversion": b"1.0",
        "ce_id": f"{7:032x}".encode(),
        "ce_type": b"cep.match.P",
        "ce_source": f"/cep/{job}".encode(),
        "ce_time": b"2026-01-01T00:00:00Z",
        "content-type": b"application/json",
    }
    assert found[7].key() == b"acc1"
    assert list((tmp_path / "s").iterdir()) == []


@pytest.mark.kafka
@pytest.mark.spark
def test_through_spark_from_topic_to_topic(spark, config, topic, send, committed, tmp_path):
    """A pass-through job, restarted with its last batch not marked as done: every record once."""
    source, target, job = topic(2), topic(1), f"job-{uuid.uuid4().hex[:8]}"
    send(source, [(n % 2, b"k%d" % n, b'{"id": "%d", "pattern": "P", "end": null}' % n) for n in range(100)])

    staging = str(tmp_path / "staging")

    def run():
        records = (
            spark.readStream.format("cep-kafka")
            .options(**config.options(), subscribe=source, maxOffsetsPerTrigger="60")
            .load()
            .select("key", "value")
        )
        query = (
            records.mapInArrow(RecordStager(staging=staging), STAGED)
            .writeStream.foreachBatch(Publication(config=config, topic=target, job_id=job, staging=staging))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    run()
    (tmp_path / "checkpoint" / "commits" / "1").unlink()
    (tmp_path / "checkpoint" / "commits" / ".1.crc").unlink(missing_ok=True)
    run()

    found = committed(target)
    assert sorted(int(json.loads(message.value())["id"]) for message in found) == list(range(100))
    assert all(message.key() == b"k" + dict(message.headers())["ce_id"] for message in found)

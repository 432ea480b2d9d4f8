"""The Spark sink: staged on executors, published once by the driver."""

from __future__ import annotations

import json
import os
import pickle
import random
import time
import uuid

import pyarrow as pa
import pytest

from connectors import staging as staging_module
from connectors.kafka.sink import Publication
from connectors.staging import INLINE, STAGED, RowStager, Staged, remove, remove_stale, rows_of, stage
from tests.spark.helpers import to_the_end


def matches(first: int, count: int, size: int = 0) -> pa.RecordBatch:
    ids = [f"{n:032x}" for n in range(first, first + count)]
    return pa.RecordBatch.from_pydict(
        {
            "key": [f"acc{n % 3}" for n in range(first, first + count)],
            "value": [json.dumps({"id": id_, "pad": os.urandom(size // 2).hex()}).encode() for id_ in ids],
            "id": ids,
            "pattern": ["P"] * count,
            "time": ["2024-01-01T00:00:00Z"] * count,
        }
    )


def test_few_rows_travel_in_the_message_many_in_a_file(tmp_path):
    (small,) = stage(iter([matches(0, 10), matches(10, 5)]), str(tmp_path / "s"), 3)
    assert (small.task, small.rows, small.path) == (3, 15, None)
    assert not (tmp_path / "s").exists()

    (large,) = stage(iter([matches(n * 100, 100, INLINE // 150) for n in range(6)]), str(tmp_path / "s"), 4)
    assert (large.rows, large.data) == (600, None)
    assert len(pickle.dumps(large)) < 1000
    assert len(list((tmp_path / "s").iterdir())) == 1

    remove([large], str(tmp_path / "s"))
    assert list((tmp_path / "s").iterdir()) == []


def test_no_rows_are_no_message(tmp_path):
    assert list(stage(iter([]), str(tmp_path), 0)) == []
    assert list(stage(iter([matches(0, 0)]), str(tmp_path), 0)) == []
    assert list(RowStager(staging=str(tmp_path))(iter([matches(0, 0)]))) == []


def shuffled(rows: pa.RecordBatch, seed: int) -> list[pa.RecordBatch]:
    order = list(range(rows.num_rows))
    random.Random(seed).shuffle(order)
    table = pa.Table.from_batches([rows]).take(order)
    return table.to_batches(max_chunksize=97)


@pytest.mark.parametrize("run", [1 << 20, 20_000])
def test_a_batch_that_is_run_again_has_its_rows_in_the_same_order(tmp_path, monkeypatch, run):
    """Whatever order the shuffle hands them over in, in one run or in many."""
    monkeypatch.setattr(staging_module, "RUN", run)
    rows = matches(0, 1000, 200)
    ends = [None if n % 100 == 0 else (n * 7919) % 500 for n in range(1000)]
    rows = rows.append_column("end", pa.array(ends, pa.timestamp("us", "UTC")))

    def staged(seed: int) -> tuple[list[Staged], list[str]]:
        parts = list(stage(iter(shuffled(rows, seed)), str(tmp_path), 0))
        found = [row for batch in rows_of(parts[::-1], str(tmp_path)) for row in batch.to_pylist()]
        remove(parts, str(tmp_path))
        assert [row["end"] for row in found[:-10]] == sorted(row["end"] for row in found[:-10])
        assert all(row["end"] is None for row in found[-10:])
        return parts, [row["id"] for row in found]

    first, order = staged(1)
    assert len(first) == (1 if run > 20_000 else pytest.approx(20, abs=15))
    assert sorted(order) == sorted(rows.column("id").to_pylist())
    assert staged(2)[1] == order
    assert staged(3)[1] == order


def test_rows_without_an_id_stay_as_they_come(tmp_path, monkeypatch):
    monkeypatch.setattr(staging_module, "RUN", 500)
    batches = [
        pa.RecordBatch.from_pydict({"value": [f"{n}-{m}" * 20 for m in range(3, 0, -1)]}) for n in range(9, 0, -1)
    ]
    parts = list(stage(iter(batches), str(tmp_path), 0))
    assert len(parts) > 1
    found = [value for batch in rows_of(parts, str(tmp_path)) for value in batch.column("value").to_pylist()]
    assert found == [value for batch in batches for value in batch.column("value").to_pylist()]


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
    (big,) = stage(iter([matches(100 + n * 100, 100, INLINE // 150) for n in range(3)]), staging, 1)

    publication.publish([big, *stage(iter([matches(0, 100)]), staging, 0)], 5)
    publication.publish(list(stage(iter([matches(0, 100)]), staging, 0)), 5)
    publication.publish([], 6)
    # What a second process would do, whose driver died before Spark wrote down that the batch was done.
    pickle.loads(pickle.dumps(publication)).publish(list(stage(iter([matches(0, 100)]), staging, 0)), 5)

    found = committed(name)
    assert [json.loads(message.value())["id"] for message in found] == [f"{n:032x}" for n in range(400)]
    assert dict(found[7].headers()) == {
        "ce_specversion": b"1.0",
        "ce_id": f"{7:032x}".encode(),
        "ce_type": b"cep.match.P",
        "ce_source": f"/cep/{job}".encode(),
        "ce_time": b"2024-01-01T00:00:00Z",
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
        return (
            records.mapInArrow(RowStager(staging=staging), STAGED)
            .writeStream.foreachBatch(Publication(config=config, topic=target, job_id=job, staging=staging))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )

    to_the_end(run)
    (tmp_path / "checkpoint" / "commits" / "1").unlink()
    (tmp_path / "checkpoint" / "commits" / ".1.crc").unlink(missing_ok=True)
    to_the_end(run)

    found = committed(target)
    assert sorted(int(json.loads(message.value())["id"]) for message in found) == list(range(100))
    assert all(message.key() == b"k" + dict(message.headers())["ce_id"] for message in found)

"""A directory of matches, whatever happens between writing and moving."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from runtime.spark.sinks import FileStager, Written, clean, publish
from tests.spark.helpers import lines_in

TIME = pa.timestamp("us", "UTC")


def rows(*ids: str) -> pa.RecordBatch:
    count = len(ids)
    return pa.RecordBatch.from_pydict(
        {
            "id": list(ids),
            "pattern": ["P"] * count,
            "start": pa.array([0] * count, TIME),
            "end": pa.array([None] * count, TIME),
            "fields": ['{"x": 1}'] * count,
            "key": [None] * count,
        }
    )


def staged(directory: Path, *ids: str, job: str = "job", partition: int = 0) -> Written:
    written = FileStager(directory=str(directory), job=job).write(iter([rows(id_) for id_ in ids]), partition)
    assert written is not None
    return written


def test_nothing_is_visible_before_the_commit_and_everything_after(tmp_path: Path) -> None:
    message = staged(tmp_path, "a", "b")
    assert not lines_in(tmp_path)
    publish(tmp_path, "job", [message], 0)
    found = [json.loads(line) for line in lines_in(tmp_path)]
    assert [match["id"] for match in found] == ["a", "b"]
    assert found[0] == {"id": "a", "pattern": "P", "start": "1970-01-01T00:00:00Z", "end": None, "fields": {"x": 1}}


def test_no_match_is_no_file(tmp_path: Path) -> None:
    assert list(FileStager(directory=str(tmp_path), job="job")(iter([rows()]))) == []
    assert not list(tmp_path.iterdir())


def test_a_repeated_batch_replaces_itself(tmp_path: Path) -> None:
    publish(tmp_path, "job", [staged(tmp_path, "a", "b"), staged(tmp_path, "c", partition=1)], 3)
    publish(tmp_path, "job", [staged(tmp_path, "b", "a"), staged(tmp_path, "c", partition=1)], 3)
    assert sorted(json.loads(line)["id"] for line in lines_in(tmp_path).elements()) == ["a", "b", "c"]
    publish(tmp_path, "job", [], 3)  # the pattern changed, and the batch has no match any more
    assert not lines_in(tmp_path)


def test_a_crashed_attempt_leaves_nothing(tmp_path: Path) -> None:
    staged(tmp_path, "a")
    clean(tmp_path, "job")
    assert not lines_in(tmp_path)
    assert not list((tmp_path / "_temporary" / "job").iterdir())


def test_jobs_can_share_a_directory(tmp_path: Path) -> None:
    one = staged(tmp_path, "a", job="one")
    clean(tmp_path, "two")
    publish(tmp_path, "two", [staged(tmp_path, "b", job="two")], 0)
    publish(tmp_path, "one", [one], 0)
    assert len(lines_in(tmp_path)) == 2

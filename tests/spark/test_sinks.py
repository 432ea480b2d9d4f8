"""A directory of matches, whatever happens between writing and moving."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from runtime.spark.sinks import MatchFilesWriter, Written, clean
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


def test_nothing_is_visible_before_the_commit_and_everything_after(tmp_path: Path) -> None:
    writer = MatchFilesWriter(str(tmp_path), "job")
    message = writer.write(iter([rows("a"), rows("b")]))
    assert not lines_in(tmp_path)
    writer.commit([message, None], 0)
    found = [json.loads(line) for line in lines_in(tmp_path)]
    assert [match["id"] for match in found] == ["a", "b"]
    assert found[0] == {"id": "a", "pattern": "P", "start": "1970-01-01T00:00:00Z", "end": None, "fields": {"x": 1}}


def test_a_repeated_batch_replaces_itself(tmp_path: Path) -> None:
    writer = MatchFilesWriter(str(tmp_path), "job")
    other = Written(None, 1, 0)
    writer.commit([writer.write(iter([rows("a", "b")])), other], 3)
    writer.commit([writer.write(iter([rows("b", "a")])), other], 3)
    assert sorted(json.loads(line)["id"] for line in lines_in(tmp_path).elements()) == ["a", "b"]
    writer.commit([other], 3)  # the pattern changed, and the batch has no match any more
    assert not lines_in(tmp_path)


def test_an_aborted_or_crashed_attempt_leaves_nothing(tmp_path: Path) -> None:
    writer = MatchFilesWriter(str(tmp_path), "job")
    writer.abort([writer.write(iter([rows("a")])), None], 0)
    writer.write(iter([rows("b")]))
    clean(tmp_path, "job")
    assert not lines_in(tmp_path)
    assert not list((tmp_path / "_temporary" / "job").iterdir())


def test_jobs_can_share_a_directory(tmp_path: Path) -> None:
    one, two = MatchFilesWriter(str(tmp_path), "one"), MatchFilesWriter(str(tmp_path), "two")
    staged = one.write(iter([rows("a")]))
    clean(tmp_path, "two")
    two.commit([two.write(iter([rows("b")]))], 0)
    one.commit([staged], 0)
    assert len(lines_in(tmp_path)) == 2

"""A directory of matches, whatever happens between writing and moving."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from connectors.cap import Cap, Tally, TooManyMatchesError
from connectors.kafka.decide import InputRange
from connectors.staging import Staged, stage
from runtime.spark.ends.console import Console, sortable
from runtime.spark.ends.directory import FilePublication, FileStager, clean
from runtime.spark.errors import JobError
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


def staged(directory: Path, *ids: str, job: str = "job", partition: int = 0) -> Staged:
    (written,) = FileStager(directory=str(directory), job=job).put(iter([rows(id_) for id_ in ids]), partition)
    return written


def publish(
    directory: Path, job: str, parts: Sequence[Staged], batch: int, *, on_rewind: str = "fail", **settings: Any
) -> None:
    FilePublication(directory=str(directory), job=job, on_rewind=on_rewind, **settings).publish(parts, batch)


def seen(directory: Path) -> list[str]:
    """The ids that a plain reader finds."""
    return sorted(json.loads(line)["id"] for line in lines_in(directory).elements())


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


class Log:
    """What the batches of a checkpoint read: `ends` are the positions after each."""

    def __init__(self, *ends: int) -> None:
        self.ends = ends

    def __call__(self, batch: int) -> InputRange | None:
        if not 0 <= batch < len(self.ends):
            return None
        start = {"0:t[0]": self.ends[batch - 1]} if batch else None
        return InputRange(start, {"0:t[0]": self.ends[batch]})


def three(directory: Path) -> Log:
    """A job that has published three batches, and another one beside it."""
    log = Log(10, 20, 30)
    for batch in range(3):
        publish(directory, "job", [staged(directory, f"{batch}")], batch, ranges=log)
    publish(directory, "other", [staged(directory, "x", job="other")], 9, ranges=lambda _: InputRange(None, {}))
    return log


def test_a_checkpoint_that_went_back_is_refused_and_with_republish_later_files_are_replaced(tmp_path: Path) -> None:
    three(tmp_path)
    longer = Log(10, 25, 35)
    with pytest.raises(JobError, match=r"batch 1 of job job .*t\[0\] 10-25.*had another range.*--on-rewind republish"):
        publish(tmp_path, "job", [staged(tmp_path, "1", "2")], 1, ranges=longer)
    assert seen(tmp_path) == ["0", "1", "2", "x"]
    publish(tmp_path, "job", [staged(tmp_path, "1", "2")], 1, on_rewind="republish", ranges=longer)
    assert seen(tmp_path) == ["0", "1", "2", "x"]
    (replaced,) = (tmp_path / "_replaced").iterdir()
    assert seen(replaced) == ["1", "2"]
    publish(tmp_path, "job", [staged(tmp_path, "3")], 2, ranges=longer)  # it goes on from there
    assert seen(tmp_path) == ["0", "1", "2", "3", "x"]


def test_a_batch_that_read_something_else_under_the_same_number_is_refused(tmp_path: Path) -> None:
    """Also where there is no file of a later one, and where it has no match: the files of then are not its own."""
    three(tmp_path)
    other = Log(10, 20, 33)
    said = r"batch 2 of job job .*it was published with t\[0\] 20-30, now it has t\[0\] 20-33"
    for parts in ([staged(tmp_path, "y")], []):
        with pytest.raises(JobError, match=said):
            publish(tmp_path, "job", parts, 2, ranges=other)
    assert seen(tmp_path) == ["0", "1", "2", "x"]
    with pytest.raises(JobError, match=r"batch 5 of job job .* the checkpoint has it with t\[0\] 20-33"):
        publish(tmp_path, "job", [staged(tmp_path, "y")], 5, ranges=Log(10, 20, 33, 40, 50, 60))
    with pytest.raises(JobError, match=r"t\[0\] begins at 25, 30 was published"):
        publish(tmp_path, "job", [staged(tmp_path, "y")], 3, ranges=lambda b: Log(0, 0, 25, 40)(b) if b == 3 else None)


def test_batches_that_come_again_as_they_were_are_skipped_until_there_is_a_new_one(tmp_path: Path) -> None:
    """A restored backup whose batches come out as they were: there is nothing to refuse."""
    three(tmp_path)
    (tmp_path / "matches-job-000000001-00000.jsonl").rename(tmp_path / "taken by a consumer")
    log = Log(10, 20, 30, 40)
    for batch in (1, 2, 3):
        publish(tmp_path, "job", [staged(tmp_path, f"{batch}")], batch, ranges=log)
    assert seen(tmp_path) == ["0", "2", "3", "x"]
    assert not list((tmp_path / "_temporary" / "job").iterdir())
    assert not (tmp_path / "_replaced").exists()


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_a_driver_that_is_killed_while_files_are_moved_is_followed_by_one_that_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:
    three(tmp_path)
    move = Path.replace

    def killed(path: Path, target: Path) -> Path:
        if (
            "_temporary" in path.parts
            and sum(target.name.startswith("matches-job-000000003") for target in done) == moved
        ):
            raise KeyboardInterrupt
        done.append(target)
        return move(path, target)

    done: list[Path] = []
    log = Log(10, 20, 30, 40, 50)
    parts = [staged(tmp_path, f"3{n}", partition=n) for n in range(3)]
    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        publish(tmp_path, "job", parts, 3, ranges=log)
    monkeypatch.setattr(Path, "replace", move)
    assert len(seen(tmp_path)) == 4 + moved
    # Nobody goes on behind it as if it were done.
    with pytest.raises(JobError, match=r"batch 3 .* was published in part only, 3 records of it"):
        publish(tmp_path, "job", [staged(tmp_path, "4")], 4, ranges=log)
    publish(tmp_path, "job", [staged(tmp_path, f"3{n}", partition=n) for n in range(3)], 3, ranges=log)
    publish(tmp_path, "job", [staged(tmp_path, "4")], 4, ranges=log)
    assert seen(tmp_path) == ["0", "1", "2", "30", "31", "32", "4", "x"]


def test_files_of_an_earlier_version_go_by_their_names(tmp_path: Path) -> None:
    log = three(tmp_path)
    shutil.rmtree(tmp_path / "_published")
    with pytest.raises(JobError, match=r"batch 1 of job job .*everything up to batch 2 \(an unknown range\)"):
        publish(tmp_path, "job", [staged(tmp_path, "1")], 1, ranges=log)
    publish(tmp_path, "job", [staged(tmp_path, "2")], 2, ranges=log)
    publish(tmp_path, "job", [staged(tmp_path, "3")], 3, ranges=Log(10, 20, 30, 40))
    assert seen(tmp_path) == ["0", "1", "2", "3", "x"]


def test_a_marker_that_is_none_is_refused(tmp_path: Path) -> None:
    log = three(tmp_path)
    (tmp_path / "_published" / "matches-job.json").write_text("[]")
    with pytest.raises(
        JobError, match=r"_published/matches-job.json: expected what the job has published.*Remove the file"
    ):
        publish(tmp_path, "job", [staged(tmp_path, "2")], 2, ranges=log)


def test_a_batch_without_a_match_writes_nothing(tmp_path: Path) -> None:
    publish(tmp_path, "job", [], 0, ranges=Log(10))
    assert list(tmp_path.iterdir()) == []


def test_too_many_matches_of_a_directory_fail_or_are_cut(tmp_path: Path) -> None:
    tally = Tally()
    parts = [staged(tmp_path, "d", "e", partition=1), staged(tmp_path, "a", "b", "c")]
    with pytest.raises(TooManyMatchesError, match="batch 4 has 5 matches, more than --max-matches-per-batch 4"):
        FilePublication(directory=str(tmp_path), job="job", cap=Cap(4)).publish(parts, 4)
    assert not lines_in(tmp_path)
    FilePublication(directory=str(tmp_path), job="job", cap=Cap(4, "truncate"), tally=tally).publish(parts, 4)
    assert sorted(json.loads(line)["id"] for line in lines_in(tmp_path).elements()) == ["a", "b", "c", "d"]
    assert tally.truncated == {4: 1}


def test_the_console_reads_what_tasks_have_staged(tmp_path: Path, capsys) -> None:
    batches = [rows("b", "d"), rows("a", "c")]
    parts = list(stage(sortable(iter(batches)), str(tmp_path), 0))
    Console(staging=str(tmp_path)).publish(parts, 0)
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == ["a", "b", "c", "d"]
    Console(staging=str(tmp_path), cap=Cap(3, "truncate")).publish(parts, 0)
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == ["a", "b", "c"]

"""What a batch read, from the files of Spark's checkpoint; and the copies beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from connectors.cap import TooManyMatchesError
from connectors.kafka.marker import Marker
from connectors.kafka.publisher import LedgerError, RewindError
from connectors.kafka.session import BrokerRefusesError
from runtime.spark.ends.ledger import CheckpointLedger
from runtime.spark.ends.offset_log import OffsetLog
from runtime.spark.ends.topics import has_ids
from runtime.spark.errors import Final, JobError, Passing, judge

MARKER = Marker("job", 3, 7, 2, "2026-01-01T00:00:00Z", 1, True, 9, "c", "r", {"0:t[0]": 1}, {"0:t[0]": 2}, ((2, "q"),))


def entry(checkpoint: Path, batch: int, *sources: str, at: int = 0, version: str = "v1") -> None:
    (checkpoint / "offsets").mkdir(exist_ok=True, parents=True)
    metadata = json.dumps({"batchWatermarkMs": at, "batchTimestampMs": at, "conf": {}})
    (checkpoint / "offsets" / str(batch)).write_text("\n".join([version, metadata, *sources]))


def files(checkpoint: Path, name: str, *entries: tuple[int, str], source: int = 0) -> None:
    place = checkpoint / "sources" / str(source)
    place.mkdir(exist_ok=True, parents=True)
    lines = [json.dumps({"path": path, "timestamp": 1, "batchId": number}) for number, path in entries]
    (place / name).write_text("\n".join(["v1", *lines]))


def test_a_range_is_where_the_sources_stood_before_and_after(tmp_path: Path) -> None:
    entry(tmp_path, 0, '{"t":{"0":5,"1":7}}', "-")
    entry(tmp_path, 1, '{"t":{"0":9,"1":7}}', '{"u": {"0": 3, "id": "Zk"}, "": {"cluster": "C"}}')
    log = OffsetLog(str(tmp_path))
    first, second = log(0), log(1)
    assert first is not None
    assert (first.start, first.end) == (None, {"0:t[0]": 5, "0:t[1]": 7})
    assert second is not None
    assert second.start == first.end
    assert second.end == {"0:t[0]": 9, "0:t[1]": 7, "1:u@Zk[0]": 3}
    assert str(second) == "t[0] 5-9, u[0] up to 3"
    assert log(2) is None
    assert has_ids(str(tmp_path))


def test_a_batch_that_is_planned_again_to_the_same_offsets_is_the_same(tmp_path: Path) -> None:
    entry(tmp_path, 0, '{"t":{"0":5}}', at=1000)
    before = OffsetLog(str(tmp_path))(0)
    entry(tmp_path, 0, '{"t":{"0":5}}', at=2000)
    after = OffsetLog(str(tmp_path))(0)
    assert before is not None
    assert after is not None
    assert before.digest == after.digest
    assert not has_ids(str(tmp_path))


def test_files_are_known_by_their_names(tmp_path: Path) -> None:
    entry(tmp_path, 0, '{"logOffset":0}')
    entry(tmp_path, 1, '{"logOffset":2}')
    files(tmp_path, "0", (0, "a.jsonl"))
    files(tmp_path, "1", (1, "c.jsonl"), (1, "b.jsonl"))
    files(tmp_path, "2.compact", (0, "a.jsonl"), (1, "b.jsonl"), (1, "c.jsonl"), (2, "d.jsonl"))
    log = OffsetLog(str(tmp_path))
    read = log(1)
    assert read is not None
    assert (read.start, read.end) == ({"0:files": 0}, {"0:files": 2})
    files(tmp_path, "1", (1, "b.jsonl"), (1, "c.jsonl"))
    same = log(1)
    files(tmp_path, "1", (1, "b.jsonl"), (1, "other.jsonl"))
    other = log(1)
    assert same is not None
    assert other is not None
    assert same.digest == read.digest != other.digest
    (tmp_path / "sources" / "0" / "1").unlink()
    assert log(1) is None


def test_a_batch_whose_predecessor_is_gone_is_not_known(tmp_path: Path) -> None:
    entry(tmp_path, 8, '{"t":{"0":5}}')
    assert OffsetLog(str(tmp_path))(8) is None


@pytest.mark.parametrize(("version", "line"), [("v1", "17"), ("v1", "some text"), ("v2", '{"t":{"0":5}}')])
def test_offsets_that_say_no_positions_are_compared_as_they_are(tmp_path: Path, version: str, line: str) -> None:
    entry(tmp_path, 0, line, version=version)
    read = OffsetLog(str(tmp_path))(0)
    assert read is not None
    assert read.end == {}
    entry(tmp_path, 0, line + " ", "more", version=version)
    other = OffsetLog(str(tmp_path))(0)
    assert other is not None
    assert read.digest != other.digest


def test_the_copy_of_the_marker_survives_and_belongs_to_a_topic(tmp_path: Path) -> None:
    ledger = CheckpointLedger(str(tmp_path), "alerts")
    assert ledger.load() is None
    ledger.store(MARKER)
    assert ledger.load() == MARKER
    assert CheckpointLedger(str(tmp_path), "elsewhere").load() is None
    assert [path.name for path in tmp_path.iterdir()] == ["cep-published.json"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1, "topic": "alerts", "marker": {"job": 1}}'])
def test_a_damaged_copy_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "cep-published.json").write_text(text)
    with pytest.raises(JobError, match=r"cep-published\.json: expected what the job has published"):
        CheckpointLedger(str(tmp_path), "alerts").load()


def test_a_copy_that_cannot_be_written_may_pass(tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"
    place.write_text("a file where a directory should be")
    with pytest.raises(LedgerError, match=r"cep-published\.json cannot be written") as caught:
        CheckpointLedger(str(place), "alerts").store(MARKER)
    assert isinstance(judge(caught.value), Passing)


@pytest.mark.parametrize("kind", [RewindError, TooManyMatchesError, BrokerRefusesError])
def test_what_the_user_must_decide_does_not_pass(kind: type[Exception]) -> None:
    assert isinstance(judge(kind("the batch is not the one that has to come")), Final)
    module = kind.__module__
    assert isinstance(judge(RuntimeError(f"Traceback ...\n{module}.{kind.__name__}: it is not\n at X")), Final)


def test_an_object_store_is_read_as_a_directory_is(tmp_path: Path) -> None:
    entry(tmp_path, 0, '{"t":{"0":5}}')
    read = OffsetLog(f"file://{tmp_path}")(0)
    assert read is not None
    assert read.digest == OffsetLog(str(tmp_path))(0).digest  # type: ignore[union-attr]

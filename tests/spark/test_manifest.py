"""What a checkpoint remembers, and what it allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.spark import manifest
from runtime.spark.errors import JobError
from runtime.spark.manifest import Manifest, reconcile
from tests.spark.helpers import CARD, JOB, compiled

REFORMATTED = "-- a comment\n" + CARD.replace("SEQ(", "seq( ").replace("\n  WHERE", " WHERE")
CHANGED = CARD.replace("> 400", "> 500")


def first(text: str = CARD, buckets: int = 4) -> Manifest:
    return reconcile(None, compiled(text), ["Trans", "Login"], buckets, "fail")[0]


def test_a_reformatted_pattern_goes_on() -> None:
    after, changes = reconcile(first(), compiled(REFORMATTED), ["Login", "Trans"], None, "fail")
    assert changes == []
    assert after.generations == {"CardTesting": 0}


def test_a_changed_pattern_is_refused_with_ways_out() -> None:
    with pytest.raises(JobError, match=r"`CardTesting` changed .* --on-pattern-change restart .* another name"):
        reconcile(first(), compiled(CHANGED), ["Login", "Trans"], None, "fail")


def test_a_changed_pattern_can_restart() -> None:
    after, changes = reconcile(first(), compiled(CHANGED), ["Login", "Trans"], None, "restart")
    assert [(change.pattern, change.what) for change in changes] == [("CardTesting", "restarts")]
    assert after.generations == {"CardTesting": 1}


def test_patterns_come_and_go_without_touching_the_others() -> None:
    more, changes = reconcile(first(), compiled(JOB), ["Login", "Trans"], None, "fail")
    assert {change.what for change in changes} == {"is new"}
    assert more.generations["CardTesting"] == 0
    less, changes = reconcile(more, compiled(CARD), ["Login", "Trans"], None, "fail")
    assert {change.what for change in changes} == {"is removed"}
    assert less.generations == {"CardTesting": 0}


def test_a_pattern_that_comes_back_has_missed_events_and_starts_anew() -> None:
    more, _ = reconcile(first(JOB), compiled(CARD), ["Login", "Trans"], None, "fail")
    back, _ = reconcile(more, compiled(JOB), ["Login", "Trans"], None, "fail")
    assert back.generations["Takeover"] == 1
    assert back.generations["CardTesting"] == 0


def test_buckets_and_streams_are_fixed() -> None:
    with pytest.raises(JobError, match="use --buckets 4"):
        reconcile(first(), compiled(CARD), ["Login", "Trans"], 8, "fail")
    with pytest.raises(JobError, match="keep an --in for each"):
        reconcile(first(), compiled(CARD), ["Trans"], None, "fail")


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = first(JOB)
    manifest.store(written, str(tmp_path / "new" / "checkpoint"))
    assert manifest.load(f"file://{tmp_path}/new/checkpoint") == written
    assert [path.name for path in (tmp_path / "new" / "checkpoint").iterdir()] == [manifest.NAME]


def test_checkpoints_that_are_not_ours_are_refused(tmp_path: Path) -> None:
    assert manifest.load(str(tmp_path)) is None
    (tmp_path / "offsets").mkdir()
    with pytest.raises(JobError, match="checkpoint of another program"):
        manifest.load(str(tmp_path))
    (tmp_path / manifest.NAME).write_text("{")
    with pytest.raises(JobError, match="expected the description of a job"):
        manifest.load(str(tmp_path))


def test_a_checkpoint_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JobError, match="cannot be written: Not a directory"):
        manifest.store(first(), str(tmp_path / "file" / "checkpoint"))

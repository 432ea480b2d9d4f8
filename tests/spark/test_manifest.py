"""What a checkpoint remembers, and what it allows."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.spark.ends import manifest
from runtime.spark.ends.manifest import Manifest, reconcile, with_id_key
from runtime.spark.errors import JobError
from runtime.state.id_key import IdKey
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


def test_of_two_jobs_that_begin_at_once_one_is_refused(tmp_path: Path) -> None:
    """Two names for one job would publish side by side."""
    winner, loser = first(), first()
    manifest.create(winner, str(tmp_path))
    with pytest.raises(JobError, match="another job has begun with it at the same moment: start this one again"):
        manifest.create(loser, str(tmp_path))
    assert manifest.load(str(tmp_path)) == winner
    assert [path.name for path in tmp_path.iterdir()] == [manifest.NAME]


def test_where_the_file_system_has_no_links_a_name_that_is_taken_is_seen(tmp_path: Path, monkeypatch) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", no_links)
    manifest.create(first(), str(tmp_path))
    with pytest.raises(JobError, match="at the same moment"):
        manifest.create(first(), str(tmp_path))


def test_a_checkpoint_knows_the_key_of_its_ids(tmp_path: Path) -> None:
    key, other = IdKey(b"a key of some bytes").digest, IdKey(b"another key of some").digest
    plain = with_id_key(first(), None, None)
    keyed = with_id_key(first(), None, key)
    for one in (plain, keyed):
        manifest.store(one, str(tmp_path / "checkpoint"))
        assert manifest.load(str(tmp_path / "checkpoint")) == one
    assert with_id_key(first(), keyed, key).id_key == key
    with pytest.raises(JobError, match=r"written with another id key .* Start with the key of then"):
        with_id_key(first(), keyed, other)
    with pytest.raises(JobError, match=r"written with another id key"):
        with_id_key(first(), keyed, None)
    with pytest.raises(JobError, match=r"written without --id-key: matches that are delivered again"):
        with_id_key(first(), plain, key)
    assert "a key of some bytes" not in keyed.to_json()


def test_a_checkpoint_of_before_there_were_keys_takes_any() -> None:
    before = Manifest.from_json(first().to_json(), "here")
    assert before.id_key is None
    assert with_id_key(first(), before, IdKey(b"a key of some bytes").digest).id_key is not None

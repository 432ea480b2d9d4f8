"""What becomes of a batch that is offered: skipped, published, or refused with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from connectors.kafka.decide import (
    FAIL,
    REPUBLISH,
    InputRange,
    Known,
    Offer,
    Publish,
    Refuse,
    Skip,
    decide,
    describe,
    reconcile,
)
from connectors.kafka.marker import HISTORY, Marker

OLD = Marker("job", 12, 40, 3, "2026-01-01T00:00:00Z")
"""A marker of an earlier version: no range, no parts."""


def read(first: int, last: int) -> InputRange:
    return InputRange({"0:trades[0]": first}, {"0:trades[0]": last})


def marker(batch: int, of: InputRange, **more) -> Marker:
    return replace(OLD, batch=batch, range=of.digest, start=of.start, end=of.end, serial=batch + 1, **more)


def reason(decision) -> str:
    assert isinstance(decision, Refuse), decision
    return decision.reason


def test_a_first_batch_is_published():
    assert decide(None, Offer(0, read(0, 10))) == Publish()
    assert decide(replace(OLD, batch=-1), Offer(5, read(0, 10))) == Publish()


def test_the_same_batch_with_the_same_range_is_skipped():
    assert decide(marker(12, read(1200, 1300)), Offer(12, read(1200, 1300))) == Skip(40)


def test_the_same_number_with_another_range_is_refused_and_both_are_named():
    said = reason(decide(marker(12, read(1200, 1300)), Offer(12, read(0, 5000))))
    assert "batch 12" in said
    assert "trades[0] 1200-1300" in said
    assert "trades[0] 0-5000" in said
    assert "--on-rewind republish" in said


def test_republish_publishes_it_from_its_beginning_and_says_so():
    newest = marker(12, read(1200, 1300), history=((11, "a"), (10, "b")))
    decision = decide(newest, Offer(12, read(0, 5000)), REPUBLISH)
    assert isinstance(decision, Publish)
    assert (decision.after, decision.part) == (0, 0)
    assert decision.history == ((10, "b"), (11, "a"))
    assert "may see matches again" in str(decision.warning)


def test_a_restored_backup_whose_batches_come_out_as_they_were_is_skipped():
    then = {number: read(number * 100, number * 100 + 100) for number in range(8, 13)}
    newest = marker(12, then[12], history=tuple((number, then[number].digest) for number in range(8, 12)))
    for number in range(8, 12):
        assert decide(newest, Offer(number, then[number])) == Skip(0)
    assert decide(newest, Offer(12, then[12])) == Skip(40)
    assert isinstance(decide(newest, Offer(13, read(1300, 1400), then[12])), Publish)


@pytest.mark.parametrize("known", [True, False])
def test_a_restored_backup_whose_batches_come_out_otherwise_is_refused(known):
    newest = marker(12, read(1200, 1300), history=((8, read(800, 900).digest),) if known else ())
    said = reason(decide(newest, Offer(8, read(800, 1300))))
    assert "trades[0] 800-1300" in said
    assert "trades[0] 1200-1300" in said


def test_a_lost_checkpoint_begins_again_and_is_refused():
    first = InputRange(None, {"0:trades[0]": 4000})
    assert "trades[0] up to 4000" in reason(decide(marker(3, read(10, 20)), Offer(0, first)))
    assert isinstance(decide(marker(3, read(10, 20)), Offer(0, first), REPUBLISH), Publish)


def test_after_a_republished_batch_the_timeline_goes_on_from_there():
    newest = marker(8, read(800, 1300))
    decision = decide(newest, Offer(9, read(1300, 1400), read(800, 1300)), FAIL)
    assert decision == Publish(history=((8, read(800, 1300).digest),))


def test_a_higher_number_is_no_proof_the_batches_between_may_have_been_cut_smaller():
    """Batches 8 to 12 were cut anew, and had no matches: batch 13 is the first that is offered."""
    newest = marker(12, read(1200, 1300))
    assert "1000, 1300 was published" in reason(decide(newest, Offer(13, read(1000, 1300))))
    files = InputRange({"0:files": 12}, {"0:files": 13}, "c.jsonl")
    newest = marker(12, InputRange({"0:files": 11}, {"0:files": 12}, "b.jsonl"))
    then = InputRange({"0:files": 11}, {"0:files": 12}, "other.jsonl")
    assert "batch 12 was published with" in reason(decide(newest, Offer(13, files, then)))
    assert isinstance(decide(newest, Offer(13, files, None)), Publish)  # longer ago than offsets are kept


def test_a_topic_that_was_made_anew_has_positions_of_its_own():
    newest = marker(12, InputRange({"0:trades@A[0]": 1200}, {"0:trades@A[0]": 1300}))
    anew = InputRange({"0:trades@B[0]": 0}, {"0:trades@B[0]": 50})
    assert isinstance(decide(newest, Offer(14, anew)), Publish)


def test_a_batch_that_was_cut_off_goes_on_after_its_last_part():
    newest = marker(12, read(1200, 1300), part=2, last=False, content="abc")
    assert decide(newest, Offer(12, read(1200, 1300))) == Publish(40, "abc", 3)
    assert "in part only, 40 records" in reason(decide(newest, Offer(13, read(1300, 1400), read(1200, 1300))))
    assert isinstance(decide(newest, Offer(12, read(1200, 1400))), Refuse)


def test_markers_of_earlier_versions_are_understood():
    assert decide(OLD, Offer(13, read(1300, 1400))) == Publish()
    assert decide(OLD, Offer(12, read(1200, 1300))) == Skip(40)
    assert "unknown range" in reason(decide(OLD, Offer(8, read(800, 900))))


def test_without_ranges_the_number_decides():
    assert isinstance(decide(OLD, Offer(13)), Publish)
    assert decide(OLD, Offer(12)) == Skip(40)
    skipped = decide(OLD, Offer(11))
    assert isinstance(skipped, Skip)
    assert "below the newest" in str(skipped.warning)


def test_the_history_is_bounded():
    newest = None
    for number in range(HISTORY + 50):
        of = read(number, number + 1)
        decision = decide(newest, Offer(number, of, read(number - 1, number)))
        assert isinstance(decision, Publish)
        newest = marker(number, of, history=decision.history)
    assert [number for number, _ in newest.history] == list(range(49, 149))
    assert Marker.decode(newest.encode()) == newest


def test_markers_that_were_lost_are_told_from_none():
    kept = marker(12, read(1200, 1300))
    assert reconcile(None, None) == Known(None)
    assert reconcile(kept, None) == Known(kept)
    assert reconcile(marker(13, read(1300, 1400)), kept) == Known(marker(13, read(1300, 1400)))
    assert "batch 12" in reason(reconcile(None, kept))
    assert "older one, of batch 11" in reason(reconcile(marker(11, read(1100, 1200)), kept))
    again = reconcile(None, kept, REPUBLISH)
    assert isinstance(again, Known)
    assert again.marker == kept
    assert "twice" in str(again.warning)
    assert reconcile(OLD, kept) == Known(OLD)  # written by an earlier version in between
    # Its driver may have been killed after it had published the first batch, and before it wrote that down.
    assert "job job has a marker" in reason(reconcile(None, replace(OLD, batch=-1, serial=1)))


def test_a_rewind_that_was_published_again_has_a_lower_batch_and_a_newer_marker():
    kept = marker(12, read(1200, 1300))
    again = replace(marker(8, read(800, 1300)), serial=kept.serial + 1)
    assert reconcile(again, kept) == Known(again)


def test_ranges_are_told_in_short():
    many = {f"0:t[{n}]": 5 for n in range(10)}
    assert describe(dict.fromkeys(many, 0), many).endswith("4 more")
    assert describe(many, many) == "no new input"
    assert read(1, 2).digest != read(1, 3).digest != InputRange(None, {"0:trades[0]": 3}).digest

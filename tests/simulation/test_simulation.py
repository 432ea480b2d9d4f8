"""Each match exactly once, or a refusal that names its reason: in random histories of everything that can go wrong.

A failure prints the seed and the history. To run a seed again: `python -m tests.simulation --seed N`.

The second half takes repairs out, one at a time, and expects the simulation to find that: a harness that finds nothing
proves nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.kafka import broker, offsets, oversize, publisher, reading, session, triage
from connectors.kafka.decide import Known, Offer, Publish, Skip
from connectors.kafka.marker import Marker
from runtime.spark.ends import topics
from tests.simulation import schedule
from tests.simulation.faults import KINDS
from tests.simulation.schedule import Tally, run

FEW = 250
PIECES, PIECE = 4, 2500


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory in memory, where there is one: a schedule writes many small files."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        yield Path(directory)


def hold(seeds: range, directory: Path) -> Tally:
    tally = Tally()
    for outcome in run(seeds, directory):
        tally.add(outcome)
        assert outcome.broken is None, outcome.report()
    return tally


def test_each_match_once_or_a_refusal_that_names_its_reason(memory):
    tally = hold(range(FEW), memory)
    assert tally.matches > 10 * FEW, "the schedules publish something"
    missing = [kind for kind in KINDS if not tally.injected[kind]]
    assert not missing, f"faults that never happened: {missing}"


@pytest.mark.slow
@pytest.mark.parametrize("piece", range(PIECES))
def test_ten_thousand_histories(memory, piece):
    hold(range(piece * PIECE, (piece + 1) * PIECE), memory)


def test_a_seed_is_a_history(memory):
    first, second = (list(run(range(20), memory)) for _ in range(2))
    assert [outcome.trace for outcome in first] == [outcome.trace for outcome in second]


# --- with a repair taken out -----------------------------------------------------------------------------------------


def found(directory: Path, *kinds: str, most: int = 60) -> str:
    """What the simulation finds first, with these faults only; empty where it finds nothing."""
    broken = (outcome.broken for outcome in run(range(most), directory, kinds) if outcome.broken)
    return next(broken, "")


def by_number(newest: Marker | None, offer: Offer, _policy: str = "") -> Publish | Skip:
    """What decided before ranges did: the number of a batch is taken for its content."""
    if newest is None or offer.batch > newest.batch:
        return Publish()
    if offer.batch == newest.batch and not newest.last:
        return Publish(newest.records, newest.content, newest.part + 1)
    return Skip(newest.records)


def trusting(newest: Marker | None, _kept: Marker | None, _policy: str = "") -> Known:
    """What is not in the marker topic was not published."""
    return Known(newest)


@pytest.mark.parametrize("kind", ["checkpoint restored", "Spark's part lost"])
def test_it_finds_that_a_batch_number_is_taken_for_its_content(memory, monkeypatch, kind):
    assert found(memory, kind) == ""
    monkeypatch.setattr(publisher, "decide", by_number)
    assert "matches lost" in found(memory, kind)


@pytest.mark.slow
def test_it_finds_that_a_marker_topic_may_lose_markers(memory, monkeypatch):
    assert found(memory, "wrong marker topic", "kill") == ""
    monkeypatch.setattr(broker, "check_marker_topic", lambda *_: None)
    monkeypatch.setattr(publisher, "reconcile", trusting)
    assert "matches doubled" in found(memory, "wrong marker topic", "kill", most=500)


@pytest.mark.slow
def test_it_finds_that_lost_markers_are_not_noticed(memory, monkeypatch):
    assert found(memory, "marker loss", "kill") == ""
    monkeypatch.setattr(publisher, "reconcile", trusting)
    assert "matches doubled" in found(memory, "marker loss", "kill", most=500)


@pytest.mark.slow
def test_it_finds_that_a_topic_made_anew_is_taken_for_the_old_one(memory, monkeypatch):
    assert found(memory, "topic recreated") == ""
    for module in (offsets, topics):
        monkeypatch.setattr(module, "changes", lambda *_: [])
    monkeypatch.setattr(reading, "_check_topic", lambda *_: None)
    assert "matches lost" in found(memory, "topic recreated")


@pytest.mark.slow
def test_it_finds_that_a_transaction_has_no_bounds(memory, monkeypatch):
    assert found(memory, "slow broker") == ""
    monkeypatch.setattr(schedule, "PARTS", (1 << 30,))
    monkeypatch.setattr(broker.RealBroker, "transaction_timeout", lambda _self: 1e9)
    assert "the job stands still" in found(memory, "slow broker")


@pytest.mark.slow
def test_it_finds_that_a_match_too_large_stops_the_job(memory, monkeypatch):
    assert found(memory, "match too large") == ""
    monkeypatch.setattr(oversize.Room, "takes", lambda *_: True)
    assert "the job stands still" in found(memory, "match too large")


@pytest.mark.slow
def test_it_finds_that_a_topic_is_made_anew_while_it_is_read(memory, monkeypatch):
    monkeypatch.setattr(reading, "_check_topic", lambda *_: None)
    assert "matches" in found(memory, "topic recreated", most=300)


@pytest.mark.slow
def test_it_finds_that_a_failed_producer_does_not_say_why(memory, monkeypatch):
    monkeypatch.setattr(session.Session, "_reason", lambda _self, exception: exception)
    monkeypatch.setattr(triage, "UNTOLD", ())
    assert "names no reason" in found(memory, "slow broker", "pause", "zombie", most=300)

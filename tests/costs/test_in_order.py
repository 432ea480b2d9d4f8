"""What the engine is built for: in-order SEQ with a key. Work per event and per match is flat at any window size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime.compaction
from runtime import Engine
from tests.costs.support import SECOND, feed, work
from tests.runtime.support import compiled

STREAM = "STREAM T (ts TIMESTAMP, k INT, role INT) TIMESTAMP BY ts;"
INDEX_WORK = ("seeks", "bisections", "appended", "displaced", "visited")


def seq(steps: int, window: int | None) -> str:
    names = "abcde"[:steps]
    body = ", ".join(f"T {name}" for name in names)
    roles = " AND ".join(f"{name}.role = {i}" for i, name in enumerate(names))
    bound = "UNBOUNDED" if window is None else f"WITHIN {window} SECONDS"
    return f"{STREAM} PATTERN P SEQ({body}) WHERE {roles} PARTITION BY k {bound};"


def any_role(steps: int, window: int) -> str:
    body = ", ".join(f"T {name}" for name in "abcde"[:steps])
    return f"{STREAM} PATTERN P SEQ({body}) PARTITION BY k WITHIN {window} SECONDS;"


def turns(window: int, first: int, last: int, steps: int) -> dict[str, Any]:
    """One event a second; a few of each key in a window, whose roles take turns: matches per event stay the same."""
    keys = window // (3 * (steps + 1))
    i = np.arange(first * window, last * window)
    return {"ts": i * SECOND, "k": i % keys, "role": (i // keys) % (steps + 1)}


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_work_per_event_is_flat_when_window_and_state_grow_100_fold(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime.compaction, "ROWS", 10**9)
    per_event, per_match, state = [], [], []
    for window, windows in ((360, 30), (36_000, 1)):
        engine = Engine(compiled(seq(steps, window)))
        feed(engine, turns(window, 0, 2, steps), watermark=True, size=360)
        with work(engine) as done:
            feed(engine, turns(window, 2, 2 + windows, steps), watermark=True, size=360)
        per_event.append({name: done.per_event(name) for name in INDEX_WORK})
        per_match.append(done.per_match(*INDEX_WORK))
        state.append(sum(engine.stats()["tuples"].values()))
        assert done["matches"] > 0
        assert done["dead_ends"] == 0
        assert done["displaced"] == 0
    assert state[1] == pytest.approx(100 * state[0], rel=0.1)
    for name in INDEX_WORK:
        assert per_event[1][name] == pytest.approx(per_event[0][name], rel=0.1), name
    assert per_match[1] == pytest.approx(per_match[0], rel=0.1)


def test_compaction_is_amortised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row is copied at most once for each row that died: at most one more write per event and index."""
    per_event = []
    for window in (360, 3600):
        monkeypatch.setattr(runtime.compaction, "ROWS", 16)
        engine = Engine(compiled(seq(2, window)))
        with work(engine) as done:
            feed(engine, turns(window, 0, 10, 2), watermark=True, size=48)
        stored = engine.plan.indexes
        per_event.append(done.per_event("appended") / len(stored))
        assert engine.stats()["expired"] > 0
    assert max(per_event) <= 2 * 2 / 3, "two of three roles are stored, in one index each"
    assert per_event[1] == pytest.approx(per_event[0], rel=0.25)


@pytest.mark.parametrize("waiting", [100, 10_000])
def test_an_event_that_only_waits_costs_the_same_in_any_crowd(waiting: int) -> None:
    """All of one key, all in the window, one push each at the end: no bisection, no seek, one row looked at."""
    engine = Engine(compiled(seq(3, 1_000_000)))
    i = np.arange(waiting)
    feed(engine, {"ts": i * SECOND, "k": i * 0, "role": i % 2}, size=1000)
    with work(engine) as done:
        i = np.arange(waiting, waiting + 20)
        feed(engine, {"ts": i * SECOND, "k": i * 0, "role": i % 2}, size=1)
    assert done == {
        "appended": 20,
        "bisections": 0,
        "dead_ends": 0,
        "displaced": 0,
        "events": 20,
        "fruitless": 20,
        "matches": 0,
        "seeks": 0,
        "visited": 10,  # each b looks at the a before it, for its best start
    }


@pytest.mark.parametrize("steps", [2, 3, 4, 5])
def test_the_event_that_completes_a_match_costs_one_seek_a_step(steps: int) -> None:
    """With one partner a step there is one match, however many expired or foreign rows lie around."""
    for crowd in (0, 5_000):
        engine = Engine(compiled(seq(steps, 1000)))
        if crowd:
            i = np.arange(crowd)
            feed(engine, {"ts": i * SECOND // 100, "k": i % 2, "role": i % (steps - 1)}, size=5000)
        start = 10_000
        i = np.arange(steps - 1)
        feed(engine, {"ts": (start + i) * SECOND, "k": i * 0, "role": i}, size=1)
        with work(engine) as done:
            end = np.array([start + steps])
            assert feed(engine, {"ts": end * SECOND, "k": end * 0, "role": end * 0 + steps - 1}) == 1
        assert done["seeks"] == done["visited"] == steps - 1
        assert done["bisections"] <= 2 * (steps - 1)
        assert done["dead_ends"] == 0


@pytest.mark.parametrize("steps", [2, 3])
def test_work_per_match_is_constant(steps: int) -> None:
    """One first event, n of each later step but the last: every partial match leads to exactly one match."""
    costs = []
    for n in (100, 10_000):
        engine = Engine(compiled(seq(steps, 1_000_000)))
        roles = np.repeat(np.arange(steps - 1), [1] * (steps - 2) + [n] if steps > 2 else [n])
        feed(engine, {"ts": np.arange(len(roles)) * SECOND, "k": roles * 0, "role": roles}, size=5000)
        with work(engine) as done:
            end = np.array([len(roles)])
            assert feed(engine, {"ts": end * SECOND, "k": end * 0, "role": end * 0 + steps - 1}) == n
        costs.append(done.per_match("seeks", "bisections", "visited"))
        assert done["dead_ends"] == 0
    assert costs[1] == pytest.approx(costs[0], rel=0.1)


def test_work_per_match_falls_to_one_row_where_matches_share_their_events() -> None:
    costs = []
    for n in (30, 120):
        engine = Engine(compiled(any_role(3, 1_000_000)))
        i = np.arange(n)
        with work(engine) as done:
            assert feed(engine, {"ts": i * SECOND, "k": i * 0, "role": i * 0}, size=7) == n * (n - 1) * (n - 2) // 6
        costs.append(done.per_match("visited"))
        assert done["dead_ends"] == 0
    assert 1 <= costs[1] <= costs[0] <= 1.2


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_no_dead_end_in_order_whatever_expires(steps: int) -> None:
    rng = np.random.default_rng(steps)
    n = 3000
    engine = Engine(compiled(any_role(steps, 20)))
    times = np.sort(rng.integers(0, n, n))
    with work(engine) as done:
        found = feed(engine, {"ts": times * SECOND, "k": rng.integers(0, 12, n), "role": times * 0}, watermark=True)
    assert found > 100
    assert done["dead_ends"] == 0
    assert done["visited"] <= steps * found + steps * n


def test_late_events_pay_for_the_rows_they_precede_in_their_group_alone() -> None:
    for others in (0, 20_000):
        engine = Engine(compiled(seq(2, 1_000_000)))
        i = np.arange(others)
        if others:
            feed(engine, {"ts": i * SECOND, "k": 1 + i % 7, "role": i % 2}, size=5000)
        i = np.arange(1000)
        feed(engine, {"ts": i * SECOND, "k": i * 0, "role": i * 0}, size=1000)
        for behind in (1, 10, 100):
            with work(engine) as done:
                late = np.array([(1000 - behind) * SECOND - 1])
                feed(engine, {"ts": late, "k": late * 0, "role": late * 0})
            # The late ones before are among the rows that it precedes.
            assert done["displaced"] == behind + [1, 10, 100].index(behind)
            assert done["dead_ends"] == 0


@pytest.mark.parametrize("window", [1000, None])
def test_searches_grow_with_the_events_of_a_batch_and_not_with_its_partial_matches(window: int | None) -> None:
    """A partner's place is decided by one event (its neighbour, or the latest one), however many share that event."""
    per_event = []
    for n in (20, 80):
        engine = Engine(compiled(seq(3, window)))
        with work(engine) as done:
            feed(engine, {"ts": np.arange(3 * n) * SECOND, "role": np.arange(3).repeat(n)}, size=3 * n)
        assert done["matches"] == n**3
        per_event.append(done.per_event("seeks", "bisections"))
    assert per_event[1] == pytest.approx(per_event[0], rel=0.1)

"""What sets cost, counted: a set is O(log n) however many events it has, and its events are kept once.

Nothing here looks at a clock. The sets are as large as the input: all of one key, all in one window.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import runtime.compaction
from cep.ir.plan import Plan
from runtime import Engine
from tests.costs.support import SECOND, Work, feed, work
from tests.runtime.support import compiled

STREAM = "STREAM T (ts TIMESTAMP, k INT, role INT, x INT, d DOUBLE) TIMESTAMP BY ts;"
SIZES = (200, 1600)
INDEX_WORK = ("seeks", "bisections", "visited")
OFF_THE_RANGE = ("COUNT(b)", "COUNT(b.x)", "SUM(b.x)", "AVG(b.x)", "FIRST(b.x)", "LAST(b.x)")
EVENT_BY_EVENT = ("COUNT(DISTINCT b.x)", "MIN(b.x)", "MAX(b.x)", "SUM(b.d)", "AVG(b.d)")
BODIES = {
    "leading": ("SEQ(T{2,} b, T c)", "b.role = 1 AND c.role = 2"),
    "alone": ("SEQ(T{2,} b)", "b.role = 1"),
    "in the middle": ("SEQ(T a, T{2,} b, T c)", "a.role = 0 AND b.role = 1 AND c.role = 2"),
    "trailing": ("SEQ(T a, T{2,} b)", "a.role = 0 AND b.role = 1"),
    "in an AND": ("AND(T c, T{2,} b)", "b.role = 1 AND c.role = 2"),
}


def made(name: str, value: str, where: str = "", within: str = "9 DAYS") -> Plan:
    body, roles = BODIES[name]
    return compiled(
        f"{STREAM} PATTERN P {body} WHERE {roles}{where} PARTITION BY k WITHIN {within} RETURN {value} AS v;"
    )


def events(n: int) -> dict[str, Any]:
    """One opener, and then a hundred times some of the set and one that ends it."""
    roles = np.resize([1] * (n // 100 - 1) + [2], n)
    roles[0] = 0
    return {"ts": np.arange(n) * SECOND, "role": roles, "x": np.arange(n), "d": np.arange(n) / 2}


def counted(plan: Plan, n: int, size: int) -> Work:
    engine = Engine(plan)
    with work(engine) as done:
        feed(engine, events(n), size=size, watermark=True)
        engine.finish().read_all()
    engine._check()
    return done


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("value", OFF_THE_RANGE)
def test_a_set_costs_the_same_however_large_it_is(name: str, value: str) -> None:
    """Per event and match: a few seeks, and as many bisections as a number has digits."""
    plan = made(name, value)
    costs = []
    for n in SIZES:
        done = counted(plan, n, size=n // 20)
        assert done["matches"] > 0
        costs.append({kind: done[kind] / (done["events"] + done["matches"]) for kind in INDEX_WORK})
    for kind in INDEX_WORK:
        assert costs[1][kind] <= max(1.2 * costs[0][kind], 4), (kind, costs)


@pytest.mark.parametrize("value", ["COUNT(b)", "SUM(b.x)", "LAST(b.x)"])
def test_one_event_at_a_time_costs_a_bisection_more(value: str) -> None:
    for n in (100, 800):
        done = counted(made("alone", value), n, size=1)
        assert done["visited"] <= (6 + np.log2(n)) * done["events"], n


@pytest.mark.parametrize("value", EVENT_BY_EVENT)
def test_what_reads_the_events_of_a_set_says_so_and_does(value: str) -> None:
    plan = made("leading", value)
    assert plan.guarantees.update.endswith(f"when it is due, and `{value}` reads every event of the set")
    visited = [counted(plan, n, size=n // 20).per_match("visited") for n in SIZES]
    assert visited[1] > 4 * visited[0]


@pytest.mark.parametrize("value", OFF_THE_RANGE)
def test_what_does_not_says_nothing(value: str) -> None:
    assert "every event" not in made("leading", value).guarantees.update


def test_a_condition_with_a_single_event_is_checked_on_every_event_of_the_set() -> None:
    plan = made("leading", "COUNT(b)", " AND b.x <> c.x")
    assert plan.guarantees.update.endswith("and `b.x <> c.x` is checked on every event of the set")
    visited = [counted(plan, n, size=n // 20).per_match("visited") for n in SIZES]
    assert visited[1] > 4 * visited[0]


def test_where_a_run_breaks_is_asked_of_every_event_of_its_gap() -> None:
    plan = compiled(
        f"{STREAM} PATTERN P SEQ(RUN(T+ b), T c) WHERE b.x > PREV(b.x) AND c.role = 2 PARTITION BY k WITHIN 9 DAYS "
        "RETURN COUNT(b) AS n;"
    )
    assert plan.guarantees.update.endswith("and where the run b breaks is asked of every event of the set")
    visited = [counted(plan, n, size=n // 20).per_match("visited") for n in SIZES]
    assert visited[1] > 4 * visited[0]
    assert visited[1] <= 4 * SIZES[1], "once each"


def test_a_set_between_two_events_is_worked_out_for_every_combination() -> None:
    assert made("in the middle", "COUNT(b)").guarantees.delay == (
        "not constant: the set b is worked out for every combination"
    )
    assert made("in the middle", "MAX(b.x)").guarantees.delay == (
        "not constant: the set b is worked out for every combination, and `MAX(b.x)` reads every event of it"
    )


@pytest.mark.parametrize("name", ["leading", "alone", "trailing"])
def test_a_set_that_one_row_decides_has_no_dead_ends(name: str) -> None:
    plan = made(name, "SUM(b.x)", " AND SUM(b.x) > 100")
    assert plan.guarantees.delay == "constant"
    for n in SIZES:
        assert counted(plan, n, size=n // 20)["dead_ends"] == 0


@pytest.mark.parametrize("name", BODIES)
def test_rows_are_those_of_the_window_however_long_the_stream(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Space is linear in the events of the window, or of two where the set may lie before what waits."""
    monkeypatch.setattr(runtime.compaction, "ROWS", 0)
    kept = []
    for n in (1000, 4000):
        engine = Engine(made(name, "SUM(b.x)", within="100 SECONDS"))
        feed(engine, events(n), size=50, watermark=True)
        stats = engine.stats()
        kept.append((sum(len(rows) for rows in engine.live().values()) + stats["waiting"], stats["bytes"]))
    assert kept[1][0] <= 1.2 * kept[0][0]
    assert kept[1][0] <= 2 * 2 * 100 + 10
    assert kept[1][1] <= 1.5 * kept[0][1]


def test_matches_of_many_sets_do_not_pile_up() -> None:
    """A combination's row of what its sets add up to is forgotten once the match has been read."""
    engine = Engine(made("in the middle", "SUM(b.x)"))
    roles = np.repeat([0, 1, 2], 300)
    feed(engine, {"ts": np.arange(900) * SECOND, "role": roles, "x": np.arange(900)}, size=100, watermark=True)
    assert engine.counters["matches"] == 300 * 300
    assert all(table.size == 0 for table in engine._sets.values())

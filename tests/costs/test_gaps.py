"""What NOT costs, counted: no dead ends in a chain, the same work per event in any crowd, waiting rows of one shift.

Nothing here looks at a clock. The streams are those that would hurt: blockers everywhere, closers that find nothing,
openers that all wait, and all of one key.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import runtime.compaction
from cep.ir.plan import Plan
from runtime import Engine
from tests.costs.support import SECOND, Work, feed, work
from tests.runtime.support import compiled

STREAM = "STREAM T (ts TIMESTAMP, k INT, role INT, x INT) TIMESTAMP BY ts;"
ROLES = {"a": 0, "b": 1, "b2": 1, "c": 2, "d": 3}
INDEX_WORK = ("seeks", "bisections", "appended", "displaced", "visited")


def made(body: str, within: str = "WITHIN 9 DAYS", extra: str = "", *, key: bool = True) -> Plan:
    """A plan whose variables are told apart by the events' roles; `b2` is a second blocker."""
    roles = " AND ".join(f"{name}.role = {role}" for name, role in ROLES.items() if re.search(rf"T {name}\b", body))
    return compiled(f"{STREAM} PATTERN P {body} WHERE {roles}{extra} {'PARTITION BY k ' if key else ''}{within};")


def stream(roles: Any, keys: int = 1, x: Any = 0) -> dict[str, Any]:
    roles = np.asarray(roles)
    i = np.arange(len(roles))
    return {"ts": i * SECOND, "k": i % keys, "role": roles, "x": np.broadcast_to(np.asarray(x), len(roles)).copy()}


def counted(plan: Plan, columns: dict[str, Any], size: int = 50) -> Work:
    engine = Engine(plan)
    with work(engine) as done:
        feed(engine, columns, size=size, watermark=True)
        engine.finish().read_all()
    return done


MIDDLES = {
    "in the middle": "SEQ(T a, NOT T b, T c)",
    "in a chain": "SEQ(T a, NOT T b, T c, T d)",
    "at its end": "SEQ(T a, T c, NOT T b, T d)",
    "twice": "SEQ(T a, NOT T b, T c, NOT T b2, T d)",
}
ADVERSARIES = {
    "mixed": lambda n: np.random.default_rng(1).integers(0, 4, n),
    "openers, then closers that a blocker cuts off": lambda n: np.repeat([0, 1, 2, 3], n // 4),
    "a blocker before each closer": lambda n: np.resize([0, 0, 1, 2, 3], n),
    "only the newest opener counts": lambda n: np.resize([0, 1, 0, 2, 3, 1], n),
}


@pytest.mark.parametrize("name", MIDDLES)
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_not_in_a_chain_visits_no_dead_end(name: str, adversary: str) -> None:
    plan = made(MIDDLES[name])
    assert "not constant" not in plan.guarantees.delay
    for n in (200, 800):
        assert counted(plan, stream(ADVERSARIES[adversary](n)), size=40)["dead_ends"] == 0, n


@pytest.mark.parametrize("name", MIDDLES)
@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("size", [1, 40])
def test_work_per_event_and_match_of_not_in_a_chain_is_flat_as_the_input_grows(
    name: str, adversary: str, size: int
) -> None:
    """All in one window, all of one key. A match costs a seek for each of its steps at most, whatever lies between."""
    costs = []
    for n in (200, 800):
        done = counted(made(MIDDLES[name]), stream(ADVERSARIES[adversary](n)), size=size)
        assert done["displaced"] == 0
        costs.append({kind: done[kind] / (done["events"] + done["matches"]) for kind in INDEX_WORK})
    for kind in INDEX_WORK:
        assert costs[1][kind] <= max(1.1 * costs[0][kind], 4), (kind, costs)


@pytest.mark.parametrize("waiting", [100, 5_000])
def test_an_event_that_only_waits_costs_nothing_but_its_place(waiting: int) -> None:
    """Blockers, and openers that a trailing NOT holds back, in any crowd: no seek, no bisection, nothing visited."""
    engine = Engine(made("SEQ(T a, NOT T b)"))
    feed(engine, stream(np.resize([0, 1], waiting)), size=waiting, watermark=True)
    for role in (0, 1):
        with work(engine) as done:
            feed(engine, {"ts": np.array([waiting * SECOND]), "role": np.array([role])}, watermark=True)
        assert (done["seeks"], done["bisections"], done["visited"], done["displaced"]) == (0, 0, 0, 0)


@pytest.mark.parametrize("body", ["SEQ(T a, NOT T b)", "SEQ(NOT T b, T a)", "AND(T a, NOT T b)"])
def test_settling_a_row_is_one_seek(body: str) -> None:
    """One held row decides: a seek and at most two bisections each, however many blockers there are."""
    for n in (300, 3000):
        done = counted(made(body, "WITHIN 50 SECONDS"), stream(np.resize([0, 1, 1], n)))
        assert done["seeks"] == n / 3
        assert done["bisections"] <= 2 * done["seeks"]
        assert done["dead_ends"] == done["visited"] == done["displaced"] == 0


# --- way 3 is not constant, and says so -----------------------------------------------------------------------------


def test_a_gap_of_every_combination_is_asked_of_each() -> None:
    """`NOT b` with a condition on a: a closer asks it of all its openers, in vain where each has its blocker."""
    plan = made("SEQ(T a, NOT T b, T c)", extra=" AND b.x > a.x")
    assert plan.guarantees.delay == "not constant: NOT b is asked of every combination"
    asked = []
    for n in (100, 1000):
        engine = Engine(plan)
        feed(engine, stream(np.append(np.zeros(n, dtype=np.int64), 1), x=np.append(np.zeros(n), 1).astype(int)), size=n)
        with work(engine) as done:
            feed(engine, {"ts": np.array([2 * n * SECOND]), "role": np.array([2])}, watermark=True)
        assert done["matches"] == 0
        asked.append(done["dead_ends"])
    assert asked == [100, 1000]


# --- space ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "extra", "shift"),
    [
        ("SEQ(T a, NOT T b, T c)", "", 0),
        ("SEQ(T a, NOT T b)", "", 60),
        ("AND(T a, NOT T b)", "", 60),
        ("SEQ(T a, T c, NOT T b)", " AND b.ts <= c.ts + 7 SECONDS", 7),
    ],
)
def test_what_waits_is_what_came_within_one_shift(body: str, extra: str, shift: int) -> None:
    plan = made(body, "WITHIN 60 SECONDS", extra)
    (held,) = [leaf for leaf in plan.leaves if leaf.hold is not None]
    assert held.hold == (shift * SECOND + 1 if shift else 0)
    engine = Engine(plan)
    columns = stream(np.resize([0, 2, 2, 1], 2000))
    most = 0
    for first in range(0, 2000, 20):
        feed(engine, {name: values[first : first + 20] for name, values in columns.items()}, watermark=True)
        newest = columns["ts"][first + 19]
        role = columns["role"][: first + 20] == ROLES[held.var]
        rows = columns["ts"][: first + 20][role]
        assert engine.stats()["waiting"] == (rows + held.hold > newest).sum()
        most = max(most, engine.stats()["waiting"])
    assert most <= shift + 1


@pytest.mark.parametrize(
    ("body", "windows"),
    [
        ("SEQ(T a, NOT T b, T c)", 1),
        ("SEQ(T a, NOT T b)", 1),
        ("AND(T a, NOT T b)", 2),
        ("SEQ(NOT T b2, T a, NOT T b)", 2),
    ],
)
def test_state_is_linear_in_what_is_kept(body: str, windows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a variable are those of its `keep`, one window or two, and what waits; bytes do not grow with time."""
    monkeypatch.setattr(runtime.compaction, "ROWS", 16)
    plan = made(body, "WITHIN 100 SECONDS")
    assert max(plan.keep(leaf.var) or 0 for leaf in plan.leaves) - windows * 100 * SECOND in (0, 1)
    held = []
    for n in (3000, 9000):
        engine, largest = Engine(plan), 0
        columns = stream(np.resize([0, 1, 2], n), keys=7)
        for first in range(0, n, 100):
            feed(engine, {name: values[first : first + 100] for name, values in columns.items()}, watermark=True)
            for var, rows in engine.stats()["tuples"].items():
                kept = columns["ts"][: first + 100] >= columns["ts"][first + 99] - (plan.keep(var) or 0)
                assert rows <= (kept & (columns["role"][: first + 100] == ROLES[var])).sum(), var
            largest = max(largest, engine.stats()["bytes"])
        held.append(largest)
    assert held[1] == pytest.approx(held[0], rel=0.1)

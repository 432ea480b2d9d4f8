"""Events that look alike in a DISTINCT tuple: what is remembered for them, and that nothing else has to be."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import runtime.compaction
from cep.ir.plan import Plan
from runtime import Engine
from runtime.state.twins import Twins
from tests.runtime.support import SECOND, compiled, current, naive, push

STREAM = "STREAM T (ts TIMESTAMP, k INT, x INT) TIMESTAMP BY ts;"
PATTERNS = {
    "in a window": "SEQ(T a, T b) WHERE a.k = b.k WITHIN 4 SECONDS RETURN DISTINCT a.x AS x, b.x AS y",
    "unbounded": "AND(T a, T b) WHERE a.k = b.k UNBOUNDED RETURN DISTINCT a.x AS x, b.x AS y",
    "of three": "SEQ(T a, T b, T c) WHERE b.k = c.k WITHIN 5 SECONDS RETURN DISTINCT a.x AS x, b.x AS y, c.ts AS t",
    "with a key": "SEQ(T a, T b) PARTITION BY k WITHIN 4 SECONDS RETURN DISTINCT a.k AS k, a.x AS x, b.x AS y",
    "with a check": "AND(T a, T b) WHERE a.k <> b.k UNBOUNDED RETURN DISTINCT a.x AS x, b.x + a.k AS s, b.x AS y",
}
EVENT = st.builds(
    lambda t, k, x: {"ts": t * SECOND // 2, "k": k, "x": x}, st.integers(0, 24), st.integers(0, 1), st.integers(0, 5)
)


def text(name: str) -> str:
    return f"{STREAM} PATTERN P {PATTERNS[name]};"


PLANS = {name: compiled(text(name)) for name in PATTERNS}


def remembers_all(plan: Plan) -> Engine:
    """An engine that takes no event to be alone."""
    engine = Engine(plan)
    for leaf in engine._leaves.values():
        leaf.twins = None
    return engine


def remembered(engine: Engine) -> int:
    """How many tuples are known that are not dead for good."""
    assert engine._alive is not None
    return len(engine._alive._alive_at(engine.watermark))


@pytest.mark.parametrize("name", PATTERNS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_is_put_out_is_as_if_every_tuple_were_remembered(name: str, data: st.DataObject) -> None:
    """Also which tuple comes again, and what deletions take back: late events, ties and snapshots included."""
    compare(PLANS[name], data)


@pytest.mark.slow
@pytest.mark.parametrize("name", PATTERNS)
@settings(max_examples=500, deadline=None)
@given(st.data())
def test_the_same_for_many_more_histories(name: str, data: st.DataObject) -> None:
    compare(PLANS[name], data)


def compare(plan: Plan, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(runtime.compaction, "ROWS", 2)
        patched.setattr(runtime.compaction, "KEYS", data.draw(st.sampled_from([2, 100])))
        go_on(plan, data)


def go_on(plan: Plan, data: st.DataObject) -> None:
    engine, other = Engine(plan), remembers_all(plan)
    stored: list[dict[str, Any]] = []
    for _ in range(data.draw(st.integers(1, 7))):
        places = data.draw(st.lists(st.integers(0, len(stored) - 1), max_size=3, unique=True)) if stored else []
        gone = [stored[place] for place in places]
        new = data.draw(st.lists(EVENT, max_size=6))
        watermark = data.draw(st.none() | st.integers(0, 12)) if not gone else None
        signs = [-1] * len(gone) + [1] * len(new) if gone else None
        put_out = []
        for each in (engine, other):
            limit = None if watermark is None else watermark * SECOND
            rows = push(each, gone + new, limit, signs=signs)
            put_out.append(Counter(tuple(row.items()) for row in rows))
        assert put_out[0] == put_out[1]
        assert engine.count() == current(engine).total() == other.count()
        assert remembered(engine) <= remembered(other)
        stored = [row for place, row in enumerate(stored) if place not in places] + new
        floor = engine.watermark
        stored = [row for row in stored if floor is None or row["ts"] >= floor]
        engine._check()
        if data.draw(st.booleans()):
            engine = Engine.restore(plan, engine.snapshot())


def test_a_late_twin_is_told_what_was_put_out_before() -> None:
    engine = Engine(PLANS["unbounded"])
    assert len(push(engine, [{"ts": 0, "k": 0, "x": 1}, {"ts": 1, "k": 0, "x": 2}])) == 4
    assert engine.stats()["distinct"] == 0
    assert push(engine, [{"ts": 2, "k": 0, "x": 1}]) == [], "(1, 1), (1, 2) and (2, 1) are out"
    assert engine.stats()["distinct"] == 3
    assert current(engine) == naive(text("unbounded"), [{"ts": t, "k": 0, "x": x} for t, x in enumerate((1, 2, 1))])


def test_events_of_different_keys_do_not_look_alike_where_the_key_is_returned() -> None:
    engine = Engine(PLANS["with a key"])
    events = [{"ts": (2 * k + i) * SECOND, "k": k, "x": i} for k in range(50) for i in range(2)]
    assert len(push(engine, events)) == 50
    assert engine.stats()["distinct"] == 0
    assert len(push(engine, [{"ts": 100 * SECOND, "k": 49, "x": 1}])) == 1, "(1, 1) is new, (0, 1) is out"


def test_a_twin_that_has_left_is_none() -> None:
    engine = Engine(PLANS["in a window"])
    for second in range(0, 100, 10):
        found = push(engine, [{"ts": (second + i) * SECOND, "k": 0, "x": i} for i in range(2)], (second + 9) * SECOND)
        assert len(found) == 1, "dead since long, so it is put out again"
        assert engine.stats()["distinct"] == 0
        engine = Engine.restore(engine.plan, engine.snapshot())  # without what has left


def test_a_tuple_of_an_earlier_life_does_not_hide_the_present_one() -> None:
    """(1, 0) is known from its first life. Its second is put out without asking, and taken back all the same."""
    first, last = {"ts": SECOND, "k": 0, "x": 1}, {"ts": 5 * SECOND, "k": 0, "x": 0}
    engine = Engine(PLANS["in a window"])
    push(engine, [{"ts": 0, "k": 0, "x": 1}, {"ts": SECOND // 2, "k": 0, "x": 0}, first], 5 * SECOND)
    assert engine._alive is not None
    assert len(engine._alive) == 3
    engine = Engine.restore(engine.plan, engine.snapshot())
    assert len(push(engine, [last])) == 1
    assert [row["_sign"] for row in push(engine, [last], signs=[-1])] == [-1]


def test_what_has_left_the_window_is_not_remembered() -> None:
    engine = Engine(PLANS["in a window"])
    push(engine, [{"ts": 0, "k": 0, "x": 1}, {"ts": SECOND, "k": 0, "x": 0}], 9 * SECOND)
    assert push(engine, [{"ts": 9 * SECOND, "k": 0, "x": 1}]) == [], "a twin of what is still stored, and dead"
    assert engine.stats()["distinct"] == 0


def test_counting_does_not_look_at_tuples_where_all_events_look_different() -> None:
    engine = Engine(PLANS["unbounded"])
    push(engine, [{"ts": i, "k": 0, "x": i} for i in range(300)])
    before = engine.operations.as_dict()["visited"]
    assert engine.count() == 300 * 300
    assert engine.operations.as_dict()["visited"] == before


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 5), max_size=6), max_size=6))
def test_who_is_alone_and_who_was(steps: list[list[int]]) -> None:
    """Negative numbers take out that row, modulo those that are in."""
    twins, looks, here = Twins(), [], []  # type: ignore[var-annotated]
    for step in steps:
        new = np.array([n for n in step if n >= 0], dtype=np.int64)
        before = Counter(looks[row] for row in here)
        twins.add(new)
        met = [row for row in here if before[looks[row]] == 1 and looks[row] in new.tolist()]
        assert sorted(twins.met.tolist()) == met
        here += range(len(looks), len(looks) + len(new))
        looks += new.tolist()
        gone = {here[n % len(here)] for n in step if n < 0 and here}
        twins.forget(np.array(sorted(gone), dtype=np.int64))
        here = [row for row in here if row not in gone]
        now = Counter(looks[row] for row in here)
        assert twins.shared == sum(n > 1 for n in now.values())
        rows = np.array(here, dtype=np.int64)
        assert twins.is_alone(rows).tolist() == [now[looks[row]] == 1 for row in here]
        twins.settle()
        assert not len(twins.met)

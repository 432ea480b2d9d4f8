"""Events that only have to exist: those that are passed over, and that nothing is lost by it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime import Engine
from tests.runtime.support import compiled, fields, push, rows_of

STREAMS = "STREAM R (a INT, k INT); STREAM S (d INT, k INT); STREAM T (g INT, k INT);"
SHAPES = {
    "smaller": "r.a < s.d AND s.d < t.g AND s.k = t.k",
    "larger or equal": "r.a >= s.d AND s.d > t.g",
    "equal keys only": "r.k = s.k AND s.k = t.k",
    "no condition": "s.d = t.g",
    "a band": "r.a < s.d AND r.a > s.k AND s.d <= t.g AND s.k = t.k",
    "a check": "r.a <> s.d AND s.d < t.g AND s.k = t.k",
    "a chain": "r.a < t.g AND t.k = s.k AND t.g <= s.d",
}
PASSED_OVER = {
    "smaller": {"r", "t"},
    "larger or equal": {"r", "t"},
    "equal keys only": {"r"},  # t is between r and s in the tree
    "no condition": {"r"},
    "a band": {"t"},
    "a check": {"t"},
    "a chain": {"r"},
}


def pattern(shape: str, bound: str = "UNBOUNDED") -> str:
    return f"{STREAMS} PATTERN P AND(R r, S s, T t) WHERE {SHAPES[shape]} {bound} RETURN DISTINCT s.d AS d;"


@pytest.mark.parametrize("shape", SHAPES)
def test_which_variables_have_events_that_can_be_passed_over(shape: str) -> None:
    assert set(Engine(compiled(pattern(shape)))._branches[0].best) == PASSED_OVER[shape]


SMALL = st.integers(0, 4)
EVENT = st.tuples(st.sampled_from("RST"), SMALL, SMALL)
ATTRIBUTE = {"R": "a", "S": "d", "T": "g"}


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_is_put_out_adds_up_to_what_is_there(shape: str, data: st.DataObject) -> None:
    """`enumerate` starts from the root and passes nothing over."""
    engine = Engine(compiled(pattern(shape)))
    alive: Counter[Any] = Counter()
    stored: list[tuple[str, int, int]] = []
    for _ in range(data.draw(st.integers(1, 5))):
        gone = data.draw(st.lists(st.sampled_from(sorted(stored)), max_size=3)) if stored else []
        gone = list((Counter(gone) & Counter(stored)).elements())
        new = data.draw(st.lists(EVENT, max_size=8))
        rows: dict[str, list[dict[str, int]]] = {name: [] for name in "RST"}
        signs: dict[str, list[int]] = {name: [] for name in "RST"}
        for sign, events in ((-1, gone), (1, new)):
            for stream, value, key in events:
                rows[stream].append({ATTRIBUTE[stream]: value, "k": key})
                signs[stream].append(sign)
        alive.update(fields(push(engine, rows, signs=signs if gone else None)))
        stored = list((Counter(stored) - Counter(gone)).elements()) + new
        assert +alive == fields(rows_of(engine.enumerate().read_all()))
        assert min(alive.values(), default=0) >= 0
        engine._check()


def test_an_event_that_is_not_the_best_costs_no_search() -> None:
    """However many partners it has: with 10 or 1,000 of them nothing is read."""
    for partners in (10, 1000):
        engine = Engine(compiled(pattern("smaller")))
        push(engine, {"S": [{"d": 10 + i, "k": 0} for i in range(partners)], "T": [{"g": 10**6, "k": 0}]})
        assert len(push(engine, {"R": [{"a": 5, "k": 0}]})) == partners
        before = engine.operations.as_dict()
        assert push(engine, {"R": [{"a": 5 + i % 3, "k": 0} for i in range(20)]}) == []
        after = engine.operations.as_dict()
        assert after["seeks"] == before["seeks"]
        assert after["visited"] - before["visited"] == 1, "the best of the group, which is an old one"


def test_with_a_window_every_event_counts() -> None:
    """A later event keeps the tuple alive for longer, even if it has no partner that another has not."""
    streams = "STREAM R (ts TIMESTAMP, a INT) TIMESTAMP BY ts; STREAM S (ts TIMESTAMP, d INT) TIMESTAMP BY ts;"
    text = f"{streams} PATTERN P AND(R r, S s) WHERE r.a < s.d WITHIN 10 SECONDS RETURN DISTINCT s.d AS d;"
    assert not Engine(compiled(text))._branches[0].best

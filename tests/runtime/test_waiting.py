"""The waiting room against a sorted list, under any order of adding, taking and replacing."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from cep.ir.plan import Leaf
from cep.ir.types import Type
from runtime.intake.selection import Selection
from runtime.state.waiting import Waiting

LAST = 2**63 - 1
Row = tuple[int, int]
"""Time and a number that tells rows apart."""


def room(hold: int) -> Waiting:
    columns = (("ts", Type.TIMESTAMP), ("n", Type.INT))
    return Waiting(Leaf(var="a", stream="A", columns=columns, time="ts", filter=(), hold=hold))


def events(rows: list[tuple[int | None, int]]) -> Selection:
    times, numbers = ([row[i] for row in rows] for i in (0, 1))
    return Selection.of({"ts": pa.array(times, pa.int64()), "n": pa.array(numbers, pa.int64())}, len(rows))


def listed(columns: Any) -> list[Row]:
    return [] if columns is None else list(zip(columns["ts"].to_pylist(), columns["n"].to_pylist(), strict=True))


def taken(found: Selection | None) -> list[Row]:
    return [] if found is None else listed({name: found.column(name) for name in ("ts", "n")})


times = st.integers(-20, 20)
adding = st.tuples(st.just("add"), st.lists(st.none() | times, max_size=8))
taking = st.tuples(st.just("take"), st.integers(-30, 40))
thinning = st.tuples(st.just("replace"), st.integers(1, 4))


@given(st.sampled_from([0, 1, 7]), st.lists(adding | taking | thinning, max_size=20))
def test_rows_leave_when_they_are_due_in_order_of_time_each_once(hold: int, actions: list[tuple[str, Any]]) -> None:
    waiting, model = room(hold), []
    watermark: int | None = None
    begin = -100  # before 1970 times are below zero
    number = 0
    for kind, what in actions:
        if kind == "add":  # nothing that comes is late
            least = begin if watermark is None else watermark
            rows = [(None if t is None else max(t, least), number + i) for i, t in enumerate(what)]
            number += len(rows)
            waiting.add(events(rows))
            model += [row for row in rows if row[0] is not None]
        elif kind == "take":
            watermark = max(begin if watermark is None else watermark, what)
            due = [row for row in model if row[0] + hold <= watermark]
            found = taken(waiting.take(watermark))
            assert [t for t, _ in found] == sorted(t for t, _ in due)
            assert sorted(found) == sorted(due)
            model = [row for row in model if row not in due]
        else:
            kept = [row for i, row in enumerate(listed(waiting.everything())) if i % what]
            due_now = [] if watermark is None else [row for row in kept if row[0] + hold <= watermark]
            waiting.replace(events(kept), watermark)
            model = [row for row in kept if row not in due_now]
            if due_now:  # added at the watermark and not taken yet: they are settled now, and lie aside
                assert hold == 0
        waiting._check()
        assert waiting.size == len(model)
        assert waiting.due == min((t + hold for t, _ in model), default=None)
        assert sorted(model) == sorted(set(listed(waiting.everything())) & set(model))


def test_a_time_at_the_end_of_all_times_does_not_overflow() -> None:
    waiting = room(10)
    waiting.add(events([(LAST - 3, 1), (5, 2)]))
    assert waiting.due == 15
    assert taken(waiting.take(15)) == [(5, 2)]
    assert waiting.due == LAST
    assert taken(waiting.take(LAST)) == [(LAST - 3, 1)]
    assert waiting.due is None
    assert waiting.size == waiting.nbytes == 0


def test_what_lies_aside_can_be_taken_back_until_the_watermark_has_passed_it() -> None:
    waiting = room(0)
    waiting.add(events([(5, 1), (9, 2)]))
    assert taken(waiting.take(5)) == [(5, 1)]
    waiting.put_aside(events([(5, 1)]))
    assert sorted(listed(waiting.everything())) == [(5, 1), (9, 2)]
    assert (waiting.size, waiting.due) == (1, 9), "it does not wait"
    assert waiting.take(5) is None
    assert sorted(listed(waiting.everything())) == [(5, 1), (9, 2)]
    assert waiting.take(6) is None
    assert listed(waiting.everything()) == [(9, 2)]

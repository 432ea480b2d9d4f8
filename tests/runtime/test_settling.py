"""When a match with a NOT is put out: never before nothing can change it, and never taken back (language.md 1.3)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import cep
from cep.ir.plan import Plan
from runtime import Engine

SECOND = 1_000_000
STREAMS = "\n".join(
    f"STREAM {name} (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts WATERMARK 5 SECONDS;" for name in "ABCD"
)


def compiled(text: str, streams: str = STREAMS) -> Plan:
    return cep.compile(f"{streams}\nPATTERN P {text};")["P"]


def rows(*moments: float, n: int | None = None, k: str | None = "u", signs: list[int] | None = None) -> pa.Table:
    """Events at these seconds; `n` is the second unless told."""
    columns: dict[str, Any] = {
        "ts": pa.array([int(at * SECOND) for at in moments], pa.timestamp("us", tz="UTC")),
        "k": pa.array([k] * len(moments), pa.string()),
        "n": pa.array([int(at) if n is None else n for at in moments], pa.int64()),
    }
    if signs is not None:
        columns["_sign"] = pa.array(signs, pa.int8())
    return pa.table(columns)


def said(reader: pa.RecordBatchReader) -> list[tuple[Any, ...]]:
    """The fields of each match, with its sign last where there are signs."""
    table = reader.read_all()
    names = [name for name in table.column_names if not name.startswith("_") or name == "_sign"]
    names.sort(key=lambda name: name == "_sign")
    return sorted(tuple(row[name] for name in names) for row in table.to_pylist())


def push(engine: Engine, watermark: float | None, **batch: pa.Table) -> list[tuple[Any, ...]]:
    found = said(engine.push(batch, None if watermark is None else int(watermark * SECOND)))
    engine._check()
    return found


MIDDLE = "SEQ(A a, NOT B b, C c) PARTITION BY k WITHIN 10 SECONDS RETURN a.n AS a, c.n AS c"
TRAILING = "SEQ(A a, NOT B b) PARTITION BY k WITHIN 10 SECONDS RETURN a.n AS a"
LEADING = "SEQ(NOT B b, A a, C c) PARTITION BY k WITHIN 10 SECONDS RETURN a.n AS a, c.n AS c"
BOTH = "AND(A a, NOT B b) PARTITION BY k WITHIN 10 SECONDS RETURN a.n AS a"


# --- golden cases of language.md 2: when ---------------------------------------------------------------------------


def test_n1_in_the_middle_when_the_watermark_reaches_the_later_neighbour() -> None:
    engine = Engine(compiled(MIDDLE))
    assert push(engine, 4.999999, A=rows(0, 3), B=rows(3), C=rows(5)) == []
    assert engine.due == 5 * SECOND
    assert said(engine.advance(5 * SECOND)) == [(3, 5)]
    assert push(engine, 8, B=rows(6), C=rows(8)) == []
    assert said(engine.finish()) == []


def test_n2_trailing_when_the_watermark_has_passed_the_window() -> None:
    engine = Engine(compiled(TRAILING))
    assert push(engine, 20, A=rows(0, 20), B=rows(10)) == []
    assert push(engine, 30) == []
    assert engine.due == 30 * SECOND + 1
    assert said(engine.advance(30 * SECOND + 1)) == [(20,)]
    assert push(engine, 40, B=rows(31)) == []


def test_n3_a_late_blocker_does_not_block_and_is_counted() -> None:
    engine = Engine(compiled(MIDDLE))
    assert push(engine, None, A=rows(0), C=rows(4)) == []
    assert push(engine, 4, A=rows(9)) == [(0, 4)]
    assert push(engine, 4, B=rows(2)) == []
    assert engine.stats()["late"] == 1


def test_n3_a_blocker_that_comes_in_time_blocks() -> None:
    engine = Engine(compiled(MIDDLE))
    push(engine, None, A=rows(0), C=rows(4))
    push(engine, None, B=rows(2))
    assert push(engine, 4, A=rows(9)) == []
    assert engine.stats()["late"] == 0


def test_n4_leading_when_its_last_event_comes_once_the_first_is_settled() -> None:
    engine = Engine(compiled(LEADING))
    assert push(engine, 4, A=rows(5), B=rows(1), C=rows(9)) == []
    assert push(engine, 5, C=rows(12)) == [(5, 12)], "nothing before A5 can come any more"
    engine = Engine(compiled(LEADING))
    assert push(engine, 5, A=rows(5), B=rows(1)) == []
    assert push(engine, 5, C=rows(12)) == [(5, 12)], "on arrival"


def test_n5_in_an_and_when_the_watermark_has_passed_a_window_after_it() -> None:
    engine = Engine(compiled(BOTH))
    assert push(engine, 15, A=rows(5), B=rows(14)) == []
    assert push(engine, 50, A=rows(40)) == []
    assert said(engine.advance(50 * SECOND + 1)) == [(40,)]


# --- ORDER BY: equal times are decided by seq, so a moment is settled when it has passed ----------------------------

TIED = "STREAM E (ts TIMESTAMP, k STRING, seq INT, what STRING) TIMESTAMP BY ts ORDER BY seq;"


def tied(*events: tuple[int, int, str]) -> pa.Table:
    return pa.table(
        {
            "ts": pa.array([at * SECOND for at, _, _ in events], pa.timestamp("us", tz="UTC")),
            "k": ["u"] * len(events),
            "seq": pa.array([seq for _, seq, _ in events], pa.int64()),
            "what": [what for _, _, what in events],
        }
    )


KINDS = "WHERE a.what = 'a' AND b.what = 'b' AND c.what = 'c' PARTITION BY k WITHIN 10 SECONDS"


def test_a_blocker_of_the_moment_of_its_closer_that_comes_after_it_blocks() -> None:
    plan = compiled(f"SEQ(E a, NOT E b, E c) {KINDS} RETURN a.seq AS a, c.seq AS c", TIED)
    engine = Engine(plan)
    found = push(engine, 4, E=tied((0, 1, "a"), (4, 3, "c")))
    found += push(engine, 4, E=tied((4, 2, "b")))
    found += said(engine.finish())
    assert found == []


def test_a_partner_of_the_moment_of_its_closer_that_comes_after_it_is_found() -> None:
    plan = compiled(f"SEQ(E a, NOT E b, E c) {KINDS} RETURN a.seq AS a, c.seq AS c", TIED)
    engine = Engine(plan)
    found = push(engine, 4, E=tied((4, 3, "c")))
    found += push(engine, 4, E=tied((4, 1, "a")))
    found += said(engine.finish())
    assert found == [(1, 3)]


def test_a_leading_blocker_of_the_same_moment_blocks() -> None:
    plan = compiled(
        "SEQ(NOT E b, E c) WHERE b.what = 'b' AND c.what = 'c' PARTITION BY k WITHIN 10 SECONDS RETURN c.seq AS c", TIED
    )
    engine = Engine(plan)
    found = push(engine, 4, E=tied((4, 3, "c")))
    found += push(engine, 4, E=tied((4, 2, "b")))
    found += said(engine.finish())
    assert found == []


# --- corrections ---------------------------------------------------------------------------------------------------


def test_a_waiting_row_that_is_deleted_leaves_its_room() -> None:
    engine = Engine(compiled(TRAILING))
    push(engine, 0, A=rows(0, 1, signs=[1, 1]))
    assert engine.stats()["waiting"] == 2
    assert push(engine, 0, A=rows(0, signs=[-1])) == []
    assert engine.stats()["waiting"] == 1
    assert said(engine.finish()) == [(1,)]


def test_a_blocker_that_is_deleted_before_the_gap_settles_does_not_block() -> None:
    engine = Engine(compiled(MIDDLE))
    push(engine, 1, A=rows(0, signs=[1]), B=rows(2, signs=[1]), C=rows(4, signs=[1]))
    assert push(engine, 2, B=rows(2, signs=[-1])) == []
    assert said(engine.advance(4 * SECOND)) == [(0, 4)]


def test_a_blocker_is_replaced_by_one_outside_of_the_gap() -> None:
    engine = Engine(compiled(MIDDLE))
    push(engine, 1, A=rows(0), B=rows(2), C=rows(4))
    assert push(engine, 4, B=rows(2, 5, signs=[-1, 1])) == [(0, 4, 1)]


@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("text", [MIDDLE, LEADING])
def test_a_held_row_exactly_at_the_watermark_can_be_deleted(text: str, blocked: bool) -> None:
    """It is not late, and has been settled: its matches are taken back; there are none if it was blocked."""
    plan = compiled(text)
    held = next(leaf.var for leaf in plan.leaves if leaf.hold == 0)
    at = {"a": 2.0, "c": 4.0}
    engine = Engine(plan)
    blocker = {"B": rows(1)} if blocked else {}
    push(engine, at[held], A=rows(at["a"]) if held == "a" else rows(0), C=rows(4), **blocker)
    before = engine.count()
    assert before == (0 if blocked else 1)
    taken = push(engine, at[held], **{held.upper(): rows(at[held], signs=[-1])})
    assert [row[-1] for row in taken] == [-1] * before
    assert engine.count() == 0
    assert engine.stats()["waiting"] == 0


@pytest.mark.parametrize(
    ("text", "dropped", "others"),
    [
        ("SEQ(NOT B b, A a) PARTITION BY k WITHIN 10 SECONDS RETURN a.n AS a", "A", {"B": 1}),
        ("SEQ(A a, NOT B b, C c) PARTITION BY k WITHIN 10 SECONDS RETURN a.n AS a", "C", {}),
        ("SEQ(A a, NOT B b, C c, D d) PARTITION BY k WITHIN 10 SECONDS RETURN a.n AS a", "C", {"A": 0, "B": 1}),
    ],
)
@pytest.mark.parametrize("restored", [False, True])
def test_a_row_exactly_at_the_watermark_that_was_dropped_as_it_settled_can_be_deleted(
    text: str, dropped: str, others: dict[str, int], restored: bool
) -> None:
    """It can be in no match, but it is an event that came and is not late: deleting it is no mistake of the user."""
    plan = compiled(text)
    engine = Engine(plan)
    push(engine, 4, **{dropped: rows(4), **{name: rows(at) for name, at in others.items()}})
    if restored:
        engine = Engine.restore(plan, engine.snapshot())
    assert push(engine, 4, **{dropped: rows(4, signs=[-1])}) == []
    with pytest.raises(ValueError, match="cannot delete an event that is not there"):
        engine.push({dropped: rows(4, signs=[-1])}, None)


def test_deleting_what_is_neither_waiting_nor_stored_is_refused_and_changes_nothing() -> None:
    engine = Engine(compiled(TRAILING))
    push(engine, 0, A=rows(0))
    with pytest.raises(ValueError, match="cannot delete an event that is not there"):
        engine.push({"A": rows(3, signs=[-1])}, None)
    assert engine.stats()["waiting"] == 1
    assert said(engine.finish()) == [(0,)]


# --- a closer without a partner is dropped only where none can come any more ----------------------------------------


def test_a_closer_waits_for_a_partner_of_its_moment() -> None:
    streams = f"{STREAMS}\n{TIED}"
    plan = compiled(
        "SEQ(E a, NOT B b, E c, D d) WHERE a.what = 'a' AND c.what = 'c' PARTITION BY k WITHIN 10 SECONDS "
        "RETURN a.seq AS a, c.seq AS c",
        streams,
    )
    engine = Engine(plan)
    found = push(engine, 4, E=tied((4, 3, "c")))
    found += push(engine, 4, E=tied((4, 1, "a")))
    found += push(engine, 4, D=rows(5))
    assert found == [(1, 3)]


def test_a_closer_waits_for_a_partner_that_may_be_later() -> None:
    plan = compiled(
        "AND(A a, SEQ(NOT B b, C c, D d)) WHERE a.ts <= c.ts + 3 SECONDS AND b.k = c.k AND b.ts > c.ts - 2 SECONDS "
        "AND a.k = c.k AND c.k = d.k WITHIN 10 SECONDS RETURN a.n AS a, c.n AS c"
    )
    engine = Engine(plan)
    found = push(engine, 4, C=rows(4))
    found += push(engine, 4, A=rows(6))
    found += push(engine, 4, D=rows(7))
    found += said(engine.finish())
    assert found == [(6, 4)]

"""Which of the three ways a gap is asked, which leaf waits for it and how long, and how long rows are kept for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cep.compiler.gaps import Way, gaps, keeps
from cep.compiler.gcq import gcq
from cep.compiler.normalise import normalise
from cep.compiler.pipeline import compile_source
from cep.diagnostics import Severity
from cep.ir.body import Absent, All, Many, One, Select, Seq, order, places
from cep.ir.gcq import GCQ
from cep.ir.model import Pattern
from cep.source import Source

SECOND = 1_000_000
WINDOW = 10 * SECOND
STREAMS = "\n".join(
    f"STREAM {name} (ts TIMESTAMP, k INT, j INT, x INT, seq INT) TIMESTAMP BY ts{tail};"
    for name, tail in (*((name, "") for name in "ABCD"), ("E", " ORDER BY seq"))
)


def pattern(body: str, rest: str = "PARTITION BY k", window: str = "WITHIN 10 SECONDS") -> Pattern:
    result = compile_source(Source("t.cep", f"{STREAMS} PATTERN P {body} {rest} {window} RETURN 1 AS one;"))
    assert [d.message for d in result.diagnostics if d.severity is Severity.ERROR] == []
    return result.patterns[0]


def query(body: str, rest: str = "PARTITION BY k", window: str = "WITHIN 10 SECONDS") -> GCQ:
    return gcq(normalise(pattern(body, rest, window)))


def decided(body: str, rest: str = "PARTITION BY k", window: str = "WITHIN 10 SECONDS") -> list[tuple[Way, str, int]]:
    return [(gap.way, gap.held, gap.shift) for gap in gaps(query(body, rest, window))]


@pytest.mark.parametrize(
    ("body", "way", "held", "shift"),
    [
        ("SEQ(A a, NOT B b, C c)", Way.SINCE, "c", 0),
        ("SEQ(A a, NOT B b, C c, D d)", Way.SINCE, "c", 0),
        ("SEQ(A a, C c, NOT B b, D d)", Way.SINCE, "d", 0),
        ("SEQ(NOT B b, A a)", Way.ROW, "a", 0),
        ("SEQ(NOT B b, A a, C c)", Way.MATCH, "a", 0),
        ("SEQ(A a, NOT B b)", Way.ROW, "a", WINDOW + 1),
        ("SEQ(A a, C c, NOT B b)", Way.MATCH, "a", WINDOW + 1),
        ("AND(A a, NOT B b)", Way.ROW, "a", WINDOW + 1),
        ("AND(A a, NOT B b, C c)", Way.MATCH, "a", WINDOW + 1),
        ("SEQ(A a, AND(C c, NOT B b), D d)", Way.SINCE, "d", 0),
        ("SEQ(A a, NOT B b, AND(C c, D d))", Way.MATCH, "c", 0),
        ("SEQ(AND(A a, C c), NOT B b, D d)", Way.MATCH, "d", 0),
    ],
)
def test_the_place_decides(body: str, way: Way, held: str, shift: int) -> None:
    assert decided(body) == [(way, held, shift)]


@pytest.mark.parametrize(
    ("body", "rest", "way", "held", "shift"),
    [
        ("SEQ(A a, NOT B b, C c)", "WHERE b.x = 3 PARTITION BY k", Way.SINCE, "c", 0),
        ("SEQ(A a, NOT B b, C c)", "WHERE b.x > a.x PARTITION BY k", Way.MATCH, "c", 0),
        ("SEQ(A a, NOT B b, C c)", "WHERE b.x > c.x PARTITION BY k", Way.MATCH, "c", 0),
        ("SEQ(A a, NOT B b, C c)", "WHERE a.k = c.k AND b.k = c.k", Way.SINCE, "c", 0),
        ("SEQ(A a, NOT B b, C c)", "WHERE a.k = c.k AND b.k = a.k", Way.SINCE, "c", 0),
        ("SEQ(A a, NOT B b, C c)", "WHERE a.k = c.k AND b.j = a.j", Way.MATCH, "c", 0),
        ("SEQ(A a, NOT B b)", "WHERE b.x > a.x PARTITION BY k", Way.ROW, "a", WINDOW + 1),
        ("SEQ(A a, NOT B b)", "WHERE b.ts <= a.ts + 2 SECONDS PARTITION BY k", Way.ROW, "a", 2 * SECOND + 1),
        ("SEQ(A a, NOT B b)", "WHERE b.ts < a.ts + 2 SECONDS PARTITION BY k", Way.ROW, "a", 2 * SECOND),
        ("SEQ(A a, C c, NOT B b)", "WHERE b.ts <= c.ts + 2 SECONDS PARTITION BY k", Way.MATCH, "c", 2 * SECOND + 1),
        ("SEQ(A a, NOT B b, C c)", "WHERE b.ts <= a.ts + 2 SECONDS PARTITION BY k", Way.MATCH, "c", 0),
    ],
)
def test_conditions_decide(body: str, rest: str, way: Way, held: str, shift: int) -> None:
    assert decided(body, rest) == [(way, held, shift)]


def test_a_bound_stands_for_the_window_that_is_not_there() -> None:
    assert decided("SEQ(A a, NOT B b)", "WHERE b.ts <= a.ts + 2 SECONDS PARTITION BY k", "UNBOUNDED") == [
        (Way.ROW, "a", 2 * SECOND + 1)
    ]


def test_with_order_by_the_moment_itself_has_to_pass() -> None:
    assert decided("SEQ(E a, NOT E b, E c)") == [(Way.MATCH, "c", 1)]
    assert decided("SEQ(NOT E b, E a)") == [(Way.ROW, "a", 1)]
    assert decided("SEQ(E a, NOT B b, E c)") == [(Way.SINCE, "c", 0)], (
        "another stream's events of the moment are not before it"
    )


def test_each_gap_is_decided_for_itself() -> None:
    assert decided("SEQ(NOT B x, A a, NOT B y, C c, NOT B z)") == [
        (Way.MATCH, "a", 0),
        (Way.SINCE, "c", 0),
        (Way.MATCH, "a", WINDOW + 1),
    ]


@pytest.mark.parametrize(
    ("select", "way", "held", "shift"),
    [(Select.FIRST, Way.SINCE, "b", 0), (Select.LAST, Way.MATCH, "a", WINDOW + 1)],
)
def test_selection_is_a_gap_of_better_candidates(select: Select, way: Way, held: str, shift: int) -> None:
    made = replace(pattern("SEQ(A a, B b)"), body=Seq((One("a"), One("b", select))))
    (gap,) = gaps(gcq(normalise(made)))
    assert (gap.way, gap.held, gap.shift) == (way, held, shift)
    assert gap.variable.stream.name == "B"


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("SEQ(A a, NOT B b, C c)", {}),
        ("SEQ(NOT B b, A a)", {}),
        ("SEQ(A a, NOT B b)", {"a": WINDOW + 1, "b": WINDOW + 1}),
        ("AND(A a, NOT B b)", {"a": WINDOW + 1, "b": 2 * WINDOW + 1}),
        ("SEQ(NOT C c, A a, NOT B b)", {"a": WINDOW + 1, "b": WINDOW + 1, "c": 2 * WINDOW + 1}),
    ],
)
def test_rows_are_kept_for_what_is_asked_late(body: str, kept: dict[str, int]) -> None:
    made = query(body)
    assert keeps(made, gaps(made)) == kept


# --- bodies ----------------------------------------------------------------------------------------------------------


def around(body: Seq | All) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(place.step.var, place.after, place.before) for place in places(body)]


def test_places_are_those_of_the_innermost_seq_that_says_something() -> None:
    inner = All((One("b"), Absent("x")))
    assert around(Seq((One("a"), inner, One("c")))) == [("x", ("a",), ("c",))]
    assert around(Seq((One("a"), Seq((One("b"), Absent("x"), One("c"))), One("d")))) == [("x", ("b",), ("c",))]
    assert around(Seq((One("a"), Seq((Absent("x"), One("c"))), One("d")))) == [("x", ("a",), ("c",))]
    assert around(Seq((One("a"), Seq((One("b"), Absent("x"))), One("d")))) == [("x", ("b",), ("d",))]
    assert around(All((One("a"), Seq((One("b"), Absent("x")))))) == [("x", ("b",), ())]
    assert around(All((One("a"), Absent("x")))) == [("x", (), ())]


def test_places_look_through_nots_and_span_groups() -> None:
    both = All((One("b"), One("c")))
    assert around(Seq((One("a"), Absent("x"), Absent("y"), both))) == [
        ("x", ("a",), ("b", "c")),
        ("y", ("a",), ("b", "c")),
    ]
    assert around(Seq((both, All((Absent("x"), Absent("y"))), One("d")))) == [
        ("x", ("b", "c"), ("d",)),
        ("y", ("b", "c"), ("d",)),
    ]


def test_a_not_beside_a_set_lies_between_the_set_and_its_neighbour() -> None:
    (_, place) = places(Seq((Many("f", 5, None), Absent("r"), One("s"))))
    assert (place.after, place.before, place.beside) == ((), ("s",), ((-1, "f"),))


def test_gaps_do_not_order_what_is_around_them() -> None:
    assert order(Seq((One("a"), Absent("x"), One("b")))) == (("a", "b"),)
    assert order(Seq((Absent("x"), One("a"), Absent("y")))) == ()
    assert order(Seq((One("a"), All((One("b"), Absent("x"))), One("c")))) == (("a", "b"), ("b", "c"))

"""What the checker makes of NOT and of sets: who each condition speaks of."""

from __future__ import annotations

import pytest
from passes import judge

from cep.diagnostics import Severity
from cep.ir.body import Absent, All, Body, Many, One, Seq
from cep.ir.model import Pattern
from cep.source import Source

STREAMS = """
STREAM A (ts TIMESTAMP, k STRING, i INT, x DOUBLE) TIMESTAMP BY ts;
STREAM B (ts TIMESTAMP, k STRING, i INT, x DOUBLE) TIMESTAMP BY ts;
STREAM C (ts TIMESTAMP, k STRING, i DOUBLE) TIMESTAMP BY ts;
"""


def pattern(text: str) -> Pattern:
    patterns, diagnostics = judge(Source("t.cep", STREAMS + text))
    assert [item.message for item in diagnostics if item.severity is Severity.ERROR] == []
    return patterns[0]


def texts(conditions: object) -> list[str]:
    return [str(condition.expr) for condition in conditions]  # type: ignore[attr-defined]


def gaps(found: Pattern) -> dict[str, list[str]]:
    return {gap.name: texts(gap.conditions) for gap in found.gaps}


@pytest.mark.parametrize(
    ("written", "body"),
    [
        ("SEQ(A a, NOT B b, C c)", Seq((One("a"), Absent("b"), One("c")))),
        ("SEQ(A a, NOT OR(B b, C c))", Seq((One("a"), All((Absent("b"), Absent("c")))))),
        ("SEQ(A a, NOT B{3,} b)", Seq((One("a"), Many("b", 0, 2)))),
        ("SEQ(A a, NOT B+ b)", Seq((One("a"), Absent("b")))),
        ("SEQ(A a, NOT B{1,} b)", Seq((One("a"), Absent("b")))),
        ("AND(A a, NOT OR(B{2,} b, OR(C c)))", All((One("a"), All((Many("b", 0, 1), All((Absent("c"),))))))),
        ("SEQ(B+ b, A a)", Seq((Many("b", 1, None), One("a")))),
        ("SEQ(B* b, A a)", Seq((Many("b", 0, None), One("a")))),
        ("SEQ(B{3} b, A a)", Seq((Many("b", 3, 3), One("a")))),
        ("SEQ(B{3,} b, A a)", Seq((Many("b", 3, None), One("a")))),
        ("SEQ(B{0,1} b, A a)", Seq((Many("b", 0, 1), One("a")))),
        ("B{5,} b", Many("b", 5, None)),
        ("SEQ(B{5,} b, NOT C c)", Seq((Many("b", 5, None), Absent("c")))),
    ],
)  # fmt: skip
def test_bodies(written: str, body: Body) -> None:
    assert pattern(f"PATTERN P {written} WITHIN 1 HOUR RETURN 1 AS one;").body == body


def test_single_events_and_gaps_are_kept_apart() -> None:
    found = pattern("PATTERN P SEQ(A a, NOT B b, C+ c, A d) WITHIN 1 HOUR RETURN a.k AS k;")
    assert [variable.name for variable in found.variables] == ["a", "d"]
    assert [(gap.name, gap.stream.name) for gap in found.gaps] == [("b", "B"), ("c", "C")]
    assert found.order == (("a", "d"),)


def test_a_conjunct_belongs_to_the_gap_that_it_mentions() -> None:
    found = pattern(
        "PATTERN P SEQ(A a, NOT B b, A c) WHERE a.k = b.k AND b.k = c.k AND b.x > a.x AND a.i < c.i AND b.i = 3"
        " AND (b.i = a.i OR c.i > 5) WITHIN 1 HOUR;"
    )
    assert texts(found.conditions) == ["a.i < c.i"]
    assert gaps(found) == {"b": ["a.k = b.k", "b.k = c.k", "b.x > a.x", "b.i = 3", "b.i = a.i OR c.i > 5"]}


def test_partition_by_chains_single_events_and_hangs_each_gap_on_the_first() -> None:
    found = pattern("PATTERN P SEQ(A a, NOT B b, C+ c, A d, NOT B e) PARTITION BY k, i WITHIN 1 HOUR;")
    assert texts(found.conditions) == ["a.k = d.k", "a.i = d.i"]
    assert gaps(found) == {
        "b": ["a.k = b.k", "a.i = b.i"],
        "c": ["a.k = c.k", "a.i = c.i"],
        "e": ["a.k = e.k", "a.i = e.i"],
    }


def test_the_key_of_the_only_single_event_is_not_null() -> None:
    found = pattern("PATTERN P SEQ(A a, NOT B b) PARTITION BY k WITHIN 1 HOUR;")
    assert texts(found.conditions) == ["NOT a.k IS NULL"]
    assert gaps(found) == {"b": ["a.k = b.k"]}


def test_a_lone_set_has_no_single_event_to_be_equal_to() -> None:
    found = pattern("PATTERN P SEQ(B{5,} b, NOT C c) PARTITION BY k WITHIN 1 HOUR;")
    assert found.partition_by == ("k",)
    assert (found.conditions, gaps(found)) == ((), {"b": [], "c": []})


def test_what_is_said_of_a_gap_is_no_window() -> None:
    _, diagnostics = judge(
        Source(
            "t.cep", STREAMS + "PATTERN P SEQ(A a, NOT B b, C c) WHERE b.ts < a.ts + 1 HOUR AND c.ts < b.ts + 1 HOUR;"
        )
    )
    assert "CEP0401" in [item.code for item in diagnostics]
    found = pattern("PATTERN P SEQ(A a, NOT B b, C c) WHERE c.ts <= a.ts + 1 HOUR;")
    assert found.window == 3_600_000_000


def test_one_single_event_needs_no_window() -> None:
    assert pattern("PATTERN P A a;").window is None
    _, diagnostics = judge(Source("t.cep", STREAMS + "PATTERN P SEQ(A a, NOT B b) WHERE b.ts < a.ts + 1 HOUR;"))
    assert "CEP0401" in [item.code for item in diagnostics]


def test_a_condition_of_a_gap_is_never_held_against_single_events() -> None:
    # Read as single events, a.i = b.i, b.i = c.i and a.i < c.i contradict each other.
    found = pattern("PATTERN P SEQ(A a, NOT B b, A c) WHERE a.i < c.i AND a.i = b.i AND b.i = c.i WITHIN 1 HOUR;")
    assert texts(found.conditions) == ["a.i < c.i"]

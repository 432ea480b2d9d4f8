"""Alternatives: every way to match is a pattern of its own."""

from __future__ import annotations

import pytest
from passes import judge
from test_gaps import STREAMS, gaps, pattern, texts

from cep.compiler.branches import branches, count_branches
from cep.diagnostics import Diagnostics, Severity
from cep.ir import ast
from cep.ir.body import Absent, Any, One, Seq
from cep.ir.expr import Const
from cep.ir.model import Pattern
from cep.ir.types import Type
from cep.source import Source
from cep.syntax.parse import parse
from cep.syntax.unparse import unparse_body

TAIL = "WITHIN 1 HOUR"


def body(text: str) -> ast.Body:
    (statement,) = parse(Source("t.cep", f"PATTERN P {text} UNBOUNDED;"), Diagnostics()).statements
    assert isinstance(statement, ast.PatternDecl)
    return statement.body


def conditions(found: Pattern) -> list[list[str]]:
    return [texts(branch.conditions) for branch in found.branches]


def fields(found: Pattern) -> list[list[str]]:
    return [[str(expr) for _, expr in branch.fields] for branch in found.branches]


@pytest.mark.parametrize(
    ("written", "ways"),
    [
        ("SEQ(A a, B b)", ["SEQ(A a, B b)"]),
        ("OR(A a, B b)", ["A a", "B b"]),
        ("SEQ(A a, OR(B b, C c), A d)", ["SEQ(A a, B b, A d)", "SEQ(A a, C c, A d)"]),
        ("SEQ(A a, B? b)", ["SEQ(A a, B b)", "SEQ(A a, NOT B b)"]),
        ("AND(A a, OR(SEQ(B b), B+ d))", ["AND(A a, SEQ(B b))", "AND(A a, B+ d)"]),
        ("OR(A a, SEQ(B b, C? c))", ["A a", "SEQ(B b, C c)", "SEQ(B b, NOT C c)"]),
        ("SEQ(A a, NOT OR(B b, C c))", ["SEQ(A a, NOT OR(B b, C c))"]),
        ("SEQ(OR(A a, B b), OR(A c, B d))", ["SEQ(A a, A c)", "SEQ(A a, B d)", "SEQ(B b, A c)", "SEQ(B b, B d)"]),
        ("OR(A a)", ["A a"]),
    ],
)  # fmt: skip
def test_ways_to_choose(written: str, ways: list[str]) -> None:
    found = branches(body(written), Diagnostics())
    assert found is not None
    assert [unparse_body(branch.body) for branch in found] == ways
    assert count_branches(body(written)) == len(ways)


def test_so_many_ways_are_never_written_out() -> None:
    diagnostics = Diagnostics()
    many = "SEQ(" + ", ".join(f"OR(A a{i}, B b{i}, C c{i})" for i in range(60)) + ")"
    assert branches(body(many), diagnostics) is None
    assert [item.code for item in diagnostics] == ["CEP0506"]


def test_each_branch_is_a_pattern_with_the_same_fields() -> None:
    found = pattern(f"PATTERN P SEQ(A a, OR(B b, C c), A d) {TAIL} RETURN a.k AS k, b.x AS x, c.i AS i;")
    assert found.body == Seq((One("a"), Any((One("b"), One("c"))), One("d")))
    first, second = found.branches
    assert (first.body, second.body) == (Seq((One("a"), One("b"), One("d"))), Seq((One("a"), One("c"), One("d"))))
    assert fields(found) == [["a.k", "b.x", "NULL"], ["a.k", "NULL", "c.i"]]
    assert [expr.type for _, expr in second.fields] == [expr.type for _, expr in found.fields]
    assert second.fields[1][1] == Const(None, Type.DOUBLE)
    assert [[v.name for v in each.variables] for each in (found, first, second)] == [
        ["a", "b", "d", "c"],
        ["a", "b", "d"],
        ["a", "c", "d"],
    ]
    assert (first.name, first.window, first.distinct) == (found.name, found.window, found.distinct)


def test_a_conjunct_is_asked_where_something_that_it_speaks_of_is_bound() -> None:
    found = pattern(
        "PATTERN P SEQ(A a, OR(B b, C c), A d) WHERE b.x > 5 AND COALESCE(b.i, c.i) > a.i AND a.i < d.i AND c.i IS NULL"
        f" {TAIL};"
    )
    assert conditions(found) == [
        ["b.x > 5.0", "COALESCE(b.i, NULL) > a.i", "a.i < d.i"],
        ["COALESCE(NULL, c.i) > a.i", "a.i < d.i", "c.i IS NULL"],
    ]


def test_with_two_ors_something_of_each_must_be_bound() -> None:
    found = pattern(f"PATTERN P SEQ(OR(A a, B b), OR(A c, B d)) WHERE a.i = c.i AND b.x > 0 {TAIL};")
    assert conditions(found) == [["a.i = c.i"], [], ["b.x > 0.0"], ["b.x > 0.0"]]


def test_an_or_that_a_branch_does_not_pass_asks_nothing_of_it() -> None:
    found = pattern(f"PATTERN P OR(SEQ(A a, OR(B b, C c)), B d) WHERE COALESCE(b.x, d.x) > 0 {TAIL};")
    assert conditions(found) == [["COALESCE(b.x, NULL) > 0.0"], [], ["COALESCE(NULL, d.x) > 0.0"]]


def test_an_event_that_need_not_come_is_there_or_does_not_come() -> None:
    found = pattern(
        f"PATTERN P SEQ(A a, B? b, A c) WHERE b.x > a.x AND a.i < c.i PARTITION BY k {TAIL} RETURN b.x AS x;"
    )
    there, absent = found.branches
    assert found.body == Seq((One("a"), Any((One("b"), Absent("b"))), One("c")))
    assert texts(there.conditions) == ["b.x > a.x", "a.i < c.i", "a.k = b.k", "b.k = c.k"]
    assert (texts(absent.conditions), gaps(absent)) == (["a.i < c.i", "a.k = c.k"], {"b": ["b.x > a.x", "a.k = b.k"]})
    assert fields(found) == [["b.x"], ["NULL"]]


def test_what_is_said_of_two_events_that_need_not_come_is_not_said_of_neither() -> None:
    found = pattern(f"PATTERN P SEQ(A a, B? b, A? c, A d) WHERE b.i < c.i AND b.i > a.i {TAIL} RETURN a.i AS i;")
    assert [(texts(branch.conditions), gaps(branch)) for branch in found.branches] == [
        (["b.i < c.i", "b.i > a.i"], {}),
        (["b.i > a.i"], {"c": ["b.i < c.i"]}),
        ([], {"b": ["b.i < c.i", "b.i > a.i"]}),
        ([], {"b": ["b.i > a.i"], "c": []}),
    ]


def test_a_name_of_several_branches_has_what_all_of_them_have() -> None:
    found = pattern(f"PATTERN P SEQ(A a, OR(A x, B x)) WHERE x.x > 5 {TAIL} RETURN x.i AS i, STREAM_OF(x) AS s;")
    assert [[(v.name, v.stream.name) for v in each.variables] for each in (found, *found.branches)] == [
        [("a", "A"), ("x", "A"), ("x", "B")],
        [("a", "A"), ("x", "A")],
        [("a", "A"), ("x", "B")],
    ]
    assert fields(found) == [["x.i", "'A'"], ["x.i", "'B'"]]
    shown = pattern(f"PATTERN P OR(A x, C x) {TAIL};")
    assert [name for name, _ in shown.fields] == ["x.ts", "x.k"]  # `i` has two types


def test_an_unbound_set_is_null_in_every_aggregate() -> None:
    found = pattern(
        f"PATTERN P SEQ(A a, OR(B+ b, C c), A d) WHERE COUNT(b) > 2 AND c.i > 0 PARTITION BY k {TAIL}"
        " RETURN COUNT(b) AS n, COUNT(b) + 1 AS m, c.i AS i;"
    )
    assert [texts(branch.having) for branch in found.branches] == [["b.COUNT(*) > 2"], []]
    assert fields(found) == [["b.COUNT(*)", "b.COUNT(*) + 1", "NULL"], ["NULL", "NULL", "c.i"]]
    assert [[one.name for gap in branch.gaps for one in gap.aggregates] for branch in found.branches] == [
        ["COUNT(*)"],
        [],
    ]


def test_an_alternative_that_can_never_match_is_left_out() -> None:
    found = pattern(f"PATTERN P SEQ(A a, OR(A x, B x)) WHERE STREAM_OF(x) = 'B' {TAIL} RETURN x.i AS i;")
    assert (found.branches, [v.stream.name for v in found.variables]) == ((), ["A", "B"])
    assert texts(found.conditions) == []


def test_each_branch_has_the_window_that_its_conditions_imply() -> None:
    found = pattern("PATTERN P SEQ(A a, OR(B b, C c)) WHERE b.ts < a.ts + 1 HOUR AND c.ts <= a.ts + 2 HOURS;")
    assert [branch.window for branch in found.branches] == [3_600_000_000 - 1, 7_200_000_000]
    assert found.window == 7_200_000_000


def test_a_condition_of_a_gap_needs_what_it_compares_with() -> None:
    text = f"PATTERN P OR(SEQ(A a, NOT B b), C c) WHERE b.i < c.i {TAIL} RETURN a.i AS i;"
    _, diagnostics = judge(Source("t.cep", STREAMS + text))
    assert "CEP0414" in [item.code for item in diagnostics if item.severity is Severity.ERROR]

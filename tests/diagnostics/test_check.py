"""What the checker makes of a pattern that is right."""

from __future__ import annotations

import pytest
from passes import judge

from cep.diagnostics import Severity
from cep.ir.expr import Call, walk
from cep.ir.model import Pattern
from cep.ir.types import Type
from cep.source import Source

STREAMS = """
STREAM A (ts TIMESTAMP, k STRING, i INT, d DOUBLE, b BOOLEAN) TIMESTAMP BY ts;
STREAM B (ts TIMESTAMP, k STRING, i DOUBLE) TIMESTAMP BY ts;
STREAM F (k STRING);
"""


def pattern(text: str) -> Pattern:
    patterns, diagnostics = judge(Source("t.cep", STREAMS + text))
    assert [item for item in diagnostics if item.severity is Severity.ERROR] == []
    return patterns[0]


def conditions(where: str) -> list[str]:
    found = pattern(f"PATTERN P SEQ(A a, A b) WHERE {where} WITHIN 1 HOUR;")
    return [str(condition.expr) for condition in found.conditions]


@pytest.mark.parametrize(
    ("body", "order"),
    [
        ("SEQ(A a)", []),
        ("AND(A a, A b)", []),
        ("SEQ(A a, A b, A c)", ["ab", "bc"]),
        ("SEQ(A a, AND(A b, A c), A d)", ["ab", "ac", "bd", "cd"]),
        ("SEQ(AND(A a, A b), A c)", ["ac", "bc"]),
        ("AND(SEQ(A a, A b), A c)", ["ab"]),
        ("SEQ(AND(SEQ(A a, A b), A c), A d)", ["ab", "ad", "bd", "cd"]),
        ("SEQ(SEQ(A a, A b), SEQ(A c, A d))", ["ab", "ac", "ad", "bc", "bd", "cd"]),
    ],
)
def test_order_between_neighbouring_steps(body: str, order: list[str]) -> None:
    assert sorted("".join(pair) for pair in pattern(f"PATTERN P {body} WITHIN 1 HOUR;").order) == order


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a.i BETWEEN 1 AND 5", ["a.i >= 1", "a.i <= 5"]),
        ("a.i NOT BETWEEN 1 AND 5", ["a.i < 1 OR a.i > 5"]),
        ("a.i NOT IN (1, 2)", ["NOT a.i IN (1, 2)"]),
        ("a.i IN (1, 2.5)", ["a.i IN (1.0, 2.5)"]),
        ("a.k NOT LIKE 'x%'", ["NOT a.k LIKE 'x%'"]),
        ("a.k IS NOT NULL", ["NOT a.k IS NULL"]),
        ("CASE a.i WHEN 1 THEN TRUE END", ["CASE WHEN a.i = 1 THEN TRUE ELSE NULL END"]),
        ("a.i < 1 + 1 AND b.i > -5", ["a.i < 2", "b.i > -5"]),
        ("a.b AND (b.b AND a.i = b.i)", ["a.b", "b.b", "a.i = b.i"]),
        ("a.ts + 1 HOUR * 2 > b.ts", ["a.ts + 2 HOURS > b.ts"]),
        ("1 HOUR + a.ts > b.ts", ["a.ts + 1 HOUR > b.ts"]),
        ("a.i > -9223372036854775808", ["a.i > -9223372036854775808"]),
        ("round(a.i) > 1 AND Abs(a.d) > 1", ["a.i > 1", "ABS(a.d) > 1.0"]),
        ("COALESCE(a.d, NULL, 1) > 2", ["COALESCE(a.d, NULL, 1.0) > 2.0"]),
        ("ABS(a.ts - b.ts) < 5 SECONDS", ["ABS(a.ts - b.ts) < 5 SECONDS"]),
    ],
)
def test_what_is_written_out(written: str, meant: list[str]) -> None:
    assert conditions(written) == meant


@pytest.mark.parametrize(
    "where", ["a.i < b.d", "a.i / b.i > 1", "a.i + 0.5 > 1", "a.i % 2.5 = 1", "LEAST(a.i, b.d) > 1"]
)
def test_an_integer_that_meets_a_double_is_cast(where: str) -> None:
    (condition,) = pattern(f"PATTERN P SEQ(A a, A b) WHERE {where} WITHIN 1 HOUR;").conditions
    for node in walk(condition.expr):
        if isinstance(node, Call) and node.op in ("<", ">", "=", "+", "/", "%", "least"):
            assert {arg.type for arg in node.args} == {Type.DOUBLE}, node


def test_partition_by_is_a_chain_of_equalities() -> None:
    found = pattern("PATTERN P SEQ(A a, B b, A c) PARTITION BY k, i WITHIN 1 HOUR;")
    assert [str(c.expr) for c in found.conditions] == ["a.k = b.k", "b.k = c.k", "a.i = b.i", "b.i = c.i"]
    assert found.partition_by == ("k", "i")


def test_without_return_every_attribute_is_a_field() -> None:
    found = pattern("PATTERN P AND(F f, B b) WHERE f.k = b.k UNBOUNDED;")
    assert [name for name, _ in found.fields] == ["f.k", "b.ts", "b.k", "b.i"]
    assert found.window is None


def test_return_distinct_and_names() -> None:
    found = pattern("PATTERN P SEQ(A a) WITHIN 1 HOUR RETURN DISTINCT a.k, a.i + 1 AS next;")
    assert found.distinct
    assert [(name, str(expr)) for name, expr in found.fields] == [("a.k", "a.k"), ("next", "a.i + 1")]


@pytest.mark.parametrize(
    ("body", "where", "micros"),
    [
        ("SEQ(A a, A b, A c)", "c.ts <= a.ts + 1 HOUR", 3_600_000_000),
        ("SEQ(A a, A b, A c)", "c.ts - a.ts < 1 SECOND", 999_999),
        ("SEQ(A a, A b, A c)", "b.ts < a.ts + 1 SECOND AND c.ts - b.ts <= 1 SECOND", 1_999_999),
        ("AND(A a, A b)", "ABS(a.ts - b.ts) <= 2 SECONDS AND a.i < b.i", 2_000_000),
        ("AND(A a, A b)", "a.ts = b.ts AND a.i < b.i", 1),
    ],
)
def test_conditions_that_bound_all_distances_are_a_window(body: str, where: str, micros: int) -> None:
    assert pattern(f"PATTERN P {body} WHERE {where};").window == micros


def test_a_long_condition_is_no_problem() -> None:
    where = " AND ".join(f"a.i <> {i}" for i in range(150))
    assert len(conditions(where)) == 150


def test_only_patterns_without_errors_are_returned() -> None:
    patterns, _ = judge(
        Source(
            "t.cep",
            STREAMS
            + "PATTERN P SEQ(A a) WHERE a.x = 1 WITHIN 1 HOUR;\n"
            + "PATTERN Q SEQ(A a) WHERE a.i = 1 WITHIN 1 HOUR;\n"
            + "PATTERN Q SEQ(A a) WHERE a.i = 2 WITHIN 1 HOUR;\n"
            + "PATTERN R SEQ(A a) WHERE a.i = 99999999999999999999 WITHIN 1 HOUR;\n",
        )
    )
    assert [(p.name, str(p.conditions[0].expr)) for p in patterns] == [("Q", "a.i = 1")]


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN P SEQ(A a, A b) WHERE a.k = b.k WITHIN 1 HOUR;",
        "PATTERN P AND(A a, A b) WHERE a.k = b.k AND a.ts < b.ts WITHIN 1 HOUR;",
        "PATTERN P AND(A a, A b) WHERE a.k = b.k AND a.i <> b.i WITHIN 1 HOUR;",
        "PATTERN P AND(A a, A b) WHERE a.k = b.k AND a.d < 5 AND b.d > 9 WITHIN 1 HOUR;",
        "PATTERN P SEQ(A a, B b) WHERE a.d > 1 PARTITION BY k WITHIN 1 HOUR RETURN a.d AS d;",
        "PATTERN P AND(SEQ(A a, B b), A c) WHERE a.k = b.k AND b.k = c.k AND b.ts < c.ts WITHIN 1 HOUR;",
        "PATTERN P SEQ(A a, B b) WHERE a.d < b.i WITHIN 1 HOUR;",
        "PATTERN P SEQ(A a, B b) WHERE a.ts = b.ts - 5 SECONDS WITHIN 1 HOUR;",
    ],
)
def test_no_warning_where_nothing_is_odd(text: str) -> None:
    _, diagnostics = judge(Source("t.cep", STREAMS + text))
    # Each text uses some of the streams only.
    assert [f"{item.code} {item.message}" for item in diagnostics if item.code != "CEP0212"] == []

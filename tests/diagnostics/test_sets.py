"""What the checker makes of aggregates, of PREV, and of conditions on them."""

from __future__ import annotations

import pytest
from passes import judge
from test_gaps import gaps, pattern, texts

from cep.ir.body import Many, Seq
from cep.ir.expr import Col
from cep.ir.model import Aggregate
from cep.ir.types import Type
from cep.source import Source

TAIL = "PARTITION BY k WITHIN 1 HOUR"


def aggregate(written: str) -> Aggregate:
    found = pattern(f"PATTERN P SEQ(A{{2,}} b, B c) {TAIL} RETURN {written} AS it;")
    ((name, expr),) = found.fields
    (gap,) = found.gaps
    (one,) = gap.aggregates
    assert (name, expr) == ("it", Col("b", one.name, one.type))
    return one


@pytest.mark.parametrize(
    ("written", "name", "type_"),
    [
        ("COUNT(b)", "COUNT(*)", Type.INT),
        ("count(b.x)", "COUNT(x)", Type.INT),
        ("COUNT(DISTINCT b.k)", "COUNT(DISTINCT k)", Type.INT),
        ("SUM(b.i)", "SUM(i)", Type.INT),
        ("SUM(b.x)", "SUM(x)", Type.DOUBLE),
        ("SUM(b.x * 2 + b.i)", "SUM(x * 2.0 + i)", Type.DOUBLE),
        ("SUM(CASE WHEN b.k = 'b.x' THEN 1 ELSE 0 END)", "SUM(CASE WHEN k = 'b.x' THEN 1 ELSE 0 END)", Type.INT),
        ("SUM(b.ts - TIMESTAMP '1970-01-01')", "SUM(ts - TIMESTAMP '1970-01-01T00:00:00Z')", Type.DURATION),
        ("AVG(b.i)", "AVG(i)", Type.DOUBLE),
        ("MIN(b.k)", "MIN(k)", Type.STRING),
        ("MAX(b.ts)", "MAX(ts)", Type.TIMESTAMP),
        ("FIRST(b.ts)", "FIRST(ts)", Type.TIMESTAMP),
        ("LAST(b.k)", "LAST(k)", Type.STRING),
    ],
)
def test_an_aggregate_is_a_column_of_its_set(written: str, name: str, type_: Type) -> None:
    one = aggregate(written)
    assert (one.name, one.type) == (name, type_)
    assert one.op == name.partition("(")[0]
    assert one.distinct is ("DISTINCT" in name)
    assert (one.arg is None) is (name == "COUNT(*)")


def test_a_set_has_the_aggregates_that_something_uses_each_once() -> None:
    found = pattern(
        f"PATTERN P SEQ(A+ a, B b, A+ c) WHERE COUNT(a) > b.i AND c.x > MAX(a.x) {TAIL}"
        " RETURN b.k AS k, COUNT(a) + COUNT(a) AS n, SUM(c.x) AS s;"
    )
    assert {gap.name: [one.name for one in gap.aggregates] for gap in found.gaps} == {
        "a": ["COUNT(*)", "MAX(x)"],
        "c": ["SUM(x)"],
    }


def test_conditions_on_aggregates_are_asked_of_the_match() -> None:
    found = pattern(
        "PATTERN P SEQ(A+ a, B b) WHERE COUNT(a) > b.i AND a.x > b.x AND b.i > 0 AND SUM(a.x) < 5 OR MAX(a.i) > 3"
        " WITHIN 1 HOUR;".replace(" OR MAX(a.i) > 3", " AND (b.i > 9 OR MAX(a.i) > 3)")
    )
    assert texts(found.having) == ["a.COUNT(*) > b.i", "a.SUM(x) < 5.0", "b.i > 9 OR a.MAX(i) > 3"]
    assert texts(found.conditions) == ["b.i > 0"]
    assert gaps(found) == {"a": ["a.x > b.x"]}


def test_values_of_a_set_may_say_which_events_are_in_another_gap() -> None:
    found = pattern(
        "PATTERN P SEQ(RUN(A{20,} r), NOT A n) WHERE r.ts - PREV(r.ts) <= 30 SECONDS"
        f" AND n.ts <= LAST(r.ts) + 30 SECONDS AND r.i > 0 {TAIL};"
    )
    run, after = found.gaps
    assert found.body == Seq((Many("r", 20, None, run=True), *found.body.items[1:]))  # type: ignore[union-attr]
    assert (texts(run.conditions), texts(run.pairs)) == (["r.i > 0"], ["r.ts - r.PREV(ts) <= 30 SECONDS"])
    assert texts(after.conditions) == ["n.ts <= r.LAST(ts) + 30 SECONDS"]
    assert [one.name for one in run.aggregates] == ["COUNT(*)", "FIRST(ts)", "LAST(ts)"]
    assert found.having == ()


def test_without_return_a_set_shows_its_size_and_its_ends() -> None:
    found = pattern(f"PATTERN P SEQ(A a, NOT C n, B{{2,}} b) {TAIL};")
    assert [(name, str(expr)) for name, expr in found.fields] == [
        ("a.ts", "a.ts"),
        ("a.k", "a.k"),
        ("a.i", "a.i"),
        ("a.x", "a.x"),
        ("b.count", "b.COUNT(*)"),
        ("b.first_ts", "b.FIRST(ts)"),
        ("b.last_ts", "b.LAST(ts)"),
    ]


def test_stream_of_is_a_text() -> None:
    found = pattern(f"PATTERN P SEQ(A{{2,}} a, B b) WHERE STREAM_OF(b) = b.k {TAIL} RETURN STREAM_OF(a) AS s;")
    assert texts(found.conditions) == ["'B' = b.k", "NOT b.k IS NULL"]
    assert [str(expr) for _, expr in found.fields] == ["'A'"]


def test_words_for_aggregates_are_names_elsewhere() -> None:
    found = pattern(
        "STREAM count (ts TIMESTAMP, sum INT, first INT) TIMESTAMP BY ts;"
        "PATTERN P SEQ(count+ max, count last) WHERE SUM(max.sum) > last.first WITHIN 1 HOUR RETURN COUNT(max) AS n;"
    )
    assert texts(found.having) == ["max.SUM(sum) > last.first"]


@pytest.mark.parametrize("attr", ["COUNT(*)", "SUM(x)", "PREV(x)"])
def test_an_attribute_that_is_called_like_an_aggregate_cannot_be_mistaken_for_it(attr: str) -> None:
    text = f'STREAM S (ts TIMESTAMP, "{attr}" INT, x INT) TIMESTAMP BY ts;'
    _, diagnostics = judge(Source("t.cep", text + f'PATTERN P SEQ(S a, S+ b) WHERE b."{attr}" > 5 WITHIN 1 HOUR;'))
    assert "CEP0210" in [item.code for item in diagnostics]
    _, diagnostics = judge(Source("t.cep", text + f'PATTERN P SEQ(S a, S b) WHERE b."{attr}" > 5 WITHIN 1 HOUR;'))
    assert "CEP0210" not in [item.code for item in diagnostics]


def test_odd_names_make_different_aggregates() -> None:
    text = 'STREAM S (ts TIMESTAMP, "x + y" INT, x INT, y INT) TIMESTAMP BY ts;'
    found = pattern(text + 'PATTERN P SEQ(S+ b, S a) WHERE SUM(b."x + y") > SUM(b.x + b.y) WITHIN 1 HOUR;')
    assert [one.name for one in found.gaps[0].aggregates if one.op == "SUM"] == ['SUM("x + y")', "SUM(x + y)"]

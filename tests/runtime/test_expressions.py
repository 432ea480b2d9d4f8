"""Three evaluators, one meaning: DuckDB, the naive reference, and the engine's columns agree on every expression."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cep.ir.expr import Call, Col, Const, Expr
from cep.ir.model import Stream
from cep.ir.types import Type
from runtime.reference import evaluate
from tests.oracle.expressions import random_value, text, value
from tests.oracle.sql import Database, expression, quoted, table

if TYPE_CHECKING:
    from cep.ir.expr import Value

try:
    from runtime.arrays import columnar
except ImportError:  # the engine's part of the comparison starts when there is an engine
    columnar = None

COLUMNS = (
    ("x", Type.INT),
    ("y", Type.INT),
    ("p", Type.DOUBLE),
    ("q", Type.DOUBLE),
    ("s", Type.STRING),
    ("t", Type.STRING),
    ("f", Type.BOOLEAN),
    ("g", Type.BOOLEAN),
    ("m", Type.TIMESTAMP),
    ("n", Type.TIMESTAMP),
)
STREAM = Stream(name="E", columns=COLUMNS)
COLS = tuple(Col("e", name, type_) for name, type_ in COLUMNS)
ARROW = {
    Type.INT: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.STRING: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.TIMESTAMP: pa.timestamp("us", "UTC"),
}
TYPES = (Type.INT, Type.DOUBLE, Type.STRING, Type.BOOLEAN, Type.TIMESTAMP, Type.DURATION)
DATABASE = Database()

Row = dict[str, "Value"]


def random_rows(rng: Random, count: int) -> list[Row]:
    edges = rng.choice((0.0, 0.1, 0.5))
    return [{name: random_value(rng, type_, nulls=0.2, edges=edges) for name, type_ in COLUMNS} for _ in range(count)]


def by_duckdb(expr: Expr, rows: list[Row]) -> list[Value]:
    numbered = table(STREAM, rows).append_column("_row", pa.array(range(len(rows))))
    query = f"SELECT {expression(expr)} FROM {quoted('E')} AS {quoted('e')} ORDER BY {quoted('e')}._row"
    found = DATABASE.over({"E": numbered}, query)
    return [value for (value,) in found]


def by_reference(expr: Expr, rows: list[Row]) -> list[Value]:
    return [evaluate(expr, {"e": row}) for row in rows]


def by_engine(expr: Expr, rows: list[Row]) -> list[Value]:
    arrays = {name: pa.array([row[name] for row in rows], ARROW[type_]) for name, type_ in COLUMNS}
    result = columnar.evaluate(expr, lambda col: arrays[col.attr], len(rows))
    assert len(result) == len(rows)
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if pa.types.is_dictionary(result.type):
        result = result.dictionary_decode()
    if pa.types.is_timestamp(result.type) or pa.types.is_duration(result.type):
        result = result.cast(pa.int64())
    return result.to_pylist()


def differences(expr: Expr, rows: list[Row]) -> list[str]:
    expected = by_duckdb(expr, rows)
    answers = {"reference": by_reference(expr, rows)}
    if columnar is not None:
        answers["engine"] = by_engine(expr, rows)
    return [
        f"{who}: {text(expr)} = {got!r}, DuckDB says {want!r}\n  tree: {expr!r}\n  row: {row}"
        for who, values in answers.items()
        for got, want, row in zip(values, expected, rows, strict=True)
        if got != want or isinstance(got, bool) != isinstance(want, bool)
    ]


def check(rng: Random, count: int = 12) -> None:
    expr = value(rng, rng.choice(TYPES), COLS, rng.randint(1, 4))
    found = differences(expr, random_rows(rng, count))
    assert not found, "\n".join(found[:3])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.randoms(use_true_random=False))
def test_evaluators_agree_on_random_expressions(rng: Random) -> None:
    check(rng, count=5)


@pytest.mark.parametrize("block", range(8))
def test_evaluators_agree_on_seeded_expressions(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        check(Random(seed))


@pytest.mark.slow
def test_evaluators_agree_on_many_expressions() -> None:
    for seed in range(10_000, 20_000):
        check(Random(seed))


def _call(op: str, type_: Type, *args: Value, of: Type) -> Call:
    return Call(op, tuple(Const(arg, of) for arg in args), type_)


INT, DOUBLE, STRING, BOOLEAN = Type.INT, Type.DOUBLE, Type.STRING, Type.BOOLEAN
MAX, MIN = 2**63 - 1, -(2**63)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (_call("/", DOUBLE, 1.0, 0.0, of=DOUBLE), None),
        (_call("/", DOUBLE, 1.0, -0.0, of=DOUBLE), None),
        (_call("/", DOUBLE, 7, 2, of=INT), 3.5),
        (_call("%", INT, 5, 0, of=INT), None),
        (_call("%", INT, -7, 2, of=INT), -1),
        (_call("%", INT, 7, -2, of=INT), 1),
        (_call("%", INT, MIN, -1, of=INT), 0),
        (_call("%", DOUBLE, -5.5, 2.0, of=DOUBLE), -1.5),
        (_call("%", DOUBLE, float("inf"), 2.0, of=DOUBLE), None),
        (_call("+", INT, MAX, 1, of=INT), None),
        (_call("-", INT, MIN, 1, of=INT), None),
        (_call("*", INT, 2**62, 2, of=INT), None),
        (_call("*", INT, MIN, -1, of=INT), None),
        (_call("neg", INT, MIN, of=INT), None),
        (_call("abs", INT, MIN, of=INT), None),
        (_call("-", DOUBLE, float("inf"), float("inf"), of=DOUBLE), None),
        (_call("*", DOUBLE, float("inf"), 0.0, of=DOUBLE), None),
        (_call("*", DOUBLE, 1e308, 10.0, of=DOUBLE), float("inf")),
        (_call("round", DOUBLE, 0.5, of=DOUBLE), 1.0),
        (_call("round", DOUBLE, -0.5, of=DOUBLE), -1.0),
        (_call("round", DOUBLE, 2.5, of=DOUBLE), 3.0),
        (_call("round", DOUBLE, 0.49999999999999994, of=DOUBLE), 0.0),
        (_call("round", INT, MAX, of=INT), MAX),
        (_call("length", INT, "日本", of=STRING), 2),
        (_call("<", BOOLEAN, "Z", "a", of=STRING), True),
        (_call("<", BOOLEAN, "z", "é", of=STRING), True),
        (_call("<", BOOLEAN, "\uffff", "\U0001f600", of=STRING), True),
        (_call("like", BOOLEAN, "a\\b", "a\\%", of=STRING), True),
        (_call("like", BOOLEAN, "a.b", "a_b", of=STRING), True),
        (_call("like", BOOLEAN, "axb", "a.b", of=STRING), False),
        (_call("like", BOOLEAN, "a\nb", "a%b", of=STRING), True),
        (_call("like", BOOLEAN, "日", "_", of=STRING), True),
        (_call("like", BOOLEAN, "ABC", "abc", of=STRING), False),
        (_call("greatest", INT, None, 1, 2, of=INT), 2),
        (_call("least", INT, None, None, of=INT), None),
        (_call("coalesce", INT, None, 3, of=INT), 3),
        (_call("in", BOOLEAN, 1, 2, None, of=INT), None),
        (_call("in", BOOLEAN, 1, 1, None, of=INT), True),
        (_call("and", BOOLEAN, False, None, of=BOOLEAN), False),
        (_call("and", BOOLEAN, True, None, of=BOOLEAN), None),
        (_call("or", BOOLEAN, True, None, of=BOOLEAN), True),
        (_call("or", BOOLEAN, False, None, of=BOOLEAN), None),
        (_call("not", BOOLEAN, None, of=BOOLEAN), None),
        (_call("=", BOOLEAN, 0.0, -0.0, of=DOUBLE), True),
        (_call("cast", DOUBLE, 2**53 + 1, of=INT), 2.0**53),
    ],
    ids=str,
)
def test_what_sql_engines_disagree_on_is_fixed(expr: Call, expected: Value) -> None:
    rows: list[Row] = [dict.fromkeys((name for name, _ in COLUMNS), None)]
    assert by_reference(expr, rows) == [expected]
    assert by_duckdb(expr, rows) == [expected]
    if columnar is not None:
        assert by_engine(expr, rows) == [expected]


def test_a_nan_that_comes_in_is_null() -> None:
    expr = Call("isnull", (Col("e", "p", DOUBLE),), BOOLEAN)
    rows: list[Row] = [{**dict.fromkeys((name for name, _ in COLUMNS), None), "p": float("nan")}]
    assert differences(expr, rows) == []
    assert by_reference(expr, rows) == [True]

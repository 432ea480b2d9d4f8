"""Spark and our own evaluators give the same value for the same expression, NULLs and edge values included."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from cep.ir.expr import Call, Col, Const, Expr, walk
from cep.ir.types import Type
from runtime.arrays.columnar import ARROW_TYPES, evaluate
from runtime.reference import evaluate as naive
from runtime.spark.sql import bucket, prefilter, to_sql
from tests.oracle.expressions import condition, random_value, value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {
    "i": Type.INT, "j": Type.INT, "d": Type.DOUBLE, "e": Type.DOUBLE, "s": Type.STRING, "t": Type.STRING,
    "b": Type.BOOLEAN, "c": Type.BOOLEAN, "at": Type.TIMESTAMP, "until": Type.TIMESTAMP,
}  # fmt: skip
COLS = [Col("x", name, type_) for name, type_ in COLUMNS.items()]
EDGES: dict[Type, list[Any]] = {
    Type.INT: [None, 0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, 7, -7],
    Type.DOUBLE: [None, 0.0, -0.0, 0.5, -0.5, 2.5, 1e308, -1e308, math.inf, -math.inf, math.nan, 5e-324, 0.5 - 2**-54],
    Type.STRING: [None, "", "a", "A", "ab%", "a_b", "\\", "'", "é", "ß", "𝔘x", "a\nb", "Ångström"],
    Type.BOOLEAN: [None, True, False],
    Type.TIMESTAMP: [None, 0, -1, 1_704_067_200_000_000, 253_402_300_799_999_999, -62_135_596_800_000_000],
}  # fmt: skip


def rows(count: int, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        {
            name: rng.choice(EDGES[type_]) if rng.random() < 0.6 else random_value(rng, type_)
            for name, type_ in COLUMNS.items()
        }
        for _ in range(count)
    ]


def table(events: list[dict[str, Any]]) -> pa.Table:
    def column(name: str, type_: Type) -> pa.Array:
        values = [event[name] for event in events]
        if type_ is Type.TIMESTAMP:
            return pa.array(values, pa.int64()).cast(ARROW_TYPES[type_])
        return pa.array(values, ARROW_TYPES[type_], from_pandas=False)

    return pa.table({name: column(name, type_) for name, type_ in COLUMNS.items()})


def same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return type(left) is type(right) and bool(left == right)


def case_mapped(expr: Expr) -> bool:
    return any(isinstance(node, Call) and node.op in ("lower", "upper") for node in walk(expr))


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_spark_agrees_on_random_expressions(spark: SparkSession, ansi: str) -> None:
    seed = 11 if ansi == "true" else 12
    rng = random.Random(seed)
    kinds = [Type.INT, Type.DOUBLE, Type.STRING, Type.TIMESTAMP]
    exprs = [value(rng, rng.choice(kinds), COLS, 3) for _ in range(30)] + [condition(rng, COLS, 3) for _ in range(50)]
    exprs += every_operation()
    events = rows(40, seed)
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        frame = spark.createDataFrame(table(events))
        got = frame.selectExpr(*(f"{to_sql(expr)} AS c{n}" for n, expr in enumerate(exprs))).toArrow()
        conditions = [(n, expr) for n, expr in enumerate(exprs) if expr.type is Type.BOOLEAN]
        kept = frame.selectExpr(*(f"coalesce({prefilter([expr])}, FALSE) AS c{n}" for n, expr in conditions))
        kept_rows = kept.toArrow().to_pylist()
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(before))
    columns = table(events)
    for number, expr in enumerate(exprs):
        from_spark = got.column(f"c{number}").to_pylist()
        ours = evaluate(expr, lambda col: columns.column(col.attr).combine_chunks(), len(events)).to_pylist()
        for row, event in enumerate(events):
            wanted = naive(expr, {"x": event})
            if expr.type is Type.BOOLEAN and wanted is True:
                assert kept_rows[row][f"c{number}"] is True, f"{expr} on {event}: the filter drops it"
            if case_mapped(expr):
                continue  # Java maps some letters differently: `prefilter` keeps those events
            assert same(from_spark[row], wanted), f"{expr} on {event}: Spark {from_spark[row]!r}, expected {wanted!r}"
            if expr.type not in (Type.TIMESTAMP, Type.DURATION):
                assert same(ours[row], wanted), f"{expr} on {event}: columns {ours[row]!r}, expected {wanted!r}"


def every_operation() -> list[Expr]:
    i, j, d, e, s, _, b, c, at, until = COLS
    hour = Const(3_600_000_000, Type.DURATION)
    exprs: list[Expr] = [Call(op, (i, j), Type.INT) for op in "+-*%"]
    exprs += [Call(op, (d, e), Type.DOUBLE) for op in ("+", "-", "*", "%", "/")]
    exprs += [Call("/", (i, j), Type.DOUBLE), Call("neg", (i,), Type.INT), Call("neg", (d,), Type.DOUBLE)]
    exprs += [Call(op, (arg,), arg.type) for op in ("abs", "round") for arg in (i, d)]
    exprs += [Call(op, (d, e, Const(1.5, Type.DOUBLE)), Type.DOUBLE) for op in ("greatest", "least", "coalesce")]
    exprs += [Call("-", (at, until), Type.DURATION), Call("+", (at, hour), Type.TIMESTAMP)]
    exprs += [Call("=", (Call("cast", (i,), Type.DOUBLE), d), Type.BOOLEAN), Call("length", (s,), Type.INT)]
    exprs += [Call("and", (b, c), Type.BOOLEAN), Call("or", (b, c), Type.BOOLEAN), Call("not", (b,), Type.BOOLEAN)]
    for pattern in ("a%", "%_", "\\", "a\\_b", "%'%", "_", "%\n%"):
        exprs.append(Call("like", (s, Const(pattern, Type.STRING)), Type.BOOLEAN))
    exprs.append(Call("in", (i, Const(7, Type.INT), Const(None, Type.INT), Const(-(2**63), Type.INT)), Type.BOOLEAN))
    return exprs


def test_equal_keys_share_a_bucket_across_types_and_streams(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        pa.table({"i": pa.array([0, 5, -3], pa.int64()), "d": pa.array([-0.0, 5.0, -3.0]), "s": ["x", "y", "z"]})
    )
    pairs = frame.selectExpr(
        bucket([("i", Type.INT), ("s", Type.STRING)], [Type.DOUBLE, Type.STRING], 7) + " AS left",
        bucket([("d", Type.DOUBLE), ("s", Type.STRING)], [Type.DOUBLE, Type.STRING], 7) + " AS right",
    ).collect()
    assert all(pair.left == pair.right for pair in pairs)
    assert all(0 <= pair.left < 7 for pair in pairs)

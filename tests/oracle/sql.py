"""The SQL query that a pattern corresponds to, for DuckDB.

This is the meaning of the language (design, section 1), written once by people who did not write the engine. Every
variable is an aliased table, time order and window are conditions on the tables' time columns.

TIMESTAMP columns and DURATION values are BIGINT microseconds in the tables: integer arithmetic is exact and has no
interval semantics. What cep.expr fixes and DuckDB does differently is spelled out per operation: INT arithmetic runs in
128 bits and comes back through TRY_CAST (overflow is NULL), divisors pass NULLIF(.., 0), and each DOUBLE operation
passes NULLIF(.., 'nan') because DuckDB holds NaN equal to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from cep.expr import Call, Col, Const, Expr, Value
from cep.types import Type

if TYPE_CHECKING:
    from cep.model import Pattern, Stream

SQL_TYPES = {
    Type.INT: "BIGINT",
    Type.DOUBLE: "DOUBLE",
    Type.STRING: "VARCHAR",
    Type.BOOLEAN: "BOOLEAN",
    Type.TIMESTAMP: "BIGINT",
    Type.DURATION: "BIGINT",
    Type.NULL: "BIGINT",
}
_ARROW_TYPES = {
    Type.INT: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.STRING: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.TIMESTAMP: pa.int64(),
}

Row = Mapping[str, Value]
"""One event: attribute to value, TIMESTAMP in microseconds; a missing attribute is NULL."""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value, type_: Type) -> str:
    sql_type = SQL_TYPES[type_]
    if value is None:
        return f"CAST(NULL AS {sql_type})"
    if type_ is Type.STRING:
        return "'" + str(value).replace("'", "''") + "'"
    if type_ is Type.BOOLEAN:
        return "TRUE" if value else "FALSE"
    number = float(value) if type_ is Type.DOUBLE else int(value)
    return f"CAST('{number!r}' AS {sql_type})"


def _in_128_bits(op: str) -> Callable[[Sequence[str]], str]:
    return lambda args: f"TRY_CAST(({f' {op} '.join(f'CAST({arg} AS HUGEINT)' for arg in args)}) AS BIGINT)"


def _not_nan(sql: str) -> str:
    return f"NULLIF({sql}, CAST('nan' AS DOUBLE))"


def _call(expr: Call) -> str:
    args = [expression(arg) for arg in expr.args]
    op = expr.op
    is_double = expr.type is Type.DOUBLE
    if op in ("+", "-", "*"):
        in_doubles = _not_nan(f"(CAST({args[0]} AS DOUBLE) {op} CAST({args[1]} AS DOUBLE))")
        if is_double:
            return in_doubles
        if Type.DOUBLE in (arg.type for arg in expr.args):  # DURATION * DOUBLE: the nearest microsecond
            return f"TRY_CAST(round({in_doubles}) AS BIGINT)"
        return _in_128_bits(op)(args)
    if op == "/":
        return _not_nan(f"(CAST({args[0]} AS DOUBLE) / NULLIF(CAST({args[1]} AS DOUBLE), 0))")
    if op == "%":
        if is_double:
            return _not_nan(f"(CAST({args[0]} AS DOUBLE) % NULLIF(CAST({args[1]} AS DOUBLE), 0))")
        return _in_128_bits("%")([args[0], f"NULLIF({args[1]}, 0)"])
    if op == "neg":
        return f"(- {args[0]})" if is_double else f"TRY_CAST((- CAST({args[0]} AS HUGEINT)) AS BIGINT)"
    if op == "abs":
        return f"abs({args[0]})" if is_double else f"TRY_CAST(abs(CAST({args[0]} AS HUGEINT)) AS BIGINT)"
    if op == "case":
        arms = "".join(f" WHEN {c} THEN {v}" for c, v in zip(args[:-1:2], args[1::2], strict=True))
        return f"(CASE{arms} ELSE {args[-1]} END)"
    return _PLAIN[op](args)


_PLAIN: dict[str, Callable[[Sequence[str]], str]] = {
    **{op: (lambda args, op=op: f"({args[0]} {op} {args[1]})") for op in ("=", "<>", "<", "<=", ">", ">=")},
    "and": lambda args: f"({' AND '.join(args)})",
    "or": lambda args: f"({' OR '.join(args)})",
    "not": lambda args: f"(NOT {args[0]})",
    "isnull": lambda args: f"({args[0]} IS NULL)",
    "in": lambda args: f"({args[0]} IN ({', '.join(args[1:])}))",
    "like": lambda args: f"({args[0]} LIKE {args[1]})",
    "cast": lambda args: f"CAST({args[0]} AS DOUBLE)",
    "round": lambda args: f"round({', '.join(args)})",
    "lower": lambda args: f"lower({args[0]})",
    "upper": lambda args: f"upper({args[0]})",
    "length": lambda args: f"length({args[0]})",
    "coalesce": lambda args: f"coalesce({', '.join(args)})",
    "greatest": lambda args: f"greatest({', '.join(args)})",
    "least": lambda args: f"least({', '.join(args)})",
}


def expression(expr: Expr) -> str:
    """A typed expression as DuckDB evaluates it."""
    if isinstance(expr, Col):
        return f"{quoted(expr.var)}.{quoted(expr.attr)}"
    if isinstance(expr, Const):
        return literal(expr.value, expr.type)
    return _call(expr)


def _time_columns(pattern: Pattern) -> dict[str, str]:
    return {v.name: f"{quoted(v.name)}.{quoted(v.stream.time)}" for v in pattern.variables if v.stream.time is not None}


def conditions(pattern: Pattern) -> list[str]:
    """All conditions on the cross product of the variables' tables."""
    time = _time_columns(pattern)
    found = [expression(condition.expr) for condition in pattern.conditions]
    found += [f"({time[earlier]} < {time[later]})" for earlier, later in pattern.order]
    if pattern.window is not None:
        times = [time[v.name] for v in pattern.variables]
        found += [f"({t} IS NOT NULL)" for t in times]
        found.append(f"(greatest({', '.join(times)}) - least({', '.join(times)}) <= {pattern.window})")
    return found


def to_sql(pattern: Pattern, *, with_times: bool = False) -> str:
    """The query. `with_times` puts start and end (bag patterns) before the fields."""
    selected = [f"{expression(expr)} AS {quoted(name)}" for name, expr in pattern.fields]
    if with_times:
        times = list(_time_columns(pattern).values())
        ends = [f"{f}({', '.join(times)})" if times else "NULL" for f in ("least", "greatest")]
        selected = [f"{ends[0]} AS _start", f"{ends[1]} AS _end", *selected]
    tables = ", ".join(f"{quoted(v.stream.name)} AS {quoted(v.name)}" for v in pattern.variables)
    where = conditions(pattern)
    return f"SELECT {'DISTINCT ' if pattern.distinct else ''}{', '.join(selected)}\nFROM {tables}" + (
        "\nWHERE " + "\n  AND ".join(where) if where else ""
    )


def table(stream: Stream, rows: Sequence[Row]) -> pa.Table:
    """The events of a stream as a table; NaN is NULL, as the language reads it."""

    def column(name: str, type_: Type) -> pa.Array:
        values: list[Any] = [row.get(name) for row in rows]
        # NaN is the one value that differs from itself.
        return pa.array([None if v != v else v for v in values], _ARROW_TYPES[type_])

    return pa.table({name: column(name, type_) for name, type_ in stream.columns})


class Database:
    """One in-memory DuckDB for many questions; each question replaces the tables."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        # DuckDB 2.0's rewriter fails on some LIKEs ("did not return a BoundFunctionExpression"); an oracle that
        # evaluates what is written is the better one anyhow.
        self._connection.execute("SET disabled_optimizers = 'expression_rewriter'")

    def load(self, streams: Sequence[Stream], events: Mapping[str, Sequence[Row]]) -> None:
        for stream in streams:
            arrow = table(stream, events.get(stream.name, ()))
            self._connection.register("_incoming", arrow)
            self._connection.execute(f"CREATE OR REPLACE TABLE {quoted(stream.name)} AS SELECT * FROM _incoming")
            self._connection.unregister("_incoming")

    def rows(self, query: str) -> list[tuple[Value, ...]]:
        return self._connection.execute(query).fetchall()

    def matches(
        self, pattern: Pattern, events: Mapping[str, Sequence[Row]], *, with_times: bool = False
    ) -> list[tuple[Value, ...]]:
        """Field tuples of the pattern over the events (with start and end in front, if asked for)."""
        self.load(list({v.stream.name: v.stream for v in pattern.variables}.values()), events)
        return self.rows(to_sql(pattern, with_times=with_times))

    def count(self, pattern: Pattern, events: Mapping[str, Sequence[Row]]) -> int:
        self.load(list({v.stream.name: v.stream for v in pattern.variables}.values()), events)
        (row,) = self.rows(f"SELECT count(*) FROM ({to_sql(pattern)}) AS q")
        return int(row[0] or 0)

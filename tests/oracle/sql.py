"""The SQL query that a pattern corresponds to, for DuckDB.

This is the meaning of the language (design, section 1), written once by people who did not write the engine. Every
variable is an aliased table, time order and window are conditions on the tables' time columns.

TIMESTAMP columns and DURATION values are BIGINT microseconds in the tables: integer arithmetic is exact and has no
interval semantics. What cep.ir.expr fixes and DuckDB does differently is spelled out per operation: INT arithmetic runs
in 128 bits and comes back through TRY_CAST (overflow is NULL), divisors pass NULLIF(.., 0), and each DOUBLE operation
passes NULLIF(.., 'nan') because DuckDB holds NaN equal to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from cep.ir.body import Absent, All, Body, Many, One, Seq, steps
from cep.ir.expr import Call, Col, Const, Expr, Value, rewrite, variables
from cep.ir.model import Condition, Variable
from cep.ir.types import Type
from tests.oracle.events import Row
from tests.oracle.truth import Truth

if TYPE_CHECKING:
    from cep.ir.model import Aggregate, GapVariable, Pattern, Stream

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


def _ordered(body: Body) -> list[tuple[str, str]]:
    """Every pair of variables that a SEQ orders, neighbours or not: the long way round, not the compiler's.

    Those of gaps are among them: an event is in a gap only if it is in order with every single event, and an absent
    one only if it is also in order with every event of a set.
    """
    if isinstance(body, (One, Absent, Many)):
        return []
    assert isinstance(body, (Seq, All))
    pairs = [pair for item in body.items for pair in _ordered(item)]
    if isinstance(body, Seq):
        names = [[step.var for step in steps(item)] for item in body.items]
        for number, earlier in enumerate(names):
            pairs += [(a, b) for later in names[number + 1 :] for a in earlier for b in later]
    return pairs


def _in_order(pattern: Pattern, names: Collection[str]) -> list[str]:
    """What the SEQs ask between these variables."""
    streams = {v.name: v.stream for v in (*pattern.variables, *pattern.gaps)}
    found = []
    for earlier, later in _ordered(pattern.body):
        if earlier not in names or later not in names:
            continue
        before, after = (f"{quoted(name)}.{quoted(streams[name].time or '')}" for name in (earlier, later))
        attr = streams[earlier].order if streams[earlier].name == streams[later].name else None
        if attr is None:
            found.append(f"({before} < {after})")
            continue
        tie = f"{quoted(earlier)}.{quoted(attr)} < {quoted(later)}.{quoted(attr)}"
        found.append(f"({before} < {after} OR ({before} = {after} AND {tie}))")
    return found


def _window(pattern: Pattern, times: Sequence[str]) -> list[str]:
    if pattern.window is None:
        return []
    span = f"(greatest({', '.join(times)}) - least({', '.join(times)}) <= {pattern.window})"
    return [*(f"({t} IS NOT NULL)" for t in times), span]


def conditions(pattern: Pattern) -> list[str]:
    """All conditions on the cross product of the tables of the single events (language.md 1.2 for those of gaps)."""
    names = {v.name for v in pattern.variables}
    sets = _sets(pattern)
    found = [expression(condition.expr) for condition in (*pattern.conditions, *pattern.having)]
    found += _in_order(pattern, names)
    found += _window(pattern, list(_time_columns(pattern).values()))
    for name, step in sets.items():
        count = f"{quoted(name)}._count"
        found.append(
            f"({count} >= {step.least})" if step.most is None else f"({count} BETWEEN {step.least} AND {step.most})"
        )
    for gap in pattern.gaps:
        if gap.name not in sets:
            inside = [*_inside(pattern, gap), *_beside(pattern, gap, sets)]
            table = f"{quoted(gap.stream.name)} AS {quoted(gap.name)}"
            found.append(f"NOT EXISTS (SELECT 1 FROM {table} WHERE {' AND '.join(inside)})")
    return found


def _inside(pattern: Pattern, gap: GapVariable) -> list[str]:
    """What an event needs to lie in a gap."""
    names = {v.name for v in pattern.variables}
    own = f"{quoted(gap.name)}.{quoted(gap.stream.time or '')}"
    between_singles = _in_order(pattern, names)
    order = [c for c in _in_order(pattern, {*names, gap.name}) if c not in between_singles]
    times = [*_time_columns(pattern).values(), own]
    return [
        f"({own} IS NOT NULL)",
        *order,
        *_window(pattern, times),
        *(expression(condition.expr) for condition in gap.conditions),
    ]


# --- sets ------------------------------------------------------------------------------------------------------------


def _sets(pattern: Pattern) -> dict[str, Many]:
    """The sets, those that another's conditions speak of before it."""
    found = {step.var: step for step in steps(pattern.body) if isinstance(step, Many)}
    gaps = {gap.name: gap for gap in pattern.gaps}
    needs = {
        name: {v for c in gaps[name].conditions for v in variables(c.expr)} & set(found) - {name} for name in found
    }
    ordered: dict[str, Many] = {}
    while len(ordered) < len(found):
        ordered |= {name: step for name, step in found.items() if name not in ordered and needs[name] <= set(ordered)}
    return ordered


def _laterals(pattern: Pattern) -> list[str]:
    """For each set a subquery, under the set's own name, with a column for each of its aggregates."""
    gaps = {gap.name: gap for gap in pattern.gaps}
    found = []
    for name, step in _sets(pattern).items():
        gap = gaps[name]
        time = f"{quoted(name)}.{quoted(gap.stream.time or '')}"
        ties = f"list({quoted(name)}.{quoted(gap.stream.order)} ORDER BY {_moment(gap)})" if gap.stream.order else "[0]"
        values = ["count(*) AS _count", f"min({time}) AS _first", f"max({time}) AS _last"]
        values += [f"{ties}[1] AS _first_place", f"{ties}[-1] AS _last_place"]
        values += [f"{_aggregate(gap, each)} AS {quoted(each.name)}" for each in gap.aggregates]
        source = f"{quoted(gap.stream.name)} AS {quoted(name)} WHERE {' AND '.join(_inside(pattern, gap))}"
        if step.run:
            source = _unbroken(pattern, gap)
        found.append(f"LATERAL (SELECT {', '.join(values)} FROM {source}) AS {quoted(name)}")
    return found


def _unbroken(pattern: Pattern, gap: GapVariable) -> str:
    """The events of a run: of its gap and key, the part between two breaks that the last (or first) of them is in."""
    name, order = quoted(gap.name), _moment(gap)
    members = [c for c in gap.conditions if _says_which(c.expr, gap.name)]
    good = [expression(c.expr) for c in gap.conditions if c not in members]
    ok = f"coalesce({' AND '.join(good) or 'TRUE'}, FALSE)"
    inside = " AND ".join(_inside(pattern, replace(gap, conditions=tuple(members))))
    before = [f"lag({name}.{quoted(c)}) OVER o AS {quoted(f'PREV({c})')}" for c, _ in gap.stream.columns]
    events = (
        f"SELECT {name}.*, {ok} AS _ok, lag({ok}) OVER o AS _ok_before, {', '.join(before)} "
        f"FROM {quoted(gap.stream.name)} AS {name} WHERE {inside} WINDOW o AS (ORDER BY {order})"
    )
    linked = " AND ".join(["_ok", "_ok_before", *(expression(c.expr) for c in gap.pairs)])
    rows = f"(ORDER BY {order} ROWS UNBOUNDED PRECEDING)"
    parts = f"SELECT *, sum(CASE WHEN {linked} THEN 0 ELSE 1 END) OVER {rows} AS _part FROM ({events}) AS {name}"
    singles = {variable.name for variable in pattern.variables}
    follows = any(earlier == gap.name and later in singles for earlier, later in _ordered(pattern.body))
    outer = "last_value" if follows or _ANCHOR in singles else "first_value"
    whole = f"(ORDER BY {order} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    chosen = f"SELECT *, {outer}(_part) OVER {whole} AS _chosen FROM ({parts}) AS {name}"
    return f"({chosen}) AS {name} WHERE _ok AND _part = _chosen"


def _says_which(condition: Expr, run: str) -> bool:
    """Whether a condition says which events are of a run's gap: its key, and for one alone, that they are not later."""
    others = variables(condition) - {run}
    return others == {_ANCHOR} or (isinstance(condition, Call) and condition.op == "=" and bool(others))


def _moment(gap: GapVariable) -> str:
    """The order of a set's events: time, ORDER BY, declared columns; NULL last."""
    names = [gap.stream.time or "", *filter(None, [gap.stream.order]), *(name for name, _ in gap.stream.columns)]
    return ", ".join(f"{quoted(gap.name)}.{quoted(name)} ASC NULLS LAST" for name in dict.fromkeys(names))


def _aggregate(gap: GapVariable, aggregate: Aggregate) -> str:
    if aggregate.arg is None:
        return "count(*)"
    arg = expression(aggregate.arg)
    if aggregate.op in ("FIRST", "LAST"):
        return f"list({arg} ORDER BY {_moment(gap)})[{'1' if aggregate.op == 'FIRST' else '-1'}]"
    if aggregate.op == "SUM" and aggregate.type is not Type.DOUBLE:
        return f"TRY_CAST(sum(CAST({arg} AS HUGEINT)) AS BIGINT)"
    name = "fsum" if aggregate.op == "SUM" else aggregate.op.lower()
    return f"{name}({'DISTINCT ' if aggregate.distinct else ''}{arg})"


def _beside(pattern: Pattern, gap: GapVariable, sets: Collection[str]) -> list[str]:
    """That an absent event is later than the last event of every set before it, and earlier than the first after it."""
    streams = {each.name: each.stream for each in pattern.gaps}
    found = []
    for earlier, later in _ordered(pattern.body):
        other, op, end = (earlier, ">", "_last") if later == gap.name else (later, "<", "_first")
        if gap.name not in (earlier, later) or other not in sets:
            continue
        own, edge = f"{quoted(gap.name)}.{quoted(gap.stream.time or '')}", f"{quoted(other)}.{end}"
        beyond = f"{edge} IS NULL OR {own} {op} {edge}"
        if gap.stream.order is not None and streams[other].name == gap.stream.name:
            place = f"{quoted(gap.name)}.{quoted(gap.stream.order)} {op} {edge}_place"
            beyond += f" OR ({own} = {edge} AND {place})"
        found.append(f"({beyond})")
    return found


_ANCHOR = "the last one"


def _from(pattern: Pattern) -> tuple[Pattern, str]:
    """The pattern and its tables. A lone set has its last event of each moment and key beside it, as in section 3."""
    laterals = _laterals(pattern)
    if pattern.variables:
        tables = [f"{quoted(v.stream.name)} AS {quoted(v.name)}" for v in pattern.variables]
        return pattern, ", ".join([*tables, *laterals])
    (lone,) = _sets(pattern)
    gap = next(gap for gap in pattern.gaps if gap.name == lone)
    stream = gap.stream
    anchor = replace(gap, name=_ANCHOR, conditions=(), aggregates=())
    own = [rewrite(c.expr, lambda e: replace(e, var=_ANCHOR) if isinstance(e, Col) else e) for c in gap.conditions]
    keys = [f"{quoted(_ANCHOR)}.{quoted(key)}" for key in pattern.partition_by]
    moment = f"{quoted(_ANCHOR)}.{quoted(stream.time or '')}"
    present = [f"({key} IS NOT NULL)" for key in (*keys, moment)]
    last = _moment(anchor).replace("ASC NULLS LAST", "DESC NULLS FIRST")
    source = (
        f"(SELECT * FROM {quoted(stream.name)} AS {quoted(_ANCHOR)} WHERE "
        f"{' AND '.join([*present, *map(expression, own)])} QUALIFY row_number() OVER "
        f"(PARTITION BY {', '.join([*keys, moment])} ORDER BY {last}) = 1) AS {quoted(_ANCHOR)}"
    )
    anchored = replace(
        pattern,
        variables=(Variable(name=_ANCHOR, stream=stream, span=gap.span),),
        body=_with_anchor(pattern.body, lone),
        gaps=tuple(_with_key(each, pattern, stream, is_set=each.name == lone) for each in pattern.gaps),
    )
    return anchored, ", ".join([source, *_laterals(anchored)])


def _with_anchor(body: Body, lone: str) -> Body:
    if isinstance(body, Many) and body.var == lone:
        return All((One(_ANCHOR), body))
    return (
        replace(body, items=tuple(_with_anchor(i, lone) for i in body.items)) if isinstance(body, (Seq, All)) else body
    )


def _with_key(gap: GapVariable, pattern: Pattern, stream: Stream, *, is_set: bool) -> GapVariable:
    """A gap whose events have the anchor's key; those of the set itself are not later."""

    def compared(op: str, own: str, other: str, type_: Type) -> Condition:
        expr = Call(op, (Col(gap.name, own, type_), Col(_ANCHOR, other, type_)), Type.BOOLEAN)
        return Condition(expr=expr, span=gap.span)

    added = [compared("=", key, key, stream.type_of(key) or Type.NULL) for key in pattern.partition_by]
    if is_set:
        added.append(compared("<=", stream.time or "", stream.time or "", Type.TIMESTAMP))
    return replace(gap, conditions=(*gap.conditions, *added))


def _streams(pattern: Pattern) -> list[Stream]:
    return list({v.stream.name: v.stream for v in (*pattern.variables, *pattern.gaps)}.values())


def to_sql(pattern: Pattern, *, with_times: bool = False) -> str:
    """The query. `with_times` puts start and end (bag patterns) before the fields. OR is UNION ALL (language.md 4)."""
    if pattern.branches:
        of_each = [to_sql(replace(branch, distinct=False), with_times=with_times) for branch in pattern.branches]
        return ("\nUNION\n" if pattern.distinct else "\nUNION ALL\n").join(of_each)
    pattern, tables = _from(pattern)
    selected = [f"{expression(expr)} AS {quoted(name)}" for name, expr in pattern.fields]
    if with_times:
        times = list(_time_columns(pattern).values())
        sets = list(map(quoted, _sets(pattern)))
        ends = [
            f"{f}({', '.join([*times, *(f'{name}.{end}' for name in sets)])})" if times else "NULL"
            for f, end in (("least", "_first"), ("greatest", "_last"))
        ]
        selected = [f"{ends[0]} AS _start", f"{ends[1]} AS _end", *selected]
    where = conditions(pattern)
    return f"SELECT {'DISTINCT ' if pattern.distinct else ''}{', '.join(selected)}\nFROM {tables}" + (
        "\nWHERE " + "\n  AND ".join(where) if where else ""
    )


def combinations_sql(pattern: Pattern) -> str:
    """The query over many sets of events at once: the set, the row of each variable, start and end, the fields."""
    names = [quoted(v.name) for v in pattern.variables]
    times = list(_time_columns(pattern).values())
    ends = [f"{f}({', '.join(times)})" if times else "NULL" for f in ("least", "greatest")]
    values = [expression(expr) for _, expr in pattern.fields]
    selected = [f"{names[0]}._set", *(f"{name}._row" for name in names), *ends, *values]
    tables = ", ".join(f"{quoted(v.stream.name)} AS {quoted(v.name)}" for v in pattern.variables)
    same = [f"({names[0]}._set = {name}._set)" for name in names[1:]]
    where = [*same, *conditions(pattern)]
    return f"SELECT {', '.join(selected)}\nFROM {tables}" + (f"\nWHERE {' AND '.join(where)}" if where else "")


def table(stream: Stream, rows: Sequence[Row]) -> pa.Table:
    """The events of a stream as a table; NaN is NULL, as the language reads it."""

    def column(name: str, type_: Type) -> pa.Array:
        values: list[Any] = [row.get(name) for row in rows]
        # NaN is the one value that differs from itself.
        return pa.array([None if v != v else v for v in values], _ARROW_TYPES[type_])

    return pa.table({name: column(name, type_) for name, type_ in stream.columns})


class Database:
    """One in-memory DuckDB for many questions; each question has tables of its own."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        # DuckDB 2.0's rewriter fails on some LIKEs ("did not return a BoundFunctionExpression"); an oracle that
        # evaluates what is written is the better one anyhow.
        self._connection.execute("SET disabled_optimizers = 'expression_rewriter'")

    def truths(self, pattern: Pattern, sets: Sequence[Mapping[str, Sequence[Row]]]) -> list[Truth]:
        """All combinations of each of many sets of events, by one query."""
        tables: dict[str, pa.Table] = {}
        rows: dict[str, list[Row]] = {}
        for stream in {v.stream.name: v.stream for v in pattern.variables}.values():
            numbers = [i for i, events in enumerate(sets) for _ in events.get(stream.name, ())]
            rows[stream.name] = [row for events in sets for row in events.get(stream.name, ())]
            arrow = table(stream, rows[stream.name]).append_column("_set", pa.array(numbers, pa.int32()))
            tables[stream.name] = arrow.append_column("_row", pa.array(range(len(numbers)), pa.int32()))
        truths = [Truth(pattern.distinct) for _ in sets]
        identities = [[id(row) for row in rows[v.stream.name]] for v in pattern.variables]
        count = len(identities)
        for number, *found in self.over(tables, combinations_sql(pattern)):
            bound = tuple([known[int(row)] for known, row in zip(identities, found[:count], strict=True)])  # type: ignore[arg-type]
            truths[int(number)].combinations.append((bound, tuple(found[count:])))  # type: ignore[arg-type]
        return truths

    def over(self, tables: Mapping[str, pa.Table], query: str) -> list[tuple[Value, ...]]:
        """The rows of a query over tables that are there for it alone: half the price of storing them."""
        for name, arrow in tables.items():
            self._connection.register(name, arrow)
        try:
            return self.rows(query)
        finally:
            for name in tables:
                self._connection.unregister(name)

    def rows(self, query: str) -> list[tuple[Value, ...]]:
        return self._connection.execute(query).fetchall()

    def matches(
        self, pattern: Pattern, events: Mapping[str, Sequence[Row]], *, with_times: bool = False
    ) -> list[tuple[Value, ...]]:
        """Field tuples of the pattern over the events (with start and end in front, if asked for)."""
        return self.over(tables_of(pattern, events), to_sql(pattern, with_times=with_times))

    def count(self, pattern: Pattern, events: Mapping[str, Sequence[Row]]) -> int:
        (row,) = self.over(tables_of(pattern, events), f"SELECT count(*) FROM ({to_sql(pattern)}) AS q")
        return int(row[0] or 0)


def tables_of(pattern: Pattern, events: Mapping[str, Sequence[Row]]) -> dict[str, pa.Table]:
    """The events as tables, by stream."""
    return {stream.name: table(stream, events.get(stream.name, ())) for stream in _streams(pattern)}

"""Typed expressions as Spark SQL text, so that filters and partition keys are worked out in the JVM.

The meaning is the one `cep.ir.expr` fixes, whatever `spark.sql.ansi.enabled` says: only functions that give NULL in
both modes are used (`try_add`, `try_divide`, `try_mod`, ...). TIMESTAMP and DURATION are BIGINT microseconds inside an
expression; `column` wraps an attribute so, and reads NaN as NULL.

The engine evaluates every filter again. What is pushed down here must therefore keep every event that the engine would
keep; where the two can disagree (case mapping beyond ASCII), `prefilter` keeps the event.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cep.ir.expr import COMPARISONS, Call, Col, Const, Expr, walk
from cep.ir.types import Type

SPARK_TYPES = {
    Type.INT: "BIGINT",
    Type.DOUBLE: "DOUBLE",
    Type.STRING: "STRING",
    Type.BOOLEAN: "BOOLEAN",
    Type.TIMESTAMP: "TIMESTAMP",
}
"""The Spark type of each column type."""

_INSIDE = SPARK_TYPES | {Type.TIMESTAMP: "BIGINT", Type.DURATION: "BIGINT", Type.NULL: "VOID"}
_INTEGRAL = frozenset({Type.INT, Type.TIMESTAMP, Type.DURATION})
_TRY = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}


def quote(name: str) -> str:
    """A name as Spark SQL takes it, whatever is in it.

    >>> quote("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """A string literal that means the same whatever `spark.sql.parser.escapedStringLiterals` says.

    >>> text("a-b_c"), text("it's")
    ("'a-b_c'", "CAST(X'69742773' AS STRING)")
    """
    if all(c.isascii() and (c.isalnum() or c in " .,:;-_+/@#()[]%") for c in value):
        return f"'{value}'"
    return f"CAST(X'{value.encode().hex().upper()}' AS STRING)"


def column(name: str, type_: Type) -> str:
    """An attribute as it takes part in expressions.

    >>> column("ts", Type.TIMESTAMP), column("acc", Type.STRING)
    ('unix_micros(`ts`)', '`acc`')
    """
    if type_ is Type.TIMESTAMP:
        return f"unix_micros({quote(name)})"
    if type_ is Type.DOUBLE:
        return _not_nan(quote(name))
    return quote(name)


def constant(value: object, type_: Type) -> str:
    """A literal of `type_` (NULL keeps the type).

    >>> constant(3, Type.INT), constant(None, Type.STRING), constant(-(2**63), Type.INT)
    ('3L', 'CAST(NULL AS STRING)', 'CAST(-9223372036854775808 AS BIGINT)')
    """
    if value is None:
        return f"CAST(NULL AS {_INSIDE[type_]})" if type_ is not Type.NULL else "NULL"
    if type_ is Type.BOOLEAN:
        return "TRUE" if value else "FALSE"
    if type_ is Type.STRING:
        return text(str(value))
    if type_ is Type.DOUBLE:
        return f"CAST('{float(str(value))!r}' AS DOUBLE)"
    number = int(str(value))
    # The parser reads the digits before the sign: the smallest 64-bit number has no literal.
    return f"{number}L" if number > -(2**63) else f"CAST({number} AS BIGINT)"


def to_sql(expr: Expr) -> str:
    """The expression over the columns of its variable's stream (variables' names are dropped: use one at a time).

    Innermost first and without recursion: a sum can be a long chain.
    """
    done: _Done = {}
    for node in reversed(list(walk(expr))):
        if isinstance(node, Col):
            done[id(node)] = column(node.attr, node.type)
        elif isinstance(node, Const):
            done[id(node)] = constant(node.value, node.type)
        else:
            done[id(node)] = _call(node, done)
    return done[id(expr)]


_Done = dict[int, str]
"""What the nodes of an expression came to, by identity."""


def _not_nan(sql: str) -> str:
    return f"nullif({sql}, CAST('NaN' AS DOUBLE))"  # in Spark NaN equals NaN


def _as(expr: Expr, type_: Type, done: _Done) -> str:
    """An argument in the type that the operation works in."""
    sql = done[id(expr)]
    if type_ is Type.DOUBLE and expr.type is not Type.DOUBLE:
        return f"CAST({sql} AS DOUBLE)"
    if expr.type is Type.NULL and type_ is not Type.NULL:
        return f"CAST({sql} AS {_INSIDE[type_]})"
    return sql


def _common(args: Iterable[Expr]) -> Type:
    kinds = {arg.type for arg in args} - {Type.NULL}
    if not kinds:
        return Type.NULL
    return next(iter(kinds)) if len(kinds) == 1 else Type.DOUBLE


def _arithmetic(expr: Call, done: _Done) -> str:
    op, args = expr.op, expr.args
    if op == "/":
        return _not_nan(f"try_divide({_as(args[0], Type.DOUBLE, done)}, {_as(args[1], Type.DOUBLE, done)})")
    if expr.type is Type.DOUBLE:
        left, right = (_as(arg, Type.DOUBLE, done) for arg in args)
        return _not_nan(f"try_mod({left}, {right})" if op == "%" else f"({left} {op} {right})")
    if Type.DOUBLE in (args[0].type, args[1].type):
        # DURATION * fraction: the nearest microsecond, halves away from zero, NULL outside 64 bits.
        left, right = (_as(arg, Type.DOUBLE, done) for arg in args)
        return f"try_cast(round({left} {op} {right}) AS BIGINT)"
    left, right = (_as(arg, Type.INT, done) for arg in args)
    return f"{'try_mod' if op == '%' else _TRY[op]}({left}, {right})"


def _call(expr: Call, done: _Done) -> str:
    op, args = expr.op, expr.args
    if op in ("+", "-", "*", "/", "%"):
        return _arithmetic(expr, done)
    if op in COMPARISONS:
        shared = _common(args)
        return f"({_as(args[0], shared, done)} {op} {_as(args[1], shared, done)})"
    if op in ("and", "or"):
        return "(" + f" {op.upper()} ".join(_as(arg, Type.BOOLEAN, done) for arg in args) + ")"
    if op == "not":
        return f"(NOT {_as(args[0], Type.BOOLEAN, done)})"
    if op == "isnull":
        return f"({done[id(args[0])]} IS NULL)"
    if op == "in":
        shared = _common(args)
        return f"({_as(args[0], shared, done)} IN ({', '.join(_as(arg, shared, done) for arg in args[1:])}))"
    if op == "like":
        return _like(expr, done)
    if op == "case":
        arms = "".join(
            f" WHEN {_as(c, Type.BOOLEAN, done)} THEN {_as(v, expr.type, done)}"
            for c, v in zip(args[:-1:2], args[1::2], strict=True)
        )
        return f"(CASE{arms} ELSE {_as(args[-1], expr.type, done)} END)"
    if op == "cast":
        return f"CAST({done[id(args[0])]} AS DOUBLE)"
    return _function(expr, done)


def _function(expr: Call, done: _Done) -> str:
    op, args = expr.op, expr.args
    first = _as(args[0], expr.type, done) if op != "length" else done[id(args[0])]
    if op == "neg":
        return f"(- {first})" if expr.type is Type.DOUBLE else f"try_subtract(0L, {first})"
    if op == "abs":
        if expr.type is Type.DOUBLE:
            return f"abs({first})"
        # Written once: ABS inside ABS would otherwise triple the text with every level. NULL outside 64 bits.
        return f"try_cast(abs(CAST({first} AS DECIMAL(20, 0))) AS BIGINT)"
    if op == "round":
        return f"round({first})" if expr.type is Type.DOUBLE else first
    if op in ("lower", "upper", "length"):
        return f"{op}({first})"
    if op in ("coalesce", "greatest", "least"):
        values = ", ".join(_as(arg, expr.type, done) for arg in args)
        return f"{op}({values})" if len(args) > 1 else first
    raise AssertionError(f"unknown operation {op}")


def _like(expr: Call, done: _Done) -> str:
    subject, pattern = expr.args
    assert isinstance(pattern, Const)
    if pattern.value is None:
        return constant(None, Type.BOOLEAN)
    wanted = str(pattern.value)
    # There is no escape in the language, and always one in Spark: a character that does not occur does no harm.
    unused = next(c for c in map(chr, range(1, 0xD800)) if c not in wanted and c not in "%_'\\")
    return f"({_as(subject, Type.STRING, done)} LIKE {text(wanted)} ESCAPE '{unused}')"


# --- filters and keys ----------------------------------------------------------------------------------------------


def prefilter(conjuncts: Sequence[Expr]) -> str:
    """A condition that holds for every event for which all `conjuncts` are true, and for little else."""
    return " AND ".join(_guarded(expr) for expr in conjuncts) if conjuncts else "TRUE"


def _guarded(expr: Expr) -> str:
    """The condition, or TRUE for values on which Java's case mapping and ours may differ."""
    mapped = dict.fromkeys(
        to_sql(node.args[0]) for node in walk(expr) if isinstance(node, Call) and node.op in ("lower", "upper")
    )
    doubts = "".join(f" OR length({sql}) <> octet_length({sql})" for sql in mapped)
    return f"({to_sql(expr)}{doubts})"


def bucket(columns: Sequence[tuple[str, Type]], types: Sequence[Type], buckets: int) -> str:
    """The bucket of an event: equal keys agree across streams, also where one has INT and the other DOUBLE.

    `types` are the types in which the key's parts are compared. NULL keys match nothing and land anywhere.
    """
    parts = []
    for (name, type_), shared in zip(columns, types, strict=True):
        sql = column(name, type_)
        if shared is Type.DOUBLE:
            sql = f"CAST({sql} AS DOUBLE)"
            sql = f"(CASE WHEN {sql} = 0 THEN CAST('0.0' AS DOUBLE) ELSE {sql} END)"  # -0.0 equals 0.0
        parts.append(sql)
    return f"CAST(pmod(xxhash64({', '.join(parts)}), {buckets}L) AS INT)"

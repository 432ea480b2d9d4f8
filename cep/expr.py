"""Typed expressions: what the checker makes of the syntax tree, and what a plan is made of.

Three node kinds only, so that every interpreter (Arrow columns, Spark SQL, DuckDB in the tests, the naive reference)
is one table of operations. Values follow SQL: three-valued logic, an operation on NULL is NULL, a condition holds only
if it is true. What SQL engines disagree on is fixed here:

* `/` always gives DOUBLE; `/` and `%` by zero give NULL; INT arithmetic that leaves 64 bits gives NULL. `%` has the
  sign of its left side.
* There is no NaN: an operation whose result would be NaN gives NULL, and a NaN that comes in is read as NULL.
* Text compares by code point. `LIKE` is case-sensitive, `%` and `_` are the only wildcards, there is no escape.
* `GREATEST` and `LEAST` skip NULLs; `ROUND` rounds halves away from zero; `LENGTH` counts characters.

Operations (`Call.op`), all lower case:
  arithmetic `+ - * / %`, `neg`; comparison `= <> < <= > >=`; logic `and or not`; `isnull`;
  `in` (first argument against the others), `like` (the pattern is a `Const`), `case` (cond, value, cond, value, ...,
  else), `cast` (INT to DOUBLE), `abs round lower upper length coalesce greatest least`.
`BETWEEN`, `NOT IN`, `IS NOT NULL` and the like are written with these. TIMESTAMP - TIMESTAMP is DURATION;
TIMESTAMP +- DURATION is TIMESTAMP; DURATION +- DURATION and DURATION * number are DURATION.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cep.types import Type

Value = int | float | str | bool | None
"""A constant: TIMESTAMP and DURATION are ints, in microseconds."""


@dataclass(frozen=True, slots=True)
class Col:
    """An attribute of the event bound to a variable."""

    var: str
    attr: str
    type: Type

    def __str__(self) -> str:
        return f"{self.var}.{self.attr}"


@dataclass(frozen=True, slots=True)
class Const:
    """A literal."""

    value: Value
    type: Type

    def __str__(self) -> str:
        return const_text(self.value, self.type)


@dataclass(frozen=True, slots=True)
class Call:
    """An operation; see the module's text for the list."""

    op: str
    args: tuple[Expr, ...]
    type: Type

    def __str__(self) -> str:
        return call_text(self.op, self.args)


Expr = Col | Const | Call

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
INEQUALITIES = ("<", "<=", ">", ">=")
FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""What an operator becomes when its sides are exchanged."""
NEGATED = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""What an operator becomes under NOT (the same rows qualify: NULL does not, either way)."""

TRUE = Const(True, Type.BOOLEAN)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it, parents first."""
    yield expr
    if isinstance(expr, Call):
        for arg in expr.args:
            yield from walk(arg)


def columns(expr: Expr) -> tuple[Col, ...]:
    """The attributes used, each once, in order of first use."""
    return tuple(dict.fromkeys(node for node in walk(expr) if isinstance(node, Col)))


def variables(expr: Expr) -> frozenset[str]:
    """The pattern variables used.

    >>> sorted(variables(Call("<", (Col("a", "x", Type.INT), Col("b", "y", Type.INT)), Type.BOOLEAN)))
    ['a', 'b']
    """
    return frozenset(node.var for node in walk(expr) if isinstance(node, Col))


def rewrite(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Apply `change` to every node, innermost first."""
    if isinstance(expr, Call):
        expr = Call(expr.op, tuple(rewrite(arg, change) for arg in expr.args), expr.type)
    return change(expr)


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """The operands of the outermost ANDs, left to right.

    >>> [str(c) for c in conjuncts(Call("and", (TRUE, Call("and", (TRUE, TRUE), Type.BOOLEAN)), Type.BOOLEAN))]
    ['TRUE', 'TRUE', 'TRUE']
    """
    if isinstance(expr, Call) and expr.op == "and":
        return tuple(part for arg in expr.args for part in conjuncts(arg))
    return (expr,)


def shift(expr: Expr, micros: int) -> Expr:
    """A TIMESTAMP or DURATION plus a constant."""
    if micros == 0:
        return expr
    return Call("+" if micros > 0 else "-", (expr, Const(abs(micros), Type.DURATION)), expr.type)


def split_shift(expr: Expr) -> tuple[Expr, int]:
    """Undo `shift`: the expression without its constant, and the constant in microseconds.

    >>> split_shift(shift(Col("a", "ts", Type.TIMESTAMP), -5))
    (Col(var='a', attr='ts', type=<Type.TIMESTAMP: 'TIMESTAMP'>), -5)
    """
    if isinstance(expr, Call) and expr.op in ("+", "-") and expr.type in (Type.TIMESTAMP, Type.DURATION):
        inner, last = expr.args
        if isinstance(last, Const) and last.value is not None and last.type is Type.DURATION:
            base, micros = split_shift(inner)
            return base, micros + (int(last.value) if expr.op == "+" else -int(last.value))
    return expr, 0


# --- text ----------------------------------------------------------------------------------------------------------

_DURATION_UNITS = (
    (86_400_000_000, "DAY"),
    (3_600_000_000, "HOUR"),
    (60_000_000, "MINUTE"),
    (1_000_000, "SECOND"),
    (1_000, "MILLISECOND"),
)
_PRECEDENCE = {"or": 1, "and": 2, "not": 3} | dict.fromkeys(COMPARISONS, 4) | {
    "in": 4, "like": 4, "isnull": 4, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6, "neg": 7,
}  # fmt: skip


def duration_text(micros: int) -> str:
    """A duration in the largest unit that divides it.

    >>> duration_text(3_600_000_000), duration_text(90_000_000), duration_text(3_599_999_999)
    ('1 HOUR', '90 SECONDS', '3599999.999 MILLISECONDS')
    """
    for size, unit in _DURATION_UNITS:
        if micros and micros % size == 0:
            count = micros // size
            return f"{count} {unit}" + ("" if count == 1 else "S")
    if micros == 0:
        return "0 SECONDS"
    whole, rest = divmod(abs(micros), 1000)
    return f"{'-' if micros < 0 else ''}{whole}.{rest:03d}".rstrip("0") + " MILLISECONDS"


def timestamp_text(micros: int) -> str:
    """ISO-8601 in UTC with `Z` and only as many decimals as needed (none, 3 or 6).

    >>> timestamp_text(0), timestamp_text(1_500_000)
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:01.500Z')
    """
    from datetime import datetime, timedelta

    moment = datetime(1970, 1, 1) + timedelta(microseconds=micros)  # noqa: DTZ001 - UTC by construction
    if micros % 1_000_000 == 0:
        return moment.isoformat(timespec="seconds") + "Z"
    return moment.isoformat(timespec="milliseconds" if micros % 1000 == 0 else "microseconds") + "Z"


def const_text(value: Value, type_: Type) -> str:
    """A constant as the language writes it."""
    if value is None:
        return "NULL"
    if type_ is Type.TIMESTAMP:
        return f"TIMESTAMP '{timestamp_text(int(value))}'"
    if type_ is Type.DURATION:
        return duration_text(int(value))
    if type_ is Type.BOOLEAN:
        return "TRUE" if value else "FALSE"
    if type_ is Type.STRING:
        return "'" + str(value).replace("'", "''") + "'"
    return repr(value)


def _inner(arg: Expr, least: int) -> str:
    text = str(arg)
    level = _PRECEDENCE.get(arg.op, 9) if isinstance(arg, Call) else 9
    return f"({text})" if level < least else text


def call_text(op: str, args: tuple[Expr, ...]) -> str:
    """An operation as the language writes it, with no more parentheses than needed."""
    level = _PRECEDENCE.get(op, 9)
    if op in ("and", "or"):
        return f" {op.upper()} ".join(_inner(arg, level) for arg in args)
    if op in COMPARISONS or op in ("+", "-", "*", "/", "%"):
        return f"{_inner(args[0], level)} {op} {_inner(args[1], level + 1)}"
    if op == "not":
        return f"NOT {_inner(args[0], level)}"
    if op == "neg":
        return f"-{_inner(args[0], level + 1)}"
    if op == "isnull":
        return f"{_inner(args[0], level + 1)} IS NULL"
    if op == "in":
        return f"{_inner(args[0], level + 1)} IN ({', '.join(map(str, args[1:]))})"
    if op == "like":
        return f"{_inner(args[0], level + 1)} LIKE {args[1]}"
    if op == "cast":
        return str(args[0])
    if op == "case":
        arms = "".join(f" WHEN {c} THEN {v}" for c, v in zip(args[:-1:2], args[1::2], strict=False))
        return f"CASE{arms} ELSE {args[-1]} END"
    return f"{op.upper()}({', '.join(map(str, args))})"

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

from cep.ir.types import Type

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


class _Known:
    """Room for what is worked out once: expressions can be large and are looked up often."""

    __slots__ = ("_hash", "_size")
    _hash: int
    _size: int


@dataclass(frozen=True, slots=True)
class Call(_Known):
    """An operation; see the module's text for the list.

    Two hundred may stand inside each other, and Python gives up at a thousand frames: comparing, hashing, writing and
    pickling take one frame a level at most.
    """

    op: str
    args: tuple[Expr, ...]
    type: Type

    def __str__(self) -> str:
        return _text(self)

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", hash((self.op, self.args, self.type)))
            return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Call):
            return NotImplemented
        pending: list[tuple[Expr, Expr]] = [(self, other)]
        while pending:
            left, right = pending.pop()
            if left is right:
                continue
            if not (isinstance(left, Call) and isinstance(right, Call)):
                if left != right:
                    return False
            elif (left.op, left.type, len(left.args)) != (right.op, right.type, len(right.args)) or (
                hash(left) != hash(right)
            ):
                return False
            else:
                pending += zip(left.args, right.args, strict=True)
        return True

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (tuple((n.op, len(n.args), n.type) if isinstance(n, Call) else n for n in walk(self)),)


def _rebuilt(parts: tuple[Col | Const | tuple[str, int, Type], ...]) -> Expr:
    """The expression that `walk` gave these parts of, each `Call` as its operation, number of arguments and type."""
    done: list[Expr] = []
    for part in reversed(parts):
        if isinstance(part, tuple):
            op, count, type_ = part
            args = tuple(done.pop() for _ in range(count))
            done.append(Call(op, args, type_))
        else:
            done.append(part)
    (expr,) = done
    return expr


Expr = Col | Const | Call

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
INEQUALITIES = ("<", "<=", ">", ">=")
FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""What an operator becomes when its sides are exchanged."""
NEGATED = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""What an operator becomes under NOT (the same rows qualify: NULL does not, either way)."""

TRUE = Const(True, Type.BOOLEAN)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it, parents first. No recursion: a sum can be a long chain."""
    pending = [expr]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Call):
            pending += reversed(node.args)


def size(expr: Expr) -> int:
    """How many nodes `walk` gives; known without walking, since what is used twice counts twice.

    >>> size(Call("not", (TRUE,), Type.BOOLEAN))
    2
    """
    if not isinstance(expr, Call):
        return 1
    try:
        return expr._size  # noqa: SLF001 - of this module
    except AttributeError:
        object.__setattr__(expr, "_size", 1 + sum([size(arg) for arg in expr.args]))
        return expr._size  # noqa: SLF001 - of this module


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
    """Apply `change` to every node, innermost first. No recursion: a sum can be a long chain."""
    done: list[Expr] = []
    for node in reversed(list(walk(expr))):  # children before parents, the last child first
        if isinstance(node, Call) and node.args:
            count = len(node.args)
            args = tuple(reversed(done[-count:]))
            del done[-count:]
            if any(new is not old for new, old in zip(args, node.args, strict=True)):
                node = Call(node.op, args, node.type)
        done.append(change(node))
    (changed,) = done
    return changed


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


def _text(expr: Expr, least: int = 0) -> str:
    """An expression as the language writes it, in parentheses where it binds weaker than `least`."""
    if not isinstance(expr, Call):
        return str(expr)
    op, args = expr.op, expr.args
    level = _PRECEDENCE.get(op, 9)
    if op in COMPARISONS or op in ("+", "-", "*", "/", "%"):
        text = f"{_text(args[0], level)} {op} {_text(args[1], level + 1)}"
    elif op == "not":
        text = f"NOT {_text(args[0], level)}"
    elif op == "neg":
        text = f"-{_text(args[0], level + 1)}"
    elif op == "isnull":
        text = f"{_text(args[0], level + 1)} IS NULL"
    elif op == "like":
        text = f"{_text(args[0], level + 1)} LIKE {args[1]}"
    elif op == "cast":
        text = str(args[0])
    elif op in ("and", "or"):
        text = f" {op.upper()} ".join([_text(arg, level) for arg in args])
    elif op == "in":
        text = f"{_text(args[0], level + 1)} IN ({', '.join([_text(arg) for arg in args[1:]])})"
    elif op == "case":
        arms = "".join([f" WHEN {c} THEN {v}" for c, v in zip(args[:-1:2], args[1::2], strict=False)])
        text = f"CASE{arms} ELSE {args[-1]} END"
    else:
        text = f"{op.upper()}({', '.join([_text(arg) for arg in args])})"
    return f"({text})" if level < least else text

"""The naive engine: nested loops over all events, one combination after another. For tests only.

It says what a pattern means in the shortest way that is obviously right, and knows nothing of plans, indexes or
arrival order. A condition is tested as soon as its variables are bound, nothing else is clever: the cost is the product
of the streams' lengths. `evaluate` is the meaning of an expression, one value at a time, as cep.ir.expr states it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from cep.ir.expr import Col, Const, Expr, Value, variables
from cep.ir.types import Type

if TYPE_CHECKING:
    from cep.ir.model import Pattern

Event: TypeAlias = Mapping[str, Value]
"""Attribute to value, TIMESTAMP in microseconds; a missing attribute is NULL."""

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


def _number(value: Any, type_: Type) -> Value:
    """A result of arithmetic as a value of `type_`: NULL where it is NaN or needs more than 64 bits."""
    if type_ is Type.DOUBLE:
        result = float(value)
        return None if math.isnan(result) else result
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = int(_round(value))
    return int(value) if _INT_MIN <= value <= _INT_MAX else None


def _round(value: Any) -> Any:
    """The nearest whole number, halves away from zero."""
    if isinstance(value, int) or math.isinf(value):
        return value
    size = abs(value)
    whole = math.floor(size)
    return math.copysign(whole + (size - whole >= 0.5), value)


def _remainder(a: Any, b: Any) -> Any:
    """What is left of `a`, with the sign of `a`."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) % abs(b) * (1 if a >= 0 else -1)
    return math.nan if math.isinf(a) else math.fmod(a, b)


def _like(text: Any, pattern: Any) -> bool:
    parts = (".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _each_character(text: Any, change: Callable[[str], str]) -> str:
    """Case mapping one character at a time: a character whose mapping is longer stays (`ß`)."""
    return "".join(changed if len(changed := change(c)) == 1 else c for c in text)


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: float(a) / float(b),
    "%": _remainder,
    "neg": lambda a: -a,
    "abs": abs,
    "round": _round,
    "cast": float,
}
_STRICT: dict[str, Callable[..., Value]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "not": lambda a: not a,
    "like": _like,
    "lower": lambda a: _each_character(a, str.lower),
    "upper": lambda a: _each_character(a, str.upper),
    "length": len,
}
"""Operations that are NULL as soon as an argument is."""


def _any_true(values: Sequence[Value]) -> Value:
    """OR in three-valued logic."""
    return True if True in values else None if None in values else False


def _lenient(op: str, values: Sequence[Any]) -> Any:
    """Operations that look at NULLs themselves."""
    present = [value for value in values if value is not None]
    if op == "and":
        return False if False in values else None if None in values else True
    if op == "or":
        return _any_true(values)
    if op == "isnull":
        return values[0] is None
    if op == "in":
        return _any_true([None if None in (values[0], item) else values[0] == item for item in values[1:]])
    if op == "case":
        arms = zip(values[:-1:2], values[1::2], strict=True)
        return next((value for condition, value in arms if condition is True), values[-1])
    if op == "coalesce":
        return present[0] if present else None
    if op in ("greatest", "least"):
        return (max if op == "greatest" else min)(present) if present else None
    raise AssertionError(f"unknown operation {op}")


def evaluate(expr: Expr, events: Mapping[str, Event]) -> Value:
    """The value of an expression, given the event that each variable is bound to.

    >>> from cep.ir.expr import Call
    >>> seven = Const(7, Type.INT)
    >>> evaluate(Call("%", (Const(-9, Type.INT), seven), Type.INT), {})
    -2
    >>> evaluate(Call("/", (seven, Const(0, Type.INT)), Type.DOUBLE), {}) is None
    True
    """
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, Col):
        value = events[expr.var].get(expr.attr)
        return None if isinstance(value, float) and math.isnan(value) else value
    values = [evaluate(arg, events) for arg in expr.args]
    if expr.op in _ARITHMETIC:
        if None in values or (expr.op in ("/", "%") and values[1] == 0):
            return None
        return _number(_ARITHMETIC[expr.op](*values), expr.type)
    if expr.op in _STRICT:
        return None if None in values else _STRICT[expr.op](*values)
    result: Value = _lenient(expr.op, values)
    return result


def combinations(pattern: Pattern, events: Mapping[str, Sequence[Event]]) -> Iterator[dict[str, Event]]:
    """Every way to bind the variables to events (keyed by stream) such that order, window and conditions hold."""
    place = {variable.name: i for i, variable in enumerate(pattern.variables)}
    due: list[list[Expr]] = [[] for _ in place]
    for condition in pattern.conditions:
        due[max((place[name] for name in variables(condition.expr)), default=0)].append(condition.expr)

    streams = {variable.name: variable.stream for variable in pattern.variables}

    def tie_broken(bound: dict[str, Event], earlier: str, later: str) -> bool:
        attr = streams[earlier].order if streams[earlier].name == streams[later].name else None
        first, second = (bound[name].get(attr) if attr is not None else None for name in (earlier, later))
        return first is not None and second is not None and bool(_STRICT["<"](first, second))

    def in_time(bound: dict[str, Event]) -> bool:
        bound_here = (v for v in pattern.variables if v.name in bound and v.stream.time is not None)
        time = {v.name: bound[v.name].get(str(v.stream.time)) for v in bound_here}
        for earlier, later in pattern.order:
            if earlier in bound and later in bound:
                before, after = time[earlier], time[later]
                if before is None or after is None or int(before) > int(after):
                    return False
                if int(before) == int(after) and not tie_broken(bound, earlier, later):
                    return False
        if pattern.window is None:
            return True
        known = [int(t) for t in time.values() if t is not None]
        return len(known) == len(bound) and max(known) - min(known) <= pattern.window

    def extend(bound: dict[str, Event]) -> Iterator[dict[str, Event]]:
        if len(bound) == len(place):
            yield dict(bound)
            return
        variable = pattern.variables[len(bound)]
        for event in events.get(variable.stream.name, ()):
            longer = {**bound, variable.name: event}
            if in_time(longer) and all(evaluate(expr, longer) is True for expr in due[len(bound)]):
                yield from extend(longer)

    return extend({})


def matches(pattern: Pattern, events: Mapping[str, Sequence[Event]]) -> list[tuple[Value, ...]]:
    """The fields of every match, as SQL would list them: once per combination, or once each under DISTINCT."""
    found = [
        tuple(evaluate(expr, bound) for _, expr in branch.fields)
        for branch in pattern.branches or (pattern,)
        for bound in combinations(branch, events)
    ]
    return list(dict.fromkeys(found)) if pattern.distinct else found

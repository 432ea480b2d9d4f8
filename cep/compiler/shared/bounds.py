"""Difference bounds: what a comparison says about `x - y <= c`, and the ways in which a condition can be true.

Every comparison that can be read as a bound on the difference of two attributes, or of an attribute and a constant,
becomes one; `cep.compiler.shared.differences` says what follows from them together. Text takes part through its order
alone, booleans as 0 and 1, NULL as a 0/1 mark a column.

Guarantee: a contradiction that is found is one. What cannot be read exactly is left out, which makes the set weaker,
never stronger. For that reason:

* arithmetic is read on INT, TIMESTAMP and DURATION only (a condition over arithmetic that overflows is NULL, so where
  it is true it is exact); DOUBLE rounds, so DOUBLE attributes are compared but never added;
* an INT turned into DOUBLE is another node than the INT itself, since rounding may merge neighbours; constants up to
  2**53 bound both alike.

Not found: contradictions through products, three variables in one comparison, two ORs together.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from fractions import Fraction

from cep.compiler.shared.differences import ZERO, Bound
from cep.ir.expr import COMPARISONS, FLIPPED, NEGATED, Call, Col, Const, Expr
from cep.ir.types import Type

_EXACT = 2**53
_INTEGERS = (Type.INT, Type.TIMESTAMP, Type.DURATION, Type.BOOLEAN)
_MOST_ALTERNATIVES = 64
_MOST_LEFT_OUT = 1000


Alternative = tuple[Bound, ...]


def alternatives(expr: Expr, reason: object = None, negate: bool = False) -> list[Alternative]:
    """Ways the condition can be true: if it is, all bounds of at least one alternative hold.

    No alternative at all means that it is never true. `[()]` means that nothing is known.

    >>> x = Col("a", "x", Type.INT)
    >>> [len(alternatives(Call(op, (x, Const(5, Type.INT)), Type.BOOLEAN))) for op in ("<", "=", "<>")]
    [1, 1, 2]
    """
    if isinstance(expr, Const):
        holds = expr.value is not None and bool(expr.value) is not negate
        return [()] if holds else []
    if isinstance(expr, Col):
        return [(*_fixed(expr, 0 if negate else 1, reason), _present(expr, reason))]
    if expr.op == "not":
        return alternatives(expr.args[0], reason, not negate)
    if expr.op in ("and", "or"):
        parts = (alternatives(arg, reason, negate) for arg in expr.args)
        return _any_of(parts) if (expr.op == "or") is not negate else _all_of(parts)
    if expr.op in COMPARISONS:
        return _comparison(NEGATED[expr.op] if negate else expr.op, expr.args[0], expr.args[1], reason)
    if expr.op == "in":
        op = "<>" if negate else "="
        parts = (_comparison(op, expr.args[0], item, reason) for item in expr.args[1:])
        return _all_of(parts) if negate else _any_of(parts)
    if expr.op == "isnull":
        if negate:
            return [tuple(_present(col, reason) for col in _needed(expr.args[0]))]
        if isinstance(expr.args[0], Col):
            return [(Bound(ZERO, ("null", expr.args[0]), -1, reason=reason),)]
        return [()]
    if expr.op == "like":
        return [tuple(_present(col, reason) for col in _needed(expr.args[0]))]
    return [()]


# --- reading comparisons ---------------------------------------------------------------------------------------------


def _comparison(op: str, left: Expr, right: Expr, reason: object) -> list[Alternative]:
    needed = [_present(col, reason) for side in (left, right) for col in _needed(side)]
    if any(isinstance(side, Const) and side.value is None for side in (left, right)):
        return []
    found: list[Alternative]
    if op == "<>":
        found = [tuple(_ordered(smaller, left, right, reason)) for smaller in ("<", ">")]
    elif op == "=":
        found = [(*_ordered("<=", left, right, reason), *_ordered(">=", left, right, reason))]
    else:
        found = [tuple(_ordered(op, left, right, reason))]
    return [(*alternative, *needed) for alternative in found]


def _ordered(op: str, left: Expr, right: Expr, reason: object) -> list[Bound]:
    """The bounds that `left op right` gives, `op` one of `< <= > >=`."""
    if op in (">", ">="):
        op, left, right = FLIPPED[op], right, left
    strict = op == "<"
    if left.type is Type.STRING:
        ends = [_text_node(side) for side in (left, right)]
        return [] if None in ends else [Bound(ends[0], ends[1], 0, strict, reason)]
    if left.type is Type.DOUBLE:
        return _double(left, right, strict, reason)
    for side, sign in ((left, 1), (right, -1)):
        if isinstance(side, Call) and side.op == "abs":
            if sign == -1:
                return []  # `x <= abs(y)` is a choice, not a bound
            inside = side.args[0]
            return [
                *_ordered(op, inside, right, reason),
                *_ordered(op, Call("neg", (inside,), inside.type), right, reason),
            ]
    plus, minus = _linear(left), _linear(right)
    if plus is None or minus is None:
        return []
    terms = dict(plus[0])
    for col, factor in minus[0].items():
        terms[col] = terms.get(col, 0) - factor
    terms = {col: factor for col, factor in terms.items() if factor}
    return _integer_bound(terms, minus[1] - plus[1], strict, reason)


def _integer_bound(terms: dict[Col, int], limit: int, strict: bool, reason: object) -> list[Bound]:
    """`sum(factor * col) <= limit` over integers, as a bound on a difference where it is one."""
    if strict:
        limit -= 1
    if not terms:
        return [] if limit >= 0 else [Bound(ZERO, ZERO, -1, reason=reason)]
    (col, factor), *more = terms.items()
    if not more:
        if factor > 0:
            return _with_double(Bound(col, ZERO, limit // factor, reason=reason))
        return _with_double(Bound(ZERO, col, limit // -factor, reason=reason))
    if len(more) == 1 and more[0][1] == -factor:
        other = more[0][0]
        left, right = (col, other) if factor > 0 else (other, col)
        return [Bound(left, right, limit // abs(factor), reason=reason)]
    return []


def _with_double(bound: Bound) -> list[Bound]:
    """A constant bound on an INT holds for its DOUBLE as well where the constant is exact."""
    limit = bound.limit
    if not -_EXACT <= limit <= _EXACT:
        return [bound]
    left, right = (("double", end) if isinstance(end, Col) else end for end in (bound.left, bound.right))
    return [bound, Bound(left, right, limit, reason=bound.reason)]


def _double(left: Expr, right: Expr, strict: bool, reason: object) -> list[Bound]:
    ends = [_double_node(side) for side in (left, right)]
    if ends[0] is None or ends[1] is None:
        return []
    (above, a), (below, b) = ends[0], ends[1]
    limit = b - a
    bounds = [Bound(above, below, limit, strict, reason)]
    # `DOUBLE(i) <= c` says as much of the INT `i` where everything near `c` is exact.
    if abs(limit) < _EXACT:
        if below == ZERO and isinstance(above, tuple):
            whole = math.ceil(limit) - 1 if strict else math.floor(limit)
            bounds.append(Bound(above[1], ZERO, whole, reason=reason))
        if above == ZERO and isinstance(below, tuple):
            whole = math.ceil(limit) - 1 if strict else math.floor(limit)
            bounds.append(Bound(ZERO, below[1], whole, reason=reason))
    return bounds


def _double_node(expr: Expr) -> tuple[Hashable, Fraction] | None:
    if isinstance(expr, Const):
        if isinstance(expr.value, (int, float)) and math.isfinite(expr.value):
            return ZERO, Fraction(expr.value)
        return None
    if isinstance(expr, Col):
        return expr, Fraction(0)
    if expr.op == "cast" and isinstance(expr.args[0], Col):
        return ("double", expr.args[0]), Fraction(0)
    return None


def _text_node(expr: Expr) -> Hashable | None:
    if isinstance(expr, Col):
        return expr
    return ("text", expr.value) if isinstance(expr, Const) else None


def _linear(expr: Expr) -> tuple[dict[Col, int], int] | None:
    """`sum(factor * col) + constant` over exact types; None where it is something else."""
    if expr.type not in _INTEGERS:
        return None
    if isinstance(expr, Col):
        return {expr: 1}, 0
    if isinstance(expr, Const):
        return ({}, int(expr.value)) if isinstance(expr.value, int) else None
    parts = [_linear(arg) for arg in expr.args]
    if expr.op == "neg" and parts[0] is not None:
        return {col: -factor for col, factor in parts[0][0].items()}, -parts[0][1]
    if len(parts) != 2 or parts[0] is None or parts[1] is None:
        return None
    (left, a), (right, b) = parts[0], parts[1]
    if expr.op in ("+", "-"):
        sign = 1 if expr.op == "+" else -1
        terms = dict(left)
        for col, factor in right.items():
            terms[col] = terms.get(col, 0) + sign * factor
        return terms, a + sign * b
    if expr.op == "*" and not right:
        return {col: factor * b for col, factor in left.items()}, a * b
    if expr.op == "*" and not left:
        return {col: factor * a for col, factor in right.items()}, a * b
    return None


# --- NULL and constants ----------------------------------------------------------------------------------------------

_NULL_IN_NULL_OUT = frozenset({"+", "-", "*", "/", "%", "neg", "abs", "round", "lower", "upper", "length", "cast"})


def _needed(expr: Expr) -> list[Col]:
    """Columns that cannot be NULL where the expression is not."""
    if isinstance(expr, Col):
        return [expr]
    if isinstance(expr, Call) and expr.op in _NULL_IN_NULL_OUT:
        return [col for arg in expr.args for col in _needed(arg)]
    return []


def _present(col: Col, reason: object) -> Bound:
    return Bound(("null", col), ZERO, 0, reason=reason)


def _fixed(col: Col, value: int, reason: object) -> tuple[Bound, Bound]:
    return Bound(col, ZERO, value, reason=reason), Bound(ZERO, col, -value, reason=reason)


def _any_of(parts: Iterable[list[Alternative]]) -> list[Alternative]:
    found: list[Alternative] = []
    for part in parts:
        found += part
        if len(found) > _MOST_ALTERNATIVES:
            return [()]
    return found


def _all_of(parts: Iterable[list[Alternative]]) -> list[Alternative]:
    """All combinations; what would make too many is left out, and after a while nobody looks any further."""
    found: list[list[Bound]] = [[]]
    left_out = 0
    for part in parts:
        if not part:
            return []
        if len(part) == 1:
            for way in found:
                way += part[0]
        elif len(found) * len(part) <= _MOST_ALTERNATIVES:
            found = [[*left, *right] for left in found for right in part]
        else:
            left_out += 1
            if left_out > _MOST_LEFT_OUT:
                break
    return [tuple(way) for way in found]

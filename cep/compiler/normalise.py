"""Normalise: one form for each condition.

NOT is pushed to the comparisons, ANDs are split, BETWEEN and the like are gone already. A comparison of times is
brought to *difference form*, each side over one variable, constants on the right: `l.ts - s1.ts <= 1 HOUR` becomes
`l.ts <= s1.ts + 1 HOUR`. The order that `SEQ` asks for joins the conditions as `a.ts < b.ts`. A bound on last minus
first is recognised as the window. What other comparisons imply is dropped: a dropped predicate cannot make a query
cyclic.

Only TIMESTAMP and DURATION arithmetic is moved around: on INT it could change what overflows, on DOUBLE what rounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cep.expr import (
    COMPARISONS,
    FLIPPED,
    NEGATED,
    Call,
    Col,
    Const,
    Expr,
    conjuncts,
    shift,
    split_shift,
    variables,
)
from cep.model import Pattern
from cep.types import Type

_TIMES = (Type.TIMESTAMP, Type.DURATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Normal:
    """A pattern with normalised conjuncts, the `SEQ` order among them; `window` is the effective one."""

    pattern: Pattern
    conditions: tuple[Expr, ...]
    window: int | None


def normalise(pattern: Pattern) -> Normal:
    """Bring a checked pattern to normal form. Polynomial in the pattern; the meaning does not change."""
    written = [part for condition in pattern.conditions for part in conjuncts(_push_not(condition.expr, False))]
    times = {v.name: Col(v.name, v.stream.time, Type.TIMESTAMP) for v in pattern.variables if v.stream.time is not None}
    order = [Call("<", (times[a], times[b]), Type.BOOLEAN) for a, b in pattern.order]
    exprs = [e for e in map(_difference_form, [*order, *written]) if not (isinstance(e, Const) and e.value is True)]
    exprs = list(dict.fromkeys(exprs))
    window, exprs = _extract_window(exprs, times, pattern.window)
    return Normal(pattern=pattern, conditions=tuple(_drop_implied(exprs)), window=window)


def _push_not(expr: Expr, negate: bool) -> Expr:
    """Move NOT inwards until it stands before something that is neither logic nor a comparison."""
    if isinstance(expr, Call):
        if expr.op == "not":
            return _push_not(expr.args[0], not negate)
        if expr.op in ("and", "or"):
            op = expr.op if not negate else {"and": "or", "or": "and"}[expr.op]
            return Call(op, tuple(_push_not(arg, negate) for arg in expr.args), Type.BOOLEAN)
        if negate and expr.op in COMPARISONS:
            return Call(NEGATED[expr.op], expr.args, Type.BOOLEAN)
    if negate:
        if isinstance(expr, Const) and isinstance(expr.value, bool):
            return Const(not expr.value, Type.BOOLEAN)
        return Call("not", (expr,), Type.BOOLEAN)
    return expr


# --- difference form -----------------------------------------------------------------------------------------------


def _difference_form(expr: Expr) -> Expr:
    """Rewrite a comparison of times over two variables so that each side uses one and the left is plain."""
    if not (isinstance(expr, Call) and expr.op in COMPARISONS and expr.args[0].type in _TIMES):
        return expr
    terms = _terms(Call("-", expr.args, Type.DURATION))
    if terms is None:
        return expr
    by_var: dict[str, list[tuple[int, Expr]]] = {}
    constant = 0
    for sign, term in terms:
        if isinstance(term, Const):
            constant += sign * int(term.value or 0)
        elif len(used := variables(term)) == 1:
            by_var.setdefault(next(iter(used)), []).append((sign, term))
        else:
            return expr
    if len(by_var) != 2:
        return expr
    sides = {var: _plain(parts) for var, parts in by_var.items()}
    plus = [var for var, side in sides.items() if side is not None and side[0] == 1]
    minus = [var for var, side in sides.items() if side is not None and side[0] == -1]
    if len(plus) != 1 or len(minus) != 1:
        return expr
    left, right = sides[plus[0]], sides[minus[0]]
    assert left is not None
    assert right is not None
    # left - right + constant op 0
    return Call(expr.op, (left[1], shift(right[1], -constant)), Type.BOOLEAN)


def _plain(parts: list[tuple[int, Expr]]) -> tuple[int, Expr] | None:
    """The one signed term of a side; None where there are several."""
    return parts[0] if len(parts) == 1 else None


def _terms(expr: Expr, sign: int = 1) -> list[tuple[int, Expr]] | None:
    """The signed summands of a sum of times and durations; None for a NULL inside."""
    if isinstance(expr, Const):
        return None if expr.value is None else [(sign, expr)]
    if isinstance(expr, Call) and expr.op in ("+", "-") and expr.type in _TIMES:
        left = _terms(expr.args[0], sign)
        right = _terms(expr.args[1], sign if expr.op == "+" else -sign)
        return None if left is None or right is None else left + right
    return [(sign, expr)]


# --- bounds on differences -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Bound:
    """`left - right <= limit` (or `<` where strict)."""

    left: Expr
    right: Expr
    limit: int
    strict: bool

    @property
    def weight(self) -> tuple[int, int]:
        """Comparable tightness: a smaller weight is a tighter bound."""
        return self.limit, -int(self.strict)


def _bound(expr: Expr) -> _Bound | None:
    """Read an inequality between two variables as a bound on a difference; None for anything else."""
    if not (isinstance(expr, Call) and expr.op in ("<", "<=", ">", ">=")):
        return None
    left, right = expr.args if expr.op in ("<", "<=") else (expr.args[1], expr.args[0])
    if len(variables(left)) != 1 or len(variables(right)) != 1 or variables(left) == variables(right):
        return None
    (left, a), (right, b) = split_shift(left), split_shift(right)
    return _Bound(left, right, b - a, expr.op in ("<", ">"))


def _tightest(bounds: Iterable[_Bound]) -> dict[tuple[Expr, Expr], tuple[int, int]]:
    """All-pairs tightest implied bounds (Floyd–Warshall over at most a few dozen terms)."""
    best: dict[tuple[Expr, Expr], tuple[int, int]] = {}
    for bound in bounds:
        pair = (bound.left, bound.right)
        best[pair] = min(best.get(pair, bound.weight), bound.weight)
    terms = list(dict.fromkeys(term for pair in best for term in pair))
    for middle in terms:
        for left in terms:
            if (first := best.get((left, middle))) is None:
                continue
            for right in terms:
                if (second := best.get((middle, right))) is None or left == right:
                    continue
                weight = (first[0] + second[0], min(first[1], second[1]))
                if weight < best.get((left, right), (weight[0] + 1, 0)):
                    best[left, right] = weight
    return best


def _extract_window(
    exprs: list[Expr], times: dict[str, Col], window: int | None
) -> tuple[int | None, list[Expr]]:
    """Take out every bound on (last event - first event), and tighten the window by it.

    First and last are those that the order makes first and last; without a unique one of each there is no window here.
    A strict bound `< d` is the window `d` minus one microsecond.
    """
    if len(times) < 2:
        return window, exprs
    implied = _tightest(b for b in map(_bound, exprs) if b is not None)

    def not_later(a: Col, b: Col) -> bool:
        weight = implied.get((a, b))
        return a == b or (weight is not None and weight <= (0, 0))

    firsts = [t for t in times.values() if all(not_later(t, other) for other in times.values())]
    lasts = [t for t in times.values() if all(not_later(other, t) for other in times.values())]
    if len(firsts) != 1 or len(lasts) != 1:
        return window, exprs
    kept: list[Expr] = []
    for expr in exprs:
        bound = _bound(expr)
        if bound is not None and (bound.left, bound.right) == (lasts[0], firsts[0]):
            limit = bound.limit - int(bound.strict)
            window = limit if window is None else min(window, limit)
        else:
            kept.append(expr)
    return window, kept


def _drop_implied(exprs: list[Expr]) -> list[Expr]:
    """Drop each inequality that the remaining ones imply; what `SEQ` asks for comes first and is kept longest."""
    bounds = {expr: bound for expr in exprs if (bound := _bound(expr)) is not None}
    kept = dict(bounds)
    for expr in reversed(exprs):
        if expr not in kept:
            continue
        others = [bound for other, bound in kept.items() if other != expr]
        weight = _tightest(others).get((bounds[expr].left, bounds[expr].right))
        if weight is not None and weight <= bounds[expr].weight:
            del kept[expr]
    return [expr for expr in exprs if expr not in bounds or expr in kept]


def oriented(expr: Call) -> Call:
    """The same comparison written with `<` or `<=`."""
    if expr.op in (">", ">="):
        return replace(expr, op=FLIPPED[expr.op], args=(expr.args[1], expr.args[0]))
    return expr

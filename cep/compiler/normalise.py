"""Normalise: one form for each condition.

NOT is pushed to the comparisons, ANDs are split, BETWEEN and the like are gone already. A comparison of times is
brought to *difference form*, each side over one variable, constants on the right: `l.ts - s1.ts <= 1 HOUR` becomes
`l.ts <= s1.ts + 1 HOUR`. The order that `SEQ` asks for joins the conditions as `a.ts < b.ts`
(`cep.compiler.shared.ties` for streams with `ORDER BY`). A bound on last minus first is recognised as the window, but
not in a pattern with gaps, whose events have the written one. What the window or other comparisons imply is dropped: a
dropped predicate cannot make a query cyclic.

Only TIMESTAMP and DURATION arithmetic is moved around: on INT it could change what overflows, on DOUBLE what rounds.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from cep.compiler.shared.differences import Bound, Differences
from cep.compiler.shared.ties import before
from cep.ir.body import One, steps
from cep.ir.expr import (
    COMPARISONS,
    FLIPPED,
    INEQUALITIES,
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
from cep.ir.model import Pattern
from cep.ir.types import Type

_TIMES = (Type.TIMESTAMP, Type.DURATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Normal:
    """A pattern with normalised conjuncts, the `SEQ` order among them; `window` is the effective one."""

    pattern: Pattern
    conditions: tuple[Expr, ...]
    window: int | None


def normalise(pattern: Pattern) -> Normal:
    """Bring a checked pattern to normal form. Polynomial in the pattern; the meaning does not change."""
    written = [part for condition in pattern.conditions for part in normal_form(condition.expr)]
    times = {v.name: Col(v.name, v.stream.time, Type.TIMESTAMP) for v in pattern.variables if v.stream.time is not None}
    named = {v.name: v for v in pattern.variables}
    order = [part for a, b in pattern.order for part in before(named[a], named[b])]
    exprs = list(dict.fromkeys([*map(_difference_form, order), *written]))
    window = pattern.window
    # An event without a time never leaves a window: where there is one, none can be recognised.
    timed = tuple(times.values()) if 1 < len(times) == len(pattern.variables) else ()
    if timed and not _asks_of_others(pattern):
        window, exprs = _extract_window(exprs, timed, window)
    return Normal(pattern=pattern, conditions=tuple(_drop_implied(exprs, timed, window)), window=window)


def _asks_of_others(pattern: Pattern) -> bool:
    """Whether the window also says which events lie in gaps: a bound between single events is then not a window."""
    return bool(pattern.gaps) or any(isinstance(step, One) and step.select is not None for step in steps(pattern.body))


def normal_form(expr: Expr) -> tuple[Expr, ...]:
    """The conjuncts of one condition, each in normal form; none of it dropped but TRUE."""
    parts = map(_difference_form, conjuncts(_push_not(expr, False)))
    return tuple(part for part in parts if not (isinstance(part, Const) and part.value is True))


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


def _bound(expr: Expr) -> Bound | None:
    """Read an inequality between two variables as a bound on a difference; None for anything else."""
    if not (isinstance(expr, Call) and expr.op in INEQUALITIES and _spans_two(expr)):
        return None
    left, right = oriented(expr).args
    (left, a), (right, b) = split_shift(left), split_shift(right)
    return Bound(left, right, b - a, expr.op in ("<", ">"))


def _equality(expr: Expr) -> tuple[Bound, ...]:
    """Read an equality between two variables as the two bounds that it stands for; none for anything else."""
    if not (isinstance(expr, Call) and expr.op == "=" and _spans_two(expr)):
        return ()
    (left, a), (right, b) = map(split_shift, expr.args)
    return Bound(left, right, b - a), Bound(right, left, a - b)


def _spans_two(expr: Call) -> bool:
    """Whether each side uses one variable, and not the same."""
    left, right = map(variables, expr.args)
    return len(left) == len(right) == 1 and left != right


def _extract_window(exprs: list[Expr], times: Sequence[Col], window: int | None) -> tuple[int | None, list[Expr]]:
    """Take out every bound on (last event - first event), and tighten the window by it.

    First and last are those that the order makes first and last (several where they are at one time); without them
    there is no window here. A strict bound `< d` is the window `d` minus one microsecond.
    """
    bounds = {expr: bound for expr in exprs if (bound := _bound(expr)) is not None}
    longest = {
        expr: bound
        for expr, bound in bounds.items()
        if bound.left in times and bound.right in times and bound.limit > int(bound.strict)
    }
    if not longest:
        return window, exprs
    known = [*bounds.values(), *(bound for expr in exprs for bound in _equality(expr))]
    forwards = Differences(known)
    backwards = Differences(Bound(bound.right, bound.left, bound.limit, bound.strict) for bound in known)
    lasts = {time for time in {b.left for b in longest.values()} if _not_before(forwards, time, times)}
    firsts = {time for time in {b.right for b in longest.values()} if _not_before(backwards, time, times)}
    kept: list[Expr] = []
    for expr in exprs:
        bound = longest.get(expr)
        if bound is not None and bound.left in lasts and bound.right in firsts:
            limit = int(bound.limit) - int(bound.strict)
            window = limit if window is None else min(window, limit)
        else:
            kept.append(expr)
    return window, kept


def _not_before(known: Differences, time: Hashable, times: Sequence[Col]) -> bool:
    """Whether no other time is later (read backwards: earlier) than this one."""
    reach = known.reach(time)
    return reach is not None and all(other in reach and reach[other] <= 0 for other in times)


def _drop_implied(exprs: list[Expr], times: Sequence[Col], window: int | None) -> list[Expr]:
    """Drop each inequality that the others imply, with equalities and the window among them.

    What `SEQ` asks for comes first and is kept longest.
    """
    bounds = {expr: bound for expr in exprs if (bound := _bound(expr)) is not None}
    known = Differences(bound for expr in exprs for bound in _equality(expr))
    if window is not None:
        earliest, latest = ("earliest",), ("latest",)
        known.add(Bound(latest, earliest, window))
        for time in times:
            known.add(Bound(time, latest, 0))
            known.add(Bound(earliest, time, 0))
    for bound in bounds.values():
        known.add(bound)
    dropped: set[Expr] = set()
    for expr in reversed(exprs):
        if (bound := bounds.get(expr)) is not None and known.implied(bound):
            known.remove(bound)
            dropped.add(expr)
    return [expr for expr in exprs if expr not in dropped]


def oriented(expr: Call) -> Call:
    """The same comparison written with `<` or `<=`."""
    if expr.op in (">", ">="):
        return replace(expr, op=FLIPPED[expr.op], args=(expr.args[1], expr.args[0]))
    return expr

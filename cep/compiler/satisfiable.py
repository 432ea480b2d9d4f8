"""Find conditions that can never hold, together or alone, and those that always do.

A pattern that can never match is a mistake, and nobody would notice it at run time: it stays silent. The conditions are
read as difference bounds (`cep.compiler.bounds`), first alone, then with the order that `SEQ` asks for, then with the
window; what first makes them contradictory decides the code: CEP0403, CEP0404, CEP0405. Each contradiction is reported
at the last condition that takes part, with the others labelled; the search then goes on without it, so that independent
contradictions are all found.

Guarantee: an error is always right. Silence is not a proof that the pattern can match.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cep.compiler.bounds import Alternative, Bound, alternatives, conflict
from cep.diagnostics import Diagnostics, Label
from cep.expr import Col, Const, duration_text
from cep.model import Condition, Pattern
from cep.types import Type


@dataclass(frozen=True, slots=True)
class _Order:
    """`earlier` comes before `later` in a SEQ."""

    earlier: str
    later: str


class _Window:
    """The window is part of a contradiction."""


_WINDOW = _Window()


def satisfiable(pattern: Pattern, diagnostics: Diagnostics) -> None:
    """Report what can never hold. O(conditions^2) graph searches at worst, on graphs of the pattern's size."""
    clauses: list[tuple[Condition, list[Alternative]]] = []
    for condition in pattern.conditions:
        if isinstance(condition.expr, Const):
            _constant(condition, diagnostics)
            continue
        ways = alternatives(condition.expr, condition)
        if not ways:
            _report("CEP0403", condition, (), pattern, diagnostics)
        elif ways != [()]:
            clauses.append((condition, ways))
    background: list[Bound] = []
    for code, more in (("CEP0403", ()), ("CEP0404", order_bounds(pattern)), ("CEP0405", window_bounds(pattern))):
        background += more
        clauses = _search(code, clauses, background, pattern, diagnostics)


def order_bounds(pattern: Pattern) -> list[Bound]:
    """What `SEQ` says about event times."""
    times = _times(pattern)
    return [
        Bound(times[earlier], times[later], -1, reason=_Order(earlier, later))
        for earlier, later in pattern.order
        if earlier in times and later in times
    ]


def window_bounds(pattern: Pattern) -> list[Bound]:
    """What `WITHIN` says about event times."""
    if pattern.window is None:
        return []
    times = list(_times(pattern).values())
    return [Bound(a, b, pattern.window, reason=_WINDOW) for a in times for b in times if a != b]


def possible(bounds: list[Bound], clauses: Iterable[list[Alternative]]) -> bool:
    """False only if the bounds contradict each other, or one clause contradicts them whichever way it is read."""
    if conflict(bounds) is not None:
        return False
    return all(any(conflict([*bounds, *way]) is None for way in ways) for ways in clauses)


def _search(
    code: str,
    clauses: list[tuple[Condition, list[Alternative]]],
    background: list[Bound],
    pattern: Pattern,
    diagnostics: Diagnostics,
) -> list[tuple[Condition, list[Alternative]]]:
    """Report every contradiction that can be found, and give the clauses that are free of them."""
    clauses = list(clauses)
    while True:
        plain = [bound for _, ways in clauses if len(ways) == 1 for bound in ways[0]]
        cycle = conflict([*plain, *background])
        if cycle is None:
            break
        culprits = _conditions(cycle)
        if not culprits:
            _window_alone(pattern, diagnostics)
            return clauses
        last = max(culprits, key=lambda condition: condition.span.start)
        _report(code, last, cycle, pattern, diagnostics)
        clauses = [clause for clause in clauses if clause[0] is not last]
    kept: list[tuple[Condition, list[Alternative]]] = []
    for condition, ways in clauses:
        together = _every_way_fails(ways, [*plain, *background]) if len(ways) > 1 else None
        if together is None:
            kept.append((condition, ways))
        else:
            _report(code, condition, together, pattern, diagnostics)
    return kept


def _every_way_fails(ways: list[Alternative], bounds: list[Bound]) -> list[Bound] | None:
    """The contradictions of all alternatives with `bounds`; None as soon as one has none."""
    together: list[Bound] = []
    for way in ways:
        cycle = conflict([*bounds, *way])
        if cycle is None:
            return None
        together += cycle
    return together


def _conditions(bounds: Iterable[Bound]) -> list[Condition]:
    found: list[Condition] = []
    for bound in bounds:
        if isinstance(bound.reason, Condition) and not any(bound.reason is other for other in found):
            found.append(bound.reason)
    return found


def _times(pattern: Pattern) -> dict[str, Col]:
    return {v.name: Col(v.name, v.stream.time, Type.TIMESTAMP) for v in pattern.variables if v.stream.time is not None}


# --- wording ---------------------------------------------------------------------------------------------------------


def _constant(condition: Condition, diagnostics: Diagnostics) -> None:
    assert isinstance(condition.expr, Const)
    if condition.expr.value is True:
        diagnostics.warning(
            "CEP0407", condition.span, "condition always holds", hint="remove it, or compare an attribute"
        )
        return
    what = "NULL, which is never true" if condition.expr.value is None else "always false"
    diagnostics.error(
        "CEP0403", condition.span, f"condition is {what}: the pattern can never match", hint="remove or correct it"
    )


def _report(
    code: str, condition: Condition, bounds: Iterable[Bound], pattern: Pattern, diagnostics: Diagnostics
) -> None:
    bounds = list(bounds)
    others = [other for other in _conditions(bounds) if other is not condition and other.span != condition.span]
    others.sort(key=lambda other: other.span.start)
    labels = [Label(other.span, "contradicts this") for other in others]
    pairs = sorted({(b.reason.earlier, b.reason.later) for b in bounds if isinstance(b.reason, _Order)})
    order = ", ".join(f"`{earlier}` before `{later}`" for earlier, later in pairs)
    if code == "CEP0404":
        diagnostics.error(
            code,
            condition.span,
            f"condition contradicts the order of SEQ: {order}",
            hint="turn the comparison around, or use AND(...) if the order does not matter",
            labels=labels,
        )
    elif code == "CEP0405":
        assert pattern.window is not None
        diagnostics.error(
            code,
            condition.span,
            f"condition asks for more time than the window of {duration_text(pattern.window)} has",
            hint="make the window longer or the distance shorter",
            notes=[f"SEQ puts {order}"] if order else [],
            labels=labels,
        )
    elif others:
        diagnostics.error(
            code,
            condition.span,
            "condition can never hold together with " + ("another" if len(others) == 1 else "others"),
            hint="remove or correct one of them: the pattern can never match",
            labels=labels,
        )
    else:
        diagnostics.error(
            code, condition.span, "condition can never hold", hint="correct it: the pattern can never match"
        )


def _window_alone(pattern: Pattern, diagnostics: Diagnostics) -> None:
    assert pattern.window is not None
    diagnostics.error(
        "CEP0405",
        pattern.span,
        f"the window of {duration_text(pattern.window)} is too short for the steps of SEQ",
        hint="events of neighbouring steps are at least one microsecond apart: make the window longer",
    )

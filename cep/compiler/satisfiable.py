"""Find conditions that can never hold, together or alone, and those that always do.

A pattern that can never match is a mistake, and nobody would notice it at run time: it stays silent. The conditions are
read as difference bounds (`cep.compiler.shared.bounds`), first alone, then with the order that `SEQ` asks for, then
with the window; what first makes them contradictory decides the code: CEP0403, CEP0404, CEP0405. Each contradiction is
reported at the last condition that takes part, with the others labelled; the search then goes on without it, so that
independent contradictions are all found.

A gap is judged for itself: what its conditions, its place and the single events around it leave, as if one event of it
were bound. Where that is nothing, a NOT always holds (CEP0407) and a set that may not be empty is an error. What is
said of gaps never counts against the single events.

Guarantee: an error is always right. Silence is not a proof that the pattern can match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cep.compiler.shared.bounds import Alternative, alternatives
from cep.compiler.shared.differences import Bound, Differences, Work
from cep.compiler.shared.ties import ordered_at_ties, tie_break, time_bound
from cep.diagnostics import Diagnostics, Label, Severity
from cep.ir.body import Absent, All, Body, Many, One, places, steps
from cep.ir.expr import Call, Col, Const, duration_text
from cep.ir.model import Condition, GapVariable, Pattern, Variable
from cep.ir.types import Type


@dataclass(frozen=True, slots=True)
class _Order:
    """`earlier` comes before `later` in a SEQ."""

    earlier: str
    later: str


class _Window:
    """The window is part of a contradiction."""


_WINDOW = _Window()


_Clause = tuple[Condition, list[Alternative]]


def satisfiable(pattern: Pattern, diagnostics: Diagnostics, work: Work | None = None) -> None:
    """Report what can never hold. Four sets of bounds at most, each built once; silent when the `work` is used up."""
    work = Work() if work is None else work
    if pattern.branches:
        _each(pattern.branches, diagnostics, work)
        return
    clauses: list[_Clause] = []
    for condition in (*_sizes(pattern), *pattern.conditions, *pattern.having):
        if isinstance(condition.expr, Const):
            _constant(condition, diagnostics)
            continue
        ways = alternatives(condition.expr, condition)
        if not ways:
            _report("CEP0403", condition, (), pattern, diagnostics)
        elif ways != [()]:
            clauses.append((condition, ways))
    order, window = order_bounds(pattern), window_bounds(pattern)
    ties = tie_breaks(pattern)
    if _all_hold([*order, *window], [*(ways for _, ways in clauses), *ties], work):
        _gaps(pattern, [*order, *window], [ways for _, ways in clauses], diagnostics, work)
        return
    background: list[Bound] = []
    for code, more in (("CEP0403", ()), ("CEP0404", order), ("CEP0405", window)):
        background += more
        clauses = _search(code, clauses, background, pattern, diagnostics, work)
    _broken_ties(ties, clauses, background, pattern, diagnostics, work)


def _each(branches: Sequence[Pattern], diagnostics: Diagnostics, work: Work) -> None:
    """Judge alternatives: one that can never match is a warning as long as another can."""
    found: list[Diagnostics] = []
    for branch in branches:
        found.append(Diagnostics())
        satisfiable(branch, found[-1], work)
    some = not all(each.has_errors for each in found)
    for item in (item for each in found for item in each):
        if some and item.severity is Severity.ERROR:
            note = "this is so in one of the alternatives of OR; others can match"
            diagnostics.extend([replace(item, severity=Severity.WARNING, notes=(*item.notes, note))])
        else:
            diagnostics.extend([item])


def _sizes(pattern: Pattern) -> Iterator[Condition]:
    """What the quantifiers say of the sets that are counted."""
    sets = {step.var: step for step in steps(pattern.body) if isinstance(step, Many)}
    for gap in pattern.gaps:
        if gap.name in sets and any(aggregate.name == "COUNT(*)" for aggregate in gap.aggregates):
            count, step = Col(gap.name, "COUNT(*)", Type.INT), sets[gap.name]
            for op, limit in ((">=", step.least), ("<=", step.most)):
                if limit is not None:
                    expr = Call(op, (count, Const(limit, Type.INT)), Type.BOOLEAN)
                    yield Condition(expr=expr, span=gap.span)


def with_one(pattern: Pattern, gap: GapVariable) -> Pattern:
    """The pattern with one event of a gap in the place of all of them, and without the other gaps."""
    return replace(
        pattern,
        variables=(*pattern.variables, Variable(name=gap.name, stream=gap.stream, span=gap.span)),
        body=_with_one(pattern.body, gap.name),
        conditions=(*pattern.conditions, *gap.conditions),
        gaps=(),
    )


def _with_one(body: Body, name: str) -> Body:
    if isinstance(body, (Absent, Many)):
        return One(name) if body.var == name else All(())
    return body if isinstance(body, One) else type(body)(tuple(_with_one(item, name) for item in body.items))


def _gaps(
    pattern: Pattern,
    background: list[Bound],
    clauses: list[list[Alternative]],
    diagnostics: Diagnostics,
    work: Work,
) -> None:
    """Report gaps that nothing can lie in. What holds of the single events is built once."""
    gaps = {gap.name: gap for gap in pattern.gaps}
    named = {variable.name: variable for variable in pattern.variables}
    known = Differences(work=work)
    for bound in (*background, *(bound for ways in clauses if len(ways) == 1 for bound in ways[0])):
        known.add(bound)
    for place in places(pattern.body):
        gap = gaps[place.step.var]
        own = Variable(name=gap.name, stream=gap.stream, span=gap.span)
        asked = [alternatives(condition.expr) for condition in gap.conditions]
        bounds = [time_bound(named[name], own) for name in place.after]
        bounds += [time_bound(own, named[name]) for name in place.before]
        bounds += window_bounds(replace(pattern, variables=(own,)))
        bounds += [bound for ways in asked if len(ways) == 1 for bound in ways[0]]
        mark = known.mark()
        held = all(known.add(bound) is None for bound in bounds)
        if not (held and all(one_way_holds(known, ways) for ways in asked if len(ways) != 1)):
            _empty(pattern, gap, diagnostics)
        known.undo(mark)


def _broken_ties(
    ties: list[list[Alternative]],
    clauses: list[_Clause],
    background: list[Bound],
    pattern: Pattern,
    diagnostics: Diagnostics,
    work: Work,
) -> None:
    """CEP0404 where conditions ask for equal times and for the order of the tie the other way round."""
    known = Differences(work=work)
    plain = [bound for _, ways in clauses if len(ways) == 1 for bound in ways[0]]
    if any(known.add(bound) is not None for bound in (*background, *plain)):
        return
    for ways in ties:
        together = _every_way_fails(ways, known)
        if together is not None and (found := _conditions(together)):
            last = max(found, key=lambda condition: condition.span.start)
            _report("CEP0404", last, together, pattern, diagnostics)


def order_bounds(pattern: Pattern) -> list[Bound]:
    """What `SEQ` says about event times."""
    timed = {v.name: v for v in pattern.variables if v.stream.time is not None}
    return [
        time_bound(timed[earlier], timed[later], _Order(earlier, later))
        for earlier, later in pattern.order
        if earlier in timed and later in timed
    ]


def tie_breaks(pattern: Pattern) -> list[list[Alternative]]:
    """What `SEQ` says about events of one moment, as alternatives."""
    named = {v.name: v for v in pattern.variables}
    return [
        alternatives(tie_break(named[earlier], named[later]), _Order(earlier, later))
        for earlier, later in pattern.order
        if ordered_at_ties(named[earlier], named[later])
    ]


def window_bounds(pattern: Pattern) -> list[Bound]:
    """What `WITHIN` says about event times: none after the latest, none before the earliest, and these two are near."""
    if pattern.window is None:
        return []
    earliest, latest = ("earliest",), ("latest",)
    times = list(_times(pattern).values())
    bounds = [Bound(latest, earliest, pattern.window, reason=_WINDOW)]
    bounds += [Bound(time, latest, 0, reason=_WINDOW) for time in times]
    bounds += [Bound(earliest, time, 0, reason=_WINDOW) for time in times]
    return bounds


def one_way_holds(known: Differences, ways: Iterable[Alternative]) -> bool:
    """Whether at least one way does not contradict what is known."""
    return any(known.try_all(way) is None for way in ways)


def _all_hold(background: list[Bound], clauses: list[list[Alternative]], work: Work) -> bool:
    """Whether nothing contradicts anything: what nearly every pattern is, found without asking for reasons."""
    known = Differences(work=work)
    plain = [bound for ways in clauses if len(ways) == 1 for bound in ways[0]]
    if any(known.add(bound) is not None for bound in (*background, *plain)):
        return False
    return all(one_way_holds(known, ways) for ways in clauses if len(ways) > 1)


def _search(
    code: str,
    clauses: list[_Clause],
    background: list[Bound],
    pattern: Pattern,
    diagnostics: Diagnostics,
    work: Work,
) -> list[_Clause]:
    """Report every contradiction that can be found, and give the clauses that are free of them."""
    known = Differences(work=work)
    if any(known.add(bound) is not None for bound in background):
        _window_alone(pattern, diagnostics)
        return clauses
    wrong: set[int] = set()
    # In the order they are written: what contradicts something before it is the last of its contradiction.
    for place in sorted(range(len(clauses)), key=lambda place: clauses[place][0].span.start):
        condition, ways = clauses[place]
        if len(ways) == 1:
            mark = known.mark()
            cycle = next((found for bound in ways[0] if (found := known.add(bound)) is not None), None)
            if cycle is not None:
                known.undo(mark)
                wrong.add(place)
                _report(code, condition, cycle, pattern, diagnostics)
    for place, (condition, ways) in enumerate(clauses):
        together = _every_way_fails(ways, known) if len(ways) > 1 else None
        if together is not None:
            wrong.add(place)
            _report(code, condition, together, pattern, diagnostics)
    return [clause for place, clause in enumerate(clauses) if place not in wrong]


def _every_way_fails(ways: list[Alternative], known: Differences) -> list[Bound] | None:
    """The contradictions of all alternatives with what is known; None as soon as one has none."""
    together: list[Bound] = []
    for way in ways:
        cycle = known.try_all(way)
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


def _empty(pattern: Pattern, gap: GapVariable, diagnostics: Diagnostics) -> None:
    """A gap that nothing can lie in: CEP0407 where that is fine for the match, CEP0403 where it is not."""
    step = next(step for step in steps(pattern.body) if step.var == gap.name)
    labels = [Label(condition.span, "this is asked of it") for condition in gap.conditions[:3]]
    hint = f"correct what is asked of `{gap.name}`"
    if isinstance(step, Many) and step.least > 0:
        message = f"no event can be in the set `{gap.name}`: the pattern can never match"
        diagnostics.error("CEP0403", gap.span, message, hint=hint, labels=labels)
    elif isinstance(step, Many):
        diagnostics.warning(
            "CEP0407",
            gap.span,
            f"no event can be in the set `{gap.name}`: it is always empty",
            hint=hint,
            labels=labels,
        )
    else:
        diagnostics.warning(
            "CEP0407", gap.span, f"no event can be `{gap.name}`: this NOT always holds", hint=hint, labels=labels
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

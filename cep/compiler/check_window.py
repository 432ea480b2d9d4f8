"""Time: which streams need an event time, what the window is, and whether every gap comes to an end.

A pattern may leave out `WITHIN` and `UNBOUNDED` where its conditions and its order bound the distance of any two of its
single events (`cep.compiler.shared.bounds`); the bound is then its window. One single event needs none. What is said of
gaps takes no part: an event that lies in a gap, or does not, is not in the match.
"""

from __future__ import annotations

from collections.abc import Sequence

from cep.compiler.check_body import Bindings, Kind
from cep.compiler.normalise import normal_form
from cep.compiler.resolve import Scope, duration_micros
from cep.compiler.shared.bounds import alternatives
from cep.compiler.shared.differences import Bound, largest_gap
from cep.compiler.shared.ranges import own_range
from cep.compiler.shared.ties import time_bound
from cep.diagnostics import Diagnostics, Label
from cep.ir import ast
from cep.ir.body import Body, Many, One, Select, order, places, singles, steps
from cep.ir.expr import Col, split_shift
from cep.ir.model import Condition, GapVariable, Pattern, Variable
from cep.ir.types import Type


def check_event_times(decl: ast.PatternDecl, bindings: Bindings, scope: Scope, diagnostics: Diagnostics) -> bool:
    """CEP0402: every stream that order, a window or a gap speaks of needs an event time."""
    ordered = {name for pair in order(bindings.body) for name in pair}
    windowed = isinstance(decl.window, ast.Within)
    has_gap = any(step.kind is not Kind.ONE for step in bindings.steps.values())
    good = True
    for name, step in bindings.steps.items():
        stream = step.stream
        if stream is None or stream.time is not None or not (windowed or has_gap or name in ordered):
            continue
        good = False
        if stream.name in scope.timeless:
            continue
        clause = "SEQ" if name in ordered else "WITHIN" if windowed else "a pattern with gaps (NOT, sets)"
        candidates = [attr for attr, type_ in stream.columns if type_ is Type.TIMESTAMP]
        diagnostics.error(
            "CEP0402",
            step.source,
            f"{clause} needs an event time, and stream `{stream.name}` has none",
            hint=f"add `TIMESTAMP BY {candidates[0]}` to the stream"
            if candidates
            else "give the stream a TIMESTAMP attribute and `TIMESTAMP BY`"
            + ("" if has_gap else ", or use AND(...) with UNBOUNDED"),
            labels=[Label(scope.declared[stream.name].name.span, "declared here")],
        )
    return good


def written_window(decl: ast.PatternDecl, diagnostics: Diagnostics) -> tuple[int | None, bool]:
    """The window of `WITHIN` in microseconds (CEP0406 where it is none), and whether it is right."""
    if not isinstance(decl.window, ast.Within):
        return None, True
    micros = duration_micros(decl.window.duration, diagnostics)
    if micros is not None and micros <= 0:
        diagnostics.error(
            "CEP0406", decl.window.duration.span, "window is not positive", hint="write a duration such as `1 HOUR`"
        )
    return micros, micros is not None and micros > 0


def implied_window(body: Body, variables: Sequence[Variable], conditions: Sequence[Condition]) -> int | None:
    """The longest distance that conditions and order leave between two single events; None where there is no limit."""
    if len(variables) < 2 or any(variable.stream.time is None for variable in variables):
        return None
    named = {variable.name: variable for variable in variables}
    bounds = _bounds(body, named, conditions)
    gap = largest_gap(bounds, [_time(variable) for variable in variables])
    return None if gap is None else max(gap, 1)  # events of one moment still need a window that is one


def check_trailing(pattern: Pattern, diagnostics: Diagnostics) -> bool:
    """CEP0408: a gap that nothing follows, in a pattern without a window, and no condition says when it is over.

    `LAST(B b)` asks whether a later event comes: it is such a gap too.
    """
    if pattern.window is not None:
        return True
    gaps = {gap.name: gap for gap in pattern.gaps}
    good = True
    for place in places(pattern.body):
        gap = gaps[place.step.var]
        alone = isinstance(place.step, Many) and not singles(pattern.body)
        if not (place.before or alone or _ends(pattern, _time(gap), gap.conditions)):
            good = False
            what = "no more events come" if isinstance(place.step, Many) else "it does not come"
            _never_over(pattern, gap, what, diagnostics)
    followed = {earlier for earlier, _ in pattern.order}
    named = {variable.name: variable for variable in pattern.variables}
    for step in steps(pattern.body):
        if isinstance(step, One) and step.select is Select.LAST and step.var not in followed:
            variable = named[step.var]
            if not _ends(pattern, _time(variable), ()):
                good = False
                _never_over(pattern, variable, "no later one comes", diagnostics)
    return good


def _ends(pattern: Pattern, time: Col, conditions: Sequence[Condition]) -> bool:
    """Whether a condition bounds a time by that of another event, as the plan has to find it: directly."""
    starts = {*map(_time, pattern.variables), *_ends_of_sets(pattern)} - {time}
    for condition in (*pattern.conditions, *conditions):
        for part in normal_form(condition.expr):
            bound = own_range(part, time.var)
            if (
                bound is not None
                and bound[0] == time
                and bound[1] in ("<", "<=")
                and split_shift(bound[2])[0] in starts
            ):
                return True
    return False


def _never_over(pattern: Pattern, step: Variable | GapVariable, what: str, diagnostics: Diagnostics) -> None:
    first = next((variable for variable in pattern.variables if variable.name != step.name), None)
    example = f", or say how long to wait: `{_time(step)} <= {_time(first)} + 1 HOUR`" if first is not None else ""
    diagnostics.error(
        "CEP0408",
        step.span,
        f"nothing follows `{step.name}`, and the pattern is UNBOUNDED: nothing ever says that {what}",
        hint=f"write `WITHIN 1 HOUR` (or another duration) instead{example}",
    )


def _ends_of_sets(pattern: Pattern) -> list[Col]:
    """The times of the first and last events of sets, as far as conditions mention them."""
    return [
        Col(gap.name, aggregate.name, aggregate.type)
        for gap in pattern.gaps
        for aggregate in gap.aggregates
        if aggregate.arg == Col(gap.name, gap.stream.time or "", Type.TIMESTAMP) and aggregate.type is Type.TIMESTAMP
    ]


def _bounds(body: Body, named: dict[str, Variable], conditions: Sequence[Condition]) -> list[Bound]:
    bounds = [time_bound(named[earlier], named[later]) for earlier, later in order(body)]
    for condition in conditions:
        ways = alternatives(condition.expr)
        if len(ways) == 1:
            bounds += ways[0]
    return bounds


def _time(variable: Variable | GapVariable) -> Col:
    assert variable.stream.time is not None
    return Col(variable.name, variable.stream.time, Type.TIMESTAMP)

"""Warn about what is legal and probably not meant: things never used, cross products, one event in two roles.

Warnings never stop a compilation. They are about the file as it is written (unused streams and variables) and about
checked patterns (the rest), so a pattern with errors earns no advice on top of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from cep.compiler.check_body import bound_steps
from cep.compiler.load import Unit
from cep.compiler.normalise import normal_form
from cep.compiler.resolve import HIDING
from cep.compiler.satisfiable import with_one
from cep.compiler.shared.differences import Work
from cep.compiler.shared.ranges import own_range
from cep.compiler.shared.same_event import SameEvent
from cep.compiler.shared.tree import nodes
from cep.diagnostics import Diagnostics, Label
from cep.ir import ast
from cep.ir.body import One, places, steps
from cep.ir.expr import INEQUALITIES, Call, Col, Expr, columns, variables, walk
from cep.ir.model import GapVariable, Pattern, Variable
from cep.ir.types import Type

_MOST_PAIRS = 100
_MOST_GAPS = 10


def lint(unit: Unit, patterns: Sequence[Pattern], diagnostics: Diagnostics, work: Work | None = None) -> None:
    """All warnings for a unit and its checked patterns; some stay unsaid when the `work` is used up."""
    work = Work() if work is None else work
    declared = {
        statement.name.text: statement
        for statement in reversed(unit.file.statements)
        if isinstance(statement, ast.PatternDecl)
    }
    if not any(item.code in HIDING for item in diagnostics):  # else a pattern that uses it may be missing
        _unused_streams(unit, diagnostics)
    silent: set[str] = set()
    for pattern in patterns:
        unused = _unused_variables(pattern, declared[pattern.name], diagnostics)
        written = {step.var.text for step in bound_steps(declared[pattern.name].body)}
        for branch in pattern.branches or (pattern,):
            _not_connected(branch, unused, diagnostics)
            _gaps_not_connected(branch, written, diagnostics)
            _same_event(branch, diagnostics, work)
            _in_its_own_gap(branch, diagnostics, work)
            _equal_sums(branch, diagnostics)
            _asked_of_each(branch, diagnostics)
            _silent(branch, silent, diagnostics)


def _unused_streams(unit: Unit, diagnostics: Diagnostics) -> None:
    """CEP0212. A file without patterns is there to be imported: its streams are used elsewhere."""
    used = {
        step.stream.text
        for statement in unit.file.statements
        if isinstance(statement, ast.PatternDecl)
        for step in bound_steps(statement.body)
    }
    if not used:
        return
    for statement in unit.file.statements:
        if isinstance(statement, ast.StreamDecl) and statement.name.text not in used:
            diagnostics.warning(
                "CEP0212",
                statement.name.span,
                f"stream `{statement.name.text}` is never used",
                hint="remove it, or move it to a file that is imported",
            )


def _unused_variables(pattern: Pattern, decl: ast.PatternDecl, diagnostics: Diagnostics) -> set[str]:
    """CEP0213. Without RETURN every attribute is an output; PARTITION BY uses every variable."""
    if decl.returns is None or decl.partition_by or len(pattern.variables) == 1:
        return set()
    mentioned = {
        (node.var if isinstance(node, ast.Attribute) else node.name).text
        for clause in (decl.where, decl.returns)
        if clause is not None
        for node in nodes(clause)
        if isinstance(node, (ast.Attribute, ast.Bare))
    }
    unused = {variable.name for variable in pattern.variables} - mentioned
    for variable in pattern.variables:
        if variable.name in unused:
            diagnostics.warning(
                "CEP0213",
                variable.span,
                f"variable `{variable.name}` is never used: each of its events multiplies the matches",
                hint="say in WHERE how it belongs to the others, or leave it out",
            )
    return unused


def _not_connected(pattern: Pattern, unused: set[str], diagnostics: Diagnostics) -> None:
    """CEP0501: groups of variables that only time holds together."""
    group = {variable.name: variable.name for variable in pattern.variables}

    def find(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    for condition in pattern.conditions:
        if not _only_time(condition.expr, pattern):
            first, *rest = sorted(variables(condition.expr)) or [""]
            for name in rest:
                group[find(name)] = find(first)
    if not pattern.variables:
        return
    first_group = find(pattern.variables[0].name)
    reported = {first_group}
    for variable in pattern.variables:
        root = find(variable.name)
        members = [v.name for v in pattern.variables if find(v.name) == root]
        if root in reported or unused.issuperset(members):
            continue
        reported.add(root)
        others = [v.name for v in pattern.variables if find(v.name) != root]
        held = "in the right order " if pattern.order else ""
        span = "within the window" if pattern.window is not None else "for ever"
        diagnostics.warning(
            "CEP0501",
            variable.span,
            f"{_listed(members)} {'is' if len(members) == 1 else 'are'} not connected to {_listed(others)}: "
            f"every combination {held}{span} matches",
            hint="join them in WHERE, e.g. on a key that both have, or with PARTITION BY",
        )


def _gaps_not_connected(pattern: Pattern, written: set[str], diagnostics: Diagnostics) -> None:
    """CEP0501: gaps that nothing but time ties to the single events. Between the events of NEXT that may be meant."""
    single = {variable.name for variable in pattern.variables}
    for gap in (gap for gap in pattern.gaps if gap.name in written):
        if not single or any(
            variables(condition.expr) & single and not _only_time(condition.expr, pattern)
            for condition in gap.conditions
        ):
            continue
        diagnostics.warning(
            "CEP0501",
            gap.span,
            f"`{gap.name}` is not connected to {_listed([v.name for v in pattern.variables])}: "
            f"every event of `{gap.stream.name}` in the gap counts",
            hint="join it in WHERE, e.g. on a key that both have, or with PARTITION BY",
        )


def _only_time(expr: Expr, pattern: Pattern) -> bool:
    """Whether a condition is an inequality between event times alone: it orders events, it does not connect them."""
    times = {(variable.name, variable.stream.time) for variable in pattern.variables}
    times |= {(gap.name, gap.stream.time) for gap in pattern.gaps}
    return (
        isinstance(expr, Call)
        and expr.op in INEQUALITIES
        and all((col.var, col.attr) in times for col in columns(expr))
    )


def _same_event(pattern: Pattern, diagnostics: Diagnostics, work: Work) -> None:
    """CEP0502: two variables of one stream, and nothing says that they are different events."""
    pairs = list(_one_stream(pattern))
    if not pairs:
        return
    judge = SameEvent(pattern, work)
    said = 0
    for first, second in pairs:
        if work.left < 0 or said >= _MOST_PAIRS:
            break
        if not judge.possible(first, second):
            continue
        said += 1
        key = _telling_apart(pattern, first, second)
        apart = f", or tell them apart, e.g. `{first.name}.{key} <> {second.name}.{key}`" if key else ""
        diagnostics.warning(
            "CEP0502",
            second.span,
            f"one event of `{first.stream.name}` can bind both `{first.name}` and `{second.name}`",
            hint=f"order them with SEQ{apart}",
            labels=[Label(first.span, "the other variable")],
            notes=["there may be more such pairs; only the first are listed"] if said == _MOST_PAIRS else [],
        )


def _in_its_own_gap(pattern: Pattern, diagnostics: Diagnostics, work: Work) -> None:
    """CEP0502: an event that lies in a gap of its own stream, which only an AND allows."""
    gaps = {gap.name: gap for gap in pattern.gaps}
    judged = 0
    for place in places(pattern.body):
        gap = gaps[place.step.var]
        apart = reach(place.before, pattern.order) | reach(place.after, [(b, a) for a, b in pattern.order])
        near = [v for v in pattern.variables if v.stream.name == gap.stream.name and v.name not in apart]
        if not near or work.left < 0 or judged >= _MOST_GAPS:
            continue
        judged += 1
        widened = with_one(pattern, gap)
        judge = SameEvent(widened, work)
        inside = next((variable for variable in near if judge.possible(variable, widened.variables[-1])), None)
        if inside is not None:
            diagnostics.warning(
                "CEP0502",
                gap.span,
                f"an event of `{gap.stream.name}` that binds `{inside.name}` lies in the gap of `{gap.name}` too",
                hint="order them with SEQ, or tell them apart in WHERE",
                labels=[Label(inside.span, "the event")],
            )


def reach(names: Iterable[str], order: Sequence[tuple[str, str]]) -> set[str]:
    """These variables and all that the order puts after them."""
    found = set(names)
    pending = list(found)
    while pending:
        here = pending.pop()
        fresh = [later for earlier, later in order if earlier == here and later not in found]
        found.update(fresh)
        pending += fresh
    return found


def _equal_sums(pattern: Pattern, diagnostics: Diagnostics) -> None:
    """CEP0508: equality with a sum of DOUBLEs, which rounding decides."""
    sums = {
        Col(gap.name, aggregate.name, aggregate.type)
        for gap in pattern.gaps
        for aggregate in gap.aggregates
        if aggregate.op in ("SUM", "AVG") and aggregate.type is Type.DOUBLE
    }
    for condition in pattern.having:
        for node in walk(condition.expr):
            if isinstance(node, Call) and node.op in ("=", "<>", "in") and sums.intersection(columns(node)):
                diagnostics.warning(
                    "CEP0508",
                    condition.span,
                    "equality with a sum or an average of DOUBLE: the last bit decides",
                    hint="compare with a range: `ABS(SUM(b.x) - a.y) < 0.005`",
                )
                break


def _asked_of_each(pattern: Pattern, diagnostics: Diagnostics) -> None:
    """CEP0507: conditions on the events of a gap that are neither filters nor keys nor bounds of their time.

    Each gap once: what one such condition costs, more of them cost as well.
    """
    for gap in pattern.gaps:
        time = Col(gap.name, gap.stream.time or "", Type.TIMESTAMP)
        costly = (c for c in gap.conditions if not all(_found_by_index(part, time) for part in normal_form(c.expr)))
        if (condition := next(costly, None)) is not None:
            diagnostics.warning(
                "CEP0507",
                condition.span,
                f"condition is asked of each event in the gap of `{gap.name}`, for every combination of the others",
                hint="an equality with one other event is looked up instead, and so is a bound on the time",
            )


def _found_by_index(expr: Expr, time: Col) -> bool:
    """Whether a condition on a gap's event is a filter, an equality with another event, or a bound of its time."""
    if variables(expr) <= {time.var}:
        return True
    if isinstance(expr, Call) and expr.op == "=":
        sides = [variables(side) for side in expr.args]
        return {time.var} in sides and all(len(side) == 1 for side in sides)
    bound = own_range(expr, time.var)
    return bound is not None and bound[0] == time


def _silent(pattern: Pattern, said: set[str], diagnostics: Diagnostics) -> None:
    """CEP0505: streams that a gap waits for, and nothing says how long their silence can last; each once."""
    named = {variable.name: variable for variable in pattern.variables}
    asked: list[Variable | GapVariable] = list(pattern.gaps)
    asked += [named[step.var] for step in steps(pattern.body) if isinstance(step, One) and step.select is not None]
    trailing = any(not place.before for place in places(pattern.body))
    for each in (*asked, *(pattern.variables if trailing else ())):
        stream = each.stream
        if stream.idle_after is not None or stream.name in said:
            continue
        said.add(stream.name)
        diagnostics.warning(
            "CEP0505",
            each.span,
            f"a match waits until time has passed, and a silent stream `{stream.name}` holds time up",
            hint="add `IDLE AFTER 1 MINUTE` to the stream, if its events arrive at most so long after their time",
        )


def _telling_apart(pattern: Pattern, first: Variable, second: Variable) -> str | None:
    """An attribute that the two variables need not share: not the time, not what equalities hold equal."""
    joined = {
        col.attr
        for condition in pattern.conditions
        if isinstance(condition.expr, Call) and condition.expr.op == "="
        for col in columns(condition.expr)
        if col.var in (first.name, second.name)
    }
    free = [name for name, _ in first.stream.columns if name != first.stream.time and name not in joined]
    return free[0] if free else None


def _one_stream(pattern: Pattern) -> Iterator[tuple[Variable, Variable]]:
    for first, second in combinations(pattern.variables, 2):
        if first.stream.name == second.stream.name:
            yield first, second


def _listed(names: Sequence[str]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} and {last}" if most else last

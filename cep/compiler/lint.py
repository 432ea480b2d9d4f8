"""Warn about what is legal and probably not meant: things never used, cross products, one event in two roles.

Warnings never stop a compilation. They are about the file as it is written (unused streams and variables) and about
checked patterns (the rest), so a pattern with errors earns no advice on top of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from cep.compiler.bounds import alternatives
from cep.compiler.load import Unit
from cep.compiler.resolve import HIDING
from cep.compiler.satisfiable import order_bounds, possible
from cep.compiler.tree import nodes
from cep.diagnostics import Diagnostics, Label
from cep.expr import INEQUALITIES, Call, Col, Expr, columns, rewrite, variables
from cep.model import Condition, Pattern, Variable
from cep.syntax import ast
from cep.types import Type


def lint(unit: Unit, patterns: Sequence[Pattern], diagnostics: Diagnostics) -> None:
    """All warnings for a unit and its checked patterns."""
    declared = {
        statement.name.text: statement
        for statement in reversed(unit.file.statements)
        if isinstance(statement, ast.PatternDecl)
    }
    if not any(item.code in HIDING for item in diagnostics):  # else a pattern that uses it may be missing
        _unused_streams(unit, diagnostics)
    for pattern in patterns:
        unused = _unused_variables(pattern, declared[pattern.name], diagnostics)
        _not_connected(pattern, unused, diagnostics)
        _same_event(pattern, diagnostics)


def _unused_streams(unit: Unit, diagnostics: Diagnostics) -> None:
    """CEP0212. A file without patterns is there to be imported: its streams are used elsewhere."""
    used = {
        step.stream.text
        for statement in unit.file.statements
        if isinstance(statement, ast.PatternDecl)
        for step in nodes(statement.body)
        if isinstance(step, (ast.Step, ast.Repeat))
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
        node.var.text
        for clause in (decl.where, decl.returns)
        if clause is not None
        for node in nodes(clause)
        if isinstance(node, ast.Attribute)
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


def _only_time(expr: Expr, pattern: Pattern) -> bool:
    """Whether a condition is an inequality between event times alone: it orders events, it does not connect them."""
    times = {(variable.name, variable.stream.time) for variable in pattern.variables}
    return (
        isinstance(expr, Call)
        and expr.op in INEQUALITIES
        and all((col.var, col.attr) in times for col in columns(expr))
    )


def _same_event(pattern: Pattern, diagnostics: Diagnostics) -> None:
    """CEP0502: two variables of one stream, and nothing says that they are different events."""
    for first, second in _one_stream(pattern):
        if not _can_be_one(pattern, first, second):
            continue
        key = _telling_apart(pattern, first, second)
        apart = f", or tell them apart, e.g. `{first.name}.{key} <> {second.name}.{key}`" if key else ""
        diagnostics.warning(
            "CEP0502",
            second.span,
            f"one event of `{first.stream.name}` can bind both `{first.name}` and `{second.name}`",
            hint=f"order them with SEQ{apart}",
            labels=[Label(first.span, "the other variable")],
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


def _can_be_one(pattern: Pattern, first: Variable, second: Variable) -> bool:
    """Put `first` in the place of `second` and see whether the conditions can still hold."""

    def merge(expr: Expr) -> Expr:
        return Col(first.name, expr.attr, expr.type) if isinstance(expr, Col) and expr.var == second.name else expr

    conditions = [Condition(expr=rewrite(c.expr, merge), span=c.span) for c in pattern.conditions]
    bounds = order_bounds(pattern)
    time = first.stream.time
    if time is not None:
        same = Call("=", tuple(Col(v.name, time, Type.TIMESTAMP) for v in (first, second)), Type.BOOLEAN)
        bounds += alternatives(same)[0]
    clauses = []
    for condition in conditions:
        ways = alternatives(condition.expr)
        if len(ways) == 1:
            bounds += ways[0]
        else:
            clauses.append(ways)
    return possible(bounds, clauses)


def _listed(names: Sequence[str]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} and {last}" if most else last

"""Can one event bind two variables? Put one in the place of the other and see whether the conditions can still hold.

What all pairs have in common (the order, the conditions as difference bounds) is built once. A pair adds that the
attributes of its two variables are equal, and reads the conditions that mention both once more, with one name for the
two: `a.x + b.x < 5` says something about `a.x` alone then. Renaming the variable everywhere would find no more.

Guarantee: "no" is right. "Yes" means that nothing was found against it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from cep.compiler.satisfiable import one_way_holds, order_bounds
from cep.compiler.shared.bounds import Alternative, alternatives
from cep.compiler.shared.differences import Bound, Differences, Work
from cep.ir.expr import Call, Col, Expr, rewrite, variables
from cep.ir.model import Pattern, Variable
from cep.ir.types import Type


class SameEvent:
    """Judges pairs of variables of one pattern."""

    def __init__(self, pattern: Pattern, work: Work) -> None:
        self._pattern = pattern
        self._known = Differences(work=work)
        self._clauses: list[list[Alternative]] = []
        self._uses = [(condition.expr, variables(condition.expr)) for condition in pattern.conditions]
        bounds = order_bounds(pattern)
        for condition in pattern.conditions:
            ways = alternatives(condition.expr)
            if len(ways) == 1:
                bounds += ways[0]
            else:
                self._clauses.append(ways)
        self._never = any(self._known.add(bound) is not None for bound in bounds)
        self._later = _after(pattern)
        self._nodes: dict[str, dict[Hashable, None]] = {}
        for bound in (*bounds, *(bound for ways in self._clauses for way in ways for bound in way)):
            for node in (bound.left, bound.right):
                if (col := _column(node)) is not None:
                    self._nodes.setdefault(col.var, {})[node] = None

    def possible(self, first: Variable, second: Variable) -> bool:
        """Whether one event may bind both variables, as far as can be seen."""
        if self._never or second.name in self._later[first.name] or first.name in self._later[second.name]:
            return False
        mark = self._known.mark()
        try:
            return self._possible(first, second)
        finally:
            self._known.undo(mark)

    def _possible(self, first: Variable, second: Variable) -> bool:
        if any(self._known.add(bound) is not None for bound in self._equal(first, second)):
            return False
        clauses: list[list[Alternative]] = []
        for expr, used in self._uses:
            if first.name in used and second.name in used:
                ways = alternatives(_merged(expr, first.name, second.name))
                if len(ways) == 1:
                    if any(self._known.add(bound) is not None for bound in ways[0]):
                        return False
                else:
                    clauses.append(ways)
        return all(one_way_holds(self._known, ways) for ways in (*clauses, *self._clauses))

    def _equal(self, first: Variable, second: Variable) -> Iterator[Bound]:
        """One event has one time, and one value for each attribute."""
        if first.stream.time is not None:
            times = tuple(Col(v.name, first.stream.time, Type.TIMESTAMP) for v in (first, second))
            yield from alternatives(Call("=", times, Type.BOOLEAN))[0]
        nodes = {**self._nodes.get(first.name, {}), **self._nodes.get(second.name, {})}
        for node in dict.fromkeys(_renamed(node, first.name) for node in nodes):
            twin = _renamed(node, second.name)
            yield Bound(node, twin, 0)
            yield Bound(twin, node, 0)


def _after(pattern: Pattern) -> dict[str, set[str]]:
    """What `SEQ` puts after each variable, in one step or several: nothing is before itself, whatever its time."""
    next_: dict[str, list[str]] = {variable.name: [] for variable in pattern.variables}
    for earlier, later in pattern.order:
        next_[earlier].append(later)
    found: dict[str, set[str]] = {}
    for name in next_:
        reached: set[str] = set()
        pending = [name]
        while pending:
            fresh = [later for later in next_[pending.pop()] if later not in reached]
            reached.update(fresh)
            pending += fresh
        found[name] = reached
    return found


def _column(node: Hashable) -> Col | None:
    """The attribute that a node of the bounds speaks of; None for constants."""
    inner = node[1] if isinstance(node, tuple) and len(node) == 2 else node
    return inner if isinstance(inner, Col) else None


def _renamed(node: Hashable, name: str) -> Hashable:
    if isinstance(node, tuple):
        return (node[0], _renamed(node[1], name))
    return Col(name, node.attr, node.type) if isinstance(node, Col) else node


def _merged(expr: Expr, first: str, second: str) -> Expr:
    return rewrite(expr, lambda e: Col(first, e.attr, e.type) if isinstance(e, Col) and e.var == second else e)

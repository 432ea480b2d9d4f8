"""Triggers: for each variable, in which order and through which index a new event of it finds the rest of its matches.

For an acyclic query the order walks the join tree away from the trigger, so that every condition of a step speaks of
the step's variable and its tree neighbour. For a cyclic query the next variable is the one with most conditions towards
those already bound. Either way each condition is used exactly once per trigger: as a key or range of an index where
that is possible, as a check where it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cep.expr import FLIPPED, Call, Col, Expr, shift, split_shift, variables
from cep.gcq import GCQ
from cep.plan import Edge, Index, Range, Step, Trigger
from cep.types import Type


@dataclass(slots=True)
class Triggers:
    """The triggers of a plan and the indexes they share."""

    triggers: list[Trigger] = field(default_factory=list)
    indexes: list[Index] = field(default_factory=list)

    def index(self, wanted: Index) -> int:
        """The place of an index, added where it is new."""
        if wanted not in self.indexes:
            self.indexes.append(wanted)
        return self.indexes.index(wanted)


def triggers(gcq: GCQ, edges: tuple[Edge, ...], rank: Mapping[str, int], *, acyclic: bool) -> Triggers:
    """All triggers, earliest events first (the order in which a batch is applied)."""
    result = Triggers()
    for var in sorted(rank, key=lambda name: rank[name]):
        result.triggers.append(_trigger(gcq, edges, rank, acyclic, var, result))
    return result


def _trigger(
    gcq: GCQ, edges: tuple[Edge, ...], rank: Mapping[str, int], acyclic: bool, start: str, result: Triggers
) -> Trigger:
    steps = _order(gcq, edges, rank, acyclic, start, None, result)
    others: list[tuple[Step, ...]] = []
    if not acyclic:
        # The smallest list is joined first: any neighbour of the trigger may be the one that has it.
        firsts = [name for name in rank if name not in (start, steps[0].var) and _connected(gcq, start, name)]
        others += [_order(gcq, edges, rank, acyclic, start, first, result) for first in firsts]
    return Trigger(var=start, steps=steps, alternatives=tuple(others))


def _connected(gcq: GCQ, left: str, right: str) -> bool:
    """Whether an equality or inequality joins two variables."""
    if any({left, right} <= {name for name, _ in v.members} for v in gcq.variables):
        return True
    return any(variables(c) == {left, right} for c in gcq.inequalities)


def _order(
    gcq: GCQ,
    edges: tuple[Edge, ...],
    rank: Mapping[str, int],
    acyclic: bool,
    start: str,
    first: str | None,
    result: Triggers,
) -> tuple[Step, ...]:
    """The steps from a trigger, beginning with `first` where it is given."""
    pending = [*gcq.inequalities, *gcq.predicates]
    bound = [start]
    steps: list[Step] = []
    skipped: set[str] = set()
    while len(bound) + len(skipped) < len(rank):
        var, via = (first, start) if first and not steps else _next(gcq, edges, rank, acyclic, bound, skipped)
        below = _below(edges, via, var)
        chain = any(edge.chain and (edge.parent, edge.child) == (via, var) for edge in edges)
        usable = [c for c in pending if variables(c) <= {*bound, var}]
        step = _step(gcq, var, via, bound, usable, chain, result)
        if acyclic and gcq.pattern.distinct and _only_asked_for(gcq, step, below, pending, edges):
            step = replace(step, exists=True)
            skipped |= below
        pending = [c for c in pending if c not in usable]
        steps.append(step)
        if not step.exists:
            bound.append(var)
    # What only asks for existence is asked last: then the match's own time span is known.
    steps.sort(key=lambda step: step.exists)
    return tuple(steps)


def _next(
    gcq: GCQ, edges: tuple[Edge, ...], rank: Mapping[str, int], acyclic: bool, bound: list[str], skipped: set[str]
) -> tuple[str, str]:
    """The variable to bind next and its bound neighbour."""
    near = [(e.child, e.parent) for e in edges if e.parent in bound] + [
        (e.parent, e.child) for e in edges if e.child in bound
    ]
    near = [(var, via) for var, via in near if var not in bound and var not in skipped]
    if acyclic:
        # Towards the root first: that is where a late event fails early.
        return max(near, key=lambda pair: (rank[pair[0]], rank[pair[1]]))

    def strength(var: str) -> tuple[int, int, int]:
        keys = sum(1 for v in gcq.variables if _supplier(v.members, var, bound) is not None)
        ranges = sum(1 for c in gcq.inequalities if var in variables(c) and variables(c) <= {*bound, var})
        return keys, ranges, rank[var]

    var = max((name for name in rank if name not in bound), key=strength)
    neighbours = [via for name, via in near if name == var]
    return var, neighbours[0] if neighbours else bound[-1]


def _supplier(members: tuple[tuple[str, Expr], ...], var: str, bound: list[str], via: str | None = None) -> str | None:
    """The bound variable that supplies a join variable to `var`: the neighbour where it can."""
    names = [name for name, _ in members]
    if var not in names:
        return None
    suppliers = [name for name in bound if name in names]
    return via if via in suppliers else (suppliers[0] if suppliers else None)


def _step(gcq: GCQ, var: str, via: str, bound: list[str], usable: list[Expr], chain: bool, result: Triggers) -> Step:
    keys: list[tuple[str, str]] = []
    for variable in gcq.variables:
        supplier = _supplier(variable.members, var, bound, via)
        if supplier is not None:
            keys.append((variable.name, supplier))
    candidates = [(c, _own_range(c, var)) for c in usable]
    sort = _sort(gcq, var, [found[0] for _, found in candidates if found is not None])
    ranges: list[Range] = []
    checks: list[Expr] = []
    for condition, found in candidates:
        if found is not None and found[0] == sort:
            ranges.append(Range(op=found[1], bound=found[2]))
        else:
            checks.append(condition)
    index = result.index(Index(var=var, key=tuple(name for name, _ in keys), sort=sort))
    return Step(
        var=var,
        via=via,
        index=index,
        key=tuple(supplier for _, supplier in keys),
        ranges=tuple(ranges),
        checks=tuple(checks),
        chain=chain and not checks,
    )


def _own_range(condition: Expr, var: str) -> tuple[Expr, str, Expr] | None:
    """Read an inequality as `own op bound` with `own` over `var` and without a constant shift."""
    if not (isinstance(condition, Call) and condition.op in ("<", "<=", ">", ">=")):
        return None
    left, right = condition.args
    op = condition.op
    if variables(left) != {var}:
        left, right, op = right, left, FLIPPED[op]
    if variables(left) != {var} or len(variables(right)) != 1 or variables(right) == {var}:
        return None
    own, micros = split_shift(left)
    return own, op, shift(right, -micros)


def _sort(gcq: GCQ, var: str, candidates: list[Expr]) -> Expr | None:
    """What the index is sorted by: the event time wherever window or order can use it, else the first inequality."""
    time = next(atom.stream.time for atom in gcq.atoms if atom.name == var)
    if time is not None and (gcq.window is not None or Col(var, time, Type.TIMESTAMP) in candidates):
        return Col(var, time, Type.TIMESTAMP)
    return candidates[0] if candidates else None


def _below(edges: tuple[Edge, ...], via: str, var: str) -> set[str]:
    """The variables on the far side of the edge between `via` and `var`, `var` included."""
    side = {var}
    grown = True
    while grown:
        grown = False
        for edge in edges:
            for a, b in ((edge.parent, edge.child), (edge.child, edge.parent)):
                if a in side and b not in side and {a, b} != {via, var}:
                    side.add(b)
                    grown = True
    return side


def _only_asked_for(gcq: GCQ, step: Step, below: set[str], pending: list[Expr], edges: tuple[Edge, ...]) -> bool:
    """Whether nothing of the far side is put out, and one index probe decides whether a partner exists.

    A chain carries its best start, so one probe speaks for the whole chain and its window. Without a window, a single
    variable whose conditions are all one range can be asked for as well.
    """
    outputs = {name for _, expr in gcq.pattern.fields for name in variables(expr)}
    if below & outputs or step.checks:
        return False
    if any(variables(c) & below and variables(c) - below - {step.via} for c in pending):
        return False
    if step.chain:
        inner = [edge for edge in edges if {edge.parent, edge.child} <= below]
        return all(edge.chain for edge in inner)
    return gcq.window is None and below == {step.var}

"""Ranges: where in a sorted index the partners of partial matches stand.

A step turns each partial match into one contiguous range of an index: its group, then one bisection for each
inequality, then one for the window. All partial matches are searched for at once.

Windows need no predicate: if all events so far lie within the window, the next one must lie between `latest - window`
and `earliest + window`, which is one more bound on an index sorted by time. On a *chain* the lower bound is put on the
best start instead, so that every row in the range leads to a match.

Partial matches outnumber the rows that they are made of. What one row decides (the neighbour's: group and inequalities;
the latest event's: how old a partner may be) is searched for once a row, not once a partial match.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cep.ir.expr import Col, Expr, split_shift, variables
from cep.ir.plan import Fold, Plan, Step
from runtime.arrays.sorted_groups import Operations, SortedGroups
from runtime.search.partial import Partial
from runtime.state.leaf import DEAD, Leaf, Spaces

Range = tuple[np.ndarray, np.ndarray]
"""First and end position of each partial match's partners; empty where the first is not smaller."""


@dataclass(slots=True)
class BoundStep:
    """A step, looked up once: its index, its leaf, and what its bounds say."""

    step: Step
    index: SortedGroups
    leaf: Leaf
    signature: tuple[str, ...]
    supplier: str | None
    """The one variable that supplies the key; None where several do."""
    same_group: frozenset[str]
    """The variables bound so far whose events are known to be of the same group as the partners."""
    by_time: bool
    """Whether the index is sorted by time."""
    not_before: bool
    """Whether a partner is never earlier than the neighbour."""
    not_after: bool
    """Whether a partner is never later than the neighbour."""
    by_row: bool
    """Whether the neighbour's row alone decides group and inequalities."""
    ready_at: int
    """The number of the step that binds the last variable that this one needs."""
    ranges: list[tuple[str, str, Expr]]


def bind_steps(plan: Plan, trigger: str, steps: tuple[Step, ...], leaves: Mapping[str, Leaf]) -> list[BoundStep]:
    """The steps of one order, each with what is known when its turn comes."""
    order = [trigger, *(step.into or step.var if isinstance(step, Fold) else step.var for step in steps)]
    same: dict[tuple[str, str], str] = {}  # of a key and a variable: the variable that its number was first taken from
    bound: list[BoundStep] = []
    for number, step in enumerate(steps):
        suppliers = list(zip(plan.indexes[step.index].key, step.key, strict=True))
        sources = {(name, same.get((name, var), var)) for name, var in suppliers}
        agreeing = {v for v in order[: number + 1] if {(n, same.get((n, v), v)) for n, _ in suppliers} == sources}
        bound.append(_bind(plan, step, number, order, frozenset(agreeing), leaves))
        same |= {(name, step.var): same.get((name, var), var) for name, var in suppliers}
    return bound


def _bind(
    plan: Plan, step: Step, number: int, order: list[str], same_group: frozenset[str], leaves: Mapping[str, Leaf]
) -> BoundStep:
    described = plan.indexes[step.index]
    leaf = leaves[step.var]
    time = Col(step.var, leaf.spec.time or "", described.sort.type) if described.sort is not None else None
    by_time = described.sort is not None and described.sort == time
    neighbour = (step.via, leaves[step.via].spec.time)
    needed = {step.via, *step.key, *(v for r in step.ranges for v in variables(r.bound))}
    return BoundStep(
        step=step,
        index=leaf.indexes[step.index],
        leaf=leaf,
        signature=described.key,
        supplier=next(iter(set(step.key) or {step.via})) if len(set(step.key)) <= 1 else None,
        same_group=same_group,
        by_time=by_time,
        not_before=by_time and any(r.op in (">", ">=") and _not_below(r.bound, *neighbour) for r in step.ranges),
        not_after=by_time and any(r.op in ("<", "<=") and _not_above(r.bound, *neighbour) for r in step.ranges),
        by_row=needed == {step.via},
        ready_at=min(number, max(order.index(v) for v in needed)),
        ranges=[(r.op, next(iter(variables(r.bound))), r.bound) for r in step.ranges],
    )


class Ranges:
    """Finds them. What it remembers of rows holds until `forget`, for as long as no index changes."""

    __slots__ = ("_branch", "_known", "_leaves", "_operations", "_spaces", "_window")

    def __init__(self, plan: Plan, leaves: Mapping[str, Leaf], spaces: Spaces, operations: Operations) -> None:
        self._window = plan.window
        self._branch = plan.branch
        self._leaves = leaves
        self._spaces = spaces
        self._operations = operations
        self._known: dict[tuple[int, str, str], Range | None] = {}

    def forget(self) -> None:
        """Before the first search after a change."""
        self._known.clear()

    def of(self, bound: BoundStep, partial: Partial, floor: int | None) -> Range:
        """For each partial match, the range of index positions that hold its partners."""
        joined = self._joined(bound, partial)
        if joined is None:
            nothing = np.zeros(partial.size, dtype=np.int64)
            return nothing, nothing
        low, high = joined
        has_best = bound.step.chain and self._branch in bound.leaf.best
        chained = bound.leaf.best_starts(self._branch) if has_best else None
        if self._window is not None and bound.by_time:
            if chained is not None or not bound.not_before:
                low = self._not_older(bound, partial, low, high, chained, floor)
            if not bound.not_after:
                start = partial.start(self._leaves)
                assert start is not None
                high = bound.index.bisect(low, high, start + self._window, "right")
        elif chained is not None:
            oldest = np.full(len(low), DEAD + 1 if floor is None else floor, dtype=np.int64)
            low = bound.index.bisect(low, high, oldest, "left", by=chained)
        return low, high

    # --- group and inequalities ------------------------------------------------------------------------------------

    def _joined(self, bound: BoundStep, partial: Partial) -> Range | None:
        """The partners by keys and inequalities; None where nothing has any."""
        via = bound.step.via
        if not bound.by_row or partial.size < self._leaves[via].size:
            return self._search(bound, partial.rows, partial.size)
        known = self._once("joined", bound, via, lambda rows: self._search(bound, {via: rows}, len(rows)))
        return None if known is None else (known[0].take(partial.rows[via]), known[1].take(partial.rows[via]))

    def _once(
        self, what: str, bound: BoundStep, var: str, search: Callable[[np.ndarray], Range | None]
    ) -> Range | None:
        """A search for every row of a variable, done before or now."""
        key = (id(bound), what, var)
        if key not in self._known:
            self._known[key] = search(np.arange(self._leaves[var].size))
        return self._known[key]

    def _search(self, bound: BoundStep, rows: Mapping[str, np.ndarray], size: int) -> Range | None:
        index = bound.index
        bounds = [(op, self._leaves[var].compared(expr, rows[var])) for op, var, expr in bound.ranges]
        if index.size == 0 or any(index.beyond(op, values) for op, values in bounds):
            # In time order this is what becomes of every event but the last of its match.
            return None
        self._operations.seeks += size
        low, high = index.bounds(self._groups(bound, rows, size))
        for op, values in bounds:
            if op in ("<", "<="):
                high = index.bisect(low, high, values, "left" if op == "<" else "right")
            else:
                low = index.bisect(low, high, values, "right" if op == ">" else "left")
        return low, high

    def _groups(self, bound: BoundStep, rows: Mapping[str, np.ndarray], size: int) -> np.ndarray:
        if bound.supplier is not None:
            return self._leaves[bound.supplier].group(bound.signature, rows[bound.supplier])
        keys = [
            self._leaves[var].key(name, rows[var]) for name, var in zip(bound.signature, bound.step.key, strict=True)
        ]
        return self._spaces.groups[bound.signature].encode(keys, size, add=False)

    # --- the window ------------------------------------------------------------------------------------------------

    def _not_older(
        self,
        bound: BoundStep,
        partial: Partial,
        low: np.ndarray,
        high: np.ndarray,
        chained: np.ndarray | None,
        floor: int | None,
    ) -> np.ndarray:
        """Where partners begin that (or, on a chain, whose best starts) are within the window of the latest event."""
        index, var = bound.index, partial.latest
        if isinstance(var, str) and var in bound.same_group and self._leaves[var].size <= partial.size:
            newest = self._leaves[var]

            def search(rows: np.ndarray) -> Range:
                assert newest.time is not None
                first, end = index.bounds(newest.group(bound.signature, rows))
                return index.bisect(first, end, self._oldest(newest.time.at(rows), floor), "left", by=chained), end

            known = self._once("window", bound, var, search)
            assert known is not None
            since: np.ndarray = known[0].take(partial.rows[var])
            later: np.ndarray = np.maximum(low, since)
            return later
        latest = partial.end(self._leaves)
        assert latest is not None
        return index.bisect(low, high, self._oldest(latest, floor), "left", by=chained)

    def _oldest(self, latest: np.ndarray, floor: int | None) -> np.ndarray:
        assert self._window is not None
        oldest: np.ndarray = latest - self._window
        return oldest if floor is None else np.maximum(oldest, floor)


def _not_above(bound: Expr, via: str, time: str | None) -> bool:
    """Whether a time bound is at most the neighbour's own time."""
    base, shift = split_shift(bound)
    return isinstance(base, Col) and base.var == via and base.attr == time and shift <= 0


def _not_below(bound: Expr, via: str, time: str | None) -> bool:
    """Whether a time bound is at least the neighbour's own time."""
    base, shift = split_shift(bound)
    return isinstance(base, Col) and base.var == via and base.attr == time and shift >= 0

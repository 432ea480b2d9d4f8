"""Gaps: which partial matches have an event in a gap, and what the events of a gap add up to.

The events of a gap are a range of an index, like the partners of a step: keys, bounds and the window are searched for
in the same way (`runtime.search.ranges`). Where conditions are left that no index decides, the events in the range are
looked at, a chunk at a time.

`Asks` is what a held leaf asks of its rows as they are applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cep.ir.expr import Col
from cep.ir.plan import Fold, Plan, Probe
from runtime.arrays.columnar import holds
from runtime.arrays.sorted_groups import Operations, spread
from runtime.search.folds import fold, ordered_by, parts
from runtime.search.partial import Partial
from runtime.search.ranges import BoundStep, Ranges, bind_steps
from runtime.state.leaf import Leaf, Spaces

CHUNK = 1 << 15
"""Events of gaps that are looked at at a time."""


def in_gap(
    ranges: Ranges, bound: BoundStep, partial: Partial, leaves: Mapping[str, Leaf], operations: Operations
) -> np.ndarray:
    """Which partial matches have an event in a gap."""
    low, high = ranges.of(bound, partial, None)  # what blocks does so whatever else has left
    found: np.ndarray = high > low
    if not bound.step.checks or not found.any():
        return found
    open_ = np.flatnonzero(found)
    found = np.zeros(partial.size, dtype=np.bool_)
    counts = (high - low)[open_]
    for part in parts(counts, CHUNK):
        some, repeats = open_[part], counts[part]
        rows = bound.index.rows_at(spread(low[some], repeats))
        operations.seeks += len(rows)
        of = some.repeat(repeats)

        def supply(col: Col, rows: np.ndarray = rows, of: np.ndarray = of) -> Any:
            where = rows if col.var == bound.step.var else partial.rows[col.var][of]
            return leaves[col.var].columns[col.attr].computed(where)

        mask = holds(bound.step.checks, supply, len(rows))
        found[of if mask is None else of[mask.to_numpy(zero_copy_only=False)]] = True
    return found


class Asks:
    """What the rows of one held leaf are asked as they are applied."""

    __slots__ = ("_bound", "_leaf", "_leaves", "_operations", "_ranges", "_var")

    def __init__(
        self, plan: Plan, var: str, leaves: Mapping[str, Leaf], spaces: Spaces, operations: Operations
    ) -> None:
        self._var = var
        self._leaf = leaves[var]
        self._leaves = leaves
        self._operations = operations
        self._ranges = Ranges(plan, leaves, spaces, operations)
        self._bound = [bind_steps(plan, var, (ask,), leaves)[0] for ask in plan.leaf(var).asks]

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Work out the derived columns of new rows; which of them stay."""
        stays = np.ones(len(rows), dtype=np.bool_)
        if not len(rows):
            return stays
        if self._leaf.spec.once is not None:
            stays = self._last_of_moment(rows)
        partial = Partial(len(rows), {self._var: rows}, self._var, self._var)
        self._ranges.forget()
        for bound in self._bound:
            ask = bound.step
            if isinstance(ask, Probe):
                stays &= ~in_gap(self._ranges, bound, partial, self._leaves, self._operations)
            else:
                assert isinstance(ask, Fold)
                fits, values = fold(self._ranges, bound, partial, self._leaves, self._operations)
                for folded in ask.folded:
                    self._leaf.columns[folded.name].extend(values[folded.name])
                stays &= fits
            self._ranges.forget()
        having = self._leaf.spec.having
        if having:
            mask = holds(having, lambda col: self._leaf.columns[col.attr].computed(rows), len(rows))
            if mask is not None:
                stays &= mask.to_numpy(zero_copy_only=False)
        return stays

    def _last_of_moment(self, rows: np.ndarray) -> np.ndarray:
        """Which rows are, of those of one moment and with equal `once` attributes, the last by their columns."""
        assert self._leaf.time is not None
        assert self._leaf.spec.once is not None
        times = self._leaf.time.at(rows)
        order = times.argsort(kind="stable")
        same = times[order[1:]] == times[order[:-1]]
        stays = np.ones(len(rows), dtype=np.bool_)
        tied = order[np.append(same, False) | np.insert(same, 0, False)]
        if not len(tied):
            return stays
        stays[tied] = False
        some = rows[tied]
        values = ordered_by(self._leaf, some)
        places = [self._leaf.columns[name].computed(some).to_pylist() for name in self._leaf.spec.once]
        last: dict[tuple[Any, ...], int] = {}
        for number, where in enumerate(zip(times[tied].tolist(), *places, strict=True)):
            known = last.get(where)
            if known is None or values[known] <= values[number]:
                last[where] = number
        stays[tied[list(last.values())]] = True
        return stays

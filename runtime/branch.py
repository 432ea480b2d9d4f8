"""A branch: what an engine needs to find the matches of one alternative of its pattern, over the leaves of all.

A pattern without alternatives has one. Leaves, keys, indexes and waiting rows belong to the engine, and an event is
stored once, whoever asks for it; best starts, searches and what counts as a current match are a branch's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from cep.ir.plan import Fold, Plan
from runtime.arrays.sorted_groups import Operations
from runtime.search.folds import SetRows
from runtime.search.matcher import Matcher
from runtime.search.partial import Partial
from runtime.state.chains import Chains
from runtime.state.existence import Best
from runtime.state.leaf import DEAD, Leaf, Spaces


class Branch:
    """One alternative: its plan, best starts and searches."""

    __slots__ = ("best", "chains", "leaves", "matchers", "plan", "sets", "singles")

    def __init__(
        self, plan: Plan, leaves: Mapping[str, Leaf], spaces: Spaces, operations: Operations, chunk: int
    ) -> None:
        self.plan = plan
        self.leaves = {leaf.var: leaves[leaf.var] for leaf in plan.leaves}
        """The leaves that it looks at, those of gaps among them."""
        self.singles = {leaf.var: leaves[leaf.var] for leaf in plan.singles}
        self.chains = Chains(plan, leaves)
        folds = [step for trigger in plan.triggers for step in trigger.steps if isinstance(step, Fold)]
        self.sets = {fold.into: SetRows(fold) for fold in folds}
        """What stands for the sets of its combinations."""
        known = {**leaves, **self.sets}
        self.matchers = {
            trigger.var: Matcher(plan, trigger, known, spaces, operations, chunk) for trigger in plan.triggers
        }
        self.best = {leaf.var: best for leaf in plan.leaves if (best := Best.of(plan, leaf.var)) is not None}

    def found(self, var: str, rows: np.ndarray) -> Iterator[Partial]:
        """The matches of new rows, those that can make no new tuple of a DISTINCT left out."""
        if var not in self.matchers:
            return
        if (best := self.best.get(var)) is not None:
            rows = best.among(self.leaves[var], rows)
        yield from self.matchers[var].matches(rows)

    def partnerless(self, var: str, rows: np.ndarray, watermark: int) -> np.ndarray:
        """Which rows, applied as they are due, can be in no match of this alternative."""
        if var not in self.singles:
            return np.ones(len(rows), dtype=np.bool_)
        return self.chains.partnerless(var, rows, watermark)

    def floor(self, var: str, watermark: int | None) -> int | None:
        """Rows of a variable before this are in no current match; None where there is no such time."""
        keep = self.plan.keep(var)
        return None if watermark is None or keep is None else max(watermark - keep, DEAD + 1)

    def horizon(self, watermark: int | None) -> int | None:
        """Events before this are in no current match at all."""
        floors = [self.floor(var, watermark) for var in self.singles]
        return min((floor for floor in floors if floor is not None), default=None)

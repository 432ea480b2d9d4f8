"""Events that only have to exist: which of them can still change anything.

Where DISTINCT returns nothing of a variable, is not bounded by a window, and the variable hangs on one neighbour by at
most one comparison, its events differ only in how many partners they have: of `r.a < s.d` the smallest `r.a` of a group
has all that any other has. So an event that is not the best of its group brings no tuple that is not there already.

Guaranteed: the tuples of the best rows are those of all rows. It holds for insertions only: what a deletion takes away
must be looked for from every row.
"""

from __future__ import annotations

import numpy as np

from cep.ir.plan import Plan, Probe
from runtime.state.leaf import Leaf


class Best:
    """Finds the best rows of one variable: the first or the last of each group of an index."""

    __slots__ = ("_first", "_number", "_signature")

    def __init__(self, number: int, signature: tuple[str, ...], *, first: bool) -> None:
        self._number = number
        self._signature = signature
        self._first = first

    @classmethod
    def of(cls, plan: Plan, var: str) -> Best | None:
        """For a variable of a plan; None where each of its events can matter."""
        edges = [edge for edge in plan.edges if var in (edge.parent, edge.child)]
        steps = [step for step in plan.steps() if step.var == var]
        if plan.window is not None or not plan.merges or not plan.verdict.acyclic or len(edges) != 1:
            return None
        if not steps or not all(isinstance(step, Probe) and step.index == steps[0].index for step in steps):
            return None
        (neighbour,) = {edges[0].parent, edges[0].child} - {var}
        step = steps[0]
        if len(step.ranges) > 1 or step.checks or {step.via, *step.key} != {neighbour}:
            return None
        first = not step.ranges or step.ranges[0].op in ("<", "<=")
        return cls(step.index, plan.indexes[step.index].key, first=first)

    def among(self, leaf: Leaf, rows: np.ndarray) -> np.ndarray:
        """Those of the rows that are the best of their group. O(rows)."""
        index = leaf.indexes[self._number]
        low, high = index.bounds(np.unique(leaf.group(self._signature, rows)))
        best = index.rows_at(low if self._first else high - 1)
        return np.sort(best[best >= rows[0]])

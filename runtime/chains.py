"""Best starts along chains (design, section 5).

On a chain edge a child must be earlier than its parent and share its key, so the partners of a parent row are a prefix
of a group sorted by time, and along that prefix best starts rise: the best partner is the last one. The best start of a
row is then the smaller of its own time and, for each child edge, the best start of the last row before it. In time
order it is worked out once, on arrival, and never changes; a late row raises those after it, up the tree.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cep.plan import Plan, Step
from runtime.leaf import DEAD, Leaf
from runtime.sorted_groups import spread


class Chains:
    """Keeps `Leaf.best` right."""

    __slots__ = ("_children", "_leaves", "_parent", "_plan", "_up")

    def __init__(self, plan: Plan, leaves: Mapping[str, Leaf]) -> None:
        self._plan = plan
        self._leaves = leaves
        steps = [step for trigger in plan.triggers for step in trigger.steps]
        self._children: dict[str, list[Step]] = {var: [] for var in leaves}
        self._parent: dict[str, str] = {}
        self._up: dict[str, Step] = {}
        for edge in plan.edges:
            if leaves[edge.parent].best is None or not edge.chain:
                continue
            self._children[edge.parent].append(next(s for s in steps if (s.via, s.var) == (edge.parent, edge.child)))
            self._parent[edge.child] = edge.parent
            self._up[edge.child] = next(s for s in steps if (s.via, s.var) == (edge.child, edge.parent))

    def added(self, var: str, rows: np.ndarray) -> None:
        """New rows of `var` are in its indexes: set their best starts and raise those above that they improve."""
        leaf = self._leaves[var]
        if leaf.best is not None:
            leaf.best.extend(self._best(var, rows))
        self._raise_above(var, rows)

    def removed(self, var: str, rows: np.ndarray) -> None:
        """Rows of `var` are out of its indexes (but still readable): lower what leaned on them."""
        self._raise_above(var, rows)

    def _best(self, var: str, rows: np.ndarray) -> np.ndarray:
        leaf = self._leaves[var]
        assert leaf.time is not None
        best = leaf.time.at(rows)
        for step in self._children[var]:
            child = self._leaves[step.var]
            index = child.indexes[step.index]
            low, high = index.bounds(leaf.group(self._plan.indexes[step.index].key, rows))
            bound = step.ranges[0]
            values = leaf.compared(bound.bound, rows)
            high = index.below(low, high, values, "left" if bound.op == "<" else "right")
            found = np.flatnonzero(high > low)
            partner = np.full(len(rows), DEAD, dtype=np.int64)
            partner[found] = child.best_starts()[index.rows_at(high[found] - 1)]
            best = np.minimum(best, partner)
        return best

    def _raise_above(self, var: str, rows: np.ndarray) -> None:
        """Work out again the best starts of parents that are later than the earliest of `rows` in their group."""
        parent = self._parent.get(var)
        if parent is None or not len(rows):
            return
        leaf, above = self._leaves[var], self._leaves[parent]
        assert leaf.time is not None
        step = self._up[var]
        index = above.indexes[step.index]
        if index.beyond(">", leaf.time.view()[rows]):
            return
        groups = leaf.group(self._plan.indexes[step.index].key, rows)
        touched, inverse = np.unique(groups, return_inverse=True)
        earliest = np.full(len(touched), np.iinfo(np.int64).max)
        np.minimum.at(earliest, inverse.reshape(-1), leaf.time.view()[rows])
        filled, newest = index.last_keys(touched)
        late = filled[newest > earliest[filled]]
        if not len(late):
            return
        low, high = index.bounds(touched[late])
        low = index.bisect(low, high, earliest[late], "right")
        affected = index.rows_at(spread(low, high - low))
        assert above.best is not None
        # A parent that is being added in this very call has no best start yet; its own turn comes.
        affected = affected[affected < above.best.size]
        before = above.best.view()[affected]
        after = self._best(parent, affected)
        changed = affected[before != after]
        above.best.view()[affected] = after
        self._raise_above(parent, changed)

"""Best starts along chains (design, section 5).

On a chain edge a child must be earlier than its parent (or, where the pattern says `<=`, not later) and share its key,
so the partners of a parent row are a prefix of a group sorted by time, and along that prefix best starts rise: the best
partner is the last one. The best start of a row is then the smaller of its own time and, for each child edge, the best
start of its last partner. In strict time order it is worked out once, on arrival, and never changes; a row that comes
after its parents, late or of the same moment, raises those that it is a partner of, up the tree.

Whether a row of the same moment (or, with a margin, of a moment so much later) is a partner is said by the edge's
range, seen from below or from above, and by nothing else here.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cep.ir.expr import Col, variables
from cep.ir.plan import Plan, Range, Step
from runtime.state.leaf import DEAD, Leaf


class Chains:
    """Keeps `Leaf.best` right, that of one alternative where a pattern has several."""

    __slots__ = ("_branch", "_children", "_leaves", "_parent", "_plan", "_up")

    def __init__(self, plan: Plan, leaves: Mapping[str, Leaf]) -> None:
        self._plan = plan
        self._branch = plan.branch
        self._leaves = leaves
        steps = [step for trigger in plan.triggers for step in trigger.steps]
        self._children: dict[str, list[Step]] = {var: [] for var in leaves}
        self._parent: dict[str, str] = {}
        self._up: dict[str, Step] = {}
        for edge in plan.edges:
            if plan.branch not in leaves[edge.parent].best or not edge.chain:
                continue
            self._children[edge.parent].append(next(s for s in steps if (s.via, s.var) == (edge.parent, edge.child)))
            self._parent[edge.child] = edge.parent
            self._up[edge.child] = next(s for s in steps if (s.via, s.var) == (edge.child, edge.parent))

    def added(self, var: str, rows: np.ndarray) -> None:
        """New rows of `var` are in its indexes: set their best starts and raise those above that they improve."""
        if (best := self._leaves[var].best.get(self._branch)) is not None:
            best.extend(self._best(var, rows))
        self._raise_above(var, rows)

    def partnerless(self, var: str, rows: np.ndarray, watermark: int) -> np.ndarray:
        """Which rows, being applied when they are due, will never have a partner on some chain below.

        What is before them is final by then, unless it is held back for longer itself; what may be of their own moment
        is, once that has passed.
        """
        leaf = self._leaves[var]
        ops = self._ops_below(var)
        if self._branch not in leaf.best or None in ops or self._waits_below(var) > (leaf.spec.hold or 0):
            return np.zeros(len(rows), dtype=np.bool_)
        found = np.asarray(self._best(var, rows) == DEAD)
        if ops != {"<"}:
            assert leaf.time is not None
            found &= leaf.time.at(rows) < watermark
        return found

    def _ops_below(self, var: str) -> set[str | None]:
        """How times are compared on the chains below; None for an edge that lets what is below be later."""
        found: set[str | None] = set()
        for step in self._children[var]:
            bound = _edge_range(step)
            found.add(bound.op if isinstance(bound.bound, Col) else None)
            found |= self._ops_below(step.var)
        return found

    def _waits_below(self, var: str) -> int:
        """How long rows on the chains below are held back at most."""
        below = [step.var for step in self._children[var]]
        return max((max(self._leaves[name].spec.hold or 0, self._waits_below(name)) for name in below), default=0)

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
            bound = _edge_range(step)
            values = leaf.compared(bound.bound, rows)
            high = index.below(low, high, values, "left" if bound.op == "<" else "right")
            for since in (r for r in step.ranges if r is not bound and variables(r.bound) == {var}):  # a NOT between
                low = index.bisect(low, high, leaf.compared(since.bound, rows), "right" if since.op == ">" else "left")
            found = np.flatnonzero(high > low)
            partner = np.full(len(rows), DEAD, dtype=np.int64)
            partner[found] = child.best_starts(self._branch)[index.rows_at(high[found] - 1)]
            best = np.minimum(best, partner)
        return best

    def _raise_above(self, var: str, rows: np.ndarray) -> None:
        """Work out again the best starts of the parents that the earliest of `rows` in their group is a partner of."""
        parent = self._parent.get(var)
        if parent is None or not len(rows):
            return
        leaf, above = self._leaves[var], self._leaves[parent]
        step = self._up[var]
        bound = _edge_range(step)
        index = above.indexes[step.index]
        since = leaf.compared(bound.bound, rows)
        if index.beyond(bound.op, since):
            return
        groups = leaf.group(self._plan.indexes[step.index].key, rows)
        touched, inverse = np.unique(groups, return_inverse=True)
        earliest = np.full(len(touched), np.iinfo(np.int64).max)
        np.minimum.at(earliest, inverse.reshape(-1), since)
        strictly = bound.op == ">"
        filled, newest = index.last_keys(touched)
        late = filled[newest > earliest[filled] if strictly else newest >= earliest[filled]]
        if not len(late):
            return
        low, high = index.bounds(touched[late])
        low = index.bisect(low, high, earliest[late], "right" if strictly else "left")
        affected = index.rows_of(low, high - low)
        best = above.best[self._branch]
        # A parent that is being added in this very call has no best start yet; its own turn comes.
        affected = affected[affected < best.size]
        before = best.view()[affected]
        after = self._best(parent, affected)
        changed = affected[before != after]
        best.view()[affected] = after
        self._raise_above(parent, changed)


def _edge_range(step: Step) -> Range:
    """The one range of a step along a chain edge that the edge itself gives: its bound is the neighbour's time."""
    own = [bound for bound in step.ranges if variables(bound.bound) == {step.via}]
    return next((bound for bound in own if bound.op in ("<", "<=")), own[0])

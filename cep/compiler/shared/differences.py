"""A growing set of difference bounds `left - right <= limit`, kept free of contradictions as it grows.

The idea: a bound is an edge of a graph, and the set can hold exactly if there is a *potential*, a number for every node
that fulfils all bounds. Adding a bound moves only the nodes that it pushes down (incremental shortest paths, after
Cotton and Maler); if the push comes back to where it started, the bounds on its way contradict each other. Taking
bounds out again keeps the potential as it is, so trying an alternative costs what it touches, not the whole graph. With
the potential, shortest paths need no negative weights and Dijkstra finds what is implied.

Guarantee: a contradiction that is reported is one, and the bounds returned are its whole reason. One edge scan is one
unit of `Work`, a bound four; when that is used up nothing more is found (`add` says "no contradiction", `implied` "not
implied"), so callers stay right and only become silent. Not guaranteed after that: completeness.

Cost of `add`: O(a log a) for the `a` edges of the nodes that move; of a search: O(m log m) for m bounds at most.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush

from cep.ir.expr import Col
from cep.ir.types import Type

ZERO = "0"
"""The node that constants are measured from."""

_SCALE = 2**40
"""`x - y < c` weighs one unit less than `x - y <= c`; no path is so long that the units add up to a whole limit."""


@dataclass(frozen=True, slots=True)
class Bound:
    """`left - right <= limit`, or `<` where `strict`. `reason` is what the bound was read from."""

    left: Hashable
    right: Hashable
    limit: int | Fraction
    strict: bool = False
    reason: object = field(default=None, compare=False)


class Work:
    """How many edges may still be looked at: shared by everything that must not take for ever together."""

    __slots__ = ("left",)

    def __init__(self, edges: int = 2_000_000) -> None:
        self.left = edges


Weight = int | Fraction
_Edge = tuple[int, Weight, Bound]


class Differences:
    """See the module's text. `add` and `undo` change the set, `implied` and `reach` read it."""

    __slots__ = ("_edges", "_node", "_potential", "_texts", "_trail", "work")

    def __init__(self, bounds: Iterable[Bound] = (), work: Work | None = None) -> None:
        self.work = Work() if work is None else work
        self._node: dict[Hashable, int] = {}
        self._edges: list[list[_Edge]] = []
        self._potential: list[Weight] = []
        self._texts: list[str] = []
        self._trail: list[tuple[int, _Edge]] = []
        for bound in bounds:
            self.add(bound)

    def add(self, bound: Bound) -> list[Bound] | None:
        """Add a bound; where it contradicts others it stays out, and the cycle of all that take part is returned."""
        self.work.left -= 4
        if self.work.left < 0:
            return None
        start, end = self._index(bound.right), self._index(bound.left)
        weight = _weight(bound)
        edge = (end, weight, bound)
        potential = self._potential
        moved: dict[int, Weight] = {}
        gains: dict[int, Weight] = {}
        via: dict[int, tuple[int, Bound]] = {}
        pending: list[tuple[Weight, int]] = []
        gain = potential[start] + weight - potential[end]
        if start == end:
            return [bound] if weight < 0 else None
        if gain < 0:
            gains[end] = gain
            via[end] = (start, bound)
            heappush(pending, (gain, end))
        while pending:
            gain, node = heappop(pending)
            if node in moved:
                continue
            here = moved[node] = potential[node] + gain
            out = self._edges[node]
            self.work.left -= len(out) + 1
            if self.work.left < 0:
                return None  # the set stays as it was
            for target, more, reason in out:
                if target in moved:
                    continue
                gain = here + more - potential[target]
                if gain < 0 and gain < gains.get(target, 0):
                    gains[target] = gain
                    via[target] = (node, reason)
                    if target == start:
                        return _cycle(via, start)
                    heappush(pending, (gain, target))
        for node, value in moved.items():
            potential[node] = value
        self._edges[start].append(edge)
        self._trail.append((start, edge))
        return None

    def mark(self) -> int:
        """A place to come back to with `undo`."""
        return len(self._trail)

    def undo(self, mark: int) -> None:
        """Take out what was added since `mark`."""
        while len(self._trail) > mark:
            node, edge = self._trail.pop()
            edges = self._edges[node]
            if edges[-1] is edge:
                edges.pop()
            else:  # something that always holds was added in between
                del edges[next(place for place in range(len(edges) - 1, -1, -1) if edges[place] is edge)]

    def remove(self, bound: Bound) -> None:
        """Take one bound out, the very same object; nothing happens where it is not in the set."""
        start = self._index(bound.right)
        self._edges[start] = [edge for edge in self._edges[start] if edge[2] is not bound]
        self._trail = [entry for entry in self._trail if entry[1][2] is not bound]

    def try_all(self, bounds: Iterable[Bound]) -> list[Bound] | None:
        """The contradiction that `bounds` would bring; the set is afterwards what it was."""
        mark = self.mark()
        for bound in bounds:
            if (cycle := self.add(bound)) is not None:
                self.undo(mark)
                return cycle
        self.undo(mark)
        return None

    def implied(self, bound: Bound) -> bool:
        """Whether the others imply `bound`, which may be in the set itself (the very same object is left out)."""
        start, goal = self._index(bound.right), self._index(bound.left)
        weight = _weight(bound)
        # In reduced weights all edges are at least 0: nothing beyond the bound's own can be on its way.
        most = weight + self._potential[start] - self._potential[goal]
        return self._search(start, goal, most, bound) is not None

    def reach(self, start: Hashable) -> dict[Hashable, int | Fraction] | None:
        """The least `c` with `x - start <= c` for every x that is bounded so; None where the work is used up."""
        found = self._search(self._index(start), None, None, None)
        if found is None:
            return None
        begin = self._potential[self._index(start)]
        names = list(self._node)
        weights = {node: reduced + self._potential[node] - begin for node, reduced in found.items()}
        return {names[node]: _limit(weight, len(names)) for node, weight in weights.items()}

    def _search(
        self, start: int, goal: int | None, most: Weight | None, without: Bound | None
    ) -> dict[int, Weight] | None:
        """Dijkstra over reduced weights: the distances, or None where `goal` is not within `most`."""
        potential = self._potential
        done: dict[int, Weight] = {}
        best: dict[int, Weight] = {start: 0}
        pending: list[tuple[Weight, int]] = [(0, start)]
        while pending:
            distance, node = heappop(pending)
            if node in done:
                continue
            done[node] = distance
            if node == goal:
                return done
            base = distance + potential[node]
            out = self._edges[node]
            self.work.left -= len(out) + 1
            if self.work.left < 0:
                return None
            for target, weight, reason in out:
                if target in done or reason is without:
                    continue
                reduced = base + weight - potential[target]
                if (most is None or reduced <= most) and (target not in best or reduced < best[target]):
                    best[target] = reduced
                    heappush(pending, (reduced, target))
        return done if goal is None else None

    def _index(self, node: Hashable) -> int:
        """The number of a node; a new one comes with what always holds of it."""
        found = self._node.get(node)
        if found is not None:
            return found
        number = self._node[node] = len(self._node)
        self._edges.append([])
        self._potential.append(0)
        if isinstance(node, Col) and node.type is Type.BOOLEAN:
            self._fact(Bound(node, ZERO, 1))
            self._fact(Bound(ZERO, node, 0))
        elif isinstance(node, tuple) and node[0] == "text":
            self._order_text(str(node[1]))
        return number

    def _order_text(self, text: str) -> None:
        place = bisect(self._texts, text)
        if place:
            self._fact(Bound(("text", self._texts[place - 1]), ("text", text), 0, strict=True))
        if place < len(self._texts):
            self._fact(Bound(("text", text), ("text", self._texts[place]), 0, strict=True))
        self._texts.insert(place, text)

    def _fact(self, bound: Bound) -> None:
        """Add what holds anyway: it is never taken out."""
        mark = self.mark()
        self.add(bound)
        del self._trail[mark:]


def _weight(bound: Bound) -> Weight:
    limit = bound.limit
    if isinstance(limit, Fraction) and limit.denominator == 1:
        limit = limit.numerator
    return limit * _SCALE - bound.strict


def _limit(weight: Weight, longest: int) -> int | Fraction:
    """The least limit that a path of this weight can have; `<` counts as `<=`."""
    return -(-weight // _SCALE) if isinstance(weight, int) else (weight + longest) / _SCALE


def _cycle(via: dict[int, tuple[int, Bound]], start: int) -> list[Bound]:
    cycle: list[Bound] = []
    node = start
    while True:
        node, bound = via[node]
        cycle.append(bound)
        if node == start:
            return cycle


def conflict(bounds: Iterable[Bound], work: Work | None = None) -> list[Bound] | None:
    """Bounds that contradict each other, as a cycle; None where there is no contradiction."""
    found = Differences(work=work)
    return next((cycle for bound in bounds if (cycle := found.add(bound)) is not None), None)


def largest_gap(bounds: Iterable[Bound], nodes: Sequence[Hashable], work: Work | None = None) -> int | None:
    """The least `d` such that `u - v <= d` for all of `nodes` follows; None where there is none, or a conflict."""
    found = Differences(work=work)
    if any(found.add(bound) is not None for bound in bounds):
        return None
    largest = 0
    for start in nodes:
        reach = found.reach(start)
        if reach is None or any(node not in reach for node in nodes):
            return None
        largest = max(largest, *(math.floor(reach[node]) for node in nodes))
    return largest

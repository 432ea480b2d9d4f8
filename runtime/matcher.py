"""Delta enumeration: all matches that contain given rows of one variable, in bounded chunks.

A `Partial` is a set of partial matches, held column-wise: for each bound variable an array of rows, and the times of
the earliest and latest event so far. A step turns each partial match into one contiguous range of an index (two or
three bisections for all of them at once), and the ranges into longer partial matches. Ranges of later steps are probed
as soon as they can be, so that a partial match that lacks any partner is dropped before it is multiplied.

Windows need no predicate: if all events so far lie within the window, the next one must lie between `latest - window`
and `earliest + window`, which is one more bound on an index sorted by time. On a *chain* the lower bound is put on the
best start instead, so that every row in the range leads to a match.

Memory: `CHUNK` partial matches per step, whatever the size of the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cep.expr import Col, Expr, split_shift, variables
from cep.plan import Plan, Step, Trigger
from runtime.columnar import holds
from runtime.leaf import DEAD, Leaf, Spaces
from runtime.sorted_groups import Operations, SortedGroups, spread

CHUNK = 1 << 15
"""Partial matches expanded at a time. Large enough that a numpy call costs more than Python's overhead around it,
small enough that the columns of a chunk stay in the processor's cache."""

FOREVER = np.iinfo(np.int64).max


@dataclass(slots=True)
class Partial:
    """Partial matches: `rows[var][i]` is the row that match i binds to var.

    The last step's rows are kept apart until they are put out: `last` holds them, and `repeats` says how many of them
    belong to each match before it, so that the columns of all other variables are gathered once and repeated.
    """

    size: int
    rows: dict[str, np.ndarray]
    earliest: np.ndarray | None
    latest: np.ndarray | None
    last: tuple[str, np.ndarray, np.ndarray] | None = None

    def take(self, keep: np.ndarray) -> Partial:
        """The matches selected by a mask or by positions."""
        rows = {var: values[keep] for var, values in self.rows.items()}
        size = len(next(iter(rows.values())))
        return Partial(
            size,
            rows,
            None if self.earliest is None else self.earliest[keep],
            None if self.latest is None else self.latest[keep],
        )

    def flat(self) -> Partial:
        """The same matches without `last`."""
        if self.last is None:
            return self
        var, rows, repeats = self.last
        flat = {name: values.repeat(repeats) for name, values in self.rows.items()}
        flat[var] = rows
        return Partial(len(rows), flat, self.earliest, self.latest)


@dataclass(slots=True)
class _Bound:
    """A step, looked up once: its index, its leaf, and what the window asks of it."""

    step: Step
    index: SortedGroups
    leaf: Leaf
    signature: tuple[str, ...]
    supplier: str | None
    by_time: bool
    not_before: bool
    not_after: bool
    ready_at: int
    by_row: bool
    ranges: list[tuple[str, str, Expr]]


class Matcher:
    """Finds the matches of new rows of one trigger."""

    __slots__ = (
        "_chunk",
        "_known",
        "_leaves",
        "_operations",
        "_orders",
        "_plan",
        "_spaces",
        "_timed",
        "_trigger",
        "_window",
    )

    def __init__(
        self,
        plan: Plan,
        trigger: Trigger,
        leaves: Mapping[str, Leaf],
        spaces: Spaces,
        operations: Operations,
        chunk: int = CHUNK,
    ) -> None:
        self._plan = plan
        self._trigger = trigger
        self._leaves = leaves
        self._spaces = spaces
        self._operations = operations
        self._window = plan.window
        self._timed = any(leaf.time is not None for leaf in leaves.values())
        self._chunk = chunk
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._orders = [self._bind_order(steps) for steps in (trigger.steps, *trigger.alternatives)]

    def _bind_order(self, steps: tuple[Step, ...]) -> list[_Bound]:
        order = [self._trigger.var, *(step.var for step in steps)]
        return [self._bind(step, number, order) for number, step in enumerate(steps)]

    def _bind(self, step: Step, number: int, order: list[str]) -> _Bound:
        described = self._plan.indexes[step.index]
        leaf = self._leaves[step.var]
        time = Col(step.var, leaf.spec.time or "", described.sort.type) if described.sort is not None else None
        via_time = self._leaves[step.via].spec.time
        below = any(r.op in ("<", "<=") and _not_above(r.bound, step.via, via_time) for r in step.ranges)
        above = any(r.op in (">", ">=") and _not_below(r.bound, step.via, via_time) for r in step.ranges)
        needed = {step.via, *step.key, *(v for r in step.ranges for v in variables(r.bound))}
        return _Bound(
            step=step,
            index=leaf.indexes[step.index],
            leaf=leaf,
            signature=described.key,
            supplier=next(iter(set(step.key) or {step.via})) if len(set(step.key)) <= 1 else None,
            by_time=described.sort is not None and described.sort == time,
            not_before=above,
            not_after=below,
            by_row=self._window is None and needed == {step.via},
            ready_at=min(number, max(order.index(v) for v in needed)),
            ranges=[(r.op, next(iter(variables(r.bound))), r.bound) for r in step.ranges],
        )

    # --- the walk --------------------------------------------------------------------------------------------------

    def matches(self, rows: np.ndarray, floor: int | None = None) -> Iterator[Partial]:
        """All matches that bind the trigger's variable to one of `rows`, against the state as it is now.

        With `floor`, only matches whose events are all at or after it.
        """
        self._known.clear()
        for first in range(0, len(rows), self._chunk):
            part = rows[first : first + self._chunk]
            times = self._times(self._leaves[self._trigger.var], part)
            start = Partial(len(part), {self._trigger.var: part}, times, times)
            for steps, some in self._by_smallest_list(start, floor):
                yield from self._expand(some, steps, 0, floor)

    def _by_smallest_list(self, start: Partial, floor: int | None) -> Iterator[tuple[list[_Bound], Partial]]:
        """Send each row to the order whose first step has the fewest partners for it (cyclic plans only)."""
        if len(self._orders) == 1:
            yield self._orders[0], start
            return
        ranges = [self._range(steps[0], start, floor) for steps in self._orders]
        choice = np.argmin([high - low for low, high in ranges], axis=0)
        for number, steps in enumerate(self._orders):
            chosen = np.flatnonzero(choice == number)
            if len(chosen):
                yield steps, start.take(chosen)

    def _times(self, leaf: Leaf, rows: np.ndarray) -> np.ndarray | None:
        if not self._timed:
            return None
        if leaf.time is None:
            return np.full(len(rows), DEAD, dtype=np.int64)
        return leaf.time.at(rows)

    def _expand(self, partial: Partial, steps: list[_Bound], number: int, floor: int | None) -> Iterator[Partial]:
        if partial.size == 0:
            return
        if number == len(steps):
            yield partial
            return
        bound = steps[number]
        low, high = self._range(bound, partial, floor)
        found = high > low
        for later in steps[number + 1 :]:
            # Probe what became ready by the variable bound last, before multiplying by this step's partners. This step
            # goes first: it leads towards the root, where an event that comes in time order finds nothing yet.
            if later.ready_at == number:
                partial, low, high = self._narrow(partial, low, high, found)
                if partial.size == 0:
                    return
                others = self._range(later, partial, floor)
                found = others[1] > others[0]
        partial, low, high = self._narrow(partial, low, high, found)
        if partial.size == 0:
            return
        if bound.step.exists:
            self._take_best_start(bound, partial, high)
            yield from self._expand(partial, steps, number + 1, floor)
            return
        for part, at, repeats in self._chunks(partial, low, high - low):
            yield from self._bind_rows(part, at, repeats, steps, number, floor)

    def _keep(self, partial: Partial, mask: np.ndarray) -> Partial:
        if mask.all():
            return partial
        dropped = int(partial.size - np.count_nonzero(mask))
        # A trigger without matches is no dead end: nothing was read out for it.
        if len(partial.rows) == 1:
            self._operations.fruitless += dropped
        else:
            self._operations.dead_ends += dropped
        return partial.take(mask)

    def _narrow(
        self, partial: Partial, low: np.ndarray, high: np.ndarray, mask: np.ndarray
    ) -> tuple[Partial, np.ndarray, np.ndarray]:
        """Partial matches with their ranges, those that the mask selects."""
        if mask.all():
            return partial, low, high
        return self._keep(partial, mask), low[mask], high[mask]

    def _take_best_start(self, bound: _Bound, partial: Partial, high: np.ndarray) -> None:
        """What only has to exist still starts the match: the best start of the range is that of its last row."""
        if partial.earliest is not None and bound.step.chain:
            best = bound.leaf.best_starts()[bound.index.rows_at(high - 1)]
            partial.earliest = np.minimum(partial.earliest, best)

    def _chunks(
        self, partial: Partial, low: np.ndarray, counts: np.ndarray
    ) -> Iterator[tuple[Partial, np.ndarray, np.ndarray]]:
        """Cut partial matches with their ranges, none of them empty, into parts of at most `chunk` longer ones."""
        ends = np.cumsum(counts)
        if int(ends[-1]) <= self._chunk:
            yield partial, low, counts
            return
        first = 0
        while first < partial.size:
            before = int(ends[first - 1]) if first else 0
            last = int(np.searchsorted(ends, before + self._chunk, side="right"))
            if last > first:
                part = slice(first, last)
                yield partial.take(np.arange(first, last)), low[part], counts[part]
                first = last
                continue
            one = partial.take(np.arange(first, first + 1))
            for offset in range(0, int(counts[first]), self._chunk):
                size = min(self._chunk, int(counts[first]) - offset)
                yield one, low[first : first + 1] + offset, np.array([size])
            first += 1

    def _bind_rows(
        self,
        partial: Partial,
        low: np.ndarray,
        repeats: np.ndarray,
        steps: list[_Bound],
        number: int,
        floor: int | None,
    ) -> Iterator[Partial]:
        bound = steps[number]
        rows = bound.index.rows_at(spread(low, repeats))
        var = bound.step.var
        earliest, latest = partial.earliest, partial.latest
        if earliest is not None and latest is not None:
            times = self._times(bound.leaf, rows)
            assert times is not None
            if bound.leaf.has_null_time or bound.leaf.time is None:
                present = np.where(times == DEAD, FOREVER, times)
                earliest, latest = earliest.repeat(repeats), latest.repeat(repeats)
                earliest = np.minimum(np.where(earliest == DEAD, FOREVER, earliest), present)
                earliest = np.where(earliest == FOREVER, DEAD, earliest)
            else:
                earliest, latest = earliest.repeat(repeats), latest.repeat(repeats)
                earliest = np.where(earliest == DEAD, times, np.minimum(earliest, times))
            latest = np.maximum(latest, times)
        is_last = number == len(steps) - 1
        longer = Partial(len(rows), partial.rows, earliest, latest, (var, rows, repeats))
        in_window = self._window is None or bound.by_time
        if is_last and not bound.step.checks and in_window:
            yield longer
            return
        longer = longer.flat()
        if not in_window:
            assert longer.latest is not None
            assert longer.earliest is not None
            assert self._window is not None
            longer = self._keep(longer, longer.latest - longer.earliest <= self._window)
        if bound.step.checks and longer.size:
            mask = holds(bound.step.checks, self._supplier(longer), longer.size)
            if mask is not None:
                longer = self._keep(longer, mask)
        yield from self._expand(longer, steps, number + 1, floor)

    def _supplier(self, partial: Partial) -> Any:
        def supply(col: Col) -> Any:
            return self._leaves[col.var].columns[col.attr].computed(partial.rows[col.var])

        return supply

    # --- ranges ----------------------------------------------------------------------------------------------------

    def _range(self, bound: _Bound, partial: Partial, floor: int | None) -> tuple[np.ndarray, np.ndarray]:
        """For each partial match, the range of index positions that hold its partners.

        Where only the neighbour's row decides, and partial matches outnumber its rows, each row is searched for once.
        """
        via = self._leaves[bound.step.via]
        if not bound.by_row or partial.size < via.size:
            return self._search(bound, partial, floor)
        if id(bound) not in self._known:
            rows = np.arange(via.size)
            times = None if partial.earliest is None else self._times(via, rows)
            self._known[id(bound)] = self._search(bound, Partial(via.size, {bound.step.via: rows}, times, times), floor)
        low, high = self._known[id(bound)]
        rows = partial.rows[bound.step.via]
        return low[rows], high[rows]

    def _search(self, bound: _Bound, partial: Partial, floor: int | None) -> tuple[np.ndarray, np.ndarray]:
        index = bound.index
        bounds = [(op, self._leaves[var].compared(expr, partial.rows[var])) for op, var, expr in bound.ranges]
        if index.size == 0 or any(index.beyond(op, values) for op, values in bounds):
            # In time order this is what becomes of every event but the last of its match.
            nothing = np.zeros(partial.size, dtype=np.int64)
            return nothing, nothing
        self._operations.seeks += partial.size
        low, high = index.bounds(self._groups(bound, partial))
        for op, values in bounds:
            if op in ("<", "<="):
                high = index.bisect(low, high, values, "left" if op == "<" else "right")
            else:
                low = index.bisect(low, high, values, "right" if op == ">" else "left")
        return self._window_range(bound, partial, low, high, floor)

    def _window_range(
        self, bound: _Bound, partial: Partial, low: np.ndarray, high: np.ndarray, floor: int | None
    ) -> tuple[np.ndarray, np.ndarray]:
        index = bound.index
        chained = bound.leaf.best_starts() if bound.step.chain and bound.leaf.best is not None else None
        if self._window is not None and bound.by_time:
            assert partial.earliest is not None
            assert partial.latest is not None
            oldest = partial.latest - self._window
            if floor is not None:
                oldest = np.maximum(oldest, floor)
            if chained is not None or not bound.not_before:
                low = index.bisect(low, high, oldest, "left", by=chained)
            if not bound.not_after:
                high = index.bisect(low, high, partial.earliest + self._window, "right")
        elif chained is not None:
            oldest = np.full(len(low), DEAD + 1 if floor is None else floor, dtype=np.int64)
            low = index.bisect(low, high, oldest, "left", by=chained)
        return low, high

    def _groups(self, bound: _Bound, partial: Partial) -> np.ndarray:
        if bound.supplier is not None:
            return self._leaves[bound.supplier].group(bound.signature, partial.rows[bound.supplier])
        keys = [
            self._leaves[var].key(name, partial.rows[var])
            for name, var in zip(bound.signature, bound.step.key, strict=True)
        ]
        return self._spaces.groups[bound.signature].encode(keys, partial.size, add=False)


def _not_above(bound: Expr, via: str, time: str | None) -> bool:
    """Whether a time bound is at most the neighbour's own time."""
    base, shift = split_shift(bound)
    return isinstance(base, Col) and base.var == via and base.attr == time and shift <= 0


def _not_below(bound: Expr, via: str, time: str | None) -> bool:
    """Whether a time bound is at least the neighbour's own time."""
    base, shift = split_shift(bound)
    return isinstance(base, Col) and base.var == via and base.attr == time and shift >= 0

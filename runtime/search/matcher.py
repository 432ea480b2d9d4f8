"""Delta enumeration: all matches that contain given rows of one variable, in bounded chunks.

A step finds for each partial match the range of an index that holds its partners (`runtime.search.ranges`), and turns
the ranges into longer partial matches. Ranges of later steps are probed as soon as they can be, so that a partial match
that lacks any partner is dropped before it is multiplied.

Memory: `CHUNK` partial matches per step, whatever the size of the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cep.ir.expr import Col
from cep.ir.plan import Fold, Plan, Probe, Trigger
from runtime.arrays.columnar import holds
from runtime.arrays.sorted_groups import Operations
from runtime.search.folds import SetRows, fold
from runtime.search.gaps import in_gap
from runtime.search.partial import Partial, Times
from runtime.search.ranges import BoundStep, Ranges, bind_steps
from runtime.state.leaf import DEAD, Spaces

CHUNK = 1 << 15
"""Partial matches expanded at a time. Large enough that a numpy call costs more than Python's overhead around it,
small enough that the columns of a chunk stay in the processor's cache."""


class Matcher:
    """Finds the matches of new rows of one trigger."""

    __slots__ = (
        "_branch",
        "_chunk",
        "_leaves",
        "_merges",
        "_operations",
        "_orders",
        "_ranges",
        "_timed",
        "_trigger",
        "_window",
    )

    def __init__(
        self,
        plan: Plan,
        trigger: Trigger,
        leaves: Mapping[str, Any],
        spaces: Spaces,
        operations: Operations,
        chunk: int = CHUNK,
    ) -> None:
        self._trigger = trigger.var
        self._leaves = leaves
        self._operations = operations
        self._window = plan.window
        self._branch = plan.branch
        self._timed = any(leaf.time is not None for leaf in leaves.values())
        self._chunk = chunk
        self._ranges = Ranges(plan, leaves, spaces, operations)
        orders = (trigger.steps, *trigger.alternatives)
        # Matches that wait to be merged by DISTINCT still need the rows of their sets: the engine forgets those then.
        self._merges = plan.merges
        self._orders = [bind_steps(plan, trigger.var, steps, leaves) for steps in orders]

    def matches(self, rows: np.ndarray, floor: int | None = None) -> Iterator[Partial]:
        """All matches that bind the trigger's variable to one of `rows`, against the state as it is now.

        With `floor`, only matches whose events are all at or after it.
        """
        self._ranges.forget()
        for first in range(0, len(rows), self._chunk):
            part = rows[first : first + self._chunk]
            times = self._start_times(len(part))
            start = Partial(len(part), {self._trigger: part}, times, times, None, self._branch)
            for steps, some in self._by_smallest_list(start, floor):
                yield from self._expand(some, steps, 0, floor)
        self._ranges.forget()  # what it remembers is as large as the leaves

    def _by_smallest_list(self, start: Partial, floor: int | None) -> Iterator[tuple[list[BoundStep], Partial]]:
        """Send each row to the order whose first step has the fewest partners for it (cyclic plans only)."""
        if len(self._orders) == 1:
            yield self._orders[0], start
            return
        ranges = [self._ranges.of(steps[0], start, floor) for steps in self._orders]
        choice = np.argmin([high - low for low, high in ranges], axis=0)
        for number, steps in enumerate(self._orders):
            chosen = np.flatnonzero(choice == number)
            if len(chosen):
                yield steps, start.take(chosen)

    def _start_times(self, size: int) -> Times:
        if not self._timed:
            return None
        return self._trigger if self._leaves[self._trigger].time is not None else np.full(size, DEAD, dtype=np.int64)

    def _expand(self, partial: Partial, steps: list[BoundStep], number: int, floor: int | None) -> Iterator[Partial]:
        if partial.size == 0:
            return
        if number == len(steps):
            yield partial
            return
        bound = steps[number]
        if _is_absence(bound):
            free = ~in_gap(self._ranges, bound, partial, self._leaves, self._operations)
            yield from self._expand(self._keep(partial, free), steps, number + 1, floor)
            return
        if isinstance(bound.step, Fold):
            table = self._leaves[bound.step.into]
            before = table.size
            yield from self._expand(self._folded(bound, bound.step, partial), steps, number + 1, floor)
            if not self._merges:
                table.forget(before)  # those matches have been read
            return
        low, high = self._ranges.of(bound, partial, floor)
        found = high > low
        for later in steps[number + 1 :]:
            # Probe what became ready by the variable bound last, before multiplying by this step's partners. This step
            # goes first: it leads towards the root, where an event that comes in time order finds nothing yet.
            if later.ready_at == number and not _is_gap(later):
                partial, low, high = self._narrow(partial, low, high, found)
                if partial.size == 0:
                    return
                others = self._ranges.of(later, partial, floor)
                found = others[1] > others[0]
        partial, low, high = self._narrow(partial, low, high, found)
        if partial.size == 0:
            return
        if isinstance(bound.step, Probe):
            self._take_best_start(bound, partial, high)
            yield from self._expand(partial, steps, number + 1, floor)
            return
        for part, at, repeats in self._chunks(partial, low, high - low):
            yield from self._bind_rows(part, at, repeats, steps, number, floor)

    def _folded(self, bound: BoundStep, step: Fold, partial: Partial) -> Partial:
        """The partial matches whose sets have as many events as they must, with a row for what those add up to."""
        fits, values = fold(self._ranges, bound, partial, self._leaves, self._operations)
        table = self._leaves[step.into]
        assert isinstance(table, SetRows)
        rows = table.add(values, partial.size)
        rows_of = partial.rows | {step.into: rows}
        longer = Partial(partial.size, rows_of, partial.earliest, partial.latest, None, self._branch)
        longer = self._keep(longer, fits)
        mask = holds(step.having, self._supplier(longer), longer.size) if longer.size else None
        return longer if mask is None else self._keep(longer, mask.to_numpy(zero_copy_only=False))

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

    def _take_best_start(self, bound: BoundStep, partial: Partial, high: np.ndarray) -> None:
        """What only has to exist still starts the match: the best start of the range is that of its last row."""
        start = partial.start(self._leaves) if bound.step.chain else None
        if start is not None:
            partial.earliest = np.minimum(start, bound.leaf.best_starts(self._branch)[bound.index.rows_at(high - 1)])

    def _chunks(
        self, partial: Partial, low: np.ndarray, counts: np.ndarray
    ) -> Iterator[tuple[Partial, np.ndarray, np.ndarray]]:
        """Cut partial matches with their ranges, none of them empty, into parts of at most `chunk` longer ones."""
        ends = counts.cumsum()
        if int(ends[-1]) <= self._chunk:
            yield partial, low, counts
            return
        first = 0
        while first < partial.size:
            before = int(ends[first - 1]) if first else 0
            last = int(ends.searchsorted(before + self._chunk, side="right"))
            if last > first:
                part = slice(first, last)
                yield partial.take(part), low[part], counts[part]
                first = last
                continue
            one = partial.take(slice(first, first + 1))
            for offset in range(0, int(counts[first]), self._chunk):
                size = min(self._chunk, int(counts[first]) - offset)
                yield one, low[first : first + 1] + offset, np.array([size])
            first += 1

    def _bind_rows(
        self,
        partial: Partial,
        low: np.ndarray,
        repeats: np.ndarray,
        steps: list[BoundStep],
        number: int,
        floor: int | None,
    ) -> Iterator[Partial]:
        bound = steps[number]
        rows = bound.index.rows_of(low, repeats)
        var = bound.step.var
        earliest, latest = self._times(bound, partial, rows, repeats)
        is_last = number == len(steps) - 1
        longer = Partial(len(rows), partial.rows, earliest, latest, (var, rows, repeats), self._branch)
        in_window = self._window is None or bound.by_time
        if is_last and not bound.step.checks and in_window:
            yield longer
            return
        longer = longer.flat()
        if not in_window:
            start, end = longer.start(self._leaves), longer.end(self._leaves)
            assert start is not None
            assert end is not None
            assert self._window is not None
            longer = self._keep(longer, end - start <= self._window)
        if bound.step.checks and longer.size:
            mask = holds(bound.step.checks, self._supplier(longer), longer.size)
            if mask is not None:
                longer = self._keep(longer, mask.to_numpy(zero_copy_only=False))
        yield from self._expand(longer, steps, number + 1, floor)

    def _times(self, bound: BoundStep, partial: Partial, rows: np.ndarray, repeats: np.ndarray) -> tuple[Times, Times]:
        """The earliest and latest times with `rows` bound: by name where the step's own bounds decide."""
        via, var = bound.step.via, bound.step.var
        earliest = _decided(partial.earliest, via, var, replaced=bound.not_after, stays=bound.not_before)
        latest = _decided(partial.latest, via, var, replaced=bound.not_before, stays=bound.not_after)
        if earliest is not None and latest is not None:
            return earliest, latest
        start, end = partial.start(self._leaves), partial.end(self._leaves)
        if start is None or end is None:
            return None, None
        leaf = bound.leaf
        times = np.full(len(rows), DEAD, dtype=np.int64) if leaf.time is None else leaf.time.at(rows)
        start, end = start.repeat(repeats), end.repeat(repeats)
        present = times
        if leaf.has_null_time or leaf.time is None:
            present = np.where(times == DEAD, start, times)
        start = np.where(start == DEAD, present, np.minimum(start, present))
        return start if earliest is None else earliest, np.maximum(end, times) if latest is None else latest

    def _supplier(self, partial: Partial) -> Any:
        def supply(col: Col) -> Any:
            return self._leaves[col.var].columns[col.attr].computed(partial.rows[col.var])

        return supply


def _is_gap(bound: BoundStep) -> bool:
    return isinstance(bound.step, Fold) or _is_absence(bound)


def _is_absence(bound: BoundStep) -> bool:
    return isinstance(bound.step, Probe) and bound.step.absent


def _decided(known: Times, via: str, var: str, *, replaced: bool, stays: bool) -> str | None:
    """The variable whose event is the earliest (or latest) once `var` is bound next to `via`, if that is known."""
    if not isinstance(known, str):
        return None
    if replaced and known == via:
        return var
    return known if stays else None

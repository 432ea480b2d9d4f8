"""Sorted groups: an index that keeps rows grouped by key and sorted within each group, in three flat arrays.

Each group owns a block of an arena (offset, length, capacity); a full block moves to one of twice the size at the end
of the arena, so appending is amortised O(1), and one group's rows are always one contiguous, sorted range. All
operations take whole batches and cost a handful of numpy calls however many groups they touch: there is no Python
object per group or per row, only 24 bytes a group and 16 a row (at most double that, for spare room).

A batch that arrives in the order of its groups is appended. One that does not displaces the rows after it, group by
group: O(displaced), counted in `Operations.displaced`.

Not guaranteed: an order among rows with equal sort keys in one group (they stand in order of arrival).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

_FEW = 6
"""Up to so many searches, one C bisection each is cheaper than bisecting all at once in numpy."""
_SHORT = 1000
"""Fewer numbers than this are sorted faster in one go than half by half."""


class Operations:
    """What the engine did, counted: the cost tests compare these, never seconds."""

    __slots__ = ("appended", "bisections", "dead_ends", "displaced", "fruitless", "seeks", "visited")

    def __init__(self) -> None:
        self.appended = 0
        """Rows written to an index."""
        self.displaced = 0
        """Rows that had to move because an earlier one was inserted."""
        self.seeks = 0
        """Partners of a partial match looked up as one range of an index: up to three bisections each."""
        self.bisections = 0
        """Searches for the place of a value in a group, O(log n) each."""
        self.visited = 0
        """Rows read out of an index."""
        self.dead_ends = 0
        """Partial matches of two or more events that led to no match: rows read out in vain."""
        self.fruitless = 0
        """New events that were found to complete no match before anything was read out for them."""

    def as_dict(self) -> dict[str, int]:
        """All counts by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def spread(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """All positions of the ranges start..start+count, one after another.

    >>> spread(np.array([10, 20]), np.array([2, 3]))
    array([10, 11, 20, 21, 22])
    """
    ends = counts.cumsum()
    at: np.ndarray = (starts - (ends - counts)).repeat(counts)
    at += _iota(len(at))
    return at


_FIRST = np.arange(1 << 16)


def _iota(count: int) -> np.ndarray:
    """0, 1, 2, ... Not to be written to."""
    return _FIRST[:count] if count <= len(_FIRST) else np.arange(count)


class SortedGroups:
    """See the module's text. `dtype` is that of the sort key, None for order of arrival."""

    __slots__ = (
        "_capacity",
        "_end",
        "_keys",
        "_length",
        "_operations",
        "_rows",
        "_run",
        "_start",
        "largest",
        "size",
        "smallest",
    )

    def __init__(self, dtype: Any, operations: Operations) -> None:
        self._operations = operations
        self._keys = None if dtype is None else np.empty(0, dtype=dtype)
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self._start = np.zeros(0, dtype=np.int64)
        self._length = np.zeros(0, dtype=np.int64)
        self._capacity = np.zeros(0, dtype=np.int64)
        self._rows = np.empty(16, dtype=np.int64)
        self._keys = None if self._keys is None else np.empty(16, dtype=self._keys.dtype)
        self._end = 0
        self._run: tuple[int, int] | None = None
        """Where one group has all rows, and they are consecutive: that group and the first row."""
        self.size = 0
        self.smallest: Any = None
        """No key is smaller; None while there are none. (Removals do not narrow it.)"""
        self.largest: Any = None
        """No key is larger."""

    # --- writing ---------------------------------------------------------------------------------------------------

    def insert(self, groups: np.ndarray, keys: np.ndarray | None, rows: np.ndarray) -> None:
        """Add rows. Amortised O(1) a row in order, else also the rows displaced in the groups concerned."""
        if not len(rows):
            return
        order = self._sorted_order(groups, keys)
        groups, rows = groups.take(order), rows.take(order)
        keys = keys.take(order) if keys is not None else None
        first = np.flatnonzero(np.concatenate(([True], groups[1:] != groups[:-1])))
        touched = groups[first]
        counts = np.diff(np.concatenate((first, [len(groups)])))
        self._make_groups(int(touched[-1]) + 1)
        keep = self._keep(touched, None if keys is None else keys[first])
        moved = self._length[touched] - keep
        displaced = int(moved.sum())
        if displaced:
            assert keys is not None
            tail = spread(self._start[touched] + keep, moved)
            assert self._keys is not None
            groups = np.concatenate((np.repeat(touched, moved), groups))
            keys = np.concatenate((self._keys[tail], keys))
            rows = np.concatenate((self._rows[tail], rows))
            order = self._sorted_order(groups, keys)
            groups, keys, rows = groups[order], keys[order], rows[order]
            counts = counts + moved
            self._operations.displaced += displaced
        self._note_run(touched, rows)
        self._reserve(touched, keep + counts, keep)
        at = spread(self._start[touched] + keep, counts)
        self._rows[at] = rows
        if self._keys is not None:
            self._keys[at] = keys
        self._length[touched] = keep + counts
        self.size += len(rows) - displaced
        if keys is not None:
            low, high = keys.min(), keys.max()
            self.smallest = low if self.smallest is None else min(low, self.smallest)
            self.largest = high if self.largest is None else max(high, self.largest)
        self._operations.appended += len(rows) - displaced

    def _note_run(self, touched: np.ndarray, rows: np.ndarray) -> None:
        """Whether all rows are still consecutive, as in a group that everything goes to in order. O(rows)."""
        run = (int(touched[0]), int(rows[0])) if self.size == 0 else self._run
        if run is None:
            return
        group, first = run
        goes_on = len(touched) == 1 and touched[0] == group and rows[0] == first + self.size
        self._run = run if goes_on and bool((rows[1:] - rows[:-1] == 1).all()) else None

    def remove(self, groups: np.ndarray, rows: np.ndarray) -> None:
        """Take rows out of their groups. O(size of the groups concerned)."""
        self._run = None
        touched = np.unique(groups)
        counts = self._length[touched]
        at = spread(self._start[touched], counts)
        stays = ~np.isin(self._rows[at], rows)
        left = np.add.reduceat(stays.astype(np.int64), np.cumsum(counts) - counts)
        target = spread(self._start[touched], left)
        source = at[stays]
        self._rows[target] = self._rows[source]
        if self._keys is not None:
            self._keys[target] = self._keys[source]
        self._length[touched] = left
        self.size -= len(rows)
        self._operations.displaced += int(counts.sum())

    @staticmethod
    def _sorted_order(groups: np.ndarray, keys: np.ndarray | None) -> np.ndarray:
        """The stable order by group, then key; the identity, quickly, where it is that already."""
        same = groups[1:] == groups[:-1]
        if keys is None:
            if bool((groups[1:] >= groups[:-1]).all()):
                return np.arange(len(groups))
            return _group_order(groups)
        if bool(((groups[1:] > groups[:-1]) | (same & (keys[1:] >= keys[:-1]))).all()):
            return np.arange(len(groups))
        if bool((keys[1:] >= keys[:-1]).all()):
            return _group_order(groups)
        by_key: np.ndarray = np.argsort(keys, kind="stable")
        order: np.ndarray = by_key[_group_order(groups[by_key])]
        return order

    def _make_groups(self, count: int) -> None:
        """Have room in the group tables for numbers below `count`."""
        have = len(self._start)
        if count > have:
            more = max(count, 2 * have, 16) - have
            zeros = np.zeros(more, dtype=np.int64)
            self._start = np.concatenate((self._start, zeros))
            self._length = np.concatenate((self._length, zeros))
            self._capacity = np.concatenate((self._capacity, zeros))

    def _keep(self, touched: np.ndarray, first_keys: np.ndarray | None) -> np.ndarray:
        """How many rows of each group stand before its first new row."""
        keep: np.ndarray = self._length[touched]
        if first_keys is None or self._keys is None:
            return keep
        filled = np.flatnonzero(keep > 0)
        last = self._keys[self._start[touched[filled]] + keep[filled] - 1]
        late = filled[np.asarray(last > first_keys[filled], dtype=bool)]
        if len(late):
            start = self._start[touched[late]]
            keep[late] = self.bisect(start, start + keep[late], first_keys[late], "right") - start
        return keep

    def _reserve(self, touched: np.ndarray, needed: np.ndarray, keep: np.ndarray) -> None:
        """Give each group a block of at least `needed`, moving the first `keep` rows of those that outgrow theirs."""
        short = np.flatnonzero(needed > self._capacity[touched])
        if not len(short):
            return
        groups, needed, keep = touched[short], needed[short], keep[short]
        capacity = np.maximum(4, 2 ** np.ceil(np.log2(needed)).astype(np.int64))
        start = self._end + np.cumsum(capacity) - capacity
        self._end = int(start[-1] + capacity[-1])
        if self._end > len(self._rows):
            self._rows = _grown(self._rows, self._end)
            if self._keys is not None:
                self._keys = _grown(self._keys, self._end)
        source, target = spread(self._start[groups], keep), spread(start, keep)
        self._rows[target] = self._rows[source]
        if self._keys is not None:
            self._keys[target] = self._keys[source]
        self._start[groups], self._capacity[groups] = start, capacity

    # --- reading ---------------------------------------------------------------------------------------------------

    def bounds(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The range of positions of each group; empty for groups that do not exist."""
        if not len(self._start):
            empty = np.zeros(len(groups), dtype=np.int64)
            return empty, empty.copy()
        known = (groups >= 0) & (groups < len(self._start))
        if known.all():
            start = self._start.take(groups)
            return start, start + self._length.take(groups)
        safe = np.where(known, groups, 0)
        start = np.where(known, self._start[safe], 0)
        return start, start + np.where(known, self._length[safe], 0)

    def bisect(
        self, low: np.ndarray, high: np.ndarray, values: np.ndarray, side: str, by: np.ndarray | None = None
    ) -> np.ndarray:
        """The place of each value in its range low..high of the sorted keys. O(log n) each, all at once.

        `side` is as in `bisect`: before ("left") or after ("right") equal keys. With `by`, positions are compared by
        `by[row]` instead of the sort key; it must rise within each range.
        """
        self._operations.bisections += len(low)
        keys = self._keys
        if by is None and len(low) and bool((low == low[0]).all()) and bool((high == high[0]).all()):
            assert keys is not None
            start = int(low[0])
            found: np.ndarray = np.searchsorted(keys[start : int(high[0])], values, side=side)  # type: ignore[call-overload]
            return start + found
        if by is None and len(low) <= _FEW:
            assert keys is not None
            return np.array(
                [
                    int(a) + int(np.searchsorted(keys[int(a) : int(b)], v, side=side))  # type: ignore[call-overload]
                    for a, b, v in zip(low, high, values, strict=True)
                ],
                dtype=np.int64,
            )
        if by is not None:
            rows = self._rows
            return _bisect_all(low, high, values, side, lambda at: by.take(rows.take(at)))
        assert keys is not None
        return _bisect_all(low, high, values, side, keys.take)

    def below(self, low: np.ndarray, high: np.ndarray, values: np.ndarray, side: str) -> np.ndarray:
        """`bisect`, but O(1) for a value beyond all keys of its range, as every value is in time order."""
        assert self._keys is not None
        end = high.copy()
        filled = np.flatnonzero(high > low)
        last, wanted = self._keys[high[filled] - 1], values[filled]
        inside = filled[np.asarray(last >= wanted if side == "left" else last > wanted, dtype=bool)]
        if len(inside):
            end[inside] = self.bisect(low[inside], high[inside], values[inside], side)
        return end

    def beyond(self, op: str, values: np.ndarray) -> bool:
        """Whether `key op value` holds for no key and value at all, by comparing the extremes only. O(values)."""
        if self.size == 0:
            return True
        if op in ("<", "<="):
            most = values.max()
            return bool(most <= self.smallest if op == "<" else most < self.smallest)
        least = values.min()
        return bool(least >= self.largest if op == ">" else least > self.largest)

    def rows_at(self, positions: np.ndarray) -> np.ndarray:
        """The rows at positions of the arena."""
        self._operations.visited += len(positions)
        rows: np.ndarray = self._rows.take(positions)
        return rows

    def rows_of(self, low: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The rows of ranges of so many positions, one after another."""
        if self._run is None:
            return self.rows_at(spread(low, counts))
        group, first = self._run
        rows = spread(low + (first - self._start[group]), counts)
        self._operations.visited += len(rows)
        return rows

    def last_keys(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which groups have rows, and the largest key of each of those. O(1) a group."""
        assert self._keys is not None
        low, high = self.bounds(groups)
        filled = np.flatnonzero(high > low)
        return filled, self._keys[high[filled] - 1]

    def prefix_sums(self, of_row: np.ndarray) -> np.ndarray:
        """Running sums of a value per row, in arena order: the sum over positions a..b is `sums[b] - sums[a]`.

        Sums over a range that lies within one group are right; positions between groups add nothing that matters.
        """
        used = np.flatnonzero(self._length)
        at = spread(self._start[used], self._length[used])
        values = np.zeros(self._end + 1, dtype=of_row.dtype)
        values[at + 1] = of_row[self._rows[at]]
        return np.cumsum(values)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        tables = self._start.nbytes + self._length.nbytes + self._capacity.nbytes
        return int(tables + self._rows.nbytes + (self._keys.nbytes if self._keys is not None else 0))

    def _check(self) -> None:
        """Assert every invariant."""
        used = np.flatnonzero(self._capacity)
        assert (self._length <= self._capacity).all(), "a group outgrew its block"
        assert int(self._length.sum()) == self.size, "size is the sum of the groups"
        blocks = sorted((int(self._start[g]), int(self._capacity[g])) for g in used)
        for (a, capacity), (b, _) in pairwise(blocks):
            assert a + capacity <= b, "blocks overlap"
        if self._run is not None:
            group, first = self._run
            rows = self._rows[self._start[group] : self._start[group] + self._length[group]]
            assert rows.tolist() == list(range(first, first + self.size)), "rows are not consecutive"
        for g in used:
            if self._keys is not None:
                keys = self._keys[self._start[g] : self._start[g] + self._length[g]]
                assert bool((keys[1:] >= keys[:-1]).all()), f"group {g} is not sorted"


def _grown(array: np.ndarray, needed: int) -> np.ndarray:
    grown = np.empty(max(needed, 2 * len(array)), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


def _group_order(groups: np.ndarray) -> np.ndarray:
    """The stable order by group. numpy sorts 16 bits by radix, in O(n); larger numbers are sorted half by half."""
    most = int(groups.max())
    if most >= 1 << 16 and (most >= 1 << 32 or len(groups) < _SHORT):
        return np.argsort(groups, kind="stable")
    order: np.ndarray = np.argsort(groups.astype(np.uint16), kind="stable")
    if most >= 1 << 16:
        high = (groups >> 16).astype(np.uint16)
        order = order.take(np.argsort(high.take(order), kind="stable"))
    return order


def _bisect_all(
    low: np.ndarray, high: np.ndarray, values: np.ndarray, side: str, probe: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Bisect many ranges in lock step: log2 of the longest range rounds.

    Each place moves up by half of what is left wherever the key before its new place is on its side of the value.
    """
    found = low.copy()
    filled = np.flatnonzero(low < high)
    if not len(filled):
        return found
    low, high, values = low.take(filled), high.take(filled), values.take(filled)
    last = high - 1
    step = 1 << (int((high - low).max()).bit_length() - 1)
    while step:
        key = probe(np.minimum(low + (step - 1), last))
        passed = np.asarray(key < values if side == "left" else key <= values, dtype=bool)
        passed &= low <= high - step
        low += passed * step
        step >>= 1
    found[filled] = low
    return found

"""Running sums of a leaf's rows along an index: what a range of them adds up to is a difference of two.

A set is asked about when the watermark has passed its gap (`runtime.settle`). What is older than the watermark changes
no more: no row comes before another there, and none goes. So a row's running sum, once worked out, is right for good;
it is worked out when the first range that ends behind it is asked for, group by group. Amortised O(1) a row, and O(1) a
range with O(log n) where its group has to go on.

INT is added in two halves of 32 bits, which do not overflow before there are 2^31 rows; the whole is put together for a
range, and exact. Values that are NULL add nothing and are not counted.

Kept: 25 bytes a row. Compaction forgets the sums (a group then starts from zero again), and so does a snapshot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.arrays.columns import Growable
from runtime.arrays.sorted_groups import SortedGroups, spread

_HALF = 32
_LOW = (1 << _HALF) - 1

Values = Callable[[np.ndarray], Any]
"""The values of rows, as an Arrow array."""


class Totals:
    """Of each range: how many values are there, and their sum as `high * 2**32 + low`."""

    __slots__ = ("counts", "high", "low")

    def __init__(self, counts: np.ndarray, high: np.ndarray, low: np.ndarray) -> None:
        self.counts = counts
        self.high = high + (low >> _HALF)
        self.low = low & _LOW

    @property
    def fits(self) -> np.ndarray:
        """Which sums are an INT."""
        limit = 1 << (63 - _HALF)
        within: np.ndarray = (self.high >= -limit) & (self.high < limit)
        return within

    def whole(self) -> np.ndarray:
        """The sums that fit; anything for others."""
        sums: np.ndarray = (self.high << _HALF) + self.low
        return sums

    def exact(self) -> list[int]:
        """The sums, however large."""
        return [(high << _HALF) + low for high, low in zip(self.high.tolist(), self.low.tolist(), strict=True)]


class RunningSums:
    """The running sums of one value along one index."""

    __slots__ = ("_group", "_index", "_known", "_parts", "_values")

    def __init__(self, index: SortedGroups, group: Callable[[np.ndarray], np.ndarray], values: Values) -> None:
        self._index = index
        self._group = group
        self._values = values
        self.forget()

    def forget(self) -> None:
        """All of them: rows are numbered anew."""
        self._known = Growable(np.bool_)
        self._parts = (Growable(np.int64), Growable(np.int64), Growable(np.int64))

    def totals(self, low: np.ndarray, counts: np.ndarray, size: int) -> Totals:
        """What ranges of settled rows add up to; `size` is the number of rows of the leaf."""
        self._grow(size)
        filled = np.flatnonzero(counts)
        found = np.zeros((3, len(counts)), dtype=np.int64)
        if len(filled):
            start, end = low[filled], low[filled] + counts[filled]
            last = self._index.rows_at(end - 1)
            if not (known := self._known.at(last)).all():
                self._go_on(end[~known], last[~known])
            first = self._index.rows_at(start)
            for number, (part, own) in enumerate(zip(self._parts, self._own(first), strict=True)):
                found[number, filled] = part.at(last) - part.at(first) + own
        return Totals(*found)

    def _grow(self, size: int) -> None:
        added = size - self._known.size
        if added > 0:
            self._known.extend(np.zeros(added, dtype=np.bool_))
            for part in self._parts:
                part.grow(added)

    def _own(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What rows add: a count, and the halves of their values."""
        values = self._values(rows)
        valid = values.is_valid().to_numpy(zero_copy_only=False)
        if str(values.type) != "int64":  # counted only
            return valid.astype(np.int64), np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
        return valid.astype(np.int64), numbers >> _HALF, numbers & _LOW

    def _go_on(self, end: np.ndarray, last: np.ndarray) -> None:
        """Work out the sums of these groups up to these positions."""
        groups = self._group(last)
        order = np.lexsort((end, groups))
        furthest = order[np.append(groups[order][1:] != groups[order][:-1], True)]
        end, groups = end[furthest], groups[furthest]
        start, _ = self._index.bounds(groups)
        first = self._first_unknown(start, end)
        counts = end - first
        rows = self._index.rows_at(spread(first, counts))
        ends = counts.cumsum()
        going = np.flatnonzero(first > start)
        before = self._index.rows_at(first[going] - 1)
        for part, own in zip(self._parts, self._own(rows), strict=True):
            sums = own.cumsum()
            base = np.zeros(len(end), dtype=np.int64)
            base[going] = part.at(before)
            base[1:] -= sums[ends[:-1] - 1]
            part.view()[rows] = sums + base.repeat(counts)
        self._known.view()[rows] = True

    def _first_unknown(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The first position of each group whose sum is not known: those before it are."""
        low, high = start.copy(), end - 1  # the last one is not
        while len(open_ := np.flatnonzero(low < high)):
            middle = (low[open_] + high[open_]) // 2
            known = self._known.at(self._index.rows_at(middle))
            low[open_] = np.where(known, middle + 1, low[open_])
            high[open_] = np.where(known, high[open_], middle)
        return low

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._known.nbytes + sum(part.nbytes for part in self._parts)

    def _check(self) -> None:
        """Assert every invariant: what is known stands before what is not, and each sum goes on from the one before."""
        known = self._known.view()
        for group in np.unique(self._group(np.flatnonzero(known))):
            (low,), (high,) = self._index.bounds(np.array([group]))
            rows = self._index.rows_at(np.arange(low, high))
            rows = rows[rows < len(known)]
            flags = known[rows]
            assert not (flags[1:] & ~flags[:-1]).any(), "a sum is known and one before it is not"
            rows = rows[flags]
            for part, own in zip(self._parts, self._own(rows), strict=True):
                assert (np.diff(part.at(rows)) == own[1:]).all(), "a running sum does not go on from the one before"

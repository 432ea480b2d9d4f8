"""Ordinals: which of several equal events is this one?

Bag semantics give one match per combination, so two events with equal content need two ids. The k-th event of equal
content gets ordinal k. It does not matter which of the equal ones is called first, so ids do not depend on arrival
order. Equal are events whose values are: hashes only say which to compare (`runtime.state.looks`).

Only events of one instant can be equal, and only they are compared. While events arrive in time order, or in batches
that are not small next to what is stored, no table is kept at all; the first late event of a small batch builds one.
Without time the same holds while any number rises from event to event, as counters and times do that are not declared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime.arrays.columns import Column, Growable, NumberColumn
from runtime.state.looks import Looks, row_hashes

_SCAN = 16
"""Looking at the times of so many stored rows for each new one is cheaper than keeping a table of them."""


class Ordinals:
    """Counts events by content, for as long as another of the same content may come."""

    __slots__ = ("_columns", "_counts", "_newest", "_rising", "_seen")

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self.clear()

    def clear(self) -> None:
        """Rows have new numbers: begin anew, with those that are stored."""
        self._counts: _Counts | None = None
        self._newest: int | None = None
        self._rising = [column for column in self._columns if isinstance(column, NumberColumn)]
        """The columns that have risen with each of the first `_seen` rows."""
        self._seen = 0

    def assign(
        self, rows: np.ndarray, times: np.ndarray | None, gone: np.ndarray, stored_times: np.ndarray | None
    ) -> np.ndarray | None:
        """The ordinal of each new row; None where each is the first of its kind.

        O(1) each in time order, and nothing where no two are of one time; else one table probe each. `gone` and
        `stored_times` describe the rows that were there before, in order of arrival.
        """
        if self._counts is None and len(rows):
            if times is None and self._rise(int(rows[-1]) + 1):
                return None
            if times is not None and self._in_order(times, stored_times):
                return self._tied(rows, times, gone, stored_times)
            if times is not None and stored_times is not None and len(gone) <= _SCAN * len(rows):
                return self._of_one_time(rows, times, gone, stored_times)
            if not len(gone):
                return self._among(rows[:0], rows)  # the table can wait for a second batch
            self._counts = _Counts(self._columns)
            self._counts.add(np.flatnonzero(~gone))
        return None if self._counts is None else self._counts.add(rows)

    def _rise(self, size: int) -> bool:
        """Whether some number rises with each of the first `size` rows: then no two of them are equal."""
        if self._rising:
            rows = slice(max(self._seen - 1, 0), size)
            self._rising = [column for column in self._rising if column.rises(rows)]
            self._seen = size
        return bool(self._rising)

    def _in_order(self, times: np.ndarray, stored_times: np.ndarray | None) -> bool:
        """Whether a batch is sorted and goes on where the stored rows end, themselves sorted; remembers its end."""
        if not bool((times[1:] >= times[:-1]).all()):
            return False
        newest = self._newest
        if newest is None and stored_times is not None and len(stored_times):
            newest = int(stored_times.max())
            if not bool((stored_times[1:] >= stored_times[:-1]).all()):
                return False
        if newest is not None and int(times[0]) < newest:
            return False
        self._newest = int(times[-1])
        return True

    def _tied(
        self, rows: np.ndarray, times: np.ndarray, gone: np.ndarray, stored_times: np.ndarray | None
    ) -> np.ndarray | None:
        """Compare only what shares its time with another: all others are older or newer."""
        before = rows[:0]
        first = 0 if stored_times is None else int(np.searchsorted(stored_times, times[0], side="left"))
        if first < len(gone):
            before = first + np.flatnonzero(~gone[first:])
        tie = times[1:] == times[:-1]
        if not len(before) and not tie.any():
            return None
        tied = np.concatenate(([False], tie)) | np.concatenate((tie, [False]))
        if len(before):
            tied |= times == times[0]
        places = np.flatnonzero(tied)
        some = self._among(before, rows[places])
        if some is None:
            return None
        ordinals = np.zeros(len(rows), dtype=np.int64)
        ordinals[places] = some
        return ordinals

    def _of_one_time(
        self, rows: np.ndarray, times: np.ndarray, gone: np.ndarray, stored_times: np.ndarray
    ) -> np.ndarray | None:
        """The same in any order. O(rows stored) comparisons of times, O(n log n) for those not before the batch."""
        self._newest = None
        before = np.flatnonzero((stored_times >= times.min()) & ~gone)
        every = np.concatenate((stored_times[before], times))
        order = np.argsort(every, kind="stable")
        tie = np.flatnonzero(every[order[1:]] == every[order[:-1]])
        tied = np.zeros(len(every), dtype=np.bool_)
        tied[order[tie]] = tied[order[tie + 1]] = True
        places = np.flatnonzero(tied[len(before) :])
        if not len(places):
            return None
        some = self._among(before[tied[: len(before)]], rows[places])
        if some is None:
            return None
        ordinals = np.zeros(len(rows), dtype=np.int64)
        ordinals[places] = some
        return ordinals

    def _among(self, before: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
        """The ordinals of rows next to those before them."""
        hashes = row_hashes(self._columns, np.concatenate((before, rows)))
        ordered = np.sort(hashes)
        if not bool((ordered[1:] == ordered[:-1]).any()):
            return None  # different hashes are of different rows
        counts = _Counts(self._columns)
        counts.add(before, hashes[: len(before)])
        return counts.add(rows, hashes[len(before) :])

    def forget(self, rows: np.ndarray) -> None:
        """Take back events that were deleted."""
        if self._counts is not None:
            self._counts.remove(rows)

    @property
    def nbytes(self) -> int:
        """Bytes held: none while events come in time order."""
        return 0 if self._counts is None else self._counts.nbytes


class _Counts:
    """How many events there are of each content."""

    __slots__ = ("_columns", "_counts", "_looks")

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._looks = Looks(columns)
        self._counts = Growable(np.int64)

    def add(self, rows: np.ndarray, hashes: np.ndarray | None = None) -> np.ndarray:
        """Count events in; for each, how many of its content were there before it. O(n log n) where some repeat."""
        known = len(self._looks)
        numbers = self._looks.add(rows, hashes)
        fresh = len(self._looks) - known
        self._counts.extend(np.zeros(fresh, dtype=np.int64))
        counts = self._counts.view()
        before: np.ndarray = counts[numbers]
        if fresh < len(rows):
            order = np.argsort(numbers, kind="stable")
            ordered = numbers[order]
            begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
            runs = np.diff(np.concatenate((begins, [len(ordered)])))
            before[order] += np.arange(len(ordered)) - begins.repeat(runs)
        np.add.at(counts, numbers, 1)
        return before

    def remove(self, rows: np.ndarray) -> None:
        """Count events out that are here."""
        np.subtract.at(self._counts.view(), self._looks.find(self._columns, rows), 1)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._looks.nbytes + self._counts.nbytes

"""Ordinals: which of several equal events is this one?

Bag semantics give one match per combination, so two events with equal content need two ids. The k-th event of equal
content gets ordinal k. It does not matter which of the equal ones is called first, so ids do not depend on arrival
order. While events arrive in time order only those of the newest instant can have a twin, and no table is kept at all;
the first late event builds one.
"""

from __future__ import annotations

import numpy as np

from runtime.columns import Growable
from runtime.hash_table import HashTable


class Ordinals:
    """Counts events by content hash, for as long as another of the same content may come."""

    __slots__ = ("_counts", "_newest")

    def __init__(self) -> None:
        self._counts: _Counts | None = None
        self._newest: int | None = None

    def assign(
        self,
        content: np.ndarray,
        times: np.ndarray | None,
        stored: np.ndarray,
        gone: np.ndarray,
        stored_times: np.ndarray | None,
    ) -> np.ndarray:
        """The ordinal of each new event. O(1) each in time order, else one table probe each.

        `stored`, `gone` and `stored_times` describe the rows that are there already, in order of arrival.
        """
        if self._counts is None:
            if times is not None and len(times) and self._in_order(times, stored_times):
                return self._tail(content, times, stored, gone, stored_times)
            if not len(stored) and _all_different(content):
                return np.zeros(len(content), dtype=np.int64)  # the table can wait for a second batch
            self._counts = _Counts(stored[~gone])
        return self._counts.add(content)

    def none_equal(self, times: np.ndarray | None, stored_times: np.ndarray | None) -> bool:
        """Whether no two events can be equal, since each is later than all before it: `assign` is not needed then."""
        if self._counts is not None or times is None or not len(times) or not bool((times[1:] > times[:-1]).all()):
            return False
        return self._goes_on(times, stored_times, strictly=True)

    def _in_order(self, times: np.ndarray, stored_times: np.ndarray | None) -> bool:
        """Whether nothing here is older than anything stored, and the batch itself is sorted."""
        return bool((times[1:] >= times[:-1]).all()) and self._goes_on(times, stored_times, strictly=False)

    def _goes_on(self, times: np.ndarray, stored_times: np.ndarray | None, *, strictly: bool) -> bool:
        """Whether a sorted batch goes on where the stored rows end, themselves sorted; remembers its end if it does."""
        newest = self._newest
        if newest is None and stored_times is not None and len(stored_times):
            newest = int(stored_times.max())
            if not bool((stored_times[1:] >= stored_times[:-1]).all()):
                return False
        first = int(times[0])
        if newest is not None and (first < newest or (strictly and first == newest)):
            return False
        self._newest = int(times[-1])
        return True

    def _tail(
        self,
        content: np.ndarray,
        times: np.ndarray,
        stored: np.ndarray,
        gone: np.ndarray,
        stored_times: np.ndarray | None,
    ) -> np.ndarray:
        """Compare only with stored rows of the batch's first instant: all others are older."""
        twins = stored[:0]
        if stored_times is not None and len(stored_times):
            first = int(np.searchsorted(stored_times, times[0], side="left"))
            twins = stored[first:][~gone[first:]]
        if not len(twins) and _all_different(content):
            return np.zeros(len(content), dtype=np.int64)
        return _Counts(twins).add(content)

    def forget(self, content: np.ndarray) -> None:
        """Take back events that were deleted."""
        if self._counts is not None:
            self._counts.remove(content)

    @property
    def nbytes(self) -> int:
        """Bytes held: none while events come in time order."""
        return 0 if self._counts is None else self._counts.nbytes


class _Counts:
    """How many events there are of each content."""

    __slots__ = ("_counts", "_table")

    def __init__(self, content: np.ndarray) -> None:
        self._table = HashTable()
        self._counts = Growable(np.int64)
        self.add(content)

    def add(self, content: np.ndarray) -> np.ndarray:
        """Count events in; for each, how many of its content were there before it. O(n log n) where some repeat."""
        numbers, fresh = self._table.add(_keys(content))
        self._counts.extend(np.zeros(len(fresh), dtype=np.int64))
        counts = self._counts.view()
        before: np.ndarray = counts[numbers]
        if len(fresh) < len(content):
            order = np.argsort(numbers, kind="stable")
            ordered = numbers[order]
            begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
            runs = np.diff(np.concatenate((begins, [len(ordered)])))
            before[order] += np.arange(len(ordered)) - begins.repeat(runs)
        np.add.at(counts, numbers, 1)
        return before

    def remove(self, content: np.ndarray) -> None:
        """Count events out that are here."""
        np.subtract.at(self._counts.view(), self._table.find(_keys(content)), 1)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._table.nbytes + self._counts.nbytes


def _keys(content: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return content, content >> np.uint64(32)


def _all_different(content: np.ndarray) -> bool:
    ordered = np.sort(content)
    return not bool((ordered[1:] == ordered[:-1]).any())

"""Twins: rows of a leaf that look alike, equal in all that a DISTINCT tuple shows of them.

If no event of a combination has a twin, no other combination makes its tuple: it need not be looked up, and nothing has
to be remembered of it. What an output leaves out is often a detail of events that differ in what it shows as well, so
this is the rule rather than the exception, and a set of tuples as large as the output is kept only where it is needed.

An event shows what is returned of it, and the values of keys that the output returns of any variable: events that
differ there are in no two combinations of one tuple.

A row is alone until its first twin comes. What was put out with it while it was alone has to be remembered from then
on: `met` has those rows, and the indexes have their combinations. A row meets its first twin once, so a combination is
looked up at most once for each of its events, and once when it is found.

Not guaranteed: that bound where twins are deleted, or leave the window, again and again before the row that they meet.
"""

from __future__ import annotations

import numpy as np

from runtime.arrays.columns import Growable


class Twins:
    """Counts the rows of each look. Looks are numbers, equal for rows that are (`runtime.state.looks`), from 0 on.

    >>> twins = Twins()
    >>> twins.add(np.array([0, 1, 0]))
    >>> twins.is_alone(np.arange(3)).tolist(), twins.met.tolist()
    ([False, True, False], [])
    >>> twins.add(np.array([1]))
    >>> twins.is_alone(np.arange(4)).tolist(), twins.met.tolist()
    ([False, False, False, False], [1])
    """

    __slots__ = ("_counts", "_numbers", "_sums", "met", "shared")

    def __init__(self) -> None:
        self._numbers = Growable(np.int64)
        """The number of each row's look."""
        self._counts = Growable(np.int64)
        """How many rows have a look, those that were forgotten left out."""
        self._sums = Growable(np.int64)
        """The sum of their row numbers: where there is one, its number."""
        self.shared = 0
        """How many looks have more than one row."""
        self.met = np.empty(0, dtype=np.int64)
        """The rows that were alone before the last `add` and are not any more."""

    def add(self, numbers: np.ndarray) -> None:
        """Take new rows with these looks. O(rows)."""
        first = self._numbers.size
        new = max(int(numbers.max(initial=-1)) + 1 - self._counts.size, 0)
        none = np.zeros(new, dtype=np.int64)
        self._counts.extend(none)
        self._sums.extend(none)
        self._numbers.extend(numbers)
        self.met = self._change(numbers, np.arange(first, first + len(numbers)), 1)

    def forget(self, rows: np.ndarray) -> None:
        """Count deleted rows out."""
        self._change(self._numbers.at(rows), rows, -1)

    def _change(self, numbers: np.ndarray, rows: np.ndarray, sign: int) -> np.ndarray:
        """Count rows in or out; the rows that had been alone with one of their looks."""
        counts, sums = self._counts.view(), self._sums.view()
        touched, places = np.unique(numbers, return_inverse=True)
        before = counts[touched]
        alone: np.ndarray = sums[touched[before == 1]]
        counts[touched] += sign * np.bincount(places, minlength=len(touched))
        np.add.at(sums, numbers, sign * rows)
        self.shared += int(np.count_nonzero(counts[touched] > 1)) - int(np.count_nonzero(before > 1))
        return alone

    def settle(self) -> None:
        """What `met` tells has been seen to."""
        self.met = self.met[:0]

    def is_alone(self, rows: np.ndarray) -> np.ndarray:
        """Which rows look like no other."""
        return np.asarray(self._counts.at(self._numbers.at(rows)) == 1)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._numbers.nbytes + self._counts.nbytes + self._sums.nbytes

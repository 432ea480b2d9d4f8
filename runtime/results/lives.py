"""Lives of DISTINCT tuples: from when until when, and which combination begins each.

A combination makes its tuple alive from its last event until its first one leaves the window. Combinations whose times
touch are one life, which begins with the one that ends first (of several, the one that starts last). So what a life
begins with depends on the combinations, not on the order in which they are found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runtime.search.partial import Partial
from runtime.state.leaf import DEAD

FOREVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Lives:
    """One entry for each life: its tuple, the combination that begins it, when the first and last behind it leave.

    `start` and `end` are the times of the combination's single events, which decide about lives; `first` and `last`
    those that are shown, of its sets too.
    """

    number: np.ndarray
    start: np.ndarray
    end: np.ndarray
    soonest: np.ndarray
    until: np.ndarray
    first: np.ndarray
    last: np.ndarray
    begun_by: Partial

    @classmethod
    def of(
        cls,
        number: np.ndarray,
        partial: Partial,
        times: tuple[np.ndarray, np.ndarray],
        shown: tuple[np.ndarray, np.ndarray],
        window: int | None,
    ) -> Lives:
        """A life for each combination."""
        start, end = times
        leaves = np.full(len(start), FOREVER) if window is None else start + window
        return cls(number, start, end, leaves, leaves, *shown, partial)

    def __len__(self) -> int:
        return len(self.number)

    def take(self, places: np.ndarray) -> Lives:
        """Some of them."""
        return Lives(
            self.number[places],
            self.start[places],
            self.end[places],
            self.soonest[places],
            self.until[places],
            self.first[places],
            self.last[places],
            self.begun_by.take(places),
        )

    def merged(self) -> Lives:
        """Those that touch made one; by tuple and end. O(n log n)."""
        if not len(self):
            return self
        ordered = self.take(np.lexsort((~self.start, self.end, self.number)))
        begins = np.concatenate(([True], ordered.number[1:] != ordered.number[:-1]))
        before = np.where(begins, DEAD, np.concatenate(([DEAD], ordered.until[:-1])))
        cuts = np.flatnonzero(begins | (ordered.end > running_maximum(before, begins)))
        first = ordered.take(cuts)
        return Lives(
            first.number,
            first.start,
            first.end,
            np.minimum.reduceat(ordered.soonest, cuts),
            np.maximum.reduceat(ordered.until, cuts),
            first.first,
            first.last,
            first.begun_by,
        )

    @staticmethod
    def together(parts: list[Lives]) -> Lives:
        """All of several."""
        if len(parts) == 1:
            return parts[0]
        begun = [part.begun_by for part in parts]
        rows = {var: np.concatenate([each.rows[var] for each in begun]) for var in begun[0].rows}
        branch: int | np.ndarray = begun[0].branch
        if isinstance(branch, np.ndarray):
            branch = np.concatenate([np.asarray(each.branch) for each in begun])
        number = np.concatenate([part.number for part in parts])
        return Lives(
            number,
            np.concatenate([part.start for part in parts]),
            np.concatenate([part.end for part in parts]),
            np.concatenate([part.soonest for part in parts]),
            np.concatenate([part.until for part in parts]),
            np.concatenate([part.first for part in parts]),
            np.concatenate([part.last for part in parts]),
            Partial(len(number), rows, None, None, None, branch),
        )


def running_maximum(values: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """The largest value so far, in each run that begins where it is said.

    >>> running_maximum(np.array([5, 3, 9, 1, 4]), np.array([True, False, False, True, False]))
    array([5, 5, 9, 1, 4])
    """
    if bool(begins.all()):
        return values
    # Ranks instead of values leave room to raise each run above the one before it.
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.arange(len(values))
    base = (np.cumsum(begins) - 1) * len(values)
    largest: np.ndarray = values[order[np.maximum.accumulate(ranks + base) - base]]
    return largest

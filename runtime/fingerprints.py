"""Fingerprints of a leaf's rows: which event is this, and which of several equal ones?

The id of a match is made of its events' fingerprints (`runtime.hashing`), and equal events are told apart by their
ordinals (`runtime.ordinals`). Most events are never in a match. In strict time order no two can be equal either (a plan
keeps the time of every event that has one), so there is nothing to compare when they arrive: such rows *wait*, and are
hashed when a match shows them.

Rent or buy: a waiting row that is asked for is hashed on the spot and forgotten; when as many have been hashed so as
wait, all of them are hashed for good. That is never more than twice the work of hashing all, and mostly none.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from runtime import hashing
from runtime.columns import Column, Growable
from runtime.ordinals import Ordinals
from runtime.selection import Selection

_BLOCK = 1 << 15


class Fingerprints:
    """The content hash and the id of every row; `size` is that of the leaf."""

    __slots__ = ("_columns", "_content", "_ids", "_may_wait", "_ordinals", "_rented", "_seed", "has_twins", "size")

    def __init__(self, seed: tuple[int, int], columns: Mapping[str, Column], *, may_wait: bool) -> None:
        self._seed = seed
        self._columns = columns
        self._may_wait = may_wait
        self._content = Growable(np.uint64)
        self._ids = Growable(hashing.BOTH_LANES)
        self._ordinals = Ordinals()
        self._rented = 0
        self.size = 0
        self.has_twins = False
        """Whether there may be two rows of equal content."""

    def of(self, events: Selection) -> hashing.Lanes:
        """The content hash of each of some events, two lanes."""
        return hashing.combine(self._seed, [events.hashes(name) for name in self._columns], events.length)

    def _of_rows(self, rows: np.ndarray | slice, count: int) -> hashing.Lanes:
        """The same for rows that are stored."""
        return hashing.combine(self._seed, [column.lanes(rows) for column in self._columns.values()], count)

    # --- writing ---------------------------------------------------------------------------------------------------

    def add(
        self, events: Selection, times: np.ndarray | None, gone: np.ndarray, stored_times: np.ndarray | None
    ) -> None:
        """Take new events; `gone` and `stored_times` describe the rows that are there already."""
        if self._may_wait and self._ordinals.none_equal(times, stored_times):
            self.size += events.length
            return
        self._hash_waiting()
        lanes = self.of(events)
        ordinals = self._ordinals.assign(lanes[0], times, self._content.view(), gone, stored_times)
        self.put(lanes[0], hashing.both_lanes(hashing.with_ordinal(lanes, ordinals)))

    def put(self, content: np.ndarray, ids: np.ndarray) -> None:
        """Take new rows that were fingerprinted before."""
        self._hash_waiting()
        self.has_twins |= bool((_first_lane(ids) != content).any())
        self._content.extend(content)
        self._ids.extend(ids)
        self.size += len(content)

    def _hash_waiting(self) -> None:
        """Hash all rows that wait, for good; some at a time, for the processor's cache."""
        for first in range(self._content.size, self.size, _BLOCK):
            last = min(first + _BLOCK, self.size)
            lanes = self._of_rows(slice(first, last), last - first)
            self._content.extend(lanes[0])
            self._ids.extend(hashing.both_lanes(lanes))
            self._rented = 0

    def forget(self, rows: np.ndarray) -> None:
        """Count deleted rows out of the equal ones."""
        self._ordinals.forget(self.content(rows))

    def keep(self, rows: np.ndarray) -> None:
        """Forget all rows but these, which are numbered anew in the same (rising) order. Who waits goes on waiting."""
        hashed = rows[: int(np.searchsorted(rows, self._content.size))]
        self._content.keep(hashed)
        self._ids.keep(hashed)
        self._ordinals = Ordinals()
        self._rented = 0
        self.size = len(rows)

    # --- reading ---------------------------------------------------------------------------------------------------

    def content(self, rows: np.ndarray) -> np.ndarray:
        """The content hash (first lane) of some rows."""
        self._hash_waiting()
        return self._content.at(rows)

    def at(self, rows: np.ndarray) -> np.ndarray:
        """The fingerprints of some rows, as `hashing.BOTH_LANES`."""
        hashed = self._content.size
        if hashed == self.size:
            return self._ids.at(rows)
        waits = rows >= hashed
        waiting = int(np.count_nonzero(waits))
        self._rented += waiting
        if self._rented > self.size - hashed:
            self._hash_waiting()
            return self._ids.at(rows)
        found = np.empty(len(rows), dtype=hashing.BOTH_LANES)
        found[~waits] = self._ids.at(rows[~waits])
        found[waits] = hashing.both_lanes(self._of_rows(rows[waits], waiting))
        return found

    def is_first(self, rows: np.ndarray) -> np.ndarray:
        """Which rows are the first of their content: those whose fingerprint is the plain one (ordinal 0)."""
        return np.asarray(_first_lane(self.at(rows)) == self.content(rows))

    @property
    def nbytes(self) -> int:
        """Bytes held, with the table of equal events."""
        return self._content.nbytes + self._ids.nbytes + self._ordinals.nbytes


def _first_lane(ids: np.ndarray) -> np.ndarray:
    lanes: np.ndarray = ids.view(np.uint64)[::2]
    return lanes

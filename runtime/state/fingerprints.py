"""Fingerprints of a leaf's rows: which event is this, and which of several equal ones?

The id of a match is made of its events' fingerprints (`runtime.state.identity`), and equal events are told apart by
their ordinals (`runtime.state.ordinals`). Most events are never in a match, and a cryptographic hash costs some 50
nanoseconds: a row is hashed when the first match shows it, and its fingerprint is kept.

Rent or buy: each call that finds rows without a fingerprint costs as much as a thousand hashes, and a look at every row
that is asked for. When that, with the hashes that are needed now, has cost as much as hashing all other rows that have
none, they are hashed too, and nobody has to look any more. That is never more than twice the work.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from runtime.arrays.columns import Column, Growable
from runtime.state import identity
from runtime.state.id_key import IdKey
from runtime.state.ordinals import Ordinals

_LOOKS = 64
"""So many rows are looked at in the time that hashing one takes."""
_MARKS = 16
"""Marking so many rows that are wanted or not costs as much as sorting one that is."""
_CALL = 1024
"""A call for a few costs as much as so many hashes."""


class Fingerprints:
    """The fingerprint of every row, on demand; `size` is that of the leaf.

    Without `apart`, equal rows share one.
    """

    __slots__ = ("_apart", "_digests", "_hashed", "_ids", "_known", "_ordinal", "_ordinals", "_rent", "size")

    def __init__(
        self, names: tuple[str, ...], columns: Mapping[str, Column], key: IdKey | None, *, apart: bool = True
    ) -> None:
        self._digests = identity.Digests(names, columns, key)
        self._apart = apart
        self._ordinals = Ordinals(list(columns.values()))
        self._ordinal: Growable | None = None
        """Which of several equal events each row is; None while each is the first of its kind."""
        self._ids = Growable(identity.BOTH_LANES)
        self._known = Growable(np.bool_)
        """Which rows have their fingerprint in `_ids`; rows beyond have none."""
        self._hashed = 0
        self._rent = 0
        self.size = 0

    # --- writing ---------------------------------------------------------------------------------------------------

    def add(self, count: int, times: np.ndarray | None, gone: np.ndarray, stored_times: np.ndarray | None) -> None:
        """Take `count` new rows, which are in the columns; `gone` and `stored_times` describe those before them."""
        rows = np.arange(self.size, self.size + count)
        self.size += count
        if not self._apart:
            return
        ordinals = self._ordinals.assign(rows, times, gone, stored_times)
        if ordinals is not None and self._ordinal is None and ordinals.any():
            self._ordinal = Growable(np.int64)
            self._ordinal.extend(np.zeros(self.size - count, dtype=np.int64))
        if self._ordinal is not None:
            self._ordinal.extend(np.zeros(count, dtype=np.int64) if ordinals is None else ordinals)

    def forget(self, rows: np.ndarray) -> None:
        """Count deleted rows out of the equal ones."""
        if self._apart:
            self._ordinals.forget(rows)

    def keep(self, rows: np.ndarray) -> None:
        """Forget all rows but these, which are numbered anew in the same (rising) order."""
        known = rows[: int(np.searchsorted(rows, self._known.size))]
        self._ids.keep(known)
        self._known.keep(known)
        self._hashed = int(np.count_nonzero(self._known.view()))
        self._rent = 0
        if self._ordinal is not None:
            self._ordinal.keep(rows)
        self._ordinals.clear()
        self.size = len(rows)

    # --- reading ---------------------------------------------------------------------------------------------------

    def at(self, rows: np.ndarray) -> np.ndarray:
        """The fingerprints of some rows, as `identity.BOTH_LANES`."""
        if self._hashed < self.size:
            self._hash(rows)
        return self._ids.at(rows)

    def _hash(self, rows: np.ndarray) -> None:
        """Hash those of some rows that have not been, or all."""
        if self._known.size < self.size:
            more = self.size - self._known.size
            self._ids.grow(more)
            self._known.extend(np.zeros(more, dtype=np.bool_))
        known = self._known.view()
        if self.size <= _MARKS * len(rows):
            wanted = np.zeros(self.size, dtype=np.bool_)
            wanted[rows] = True
            new = np.flatnonzero(wanted & ~known)
        else:
            new = np.unique(rows[~known.take(rows)])
        self._rent += 1 + len(rows) // _LOOKS + (_CALL if len(new) else 0)
        if self._rent + len(new) > self.size - self._hashed - len(new):
            self._rent = 0
            new = np.flatnonzero(~known)
        if len(new):
            self._ids.view()[new] = self._digests.of(new, None if self._ordinal is None else self._ordinal.at(new))
            known[new] = True
            self._hashed += len(new)

    @property
    def has_twins(self) -> bool:
        """Whether there may be two rows of equal content."""
        return self._ordinal is not None

    def is_first(self, rows: np.ndarray) -> np.ndarray:
        """Which rows are the first of their content."""
        if self._ordinal is None:
            return np.ones(len(rows), dtype=np.bool_)
        return np.asarray(self._ordinal.at(rows) == 0)

    @property
    def nbytes(self) -> int:
        """Bytes held, with the table of equal events."""
        ordinal = 0 if self._ordinal is None else self._ordinal.nbytes
        return self._ids.nbytes + self._known.nbytes + ordinal + self._ordinals.nbytes

"""Looks: rows of equal values have one number, and rows of different values never do.

A hash says where to look (`runtime.arrays.hashing`), and the values decide: each look is known by one of its rows, and
a row that is taken for it is compared with that row, column by column. Where a hash leads to another look, the row goes
on to the next one, as in any open addressing.

Costs O(1) a row and column. A look's row must stay readable for as long as the look is used: whoever forgets rows makes
new looks of those that stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from runtime.arrays import hashing
from runtime.arrays.columns import Column, Growable
from runtime.arrays.hash_table import HashTable

_BLOCK = 1 << 15


class Looks:
    """Numbers the rows of some columns by value.

    >>> import pyarrow as pa
    >>> from cep.ir.types import Type
    >>> from runtime.arrays.columns import make_column
    >>> column = make_column(Type.STRING)
    >>> column.extend(pa.array(["a", None, "a", ""]))
    >>> numbers = Looks([column]).add(np.arange(4))
    >>> bool(numbers[0] == numbers[2]), len(set(numbers.tolist()))
    (True, 3)
    """

    __slots__ = ("_columns", "_rows", "_table")

    def __init__(self, columns: Iterable[Column]) -> None:
        self._columns = list(columns)
        self._table = HashTable()
        self._rows = Growable(np.int64)

    def __len__(self) -> int:
        return self._rows.size

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._table.nbytes + self._rows.nbytes

    def row(self, numbers: np.ndarray) -> np.ndarray:
        """A row of each look: the first that was added."""
        return self._rows.at(numbers)

    def add(self, rows: np.ndarray, hashes: np.ndarray | None = None) -> np.ndarray:
        """The number of each row's look, new ones numbered; `hashes` are those of `row_hashes`, where known."""
        if hashes is None:
            hashes = row_hashes(self._columns, rows)
        numbers = np.empty(len(rows), dtype=np.int64)
        pending = np.arange(len(rows))
        while len(pending):
            chosen = rows[pending]
            found, first = self._table.add((hashes,))
            self._rows.extend(chosen[first])
            numbers[pending] = found
            wrong = self._differ(found, self._columns, chosen, first)
            pending, hashes = pending[wrong], hashing.again(hashes[wrong])
        return numbers

    def find(self, columns: Sequence[Column], rows: np.ndarray) -> np.ndarray:
        """The look of each row of other columns of the same types; -1 where it has none."""
        numbers = np.full(len(rows), -1, dtype=np.int64)
        pending, hashes = np.arange(len(rows)), row_hashes(columns, rows)
        while len(pending):
            found = self._table.find((hashes,))
            here = np.flatnonzero(found >= 0)
            pending, hashes, found = pending[here], hashes[here], found[here]
            numbers[pending] = found
            wrong = self._differ(found, columns, rows[pending])
            numbers[pending[wrong]] = -1
            pending, hashes = pending[wrong], hashing.again(hashes[wrong])
        return numbers

    def _differ(
        self, numbers: np.ndarray, columns: Sequence[Column], rows: np.ndarray, first: np.ndarray | None = None
    ) -> np.ndarray:
        """Where rows are not equal to the row of the look that they were taken for; `first` need not be compared."""
        places = np.arange(len(rows))
        if first is not None:
            if len(first) == len(rows):
                return places[:0]
            is_first = np.zeros(len(rows), dtype=np.bool_)
            is_first[first] = True
            places = np.flatnonzero(~is_first)
        wrong = []
        for start in range(0, len(places), _BLOCK):
            some = places[start : start + _BLOCK]
            equal = same(columns, rows[some], self._columns, self._rows.at(numbers[some]))
            wrong.append(some[~equal])
        return np.concatenate(wrong) if wrong else places[:0]


def row_hashes(columns: Sequence[Column], rows: np.ndarray | slice) -> np.ndarray:
    """Where to look for rows with these values."""
    length = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    return hashing.rows([column.hashes(rows) for column in columns], length)


def same(left: Sequence[Column], left_rows: np.ndarray, right: Sequence[Column], right_rows: np.ndarray) -> np.ndarray:
    """Which pairs of rows have the same values in all columns; NULL is a value."""
    equal = np.ones(len(left_rows), dtype=np.bool_)
    for one, other in zip(left, right, strict=True):
        equal &= one.same(left_rows, other, right_rows)
    return equal

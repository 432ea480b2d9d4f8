"""Join keys as small integers.

A `KeySpace` numbers the values of one join variable; a `GroupSpace` numbers the combinations of several. Both sides of
a join use the same spaces, so that equality of values is equality of numbers, and a group of an index is an offset.
Numbers are never reused; the engine throws the spaces away when it compacts.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import count, islice
from sys import getsizeof
from typing import Any

import numpy as np
import pyarrow as pa

from runtime.arrays.hash_table import HashTable

_SMALL = 1 << 20
_NUMBER = getsizeof(1 << 20)
"""Bytes of a number that is a Python object of its own."""


class KeySpace:
    """Values of one join variable, numbered in order of first sight.

    With `integers`, all values that will ever come are INT. Those from 0 to a million, as ids and codes mostly are,
    have their numbers in a table; all others in a dictionary.

    >>> import pyarrow as pa
    >>> KeySpace().encode(pa.array(["b", "a", "b"]))
    array([0, 1, 0])
    """

    __slots__ = ("_counted", "_fresh", "_in_table", "_integers", "_numbers", "_table", "_value_bytes")

    def __init__(self, *, integers: bool = False) -> None:
        self._integers = integers
        self._fresh = count()
        # A value that is asked for and not there gets the next number, without a step through Python.
        self._numbers: defaultdict[Any, int] = defaultdict(self._fresh.__next__)
        self._table = np.empty(0, dtype=np.int64)
        self._in_table = 0
        self._counted = 0
        self._value_bytes = 0

    def encode(self, array: Any) -> np.ndarray:
        """The number of each value; new values get new numbers. One probe per row, and one of a dict per value.

        Takes dictionary arrays, too. NULL is -1, which no group has.
        """
        if array.null_count:
            numbers = np.full(len(array), -1, dtype=np.int64)
            numbers[array.is_valid().to_numpy(zero_copy_only=False)] = self.encode(array.drop_null())
            return numbers
        if not self._integers or not len(array):
            return self._look_up(array)
        values = array.to_numpy(zero_copy_only=False)
        if int(values.min()) >= 0 and int(values.max()) < _SMALL:
            return self._read_off(values)
        small = (values >= 0) & (values < _SMALL)
        numbers = np.empty(len(values), dtype=np.int64)
        if small.any():
            numbers[small] = self._read_off(values[small])
        numbers[~small] = self._look_up(pa.array(values[~small]))
        return numbers

    def _read_off(self, values: np.ndarray) -> np.ndarray:
        """The numbers of small integers."""
        most = int(values.max())
        if most >= len(self._table):
            more = max(most + 1, 2 * len(self._table), 16) - len(self._table)
            self._table = np.concatenate((self._table, np.full(more, -1)))
        numbers: np.ndarray = self._table[values]
        if int(numbers.min()) < 0:
            new = values[numbers < 0]
            places = np.arange(len(new))
            self._table[new] = places
            new = new[self._table[new] == places]  # each value once
            self._table[new] = np.fromiter(islice(self._fresh, len(new)), np.int64, len(new))
            self._in_table += len(new)
            numbers = self._table[values]
        return numbers

    def _look_up(self, array: Any) -> np.ndarray:
        """The numbers of any values."""
        encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        values = encoded.dictionary.to_numpy(zero_copy_only=False).tolist()
        codes = np.fromiter(map(self._numbers.__getitem__, values), np.int64, len(values))
        result: np.ndarray = codes.take(encoded.indices.to_numpy(zero_copy_only=False))
        return result

    def __len__(self) -> int:
        return len(self._numbers) + self._in_table

    @property
    def nbytes(self) -> int:
        """Bytes held: table, dictionary, its values and their numbers. O(values new since last asked)."""
        new = len(self._numbers) - self._counted
        if new:
            # A dictionary keeps the order of arrival, and is read from its end.
            self._value_bytes += sum(map(getsizeof, islice(reversed(self._numbers), new)))
            self._value_bytes += _NUMBER * new
            self._counted = len(self._numbers)
        return int(self._table.nbytes) + getsizeof(self._numbers) + self._value_bytes


class GroupSpace:
    """Combinations of key numbers, numbered: first those of the first two, then those with the third, and so on.

    With one key a group is the key's number; with none there is one group, 0.
    """

    __slots__ = ("_pairs", "width")

    def __init__(self, width: int) -> None:
        self.width = width
        self._pairs = [HashTable() for _ in range(width - 1)]

    def encode(self, keys: list[np.ndarray], length: int, *, add: bool = True) -> np.ndarray:
        """The group of each row; without `add`, -1 for combinations never seen. O(1) a row and key."""
        if self.width == 0:
            return np.zeros(length, dtype=np.int64)
        groups = keys[0]
        for table, key in zip(self._pairs, keys[1:], strict=True):
            # A number has less than 32 bits; what was never seen (-1) gives a pair that was never seen.
            pair = (groups.astype(np.uint64) << np.uint64(32)) | key.astype(np.uint64)
            groups = table.add((pair,))[0] if add else table.find((pair,))
        return groups

    def __len__(self) -> int:
        return len(self._pairs[-1]) if self._pairs else 0

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(table.nbytes for table in self._pairs)

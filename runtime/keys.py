"""Join keys as small integers.

A `KeySpace` numbers the values of one join variable; a `GroupSpace` numbers the combinations of several. Both sides of
a join use the same spaces, so that equality of values is equality of numbers, and a group of an index is an offset.
Numbers are never reused; the engine throws the spaces away when it compacts.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class KeySpace:
    """Values of one join variable, numbered in order of first sight.

    >>> import pyarrow as pa
    >>> KeySpace().encode(pa.array(["b", "a", "b"]))
    array([0, 1, 0])
    """

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def encode(self, array: Any) -> np.ndarray:
        """The number of each value; new values get new numbers. One hash probe per row, one dict probe per value."""
        encoded = array.dictionary_encode()
        numbers = self._numbers
        values = encoded.dictionary.to_numpy(zero_copy_only=False).tolist()
        codes = list(map(numbers.get, values))
        if None in codes:
            for place, number in enumerate(codes):
                if number is None:
                    codes[place] = numbers[values[place]] = len(numbers)
        result: np.ndarray = np.array(codes, dtype=np.int64)[encoded.indices.to_numpy(zero_copy_only=False)]
        return result

    def __len__(self) -> int:
        return len(self._numbers)


class GroupSpace:
    """Combinations of key numbers, numbered in order of first sight.

    With one key a group is the key's number; with none there is one group, 0.
    """

    __slots__ = ("_numbers", "width")

    def __init__(self, width: int) -> None:
        self.width = width
        self._numbers: dict[Any, int] = {}

    def encode(self, keys: list[np.ndarray], length: int, *, add: bool = True) -> np.ndarray:
        """The group of each row; without `add`, -1 for combinations never seen."""
        if self.width == 0:
            return np.zeros(length, dtype=np.int64)
        if self.width == 1:
            return keys[0]
        stacked = np.stack(keys, axis=1)
        distinct, inverse = np.unique(stacked, axis=0, return_inverse=True)
        numbers = self._numbers
        codes = np.empty(len(distinct), dtype=np.int64)
        for i, combination in enumerate(map(tuple, distinct.tolist())):
            number = numbers.get(combination)
            if number is None:
                number = -1
                if add:
                    number = numbers[combination] = len(numbers)
            codes[i] = number
        return codes[inverse.reshape(-1)]

    def __len__(self) -> int:
        return len(self._numbers)

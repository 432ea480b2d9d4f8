"""Tuples of a DISTINCT output as keys: exact, and short enough for a table.

A tuple is what its events look like (`runtime.state.looks`), a number for each variable that it shows, and the values
of its computed fields, numbered as well. Two combinations make one tuple exactly if these numbers are equal. Different
alternatives of a pattern can make one tuple of different variables: then all fields are told by their values. When
leaves are compacted looks get new numbers, and `renumbered` says what becomes of the tuples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cep.ir.expr import Col, variables
from cep.ir.plan import Plan
from cep.ir.types import Type
from runtime.arrays.columnar import as_computed
from runtime.arrays.columns import NumberColumn, StringColumn, make_column
from runtime.arrays.hash_table import Keys
from runtime.results.output import Output
from runtime.search.partial import Partial
from runtime.state.leaf import Leaf

_HALF = np.uint64(32)


class Values:
    """Numbers the values of one computed field; NULL is a value."""

    __slots__ = ("_numbers", "_values")

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._values: list[Any] = []

    def encode(self, array: Any) -> np.ndarray:
        """The number of each value; new values get new numbers."""
        encoded = array.dictionary_encode(null_encoding="encode")
        codes = np.empty(len(encoded.dictionary), dtype=np.int64)
        for place, value in enumerate(encoded.dictionary.to_pylist()):
            number = self._numbers.setdefault(value, len(self._values))
            if number == len(self._values):
                self._values.append(value)
            codes[place] = number
        numbers: np.ndarray = codes.take(encoded.indices.to_numpy(zero_copy_only=False))
        return numbers

    def values(self, numbers: np.ndarray) -> list[Any]:
        """The values of some numbers."""
        return [self._values[number] for number in numbers.tolist()]

    def keep(self, numbers: np.ndarray) -> np.ndarray:
        """Forget all values but those of these numbers; their new numbers."""
        kept, places = np.unique(numbers, return_inverse=True)
        self._values = self.values(kept)
        self._numbers = {value: number for number, value in enumerate(self._values)}
        return places.reshape(-1)

    @property
    def nbytes(self) -> int:
        """About the bytes held."""
        return 100 * len(self._values)


class Shape:
    """How the tuples of a plan become keys."""

    __slots__ = ("_leaves", "_output", "computed", "mentioned", "shown", "values")

    def __init__(self, plan: Plan) -> None:
        by_value = bool(plan.branches)
        kept = {leaf.var for leaf in plan.leaves}
        of_row = [isinstance(f.expr, Col) and f.expr.var in kept and not by_value for f in plan.fields]
        returned = {v for field, shows in zip(plan.fields, of_row, strict=True) if shows for v in variables(field.expr)}
        self.shown = tuple(leaf.var for leaf in plan.leaves if leaf.var in returned)
        fields = [field for part in plan.parts for field in part.fields]
        self.mentioned = frozenset(var for field in fields for var in variables(field.expr))
        """The variables that fields are made of."""
        self.computed = [(n, field) for n, field in enumerate(plan.fields) if not of_row[n]]
        """Fields that are not of one event as it is: expressions, what sets of a combination add up to, and all that
        several alternatives have."""
        self.values = [Values() for _ in self.computed]

    def bind(self, output: Output, leaves: Mapping[str, Leaf]) -> None:
        """Go on with other leaves."""
        self._output = output
        self._leaves = leaves

    @property
    def width(self) -> int:
        """How many numbers make a tuple."""
        return len(self.shown) + len(self.computed)

    @property
    def words(self) -> int:
        """How many words make a key."""
        return max(1, (self.width + 1) // 2)

    @property
    def nbytes(self) -> int:
        """About the bytes held for values of computed fields."""
        return sum(values.nbytes for values in self.values)

    def keys(self, partial: Partial) -> Keys:
        """The key of each match's tuple."""
        places = partial.places()
        numbers = []
        for var in self.shown:
            rows, repeats = places[var]
            look = self._leaves[var].look
            assert look is not None
            numbers.append(look.at(rows) if repeats is None else look.at(rows).repeat(repeats))
        for (number, _), values in zip(self.computed, self.values, strict=True):
            numbers.append(values.encode(comparable(self._output.field(number, partial))))
        return pack(numbers, partial.size)

    def computed_columns(self, fields: list[Any]) -> dict[str, NumberColumn | StringColumn]:
        """The computed fields among the columns of some tuples, stored as a leaf's columns are."""
        columns = {}
        for number, field in self.computed:
            column = make_column(Type.INT if field.type is Type.NULL else field.type)
            column.extend(comparable(fields[number]))
            columns[field.name] = column
        return columns

    def renumbered(self, keys: Keys, looks: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> tuple[Keys, np.ndarray]:
        """Tuples after looks have got new numbers (old and new ones of some rows, by variable).

        Which of them are left, and their keys: a tuple of which a look is in no row any more is dead.
        """
        numbers = unpack(keys, self.width)
        here = np.ones(len(keys[0]), dtype=np.bool_)
        for place, var in enumerate(self.shown):
            old, new = looks[var]
            size = max(int(old.max(initial=-1)), int(numbers[place].max(initial=-1))) + 1
            now = np.full(size, -1, dtype=np.int64)
            now[old] = new
            numbers[place] = now[numbers[place]]
            here &= numbers[place] >= 0
        left = np.flatnonzero(here)
        numbers = [each[left] for each in numbers]
        for place, values in enumerate(self.values, len(self.shown)):
            numbers[place] = values.keep(numbers[place])
        return pack(numbers, len(left)), left


def pack(numbers: list[np.ndarray], size: int) -> Keys:
    """Numbers of less than 32 bits, two in a word."""
    if not numbers:
        return (np.zeros(size, dtype=np.uint64),)
    words = []
    for place in range(0, len(numbers), 2):
        word = numbers[place].astype(np.uint64)
        if place + 1 < len(numbers):
            word |= numbers[place + 1].astype(np.uint64) << _HALF
        words.append(word)
    return tuple(words)


def unpack(keys: Keys, width: int) -> list[np.ndarray]:
    """The inverse of `pack`.

    >>> [n.tolist() for n in unpack(pack([np.array([1, 2]), np.array([3, 4]), np.array([5, 6])], 2), 3)]
    [[1, 2], [3, 4], [5, 6]]
    """
    halves = [half for word in keys for half in (word & np.uint64(0xFFFFFFFF), word >> _HALF)]
    return [half.astype(np.int64) for half in halves[:width]]


def comparable(array: Any) -> Any:
    """A field's column with times as integers, and NULLs of some type."""
    array = as_computed(array)
    return array.cast(pa.int64()) if pa.types.is_null(array.type) else array

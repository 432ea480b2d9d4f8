"""Columns that grow: append batches, read rows at random, hand ranges to Arrow without copying more than needed.

Rows are numbered from 0 in order of arrival and never move (until the engine compacts and renumbers everything).
Appending is amortised O(1) per value: buffers double.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.types import Type
from runtime.arrays import hashing
from runtime.arrays.columnar import ARROW_TYPES
from runtime.arrays.sorted_groups import spread

_NUMPY = {
    Type.INT: np.dtype(np.int64),
    Type.DOUBLE: np.dtype(np.float64),
    Type.BOOLEAN: np.dtype(np.bool_),
    Type.TIMESTAMP: np.dtype(np.int64),
    Type.DURATION: np.dtype(np.int64),
}
PADDING = 16
"""So many bytes can be read from where any text begins, or ends."""


class Growable:
    """A numpy array with room at its end; `view()` is what is filled."""

    __slots__ = ("_data", "size")

    def __init__(self, dtype: Any) -> None:
        self._data = np.empty(16, dtype=dtype)
        self.size = 0

    def extend(self, values: np.ndarray) -> None:
        """Append values. Amortised O(len(values))."""
        self.with_room(len(values))[self.size :] = values
        self.size += len(values)

    def grow(self, count: int) -> None:
        """Append so many values that can be anything, to be written later."""
        self.with_room(count)
        self.size += count

    def with_room(self, count: int) -> np.ndarray:
        """The filled part and `count` values behind it, which can be anything."""
        end = self.size + count
        if end > len(self._data):
            grown = np.empty(max(end, 2 * len(self._data)), dtype=self._data.dtype)
            grown[: self.size] = self._data[: self.size]
            self._data = grown
        return self._data[:end]

    def view(self) -> np.ndarray:
        """The filled part; valid until the next `extend`, and never changed by it."""
        return self._data[: self.size]

    def at(self, rows: np.ndarray | slice) -> np.ndarray:
        """The values of some rows: copied, or for a slice where they stand, as in `view`."""
        if isinstance(rows, slice):
            return self.view()[rows]
        values: np.ndarray = self._data.take(rows)  # faster than [rows], by a third
        return values

    def keep(self, rows: np.ndarray) -> None:
        """Forget the values of all other rows."""
        self._data = self.at(rows)
        self.size = len(rows)

    @property
    def nbytes(self) -> int:
        """Bytes held, spare room included."""
        return int(self._data.nbytes)


class NumberColumn:
    """INT, DOUBLE, BOOLEAN and TIMESTAMP values with an optional validity mask."""

    __slots__ = ("_arrow", "type", "valid", "values")

    def __init__(self, type_: Type) -> None:
        self.type = type_
        self._arrow = ARROW_TYPES[type_]
        self.values = Growable(_NUMPY[type_])
        self.valid: Growable | None = None

    def extend(self, array: Any) -> None:
        """Append an array as `columnar.as_computed` returns it."""
        if array.null_count:
            if self.valid is None:
                self.valid = Growable(np.bool_)
                self.valid.extend(np.ones(self.values.size, dtype=np.bool_))
            self.valid.extend(array.is_valid().to_numpy(zero_copy_only=False))
            zero = False if self.type is Type.BOOLEAN else 0
            array = pc.fill_null(array, zero)
        elif self.valid is not None:
            self.valid.extend(np.ones(len(array), dtype=np.bool_))
        self.values.extend(array.to_numpy(zero_copy_only=False))

    def take(self, rows: np.ndarray, repeats: np.ndarray | None = None) -> Any:
        """The values of some rows as an Arrow array of the column's event type, each repeated where asked."""
        values = self.values.at(rows)
        if repeats is not None:
            values = values.repeat(repeats)
        mask = None if self.valid is None else _missing(self.valid, rows, repeats)
        if mask is not None or self.type is Type.BOOLEAN:
            return number_array(values, self.type, mask)
        return pa.Array.from_buffers(self._arrow, len(values), [None, pa.py_buffer(values)])

    def keep(self, rows: np.ndarray) -> None:
        """Forget all other rows."""
        self.values.keep(rows)
        if self.valid is not None:
            self.valid.keep(rows)

    def hashes(self, rows: np.ndarray | slice) -> np.ndarray:
        """The table hashes of some rows' values (their own bits: it is the row's hash that mixes them)."""
        bits = self.words(rows)
        return bits if self.valid is None else hashing.nulls(~self.valid.at(rows), bits)

    def words(self, rows: np.ndarray | slice) -> np.ndarray:
        """The bits of some rows' values; 0 for NULL."""
        values = self.values.at(rows)
        bits: np.ndarray = (values.astype(np.int64) if self.type is Type.BOOLEAN else values).view(np.uint64)
        return bits

    def missing(self, rows: np.ndarray) -> np.ndarray | None:
        """Which rows are NULL; None where none is."""
        return None if self.valid is None else _missing(self.valid, rows, None)

    def rises(self, rows: slice) -> bool:
        """Whether each of some rows has a larger value than the one before it, NULL being 0: then no two are equal."""
        values = self.values.at(rows)
        return bool((values[1:] > values[:-1]).all())

    def same(self, rows: np.ndarray, other: Column, other_rows: np.ndarray) -> np.ndarray:
        """Which rows have the value that another column of this type has in other rows; NULL is a value."""
        assert isinstance(other, NumberColumn)
        equal: np.ndarray = self.values.at(rows) == other.values.at(other_rows)
        return equal & _as_valid(self.valid, rows, other.valid, other_rows)

    def computed(self, rows: np.ndarray) -> Any:
        """Like `take`, with times as int64."""
        array = self.take(rows)
        return array.cast(pa.int64()) if self.type in (Type.TIMESTAMP, Type.DURATION) else array

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self.values.nbytes + (self.valid.nbytes if self.valid is not None else 0)


def _missing(valid: Growable, rows: np.ndarray, repeats: np.ndarray | None) -> np.ndarray | None:
    """Which rows are NULL; None where none is."""
    there = valid.at(rows)
    if there.all():
        return None
    missing: np.ndarray = ~there
    return missing if repeats is None else missing.repeat(repeats)


def _as_valid(
    valid: Growable | None, rows: np.ndarray, other: Growable | None, other_rows: np.ndarray
) -> np.ndarray | bool:
    """Which rows are NULL in both of two columns, or in neither."""
    if valid is None and other is None:
        return True
    left = np.bool_(True) if valid is None else valid.at(rows)
    right = np.bool_(True) if other is None else other.at(other_rows)
    both: np.ndarray = left == right
    return both


def number_array(values: np.ndarray, type_: Type, mask: np.ndarray | None = None) -> Any:
    """Wrap numpy values as an Arrow array; no copy but for booleans and where there are NULLs."""
    if mask is not None or type_ is Type.BOOLEAN:
        array = pa.array(values, mask=mask)
        return array.cast(ARROW_TYPES[type_]) if array.type != ARROW_TYPES[type_] else array
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(ARROW_TYPES[type_], len(values), [None, pa.py_buffer(values)])


class StringColumn:
    """Text in Arrow's own layout (offsets into one byte buffer), so that any range of rows is an Arrow array for free.

    `take` gives dictionary arrays, each text once in the dictionary, as pandas and other readers demand. It is that of
    the whole column where that is small next to what is asked for (it is made once for all chunks of a push), or of a
    slice of it where the rows lie close together.
    """

    __slots__ = ("_bytes", "_offsets", "_whole", "valid")

    type = Type.STRING

    def __init__(self) -> None:
        self._offsets = Growable(np.int64)
        self._offsets.extend(np.zeros(1, dtype=np.int64))
        self._bytes = Growable(np.uint8)
        self.valid: Growable | None = None
        self._whole: tuple[np.ndarray, Any] | None = None

    def extend(self, array: Any) -> None:
        """Append an Arrow string array."""
        self._whole = None
        if array.null_count:
            if self.valid is None:
                self.valid = Growable(np.bool_)
                self.valid.extend(np.ones(self._offsets.size - 1, dtype=np.bool_))
            self.valid.extend(array.is_valid().to_numpy(zero_copy_only=False))
            array = pc.fill_null(array, "")
        elif self.valid is not None:
            self.valid.extend(np.ones(len(array), dtype=np.bool_))
        large = array.cast(pa.large_string())
        _, offsets_buffer, data = large.buffers()
        if len(large) == 0:
            return
        offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[large.offset : large.offset + len(large) + 1]
        start, end = int(offsets[0]), int(offsets[-1])
        base = self._bytes.size - start
        if end > start:
            self._extend_bytes(np.frombuffer(data, dtype=np.uint8)[start:end])
        self._offsets.extend(offsets[1:] + base)

    def _extend_bytes(self, data: np.ndarray) -> None:
        self._bytes.with_room(len(data) + PADDING)
        self._bytes.extend(data)

    def _slice(self, first: int, last: int) -> Any:
        """Rows first..last (exclusive) as a string array; copies the offsets only."""
        offsets = self._offsets.view()[first : last + 1]
        base = int(offsets[0])
        return text_array(offsets - base, self._bytes.view()[base : int(offsets[-1])])

    def take(self, rows: np.ndarray, repeats: np.ndarray | None = None) -> Any:
        """The text of some rows as a dictionary array, each repeated where asked."""
        codes, dictionary = self._codes(rows, len(rows) if repeats is None else int(repeats.sum()))
        if repeats is not None:
            codes = codes.repeat(repeats)
        mask = None if self.valid is None else _missing(self.valid, rows, repeats)
        indices = pa.array(codes, mask=mask) if mask is not None else number_codes(codes)
        return pa.DictionaryArray.from_arrays(indices, dictionary, safe=False)  # codes are in range by construction

    def _codes(self, rows: np.ndarray, total: int) -> tuple[np.ndarray, Any]:
        """The place of each row's text in a dictionary, and the dictionary. O(total)."""
        enough = max(1024, 2 * total)
        size = self._offsets.size - 1
        if size <= enough:
            if self._whole is None:
                self._whole = _encoded(self._slice(0, size))
            codes, dictionary = self._whole
            return codes.take(rows), dictionary
        first, last = (int(rows.min()), int(rows.max()) + 1) if len(rows) else (0, 0)
        if last - first <= enough:
            codes, dictionary = _encoded(self._slice(first, last))
            return codes.take(rows - first), dictionary
        distinct, places = np.unique(rows, return_inverse=True)
        codes, dictionary = _encoded(self._gather(distinct))
        return codes.take(places), dictionary

    def _gather(self, rows: np.ndarray) -> Any:
        """The text of some rows, copied together."""
        return text_array(*self.copied(rows))

    def copied(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The offsets and bytes of some rows' text."""
        starts, lengths = self.places(rows)
        ends = lengths.cumsum()
        return np.concatenate(([0], ends)), self._bytes.at(spread(starts, lengths))

    def keep(self, rows: np.ndarray) -> None:
        """Forget all other rows."""
        offsets, data = self.copied(rows)
        self._whole = None
        self._offsets, self._bytes = Growable(np.int64), Growable(np.uint8)
        self._offsets.extend(offsets)
        self._extend_bytes(data)
        if self.valid is not None:
            self.valid.keep(rows)

    def hashes(self, rows: np.ndarray | slice) -> np.ndarray:
        """The table hashes of some rows' text."""
        if isinstance(rows, slice):
            hashes = hashing.texts(self._offsets.view()[rows.start : rows.stop + 1], self._bytes.view())
        else:
            hashes = hashing.texts(*self.copied(rows))
        return hashes if self.valid is None else hashing.nulls(~self.valid.at(rows), hashes)

    def words(self, rows: np.ndarray) -> np.ndarray:
        """How many bytes the text of some rows has; 0 for NULL."""
        lengths: np.ndarray = self.places(rows)[1].view(np.uint64)
        return lengths

    def missing(self, rows: np.ndarray) -> np.ndarray | None:
        """Which rows are NULL; None where none is."""
        return None if self.valid is None else _missing(self.valid, rows, None)

    def places(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where in `padded` the text of some rows begins, and how many bytes it has; none for NULL."""
        starts = self._offsets.at(rows)
        return starts, self._offsets.at(rows + 1) - starts

    @property
    def padded(self) -> np.ndarray:
        """The bytes of all text, and `PADDING` more of anything."""
        return self._bytes.with_room(PADDING)

    def same(self, rows: np.ndarray, other: Column, other_rows: np.ndarray) -> np.ndarray:
        """Which rows have the text that another column has in other rows; NULL is a value."""
        assert isinstance(other, StringColumn)
        lengths = self.words(rows)
        equal: np.ndarray = lengths == other.words(other_rows)
        equal &= _as_valid(self.valid, rows, other.valid, other_rows)
        places = np.flatnonzero(equal & (lengths > 0))
        if len(places):
            offsets, data = self.copied(rows[places])
            differs = data != other.copied(other_rows[places])[1]
            if differs.any():
                equal[places] = ~np.logical_or.reduceat(differs, offsets[:-1])
        return equal

    def computed(self, rows: np.ndarray) -> Any:
        """The text of some rows as a plain string array."""
        return self.take(rows).cast(pa.string())

    @property
    def nbytes(self) -> int:
        """Bytes held, with the dictionary that the last chunk of matches was made with."""
        whole = 0 if self._whole is None else int(self._whole[0].nbytes) + int(self._whole[1].nbytes)
        valid = 0 if self.valid is None else self.valid.nbytes
        return self._offsets.nbytes + self._bytes.nbytes + valid + whole


def _encoded(texts: Any) -> tuple[np.ndarray, Any]:
    """The code of each text and the dictionary that has each once."""
    encoded = texts.dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary


def text_array(offsets: np.ndarray, data: np.ndarray) -> Any:
    """An Arrow string array over a byte buffer; through 64-bit offsets where 32 are too few."""
    size = len(offsets) - 1
    if int(offsets[-1]) < 2**31:
        return pa.Array.from_buffers(
            pa.string(), size, [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
        )
    offsets = np.ascontiguousarray(offsets)
    return pa.Array.from_buffers(pa.large_string(), size, [None, pa.py_buffer(offsets), pa.py_buffer(data)]).cast(
        pa.string()
    )


def number_codes(codes: np.ndarray) -> Any:
    """Dictionary codes as an Arrow int32 array without copying."""
    return pa.Array.from_buffers(pa.int32(), len(codes), [None, pa.py_buffer(codes)])


Column = NumberColumn | StringColumn


def make_column(type_: Type) -> Column:
    """An empty column of a type."""
    return StringColumn() if type_ is Type.STRING else NumberColumn(type_)

"""Fingerprints: 128-bit hashes of values, the same in every process, engine and run.

A match's id is the sum of the fingerprints of its events, two 64-bit lanes each (Zobrist hashing): a match costs one
addition per event and lane (`runtime.fingerprints` keeps those of events). Values are mixed with splitmix64, word by
word. Not for security: somebody who picks event values at will can make ids collide.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa

from runtime.columnar import without_nulls

Lanes = tuple[np.ndarray, np.ndarray]

_NULL = np.uint64(0x9AE16A3B2F90404F)
_SHORT = 24
"""Up to this many bytes a text, offset included, hashing is cheaper than finding out which texts repeat."""
_LONG = 256
"""Text of more bytes than this is left to BLAKE2b: it is rare, and every word would cost a round."""
_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


def seed(*parts: str) -> tuple[int, int]:
    """Two lanes from text, e.g. a pattern's and a variable's name."""
    digest = hashlib.blake2b("\x00".join(parts).encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


_TEXT = seed("text")


def mix(values: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser: a bijection that spreads every input bit. Works on `values` itself and returns it."""
    values += np.uint64(0x9E3779B97F4A7C15)
    values ^= values >> np.uint64(30)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def hash_array(array: Any) -> Lanes:
    """The two lanes of each value of an Arrow array; equal values have equal lanes whatever their array's encoding.

    Numbers are their own bits in both lanes: it is `combine` that mixes them, each lane in its own way.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        if not len(array.dictionary):
            return _with_nulls(array, (np.zeros(len(array), np.uint64), np.zeros(len(array), np.uint64)))
        lanes = _hash_text(array.dictionary)
        indices = without_nulls(array.indices, 0)
        codes = indices.to_numpy(zero_copy_only=False)
        return _with_nulls(array, (lanes[0][codes], lanes[1][codes]))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        if array.nbytes > _SHORT * len(array):
            return hash_array(array.dictionary_encode())
        return _with_nulls(array, _hash_text(without_nulls(array, "")))
    if not (pa.types.is_int64(kind) or pa.types.is_float64(kind)):  # times and truth values
        array = array.cast(pa.int64())
    numbers = without_nulls(array, 0)
    bits = numbers.to_numpy(zero_copy_only=False).view(np.uint64)
    return _with_nulls(array, (bits, bits))


def _with_nulls(array: Any, lanes: Lanes) -> Lanes:
    return null_lanes(array.is_null().to_numpy(zero_copy_only=False), lanes) if array.null_count else lanes


def null_lanes(missing: np.ndarray, lanes: Lanes) -> Lanes:
    """Lanes with those of NULL where a value is missing."""
    return np.where(missing, _NULL, lanes[0]), np.where(missing, _NULL, lanes[1])


def _hash_text(array: Any) -> Lanes:
    """The lanes of a string array without NULLs."""
    array = array.cast(pa.large_string())
    _, offsets_buffer, data = array.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    return text_lanes(offsets, np.frombuffer(data or b"", dtype=np.uint8))


def text_lanes(offsets: np.ndarray, data: np.ndarray) -> Lanes:
    """The lanes of texts in Arrow's layout: eight bytes of every text at a time, all texts at once."""
    lengths = np.diff(offsets)
    start, end = int(offsets[0]), int(offsets[-1])
    padded = np.zeros(end - start + 8, dtype=np.uint8)
    padded[:-8] = data[start:end]
    words: np.ndarray = np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))
    lanes = mix(lengths.astype(np.uint64) ^ np.uint64(_TEXT[0])), mix(lengths.astype(np.uint64) ^ np.uint64(_TEXT[1]))
    long = np.flatnonzero(lengths > _LONG)
    active = np.flatnonzero((lengths > 0) & (lengths <= _LONG))
    at, left = offsets.take(active) - start, lengths.take(active)
    while len(active):
        word = words[at] & _FIRST_BYTES.take(np.minimum(left, 8))
        for lane in lanes:
            lane[active] = mix(lane.take(active) ^ word)
        more = np.flatnonzero(left > 8)
        active, at, left = active.take(more), at.take(more) + 8, left.take(more) - 8
    for row in long.tolist():
        text = padded[int(offsets[row]) - start : int(offsets[row + 1]) - start]
        lanes[0][row], lanes[1][row] = np.frombuffer(
            hashlib.blake2b(text.tobytes(), digest_size=16).digest(), dtype="<u8"
        )
    return lanes


def combine(start: tuple[int, int], columns: list[Lanes], length: int) -> Lanes:
    """One fingerprint per row from its columns' lanes, in order: position matters."""
    both = np.empty((2, length), dtype=np.uint64)
    both[:] = mix(np.array(start, dtype=np.uint64)).reshape(2, 1)
    for column in columns:
        for lane in (0, 1):
            both[lane] ^= column[lane]
        mix(both)
    return both[0], both[1]


def with_ordinal(lanes: Lanes, ordinal: np.ndarray) -> Lanes:
    """Tell equal events apart: the k-th of equal content gets its own fingerprint (the first keeps the plain one)."""
    if not ordinal.any():
        return lanes
    step = mix(ordinal.astype(np.uint64))
    return (
        np.where(ordinal > 0, mix(lanes[0] ^ step), lanes[0]),
        np.where(ordinal > 0, mix(lanes[1] ^ step), lanes[1]),
    )


BOTH_LANES = np.dtype(np.complex128)
"""Sixteen bytes that numpy gathers and repeats in one move. Never computed with as complex numbers."""


def both_lanes(lanes: Lanes) -> np.ndarray:
    """Two lanes side by side, one `BOTH_LANES` element each."""
    both = np.empty((len(lanes[0]), 2), dtype=np.uint64)
    both[:, 0] = lanes[0]
    both[:, 1] = lanes[1]
    return both.reshape(-1).view(BOTH_LANES)


def lanes_of(both: np.ndarray) -> Lanes:
    """The two lanes of `BOTH_LANES` elements, apart."""
    lanes = both.view(np.uint64).reshape(-1, 2)
    return lanes[:, 0].copy(), lanes[:, 1].copy()


def add_lanes(total: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Add lane by lane, modulo 2**64, to `total` itself, which is returned. `more` may be one element for all."""
    lanes = total.view(np.uint64)
    if len(more) == 1:
        lanes.reshape(-1, 2)[:] += more.view(np.uint64)
    else:
        lanes += more.view(np.uint64)
    return total


def id_array(both: np.ndarray) -> Any:
    """The ids of matches as a fixed-size binary array of 16 bytes."""
    return pa.Array.from_buffers(pa.binary(16), len(both), [None, pa.py_buffer(np.ascontiguousarray(both))])


def from_id_array(array: Any) -> np.ndarray:
    """The inverse of `id_array`, as `BOTH_LANES` elements. A copy."""
    data = array.buffers()[1]
    both = np.zeros(len(array), dtype=BOTH_LANES)
    if len(array):
        both[:] = np.frombuffer(data, dtype=BOTH_LANES)[array.offset : array.offset + len(array)]
    return both

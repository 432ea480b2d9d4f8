"""Fingerprints: 128-bit hashes of values, the same in every process, engine and run.

A match's id is the sum of the fingerprints of its events, two 64-bit lanes each (Zobrist hashing): an event is hashed
once when it arrives, a match costs one addition per event and lane. Numbers are mixed with splitmix64, text with
BLAKE2b. Not for security: somebody who picks event values at will can make ids collide.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Lanes = tuple[np.ndarray, np.ndarray]

_NULL = (np.uint64(0x9AE16A3B2F90404F), np.uint64(0xC949D7C7509E6557))


def seed(*parts: str) -> tuple[int, int]:
    """Two lanes from text, e.g. a pattern's and a variable's name."""
    digest = hashlib.blake2b("\x00".join(parts).encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")


def mix(values: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser, in place where possible: a bijection that spreads every input bit."""
    x = values.astype(np.uint64, copy=True)
    x += np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def hash_array(array: Any) -> Lanes:
    """The two lanes of each value of an Arrow array; equal values have equal lanes whatever their array's encoding."""
    if pa.types.is_dictionary(array.type):
        lanes = hash_array(array.dictionary)
        codes = pc.fill_null(array.indices, 0).to_numpy(zero_copy_only=False)
        if not len(array.dictionary):
            codes, lanes = codes[:0], (np.empty(0, np.uint64), np.empty(0, np.uint64))
            return _with_nulls(array, (np.zeros(len(array), np.uint64), np.zeros(len(array), np.uint64)))
        return _with_nulls(array, (lanes[0][codes], lanes[1][codes]))
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        encoded = array.dictionary_encode()
        if len(encoded.dictionary) < len(array):
            return hash_array(encoded)
        digests = b"".join(
            hashlib.blake2b((text or "").encode(), digest_size=16).digest() for text in array.to_pylist()
        )
        both = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
        return _with_nulls(array, (both[:, 0].copy(), both[:, 1].copy()))
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type) or pa.types.is_boolean(array.type):
        array = array.cast(pa.int64())
    bits = pc.fill_null(array, 0).to_numpy(zero_copy_only=False).view(np.uint64)
    return _with_nulls(array, (mix(bits), mix(bits ^ np.uint64(0xD6E8FEB86659FD93))))


def _with_nulls(array: Any, lanes: Lanes) -> Lanes:
    if array.null_count:
        missing = array.is_null().to_numpy(zero_copy_only=False)
        return np.where(missing, _NULL[0], lanes[0]), np.where(missing, _NULL[1], lanes[1])
    return lanes


def combine(start: tuple[int, int], columns: list[Lanes], length: int) -> Lanes:
    """One fingerprint per row from its columns' lanes, in order: position matters."""
    lanes = []
    for lane in (0, 1):
        result = np.full(length, start[lane], dtype=np.uint64)
        for column in columns:
            result = mix(result ^ column[lane])
        lanes.append(mix(result))
    return lanes[0], lanes[1]


def with_ordinal(lanes: Lanes, ordinal: np.ndarray) -> Lanes:
    """Tell equal events apart: the k-th of equal content gets its own fingerprint (the first keeps the plain one)."""
    if not ordinal.any():
        return lanes
    step = ordinal.astype(np.uint64)
    return (
        np.where(ordinal > 0, mix(lanes[0] ^ mix(step)), lanes[0]),
        np.where(ordinal > 0, mix(lanes[1] ^ mix(step)), lanes[1]),
    )


BOTH_LANES = np.dtype(np.complex128)
"""Sixteen bytes that numpy gathers and repeats in one move. Never computed with as complex numbers."""


def both_lanes(lanes: Lanes) -> np.ndarray:
    """Two lanes side by side, one `BOTH_LANES` element each."""
    both = np.empty((len(lanes[0]), 2), dtype=np.uint64)
    both[:, 0] = lanes[0]
    both[:, 1] = lanes[1]
    return both.reshape(-1).view(BOTH_LANES)


def add_lanes(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Add lane by lane, modulo 2**64."""
    return (left.view(np.uint64) + right.view(np.uint64)).view(BOTH_LANES)


def id_array(both: np.ndarray) -> Any:
    """The ids of matches as a fixed-size binary array of 16 bytes."""
    return pa.Array.from_buffers(pa.binary(16), len(both), [None, pa.py_buffer(np.ascontiguousarray(both))])

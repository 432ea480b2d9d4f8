"""Hashes that say where to look in a table, and nothing else.

Values are mixed with splitmix64, word by word, from a start that is drawn at random in every process: who picks event
values cannot pick the places that they take, so no stream makes a table slow on purpose. These hashes never decide that
two things are equal (whoever looks something up compares the values as well), and nothing that can be seen from
outside depends on them: ids are made in `runtime.state.identity`.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

_SECRET = secrets.token_bytes(32)
_ROW, _WORD, _TEXT, _NULL = np.frombuffer(_SECRET, dtype=np.uint64)
_LONG = 256
"""Text of more bytes than this is left to BLAKE2b: it is rare, and every word would cost a round."""
_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


def mix(values: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser: a bijection that spreads every input bit. Works on `values` itself and returns it."""
    values += np.uint64(0x9E3779B97F4A7C15)
    values ^= values >> np.uint64(30)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def words(keys: tuple[np.ndarray, ...]) -> np.ndarray:
    """One hash for each key of one or more 64-bit words."""
    hashes = mix(keys[0] ^ _WORD)
    for word in keys[1:]:
        hashes ^= word
        mix(hashes)
    return hashes


def rows(columns: list[np.ndarray], length: int) -> np.ndarray:
    """One hash for each row from those of its columns, in order: position matters."""
    hashes = np.full(length, _ROW, dtype=np.uint64)
    for column in columns:
        hashes ^= column
        mix(hashes)
    return hashes


def again(hashes: np.ndarray) -> np.ndarray:
    """Other hashes for those that turned out to belong to something else. A copy."""
    return mix(hashes.copy())


def nulls(missing: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    """Hashes with that of NULL where a value is missing."""
    return np.where(missing, _NULL, hashes)


def texts(offsets: np.ndarray, data: np.ndarray) -> np.ndarray:
    """The hashes of texts in Arrow's layout: eight bytes of every text at a time, all texts at once."""
    lengths = np.diff(offsets)
    start, end = int(offsets[0]), int(offsets[-1])
    padded = np.zeros(end - start + 8, dtype=np.uint8)
    padded[:-8] = data[start:end]
    all_words: np.ndarray = np.ndarray((len(padded) - 7,), dtype="<u8", buffer=padded, strides=(1,))
    hashes = mix(lengths.astype(np.uint64) ^ _TEXT)
    long = np.flatnonzero(lengths > _LONG)
    active = np.flatnonzero((lengths > 0) & (lengths <= _LONG))
    at, left = offsets.take(active) - start, lengths.take(active)
    while len(active):
        word = all_words[at] & _FIRST_BYTES.take(np.minimum(left, 8))
        hashes[active] = mix(hashes.take(active) ^ word)
        more = np.flatnonzero(left > 8)
        active, at, left = active.take(more), at.take(more) + 8, left.take(more) - 8
    for row in long.tolist():
        text = padded[int(offsets[row]) - start : int(offsets[row + 1]) - start]
        digest = hashlib.blake2b(text.tobytes(), digest_size=8, key=_SECRET).digest()
        hashes[row] = int.from_bytes(digest, "little")
    return hashes

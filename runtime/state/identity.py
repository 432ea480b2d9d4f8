"""Identity: 128-bit fingerprints that nobody can steer, the same in every process, engine and run.

A fingerprint is a cryptographic hash of a row (`runtime.state.aes_hash`): of the role that it plays (pattern, variable)
and of its values, written so that different rows are different messages. With a key (`IdKey`) the hash is keyed, and
whoever does not have the key cannot tell the fingerprint of any event, let alone choose it.

A match's id is the sum of its events' fingerprints, two 64-bit lanes each (Zobrist hashing): a match costs one addition
per event and lane. What forging such a sum costs is in docs/semantics.md: 2**60 hashes for up to three events that
somebody chooses freely, 2**43 for four, 2**32 for eight. A key takes that away.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa

from runtime.arrays.columns import Column, StringColumn
from runtime.state.aes_hash import BLOCK, AesHash
from runtime.state.id_key import IdKey

BOTH_LANES = np.dtype(np.complex128)
"""Sixteen bytes that numpy gathers and repeats in one move. Never computed with as complex numbers."""

_ROWS = 1 << 12
"""So many are hashed at once: what they need fits a processor's cache."""
_PIECE = BLOCK - 1
"""Bytes of text in a block; the last one says how many."""
_LONGEST = 8 * _PIECE
"""Text of more bytes is left to BLAKE2b: one row alone would cost all others of its batch a step for each piece."""
_MORE, _LONG = 0x80, 0x40


def role(*names: str) -> bytes:
    """16 bytes for what rows stand for: different names, different bytes."""
    text = b"".join(len(part).to_bytes(8, "little") + part for part in (name.encode() for name in names))
    return hashlib.blake2b(text, digest_size=16).digest()


class Digests:
    """Fingerprints of the rows of some columns.

    The message of a row is, in blocks of two words or 16 bytes: the role. The ordinal and which columns are NULL, a bit
    for each, 64 to a word. The numbers' bits. Each text in pieces of up to 15 bytes, each with a byte behind it that
    tells its length and whether there is more; a long text is its BLAKE2b in two pieces that say so. Read from its
    beginning, a message says where it ends: different rows have different ones, and none is the beginning of another.

    >>> from cep.ir.types import Type
    >>> from runtime.arrays.columns import make_column
    >>> column = make_column(Type.INT)
    >>> column.extend(pa.array([1, 2, 1, None]))
    >>> found = Digests(("P", "a"), {"x": column}, None).of(np.arange(4))
    >>> bool(found[0] == found[2]), len(set(found.tolist()))
    (True, 3)
    """

    __slots__ = ("_columns", "_head", "_key", "_role")

    def __init__(self, names: tuple[str, ...], columns: Mapping[str, Column], key: IdKey | None) -> None:
        self._columns = list(columns.values())
        self._key = key
        described = [part for name, column in columns.items() for part in (name, column.type.name)]
        self._role = role(*names, *described)
        self._head = 1 + -(-len(self._columns) // 64)
        """How many words tell the ordinal and what is NULL."""

    def of(self, rows: np.ndarray, ordinals: np.ndarray | None = None) -> np.ndarray:
        """The fingerprints of some rows, as `BOTH_LANES`; `ordinals` tell equal ones apart."""
        found = np.empty(len(rows), dtype=BOTH_LANES)
        aes = AesHash.of(self._key)
        for first in range(0, len(rows), _ROWS):
            some = rows[first : first + _ROWS]
            chains = self._begun(some, None if ordinals is None else ordinals[first : first + _ROWS])
            for which, blocks in self._values(some):
                if which is None:
                    chains = _chained(aes, chains, blocks)
                else:
                    chains[which] = _chained(aes, chains.take(which), blocks)
            found[first : first + _ROWS] = aes.finish(chains.view(np.uint8)).view(BOTH_LANES)
        return found

    def _begun(self, rows: np.ndarray, ordinals: np.ndarray | None) -> np.ndarray:
        """The chains of rows up to their values."""
        behind_role, most = _begin(self._key, self._role, self._head)
        chains = most.repeat(len(rows))
        missing = [(number, column.missing(rows)) for number, column in enumerate(self._columns)]
        if ordinals is None and all(some is None for _, some in missing):
            return chains
        head = _blocks(self._head, len(rows))
        if ordinals is not None:
            head[0, :, 0] = ordinals
        for number, some in missing:
            if some is not None:
                word = 1 + number // 64
                head[word // 2, :, word % 2] |= some.astype(np.uint64) << np.uint64(number % 64)
        marked = np.flatnonzero(head.any(axis=(0, 2)))
        chains[marked] = _chained(AesHash.of(self._key), behind_role.repeat(len(marked)), head[:, marked])
        return chains

    def _values(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray | None, np.ndarray]]:
        """The blocks of some rows' values, in pieces, and whose they are (None: all rows')."""
        numbers = [column for column in self._columns if not isinstance(column, StringColumn)]
        for place in range(0, len(numbers), 2):
            blocks = np.empty((1, len(rows), 2), dtype="<u8")
            blocks[0, :, 0] = numbers[place].words(rows)
            blocks[0, :, 1] = numbers[place + 1].words(rows) if place + 1 < len(numbers) else 0
            yield None, blocks
        for column in self._columns:
            if isinstance(column, StringColumn):
                yield from _pieces(column, rows)


@lru_cache(maxsize=1024)
def _begin(key: IdKey | None, role: bytes, head: int) -> tuple[np.ndarray, np.ndarray]:
    """The chain behind a role, and that of rows without NULL that are the first of their kind, up to their values."""
    aes = AesHash.of(key)
    first = np.frombuffer(role, dtype="<u8").reshape(1, 1, 2)
    behind_role = _chained(aes, np.zeros(1, dtype=BOTH_LANES), first)
    return behind_role, _chained(aes, behind_role, _blocks(head, 1))


def _chained(aes: AesHash, chains: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Chains that have taken in the first block of each row, then the second, and so on."""
    for block in blocks:
        chains = aes.step(chains.view(np.uint8), block.reshape(-1).view(np.uint8)).view(BOTH_LANES)
    return chains


def _blocks(words: int, rows: int) -> np.ndarray:
    """Room for so many words of each row, two to a block: all first blocks, then all second, and so on."""
    return np.zeros((-(-words // 2), rows, 2), dtype="<u8")


def _pieces(column: StringColumn, rows: np.ndarray) -> Iterator[tuple[np.ndarray | None, np.ndarray]]:
    """The pieces of some rows' text: those of all rows that have a first, of those that have a second, and so on."""
    at, left = column.places(rows)
    some: np.ndarray | None = None
    if len(long := np.flatnonzero(left > _LONGEST)):
        yield long, _long_pieces(column, rows[long])
        some = np.flatnonzero(left <= _LONGEST)
        at, left = at[some], left[some]
    data = column.padded
    windows: np.ndarray = np.ndarray((len(data) - BLOCK + 1,), dtype=BOTH_LANES, buffer=data, strides=(1,))
    while len(left):
        size = np.minimum(left, BLOCK)
        words = windows[at].view("<u8")
        words &= _KEPT.take(size).view("<u8")
        words |= _TAGS.take(size).view("<u8")
        yield some, words.reshape(1, -1, 2)
        more = np.flatnonzero(left > _PIECE)
        some = more if some is None else some[more]
        at, left = at[more] + _PIECE, left[more] - _PIECE


def _long_pieces(column: StringColumn, rows: np.ndarray) -> np.ndarray:
    """The blocks of the two pieces that stand for long text."""
    first, second = bytes([_PIECE | _LONG | _MORE]), bytes([_PIECE | _LONG])
    offsets, data = column.copied(rows)
    texts = np.split(data, offsets[1:-1])
    digests = [hashlib.blake2b(text.data, digest_size=2 * _PIECE).digest() for text in texts]
    pieces = [digest[:_PIECE] + first for digest in digests] + [digest[_PIECE:] + second for digest in digests]
    return np.frombuffer(b"".join(pieces), dtype="<u8").reshape(2, -1, 2)


def _table(rows: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(rows), dtype=BOTH_LANES)


_KEPT = _table([b"\xff" * min(size, _PIECE) + bytes(BLOCK - min(size, _PIECE)) for size in range(BLOCK + 1)])
"""By how many bytes of text are left: the bits that are of this piece."""
_TAGS = _table([bytes(_PIECE) + bytes([size if size <= _PIECE else _PIECE | _MORE]) for size in range(BLOCK + 1)])
"""By how many bytes of text are left: the byte behind the piece."""


# --- sums ----------------------------------------------------------------------------------------------------------


def start(*names: str) -> np.ndarray:
    """What a sum of fingerprints begins with: one element."""
    return np.frombuffer(role(*names), dtype=BOTH_LANES).copy()


def add_lanes(total: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Add lane by lane, modulo 2**64, to `total` itself, which is returned. `more` may be one element for all."""
    lanes = total.view(np.uint64)
    if len(more) == 1:
        lanes.reshape(-1, 2)[:] += more.view(np.uint64)
    else:
        lanes += more.view(np.uint64)
    return total


def id_array(both: np.ndarray) -> pa.Array:
    """The ids of matches as a fixed-size binary array of 16 bytes."""
    return pa.Array.from_buffers(pa.binary(16), len(both), [None, pa.py_buffer(np.ascontiguousarray(both))])

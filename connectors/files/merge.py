"""Merging ordered runs of events, whole slices at a time.

A *cursor* gives chunks of rows whose keys never fall, within a chunk and from one chunk to the next. `rounds` merges
cursors: each round is a slice of each cursor such that nothing in a later round belongs before it. Equal keys keep the
order of the cursors, then the order within a cursor: the merge is stable. A round takes at least one chunk to its end,
so there are no more rounds than chunks, and everything between is `searchsorted`.

Rows whose key is `LOWEST` (events without a time) may come in any chunk: they only say that they need not wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

LOWEST = -(2**63)
"""The key of an event without a time: less than every time."""

Keys = npt.NDArray[np.int64]
Chunk = tuple[Keys, pa.RecordBatch]


def times_of(batch: pa.RecordBatch, column: str | None) -> Keys:
    """Microseconds since the epoch of each event, `LOWEST` where it has no time."""
    if column is None:
        return np.full(batch.num_rows, LOWEST, np.int64)
    numbers = batch.column(column).cast(pa.int64())
    if numbers.null_count:
        numbers = numbers.fill_null(LOWEST)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), np.int64)


class Cursor:
    """Chunks with a head; see the module's text."""

    __slots__ = ("_chunks", "batch", "keys", "number")

    def __init__(self, chunks: Iterator[Chunk], number: int = 0) -> None:
        self._chunks = chunks
        self.number = number
        self.keys: Keys = np.empty(0, np.int64)
        self.batch: Any = None

    def load(self) -> bool:
        """Make sure there is a row at the head; False at the end."""
        while not len(self.keys):
            chunk = next(self._chunks, None)
            if chunk is None:
                return False
            self.keys, self.batch = chunk
        return True

    def take(self, count: int) -> Chunk:
        """Remove and return the first rows of the chunk at the head."""
        chunk = self.keys[:count], self.batch.slice(0, count)
        self.keys, self.batch = self.keys[count:], self.batch.slice(count)
        return chunk


def rounds(cursors: Sequence[Cursor]) -> Iterator[list[tuple[int, Keys, pa.RecordBatch]]]:
    """Slices to merge, as (number of the cursor, keys, rows), in the order of the cursors."""
    alive = list(cursors)
    while True:
        alive = [cursor for cursor in alive if cursor.load()]
        if not alive:
            return
        ends = [int(cursor.keys[-1]) for cursor in alive]
        bound = min(ends)
        first = ends.index(bound)
        parts = []
        for index, cursor in enumerate(alive):
            if index == first:
                count = len(cursor.keys)
            else:
                # More of `bound` may follow in the cursor that ends with it: those of later cursors wait for them.
                count = int(np.searchsorted(cursor.keys, bound, "right" if index < first else "left"))
            if count:
                keys, batch = cursor.take(count)
                parts.append((cursor.number, keys, batch))
        yield parts


def sorted_chunk(parts: Sequence[Chunk]) -> Chunk:
    """The rows of all parts by key, stable."""
    keys = np.concatenate([part[0] for part in parts]) if len(parts) > 1 else parts[0][0]
    batch = concat([part[1] for part in parts])
    if is_sorted(keys):
        return keys, batch
    order = np.argsort(keys, kind="stable")
    return keys[order], batch.take(pa.array(order))


def is_sorted(keys: Keys) -> bool:
    """Whether keys never fall."""
    return len(keys) < 2 or bool(np.all(keys[:-1] <= keys[1:]))


def concat(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch with the rows of all."""
    if len(batches) == 1:
        return batches[0]
    whole = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return whole[0] if whole else batches[0]


def merge_runs(cursors: Sequence[Cursor]) -> Iterator[Chunk]:
    """All rows of cursors of one schema, by key."""
    for parts in rounds(cursors):
        yield sorted_chunk([(keys, batch) for _, keys, batch in parts])

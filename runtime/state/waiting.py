"""The waiting room of a leaf that is held back: events that are not applied before the watermark has passed their gaps.

Rows are kept as the columns they came in, sorted by the moment at which they are due, block by block; the blocks are
sorted by their first due row. Nothing is indexed, and no match can find what waits. Adding a block costs O(log blocks)
beside sorting it, taking what is due O(rows taken) and a cut through the blocks that it ends in.

Guaranteed: rows are taken in order of time, each once, and only when due. An event without a time is never due, and not
kept: it can be in no match.

A row that is dropped as it settles can be in no match, but at exactly the watermark it is not late and may still be
taken back. Such rows lie *aside*, until the watermark has passed them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from sortedcontainers import SortedKeyList

from cep.ir.plan import Leaf
from runtime.arrays.columnar import as_computed, without_nulls
from runtime.intake.selection import Selection

_NEVER = int(np.iinfo(np.int64).max)

Block = tuple[np.ndarray, dict[str, Any]]
"""When each row is due, rising, and their columns."""


class Waiting:
    """See the module's text."""

    __slots__ = ("_aside", "_blocks", "hold", "size", "spec")

    def __init__(self, spec: Leaf) -> None:
        assert spec.hold is not None
        self.spec = spec
        self.hold = spec.hold
        self.size = 0
        self._blocks: SortedKeyList = SortedKeyList(key=_first)
        self._aside: list[Block] = []

    @property
    def due(self) -> int | None:
        """When the next row is due; None where none waits."""
        return int(self._blocks[0][0][0]) if self._blocks else None

    def add(self, events: Selection) -> None:
        """Let events wait."""
        if (block := self._block(events)) is not None:
            self._put(block)

    def put_aside(self, events: Selection) -> None:
        """Events were dropped that are not late yet."""
        if (block := self._block(events)) is not None:
            self._aside.append(block)

    def _block(self, events: Selection) -> Block | None:
        assert self.spec.time is not None
        times = without_nulls(events.column(self.spec.time), _NEVER).to_numpy(zero_copy_only=False)
        dated = np.flatnonzero(times != _NEVER)
        order = dated[np.argsort(times[dated], kind="stable")]
        if not len(order):
            return None
        chosen = pa.array(order)
        columns = {name: events.column(name).take(chosen) for name, _ in self.spec.columns}
        # A time near the end of all times stays there; the sum of no other one, and of none before 1970, overflows.
        due = np.minimum(times[order], _NEVER - self.hold) + self.hold
        return due, columns

    def take(self, watermark: int) -> Selection | None:
        """What is due, in order of time; None where nothing is."""
        # Only without a hold is a row due before it is late; the rows of one block aside have one time.
        self._aside = [block for block in self._aside if _first(block) >= watermark]
        parts: list[Block] = []
        while self._blocks and self._blocks[0][0][0] <= watermark:
            due, columns = self._blocks.pop(0)
            self.size -= len(due)
            cut = int(np.searchsorted(due, watermark, side="right"))
            parts.append((due[:cut], {name: column[:cut] for name, column in columns.items()}))
            if cut < len(due):
                self._put((due[cut:], {name: column[cut:] for name, column in columns.items()}))
        if not parts:
            return None
        due, columns = _joined(parts)
        order = pa.array(np.argsort(due, kind="stable"))
        return Selection.of({name: column.take(order) for name, column in columns.items()}, len(due))

    def everything(self) -> dict[str, Any] | None:
        """The columns of all that can be taken back: what waits, and what lies aside; None where nothing does."""
        if not self._blocks and not self._aside:
            return None
        _, columns = _joined([*self._blocks, *self._aside])
        return columns

    def replace(self, events: Selection, watermark: int | None) -> None:
        """Nothing is there but these; what is due has been settled before, and lies aside."""
        self._blocks.clear()
        self._aside.clear()
        self.size = 0
        block = self._block(events)
        if block is None:
            return
        due, columns = block
        cut = 0 if watermark is None else int(np.searchsorted(due, watermark, side="right"))
        if cut:
            self._aside.append((due[:cut], {name: column[:cut] for name, column in columns.items()}))
        if cut < len(due):
            self._put((due[cut:], {name: column[cut:] for name, column in columns.items()}))

    def _put(self, block: Block) -> None:
        self._blocks.add(block)
        self.size += len(block[0])

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        blocks = [*self._blocks, *self._aside]
        return sum(due.nbytes + sum(c.nbytes for c in columns.values()) for due, columns in blocks)

    def _check(self) -> None:
        """Assert every invariant; for tests."""
        firsts = [_first(block) for block in self._blocks]
        assert firsts == sorted(firsts), "blocks are sorted by their first due row"
        for due, columns in self._blocks:
            assert len(due) > 0
            assert (np.diff(due) >= 0).all(), "rows of a block are sorted by due time"
            assert all(len(column) == len(due) for column in columns.values())
        assert self.size == sum(len(due) for due, _ in self._blocks)
        for due, columns in self._aside:
            assert self.hold == 0, "what is held for longer is late when it is due"
            assert len(due) > 0
            assert due[0] == due[-1], "of one moment, the watermark"
            assert all(len(column) == len(due) for column in columns.values())


def _first(block: Block) -> int:
    return int(block[0][0])


def _joined(blocks: list[Block]) -> Block:
    due = np.concatenate([due for due, _ in blocks])
    names = blocks[0][1]
    return due, {name: as_computed(pa.chunked_array([columns[name] for _, columns in blocks])) for name in names}

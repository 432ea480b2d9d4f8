"""Signed batches: what is left of them to delete and to insert.

Within a batch signs add up: an event that comes with 1 and with -1 was never there. What is left to delete is looked
for among the stored events by value, and nothing is changed before all of it has been found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cep.ir.expr import timestamp_text
from cep.ir.types import Type
from runtime.arrays.columns import make_column
from runtime.arrays.sorted_groups import spread
from runtime.intake.batches import BatchError
from runtime.intake.selection import Selection
from runtime.state.leaf import Leaf
from runtime.state.looks import Looks
from runtime.state.waiting import Waiting


@dataclass(slots=True)
class Deletions:
    """What a signed batch deletes, by variable: rows of leaves, and what is left of those that wait."""

    rows: dict[str, np.ndarray] = field(default_factory=dict)
    waiting: dict[str, Selection] = field(default_factory=dict)


def deletions(leaves: Mapping[str, Leaf], waiting: Mapping[str, Waiting], parts: Mapping[str, Selection]) -> Deletions:
    """What a signed batch deletes; raises `BatchError` where something is not there, with nothing changed.

    O(rows stored) for a batch with deletions, however many: corrections belong in one batch. A row that waits goes
    before one of the same look that has been applied.
    """
    found = Deletions()
    for var, events in parts.items():
        if events.signs is None or not events.length:
            continue
        leaf = leaves[var]
        looks, first, net = _net(leaf, events)
        places = np.flatnonzero(net < 0)
        if not len(places):
            continue
        wanted = -net[places]
        if var in waiting and (room := waiting[var].everything()) is not None:
            columns = [_column(room[name], type_) for name, type_ in leaf.spec.columns]
            size = len(next(iter(room.values())))
            gone, wanted = _chosen(looks.find(columns, np.arange(size)), np.arange(size), places, wanted)
            if len(gone):
                left = np.delete(np.arange(size), gone)
                found.waiting[var] = Selection.of(room, size).take(left)
        stored = leaf.live(None)
        kept = [leaf.columns[name] for name, _ in leaf.spec.columns]
        rows, missing = _chosen(looks.find(kept, stored), stored, places, wanted)
        if missing.any():
            at = int(first[places[missing > 0]].min())
            row = {name: _shown(events.column(name)[at].as_py(), type_) for name, type_ in leaf.spec.columns}
            raise BatchError(
                f"stream {leaf.spec.stream}: cannot delete an event that is not there (as {leaf.spec.variable}): {row}"
            )
        if len(rows):
            found.rows[var] = rows
    return found


def _chosen(
    numbers: np.ndarray, rows: np.ndarray, places: np.ndarray, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of rows with these looks so many as are wanted of each, and how many are missing."""
    rows, numbers = rows[numbers >= 0], numbers[numbers >= 0]
    order = np.argsort(numbers, kind="stable")
    low = np.searchsorted(numbers[order], places, side="left")
    high = np.searchsorted(numbers[order], places, side="right")
    taken = np.minimum(high - low, wanted)
    # The newest twins go first, so that ordinals stay dense.
    return np.sort(rows[order[spread(high - taken, taken)]]), wanted - taken


def _column(values: Any, type_: Type) -> Any:
    column = make_column(type_)
    column.extend(values)
    return column


def insertions(leaf: Leaf, events: Selection) -> Selection:
    """What is left to insert of signed events."""
    _, first, net = _net(leaf, events)
    return events.take(np.sort(np.repeat(first, np.maximum(net, 0))))


def _net(leaf: Leaf, events: Selection) -> tuple[Looks, np.ndarray, np.ndarray]:
    """What signed events look like, the first row of each look, and the sum of its signs."""
    assert events.signs is not None
    looks = Looks([_column(events.column(name), type_) for name, type_ in leaf.spec.columns])
    numbers = looks.add(np.arange(events.length))
    net = np.zeros(len(looks), dtype=np.int64)
    np.add.at(net, numbers, events.signs.astype(np.int64))
    return looks, looks.row(np.arange(len(looks))), net


def _shown(value: Any, type_: Type) -> Any:
    """A value as an error message shows it: times as text."""
    return timestamp_text(value) if type_ is Type.TIMESTAMP and value is not None else value

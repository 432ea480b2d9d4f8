"""Signed batches: what is left of them to delete and to insert.

Within a batch signs add up: an event that comes with 1 and with -1 was never there. What is left to delete is looked
for among the stored events by content, and nothing is changed before all of it has been found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cep.expr import timestamp_text
from cep.types import Type
from runtime.batches import BatchError
from runtime.leaf import Leaf
from runtime.selection import Selection
from runtime.sorted_groups import spread


def deletions(leaves: Mapping[str, Leaf], parts: Mapping[str, Selection]) -> dict[str, np.ndarray]:
    """The rows that a signed batch deletes, by variable; raises `BatchError` where one is not there.

    O(rows stored) for a batch with deletions, however many: corrections belong in one batch.
    """
    found: dict[str, np.ndarray] = {}
    for var, events in parts.items():
        if events.signs is None or not events.length:
            continue
        leaf = leaves[var]
        content, first, net = _net(leaf, events)
        places = np.flatnonzero(net < 0)
        if not len(places):
            continue
        stored = leaf.live(None)
        stored = stored[np.isin(leaf.prints.content(stored), content[places])]
        hashes = leaf.prints.content(stored)
        order = np.argsort(hashes, kind="stable")
        low = np.searchsorted(hashes[order], content[places], side="left")
        high = np.searchsorted(hashes[order], content[places], side="right")
        wanted = -net[places]
        missing = np.flatnonzero(high - low < wanted)
        if len(missing):
            at = int(first[places[missing[0]]])
            row = {name: _shown(events.column(name)[at].as_py(), type_) for name, type_ in leaf.spec.columns}
            raise BatchError(f"stream {leaf.spec.stream}: cannot delete an event that is not there (as {var}): {row}")
        # The newest twins go first, so that ordinals stay dense.
        found[var] = stored[order[spread(high - wanted, wanted)]]
    return found


def insertions(leaf: Leaf, events: Selection) -> Selection:
    """What is left to insert of signed events."""
    _, first, net = _net(leaf, events)
    return events.take(np.sort(np.repeat(first, np.maximum(net, 0))))


def _net(leaf: Leaf, events: Selection) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Content hashes of signed events, the first row of each, and the sum of its signs."""
    assert events.signs is not None
    content = leaf.prints.of(events)[0]
    distinct, first, inverse = np.unique(content, return_index=True, return_inverse=True)
    net = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(net, inverse.reshape(-1), events.signs.astype(np.int64))
    return distinct, first, net


def _shown(value: Any, type_: Type) -> Any:
    """A value as an error message shows it: times as text."""
    return timestamp_text(value) if type_ is Type.TIMESTAMP and value is not None else value

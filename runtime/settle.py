"""Settling: what waits is applied once the watermark has passed the gaps that it is asked about.

A held leaf is an ordinary leaf whose rows are applied later (`cep.compiler.gaps`), so "a match is found when the last
of its variables is applied" needs nothing else. When the watermark moves, each held leaf in turn takes the rows that
are due, in order of time; they are asked about their gaps, those that cannot be in a match are dropped, and the matches
of the others are found. Blockers and single events of the same push are in their indexes by then, and nothing has
expired yet: a watermark that jumps settles before it forgets.

Final: what is older than the watermark is late, insertions and corrections alike, and a gap is asked about only when
all of it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from runtime.engine import Engine
    from runtime.intake.selection import Selection

END = int(np.iinfo(np.int64).max)
"""The watermark of a stream that has ended: everything is due."""


def due(engine: Engine) -> int | None:
    """The watermark at which something that waits is to be applied next; None where nothing waits."""
    return min((when for room in engine._waiting.values() if (when := room.due) is not None), default=None)


def settle(engine: Engine, sign: int | None, *, find: bool) -> Iterator[Any]:
    """Apply what is due at the engine's watermark; the matches that it completes."""
    if engine.watermark is None:
        return
    for var in engine.by_turns:
        room = engine._waiting.get(var)
        events = room.take(engine.watermark) if room is not None else None
        if events is not None:
            yield from _applied(engine, var, events, sign, find=find)


def _applied(engine: Engine, var: str, events: Selection, sign: int | None, *, find: bool) -> Iterator[Any]:
    leaf = engine._leaves[var]
    rows = leaf.add(events)
    assert leaf.time is not None
    assert engine.watermark is not None
    stays = engine._asks[var](rows)  # first: it adds the columns that partners are looked for by
    stays &= ~np.logical_and.reduce([b.partnerless(var, rows, engine.watermark) for b in engine._branches])
    if leaf.spec.derived:
        leaf.look_at(rows)
    if not stays.all():
        leaf.drop(rows[~stays])
        engine._compaction.deleted(int((~stays).sum()))
        aside = np.flatnonzero(~stays & (leaf.time.at(rows) >= engine.watermark))
        if len(aside):
            engine._waiting[var].put_aside(events.take(aside))
    if find:
        engine._remember()
    yield from engine._found(var, rows, rows[stays], sign, find=find)

"""When an engine throws away what has left the window or was deleted, and how.

Dead rows stay readable until a *look* finds more of them than of live ones; then the leaves keep the live rows alone.
Where keys and groups outnumber the live rows by far, all of them get new numbers as well, those of live rows only: a
burst of new keys is forgotten with its rows.

A look costs O(rows stored). It is taken when

* the rows stored have doubled since the last one;
* the watermark has passed every row that the last one left alive: what is stored then was either alive at the last look
  and is dead for good, or has come since. So state shrinks after a burst, too, when hardly anything comes any more;
* as many rows have been deleted as are left.

Each row is therefore looked at O(1) times, amortised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime import snapshot

if TYPE_CHECKING:
    import numpy as np

    from runtime.engine import Engine

ROWS = 8192
"""Stored rows that are never worth a look."""
KEYS = 1 << 14
"""Keys and groups that are never worth new numbers."""


class Compaction:
    """Decides when to look at one engine's state, and shrinks it."""

    __slots__ = ("_at", "_deleted", "_newest")

    def __init__(self) -> None:
        self._at = ROWS
        """Look when more rows than this are stored."""
        self._newest: int | None = None
        """The latest time among the rows that the last look left alive."""
        self._deleted = 0
        """Rows deleted since the last look."""

    def deleted(self, rows: int) -> None:
        """Rows were deleted."""
        self._deleted += rows

    def run(self, engine: Engine) -> None:
        """After a batch: look, if it is time to."""
        stored = sum(leaf.size for leaf in engine._leaves.values())
        horizon = engine.horizon
        passed = self._newest is not None and horizon is not None and self._newest < horizon
        if stored <= self._at and not passed and not (self._deleted > ROWS and 2 * self._deleted > stored):
            return
        live = engine.live()
        alive = sum(len(rows) for rows in live.values())
        if stored > 2 * alive:
            self._shrink(engine, live, alive)
        self._at = max(ROWS, 2 * alive)
        self._newest = _newest(engine)
        self._deleted = 0

    def _shrink(self, engine: Engine, live: dict[str, np.ndarray], alive: int) -> None:
        engine.counters["expired"] = engine.expired
        looks = engine.looks(live)
        if len(engine._spaces) > max(KEYS, 4 * alive):
            snapshot.reload(engine, snapshot.extract(engine, live))  # keys get new numbers, those of live rows alone
        else:
            for var, rows in live.items():
                engine._leaves[var].keep(engine.plan, rows)
        if engine._alive is not None:
            now = engine.looks(None)
            engine._alive.renumber({var: (old, now[var]) for var, old in looks.items()})


def _newest(engine: Engine) -> int | None:
    """The latest time of the rows stored, None where none has one: O(rows), after a look that was as much."""
    times = [leaf.time.view() for leaf in engine._leaves.values() if leaf.time is not None and leaf.size]
    return int(max(time.max() for time in times)) if times else None

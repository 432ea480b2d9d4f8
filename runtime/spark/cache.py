"""Engines that outlive a batch, in the memory of a Python worker.

The log in Spark's state is the truth; an engine is what the log comes to. Each log entry carries a random *token* that
is written in the same transaction as the entry, so an engine knows by (number, token) whether the entry it saw last is
the one that was committed: a failed attempt's engine is recognised and thrown away, also in another worker, and also
when the checkpoint was restored from a copy.

Nothing here is needed for correctness: an empty cache costs reading the log of one window.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

IDLE = 900.0
"""Seconds after which an engine of another job is given up: its query was stopped, or moved to other workers."""


@dataclass(slots=True)
class Cached:
    """An engine that has seen every log entry from `since` to before `next`; `token` is the last one's."""

    engine: Any
    since: int
    next: int
    token: int
    used: float = field(default_factory=time.monotonic)


Key = tuple[str, int, str, int]
"""(job, slot, pattern, generation)"""

_ENGINES: dict[Key, Cached] = {}


def take(key: Key) -> Cached | None:
    """Remove and return an engine: while a batch is in work, nobody must find it half-way."""
    return _ENGINES.pop(key, None)


def keep(key: Key, cached: Cached) -> None:
    """Put an engine (back), and give up those of other jobs that nobody has asked for in `IDLE` seconds."""
    now = time.monotonic()
    cached.used = now
    for other in [k for k, c in _ENGINES.items() if k[0] != key[0] and now - c.used > IDLE]:
        del _ENGINES[other]
    _ENGINES[key] = cached

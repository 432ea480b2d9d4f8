"""Engines that outlive a batch, as a cache of the log.

The log in Spark's state is the truth; an engine is what the log comes to. Each log entry carries a random *token* that
is written in the same transaction as the entry, so an engine knows by (number, token) whether the entry it saw last is
the one that was committed: a failed attempt's engine is recognised and thrown away, also in another worker, and also
when the checkpoint was restored from a copy.

Nothing here is needed for correctness: an empty cache costs reading the log of one window.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from cep.ir.plan import Plan
from connectors.files.merge import times_of
from runtime.advice import count_ties
from runtime.spark.blobs import from_payload
from runtime.spark.state.feed import blobs, gather, load, push
from runtime.state.id_key import IdKey

IDLE = 900.0
"""Seconds after which an engine of another job is given up: its query was stopped, or moved to other workers."""

Key = tuple[str, int, str, int]
"""(job, slot, plan key, generation)"""


@dataclass(frozen=True, slots=True)
class NewEngine:
    """Makes the engine of a plan, with keyed ids where there is a key."""

    id_key: IdKey | None = None

    def __call__(self, plan: Plan) -> Any:
        """An empty one."""
        from runtime import Engine  # the driver builds processors without it

        return Engine(plan, id_key=self.id_key)


new_engine = NewEngine()


class Position(NamedTuple):
    """An engine has seen every log entry from `since` to before `next`; `token` is the last one's."""

    since: int
    next: int
    token: int


class Waiting(NamedTuple):
    """What an engine holds back: how many rows, and the watermark at which the first of them is applied."""

    rows: int
    due: int | None


class Engines(Protocol):
    """Where engines live: in this process (`LocalEngines`), or in one of their own (`runtime.spark.state.host`)."""

    def position(self, key: Key) -> Position | None:
        """Where an engine is; None where there is none that can be used."""

    def create(self, key: Key, plan: Plan, position: Position) -> None:
        """A new engine that is to see the log from `position.next` on."""

    def feed(
        self, key: Key, number: int, token: int, watermark: int | None, payload: bytes, *, emit: bool
    ) -> Iterator[tuple[int, bytes]]:
        """Push a log entry; blobs of its matches where `emit`. Must be read to the end."""

    def waiting(self, key: Key) -> Waiting:
        """What an engine that was fed or created holds back."""

    def ties(self, keys: Mapping[str, Sequence[str]]) -> dict[str, int]:
        """Of the entry that was fed last: the events, by stream, that share a moment with another of their key."""

    def close(self) -> None:
        """The batch of the slot is done."""


@dataclass(slots=True)
class _Cached:
    engine: Any
    plan: Plan
    position: Position
    used: float


_ENGINES: dict[Key, _Cached] = {}


class LocalEngines:
    """Engines in this process. `times` gives the event-time column of each stream, `make` the engine of a plan."""

    def __init__(self, times: Mapping[str, str | None], make: Callable[[Plan], Any]) -> None:
        self._times = times
        self._make = make
        self._decoded: tuple[int, dict[str, pa.Table]] | None = None

    def position(self, key: Key) -> Position | None:
        """See `Engines`."""
        cached = _ENGINES.get(key)
        return cached.position if cached is not None else None

    def create(self, key: Key, plan: Plan, position: Position) -> None:
        """See `Engines`; gives up engines of other jobs that nobody has asked for in `IDLE` seconds."""
        now = time.monotonic()
        for other in [k for k, cached in _ENGINES.items() if k[0] != key[0] and now - cached.used > IDLE]:
            del _ENGINES[other]
        _ENGINES[key] = _Cached(self._make(plan), plan, position, now)

    def feed(
        self, key: Key, number: int, token: int, watermark: int | None, payload: bytes, *, emit: bool
    ) -> Iterator[tuple[int, bytes]]:
        """See `Engines`."""
        cached = _ENGINES.pop(key)  # nobody must find it half-way
        if self._decoded is None or self._decoded[0] != token:
            self._decoded = token, gather(from_payload(payload), self._times)
        if emit:
            yield from blobs(push(cached.engine, cached.plan, self._decoded[1], watermark))
        else:
            load(cached.engine, cached.plan, self._decoded[1], watermark)
        cached.position = Position(cached.position.since, number + 1, token)
        cached.used = time.monotonic()
        _ENGINES[key] = cached

    def waiting(self, key: Key) -> Waiting:
        """See `Engines`."""
        engine = _ENGINES[key].engine
        return Waiting(engine.waiting, engine.due)

    def ties(self, keys: Mapping[str, Sequence[str]]) -> dict[str, int]:
        """See `Engines`."""
        tables = self._decoded[1] if self._decoded is not None else {}
        return {
            stream: count_ties(tables[stream], times_of(tables[stream], self._times[stream]), [key])
            for stream, key in keys.items()
            if stream in tables
        }

    def close(self) -> None:
        """See `Engines`."""
        self._decoded = None

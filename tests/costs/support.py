"""Counting: what the engine did between two points, per event and per match. Nothing here looks at a clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from cep.ir.plan import Plan
from runtime import Engine
from tests.oracle.harness import ARROW_TYPES

SECOND = 1_000_000


class Work(dict[str, int]):
    """Counts by name: those of `Operations`, and `events` and `matches`."""

    def per_event(self, *names: str) -> float:
        return sum(self[name] for name in names) / self["events"]

    def per_match(self, *names: str) -> float:
        return sum(self[name] for name in names) / self["matches"]


@contextmanager
def work(engine: Engine) -> Iterator[Work]:
    """Fills in, at its end, what was done inside."""

    def counts() -> dict[str, int]:
        return {
            **engine.operations.as_dict(),
            "events": engine.counters["events"],
            "matches": engine.counters["matches"],
        }

    before, found = counts(), Work()
    yield found
    found.update({name: n - before[name] for name, n in counts().items()})


def table(plan: Plan, stream: str, columns: dict[str, Any]) -> pa.Table:
    """Columns of numpy arrays or lists as events; what is missing is 0 (times are in microseconds)."""
    length = len(next(iter(columns.values())))
    arrays = {}
    for name, type_ in plan.stream(stream).columns:
        values = columns.get(name, np.zeros(length, dtype=np.int64))
        arrays[name] = pa.array(values).cast(ARROW_TYPES[type_])
    return pa.table(arrays)


def feed(
    engine: Engine, columns: dict[str, Any], *, stream: str | None = None, size: int = 100, watermark: bool = False
) -> int:
    """Push events in batches of `size`, in the order given; the number of matches. Matches are read, never kept."""
    name = stream or engine.plan.streams[0].name
    events = table(engine.plan, name, columns)
    time = engine.plan.stream(name).time
    found = 0
    for first in range(0, events.num_rows, size):
        part = events.slice(first, size)
        newest = int(np.max(columns[time][first : first + size])) if watermark and time is not None else None
        found += sum(batch.num_rows for batch in engine.push({name: part}, newest))
    return found

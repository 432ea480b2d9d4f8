"""State as Spark keeps it, in memory, with commit and roll-back: to test the processor without a cluster."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo

from runtime.spark.blobs import from_blob
from runtime.spark.flow.pack import PLACE, Packer
from runtime.spark.flow.unpack import Shape, to_rows
from runtime.spark.layout import Layout
from runtime.spark.state.processor import Matcher


class _Value:
    def __init__(self, store: Store) -> None:
        self.store = store

    def get(self) -> tuple[Any, ...] | None:
        return self.store.now[self.store.slot].get("meta")

    def update(self, value: tuple[Any, ...]) -> None:
        self.store.now[self.store.slot]["meta"] = value

    def clear(self) -> None:
        self.store.now[self.store.slot].pop("meta", None)


class _Map:
    def __init__(self, store: Store, name: str) -> None:
        self.store = store
        self.name = name

    @property
    def _values(self) -> dict[Any, Any]:
        return self.store.now[self.store.slot].setdefault(self.name, {})

    def getValue(self, key: Any) -> Any:  # noqa: N802
        self.store.reads += 1
        return self._values.get(key)

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self._values[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self._values[key]

    def clear(self) -> None:
        self.store.now[self.store.slot].pop(self.name, None)


class Store:
    """The state and the timers of all slots; `commit` keeps what a batch did, `roll_back` forgets it."""

    def __init__(self) -> None:
        self.kept: dict[int, dict[str, Any]] = {}
        self.now: dict[int, dict[str, Any]] = {}
        self.slot = 0
        self.reads = 0

    def getValueState(self, name: str, schema: str) -> _Value:  # noqa: N802, ARG002
        return _Value(self)

    def getMapState(self, name: str, key: str, value: str) -> _Map:  # noqa: N802, ARG002
        return _Map(self, name)

    def registerTimer(self, expiryTimestampMs: int) -> None:  # noqa: N802, N803
        self.now[self.slot].setdefault("timers", set()).add(expiryTimestampMs)

    def deleteTimer(self, expiryTimestampMs: int) -> None:  # noqa: N802, N803
        self.now[self.slot].get("timers", set()).discard(expiryTimestampMs)

    def listTimers(self) -> Iterator[int]:  # noqa: N802
        return iter(sorted(self.now[self.slot].get("timers", ())))

    def expired(self, watermark: int) -> list[tuple[int, int]]:
        return [(slot, at) for slot in sorted(self.now) for at in self.now[slot].get("timers", ()) if at < watermark]

    def commit(self) -> None:
        self.kept = copy.deepcopy(self.now)

    def roll_back(self) -> None:
        self.now = copy.deepcopy(self.kept)


class Timer:
    def __init__(self, watermark: int | None) -> None:
        self._millis = 0 if watermark is None else watermark // 1000

    def getCurrentWatermarkInMs(self) -> int:  # noqa: N802
        return self._millis


def packed(
    layout: Layout, events: Mapping[str, pa.Table], place: Any, *, keep_late: bool = False
) -> Iterator[dict[str, Any]]:
    """The packed rows of a batch; `place(row, target)` stands in for the expression that Spark evaluates."""
    for feed in layout.feeds:
        table = events.get(feed.stream.name)
        if table is None or table.num_rows == 0:
            continue
        rows = table.to_pylist()
        table = table.select([name for name, _ in feed.columns])
        for index, target in enumerate(feed.targets):
            places = [place(feed.stream.name, row, target) for row in rows]
            table = table.append_column(f"{PLACE}{index}", pa.array(places, pa.int32()))
        packer = Packer(
            stream=feed.stream.name,
            time=feed.stream.time,
            targets=tuple((target.slots, target.columns) for target in feed.targets),
            whole=tuple(name for name, _ in feed.columns) if keep_late else (),
        )
        for batch in packer(iter(table.to_batches())):
            yield from batch.to_pylist()


def run_batch(
    matcher: Matcher, store: Store, rows: Sequence[Mapping[str, Any]], watermark: int | None
) -> list[dict[str, Any]]:
    """What the operator emits for a batch: events first, then the timers that the watermark has passed."""
    matcher.init(store)  # type: ignore[arg-type]
    out = []
    for slot in sorted({row["slot"] for row in rows}):
        store.slot = slot
        store.now.setdefault(slot, {})
        inputs = iter([Row(**row) for row in rows if row["slot"] == slot])
        out += [row.asDict() for row in matcher.handleInputRows((slot,), inputs, Timer(watermark))]
    for slot, at in store.expired((watermark or 0) // 1000):
        store.slot = slot
        out += [row.asDict() for row in matcher.handleExpiredTimer((slot,), Timer(watermark), ExpiredTimerInfo(at))]
        store.now[slot]["timers"].discard(at)
        if store.now[slot] == {"timers": set()}:
            del store.now[slot]
    return out


def matches(rows: Sequence[Mapping[str, Any]], plans: Sequence[Any]) -> list[dict[str, Any]]:
    shapes = {plan.pattern: Shape.of(plan) for plan in plans}
    return [
        match
        for row in rows
        if row["blob"] is not None and row["pattern"] is not None
        for match in to_rows(from_blob(row["blob"]), shapes[row["pattern"]]).to_pylist()
    ]

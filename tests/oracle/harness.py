"""Runs an engine over the events of a case in many ways.

A *treatment* is a way for the same events to arrive: in one push or many, in order or in disorder that the watermark
allows, with snapshots, with retractions. None of it may change the matches; tests.oracle.judge says whether it does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Protocol

import pyarrow as pa

from cep.ir.model import Stream
from cep.ir.plan import Plan
from cep.ir.types import Type
from runtime.engine import Watermark
from tests.oracle.events import Events, Row
from tests.oracle.truth import Arrival

ARROW_TYPES = {
    Type.INT: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.STRING: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.TIMESTAMP: pa.timestamp("us", "UTC"),
}

Fields = tuple[Any, ...]


class EngineLike(Protocol):
    """What the harness needs of an engine; `runtime.Engine` is one."""

    def push(self, batch: Any, watermark: Watermark) -> pa.RecordBatchReader: ...
    def finish(self) -> pa.RecordBatchReader: ...
    def snapshot(self) -> bytes: ...
    def enumerate(self) -> pa.RecordBatchReader: ...
    def count(self) -> int: ...
    def contains(self, match: Mapping[str, Any]) -> bool: ...
    def stats(self) -> dict[str, Any]: ...
    def _check(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Maker:
    """How to start an engine and how to bring one back."""

    start: Callable[[Plan], EngineLike]
    restore: Callable[[Plan, bytes], EngineLike]


@dataclass(frozen=True, slots=True)
class Treatment:
    """`order` is time, disorder (within the watermark), late (beyond it), streams (one after another) or any.

    `any` goes without a watermark. The events that `late` makes too late are to be dropped and counted. With `declared`
    the engine works the watermark out itself.
    """

    order: str
    batches: str
    restore: bool = False
    watermark: bool = True
    declared: bool = False
    retract: bool = False
    seed: int = 0
    split: float = 0.4
    """The chance that a push of random batches ends with an event."""
    again: float = 0.4
    """The chance that an engine that is restored at all is restored after a push."""
    ask: bool = True
    """Whether `enumerate`, `count` and `contains` are asked at the end."""


TREATMENTS = (
    Treatment("time", "whole"),
    Treatment("time", "single"),
    Treatment("time", "random", restore=True),
    Treatment("disorder", "single"),
    Treatment("disorder", "random"),
    Treatment("disorder", "single", restore=True),
    Treatment("streams", "random"),
    Treatment("late", "single"),
    Treatment("late", "random", restore=True),
    Treatment("disorder", "random", declared=True),
    Treatment("late", "random", restore=True, declared=True),
    Treatment("any", "whole", watermark=False),
    Treatment("any", "single", watermark=False),
    Treatment("any", "random", watermark=False, restore=True),
    Treatment("any", "random", watermark=False, retract=True),
    Treatment("any", "single", watermark=False, retract=True),
    Treatment("time", "random", watermark=False, retract=True, restore=True),
)


def chosen(seed: int, count: int | None) -> Sequence[Treatment]:
    """Some treatments, always with the whole input in one push first; all of them for None."""
    rng = Random(seed)
    rest = list(TREATMENTS[1:])
    picked = rest if count is None else rng.sample(rest, count)
    return [replace(how, seed=rng.randrange(1000)) for how in (TREATMENTS[0], *picked)]


class Disagreement(AssertionError):  # noqa: N818 - it is a finding, not an error of the program
    """The engine and the oracle differ; the text says on what."""


@dataclass(frozen=True, slots=True)
class Match:
    """One row that an engine gave out."""

    push: int
    sign: int
    id: bytes
    start: int | None
    end: int | None
    fields: Fields


@dataclass(slots=True)
class Outcome:
    """All that came out, and what is needed to judge it: `pushed` leaves out the `late` events."""

    plan: Plan
    engine: EngineLike
    matches: list[Match] = field(default_factory=list)
    pushed: list[list[Arrival]] = field(default_factory=list)
    late: int = 0
    watermark: int | None = None


# --- arrivals ------------------------------------------------------------------------------------------------------


def _decide(how: Treatment, what: str, event: str) -> Random:
    """Randomness that belongs to an event, not to its place: leaving out other events changes nothing for this one."""
    return Random(f"{how.seed} {what} {event}")


def _named(stream: str, row: Row) -> str:
    return f"{stream} {sorted(row.items())}"


def arrivals(streams: Sequence[Stream], events: Events, how: Treatment) -> list[Arrival]:
    """The events in an order that the treatment allows, with retractions strewn in if it has any."""
    keyed: list[tuple[tuple[float, ...], Arrival]] = []
    copies: Counter[str] = Counter()
    for place, stream in enumerate(streams):
        jitter = {"time": 0, "late": 2 * stream.watermark + 4_000_000}.get(how.order, stream.watermark)
        for row in events.get(stream.name, ()):
            name = _named(stream.name, row)
            copies[name] += 1
            draw = _decide(how, "arrival", f"{name} {copies[name]}")
            time = row.get(stream.time) if stream.time is not None else None
            due, span = draw.random(), 1.0
            if how.order != "any" and time is not None:
                # Jitter of at most the allowed disorder: no event is older than newest - disorder when it comes.
                due, span = int(time) + draw.randint(0, jitter), 5e6
            key = (place if how.order == "streams" else 0, due, draw.random())
            keyed.append((key, (1, stream.name, row)))
            if how.retract and draw.random() < 0.3:
                keyed.append(((key[0], due + draw.random() * span, 2.0), (-1, stream.name, row)))
    keyed.sort(key=lambda pair: pair[0])
    return [arrival for _, arrival in keyed]


def chunks(items: list[Arrival], how: Treatment) -> list[list[Arrival]]:
    """The pushes."""
    if how.batches == "whole":
        return [items] if items else []
    if how.batches == "single":
        return [[item] for item in items]
    out: list[list[Arrival]] = []
    for sign, stream, row in items:
        if not out or _decide(how, "chunk", f"{_named(stream, row)} {sign}").random() < how.split:
            out.append([])
        out[-1].append((sign, stream, row))
    return out


def record_batch(stream: Stream, rows: Sequence[Row], signs: Sequence[int] | None = None) -> pa.RecordBatch:
    """Events as the engine takes them."""
    names = [name for name, _ in stream.columns]
    arrays = [pa.array([row.get(name) for row in rows], ARROW_TYPES[type_]) for name, type_ in stream.columns]
    if signs is not None:
        names.append("_sign")
        arrays.append(pa.array(signs, pa.int8()))
    return pa.RecordBatch.from_arrays(arrays, names=names)


# --- running -------------------------------------------------------------------------------------------------------


def plain(array: Any) -> list[Any]:
    """Column values with times as integers."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        array = array.cast(pa.int64())
    return array.to_pylist()


def read(reader: pa.RecordBatchReader, plan: Plan, push: int = 0) -> list[Match]:
    """Drain a reader."""
    table = reader.read_all()
    names = [f.name for f in plan.fields]
    assert [n for n in table.column_names if not n.startswith("_")] == names, f"columns {table.column_names}"
    if not table.num_rows:
        return []
    columns = [plain(table.column(table.column_names.index(name))) for name in names]
    rows = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
    signs = plain(table["_sign"]) if "_sign" in table.column_names else [1] * table.num_rows
    times = plain(table["_start"]), plain(table["_end"])
    return [
        Match(push, sign, id_, start, end, tuple(row))
        for sign, id_, start, end, row in zip(signs, plain(table["_id"]), *times, rows, strict=True)
    ]


def run(maker: Maker, plan: Plan, streams: Sequence[Stream], events: Events, how: Treatment) -> Outcome:
    """Push the events the way the treatment says."""
    outcome = Outcome(plan, maker.start(plan))
    clock = _Clock(streams)
    for number, chunk in enumerate(chunks(arrivals(streams, events, how), how)):
        known = [arrival for arrival in chunk if not clock.is_late(arrival)]
        clock.take(chunk)
        if how.watermark:
            clock.advance()
        batch = {name: _batch(clock.streams[name], chunk, how) for name in dict.fromkeys(name for _, name, _ in chunk)}
        reader = outcome.engine.push(batch, "declared" if how.declared else clock.watermark)
        outcome.matches += read(reader, plan, number)
        outcome.pushed.append(known)
        outcome.late += len(chunk) - len(known)
        if how.restore and _decide(how, "restore", f"{_named(*chunk[-1][1:])} {number % 2}").random() < how.again:
            outcome.engine = maker.restore(plan, outcome.engine.snapshot())
        outcome.engine._check()
    if plan.waits:  # the end of the events settles what waits, whatever the watermark was
        outcome.matches += read(outcome.engine.finish(), plan, len(outcome.pushed))
        outcome.engine._check()
    outcome.watermark = clock.watermark
    return outcome


class _Clock:
    """The watermark that the streams declare: nothing older than it is expected, what comes all the same is late."""

    def __init__(self, streams: Sequence[Stream]) -> None:
        self.streams = {stream.name: stream for stream in streams}
        self.watermark: int | None = None
        self._newest: dict[str, int] = {}

    def _time(self, arrival: Arrival) -> int | None:
        _, name, row = arrival
        time = self.streams[name].time
        value = row[time] if time is not None else None
        return None if value is None else int(value)

    def is_late(self, arrival: Arrival) -> bool:
        """Whether an event is older than what an earlier push said is complete."""
        time = self._time(arrival)
        return self.watermark is not None and time is not None and time < self.watermark

    def take(self, chunk: Sequence[Arrival]) -> None:
        for arrival in chunk:
            if (time := self._time(arrival)) is not None:
                self._newest[arrival[1]] = max(time, self._newest.get(arrival[1], time))

    def advance(self) -> None:
        if self._newest and len(self._newest) == len(self.streams):
            self.watermark = min(newest - self.streams[name].watermark for name, newest in self._newest.items())


def _batch(stream: Stream, chunk: Sequence[Arrival], how: Treatment) -> pa.RecordBatch:
    mine = [(sign, row) for sign, name, row in chunk if name == stream.name]
    return record_batch(stream, [row for _, row in mine], [sign for sign, _ in mine] if how.retract else None)

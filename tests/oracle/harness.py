"""Runs an engine over the events of a case in many ways.

A *treatment* is a way for the same events to arrive: in one push or many, in order or in disorder that the watermark
allows, with snapshots, with retractions. None of it may change the matches; tests.oracle.judge says whether it does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol

import pyarrow as pa

from cep.model import Stream
from cep.plan import Plan
from cep.types import Type
from tests.oracle.generate import Row

ARROW_TYPES = {
    Type.INT: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.STRING: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.TIMESTAMP: pa.timestamp("us", "UTC"),
}

Arrival = tuple[int, str, Row]
"""Sign, stream, event."""
Fields = tuple[Any, ...]
Events = Mapping[str, Sequence[Row]]


class EngineLike(Protocol):
    """What the harness needs of an engine; `runtime.Engine` is one."""

    def push(self, batch: Any, watermark: int | None = None) -> pa.RecordBatchReader: ...
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

    `any` goes without a watermark. The events that `late` makes too late are to be dropped and counted.
    """

    order: str
    batches: str
    restore: bool = False
    watermark: bool = True
    retract: bool = False
    seed: int = 0


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
    Treatment("any", "whole", watermark=False),
    Treatment("any", "single", watermark=False),
    Treatment("any", "random", watermark=False, restore=True),
    Treatment("any", "random", watermark=False, retract=True),
    Treatment("any", "single", watermark=False, retract=True),
    Treatment("time", "random", watermark=False, retract=True, restore=True),
)


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


# --- arrivals ------------------------------------------------------------------------------------------------------


def _decide(how: Treatment, what: str, stream: str, row: Row, copy: int) -> Random:
    """Randomness that belongs to an event, not to its place: leaving out other events changes nothing for this one."""
    return Random(f"{how.seed} {what} {stream} {copy} {sorted(row.items())}")


def arrivals(streams: Sequence[Stream], events: Events, how: Treatment) -> list[Arrival]:
    """The events in an order that the treatment allows, with retractions strewn in if it has any."""
    keyed: list[tuple[tuple[float, ...], Arrival]] = []
    copies: Counter[str] = Counter()
    for place, stream in enumerate(streams):
        for row in events.get(stream.name, ()):
            copies[f"{stream.name} {sorted(row.items())}"] += 1
            draw = _decide(how, "arrival", stream.name, row, copies[f"{stream.name} {sorted(row.items())}"])
            time = row.get(stream.time) if stream.time is not None else None
            due, span = draw.random(), 1.0
            if how.order != "any" and time is not None:
                # Jitter of at most the allowed disorder: no event is older than newest - disorder when it comes.
                jitter = {"time": 0, "late": 2 * stream.watermark + 4_000_000}.get(how.order, stream.watermark)
                due, span = int(time) + draw.randint(0, jitter), 5e6
            key = (place if how.order == "streams" else 0, due, draw.random())
            keyed.append((key, (1, stream.name, row)))
            if how.retract and draw.random() < 0.3:
                keyed.append(((key[0], due + draw.random() * span, 2.0), (-1, stream.name, row)))
    return [arrival for _, arrival in sorted(keyed, key=lambda pair: pair[0])]


def chunks(items: list[Arrival], how: Treatment) -> list[list[Arrival]]:
    """The pushes."""
    if how.batches == "whole":
        return [items] if items else []
    out: list[list[Arrival]] = []
    for sign, stream, row in items:
        if not out or how.batches == "single" or _decide(how, "chunk", stream, row, sign).random() < 0.4:
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


def remaining(pushed: Sequence[Sequence[Arrival]]) -> dict[str, list[Row]]:
    """The events that are left after retractions. Equal events are interchangeable."""
    kept: dict[str, list[Row]] = {}
    for sign, stream, row in (arrival for chunk in pushed for arrival in chunk):
        rows = kept.setdefault(stream, [])
        if sign > 0:
            rows.append(row)
        else:
            rows.pop(next(i for i, r in enumerate(rows) if r is row))
    return kept


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
    columns = [plain(table.column(table.column_names.index(name))) for name in names]
    rows = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows
    signs = plain(table["_sign"]) if "_sign" in table.column_names else [1] * table.num_rows
    times = plain(table["_start"]), plain(table["_end"])
    return [
        Match(push, sign, id_, start, end, tuple(row))
        for sign, id_, start, end, row in zip(signs, plain(table["_id"]), *times, rows, strict=True)
    ]


def _is_late(stream: Stream, row: Row, watermark: int | None) -> bool:
    """Whether an event is older than what an earlier push said is complete."""
    time = row[stream.time] if stream.time is not None else None
    return watermark is not None and time is not None and int(time) < watermark


def run(maker: Maker, plan: Plan, streams: Sequence[Stream], events: Events, how: Treatment) -> Outcome:
    """Push the events the way the treatment says."""
    by_name = {stream.name: stream for stream in streams}
    newest: dict[str, int] = {}
    watermark: int | None = None
    outcome = Outcome(plan, maker.start(plan))
    for number, chunk in enumerate(chunks(arrivals(streams, events, how), how)):
        batch = {}
        for name in dict.fromkeys(stream for _, stream, _ in chunk):
            rows = [row for _, stream, row in chunk if stream == name]
            signs = [sign for sign, stream, _ in chunk if stream == name] if how.retract else None
            batch[name] = record_batch(by_name[name], rows, signs)
            if (time := by_name[name].time) is not None:
                times = [int(row[time]) for row in rows if row[time] is not None]
                if times:
                    newest[name] = max([newest.get(name, times[0]), *times])
        known = [arrival for arrival in chunk if not _is_late(by_name[arrival[1]], arrival[2], watermark)]
        if how.watermark and newest and len(newest) == len(streams):
            watermark = min(newest[name] - by_name[name].watermark for name in newest)
        reader = outcome.engine.push(batch, watermark)
        outcome.matches += read(reader, plan, number)
        outcome.pushed.append(known)
        outcome.late += len(chunk) - len(known)
        if how.restore and _decide(how, "restore", chunk[-1][1], chunk[-1][2], number % 2).random() < 0.4:
            outcome.engine = maker.restore(plan, outcome.engine.snapshot())
        outcome.engine._check()
    return outcome

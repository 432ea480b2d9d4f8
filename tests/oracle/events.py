"""Random events of a stream.

Domains are small so that joins meet; times tie; values are NULL, duplicated or on the edge of their type now and then;
a stream can be empty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random as Rng

from cep.ir.expr import Value, timestamp_text
from cep.ir.model import Stream
from cep.ir.types import Type
from tests.oracle.expressions import EPOCH, SECOND, random_value

TYPES = (Type.INT, Type.DOUBLE, Type.STRING, Type.BOOLEAN, Type.TIMESTAMP)
Row = dict[str, Value]
"""One event: attribute to value, times in microseconds."""
Events = Mapping[str, Sequence[Row]]
"""The events of each stream, by its name."""


Domain = Mapping[Type, Sequence[Value]]
"""The values that attributes of a type have."""


def narrow(rng: Rng) -> Domain:
    """Two values a type: with many conditions, only events that are alike match."""
    return {type_: [random_value(rng, type_, nulls=0) for _ in range(2)] for type_ in TYPES}


def draw_rows(rng: Rng, stream: Stream, count: int, *, tied: bool, domain: Domain | None = None) -> list[Row]:
    """So many events of a stream; `tied` has them at a few moments only. `domain` has most of their values."""
    nulls = rng.choice((0.0, 0.05, 0.25))
    edges = rng.choice((0.0, 0.0, 0.05))
    length = rng.choice((0, 1, 2, 3, 4)) if tied else rng.choice((2, 4, 8, 15, 60))
    step = rng.choice((SECOND, SECOND, SECOND // 2))
    timed = rng.choice((1.0, 1.0, 0.95))
    rows: list[Row] = []
    for _ in range(count):
        if rows and rng.random() < 0.1:
            rows.append(dict(rng.choice(rows)))
            continue
        row: Row = {name: random_value(rng, type_, nulls=nulls, edges=edges) for name, type_ in stream.columns}
        if domain is not None:
            row |= {name: rng.choice(domain[type_]) for name, type_ in stream.columns if rng.random() < 0.9}
        if stream.time is not None:
            row[stream.time] = EPOCH + rng.randint(0, length) * step if rng.random() < timed else None
        rows.append(row)
    return rows


def jsonl(streams: Sequence[Stream], events: Events) -> str:
    """Events as the corpus holds them: one object a line, `stream` first where there are several."""
    lines = []
    for stream in streams:
        for row in events.get(stream.name, ()):
            named = {"stream": stream.name} if len(streams) > 1 else {}
            lines.append(json.dumps(named | readable(stream, row), ensure_ascii=False))
    return "\n".join(lines)


def readable(stream: Stream, row: Row) -> Row:
    """A row with its timestamps as ISO-8601 and without its NULLs."""
    types = dict(stream.columns)
    return {
        name: timestamp_text(int(v)) if types[name] is Type.TIMESTAMP else v for name, v in row.items() if v is not None
    }

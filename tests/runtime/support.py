"""Small helpers of the engine's tests: patterns from text, events from dicts, the naive engine as the judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

import cep
from cep.compiler.pipeline import compile_source
from cep.ir.plan import Plan
from cep.ir.types import Type
from cep.source import Source
from runtime import Engine, reference
from runtime.engine import Watermark
from tests.oracle.harness import ARROW_TYPES, plain

Row = Mapping[str, Any]
SECOND = 1_000_000


def compiled(text: str) -> Plan:
    """The one pattern of a text."""
    (plan,) = cep.compile(text).values()
    return plan


def batch(plan: Plan, stream: str, rows: Sequence[Row], signs: Sequence[int] | None = None) -> pa.RecordBatch:
    """Events of a stream, times in microseconds."""
    declared = plan.stream(stream).columns
    arrays = [pa.array([row.get(name) for row in rows], ARROW_TYPES[type_]) for name, type_ in declared]
    names = [name for name, _ in declared]
    if signs is not None:
        arrays.append(pa.array(signs, pa.int8()))
        names.append("_sign")
    return pa.RecordBatch.from_arrays(arrays, names=names)


def push(
    engine: Engine,
    events: Sequence[Row] | Mapping[str, Sequence[Row]],
    watermark: Watermark = None,
    *,
    signs: Sequence[int] | Mapping[str, Sequence[int]] | None = None,
) -> list[dict[str, Any]]:
    """Push rows (by stream, where there are several) and give the matches as dicts, times in microseconds."""
    plan = engine.plan
    only = plan.streams[0].name
    by_stream = events if isinstance(events, Mapping) else {only: events}
    by_sign = signs if isinstance(signs, Mapping) else {only: signs}
    batches = {name: batch(plan, name, rows, by_sign.get(name)) for name, rows in by_stream.items()}
    return rows_of(engine.push(batches, watermark).read_all())


def rows_of(found: pa.Table) -> list[dict[str, Any]]:
    """A table of matches as dicts."""
    columns = [plain(column) for column in found.columns]
    return [dict(zip(found.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def fields(rows: Iterable[Mapping[str, Any]]) -> Counter[tuple[Any, ...]]:
    """What the matches say, signs summed up, without what is left at zero."""
    net: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        net[tuple(value for name, value in row.items() if not name.startswith("_"))] += row.get("_sign", 1)
    return Counter({key: n for key, n in net.items() if n})


def ids(rows: Iterable[Mapping[str, Any]]) -> Counter[bytes]:
    """The ids of matches, signs summed up."""
    net: Counter[bytes] = Counter()
    for row in rows:
        net[row["_id"]] += row.get("_sign", 1)
    return Counter({key: n for key, n in net.items() if n})


def current(engine: Engine) -> Counter[tuple[Any, ...]]:
    """What `enumerate` gives."""
    return fields(rows_of(engine.enumerate().read_all()))


def naive(text: str, events: Sequence[Row] | Mapping[str, Sequence[Row]]) -> Counter[tuple[Any, ...]]:
    """What the reference engine gives for all events at once."""
    result = compile_source(Source("test.cep", text))
    pattern = result.patterns[0]
    by_stream = events if isinstance(events, Mapping) else {pattern.variables[0].stream.name: events}
    return Counter(reference.matches(pattern, by_stream))


def types_of(plan: Plan, stream: str) -> dict[str, Type]:
    """The declared types of a stream."""
    return dict(plan.stream(stream).columns)

"""Feed engines: from packed events to matches, the part that streaming and batch jobs share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.plan import Plan
from runtime.spark.blobs import from_blob, to_blob

BLOB_ROWS = 1 << 17
"""Matches in a blob: bounds what the unpacking worker holds at a time."""


def gather(parts: Iterable[tuple[str, bytes]], times: Mapping[str, str | None]) -> dict[str, pa.Table]:
    """The events of each stream, in order of event time (the engine has a fast path for that)."""
    tables: dict[str, list[pa.Table]] = {}
    for stream, blob in parts:
        tables.setdefault(stream, []).append(from_blob(blob))
    return {
        stream: in_time_order(pa.concat_tables(tables[stream], promote_options="default"), times.get(stream))
        for stream in sorted(tables)
    }


def in_time_order(table: pa.Table, time: str | None) -> pa.Table:
    """The table sorted by event time, unknown times last; equal times keep their order."""
    if time is None or table.num_rows < 2:
        return table
    values = pc.fill_null(table.column(time).cast(pa.int64()), np.iinfo(np.int64).max).to_numpy()
    if bool((values[1:] >= values[:-1]).all()):
        return table
    return table.take(pa.array(np.argsort(values, kind="stable")))


def late_events(table: pa.Table, time: str | None, watermark: int) -> npt.NDArray[np.bool_]:
    """Which events are older than the watermark."""
    if time is None:
        return np.zeros(table.num_rows, np.bool_)
    late = pc.fill_null(pc.less(table.column(time).cast(pa.int64()), watermark), False)
    return np.asarray(late.to_numpy(), np.bool_)


def bits(packed: bytes | None, count: int) -> npt.NDArray[np.bool_]:
    """So many bits as `numpy.packbits` packed them, all set where there are none."""
    if packed is None:
        return np.ones(count, np.bool_)
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=count).astype(np.bool_)


def events_of(plan: Plan, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """What a pattern's engine is to see: its streams and its columns."""
    wanted = dict.fromkeys(leaf.stream for leaf in plan.leaves)
    return {
        stream: tables[stream].select([name for name, _ in plan.needed_columns(stream)])
        for stream in wanted
        if stream in tables and tables[stream].num_rows
    }


def push(engine: Any, plan: Plan, tables: Mapping[str, pa.Table], watermark: int | None) -> Iterator[pa.RecordBatch]:
    """The new matches of a batch of events, which must be drained.

    A batch without events of the pattern brings the watermark all the same, which is what held rows wait for.
    """
    events = events_of(plan, tables)
    if events or plan.hold is not None:
        yield from engine.push(events, watermark)


def load(engine: Any, plan: Plan, tables: Mapping[str, pa.Table], watermark: int | None) -> None:
    """`push` for a batch whose matches were delivered before."""
    events = events_of(plan, tables)
    if events or plan.hold is not None:
        engine.load(events, watermark)


def blobs(matches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
    """Matches as blobs of bounded size, each with its number of rows."""
    gathered: list[pa.RecordBatch] = []
    count = 0
    for batch in matches:
        if batch.num_rows == 0:
            continue
        gathered.append(batch)
        count += batch.num_rows
        if count >= BLOB_ROWS:
            yield count, to_blob(_plain(gathered))
            gathered, count = [], 0
    if count:
        yield count, to_blob(_plain(gathered))


def _plain(batches: list[pa.RecordBatch]) -> pa.Table:
    """One table without dictionaries: those of different batches differ, and a blob has one schema."""
    schema = pa.schema(
        [pa.field(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in batches[0].schema]
    )
    return pa.Table.from_batches([batch.cast(schema) for batch in batches]).combine_chunks()

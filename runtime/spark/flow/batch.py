"""Bounded input: all events of a slot at once, one engine pass, no state. Its end settles whatever waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from cep.ir.plan import Plan
from runtime.spark.layout import Layout
from runtime.spark.state.feed import blobs, gather, push
from runtime.spark.state.processor import OUTPUT, output

_TYPES = {"STRING": pa.string(), "BIGINT": pa.int64(), "BINARY": pa.binary()}
_ARROW = pa.schema([(name, _TYPES[kind]) for name, kind in (column.split() for column in OUTPUT.split(", "))])
Slot = Callable[[tuple[pa.Scalar, ...], Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def batch_matcher(layout: Layout, make: Any) -> Slot:
    """The function for `applyInArrow`: packed events of a slot to packed matches (`processor.OUTPUT`)."""
    groups = layout.by_slot()
    times = {feed.stream.name: feed.stream.time for feed in layout.feeds}

    # Spark tells the two forms of such a function apart by its annotations.
    def match(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = (
            (stream.as_py(), blob.as_buffer())
            for batch in batches
            for stream, blob in zip(batch.column("stream"), batch.column("blob"), strict=True)
        )
        tables = gather(parts, times)
        for member in groups[key[0].as_py()].members:
            for count, blob in blobs(_all_matches(make(member.plan), member.plan, tables)):
                row = output(pattern=member.plan.pattern, matches=count, blob=blob)
                yield pa.RecordBatch.from_arrays(
                    [pa.array([value], field.type) for value, field in zip(row, _ARROW, strict=True)], schema=_ARROW
                )

    return match


def _all_matches(engine: Any, plan: Plan, tables: Mapping[str, pa.Table]) -> Iterator[pa.RecordBatch]:
    yield from push(engine, plan, tables, None)
    if plan.hold is not None:
        yield from engine.finish()

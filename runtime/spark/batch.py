"""Bounded input: all events of a slot at once, one engine pass, no state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from runtime.spark.feed import blobs, gather, push
from runtime.spark.layout import Layout

_ARROW = pa.schema(
    [("pattern", pa.string()), ("matches", pa.int64()), ("blob", pa.binary())]
    + [(name, pa.int64()) for name in ("events", "late", "entries", "log_bytes", "rebuilt", "caught_up")]
)
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
            for count, blob in blobs(push(make(member.plan), member.plan, tables, None)):
                row = [member.plan.pattern, count, blob, 0, 0, 0, 0, 0, 0]
                yield pa.RecordBatch.from_arrays(
                    [pa.array([value], field.type) for value, field in zip(row, _ARROW, strict=True)], schema=_ARROW
                )

    return match

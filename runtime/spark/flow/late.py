"""Late events of a job: from the blobs that the operator puts out to rows with the lines of `runtime.late`.

The watermark is that of the job, so an event that is late for one pattern is late for all that read its stream: they
are the `patterns` of its line. An event that no pattern could have used, by its conditions on single events, never
reaches the operator and is not among them.

A row is (key, value, id, end): `value` is the line, `key` the partition key of the first pattern that has one, as text,
`end` the event's time. `id` is empty: lines are sorted by time, then by what they say (`connectors.staging`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cep.ir.model import Stream
from cep.ir.plan import Plan
from runtime.late import late_lines
from runtime.spark.blobs import from_blob
from runtime.spark.flow.unpack import key_text

_TIME = pa.timestamp("us", "UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class LateShape:
    """What is needed to tell of the late events of a stream."""

    stream: Stream
    patterns: tuple[str, ...]
    key: tuple[str, ...]
    source: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LateUnpacker:
    """Blobs of late events to rows."""

    shapes: tuple[LateShape, ...]

    @classmethod
    def of(cls, plans: Iterable[Plan], inputs: Mapping[str, str]) -> LateUnpacker:
        """For the streams of plans; `inputs` says where they come from. An address of a network is not told."""
        read = sorted(plans, key=lambda plan: plan.pattern)
        streams = {leaf.stream: plan.stream(leaf.stream) for plan in read for leaf in plan.leaves}
        return cls(shapes=tuple(_shape(stream, read, inputs.get(name)) for name, stream in sorted(streams.items())))

    def __call__(self, blobs: Iterable[tuple[str, int, bytes]]) -> Iterator[pa.RecordBatch]:
        """Rows of (stream, watermark, blob)."""
        by_name = {shape.stream.name: shape for shape in self.shapes}
        for stream, watermark, blob in blobs:
            for events in from_blob(blob).combine_chunks().to_batches():
                yield rows(events, by_name[stream], watermark)


def _shape(stream: Stream, plans: Iterable[Plan], source: str | None) -> LateShape:
    mine = [plan for plan in plans if any(leaf.stream == stream.name for leaf in plan.leaves)]
    keys = (dict(plan.partition_key)[stream.name] for plan in mine if plan.partition_key is not None)
    return LateShape(
        stream=stream,
        patterns=tuple(plan.pattern for plan in mine),
        key=next(keys, ()),
        source=None if source is None or "://" in source else source,
    )


def rows(events: pa.RecordBatch, shape: LateShape, watermark: int) -> pa.RecordBatch:
    """Late events of a stream as rows."""
    count = events.num_rows
    types = dict(shape.stream.columns)
    lines = late_lines(
        shape.stream.name, events, np.full(count, watermark), [shape.patterns] * count, source=shape.source
    )
    key = (
        key_text([events.column(name) for name in shape.key], [types[name] for name in shape.key])
        if shape.key
        else pa.nulls(count, pa.string())
    )
    end = events.column(shape.stream.time).cast(_TIME)
    return pa.RecordBatch.from_arrays([key, lines, pa.repeat(pa.scalar(""), count), end], ["key", "value", "id", "end"])

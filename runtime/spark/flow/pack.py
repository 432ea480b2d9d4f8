"""Pack events: from rows of one stream to one Arrow blob for each slot and few hundred thousand events.

Runs in `mapInArrow`, after Spark filtered and projected in the JVM. A row that Spark shuffles and hands to the stateful
operator costs microseconds, whatever is in it; a blob is one row. Events of a slot keep the order in which they came.

An event can go to several groups of patterns, and be late in each of them. The first group that gets it tells of it:
`first` says of which events of a blob that is so. What late events are told with and the group has no use for, goes
along in `rest`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from runtime.spark.blobs import to_blob
from runtime.spark.worker import settle

PACKED = (
    "slot BIGINT, stream STRING, events BIGINT, oldest BIGINT, newest BIGINT, blob BINARY, first BINARY, rest BINARY"
)
"""The Spark schema of packed rows; `oldest` and `newest` are event times in the blob, in microseconds.

`first` is a bit for each event, NULL where all are set. `rest` is a blob of the other columns of these events, NULL
where there are none, or nobody wants them."""
_ARROW = pa.schema(
    [
        ("slot", pa.int64()),
        ("stream", pa.string()),
        ("events", pa.int64()),
        ("oldest", pa.int64()),
        ("newest", pa.int64()),
        ("blob", pa.binary()),
        ("first", pa.binary()),
        ("rest", pa.binary()),
    ]
)
ROWS = 1 << 18
"""How many events are gathered before they are cut up. Fewer make more and smaller log entries; more need more memory
in the Python worker: at 100 bytes an event this is about 25 MB, twice over while it is cut."""
PLACE = "__cep_place_"
_FIRST = "__cep_first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Packer:
    """The function for `mapInArrow`. `targets` are, for each place column, the slots and the columns that go there.

    `whole` are the columns of an event that late ones are told with, none where they are only counted.
    """

    stream: str
    time: str | None
    targets: tuple[tuple[tuple[int, ...], tuple[str, ...]], ...]
    whole: tuple[str, ...] = ()
    rows: int = ROWS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Packed rows of a partition of the input."""
        gathered: list[pa.RecordBatch] = []
        count = 0
        for batch in batches:
            gathered.append(batch)
            count += batch.num_rows
            if count >= self.rows:
                yield from self._cut(gathered)
                gathered, count = [], 0
        if count:
            yield from self._cut(gathered)
        settle()

    def _cut(self, batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches(batches).combine_chunks()  # taking from many chunks is slow
        taken = np.zeros(table.num_rows, np.bool_)
        for index, (slots, columns) in enumerate(self.targets):
            place = table.column(f"{PLACE}{index}").combine_chunks()
            rest = [name for name in self.whole if name not in columns]
            events = table.select([*columns, *rest])
            if index:
                events = events.append_column(_FIRST, pa.array(~taken))
            if index + 1 < len(self.targets):
                taken |= place.is_valid().to_numpy(zero_copy_only=False)
            for number, part in _split(events, place, len(slots)):
                yield self._packed(slots[number], part, columns, rest)

    def _packed(self, slot: int, part: pa.Table, columns: tuple[str, ...], rest: list[str]) -> pa.RecordBatch:
        oldest, newest = _ends(part.column(self.time)) if self.time is not None else (None, None)
        first = part.column(_FIRST).to_numpy() if _FIRST in part.schema.names else None
        told = part.select(rest)
        if first is not None and first.all():
            first = None
        if first is not None:
            told = told.filter(pa.array(first))
        values = [
            slot,
            self.stream,
            part.num_rows,
            oldest,
            newest,
            to_blob(part.select(list(columns))),
            None if first is None else np.packbits(first).tobytes(),
            to_blob(told) if rest and (first is None or first.any()) else None,
        ]
        arrays = [pa.array([value], field.type) for value, field in zip(values, _ARROW, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def _ends(times: pa.ChunkedArray) -> tuple[int | None, int | None]:
    ends = pc.min_max(times.cast(pa.int64()))
    return ends["min"].as_py(), ends["max"].as_py()


def _split(events: pa.Table, place: pa.Array, count: int) -> Iterator[tuple[int, pa.Table]]:
    """The events of each bucket, in the order they came; NULL places are left out. O(n)."""
    if isinstance(place, pa.ChunkedArray):
        place = pa.concat_arrays(place.chunks)
    if count == 1 and place.null_count == 0:
        yield 0, events
        return
    values = pc.fill_null(place, count).to_numpy(zero_copy_only=False)
    # Two bytes make numpy's stable sort a radix sort.
    order = np.argsort(values.astype(np.uint16 if count < 1 << 16 else np.int32), kind="stable")
    ends = np.cumsum(np.bincount(values, minlength=count + 1))[:count]
    sorted_events = events.take(pa.array(order[: ends[-1]]))
    start = 0
    for number, end in enumerate(ends.tolist()):
        if end > start:
            yield number, sorted_events.slice(start, end - start)
        start = end

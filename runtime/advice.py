"""What a summary should say of the events themselves, beyond how many there were.

* *Ties*: events that share their moment with another event of their stream and partition key, where a pattern's SEQ
  compares events of that stream and no ORDER BY orders them. Exact where events come in time order; else each block of
  events counts by itself.
* *Times that cannot be meant*: most of a stream before 1990 or more than ten years ahead, the mark of numbers in
  another unit than the one they are read in.

Costs a few vector operations a block; only events that do share a moment are grouped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cep.ir.expr import timestamp_text
from cep.ir.model import Stream
from cep.ir.plan import Plan
from connectors.files.merge import LOWEST, concat, times_of
from connectors.files.times import wall_clock

_YEAR_1990 = 631_152_000_000_000
_TEN_YEARS = 3_652 * 86_400_000_000
_HINTS = {
    "before": "are they seconds? Declare `{time} TIMESTAMP EPOCH SECONDS`",
    "after": "are they not milliseconds? Declare `{time} TIMESTAMP EPOCH MICROSECONDS` or another unit",
}


class Advice:
    """Look at every block, then ask for `lines`."""

    def __init__(self, plans: Sequence[Plan], codes: Mapping[str, int], *, sort: bool, now: int | None = None) -> None:
        streams = {stream.name: stream for plan in plans for stream in plan.streams}
        keys: dict[str, dict[tuple[str, ...], None]] = {}
        for plan in plans:
            for name in plan.unordered:
                keys.setdefault(name, {})[dict(plan.partition_key or ()).get(name, ())] = None
        self._ties = {name: _Ties(streams[name], list(found), sort=sort) for name, found in keys.items()}
        self._times = {name: _Times(stream, codes[name]) for name, stream in streams.items() if stream.time is not None}
        self._latest = (wall_clock() if now is None else now) + _TEN_YEARS

    def look(
        self, batches: Mapping[str, pa.RecordBatch], codes: npt.NDArray[Any], times: npt.NDArray[np.int64]
    ) -> None:
        """Take the next events, as `runtime.replay.Block` holds them."""
        for name, ties in self._ties.items():
            if name in batches:
                ties.add(batches[name])
        for seen in self._times.values():
            seen.add(times[codes == seen.code] if len(self._times) > 1 else times, self._latest)

    def lines(self) -> list[str]:
        """What there is to say, a sentence each."""
        said = []
        shared = sum(ties.finish() for ties in self._ties.values())
        if shared:
            said.append(ties_line(shared))
        return said + [line for seen in self._times.values() if (line := seen.line()) is not None]


def ties_line(count: int) -> str:
    """The sentence about events that share a moment.

    >>> ties_line(1)
    '1 event shares a moment with another of its key; SEQ does not order them: ORDER BY in the stream'
    """
    what = "event shares a moment with another of its" if count == 1 else "events share a moment with another of their"
    return f"{count:,} {what} key; SEQ does not order them: ORDER BY in the stream"


class _Times:
    """How many times of a stream cannot be meant."""

    def __init__(self, stream: Stream, code: int) -> None:
        self.stream = stream
        self.code = code
        self.events = 0
        self.before = 0
        self.after = 0
        self.earliest = 2**63 - 1
        self.latest = LOWEST

    def add(self, times: npt.NDArray[np.int64], limit: int) -> None:
        times = times[times != LOWEST]
        if not len(times):
            return
        self.events += len(times)
        self.earliest = min(self.earliest, int(times.min()))
        self.latest = max(self.latest, int(times.max()))
        self.before += int(np.count_nonzero(times < _YEAR_1990))
        self.after += int(np.count_nonzero(times > limit))

    def line(self) -> str | None:
        kind, count, where, moment = (
            ("before", self.before, "before 1990", self.earliest)
            if self.before >= self.after
            else ("after", self.after, "more than ten years ahead", self.latest)
        )
        if 2 * count <= self.events:
            return None
        hint = "" if self.stream.formats else ": " + _HINTS[kind].format(time=self.stream.time)
        return (
            f"most times of `{self.stream.name}` lie {where} ({count:,} of {self.events:,}, e.g. "
            f"{timestamp_text(moment)}){hint}"
        )


class _Ties:
    """Counts events that share a moment and a key. In time order the last moment of a block is held back."""

    def __init__(self, stream: Stream, keys: Sequence[tuple[str, ...]], *, sort: bool) -> None:
        assert stream.time is not None
        self._time = stream.time
        self._keys = keys
        self._columns = [stream.time, *dict.fromkeys(name for key in keys for name in key)]
        self._sort = sort
        self._held: pa.RecordBatch | None = None
        self._count = 0

    def add(self, batch: pa.RecordBatch) -> None:
        rows = batch.select(self._columns)
        if self._held is not None:
            rows = concat([self._held, rows])
            self._held = None
        times = times_of(rows, self._time)
        if self._sort and len(times) and times[-1] != LOWEST:
            first = int(np.searchsorted(times, times[-1], "left")) if _rises(times) else 0
            self._held = rows.slice(first)
            rows, times = rows.slice(0, first), times[:first]
        self._take(rows, times)

    def finish(self) -> int:
        """The number of such events; nothing may be added afterwards."""
        if self._held is not None:
            held, self._held = self._held, None
            self._take(held, times_of(held, self._time))
        return self._count

    def _take(self, rows: pa.RecordBatch, times: npt.NDArray[np.int64]) -> None:
        self._count += count_ties(rows, times, self._keys)


def count_ties(rows: pa.RecordBatch | pa.Table, times: npt.NDArray[np.int64], keys: Sequence[Sequence[str]]) -> int:
    """How many events share their moment and, by one of the keys, their key with another. O(n) in time order."""
    tied = np.flatnonzero(_repeated(times) & (times != LOWEST))
    if not len(tied):
        return 0
    rows, times = rows.take(pa.array(tied)), times[tied]
    shared = np.zeros(len(tied), np.bool_)
    for key in keys:
        parts, present = [times], np.ones(len(tied), np.bool_)
        for name in key:
            column = rows.column(name)
            column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            codes = column.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
            parts.append(codes.astype(np.int64))
            present &= codes >= 0
        _, place, sizes = np.unique(np.stack(parts), axis=1, return_inverse=True, return_counts=True)
        shared |= (sizes[place.reshape(-1)] > 1) & present
    return int(np.count_nonzero(shared))


def _repeated(times: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which times occur more than once."""
    if not _rises(times):
        _, place, sizes = np.unique(times, return_inverse=True, return_counts=True)
        return np.asarray(sizes[place.reshape(-1)] > 1)
    repeated = np.zeros(len(times), np.bool_)
    same = times[1:] == times[:-1]
    repeated[1:] |= same
    repeated[:-1] |= same
    return repeated


def _rises(times: npt.NDArray[np.int64]) -> bool:
    return bool(np.all(times[:-1] <= times[1:]))

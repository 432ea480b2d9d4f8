"""Running patterns over bounded inputs, in this process.

One pass over the inputs serves all patterns. Events come by event time, so nothing is late and the watermark is the
time reached; or, with `sort=False`, in the order they are written, several inputs merged by taking the one whose next
event is earliest, and each pattern then drops and counts what is later than its own watermark
(`runtime.intake.watermark`).

Guaranteed: what a pattern finds does not depend on `batch_size`, `memory` or on the other patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cep.ir.expr import duration_text, timestamp_text
from cep.ir.model import Stream
from cep.ir.plan import Plan
from connectors.files import Input
from connectors.files.errors import ErrorPolicy
from connectors.files.fit import Seen
from connectors.files.merge import LOWEST, Chunk, Cursor, Keys, concat, rounds, times_of
from connectors.files.prefetch import Progress
from connectors.files.sort import DEFAULT_MEMORY, ArrivalInput, SortedInput
from runtime.advice import Advice
from runtime.intake.watermark import Clock
from runtime.state.id_key import IdKey

DEFAULT_BATCH = 65_536


class Source(Protocol):
    """Events of one stream with keys that never fall; see `connectors.files.merge`."""

    @property
    def stream(self) -> Stream:
        """The stream that the events are of."""

    def chunks(self) -> Iterator[Chunk]:
        """The events, once."""

    def close(self) -> None:
        """Give up what is held."""


class FileSource:
    """A file input, sorted or not."""

    def __init__(self, files: Input, reader: SortedInput | ArrivalInput) -> None:
        self.stream = files.stream
        self.chunks = reader.chunks
        self.close = reader.close


class MemorySource:
    """Events that are in memory."""

    def __init__(self, stream: Stream, batch: pa.RecordBatch, *, sort: bool = True) -> None:
        self.stream = stream
        self._batch = batch
        self._sort = sort

    def chunks(self) -> Iterator[Chunk]:
        """All events as one chunk."""
        times = times_of(self._batch, self.stream.time)
        if not len(times):
            return
        if self._sort:
            order = np.argsort(times, kind="stable")
            yield times[order], self._batch.take(pa.array(order))
        else:
            yield np.maximum.accumulate(times), self._batch

    def close(self) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive events of the merged order.

    `batches` holds them by stream, in order; `codes` and `times` say, for each event of the merged order, the number of
    its stream and its time (`LOWEST` where it has none).
    """

    batches: Mapping[str, pa.RecordBatch]
    codes: npt.NDArray[np.int16]
    times: Keys

    def __len__(self) -> int:
        return len(self.times)


def merged(sources: Sequence[Source], codes: Mapping[str, int], batch_size: int) -> Iterator[Block]:
    """The events of all sources in merged order, in blocks of at most `batch_size`."""
    cursors = [Cursor(source.chunks(), number) for number, source in enumerate(sources)]
    for parts in rounds(cursors):
        streams = [sources[number].stream for number, _, _ in parts]
        code = np.concatenate(
            [np.full(len(keys), codes[s.name], np.int16) for s, (_, keys, _) in zip(streams, parts, strict=True)]
        )
        times = np.concatenate([times_of(batch, s.time) for s, (_, _, batch) in zip(streams, parts, strict=True)])
        by_stream: dict[str, list[pa.RecordBatch]] = {}
        for stream, (_, _, batch) in zip(streams, parts, strict=True):
            by_stream.setdefault(stream.name, []).append(batch)
        whole = {name: concat(batches) for name, batches in by_stream.items()}
        if len(parts) > 1:
            order = np.argsort(np.concatenate([keys for _, keys, _ in parts]), kind="stable")
            for name, batches in by_stream.items():
                if len(batches) > 1:
                    # The places of the stream's events, counted among themselves, in merged order.
                    mine = code == codes[name]
                    rank = np.cumsum(mine) - 1
                    whole[name] = whole[name].take(pa.array(rank[order[mine[order]]]))
            code, times = code[order], times[order]
        yield from _cut(Block(whole, code, times), codes, batch_size)


def _cut(block: Block, codes: Mapping[str, int], size: int) -> Iterator[Block]:
    if len(block) <= size:
        yield block
        return
    taken = dict.fromkeys(block.batches, 0)
    for start in range(0, len(block), size):
        code = block.codes[start : start + size]
        batches = {}
        for name, batch in block.batches.items():
            count = int(np.count_nonzero(code == codes[name]))
            if count:
                batches[name] = batch.slice(taken[name], count)
                taken[name] += count
        yield Block(batches, code, block.times[start : start + size])


class _Runner:
    """One pattern: its engine, its clock, its share of the events."""

    def __init__(self, plan: Plan, engine: Any, codes: Mapping[str, int], sort: bool) -> None:
        self.plan = plan
        self.engine = engine
        self.codes = codes
        self.columns = {stream.name: [name for name, _ in plan.needed_columns(stream.name)] for stream in plan.streams}
        timed = {codes[s.name]: s.watermark for s in plan.streams if s.time is not None}
        self.timed = np.array(sorted(timed), np.int16)
        self.clock = None if sort or not timed else Clock(timed)
        self.reached = LOWEST
        self.jump = Jump()

    def push(self, block: Block) -> tuple[Any, npt.NDArray[np.bool_] | None]:
        """The new matches of a block (None where it has nothing for the pattern), and which events are late."""
        late = self.clock.advance(block.codes, block.times) if self.clock is not None else None
        if self.clock is not None:
            self.jump.look(self.clock.marks, self.clock.watermark)
        if late is not None and not late.any():
            late = None
        share = {}
        for name, columns in self.columns.items():
            batch = block.batches.get(name)
            if batch is None:
                continue
            if late is not None:
                batch = batch.filter(pa.array(~late[block.codes == self.codes[name]]))
            if batch.num_rows:
                share[name] = batch.select(columns) if columns else batch
        watermark = self._watermark(block)
        # What waits is settled by the watermark, whether or not there are events for the pattern.
        settles = self.plan.waits and watermark is not None
        return (self.engine.push(share, watermark) if share or settles else None), late

    def _watermark(self, block: Block) -> int | None:
        if self.clock is not None:
            return self.clock.watermark
        if not len(self.timed):
            return None
        self.reached = max(self.reached, int(block.times.max()))
        return None if self.reached == LOWEST else self.reached


class Jump:
    """The largest step that the watermark has made at one event, and where to."""

    def __init__(self) -> None:
        self.size = 0
        self.to = LOWEST
        self._mark = LOWEST

    def look(self, marks: Keys, after: int | None) -> None:
        """Take the watermarks that the next events met, and the one after them."""
        known = np.concatenate([[self._mark], marks, [LOWEST if after is None else after]])
        known = known[known != LOWEST]
        if len(known) < 2:
            self._mark = int(known[-1]) if len(known) else LOWEST
            return
        steps = np.diff(known)
        largest = int(np.argmax(steps))
        if steps[largest] > self.size:
            self.size, self.to = int(steps[largest]), int(known[largest + 1])
        self._mark = int(known[-1])


LateSink = Callable[[Stream, pa.RecordBatch, Keys, Sequence[Sequence[str]]], None]
"""Takes late events of a stream, the watermark that each met, and the patterns that dropped it."""


class Replay:
    """Plans over sources. Iterate `run` to the end, or `close`.

    `events` counts the events read, `late` those that some pattern dropped as late; they go to `on_late` where it is
    given. `notes` has what else there is to say of the events. The inputs are all there is: what waits for the
    watermark is settled at their end, but with `open_end`.
    """

    def __init__(
        self,
        plans: Sequence[Plan],
        sources: Sequence[Source],
        *,
        sort: bool = True,
        batch_size: int = DEFAULT_BATCH,
        engine: Callable[[Plan], Any] | None = None,
        id_key: IdKey | None = None,
        on_late: LateSink | None = None,
        open_end: bool = False,
    ) -> None:
        if engine is None:
            from runtime import Engine

            engine = partial(Engine, id_key=id_key)
        self._sources = sources
        self._batch_size = batch_size
        names = dict.fromkeys(stream.name for plan in plans for stream in plan.streams)
        self._codes = {name: code for code, name in enumerate(names)}
        self._runners = [_Runner(plan, engine(plan), self._codes, sort) for plan in plans]
        self._streams = {stream.name: stream for plan in plans for stream in plan.streams}
        self._advice = Advice(plans, self._codes, sort=sort)
        self._on_late = on_late
        self._open_end = open_end
        self.events = 0
        self.late = 0

    def run(self) -> Iterator[tuple[Plan, Any]]:
        """The new matches, as (plan, reader of record batches); drain each reader before asking for the next."""
        for block in merged(self._sources, self._codes, self._batch_size):
            self.events += len(block)
            self._advice.look(block.batches, block.codes, block.times)
            dropped: list[tuple[_Runner, npt.NDArray[np.bool_]]] = []
            for runner in self._runners:
                matches, late = runner.push(block)
                if late is not None:
                    dropped.append((runner, late))
                if matches is not None:
                    yield runner.plan, matches
            if dropped:
                self._drop(block, dropped)
        if not self._open_end:
            for runner in self._runners:
                if runner.plan.waits:
                    yield runner.plan, runner.engine.finish()

    def _drop(self, block: Block, dropped: Sequence[tuple[_Runner, npt.NDArray[np.bool_]]]) -> None:
        """Count what some pattern dropped, and hand it on."""
        late = np.logical_or.reduce([mask for _, mask in dropped])
        self.late += int(np.count_nonzero(late))
        if self._on_late is None:
            return
        marks = np.full(len(block), LOWEST, np.int64)
        for runner, mask in dropped:
            assert runner.clock is not None
            np.maximum(marks, np.where(mask, runner.clock.marks, LOWEST), out=marks)
        for name, batch in block.batches.items():
            mine = block.codes == self._codes[name]
            rows = np.flatnonzero(late[mine])
            if len(rows):
                places = np.flatnonzero(mine)[rows]
                patterns = [[runner.plan.pattern for runner, mask in dropped if mask[at]] for at in places]
                self._on_late(self._streams[name], batch.take(pa.array(rows)), marks[places], patterns)

    def notes(self) -> list[str]:
        """What there is to say of the events, at the end of the run; see `runtime.advice`."""
        said = self._advice.lines()
        for runner in self._runners:
            window, jump = runner.plan.window, runner.jump
            if self.late and window is not None and jump.size > window:
                said.append(
                    f"the watermark of `{runner.plan.pattern}` jumped by {duration_text(jump.size)} to "
                    f"{timestamp_text(jump.to)} at one event: is a clock ahead? (--max-ahead)"
                )
        return said

    def state(self) -> dict[str, Any]:
        """What each engine says of its state."""
        return {runner.plan.pattern: runner.engine.stats() for runner in self._runners}

    def close(self) -> None:
        """Remove what sorting spilled."""
        for source in self._sources:
            source.close()


def file_sources(
    inputs: Sequence[Input],
    *,
    sort: bool = True,
    policy: ErrorPolicy | None = None,
    memory: int = DEFAULT_MEMORY,
    progress: Sequence[Progress] | None = None,
    seen: Sequence[Seen] | None = None,
) -> list[FileSource]:
    """Sources over files; `memory` is for all of them together. Streams without event time are never sorted.

    `seen`, one for each input, notes what its records have in them.
    """
    policy = policy or ErrorPolicy()
    share = max(1, memory // max(1, len(inputs)))
    sources = []
    for index, files in enumerate(inputs):
        kind = SortedInput if sort and files.stream.time is not None else ArrivalInput
        watch = progress[index] if progress is not None else None
        noted = seen[index] if seen is not None else None
        sources.append(FileSource(files, kind(files, policy, memory=share, progress=watch, seen=noted)))
    return sources

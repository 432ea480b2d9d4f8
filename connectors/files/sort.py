"""The events of an input by event time, in bounded memory.

Three ways, chosen by what the input is:

* An input that fits into the memory allowed, as its first block lets expect, is read once and sorted there.
* A larger one is read twice. The first reading decodes the event time alone and keeps, per block, the earliest time of
  everything after it. The second holds events back only until nothing earlier can follow: a sorted file streams
  straight through, one with local disorder needs a buffer of that size, and neither touches the disk.
* Where the buffer outgrows the memory (disorder across the whole file, or a pipe, which cannot be read twice), sorted
  runs are spilled as Arrow IPC files and merged at the end, at most `MAX_RUNS` at a time.

Guaranteed: the order is by event time, events of the same time keep the order they are written in. Events without
a time come in any place. Not guaranteed: a hard limit; the memory allowed counts the rows held, sorting needs about
the same again for a moment, and readers keep a few blocks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from connectors.files import Input
from connectors.files.errors import ErrorPolicy, Ignored
from connectors.files.fit import Seen
from connectors.files.merge import LOWEST, Chunk, Cursor, concat, merge_runs, sorted_chunk, times_of
from connectors.files.piece import Piece
from connectors.files.prefetch import Progress, prefetch

DEFAULT_MEMORY = 256 << 20
MAX_MEMORY = 1 << 30
"""For one input: Arrow's strings of one batch end at 2 GB, and a sort holds two copies."""
MAX_RUNS = 64
_RELEASE = 4
"""Rows are sorted and released once they are a quarter of the buffer: each row is moved a few times at most."""


class Spill:
    """Sorted runs on disk, in a directory that goes away with it. Made when first used."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.written = 0
        self._directory: TemporaryDirectory[str] | None = None
        self._runs: list[Path] = []

    def __bool__(self) -> bool:
        return bool(self._runs)

    def write(self, chunk: Chunk) -> None:
        """Add a run; the oldest runs become one where there are too many."""
        if len(self._runs) >= MAX_RUNS:
            self._runs = [self._write(merge_runs(self.cursors()))]
        self._runs.append(self._write(iter([chunk])))

    def _write(self, chunks: Iterator[Chunk]) -> Path:
        if self._directory is None:
            self._directory = TemporaryDirectory(prefix="cep-sort-")
        path = Path(self._directory.name) / f"run-{self.written}.arrow"
        self.written += 1
        merged = self._runs
        writer = None
        with pa.OSFile(str(path), "wb") as sink:
            for keys, batch in chunks:
                full = batch.append_column("_key", pa.array(keys))
                if writer is None:
                    writer = pa.ipc.new_stream(sink, full.schema)
                # All runs are open at once in the merge, each with one of these batches.
                share = max(1, self.memory // (2 * MAX_RUNS))
                rows = max(64, int(full.num_rows * share / max(1, full.nbytes)))
                for start in range(0, full.num_rows, rows):
                    writer.write_batch(full.slice(start, rows))
            if writer is not None:
                writer.close()
        if len(merged) >= MAX_RUNS:
            for old in merged:
                old.unlink()
        return path

    def cursors(self) -> list[Cursor]:
        """The runs, oldest first."""
        return [Cursor(_read_run(path), number) for number, path in enumerate(self._runs)]

    def close(self) -> None:
        """Remove the files."""
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None
            self._runs = []


def _read_run(path: Path) -> Iterator[Chunk]:
    with pa.OSFile(str(path), "rb") as source, pa.ipc.open_stream(source) as reader:
        for full in reader:
            keys = np.asarray(full.column("_key").to_numpy(), np.int64)
            yield keys, full.drop_columns(["_key"])


class Minima:
    """The earliest time after each place of an input, from a first reading of its event times."""

    def __init__(self, source: Input, block: int, look: Progress | None = None) -> None:
        time = source.stream.time
        assert time is not None
        self.marks: list[tuple[int, int]] = []
        lows: list[int] = []
        for index, piece in prefetch(source.only(time).pieces(Ignored(), block=block), look):
            times = times_of(piece.batch, time)
            times = times[times != LOWEST]
            self.marks.append((index, piece.mark))
            lows.append(int(times.min()) if len(times) else 2**63 - 1)
        suffix = np.minimum.accumulate(np.array([*lows, 2**63 - 1], np.int64)[::-1])[::-1]
        self.after_piece = suffix.tolist()

    def after(self, index: int, mark: int) -> int:
        """The earliest time of what comes after a place. A piece that the place lies within counts as after it."""
        return int(self.after_piece[bisect_right(self.marks, (index, mark))])


class SortedInput:
    """The events of one input by event time; iterate once, then `close`."""

    def __init__(
        self,
        source: Input,
        policy: ErrorPolicy,
        *,
        memory: int = DEFAULT_MEMORY,
        progress: Progress | None = None,
        seen: Seen | None = None,
    ) -> None:
        self.seen = seen
        self.source = source
        self.policy = policy
        self.memory = min(memory, MAX_MEMORY)
        self.progress = progress
        self.block = max(64 << 10, min(4 << 20, self.memory // 16))
        self.spill = Spill(self.memory)
        self._held: list[Chunk] = []
        self._held_bytes = 0

    def fits(self, piece: Piece) -> bool:
        """Whether the whole input should fit into memory, with room to sort it, judged by its first piece."""
        size = self.source.size
        return size is not None and size * piece.batch.nbytes <= self.memory // 3 * max(1, piece.read)

    def chunks(self) -> Iterator[Chunk]:
        """The events with their times, in order."""
        time = self.source.stream.time
        minima: Minima | None = None
        looked = not self.source.rereadable
        for index, piece in self._pieces():
            batch = piece.batch
            if not looked:
                looked = True
                minima = None if self.fits(piece) else self._look()
            if not batch.num_rows:
                continue
            self._held.append((times_of(batch, time), batch))
            self._held_bytes += batch.nbytes
            if minima is not None and not self.spill:
                yield from self._release(minima.after(index, piece.mark))
            if self._held_bytes > self.memory:
                self.spill.write(sorted_chunk(self._held))
                self._hold([])
        held = [sorted_chunk(self._held)] if self._held else []
        self._hold([])
        if self.spill:
            yield from merge_runs([*self.spill.cursors(), Cursor(iter(held), self.spill.written)])
        else:
            yield from held

    def _look(self) -> Minima:
        look = Progress(self.progress.check) if self.progress is not None else None
        return Minima(self.source, self.block, look)

    def _pieces(self) -> Iterator[tuple[int, Piece]]:
        return prefetch(self.source.pieces(self.policy, block=self.block, seen=self.seen), self.progress)

    def _hold(self, held: list[Chunk]) -> None:
        self._held = held
        self._held_bytes = sum(batch.nbytes for _, batch in held)

    def _release(self, bound: int) -> Iterator[Chunk]:
        """What is held and not later than everything to come, where that is worth a sort."""
        ready = sum(int(np.count_nonzero(keys <= bound)) for keys, _ in self._held)
        total = sum(len(keys) for keys, _ in self._held)
        if ready * _RELEASE < total or not ready:
            return
        keys, batch = sorted_chunk(self._held)
        cut = int(np.searchsorted(keys, bound, "right"))
        rest = batch.slice(cut)
        self._hold([(keys[cut:], concat([rest]))] if cut < len(keys) else [])
        yield keys[:cut], batch.slice(0, cut)

    def close(self) -> None:
        """Remove what was spilled."""
        self.spill.close()


class ArrivalInput:
    """The events of one input as they are written, with the latest time so far as key.

    Merging inputs by these keys takes, each time, the input whose next event is earliest: once an event was taken,
    everything of its input that is not later than it comes before the next event of any other.
    """

    def __init__(
        self,
        source: Input,
        policy: ErrorPolicy,
        *,
        memory: int = DEFAULT_MEMORY,
        progress: Progress | None = None,
        seen: Seen | None = None,
    ) -> None:
        self.seen = seen
        self.source = source
        self.policy = policy
        self.progress = progress
        self.block = max(64 << 10, min(4 << 20, memory // 16))

    def chunks(self) -> Iterator[Chunk]:
        """The events with their keys."""
        latest = LOWEST
        for _, piece in prefetch(self.source.pieces(self.policy, block=self.block, seen=self.seen), self.progress):
            if piece.batch.num_rows:
                keys = np.maximum.accumulate(times_of(piece.batch, self.source.stream.time))
                keys = np.maximum(keys, latest)
                latest = int(keys[-1])
                yield keys, piece.batch

    def close(self) -> None:
        """Nothing is kept."""

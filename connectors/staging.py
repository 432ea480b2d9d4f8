"""Rows of a batch on their way from Spark's tasks to the driver, in bounded memory and in an order that repeats.

A task's rows travel to the driver in its result up to `INLINE` bytes, and through files in `staging` beyond: a
directory or URI that all executors and the driver share, under the checkpoint. The driver reads them back one Arrow
batch at a time.

*Order.* A batch that is run again must offer its rows in the same order, or a publication that was cut off could not
go on (`connectors.kafka.parts`). Matches come out of a task in an order that hangs on how the shuffle fetched its
input. So a task sorts them by (`end`, `pattern`, `id`, `value`), as far as it has these columns; more than `RUN` bytes
are sorted in runs, which the driver merges. Tasks follow each other by number; which task a match is in is fixed by its
bucket and the number of shuffle partitions, which a checkpoint does not change. Rows without `id` stay as they come.

Files of batches that never came to an end are removed after a day.
"""

from __future__ import annotations

import heapq
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyarrow import fs

from connectors.kafka.config import KafkaFailureError, logger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

INLINE = 1 << 20
"""Bytes of a task's rows that travel in its result."""
RUN = 32 << 20
"""Bytes that are sorted at a time."""
STAGED = "task INT, run INT, rows BIGINT, data BINARY, path STRING, late BOOLEAN"
"""The Spark schema of what executors hand to the driver."""
_ARROW = pa.schema(
    [
        ("task", pa.int32()),
        ("run", pa.int32()),
        ("rows", pa.int64()),
        ("data", pa.binary()),
        ("path", pa.string()),
        ("late", pa.bool_()),
    ]
)
ORDER = ("end", "pattern", "id", "value")
_SLICE = 4096
"""Rows of an Arrow batch in a file: the driver holds one of each run of a task."""
_STALE = 24 * 3600
_ENDING = ".staged.arrow"


class Staged(NamedTuple):
    """Rows of a task: within, or in a file. They are matches, or events that were `late`."""

    task: int
    run: int
    rows: int
    data: bytes | None = None
    path: str | None = None
    late: bool = False

    def row(self) -> pa.RecordBatch:
        """As a row of `STAGED`."""
        arrays = [pa.array([value], field.type) for value, field in zip(self, _ARROW, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)


def staged_of(rows: DataFrame) -> list[Staged]:
    """Run a batch: what its tasks have staged."""
    return [Staged(**row) for row in rows.toArrow().to_pylist()]


def task_number() -> int:
    """Of the task that runs here."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RowStager:
    """For `mapInArrow`, on executors: the rows of a task, put away. Nothing becomes visible.

    `prepare` makes the rows out of what comes in; without it, they are what comes in.
    """

    staging: str
    prepare: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of `STAGED`, none where there is nothing."""
        for staged in self.put(batches, task_number()):
            yield staged.row()

    def put(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[Staged]:
        """Put the rows of a task away."""
        return stage(self.prepare(batches) if self.prepare is not None else batches, self.staging, task)


def stage(batches: Iterable[pa.RecordBatch], staging: str, task: int) -> Iterator[Staged]:
    """Put rows away until the driver wants them, a run at a time. Memory: twice `RUN` and one batch."""
    kept: list[pa.RecordBatch] = []
    size = run = 0
    for batch in batches:
        if batch.num_rows:
            kept.append(batch)
            size += batch.nbytes
        if size > RUN:
            yield _spill(_sorted(kept), staging, task, run)
            kept, size, run = [], 0, run + 1
    if not kept:
        return
    table = _sorted(kept)
    if size > INLINE or run:
        yield _spill(table, staging, task, run)
        return
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    yield Staged(task, run, table.num_rows, data=out.getvalue().to_pybytes())


def _sorted(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    table = pa.Table.from_batches(batches)
    names = _order(table.schema)
    return table.sort_by([(name, "ascending") for name in names]) if names else table


def _order(schema: pa.Schema) -> list[str]:
    """The columns to sort by: none without `id`."""
    return [name for name in ORDER if name in schema.names] if "id" in schema.names else []


def _spill(table: pa.Table, staging: str, task: int, run: int) -> Staged:
    system, directory = place(staging)
    system.create_dir(directory, recursive=True)
    name = f"{uuid.uuid4().hex}{_ENDING}"
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        system.open_output_stream(f"{directory}/{name}") as out,
        pa.ipc.new_stream(out, table.schema, options=options) as writer,
    ):
        writer.write_table(table, max_chunksize=_SLICE)
    return Staged(task, run, table.num_rows, path=name)


def rows_of(staged: Sequence[Staged], staging: str) -> Iterator[pa.RecordBatch]:
    """The rows of a batch in their order, as Arrow batches."""
    ordered = sorted(staged, key=lambda part: (part.task, part.run))
    for _, of_task in groupby(ordered, key=lambda part: part.task):
        runs = list(of_task)
        if len(runs) == 1:
            yield from _batches(runs[0], staging)
        else:
            yield from _merged(runs, staging)


def _merged(runs: Sequence[Staged], staging: str) -> Iterator[pa.RecordBatch]:
    """Runs of one task as one; row by row, which is less than what becomes of a row afterwards."""
    readers = [_batches(run, staging) for run in runs]
    first = [next(reader, None) for reader in readers]
    schema = next(batch.schema for batch in first if batch is not None)
    if not _order(schema):
        for batch, reader in zip(first, readers, strict=True):
            if batch is not None:
                yield batch
            yield from reader
        return
    streams = [_keyed(batch, reader) for batch, reader in zip(first, readers, strict=True) if batch is not None]
    rows: list[dict[str, Any]] = []
    for _, row in heapq.merge(*streams, key=lambda pair: pair[0]):
        rows.append(row)
        if len(rows) == _SLICE:
            yield pa.RecordBatch.from_pylist(rows, schema=schema)
            rows = []
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _keyed(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Rows with the key that Arrow has sorted them by: NULL comes last."""
    names = _order(first.schema)
    batch: pa.RecordBatch | None = first
    while batch is not None:
        for row in batch.to_pylist():
            yield tuple((False, row[name]) if row[name] is not None else (True, 0) for name in names), row
        batch = next(rest, None)


def _batches(message: Staged, staging: str) -> Iterator[pa.RecordBatch]:
    if message.data is not None:
        yield from pa.ipc.open_stream(message.data)
    elif message.path is not None:
        system, directory = place(staging)
        try:
            with system.open_input_stream(f"{directory}/{message.path}") as source:
                yield from pa.ipc.open_stream(source)
        except FileNotFoundError:
            raise KafkaFailureError(
                f"staged matches are not in {staging}: the driver and all executors must share that directory"
            ) from None


def remove(staged: Iterable[Staged], staging: str) -> None:
    """Remove the files of staged rows."""
    system, directory = place(staging)
    for part in staged:
        if part.path is not None:
            with suppress(FileNotFoundError):
                system.delete_file(f"{directory}/{part.path}")


def remove_stale(staging: str) -> None:
    """Remove the files of batches that were never done: their driver was killed more than a day ago."""
    system, directory = place(staging)
    for info in system.get_file_info(fs.FileSelector(directory, allow_not_found=True)):
        if info.path.endswith(_ENDING) and info.mtime_ns is not None and time.time() - info.mtime_ns / 1e9 > _STALE:
            logger.info("removing %s, left by a batch that was never done", info.path)
            with suppress(FileNotFoundError):
                system.delete_file(info.path)


def place(staging: str) -> tuple[fs.FileSystem, str]:
    """The file system and path of a directory or URI."""
    if "://" in staging or staging.startswith("file:"):
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(staging)
        return found
    return fs.LocalFileSystem(), staging

"""A directory of matches: JSON Lines files in which a plain reader finds every match exactly once.

Executors write what they have to `_temporary/`, which readers skip (`FileStager`, in `mapInArrow`); when all of a batch
is there, the driver moves the files to names that job, batch and partition determine (`FilePublication`, in
`foreachBatch`). A batch that is repeated after a crash has the same matches in the same partitions, so it replaces its
own files, and whatever else an earlier attempt left under its number is deleted. A crash while files are moved leaves a
batch partly visible until the job is started again; never a match twice.

The directory must be on a file system that driver and executors share (on one machine, any).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from connectors.files.match_writer import json_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

TEMPORARY = "_temporary"
WRITTEN = "file STRING, partition INT, rows BIGINT"
"""The Spark schema of what executors hand to the driver."""


def lines(batch: pa.RecordBatch) -> list[str]:
    """Rows of matches as `cep replay` writes them."""
    parts = (
        '{"id": "', batch.column("id"), '", "pattern": ', json_text(batch.column("pattern")),
        ', "start": ', json_text(batch.column("start")), ', "end": ', json_text(batch.column("end")),
        ', "fields": ', batch.column("fields"), "}\n", "",
    )  # fmt: skip
    texts: list[str] = pc.binary_join_element_wise(*parts).to_pylist()
    return texts


class Written(NamedTuple):
    """What a task wrote: a file in `_temporary`."""

    file: str
    partition: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStager:
    """For `mapInArrow`, on executors: the matches of a partition to a file that nobody sees yet.

    `unpack` makes rows of matches out of what comes in; without it, rows are what comes in.
    """

    directory: str
    job: str
    unpack: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row of `WRITTEN`, or none where there is no match."""
        from pyspark import TaskContext

        context = TaskContext.get()
        rows = self.unpack(batches) if self.unpack is not None else batches
        written = self.write(rows, context.partitionId() if context is not None else 0)
        if written is not None:
            yield pa.RecordBatch.from_arrays(
                [pa.array([written.file]), pa.array([written.partition], pa.int32()), pa.array([written.rows])],
                names=list(Written._fields),
            )

    def write(self, batches: Iterator[pa.RecordBatch], partition: int) -> Written | None:
        """Write rows, if there are any."""
        full = (batch for batch in batches if batch.num_rows)
        batch = next(full, None)
        if batch is None:
            return None
        target = temporary(Path(self.directory), self.job) / f"{uuid.uuid4().hex}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = 0
        with target.open("w", encoding="utf-8", newline="") as file:
            while batch is not None:
                file.writelines(lines(batch))
                rows += batch.num_rows
                batch = next(full, None)
            file.flush()
            os.fsync(file.fileno())
        return Written(target.name, partition, rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePublication:
    """For `foreachBatch`, on the driver, once all tasks are done: make the batch visible. Harmless to repeat."""

    directory: str
    job: str

    def __call__(self, written: DataFrame, batch: int) -> None:
        """Run the batch and move its files."""
        rows = written.toArrow().to_pylist()
        publish(Path(self.directory), self.job, [Written(**row) for row in rows], batch)


def write_files(
    found: DataFrame,
    directory: str,
    job: str,
    unpack: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] | None = None,
) -> DataStreamWriter:
    """A writer of matches to a directory; `job` tells jobs that share one apart. See `FileStager` for `unpack`."""
    clean(Path(directory), job)
    staged = found.mapInArrow(FileStager(directory=directory, job=job, unpack=unpack), WRITTEN)
    return staged.writeStream.foreachBatch(FilePublication(directory=directory, job=job))


def temporary(directory: Path, job: str) -> Path:
    """Where a job's files are before they can be seen."""
    return directory / TEMPORARY / job


def publish(directory: Path, job: str, written: Sequence[Written], batch: int) -> None:
    """Move the files of a batch to their names, and remove what else has its number."""
    directory.mkdir(parents=True, exist_ok=True)
    names = set()
    for part in written:
        name = f"matches-{job}-{batch:09d}-{part.partition:05d}.jsonl"
        (temporary(directory, job) / part.file).replace(directory / name)
        names.add(name)
    for stale in directory.glob(f"matches-{job}-{batch:09d}-*.jsonl"):
        if stale.name not in names:
            stale.unlink()
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def clean(directory: Path, job: str) -> None:
    """Before a job starts: remove what its crashed attempts left behind."""
    for file in temporary(directory, job).glob("*.jsonl"):
        file.unlink(missing_ok=True)

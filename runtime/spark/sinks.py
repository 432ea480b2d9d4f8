"""A directory of matches: JSON Lines files in which a plain reader finds every match exactly once.

Executors write what they have to `_temporary/`, which readers skip; when all of a batch is there, the driver moves the
files to names that job, batch and partition determine. A batch that is repeated after a crash has the same matches in
the same partitions, so it replaces its own files, and whatever else an earlier attempt left under its number is
deleted. A crash while files are moved leaves a batch partly visible until the job is started again; never a match
twice.

The directory must be on a file system that driver and executors share (on one machine, any).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage

from connectors.files.match_writer import json_text
from runtime.spark.unpack import MATCHES

TEMPORARY = "_temporary"


def lines(batch: pa.RecordBatch) -> list[str]:
    """Rows of matches as `cep replay` writes them."""
    parts = (
        '{"id": "', batch.column("id"), '", "pattern": ', json_text(batch.column("pattern")),
        ', "start": ', json_text(batch.column("start")), ', "end": ', json_text(batch.column("end")),
        ', "fields": ', batch.column("fields"), "}\n", "",
    )  # fmt: skip
    texts: list[str] = pc.binary_join_element_wise(*parts).to_pylist()
    return texts


@dataclass
class Written(WriterCommitMessage):
    """What a task wrote: a file in `_temporary`, None where there was no match."""

    file: str | None
    partition: int
    rows: int


class MatchFiles(DataSource):
    """The Spark data source `cep-files`; option `path` is the directory, `job` tells jobs that share one apart."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "cep-files"

    def schema(self) -> str:
        """Matches."""
        return MATCHES

    def streamWriter(self, schema: Any, overwrite: bool) -> MatchFilesWriter:  # noqa: N802 - Spark's name
        """The writer."""
        del schema, overwrite
        return MatchFilesWriter(self.options["path"], self.options.get("job", "job"))


class MatchFilesWriter(DataSourceStreamArrowWriter):
    """See the module's text."""

    def __init__(self, path: str, job: str) -> None:
        self._directory = Path(path)
        self._temporary = temporary(self._directory, job)
        self._job = job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """On an executor: the matches of a partition to a file that nobody sees yet."""
        from pyspark import TaskContext

        context = TaskContext.get()
        partition = context.partitionId() if context is not None else 0
        batches = (batch for batch in iterator if batch.num_rows)
        first = next(batches, None)
        if first is None:
            return Written(None, partition, 0)
        target = self._temporary / f"{uuid.uuid4().hex}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = 0
        with target.open("w", encoding="utf-8", newline="") as file:
            batch: pa.RecordBatch | None = first
            while batch is not None:
                file.writelines(lines(batch))
                rows += batch.num_rows
                batch = next(batches, None)
            file.flush()
            os.fsync(file.fileno())
        return Written(target.name, partition, rows)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """On the driver, once all tasks are done: make the batch visible. Harmless to repeat."""
        publish(self._directory, self._job, [m for m in messages if isinstance(m, Written)], batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        """On the driver, where a task failed: forget what the others wrote."""
        for message in messages:
            if isinstance(message, Written) and message.file is not None:
                (self._temporary / message.file).unlink(missing_ok=True)


def temporary(directory: Path, job: str) -> Path:
    """Where a job's files are before they can be seen."""
    return directory / TEMPORARY / job


def publish(directory: Path, job: str, written: Sequence[Written], batch: int) -> None:
    """Move the files of a batch to their names, and remove what else has its number."""
    directory.mkdir(parents=True, exist_ok=True)
    names = set()
    for message in written:
        if message.file is not None:
            name = f"matches-{job}-{batch:09d}-{message.partition:05d}.jsonl"
            (temporary(directory, job) / message.file).replace(directory / name)
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

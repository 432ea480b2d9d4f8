"""Matches from Spark to Kafka: executors stage those of a batch, the driver publishes them in one transaction.

A task's rows (`RecordStager`, in `mapInArrow`) travel to the driver in its result up to `INLINE` bytes, and through a
file in `staging` beyond: a directory or URI that all executors and the driver share, under the checkpoint. So the
driver holds one Arrow batch of each task at a time. It publishes (`Publication`, in `foreachBatch`) with one publisher
for as long as the query runs: a transaction then costs a few round trips to the broker. Files of batches that never
came to a commit are removed after a day.

Rows need a column `value` (the match as JSON, binary or string). `key` (binary or string) is the record's key; `id`,
`pattern` and `time` (strings) make the CloudEvents headers, which are otherwise read from the value.

Guaranteed: `connectors.kafka.publisher`'s promises, for Spark offers a batch again with its id until it is committed.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyarrow import fs

from connectors.kafka.cloudevents import headers, headers_of
from connectors.kafka.config import KafkaConfig, KafkaFailureError, logger
from connectors.kafka.publisher import Record, TransactionalPublisher

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

INLINE = 1 << 20
"""Bytes of a task's rows that travel in its result."""
STAGED = "task INT, rows BIGINT, data BINARY, path STRING"
"""The Spark schema of what executors hand to the driver."""
_STALE = 24 * 3600
_ENDING = ".staged.arrow"


class Staged(NamedTuple):
    """The rows of a task: within, or in a file."""

    task: int
    rows: int
    data: bytes | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStager:
    """For `mapInArrow`, on executors: the rows of a task, put away. Nothing becomes visible.

    `prepare` makes rows of records out of what comes in; without it, they are what comes in.
    """

    staging: str
    prepare: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row of `STAGED`, or none where there is nothing."""
        from pyspark import TaskContext

        context = TaskContext.get()
        rows = self.prepare(batches) if self.prepare is not None else batches
        staged = stage(rows, self.staging, context.partitionId() if context is not None else 0)
        if staged is not None:
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([staged.task], pa.int32()),
                    pa.array([staged.rows], pa.int64()),
                    pa.array([staged.data], pa.binary()),
                    pa.array([staged.path], pa.string()),
                ],
                names=list(Staged._fields),
            )


@dataclass(kw_only=True)
class Publication:
    """For `foreachBatch`, on the driver: the staged rows of a batch in one transaction.

    `generation` is what `claim` gave this driver, so that an older one is fenced. `source` is the records'
    `ce_source`, `/cep/<job>` where it is not given.
    """

    config: KafkaConfig
    topic: str
    job_id: str
    staging: str
    generation: int | None = None
    source: str | None = None
    _publisher: TransactionalPublisher | None = field(default=None, init=False, repr=False)

    def __call__(self, staged: DataFrame, batch: int) -> None:
        """Run the batch and publish it."""
        self.publish([Staged(**row) for row in staged.toArrow().to_pylist()], batch)

    def publish(self, staged: Sequence[Staged], batch: int) -> None:
        """Publish what tasks have staged, in their order; files are removed once that is done."""
        if staged:
            if self._publisher is None:
                remove_stale(self.staging)
                self._publisher = TransactionalPublisher(
                    self.config, self.job_id, topic=self.topic, generation=self.generation
                )
            ordered = sorted(staged, key=lambda part: part.task)
            source = self.source or f"/cep/{self.job_id}"
            self._publisher.publish(batch, StagedRecords(ordered, self.staging, source))
        remove(staged, self.staging)

    def __getstate__(self) -> dict[str, object]:
        """A copy, e.g. on a Spark Connect server, opens a publisher of its own."""
        return {**self.__dict__, "_publisher": None}


class StagedRecords(Iterable[Record]):
    """The records of staged rows, in task order; can be read again."""

    def __init__(self, staged: Sequence[Staged], staging: str, source: str) -> None:
        self.staged = staged
        self.staging = staging
        self.source = source

    def __iter__(self) -> Iterator[Record]:
        for message in self.staged:
            for batch in _batches(message, self.staging):
                yield from records_of(batch, self.source)


def records_of(batch: pa.RecordBatch, source: str) -> Iterator[Record]:
    """The records of rows that have the sink's columns."""
    columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
    count = batch.num_rows
    keys = columns.get("key", [None] * count)
    named = all(name in columns for name in ("id", "pattern", "time"))
    for row, (key, value) in enumerate(zip(keys, columns["value"], strict=True)):
        data = _bytes(value)
        if data is None:
            raise KafkaFailureError("the sink got a row whose value is NULL: a match has a value")
        found = (
            headers(columns["id"][row], columns["pattern"][row], columns["time"][row], source)
            if named
            else headers_of(data, source)
        )
        yield Record(_bytes(key), data, found)


def stage(batches: Iterator[pa.RecordBatch], staging: str, task: int) -> Staged | None:
    """Put rows away until the commit; None where there are none. Memory: `INLINE` and one batch."""
    kept: list[pa.RecordBatch] = []
    size = rows = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        kept.append(batch)
        size += batch.nbytes
        rows += batch.num_rows
        if size > INLINE:
            return _spill(kept, batches, staging, task)
    if not kept:
        return None
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, kept[0].schema) as writer:
        for batch in kept:
            writer.write_batch(batch)
    return Staged(task, rows, data=out.getvalue().to_pybytes())


def _spill(kept: list[pa.RecordBatch], rest: Iterator[pa.RecordBatch], staging: str, task: int) -> Staged:
    system, directory = _place(staging)
    system.create_dir(directory, recursive=True)
    name = f"{uuid.uuid4().hex}{_ENDING}"
    rows = 0
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with (
        system.open_output_stream(f"{directory}/{name}") as out,
        pa.ipc.new_stream(out, kept[0].schema, options=options) as writer,
    ):
        while kept:
            batch = kept.pop(0)
            rows += batch.num_rows
            writer.write_batch(batch)
        for batch in rest:
            rows += batch.num_rows
            writer.write_batch(batch)
    return Staged(task, rows, path=name)


def _batches(message: Staged, staging: str) -> Iterator[pa.RecordBatch]:
    if message.data is not None:
        yield from pa.ipc.open_stream(message.data)
    elif message.path is not None:
        system, directory = _place(staging)
        try:
            with system.open_input_stream(f"{directory}/{message.path}") as source:
                yield from pa.ipc.open_stream(source)
        except FileNotFoundError:
            raise KafkaFailureError(
                f"staged matches are not in {staging}: the driver and all executors must share that directory"
            ) from None


def remove(staged: Iterable[Staged], staging: str) -> None:
    """Remove the files of staged rows."""
    system, directory = _place(staging)
    for part in staged:
        if part.path is not None:
            with suppress(FileNotFoundError):
                system.delete_file(f"{directory}/{part.path}")


def remove_stale(staging: str) -> None:
    """Remove the files of batches that were never committed: their driver was killed more than a day ago."""
    system, directory = _place(staging)
    for info in system.get_file_info(fs.FileSelector(directory, allow_not_found=True)):
        if info.path.endswith(_ENDING) and info.mtime_ns is not None and time.time() - info.mtime_ns / 1e9 > _STALE:
            logger.info("removing %s, left by a batch that was never committed", info.path)
            system.delete_file(info.path)


def _place(staging: str) -> tuple[fs.FileSystem, str]:
    if "://" in staging or staging.startswith("file:"):
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(staging)
        return found
    return fs.LocalFileSystem(), staging


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value

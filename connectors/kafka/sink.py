"""The Spark sink `cep-kafka`: executors stage the matches of a batch, the driver publishes them in one transaction.

Rows need a column `value` (the match as JSON, binary or string). `key` (binary or string) is the record's key; `id`,
`pattern` and `time` (strings) make the CloudEvents headers, which are otherwise read from the value.

Options: `topic`, `jobId` (the checkpoint's query id), `staging` (a directory or URI that all executors and the driver
share, under the checkpoint), `source` (`ce_source`, default `/cep/<jobId>`), `generation` (from `claim`, so that an old
driver is fenced), and librdkafka properties with the prefix `kafka.`.

A task's rows travel within its commit message up to `INLINE` bytes, and through a file in `staging` beyond: the driver
holds one Arrow batch at a time. Files of batches that never came to a commit are removed after a day.

Guaranteed: `connectors.kafka.publisher`'s promises, for Spark offers a batch again with its id until it is committed.
Each commit opens a publisher of its own (about half a second); a job that commits from `foreachBatch` keeps one open.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import fs
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from connectors.kafka.cloudevents import headers, headers_of
from connectors.kafka.config import KafkaConfig, KafkaFailureError, logger
from connectors.kafka.publisher import Record, TransactionalPublisher

INLINE = 1 << 20
"""Bytes of a task's rows that travel in its commit message."""
_UNSTAGED = 64 << 20
_STALE = 24 * 3600
_ENDING = ".staged.arrow"


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """The options of the sink, checked."""

    config: KafkaConfig
    topic: str
    job_id: str
    source: str
    staging: str | None
    generation: int | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SinkSettings:
        """The settings that options give; `KafkaFailureError` names the one that is missing."""
        lower = {name.lower(): value for name, value in options.items()}
        for name in ("topic", "jobId"):
            if not lower.get(name.lower()):
                raise KafkaFailureError(f"the sink needs the option {name}")
        job = lower["jobid"]
        generation = lower.get("generation")
        return cls(
            KafkaConfig.from_options(lower),
            lower["topic"],
            job,
            lower.get("source", f"/cep/{job}"),
            lower.get("staging"),
            None if generation is None else int(generation),
        )


@dataclass(frozen=True, slots=True)
class Staged(WriterCommitMessage):
    """The rows of a task: within, or in a file."""

    task: int
    rows: int
    data: bytes | None = None
    path: str | None = None


class KafkaStreamWriter(DataSourceStreamArrowWriter):
    """Stages on executors, publishes on the driver."""

    def __init__(self, settings: SinkSettings, columns: Sequence[str]) -> None:
        self.settings = settings
        if "value" not in columns:
            raise KafkaFailureError(f"the sink needs a column value, found {', '.join(columns)}")

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        """Stage the rows of a task. Nothing becomes visible."""
        from pyspark import TaskContext

        context = TaskContext.get()
        return stage(iterator, self.settings.staging, context.partitionId() if context is not None else 0)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Publish a batch in one transaction."""
        staged = sorted((m for m in messages if isinstance(m, Staged) and m.rows), key=lambda m: m.task)
        settings = self.settings
        if staged:
            with TransactionalPublisher(
                settings.config, settings.job_id, topic=settings.topic, generation=settings.generation
            ) as publisher:
                publisher.publish(batchId, StagedRecords(staged, settings.staging, settings.source))
        clean(staged, settings.staging)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Forget what was staged."""
        _ = batchId
        clean([m for m in messages if isinstance(m, Staged)], self.settings.staging)


class StagedRecords(Iterable[Record]):
    """The records of staged rows, in task order; can be read again."""

    def __init__(self, staged: Sequence[Staged], staging: str | None, source: str) -> None:
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


def stage(batches: Iterator[pa.RecordBatch], staging: str | None, task: int) -> Staged:
    """Put rows away until the commit. Memory: `INLINE` and one batch."""
    kept: list[pa.RecordBatch] = []
    size = rows = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        kept.append(batch)
        size += batch.nbytes
        rows += batch.num_rows
        if size > INLINE and staging is not None:
            return _spill(kept, batches, staging, task)
        if size > _UNSTAGED:
            raise KafkaFailureError(
                f"a task has more than {_UNSTAGED >> 20} MB of matches in one batch: set the sink's option staging "
                "to a directory that the driver and all executors share"
            )
    if not kept:
        return Staged(task, 0)
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


def _batches(message: Staged, staging: str | None) -> Iterator[pa.RecordBatch]:
    if message.data is not None:
        yield from pa.ipc.open_stream(message.data)
    elif message.path is not None:
        assert staging is not None
        system, directory = _place(staging)
        try:
            with system.open_input_stream(f"{directory}/{message.path}") as source:
                yield from pa.ipc.open_stream(source)
        except FileNotFoundError:
            raise KafkaFailureError(
                f"staged matches are not in {staging}: the driver and all executors must share that directory"
            ) from None


def clean(staged: Iterable[Staged], staging: str | None) -> None:
    """Remove the files of staged rows, and those that a killed driver left more than a day ago."""
    if staging is None:
        return
    system, directory = _place(staging)
    for message in staged:
        if message.path is not None:
            with suppress(FileNotFoundError):
                system.delete_file(f"{directory}/{message.path}")
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

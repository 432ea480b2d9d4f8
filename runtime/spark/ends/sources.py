"""Event files as DataFrames, streaming or batch, with the value rules of `cep replay`.

Parquet is read by Spark itself. JSON Lines and CSV are listed by Spark, which keeps track of the files it has handed
out, and decoded on the executors by the reader that replay uses (`connectors.files`): the same timestamps, the same
errors with file and line, the same policies. Their files must be reachable under the same path from every executor;
Parquet can be anywhere that Spark reads.

As always with Spark, a file must be complete when it appears (write it elsewhere, then move it), and one that grows is
not read again. Files are taken in order of modification time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from cep.ir.model import Stream
from cep.ir.types import Type
from connectors.files import ErrorPolicy, Input, InputError
from connectors.files.partitions import files_below, partition_names
from connectors.formats import EVENT_FORMATS, event_format
from runtime.spark.errors import JobError
from runtime.spark.flow.ahead import limited
from runtime.spark.flow.schema import fitted
from runtime.spark.sql import SPARK_TYPES, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LISTING = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInput:
    """Files of one stream. `kind` overrides what their names say; `on_error` is `fail`, `skip` or `dead-letter=DIR`."""

    stream: str
    path: str
    kind: str | None = None
    on_error: str = "fail"
    files_per_trigger: int | None = None
    max_ahead: int | None = None


def read_files(
    spark: SparkSession,
    files: FileInput,
    stream: Stream | None,
    columns: Sequence[tuple[str, Type]],
    *,
    streaming: bool = True,
) -> DataFrame:
    """The wanted columns of the events in some files; of a stream that no pattern uses (None), the names of the files.

    `JobError` where there are no files, or it is not clear what is in them.
    """
    kind = files.kind or _kind(files)
    reader = spark.readStream if streaming else spark.read
    if files.files_per_trigger is not None and streaming:
        reader = reader.option("maxFilesPerTrigger", files.files_per_trigger)
    where = _absolute(files.path)
    if kind == "parquet":
        schema = _parquet_schema(spark, where, columns)
        where, only = _one_file(where)
        found = reader.options(**only).schema(schema).parquet(where)
        if stream is None or files.max_ahead is None:
            return found
        return limited(fitted(found, stream, columns), stream, files.max_ahead, files.on_error)
    if "://" in files.path and not files.path.startswith("file://"):
        raise JobError(
            f"{files.path}: {kind} files must be on a file system that is mounted everywhere; Parquet may not"
        )
    where, only = _one_file(where)
    listing = reader.options(**only).format("binaryFile").schema(_LISTING).load(where).select("path")
    if stream is None:
        return listing
    decoder = Decoder(
        stream=stream,
        columns=tuple(columns),
        kind=files.kind,
        on_error=files.on_error,
        max_ahead=files.max_ahead,
        root=_absolute(files.path) if Path(files.path).is_dir() else None,
    )
    return listing.mapInArrow(decoder, ", ".join(f"{quote(name)} {SPARK_TYPES[type_]}" for name, type_ in columns))


def _one_file(where: str) -> tuple[str, dict[str, str]]:
    """A streaming source reads directories only: a single file is its directory and a filter by name."""
    path = Path(where)
    if not path.is_file():
        return where, {}
    name = "".join("\\" + char if char in "\\*?[]{}" else char for char in path.name)
    return str(path.parent), {"pathGlobFilter": name}


def _absolute(path: str) -> str:
    return path if "://" in path else str(Path(path).absolute())


def _kind(files: FileInput) -> str:
    """The format of the files that are there."""
    if "://" in files.path:
        found = event_format(Path(files.path))
        if found is None:
            raise JobError(f"{files.path}: the name does not say the format: use --format {'|'.join(EVENT_FORMATS)}")
        return found
    nothing = Stream(name=files.stream, columns=())
    try:
        kinds = {kind for _, kind in Input.find(nothing, files.path).files}
    except InputError as error:
        if Path(files.path).is_dir():
            raise JobError(f"{error}: give --format where they are still to come") from error
        raise JobError(str(error)) from error
    kinds = {"text" if kind in ("jsonl", "csv") else kind for kind in kinds}
    if len(kinds) > 1:
        raise JobError(f"{files.path}: expected Parquet files or text files, found both: put them into two directories")
    return kinds.pop()


def _parquet_schema(spark: SparkSession, where: str, columns: Sequence[tuple[str, Type]]) -> str:
    """The columns as the files have them, or as declared where there is no file yet."""
    from pyspark.errors import AnalysisException

    declared = ", ".join(f"{quote(name)} {SPARK_TYPES[type_]}" for name, type_ in columns)
    path = Path(where)
    if path.is_dir() and not any(event_format(child) == "parquet" for child in files_below(path)):
        return declared
    try:
        found = spark.read.parquet(where).schema
    except AnalysisException as error:
        raise JobError(f"{where}: cannot be read as Parquet: {str(error).splitlines()[0]}") from error
    # Spark guesses the types of columns that are in the path; the stream knows them.
    types = {name: SPARK_TYPES[type_] for name, type_ in columns}
    kept = {name for name in partition_names(path) if name in types} if path.is_dir() else set()
    return ", ".join(
        f"{quote(field.name)} {types[field.name] if field.name in kept else field.dataType.simpleString()}"
        for field in found.fields
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """The function for `mapInArrow`: names of files to events."""

    stream: Stream
    columns: tuple[tuple[str, Type], ...]
    kind: str | None
    on_error: str
    max_ahead: int | None = None
    root: str | None = None
    """The directory below which names of directories hold values; None: anywhere in the path."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The events of the files of a partition."""
        for batch in batches:
            for name in batch.column("path").to_pylist():
                path = Path(name.removeprefix("file://").removeprefix("file:"))
                kind = self.kind or event_format(path)
                if kind is None:
                    continue  # as in replay: a directory may hold other files
                root = Path(self.root) if self.root else None
                source = Input(self.stream, ((path, kind),), self.columns, self.max_ahead, root=root)
                for _, piece in source.pieces(self._policy(path)):
                    if piece.batch.num_rows:
                        yield piece.batch

    def _policy(self, path: Path) -> ErrorPolicy:
        kind, _, directory = self.on_error.partition("=")
        if kind != "dead-letter":
            return ErrorPolicy(kind)
        # One file for each input file: tasks run side by side, and a task that is tried again writes the same.
        Path(directory).mkdir(parents=True, exist_ok=True)
        tag = hashlib.sha256(str(path).encode()).hexdigest()[:8]
        return ErrorPolicy(kind, Path(directory) / f"{path.name}-{tag}.bad.jsonl")

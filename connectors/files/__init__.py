"""Event files: JSON Lines, CSV and Parquet to Arrow record batches of a stream's columns, in bounded memory.

`Input` is what `--in Stream=SPEC` names: a file, a directory, a glob, or `-`. Its files are read one after another, in
the order of their names; only the columns asked for are decoded. Directories called `NAME=VALUE` are entered, and hold
the values of a column.
"""

from __future__ import annotations

import glob as globbing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from cep.ir.model import Stream
from cep.ir.types import Type
from connectors.files.blocks import unreadable
from connectors.files.csv import read_csv
from connectors.files.errors import BadRecordError, ErrorPolicy, Ignored, InputError
from connectors.files.fit import Seen
from connectors.files.jsonl import read_jsonl
from connectors.files.parquet import ROWS, read_parquet
from connectors.files.partitions import files_below, partition_values, with_values
from connectors.files.piece import Piece
from connectors.files.times import at_clock, readable, wall_clock
from connectors.files.values import Columns
from connectors.formats import EVENT_ENDINGS, EVENT_FORMATS, event_format

__all__ = [
    "BadRecordError",
    "ErrorPolicy",
    "Ignored",
    "Input",
    "InputError",
    "Piece",
    "arrow_schema",
    "read_events",
]

BLOCK = 4 << 20
_SMALLEST_BLOCK = 64 << 10
_ROWS_ALONE: Columns = (("\0", Type.STRING),)
"""What is read where all that is wanted is in the path: a column that no file has, so that no row is refused for it."""


@dataclass(frozen=True, slots=True)
class Input:
    """Files with the events of one stream, and the columns wanted of them.

    Names of directories hold values too (`connectors.files.partitions`): those below `root`, all where it is None.
    """

    stream: Stream
    files: tuple[tuple[Path, str], ...]
    columns: tuple[tuple[str, Type], ...]
    max_ahead: int | None = None
    now: int = field(default_factory=wall_clock, compare=False)
    root: Path | None = None

    @classmethod
    def find(
        cls,
        stream: Stream,
        spec: str,
        *,
        columns: Sequence[str] | None = None,
        kind: str | None = None,
        max_ahead: int | None = None,
    ) -> Input:
        """The input that a spec names; `InputError` where there is no file or no format (`kind`). Reads only names.

        `columns` are the attributes to decode (all where None); the event time always is among them, and at least one.
        `max_ahead` is how far after the wall clock (read once, now) an event may be, in microseconds; None: no limit.
        """
        wanted = set(columns) if columns is not None else {name for name, _ in stream.columns}
        if stream.time is not None:
            wanted.add(stream.time)
        chosen = tuple(column for column in stream.columns if column[0] in wanted) or stream.columns[:1]
        root = Path(spec) if Path(spec).is_dir() else None
        return cls(stream, tuple(_files(spec, kind)), chosen, max_ahead, root=root)

    @property
    def size(self) -> int | None:
        """The bytes of the files as they lie on disk; None where one is a pipe."""
        if not self.rereadable:
            return None
        return sum(path.stat().st_size for path, _ in self.files)

    @property
    def rereadable(self) -> bool:
        """Whether the files can be read twice."""
        return all(str(path) != "-" and path.is_file() for path, _ in self.files)

    def only(self, column: str) -> Input:
        """The same files with one column wanted."""
        return replace(self, columns=tuple(item for item in self.columns if item[0] == column))

    def pieces(
        self, policy: ErrorPolicy, *, block: int = BLOCK, seen: Seen | None = None
    ) -> Iterator[tuple[int, Piece]]:
        """The events, each piece with the index of its file. `seen` notes what the records have in them."""
        block = max(_SMALLEST_BLOCK, block)
        columns = at_clock(readable(self.stream, self.columns, self.max_ahead), self.now)
        for index, (path, kind) in enumerate(self.files):
            values = self._values(path, columns)
            own = tuple(item for item in columns if item[0] not in values) or _ROWS_ALONE
            for piece in self._file(path, kind, own, policy, block, seen):
                batch = with_values(piece.batch, self.columns, values) if values else piece.batch
                if seen is not None:
                    seen.columns(values)
                    seen.count(batch)
                yield index, piece if batch is piece.batch else replace(piece, batch=batch)

    def _values(self, path: Path, columns: Columns) -> dict[str, object]:
        parts = path.parent.relative_to(self.root).parts if self.root is not None else path.parent.parts
        return partition_values(path, parts, columns)

    def _file(
        self, path: Path, kind: str, columns: Columns, policy: ErrorPolicy, block: int, seen: Seen | None
    ) -> Iterator[Piece]:
        if kind == "jsonl":
            return read_jsonl(path, columns, policy, block, seen)
        if kind == "csv":
            tabs = ".tsv" in path.suffixes
            declared = self.stream.columns
            return read_csv(path, columns, policy, block, delimiter="\t" if tabs else ",", declared=declared, seen=seen)
        return read_parquet(path, columns, policy, min(ROWS, max(1024, block // 64)), seen)


def read_events(
    spec: str,
    stream: Stream,
    *,
    columns: Sequence[str] | None = None,
    policy: ErrorPolicy | None = None,
    kind: str | None = None,
) -> Iterator[pa.RecordBatch]:
    """The events of a file, directory or glob in the order they are written, as batches of the stream's columns."""
    source = Input.find(stream, spec, columns=columns, kind=kind, max_ahead=stream.max_ahead)
    for _, piece in source.pieces(policy or ErrorPolicy()):
        if piece.batch.num_rows:
            yield piece.batch


def _files(spec: str, kind: str | None) -> Iterator[tuple[Path, str]]:
    path = Path(spec)
    if spec == "-":
        yield path, kind or "jsonl"
        return
    try:
        if path.is_dir():
            found = sorted(child for child in files_below(path) if kind or event_format(child))
            if not found:
                raise InputError(
                    f"{spec}: expected event files ({', '.join(EVENT_ENDINGS)}) in the directory, found none"
                    + _deeper(path)
                )
        elif path.exists() or not globbing.has_magic(spec):
            path.stat()
            found = [path]
        else:
            found = sorted(Path(name) for name in globbing.glob(spec, recursive=True) if Path(name).is_file())  # noqa: PTH207 - absolute globs too
            if not found:
                raise InputError(f"{spec}: expected files that match, found none")
    except OSError as error:
        raise unreadable(path, error) from error
    for file in found:
        chosen = kind or event_format(file)
        if chosen is None:
            raise InputError(f"{file}: the name does not say the format: use --format {'|'.join(EVENT_FORMATS)}")
        yield file, chosen


def _deeper(directory: Path) -> str:
    """A hint where files lie in directories that are not entered."""
    below = next((file for file in directory.rglob("*") if file.is_file() and event_format(file)), None)
    if below is None:
        return ""
    instead = f"{directory}/**/*{below.suffix}"
    return f" (directories within it are read where they are called NAME=VALUE; for {below} use {instead})"

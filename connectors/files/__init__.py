"""Event files: JSON Lines, CSV and Parquet to Arrow record batches of a stream's columns, in bounded memory.

`Input` is what `--in Stream=SPEC` names: a file, a directory, a glob, or `-`. Its files are read one after another, in
the order of their names; only the columns asked for are decoded.
"""

from __future__ import annotations

import glob as globbing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from cep.model import Stream
from connectors.files.blocks import COMPRESSION, unreadable
from connectors.files.csv import read_csv
from connectors.files.errors import BadRecordError, ErrorPolicy, Ignored, InputError
from connectors.files.jsonl import read_jsonl
from connectors.files.parquet import ROWS, read_parquet
from connectors.files.piece import Piece
from connectors.files.values import Column

__all__ = [
    "FORMATS",
    "BadRecordError",
    "ErrorPolicy",
    "Ignored",
    "Input",
    "InputError",
    "Piece",
    "arrow_schema",
    "read_events",
]

FORMATS = ("jsonl", "csv", "parquet")
ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
"""What a file's name says of its format, `.gz` and `.zst` taken off."""
BLOCK = 4 << 20
_SMALLEST_BLOCK = 64 << 10


def format_of(path: Path) -> str | None:
    """The format that a file's name says; None where it says none.

    >>> format_of(Path("events.jsonl.gz")), format_of(Path("events.parquet")), format_of(Path("notes.txt"))
    ('jsonl', 'parquet', None)
    """
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSION else path
    return ENDINGS.get(name.suffix.lower())


@dataclass(frozen=True, slots=True)
class Input:
    """Files with the events of one stream, and the columns wanted of them."""

    stream: Stream
    files: tuple[tuple[Path, str], ...]
    columns: tuple[Column, ...]

    @classmethod
    def find(cls, stream: Stream, spec: str, *, columns: Sequence[str] | None = None, kind: str | None = None) -> Input:
        """The input that a spec names; `InputError` where there is no file or no format (`kind`). Reads only names.

        `columns` are the attributes to decode (all where None); the event time always is among them, and at least one.
        """
        wanted = set(columns) if columns is not None else {name for name, _ in stream.columns}
        if stream.time is not None:
            wanted.add(stream.time)
        chosen = tuple(column for column in stream.columns if column[0] in wanted) or stream.columns[:1]
        return cls(stream, tuple(_files(spec, kind)), chosen)

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
        return Input(self.stream, self.files, tuple(item for item in self.columns if item[0] == column))

    def pieces(self, policy: ErrorPolicy, *, block: int = BLOCK) -> Iterator[tuple[int, Piece]]:
        """The events, each piece with the index of its file."""
        block = max(_SMALLEST_BLOCK, block)
        for index, (path, kind) in enumerate(self.files):
            if kind == "jsonl":
                pieces = read_jsonl(path, self.columns, policy, block)
            elif kind == "csv":
                pieces = read_csv(
                    path,
                    self.columns,
                    policy,
                    block,
                    delimiter="\t" if ".tsv" in path.suffixes else ",",
                    declared=self.stream.columns,
                )
            else:
                pieces = read_parquet(path, self.columns, policy, min(ROWS, max(1024, block // 64)))
            for piece in pieces:
                yield index, piece


def read_events(
    spec: str,
    stream: Stream,
    *,
    columns: Sequence[str] | None = None,
    policy: ErrorPolicy | None = None,
    kind: str | None = None,
) -> Iterator[pa.RecordBatch]:
    """The events of a file, directory or glob in the order they are written, as batches of the stream's columns."""
    source = Input.find(stream, spec, columns=columns, kind=kind)
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
            found = sorted(
                child
                for child in path.iterdir()
                if child.is_file() and not child.name.startswith((".", "_")) and (kind or format_of(child))
            )
            if not found:
                raise InputError(f"{spec}: expected event files ({', '.join(ENDINGS)}) in the directory, found none")
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
        chosen = kind or format_of(file)
        if chosen is None:
            raise InputError(f"{file}: the name does not say the format: use --format {'|'.join(FORMATS)}")
        yield file, chosen

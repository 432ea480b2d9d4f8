"""Files as blocks of whole lines, decompressed on the way, in bounded memory.

A block ends at a line break (the last one at the end of the file), and blocks are cut at the same places whenever a
file is read with the same block size. A line longer than `MAX_LINE` is an error: such a file is not a file of records.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from cep.nearby import similar_file
from connectors.files.errors import InputError
from connectors.formats import COMPRESSION

MAX_LINE = 64 << 20
BOM = b"\xef\xbb\xbf"

Cut = Callable[[bytes], int]
"""Where to cut a block: the length of its longest prefix of whole records, 0 where there is none."""


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file.

    `line` is the number of the first one, `end` the position after the last in the decompressed text, `read` how many
    bytes of the file itself were read for it so far.
    """

    data: bytes
    line: int
    end: int
    read: int
    last: bool


class ByteStream:
    """The decompressed bytes of a file; `-` is standard input, and pipes are read as well."""

    __slots__ = ("_raw", "_seekable", "_stream", "end", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end = 0
        try:
            self._raw: IO[bytes] = _stdin() if str(path) == "-" else path.open("rb")
            self._seekable = self._raw.seekable()
            kind = COMPRESSION.get(path.suffix.lower())
            self._stream: Any = (
                pa.CompressedInputStream(pa.PythonFile(self._raw, mode="r"), kind) if kind else self._raw
            )
        except OSError as error:
            raise unreadable(path, error) from error

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, none at the end."""
        try:
            data: bytes = self._stream.read(size)
            while 0 < len(data) < size:
                # A pipe gives what it has.
                more = self._stream.read(size - len(data))
                if not more:
                    break
                data += more
        except (OSError, ValueError, EOFError) as error:
            raise unreadable(self.path, error) from error
        self.end += len(data)
        return data

    @property
    def read_bytes(self) -> int:
        """How much of the file was read, as it lies on disk."""
        return self._raw.tell() if self._seekable else self.end

    def close(self) -> None:
        """Close the file (for standard input, our copy of it)."""
        if self._stream is not self._raw:
            self._stream.close()
        self._raw.close()


def _stdin() -> IO[bytes]:
    # A copy without Python's own buffer: a thread that is left behind in `read` would hold that buffer's lock, and the
    # interpreter does not end cleanly without it.
    return os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)


def unreadable(path: Path, error: BaseException) -> InputError:
    """The error for a file that the system or a decompressor will not read."""
    reason = getattr(error, "strerror", None) or " ".join(str(error).split())
    hint = similar_file(path) if isinstance(error, FileNotFoundError) else None
    return InputError(f"{path}: cannot be read: {reason}" + (f" ({hint})" if hint else ""))


def last_line_break(data: bytes) -> int:
    """The end of the last whole line."""
    return data.rfind(b"\n") + 1


def read_blocks(path: Path, size: int, cut: Cut = last_line_break) -> Iterator[Block]:
    """The blocks of a file. O(block) memory."""
    stream = ByteStream(path)
    line = 1
    carry = b""
    try:
        chunk = stream.read(size)
        _refuse_binary(path, chunk)
        chunk = chunk.removeprefix(BOM)
        while chunk:
            data = carry + chunk if carry else chunk
            end = cut(data)
            if end == 0 and len(data) > MAX_LINE:
                limit = f"{MAX_LINE >> 20} MB"
                raise InputError(f"{path}:{line}: expected one record a line, found a line of more than {limit}")
            carry = data[end:]
            if end:
                block = data[:end] if carry else data
                yield Block(block, line, stream.end - len(carry), stream.read_bytes, last=False)
                line += block.count(b"\n")
            chunk = stream.read(size)
        if carry:
            yield Block(carry, line, stream.end, stream.read_bytes, last=True)
    finally:
        stream.close()


def _refuse_binary(path: Path, chunk: bytes) -> None:
    if chunk[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path}: expected UTF-8 text, found UTF-16")
    if chunk[:4] == b"PAR1":
        raise InputError(f"{path}: expected text, found a Parquet file (use --format parquet)")


def valid_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8 text."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True

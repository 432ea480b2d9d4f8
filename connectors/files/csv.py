"""CSV with a header line.

RFC 4180 with the habits of real files: fields may be quoted, quotes within are doubled, line breaks may stand in
quotes, CRLF and a byte order mark are fine, empty lines are skipped. An empty field is NULL; a quoted empty one is the
empty STRING (and NULL for every other type). Every record has as many fields as the header.

As for JSON Lines, Arrow decodes whole blocks and the exact reader takes over where Arrow refuses one. Blocks are cut
between records: at a line break before which the number of quotes is even. A file in which no such place comes for
`PATIENCE` bytes (a lone quote within a field) is cut by the exact reader from there on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pc

from cep.diagnostics import did_you_mean
from cep.ir.types import Type
from connectors.files.blocks import BOM, Block, read_blocks, valid_utf8
from connectors.files.errors import ErrorPolicy, InputError
from connectors.files.fit import Seen
from connectors.files.piece import Piece
from connectors.files.times import EPOCH_WAYS, TEXT_WAYS, Kind, is_time, ways_of
from connectors.files.values import (
    FALSE_TEXT,
    SIGN,
    TRUE_TEXT,
    Columns,
    Refused,
    arrow_schema,
    arrow_type,
    batch_of,
    finish,
    from_text,
    refuse_sign,
)

EXACT_BELOW = 32 << 10
PATIENCE = 16 << 20
_SPLIT = 16
_INTEGER = re.compile(r"[+-]?\d+")
_ZONED = re.compile(r".*\d\d:?\d\d.*(Z|[+-]\d\d(:?\d\d)?)")


class Record(NamedTuple):
    """A record: its first line, its fields (and whether each was quoted), its text; `closed` unless a quote is open."""

    line: int
    fields: list[tuple[str, bool]]
    raw: str
    closed: bool


def read_csv(
    path: Path,
    columns: Columns,
    policy: ErrorPolicy,
    block_size: int,
    *,
    delimiter: str = ",",
    declared: Columns | None = None,
    seen: Seen | None = None,
) -> Iterator[Piece]:
    """The events of a file, one batch a block.

    A header that has none of the `declared` columns (the wanted ones, where None) is an error: it is no header.
    """
    reader: _Reader | None = None
    for block in read_blocks(path, block_size, _Cut(delimiter)):
        if reader is None:
            header, block = _header(path, block, delimiter)
            _check_header(path, header, columns, declared or columns)
            if seen is not None:
                seen.columns(header)
            reader = _Reader(path, header, columns, policy, delimiter)
        yield Piece(reader.batch(block), block.end, block.read)


class _Cut:
    """Cuts a block after its last whole record."""

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter
        self.exact = False

    def __call__(self, data: bytes) -> int:
        if self.exact:
            return self._exact(data)
        quotes = data.count(b'"')
        end = data.rfind(b"\n") + 1
        if quotes == 0 or end == 0:
            return end
        quotes -= data.count(b'"', end)
        while end and quotes % 2:
            before = data.rfind(b"\n", 0, end - 1) + 1
            quotes -= data.count(b'"', before, end)
            end = before
        if end == 0 and len(data) > PATIENCE:
            self.exact = True
            return self._exact(data)
        return end

    def _exact(self, data: bytes) -> int:
        text = data.decode("utf-8", "surrogateescape")
        cut = 0
        for record in records(text, 1, self.delimiter):
            if record.closed and record.raw.endswith("\n"):
                cut += len(record.raw.encode("utf-8", "surrogateescape"))
            else:
                break
        return cut


def records(text: str, line: int, delimiter: str) -> Iterator[Record]:
    r"""The records of a text, empty lines included (as one empty field).

    >>> [[field for field, _ in record.fields] for record in records('a,"b,""c"\nd,\n', 1, ",")]
    [['a', 'b,"c'], ['d', '']]
    """
    plain = re.compile(rf"[^{re.escape(delimiter)}\n]*")
    position, begin = 0, 0
    fields: list[tuple[str, bool]] = []
    lines = 0
    while position < len(text):
        closed = True
        if text[position] == '"':
            value, position, closed = _quoted(text, position)
            match = plain.match(text, position)
            assert match is not None
            rest = match.group()
            position = match.end()
            at_end = position >= len(text) or text[position] == "\n"
            fields.append((value + (rest.removesuffix("\r") if at_end else rest), True))
        else:
            match = plain.match(text, position)
            assert match is not None
            position = match.end()
            at_end = position >= len(text) or text[position] == "\n"
            fields.append((match.group().removesuffix("\r") if at_end else match.group(), False))
        if position < len(text) and text[position] == delimiter and closed:
            position += 1
            if position < len(text):
                continue
            fields.append(("", False))
        elif position < len(text):
            position += 1
        raw = text[begin:position]
        yield Record(line + lines, fields, raw, closed)
        lines += raw.count("\n")
        fields, begin = [], position


def _quoted(text: str, position: int) -> tuple[str, int, bool]:
    """The text in quotes from `position`, the place after it, and whether the closing quote is there."""
    parts: list[str] = []
    position += 1
    while True:
        end = text.find('"', position)
        if end < 0:
            return "".join([*parts, text[position:]]), len(text), False
        parts.append(text[position:end])
        if not text.startswith('""', end):
            return "".join(parts), end + 1, True
        parts.append('"')
        position = end + 2


def _header(path: Path, block: Block, delimiter: str) -> tuple[list[str], Block]:
    if not valid_utf8(block.data[: block.data.find(b"\n") + 1 or len(block.data)]):
        raise InputError(f"{path}:{block.line}: expected a header in UTF-8 text")
    text = block.data.decode("utf-8", "surrogateescape")
    skipped = 0
    for record in records(text, block.line, delimiter):
        skipped += len(record.raw.encode("utf-8", "surrogateescape"))
        if record.raw.strip():
            lines = block.data.count(b"\n", 0, skipped)
            rest = Block(block.data[skipped:], block.line + lines, block.end, block.read, block.last)
            return [name.strip() for name, _ in record.fields], rest
    raise InputError(f"{path}:{block.line}: expected a header line with the names of the columns, found empty lines")


def _check_header(path: Path, header: list[str], columns: Columns, declared: Columns) -> None:
    for name, _ in columns:
        times = header.count(name)
        if times > 1:
            raise InputError(f'{path}:1: expected column "{name}" once in the header, found it {times} times')
    if not any(name in header for name, _ in declared):
        wanted = ", ".join(name for name, _ in declared)
        near = next(filter(None, (did_you_mean(name, [name for name, _ in declared]) for name in header)), None)
        found = ", ".join(header)[:200]
        raise InputError(
            f"{path}:1: expected a header with some of {wanted}, found {found}" + (f": {near}" if near else "")
        )


class _Reader:
    """Decodes blocks; remembers how timestamps were written in the block before."""

    def __init__(self, path: Path, header: list[str], columns: Columns, policy: ErrorPolicy, delimiter: str) -> None:
        self.name = str(path)
        self.header = header
        self.columns = columns
        self.policy = policy
        self.delimiter = delimiter
        self.schema = arrow_schema(columns)
        self.present = [(name, type_) for name, type_ in columns if name in header]
        self.signed = SIGN in header and SIGN not in self.schema.names
        self.ways = {name: ways_of(kind) for name, kind in self.present if is_time(kind)}
        self.written: dict[str, pa.DataType] = {name: ways[0] for name, ways in self.ways.items()}

    def batch(self, block: Block) -> pa.RecordBatch:
        """The events of a block."""
        parts = list(self._parts(block.data, block.line))
        batches = pa.Table.from_batches(parts, self.schema).combine_chunks().to_batches()
        return batches[0] if batches else batch_of({name: [] for name, _ in self.columns}, self.columns)

    def _parts(self, data: bytes, line: int) -> Iterator[pa.RecordBatch]:
        if not data.strip(b"\r\n"):
            return
        batch = self._fast(data)
        if batch is not None:
            yield batch
        elif len(data) <= EXACT_BELOW or b'"' in data:
            yield self._exact(data, line)
        else:
            step = max(EXACT_BELOW, len(data) // _SPLIT)
            begin = 0
            while begin < len(data):
                end = data.find(b"\n", begin + step) + 1 or len(data)
                part = data[begin:end]
                if end - begin == len(data):
                    yield self._exact(data, line)
                else:
                    yield from self._parts(part, line)
                line += part.count(b"\n")
                begin = end

    def _fast(self, data: bytes) -> pa.RecordBatch | None:
        # Arrow takes a byte order mark off whatever it reads, and closes a quote that is open at the end.
        if not valid_utf8(data) or data.startswith(BOM) or data.count(b'"') % 2:
            return None
        batch = self._decode(data)
        if batch is None and self.written:
            written = self._look(data)
            if written != self.written:
                self.written = written
                batch = self._decode(data)
        return batch

    def _decode(self, data: bytes) -> pa.RecordBatch | None:
        types = {name: self.written.get(name, arrow_type(kind)) for name, kind in self.present}
        if self.signed:
            types[SIGN] = pa.string()
        try:
            table = pc.read_csv(
                pa.BufferReader(data),
                read_options=pc.ReadOptions(column_names=self.header),
                parse_options=pc.ParseOptions(delimiter=self.delimiter, newlines_in_values=b'"' in data),
                convert_options=pc.ConvertOptions(
                    column_types=types,
                    include_columns=list(types) or self.header[:1],
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    true_values=list(TRUE_TEXT),
                    false_values=list(FALSE_TEXT),
                ),
            )
            if self.signed and table.column(SIGN).null_count < table.num_rows:
                return None
            arrays = [
                finish(table.column(name), type_, text=True)
                if name in types
                else pa.nulls(table.num_rows, arrow_type(type_))
                for name, type_ in self.columns
            ]
        except (pa.ArrowInvalid, Refused):
            return None
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _look(self, data: bytes) -> dict[str, pa.DataType]:
        """How the first record writes its timestamps."""
        text = data[: 1 << 16].decode("utf-8", "replace")
        record = next(item for item in records(text, 1, self.delimiter) if item.raw.strip("\r\n"))
        written = dict(self.written)
        for name in written:
            index = self.header.index(name)
            value = record.fields[index][0].strip() if index < len(record.fields) else ""
            if self.ways[name] is TEXT_WAYS:
                continue
            if _INTEGER.fullmatch(value):
                written[name] = pa.int64()
            elif self.ways[name] is EPOCH_WAYS:
                written[name] = pa.float64() if value else written[name]
            elif value:
                unit = "ns" if re.search(r"\.\d{7,9}(?!\d)", value) else "us"
                written[name] = pa.timestamp(unit, "UTC") if _ZONED.fullmatch(value) else pa.timestamp(unit)
        return written

    def _exact(self, data: bytes, line: int) -> pa.RecordBatch:
        values: dict[str, list[Any]] = {name: [] for name, _ in self.columns}
        missing = [name for name, _ in self.columns if name not in dict(self.present)]
        places = [(name, type_, self.header.index(name)) for name, type_ in self.present]
        for record in records(data.decode("utf-8", "surrogateescape"), line, self.delimiter):
            if not record.raw.strip("\r\n"):
                continue
            try:
                row = self._row(record, places)
            except ValueError as error:
                raw = record.raw.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
                self.policy.bad_record(self.name, record.line, str(error), raw.rstrip("\r\n"))
                continue
            for (name, _, _), value in zip(places, row, strict=True):
                values[name].append(value)
            for name in missing:
                values[name].append(None)
        return batch_of(values, self.columns)

    def _row(self, record: Record, places: list[tuple[str, Kind, int]]) -> list[object]:
        try:
            record.raw.encode()
        except UnicodeEncodeError as error:
            byte = ord(record.raw[error.start]) - 0xDC00
            raise ValueError(f"expected UTF-8 text, found byte 0x{byte:02x}") from None
        if not record.closed:
            raise ValueError("expected a closing quote, found the end of the file")
        if len(record.fields) != len(self.header):
            raise ValueError(f"expected {len(self.header)} fields, as in the header, found {len(record.fields)}")
        if self.signed:
            refuse_sign(record.fields[self.header.index(SIGN)][0] or None)
        row: list[object] = []
        for name, type_, index in places:
            text, quoted = record.fields[index]
            if not text:
                row.append("" if quoted and type_ is Type.STRING else None)
                continue
            try:
                row.append(from_text(text, type_))
            except ValueError as error:
                raise ValueError(f'"{name}": {error}') from None
        return row

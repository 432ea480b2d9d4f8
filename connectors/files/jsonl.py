"""JSON Lines: one object a line.

Arrow's block reader decodes the needed fields of whole blocks. It is lenient about what a line is, and stops without a
line number at the first value it does not like; so a block is taken from it only if every line break in the block lies
between two objects and there are as many objects as lines, and any other block is split and, down to `EXACT_BELOW`
bytes, read line by line with `json`. A bad line thus costs a few thousand lines of slow reading, and never a wrong one.

Guaranteed: whether a line is an event, and with what values, depends on that line alone. Arrow takes nothing that the
exact reader refuses and reads nothing differently (tests/files/test_verdicts.py); where it might, its answer is not
used. Objects nested deeper than `MAX_DEPTH` are the one case in which Arrow decides alone: `json` recurses.

Accepted: unknown fields (ignored), missing ones (NULL), empty lines, CRLF, a byte order mark, a last line without a
line break. A key that occurs twice in an object: the last one holds, as in `json` and JavaScript.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pj

from connectors.files.blocks import Block, last_line_break, read_blocks, valid_utf8
from connectors.files.errors import ErrorPolicy, InputError
from connectors.files.fit import Seen
from connectors.files.piece import Piece
from connectors.files.times import EPOCH_WAYS, TEXT_WAYS, is_time, ways_of
from connectors.files.values import (
    SIGN,
    Columns,
    Refused,
    arrow_schema,
    batch_of,
    converter,
    finish,
    found,
    json_float,
    json_int,
    refuse_sign,
)

EXACT_BELOW = 32 << 10
MAX_DEPTH = 500
_SPLIT = 16
_ARROW_BLOCK = 1 << 20
_TEXT_OR_ODD = re.compile(r'"(?:[^"\\]|\\.)*"|-?Inf(?:inity)?|-NaN')
_OTHER_JSON = re.compile(rb"\s*(?:(?P<array>\[)[ \t\r]*[{\n]|\{[ \t\r]*\n)")
_NEGATIVE_ZERO = re.compile(r"-0\s*[,}\]]")
_LONG_FRACTION = re.compile(r"\.\d{7,9}(?!\d)")


def read_jsonl(
    path: Path, columns: Columns, policy: ErrorPolicy, block_size: int, seen: Seen | None = None
) -> Iterator[Piece]:
    """The events of a file, one batch a block."""
    reader = JsonReader(str(path), columns, policy)
    for block in read_blocks(path, block_size, _Cut(path)):
        batch = reader.batch(block)
        if seen is not None:
            seen.look(block.data, batch)
        yield Piece(batch, block.end, block.read)


class _Cut:
    """Cuts a block after its last line, once the beginning of the file looks like lines of objects."""

    def __init__(self, path: Path) -> None:
        self.path: Path | None = path

    def __call__(self, data: bytes) -> int:
        if self.path is not None:
            refuse_other_json(self.path, data)
            self.path = None
        return last_line_break(data)


def refuse_other_json(path: Path, data: bytes) -> None:
    """`InputError` where a file begins as an array of objects, or as an object over several lines."""
    begin = _OTHER_JSON.match(data)
    if begin is None:
        return
    source = "events.json" if str(path) == "-" else path
    if begin["array"] is not None:
        found, program = "an array of objects", ".[]"
    else:
        found, program = "an object over several lines", "."
    raise InputError(
        f"{path}: expected JSON Lines, one object a line, found {found}: convert it, e.g. with "
        f"jq -c '{program}' {source} > events.jsonl"
    )


class JsonReader:
    """Decodes blocks; remembers how timestamps were written in the block before."""

    def __init__(self, name: str, columns: Columns, policy: ErrorPolicy) -> None:
        self.name = name
        self.columns = columns
        self.policy = policy
        self.schema = arrow_schema(columns)
        self.times = [column for column, kind in columns if is_time(kind)]
        self.ways = [ways_of(kind) for _, kind in columns if is_time(kind)]
        self.written: tuple[pa.DataType, ...] = tuple(ways[0] for ways in self.ways)
        # A field that must be absent is read as a column of nothing: Arrow stops at the first value in it.
        self.read = self.schema if SIGN in self.schema.names else self.schema.append(pa.field(SIGN, pa.null()))

    def batch(self, block: Block) -> pa.RecordBatch:
        """The events of a block."""
        parts = list(self._parts(block.data, block.line, block.last))
        return parts[0] if len(parts) == 1 else _concat(parts)

    def _parts(self, data: bytes, line: int, last: bool) -> Iterator[pa.RecordBatch]:
        batch = self._fast(data)
        if batch is not None:
            yield batch
        elif len(data) <= EXACT_BELOW:
            yield self._exact(data, line, last)
        else:
            step = max(EXACT_BELOW, len(data) // _SPLIT)
            begin = 0
            while begin < len(data):
                end = data.find(b"\n", begin + step) + 1 or len(data)
                part = data[begin:end]
                if begin == 0 and end == len(data):
                    yield self._exact(data, line, last)
                else:
                    yield from self._parts(part, line, last and end == len(data))
                line += part.count(b"\n")
                begin = end

    def _fast(self, data: bytes) -> pa.RecordBatch | None:
        """All events of a block, None where Arrow cannot be trusted with it."""
        body = data.rstrip(b"\r\n")
        lines = body.count(b"\n") + 1
        between = body.count(b"}\n{") or body.count(b"}\r\n{")
        if not body.startswith(b"{") or between != lines - 1 or not valid_utf8(body):
            return None
        batch = self._decode(body, lines)
        if batch is None and self.times:
            written = self._look(body[: body.find(b"\n") if lines > 1 else len(body)])
            if written != self.written:
                self.written = written
                batch = self._decode(body, lines)
        return batch

    def _decode(self, body: bytes, lines: int) -> pa.RecordBatch | None:
        schema = self.read
        for name, written in zip(self.times, self.written, strict=True):
            schema = schema.set(schema.get_field_index(name), pa.field(name, written))
        try:
            table = pj.read_json(
                pa.BufferReader(body),
                read_options=pj.ReadOptions(block_size=min(_ARROW_BLOCK, len(body) + 1)),
                parse_options=pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
            if table.num_rows != lines:
                return None
            arrays = [finish(table.column(name), type_, text=True) for name, type_ in self.columns]
        except (pa.ArrowInvalid, Refused):
            return None
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _look(self, line: bytes) -> tuple[pa.DataType, ...]:
        """How a line writes its timestamps: as numbers, or as text with up to six or nine decimals."""
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return self.written
        written = []
        for name, before, ways in zip(self.times, self.written, self.ways, strict=True):
            value = record.get(name)
            if ways is TEXT_WAYS:
                written.append(before)
            elif isinstance(value, int):
                written.append(pa.int64())
            elif ways is EPOCH_WAYS:
                written.append(pa.float64() if isinstance(value, float) else before)
            elif isinstance(value, str):
                written.append(pa.timestamp("ns" if _LONG_FRACTION.search(value) else "us", "UTC"))
            else:
                written.append(before)
        return tuple(written)

    def _exact(self, data: bytes, line: int, last: bool) -> pa.RecordBatch:
        columns = [(name, converter(kind)) for name, kind in self.columns]
        values: dict[str, list[Any]] = {name: [] for name, _ in columns}
        rows = data.split(b"\n")
        for number, raw in enumerate(rows, line):
            if not raw.strip():
                continue
            try:
                row = self._deep(raw) if too_deep(raw) else self._row(parse_object(raw), columns)
            except ValueError as error:
                ends = last and number == line + len(rows) - 1
                note = " (the file ends within this line)" if ends and not raw.rstrip().endswith(b"}") else ""
                self.policy.bad_record(
                    self.name, number, f"{error}{note}", raw.decode("utf-8", "backslashreplace").rstrip("\r")
                )
                continue
            for (name, _), value in zip(columns, row, strict=True):
                values[name].append(value)
        return batch_of(values, self.columns)

    @staticmethod
    def _row(record: dict[str, Any], columns: Sequence[tuple[str, Callable[[object], object]]]) -> list[object]:
        """The values of an object; ValueError, for the user, where one does not fit."""
        refuse_sign(record.get(SIGN))
        row = []
        for name, convert in columns:
            value = record.get(name)
            try:
                row.append(None if value is None else convert(value))
            except ValueError as error:
                raise ValueError(f'"{name}": {error}') from None
        return row

    def _deep(self, raw: bytes) -> list[object]:
        """The values of an object that is nested too deeply for `json`, where Arrow reads it."""
        before = self.written
        body = raw.strip(b" \t\r")
        try:
            for written in product(*self.ways):
                self.written = written
                batch = self._decode(body, 1) if body.startswith(b"{") and valid_utf8(body) else None
                if batch is not None:
                    numbers = [
                        column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
                        for column in batch.columns
                    ]
                    return [column[0].as_py() for column in numbers]
        finally:
            self.written = before
        raise ValueError(f"expected a JSON object, found one nested more than {MAX_DEPTH} levels deep")


def _nothing(_: str) -> None:
    return None


_DECODER = json.JSONDecoder(parse_float=json_float, parse_constant=_nothing)
_PATIENT_DECODER = json.JSONDecoder(parse_float=json_float, parse_int=json_int, parse_constant=_nothing)


def too_deep(raw: bytes) -> bool:
    """Whether arrays and objects are nested more than `MAX_DEPTH` levels deep.

    >>> too_deep(b"[" * 501), too_deep(b"[" * 500), too_deep(b"[[], " * 300), too_deep(b'["' + b"[" * 900 + b'"]')
    (True, False, False, False)
    """
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return False
    depth = 0
    for match in re.finditer(rb'"(?:[^"\\]|\\.)*"|[][{}]', raw):
        bracket = match.group()
        depth += 1 if bracket in (b"[", b"{") else -1 if bracket in (b"]", b"}") else 0
        if depth > MAX_DEPTH:
            return True
    return False


def _usual(match: re.Match[str]) -> str:
    """`Inf` and `-NaN`, which Arrow knows, as `json` knows them; the columns of later errors stay."""
    text = match.group()
    return text if text.startswith('"') or text.endswith("Infinity") else "NaN".rjust(len(text))


def _decoded(text: str) -> object:
    try:
        decoder = _PATIENT_DECODER if _NEGATIVE_ZERO.search(text) else _DECODER
        return decoder.decode(text)
    except json.JSONDecodeError:
        usual = _TEXT_OR_ODD.sub(_usual, text)
        if usual == text:
            raise
        return _decoded(usual)
    except ValueError:  # a number with more digits than Python converts
        return _PATIENT_DECODER.decode(text)


def parse_object(raw: bytes) -> dict[str, Any]:
    """The object on a line; ValueError, for the user, where there is none.

    >>> parse_object(b'{"a": 1, "b": NaN}')
    {'a': 1, 'b': None}
    >>> parse_object(b'[1, 2]')
    Traceback (most recent call last):
    ValueError: expected a JSON object, found an array
    """
    if too_deep(raw):
        raise ValueError(f"expected a JSON object, found one nested more than {MAX_DEPTH} levels deep")
    try:
        record = _decoded(raw.decode())
    except UnicodeDecodeError as error:
        raise ValueError(
            f"expected UTF-8 text, found byte 0x{raw[error.start]:02x} at byte {error.start + 1}"
        ) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"expected a JSON object: {error.msg} at column {error.colno}") from None
    if not isinstance(record, dict):
        raise ValueError(f"expected a JSON object, found {found(record)}")  # noqa: TRY004 - a record's fault
    return record


def _concat(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    table = pa.Table.from_batches(parts).combine_chunks()
    batches = table.to_batches()
    return batches[0] if batches else parts[0]

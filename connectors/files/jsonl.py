"""JSON Lines: one object a line.

Arrow's block reader decodes the needed fields of whole blocks. It is lenient about what a line is, and stops without a
line number at the first value it does not like; so a block is taken from it only if every line break in the block lies
between two objects and there are as many objects as lines, and any other block is split and, down to `EXACT_BELOW`
bytes, read line by line with `json`. A bad line thus costs a few thousand lines of slow reading, and never a wrong one.

Accepted: unknown fields (ignored), missing ones (NULL), empty lines, CRLF, a byte order mark, a last line without a
line break. A key that occurs twice in an object: the last one holds, as in `json` and JavaScript.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pj

from cep.types import Type
from connectors.files.blocks import Block, read_blocks, valid_utf8
from connectors.files.errors import ErrorPolicy
from connectors.files.piece import Piece
from connectors.files.values import FROM_JSON, Columns, Refused, arrow_schema, batch_of, finish, found, json_float

EXACT_BELOW = 32 << 10
_SPLIT = 16
_ARROW_BLOCK = 1 << 20
_LONG_FRACTION = re.compile(r"\.\d{7,9}(?!\d)")


def read_jsonl(path: Path, columns: Columns, policy: ErrorPolicy, block_size: int) -> Iterator[Piece]:
    """The events of a file, one batch a block."""
    reader = JsonReader(str(path), columns, policy)
    for block in read_blocks(path, block_size):
        yield Piece(reader.batch(block), block.end, block.read)


class JsonReader:
    """Decodes blocks; remembers how timestamps were written in the block before."""

    def __init__(self, name: str, columns: Columns, policy: ErrorPolicy) -> None:
        self.name = name
        self.columns = columns
        self.policy = policy
        self.schema = arrow_schema(columns)
        self.times = [column for column, type_ in columns if type_ is Type.TIMESTAMP]
        self.written: tuple[pa.DataType, ...] = tuple(pa.timestamp("us", "UTC") for _ in self.times)

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
        schema = self.schema
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
            arrays = [finish(table.column(name), type_) for name, type_ in self.columns]
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
        for name, before in zip(self.times, self.written, strict=True):
            value = record.get(name)
            if isinstance(value, int):
                written.append(pa.int64())
            elif isinstance(value, str):
                written.append(pa.timestamp("ns" if _LONG_FRACTION.search(value) else "us", "UTC"))
            else:
                written.append(before)
        return tuple(written)

    def _exact(self, data: bytes, line: int, last: bool) -> pa.RecordBatch:
        columns = [(name, FROM_JSON[type_]) for name, type_ in self.columns]
        values: dict[str, list[Any]] = {name: [] for name, _ in columns}
        rows = data.split(b"\n")
        for number, raw in enumerate(rows, line):
            if not raw.strip():
                continue
            try:
                record = parse_object(raw)
                row = []
                for name, convert in columns:
                    value = record.get(name)
                    try:
                        row.append(None if value is None else convert(value))
                    except ValueError as error:
                        raise ValueError(f'"{name}": {error}') from None
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


def _nothing(_: str) -> None:
    return None


_DECODER = json.JSONDecoder(parse_float=json_float, parse_constant=_nothing)


def parse_object(raw: bytes) -> dict[str, Any]:
    """The object on a line; ValueError, for the user, where there is none.

    >>> parse_object(b'{"a": 1, "b": NaN}')
    {'a': 1, 'b': None}
    >>> parse_object(b'[1, 2]')
    Traceback (most recent call last):
    ValueError: expected a JSON object, found an array
    """
    try:
        record = _DECODER.decode(raw.decode())
    except UnicodeDecodeError as error:
        raise ValueError(
            f"expected UTF-8 text, found byte 0x{raw[error.start]:02x} at byte {error.start + 1}"
        ) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"expected a JSON object: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise ValueError("expected a JSON object, found one nested too deeply") from None
    except ValueError:
        raise ValueError("expected a JSON object, found a number with too many digits") from None
    if not isinstance(record, dict):
        raise ValueError(f"expected a JSON object, found {found(record)}")  # noqa: TRY004 - a record's fault
    return record


def _concat(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    table = pa.Table.from_batches(parts).combine_chunks()
    batches = table.to_batches()
    return batches[0] if batches else parts[0]

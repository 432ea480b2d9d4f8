"""Record values to columns, in one place.

A decoder gets the values of many records at once and returns a batch with as many rows, NULL throughout where a value
could not be read, and one `DecodeError` for each such row. `json` is the decoder there is; others (Avro, Protobuf) are
one function each in `DECODERS`.

JSON follows the rules of event files, through the same reader: values are joined to lines and decoded by blocks, and
only blocks that Arrow refuses are read one record at a time. A value that holds line breaks (pretty-printed JSON) is
checked by itself first. Unlike in a file, an empty value is an error: a topic has no empty lines. A NULL value (a
tombstone) is one too.

Guaranteed: every row is either decoded or has exactly one error; the errors are in row order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connectors.files.blocks import Block
from connectors.files.errors import ErrorPolicy
from connectors.files.jsonl import JsonReader, parse_object
from connectors.files.values import Columns, empty_batch

MAX_VALUE_BYTES = 8 << 20
"""Values longer than this are refused unless the caller says otherwise: they are no events."""


class DecodeError(NamedTuple):
    """Why a row could not be decoded."""

    row: int
    reason: str


Decoder = Callable[[pa.BinaryArray, Columns, int], tuple[pa.RecordBatch, list[DecodeError]]]


def decode(
    values: pa.BinaryArray, columns: Columns, *, decoder: str = "json", max_value_bytes: int = MAX_VALUE_BYTES
) -> tuple[pa.RecordBatch, list[DecodeError]]:
    """The columns of record values, and what was wrong with which row. O(bytes).

    >>> from cep.ir.types import Type
    >>> values = pa.array([b'{"acc": "a", "n": 1}', None, b'{"n": "x"}'], pa.binary())
    >>> batch, errors = decode(values, [("acc", Type.STRING), ("n", Type.INT)])
    >>> batch.to_pylist()
    [{'acc': 'a', 'n': 1}, {'acc': None, 'n': None}, {'acc': None, 'n': None}]
    >>> for error in errors:
    ...     print(error.row, error.reason)
    1 expected a JSON object, found no value (a tombstone)
    2 "n": expected INT, found "x"
    """
    chosen = DECODERS.get(decoder)
    if chosen is None:
        raise ValueError(f"unknown record format {decoder!r}: there is {', '.join(sorted(DECODERS))}")
    return chosen(values, columns, max_value_bytes)


class _Collect(ErrorPolicy):
    """Keeps bad records as (line, reason)."""

    __slots__ = ("bad",)

    def __init__(self) -> None:
        super().__init__("skip")
        self.bad: list[tuple[int, str]] = []

    def bad_record(self, file: str, line: int, error: str, raw: str) -> None:
        _ = file, raw
        self.bad.append((line, error))


def _json(values: pa.BinaryArray, columns: Columns, limit: int) -> tuple[pa.RecordBatch, list[DecodeError]]:
    errors: list[DecodeError] = []
    lengths = pc.fill_null(pc.binary_length(values), -1).to_numpy(zero_copy_only=False)
    plain = np.ones(len(values), dtype=bool)
    for row in np.flatnonzero((lengths <= 0) | (lengths > limit)).tolist():
        plain[row] = False
        errors.append(DecodeError(row, _refusal(int(lengths[row]), limit)))

    rows = np.flatnonzero(plain)
    texts: list[bytes] = (values if len(rows) == len(values) else values.take(pa.array(rows))).to_pylist()
    body = b"\n".join(texts)
    if b"\r" in body or body.count(b"\n") != max(0, len(texts) - 1) or not all(map(bytes.strip, texts)):
        texts, kept, refused = _to_lines(texts)
        errors += [DecodeError(int(rows[row]), reason) for row, reason in refused]
        rows = rows[kept]
        body = b"\n".join(texts)

    policy = _Collect()
    batch = JsonReader("", columns, policy).batch(Block(body, 0, 0, 0, last=False)) if texts else empty_batch(columns)
    errors += [DecodeError(int(rows[line]), reason) for line, reason in policy.bad]
    if batch.num_rows == len(values):
        return batch, errors
    errors.sort()
    good = np.delete(rows, [line for line, _ in policy.bad])
    return _spread(batch, good, len(values)), errors


def _refusal(length: int, limit: int) -> str:
    if length < 0:
        return "expected a JSON object, found no value (a tombstone)"
    if length == 0:
        return "expected a JSON object, found an empty value"
    return f"expected a value of at most {limit:,} bytes, found {length:,}"


def _to_lines(texts: Sequence[bytes]) -> tuple[list[bytes], list[int], list[tuple[int, str]]]:
    """Texts without line breaks, which of the given ones they are, and what is wrong with the others.

    A line break within a valid JSON text is white space, for strings cannot hold one; so it becomes a blank.
    """
    lines, kept, refused = [], [], []
    for row, text in enumerate(texts):
        line = text
        if not text.strip():
            refused.append((row, "expected a JSON object, found white space"))
            continue
        if b"\n" in text or b"\r" in text:
            try:
                parse_object(text)
            except ValueError as error:
                refused.append((row, str(error)))
                continue
            line = text.replace(b"\n", b" ").replace(b"\r", b" ")
        lines.append(line)
        kept.append(row)
    return lines, kept, refused


def _spread(batch: pa.RecordBatch, places: np.ndarray[Any, Any], length: int) -> pa.RecordBatch:
    """The rows of a batch at their places, NULL elsewhere."""
    source = np.zeros(length, dtype=np.int64)
    missing = np.ones(length, dtype=bool)
    source[places] = np.arange(len(places))
    missing[places] = False
    return batch.take(pa.array(source, mask=missing))


DECODERS: dict[str, Decoder] = {"json": _json}
"""Decoders by the name that the option `format` gives."""

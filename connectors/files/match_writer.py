"""Matches as JSON Lines, built a column at a time.

Each column of a batch of matches becomes a column of JSON texts; the lines are one element-wise join of these with the
constant text between them, and the buffer of the result is what is written. No Python object is made per match, except
for the values that need it (strings with characters to escape, doubles written with an exponent).

Guaranteed: the text of a value is what `json.dumps` (not ASCII-only) and `cep.ir.expr.timestamp_text` would write; a
DOUBLE that is not finite is `null`. Every line is whole: `write` hands over whole lines only.
"""

from __future__ import annotations

import json
import select
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from connectors.files.values import FIRST_MICROS, LAST_MICROS

_ESCAPED = '["\\\\\\x00-\\x1f]'
_NULL = pa.scalar("null")
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_MILLIS = pa.array(["Z", *(f".{millis:03d}Z" for millis in range(1, 1000))])
INTERNAL = ("_id", "_start", "_end", "_sign")
"""Columns of a batch of matches that are not fields."""


def match_lines(batch: pa.RecordBatch, pattern: str) -> pa.Array:
    """The lines of a batch of matches, each with its line break, as an array of strings."""
    parts: list[pa.Array | pa.Scalar] = []
    text = '{"id": "'
    texts = [("", hex_text(batch.column("_id")))]
    between = f'", "pattern": {_quoted(pattern)}, "start": '
    texts += [(between, json_text(batch.column("_start"))), (', "end": ', json_text(batch.column("_end")))]
    if "_sign" in batch.schema.names:
        texts.append((', "sign": ', json_text(batch.column("_sign"))))
    opening = ', "fields": {'
    for index, name in enumerate(batch.schema.names):
        if name not in INTERNAL:
            texts.append((f"{opening}{_quoted(name)}: ", json_text(batch.column(index))))
            opening = ", "
    for between, column in texts:
        parts += [pa.scalar(text + between), column]
        text = ""
    closing = "}}\n" if opening == ", " else opening + "}}\n"
    return pc.binary_join_element_wise(*parts, pa.scalar(closing), pa.scalar(""))


def write_matches(batches: Iterable[pa.RecordBatch], pattern: str, out: IO[bytes], rows: int = 65_536) -> Iterator[int]:
    """Write matches; yields how many after each write, so that a caller can stop between whole lines."""
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            part = batch.slice(start, rows)
            write_all(out, text_bytes(match_lines(part, pattern)))
            yield part.num_rows


def write_all(out: IO[bytes], data: memoryview) -> None:
    """Write all of `data`. Standard output under PYTHONUNBUFFERED is a raw file, whose `write` may stop short."""
    while data:
        written = out.write(data)
        if written is None:
            # A pipe that does not block, and is full.
            select.select([], [out], [])
        else:
            data = data[written:]


def text_bytes(lines: pa.Array) -> memoryview:
    """The characters of an array of strings, one after another, without a copy."""
    _, offsets, data = lines.buffers()
    places = np.frombuffer(offsets, np.int32)
    first, last = int(places[lines.offset]), int(places[lines.offset + len(lines)])
    return memoryview(data)[first:last]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def json_text(array: pa.Array) -> pa.Array:
    """The values of a column as JSON texts."""
    kinds = pa.types
    kind = array.type
    if kinds.is_dictionary(kind):
        words = json_text(array.dictionary)
        return pc.fill_null(words.take(array.indices), _NULL)
    if kinds.is_null(kind):
        return pa.repeat(_NULL, len(array))
    if kinds.is_timestamp(kind):
        text = _quote(timestamp_texts(array))
    elif kinds.is_floating(kind):
        text = double_texts(array)
    elif kinds.is_string(kind) or kinds.is_large_string(kind):
        text = string_texts(array)
    elif kinds.is_duration(kind):
        text = array.cast(pa.int64()).cast(pa.string())
    else:
        text = array.cast(pa.string())
    return pc.fill_null(text, _NULL) if text.null_count else text


def _quote(array: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', array, '"', "")


def hex_text(array: pa.Array) -> pa.Array:
    """Fixed-size binary values in hexadecimal, without quotes."""
    width = array.type.byte_width
    raw = np.frombuffer(array.buffers()[1], np.uint8)[array.offset * width : (array.offset + len(array)) * width]
    digits = np.empty((len(raw), 2), np.uint8)
    digits[:, 0] = _HEX[raw >> 4]
    digits[:, 1] = _HEX[raw & 15]
    return _fixed(digits.reshape(len(array), width * 2), None)


def _fixed(characters: np.ndarray, valid: pa.Buffer | None) -> pa.Array:
    """Strings of one width from a matrix of ASCII characters."""
    count, width = characters.shape
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    data = np.ascontiguousarray(characters)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(data), valid)


def timestamp_texts(array: pa.Array) -> pa.Array:
    """`cep.ir.expr.timestamp_text` of a column of timestamp[us].

    >>> timestamp_texts(pa.array([0, 1_500_000, None, -1], pa.timestamp("us", "UTC"))).to_pylist()
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:01.500Z', None, '1969-12-31T23:59:59.999999Z']
    """
    if array.null_count == len(array):
        return pa.nulls(len(array), pa.string())
    numbers = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
    ends = pc.min_max(numbers)
    if ends["min"].as_py() < FIRST_MICROS or ends["max"].as_py() > LAST_MICROS:
        # Arithmetic can leave the years that datetime knows; Arrow writes those with a sign or more digits.
        plain = array.cast(pa.timestamp("us")).cast(pa.string())
        return pc.binary_join_element_wise(pc.replace_substring(plain, " ", "T"), "Z", "")
    micros = np.asarray(numbers.fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    seconds, fraction = np.divmod(micros, 1_000_000)
    whole = pa.array(seconds).view(pa.timestamp("s")).cast(pa.string())
    characters = np.frombuffer(whole.buffers()[2], np.uint8)[: len(micros) * 19].reshape(len(micros), 19).copy()
    characters[:, 10] = ord("T")
    head = _fixed(characters, None)
    if not fraction.any():
        text = pc.binary_join_element_wise(head, "Z", "")
    else:
        millis, rest = np.divmod(fraction, 1000)
        tail = _MILLIS.take(pa.array(millis))
        if rest.any():
            powers = 10 ** np.arange(5, -1, -1)
            digits = np.empty((len(fraction), 8), np.uint8)
            digits[:, 0] = ord(".")
            digits[:, 1:7] = (fraction[:, None] // powers) % 10 + ord("0")
            digits[:, 7] = ord("Z")
            tail = pc.if_else(pa.array(rest != 0), _fixed(digits, None), tail)
        text = pc.binary_join_element_wise(head, tail, "")
    return pc.if_else(array.is_valid(), text, None) if array.null_count else text


def double_texts(array: pa.Array) -> pa.Array:
    """`repr` of a column of doubles, the shortest text that reads back as the same number; NULL where not finite.

    >>> double_texts(pa.array([1.0, 0.1, 1e300, None, float("nan")])).to_pylist()
    ['1.0', '0.1', '1e+300', None, None]
    """
    array = array.cast(pa.float64())
    values = array.fill_null(0.0).to_numpy(zero_copy_only=False)
    size = np.abs(values)
    finite = np.isfinite(values)
    # Within these bounds Arrow and Python write the same digits, but for the `.0` that Arrow leaves out.
    usual = finite & (((size >= 1e-3) & (size < 1e9)) | (values == 0))
    text = array.cast(pa.string())
    whole = usual & (values == np.floor(values))
    if whole.any():
        text = pc.if_else(pa.array(whole), pc.binary_join_element_wise(pc.utf8_rtrim(text, "."), ".0", ""), text)
    if not usual.all():
        odd = [repr(value) if good else None for value, good in zip(values.tolist(), finite.tolist(), strict=True)]
        text = pc.if_else(pa.array(usual), text, pa.array(odd, pa.string()))
    return pc.if_else(array.is_valid(), text, None) if array.null_count else text


def string_texts(array: pa.Array) -> pa.Array:
    """JSON strings of a column of text."""
    array = array.cast(pa.string())
    special = pc.match_substring_regex(array, _ESCAPED)
    quoted = _quote(array)
    if not pc.any(special).as_py():
        return quoted
    rows = pc.indices_nonzero(pc.fill_null(special, False))
    texts = [_quoted(text) for text in array.take(rows).to_pylist()]
    return pc.replace_with_mask(quoted, pc.fill_null(special, False), pa.array(texts, pa.string()))

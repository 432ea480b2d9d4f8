"""Parquet: only the needed columns are read, a batch of rows at a time.

Integers of any width fit INT and DOUBLE; decimals fit DOUBLE; timestamps of any unit, with or without a zone (then
UTC), dates, integers (milliseconds) and ISO-8601 text fit TIMESTAMP; with a format numbers or text in it. A column of
another type is an error of the file, under every policy. Values that do not fit (an unsigned integer beyond 63 bit,
text that is no timestamp) are bad records, and name their row, counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cep.ir.types import Type
from connectors.files.blocks import unreadable
from connectors.files.errors import ErrorPolicy, InputError
from connectors.files.fit import Seen
from connectors.files.piece import Piece
from connectors.files.times import Kind, TimeColumn, is_time
from connectors.files.values import (
    FIRST_MICROS,
    LAST_MICROS,
    SIGN,
    Column,
    Columns,
    Refused,
    arrow_schema,
    arrow_type,
    batch_of,
    finish,
    from_json,
    refuse_sign,
)

ROWS = 65_536
_NANOS = {"ns": 1, "us": 1000, "ms": 1_000_000, "s": 1_000_000_000, "D": 86_400_000_000_000}


def read_parquet(
    path: Path, columns: Columns, policy: ErrorPolicy, rows: int = ROWS, seen: Seen | None = None
) -> Iterator[Piece]:
    """The events of a file, in batches of at most `rows`."""
    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from error
    with file:
        present = {name: file.schema_arrow.field(name).type for name, _ in columns if name in file.schema_arrow.names}
        for name, type_ in columns:
            if name in present and not _fits(present[name], type_):
                raise InputError(f'{path}: "{name}": expected {type_}, found a column of type {present[name]}')
        if seen is not None:
            _names(seen, file.schema_arrow)
        size = path.stat().st_size
        done = 0
        wanted = [*present, SIGN] if SIGN in file.schema_arrow.names and SIGN not in present else list(present)
        batches = file.iter_batches(batch_size=rows, columns=wanted)
        while True:
            try:
                batch = next(batches, None)
            except (OSError, pa.ArrowException) as error:
                raise unreadable(path, error) from error
            if batch is None:
                return
            count = batch.num_rows
            converted = _convert(str(path), batch, columns, policy, done)
            done += count
            yield Piece(converted, done, size * done // max(1, file.metadata.num_rows))


def _names(seen: Seen, schema: pa.Schema) -> None:
    seen.columns(schema.names)
    for field in schema:
        if pa.types.is_struct(field.type):
            seen.nested |= dict.fromkeys(f"{field.name}.{inner.name}" for inner in field.type)


def _fits(found: pa.DataType, type_: Kind) -> bool:
    kinds = pa.types
    if kinds.is_dictionary(found):
        found = found.value_type
    text = kinds.is_string(found) or kinds.is_large_string(found) or kinds.is_string_view(found)
    if kinds.is_null(found):
        return True
    if type_ is Type.INT:
        return bool(kinds.is_integer(found))
    if type_ is Type.DOUBLE:
        return bool(kinds.is_integer(found) or kinds.is_floating(found) or kinds.is_decimal(found))
    if type_ is Type.STRING:
        return bool(text)
    if type_ is Type.BOOLEAN:
        return bool(kinds.is_boolean(found))
    if kinds.is_timestamp(found) or kinds.is_date(found):
        return True
    if isinstance(type_, TimeColumn) and type_.format is not None:
        number = kinds.is_integer(found) or kinds.is_floating(found)
        return bool(number if type_.format.kind == "epoch" else text)
    return bool(kinds.is_integer(found) or text)


def _convert(name: str, batch: pa.RecordBatch, columns: Columns, policy: ErrorPolicy, before: int) -> pa.RecordBatch:
    arrays = []
    if SIGN in batch.schema.names and batch.column(SIGN).null_count < batch.num_rows:
        return _exact(name, batch, columns, policy, before)
    try:
        for column, type_ in columns:
            if column not in batch.schema.names:
                arrays.append(pa.nulls(batch.num_rows, arrow_type(type_)))
                continue
            arrays.append(_column(batch.column(column), type_))
    except (pa.ArrowInvalid, Refused):
        return _exact(name, batch, columns, policy, before)
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(columns))


def _column(array: pa.Array, type_: Kind) -> pa.Array:
    kinds = pa.types
    if kinds.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if not is_time(type_):
        target = arrow_type(type_)
        if type_ is Type.DOUBLE and kinds.is_integer(array.type):
            # A 64-bit integer beyond 2**53 loses digits as DOUBLE; that is what DOUBLE means, so no safe cast.
            return array.cast(target, safe=False)
        return finish(array if array.type == target else array.cast(target), type_)
    if kinds.is_date(array.type):
        array = array.cast(pa.timestamp("ms"))
    elif isinstance(type_, TimeColumn) and type_.format is not None:
        return finish(array, type_)
    elif kinds.is_integer(array.type):
        array = array.cast(pa.int64())
    elif not kinds.is_timestamp(array.type):
        if kinds.is_null(array.type):
            return pa.nulls(len(array), arrow_type(type_))
        # Arrow wants a zone in all of the texts or in none.
        zoned = pc.all(pc.match_substring_regex(array, r"(Z|[+-]\d\d(:?\d\d)?)$")).as_py()
        dated = pc.any(pc.match_substring_regex(array, r"^\d{4}-\d\d-\d\d$")).as_py()
        array = array.cast(pa.timestamp("us", "UTC") if zoned and not dated else pa.timestamp("us"))
    return finish(array, type_)


def _moments(array: pa.Array) -> list[object]:
    """Dates and timestamps as ISO-8601 text, cut to microseconds; a sentence where no year 1 to 9999 has them."""
    unit = "D" if pa.types.is_date32(array.type) else "ms" if pa.types.is_date64(array.type) else array.type.unit
    numbers = array.cast(pa.int32()).to_pylist() if unit == "D" else array.cast(pa.int64()).to_pylist()
    moments: list[object] = []
    for number in numbers:
        micros = None if number is None else number * _NANOS[unit] // 1000
        if micros is None or not FIRST_MICROS <= micros <= LAST_MICROS:
            moments.append(None if number is None else f"{number} {unit} since 1970")
        else:
            moments.append((datetime(1970, 1, 1) + timedelta(microseconds=micros)).isoformat())  # noqa: DTZ001 - UTC
    return moments


def _value(column: Column, value: object) -> object:
    try:
        return from_json(value, column[1])
    except ValueError as error:
        raise ValueError(f'"{column[0]}": {error}') from None


def _exact(name: str, batch: pa.RecordBatch, columns: Columns, policy: ErrorPolicy, before: int) -> pa.RecordBatch:
    plain: list[list[object]] = []
    kinds = dict(columns)
    for column, type_ in columns:
        if column not in batch.schema.names:
            plain.append([None] * batch.num_rows)
            continue
        array = batch.column(column)
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        if is_time(type_) and pa.types.is_temporal(array.type):
            plain.append(_moments(array))
            if isinstance(type_, TimeColumn):  # a timestamp needs no format
                kinds[column] = replace(type_, format=None)
            continue
        if type_ is Type.DOUBLE:
            array = array.cast(pa.float64(), safe=False)
        plain.append(array.to_pylist())
    values: dict[str, list[object]] = {column: [] for column, _ in columns}
    signs = batch.column(SIGN).to_pylist() if SIGN in batch.schema.names else [None] * batch.num_rows
    for number, (sign, *record) in enumerate(zip(signs, *plain, strict=True), before + 1):
        try:
            refuse_sign(sign)
            row = [_value(item, value) for item, value in zip(kinds.items(), record, strict=True)]
        except ValueError as error:
            raw = {column: value for (column, _), value in zip(columns, record, strict=True)}
            policy.bad_record(name, number, str(error), str(raw if sign is None else {**raw, SIGN: sign}))
            continue
        for (column, _), value in zip(columns, row, strict=True):
            values[column].append(value)
    return batch_of(values, columns)

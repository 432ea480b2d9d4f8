"""Parquet: only the needed columns are read, a batch of rows at a time.

Integers of any width fit INT and DOUBLE; decimals fit DOUBLE; timestamps of any unit, with or without a zone (then
UTC), dates, integers (milliseconds) and ISO-8601 text fit TIMESTAMP. A column of another type is an error of the file,
under every policy. Values that do not fit (an unsigned integer beyond 63 bit, text that is no timestamp) are bad
records, and name their row, counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cep.types import Type
from connectors.files.blocks import unreadable
from connectors.files.errors import ErrorPolicy, InputError
from connectors.files.piece import Piece
from connectors.files.values import ARROW, Columns, Refused, arrow_schema, batch_of, finish, from_json

ROWS = 65_536


def read_parquet(path: Path, columns: Columns, policy: ErrorPolicy, rows: int = ROWS) -> Iterator[Piece]:
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
        size = path.stat().st_size
        done = 0
        batches = file.iter_batches(batch_size=rows, columns=list(present))
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


def _fits(found: pa.DataType, type_: Type) -> bool:
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
    return bool(kinds.is_timestamp(found) or kinds.is_date(found) or kinds.is_integer(found) or text)


def _convert(name: str, batch: pa.RecordBatch, columns: Columns, policy: ErrorPolicy, before: int) -> pa.RecordBatch:
    arrays = []
    try:
        for column, type_ in columns:
            if column not in batch.schema.names:
                arrays.append(pa.nulls(batch.num_rows, ARROW[type_]))
                continue
            arrays.append(_column(batch.column(column), type_))
    except (pa.ArrowInvalid, Refused):
        return _exact(name, batch, columns, policy, before)
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(columns))


def _column(array: pa.Array, type_: Type) -> pa.Array:
    kinds = pa.types
    if kinds.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if type_ is not Type.TIMESTAMP:
        target = ARROW[type_]
        if type_ is Type.DOUBLE and kinds.is_integer(array.type):
            # A 64-bit integer beyond 2**53 loses digits as DOUBLE; that is what DOUBLE means, so no safe cast.
            return array.cast(target, safe=False)
        return finish(array if array.type == target else array.cast(target), type_)
    if kinds.is_date(array.type):
        array = array.cast(pa.timestamp("ms"))
    elif kinds.is_integer(array.type):
        array = array.cast(pa.int64())
    elif not kinds.is_timestamp(array.type):
        if kinds.is_null(array.type):
            return pa.nulls(len(array), ARROW[type_])
        # Arrow wants a zone in all of the texts or in none.
        zoned = pc.all(pc.match_substring_regex(array, r"(Z|[+-]\d\d(:?\d\d)?)$")).as_py()
        dated = pc.any(pc.match_substring_regex(array, r"^\d{4}-\d\d-\d\d$")).as_py()
        array = array.cast(pa.timestamp("us", "UTC") if zoned and not dated else pa.timestamp("us"))
    return finish(array, type_)


def _exact(name: str, batch: pa.RecordBatch, columns: Columns, policy: ErrorPolicy, before: int) -> pa.RecordBatch:
    plain = []
    for column, type_ in columns:
        if column not in batch.schema.names:
            plain.append([None] * batch.num_rows)
            continue
        array = batch.column(column)
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        if type_ is Type.TIMESTAMP and pa.types.is_temporal(array.type):
            array = array.cast(pa.timestamp("us"), safe=False).cast(pa.string())
        elif type_ is Type.DOUBLE:
            array = array.cast(pa.float64(), safe=False)
        plain.append(array.to_pylist())
    values: dict[str, list[object]] = {column: [] for column, _ in columns}
    for number, record in enumerate(zip(*plain, strict=True), before + 1):
        try:
            row, at = [], ""
            for (column, type_), value in zip(columns, record, strict=True):
                at = column
                row.append(from_json(value, type_))
        except ValueError as error:
            policy.bad_record(
                name, number, f'"{at}": {error}', str({c: v for (c, _), v in zip(columns, record, strict=True)})
            )
            continue
        for (column, _), value in zip(columns, row, strict=True):
            values[column].append(value)
    return batch_of(values, columns)

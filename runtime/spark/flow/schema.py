"""Do the columns of a DataFrame fit a stream, and how are they brought to its types?

The rules are those of event files: TIMESTAMP may come as a timestamp, as ISO-8601 text or as whole milliseconds; INT
from any whole-number type, DOUBLE from any number; unknown columns are ignored, missing ones are NULL. A declared
format (`EPOCH`, `FORMAT`) holds for numbers and text; text that does not fit it is NULL.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from cep.ir.model import Stream
from cep.ir.time_format import of_text
from cep.ir.types import EPOCH_UNITS, TimeFormat, Type
from connectors.files.values import SIGN
from runtime.spark.errors import JobError
from runtime.spark.sql import SPARK_TYPES, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_WHOLE, "float", "double", "decimal")
_MOMENTS = ("timestamp", "timestamp_ntz", "date")
_ACCEPTED = {
    Type.INT: _WHOLE,
    Type.DOUBLE: _NUMBERS,
    Type.STRING: ("string", "varchar", "char"),
    Type.BOOLEAN: ("boolean",),
    Type.TIMESTAMP: (*_MOMENTS, "string", *_WHOLE),
}


HEARTBEAT = "__cep_heartbeat"
"""The column, where there is one, that tells heartbeats from events: rows that move the watermark, and nothing else."""


def fitted(events: DataFrame, stream: Stream, columns: Sequence[tuple[str, Type]]) -> DataFrame:
    """The wanted columns of a stream in its own types, and `HEARTBEAT`. `JobError` where one cannot be had."""
    found = {field.name: field.dataType.simpleString() for field in events.schema.fields}
    if SIGN in found:
        raise JobError(
            f"stream `{stream.name}`: found a column `{SIGN}`: corrections are not read yet; leave the rows that take "
            "an event back out, and the column with them"
        )
    if not any(name in found for name, _ in columns) or (stream.time is not None and stream.time not in found):
        missing = stream.time if stream.time is not None and stream.time not in found else columns[0][0]
        near = difflib.get_close_matches(missing, found, n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise JobError(
            f"stream `{stream.name}`: expected a column `{missing}`, found {', '.join(found) or 'none'}{hint}"
        )
    formats = dict(stream.formats)
    texts = {
        name: formats[name].text
        for name, _ in columns
        if name in formats and formats[name].kind == "text" and found.get(name) == "string"
    }
    if texts:
        found |= dict.fromkeys(texts, "timestamp")
        events = events.mapInArrow(_Texts(texts), ", ".join(f"{quote(name)} {kind}" for name, kind in found.items()))
    return events.selectExpr(
        *(_converted(stream, name, type_, found.get(name), formats.get(name)) for name, type_ in columns),
        *([HEARTBEAT] if HEARTBEAT in found else []),
    )


@dataclass(frozen=True, slots=True)
class _Texts:
    """For `mapInArrow`: columns of text to times, by their formats; NULL where a text does not fit."""

    formats: dict[str, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [
                self._times(column, self.formats[name]) if name in self.formats else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, batch.schema.names)

    @staticmethod
    def _times(column: pa.Array, text: str) -> pa.Array:
        encoded = column.cast(pa.string()).dictionary_encode()
        read = [_time(text, value) for value in encoded.dictionary.to_pylist()]
        return pa.array(read, pa.int64()).take(encoded.indices).view(pa.timestamp("us", "UTC"))


def _time(text: str, value: str | None) -> int | None:
    try:
        return None if value is None else of_text(text, value)
    except (ValueError, OverflowError):
        return None


def _converted(stream: Stream, name: str, type_: Type, found: str | None, written: TimeFormat | None) -> str:
    quoted = quote(name)
    if found is None or found == "void":
        return f"CAST(NULL AS {SPARK_TYPES[type_]}) AS {quoted}"
    base = found.partition("(")[0]
    if base not in (_ACCEPTED[type_] if written is None else _MOMENTS + _NUMBERS * (written.kind == "epoch")):
        declared = type_ if written is None else f"{type_} {written}"
        raise JobError(f"stream `{stream.name}`: column `{name}` is declared {declared}, found {found}")
    if written is not None and base in _NUMBERS:
        return f"{_epoch(quoted, base, written.text)} AS {quoted}"
    if type_ is Type.TIMESTAMP:
        return f"{_timestamp(quoted, base)} AS {quoted}"
    if SPARK_TYPES[type_].lower() == base:
        return quoted
    return f"CAST({quoted} AS {SPARK_TYPES[type_]}) AS {quoted}"


def _epoch(quoted: str, found: str, unit: str) -> str:
    factor = EPOCH_UNITS[unit]
    if found not in _WHOLE:
        scaled = f"CAST({quoted} AS DOUBLE) * {factor}D" if factor else f"CAST({quoted} AS DOUBLE) / 1000D"
        return f"timestamp_micros(try_cast(rint({scaled}) AS BIGINT))"
    if factor:
        return f"timestamp_micros(try_multiply(CAST({quoted} AS BIGINT), CAST({factor} AS BIGINT)))"
    return f"timestamp_micros(CAST(floor(CAST({quoted} AS DECIMAL(20, 0)) / 1000) AS BIGINT))"


def _timestamp(quoted: str, found: str) -> str:
    if found in _WHOLE:
        return f"timestamp_millis(CAST({quoted} AS BIGINT))"
    if found == "timestamp":
        return quoted
    if found == "string":
        # Text without a zone is UTC, whatever the session's zone is.
        zoned = f"{quoted} LIKE '%:%' AND {quoted} RLIKE '(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)$'"
        plain = _utc(f"try_cast({quoted} AS TIMESTAMP_NTZ)")
        return f"CASE WHEN {zoned} THEN try_cast({quoted} AS TIMESTAMP) ELSE {plain} END"
    return _utc(f"CAST({quoted} AS TIMESTAMP_NTZ)")


def _utc(sql: str) -> str:
    return f"try_cast(concat(CAST({sql} AS STRING), 'Z') AS TIMESTAMP)"

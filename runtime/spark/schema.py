"""Do the columns of a DataFrame fit a stream, and how are they brought to its types?

The rules are those of event files: TIMESTAMP may come as a timestamp, as ISO-8601 text or as whole milliseconds; INT
from any whole-number type, DOUBLE from any number; unknown columns are ignored, missing ones are NULL.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cep.model import Stream
from cep.types import Type
from runtime.spark.errors import JobError
from runtime.spark.sql import SPARK_TYPES, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_ACCEPTED = {
    Type.INT: _WHOLE,
    Type.DOUBLE: (*_WHOLE, "float", "double", "decimal"),
    Type.STRING: ("string", "varchar", "char"),
    Type.BOOLEAN: ("boolean",),
    Type.TIMESTAMP: ("timestamp", "timestamp_ntz", "date", "string", *_WHOLE),
}


def fitted(events: DataFrame, stream: Stream, columns: Sequence[tuple[str, Type]]) -> DataFrame:
    """The wanted columns of a stream in its own types. `JobError` where one cannot be had."""
    found = {field.name: field.dataType.simpleString() for field in events.schema.fields}
    if not any(name in found for name, _ in columns) or (stream.time is not None and stream.time not in found):
        missing = stream.time if stream.time is not None and stream.time not in found else columns[0][0]
        near = difflib.get_close_matches(missing, found, n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise JobError(
            f"stream `{stream.name}`: expected a column `{missing}`, found {', '.join(found) or 'none'}{hint}"
        )
    return events.selectExpr(*(_converted(stream, name, type_, found.get(name)) for name, type_ in columns))


def _converted(stream: Stream, name: str, type_: Type, found: str | None) -> str:
    quoted = quote(name)
    if found is None or found == "void":
        return f"CAST(NULL AS {SPARK_TYPES[type_]}) AS {quoted}"
    base = found.partition("(")[0]
    if base not in _ACCEPTED[type_]:
        raise JobError(f"stream `{stream.name}`: column `{name}` is declared {type_}, found {found}")
    if type_ is Type.TIMESTAMP:
        return f"{_timestamp(quoted, base)} AS {quoted}"
    if SPARK_TYPES[type_].lower() == base:
        return quoted
    return f"CAST({quoted} AS {SPARK_TYPES[type_]}) AS {quoted}"


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

"""Single values, read exactly, and whole columns, brought to the types the engine expects.

The fast readers let Arrow decode whole blocks and call `finish`; where Arrow refuses a block, the slow readers decode
it value by value with `from_json` and `from_text`, which raise `ValueError` with a text for the user. Both agree on
what is accepted, so a record's verdict and values never depend on the records beside it:

* `TIMESTAMP` is ISO-8601 text (without a zone it is UTC; decimals beyond microseconds are cut off) or an integer, in
  milliseconds since the epoch; or what its format says (`connectors.files.times`). Years 1 to 9999.
* `INT` takes a number with an integral value that fits 64 bit (`3`, `3.0`, `3e2`; in CSV also `0x1f`, as 64 bit in
  two's complement); `DOUBLE` any finite number. A number beyond the range of DOUBLE is refused.
* NaN and Infinity (also `Inf`, with a sign or without) are NULL.
* Text is not converted in JSON: `"true"` is no `BOOLEAN`, `"1"` no `INT`.
* A record with a value in the field `_sign` is refused: corrections are not read from outside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.types import TimeFormat, Type
from connectors.files.times import Kind, TimeColumn, finish_format, is_time, micros_of

ARROW = {
    Type.INT: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.STRING: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.TIMESTAMP: pa.timestamp("us", "UTC"),
}
"""The Arrow type of each column type."""

FIRST_MICROS = -62_135_596_800_000_000
LAST_MICROS = 253_402_300_799_999_999
"""0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999Z."""
_INT_LOW, _INT_HIGH = -(2**63), 2**63 - 1
_MOST_DIGITS = 4000
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC by construction
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d+))?)?)?(Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(?:nan(?:\(\w*\))?|inf|infinity)", re.ASCII | re.IGNORECASE)
TRUE_TEXT = ("1", "true", "True", "TRUE")
FALSE_TEXT = ("0", "false", "False", "FALSE")

SIGN = "_sign"
"""The field by which the engine tells a correction (`runtime.intake.batches`); no column of a stream has this name."""

Column = tuple[str, Kind]
Columns = Sequence[Column]


def arrow_type(kind: Kind) -> pa.DataType:
    """The Arrow type of a column, however it is read."""
    return ARROW[Type.TIMESTAMP if isinstance(kind, TimeColumn) else kind]


def arrow_schema(columns: Columns) -> pa.Schema:
    """The Arrow schema of events that have these columns."""
    return pa.schema([pa.field(name, arrow_type(kind)) for name, kind in columns])


def found(value: object) -> str:
    """A value as an error message shows it: as JSON, not too long.

    >>> found("abc"), found({"a": 1}), found([1, 2])
    ('"abc"', 'an object', 'an array')
    """
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    text = str(value) if isinstance(value, Huge) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + ('..."' if text.startswith('"') else "...")


class Huge(float):
    """A number in JSON that is beyond the range of DOUBLE, kept with its text."""

    text: str

    def __new__(cls, text: str) -> Huge:  # noqa: PYI034 - Self is not in Python 3.10
        """Remember how it was written."""
        self = super().__new__(cls, text)
        self.text = text
        return self

    def __str__(self) -> str:
        return self.text


def json_float(text: str) -> float:
    """A JSON number with a fraction or exponent; `Huge` where it overflows. For `json.loads(parse_float=...)`."""
    value = float(text)
    return Huge(text) if value in (float("inf"), float("-inf")) else value


def json_int(text: str) -> int | float:
    """A JSON number without fraction; `Huge` where it has more digits than Python converts, and DOUBLE holds.

    >>> json_int("-0"), json_int("-1"), str(json_int("1" * 5000)) == "1" * 5000
    (-0.0, -1, True)
    """
    if text == "-0":
        return -0.0
    return int(text) if len(text) <= _MOST_DIGITS else Huge(text)


def refuse_sign(value: object) -> None:
    """ValueError, for the user, where a record says that it is a correction.

    >>> refuse_sign(None)
    """
    if value is not None:
        raise ValueError(
            f'"{SIGN}": expected no value, found {found(value)}: corrections are not read from records yet; leave the '
            "record out, or the field where the event is to count"
        )


def iso_micros(text: str) -> int:
    """Microseconds since the epoch of an ISO-8601 timestamp; ValueError where it is none.

    >>> iso_micros("1970-01-01T00:00:01.5Z"), iso_micros("1970-01-01T02:00:00+02:00"), iso_micros("1970-01-02")
    (1500000, 0, 86400000000)
    """
    match = _ISO.fullmatch(text)
    if match is None:
        raise ValueError
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    moment = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0))  # noqa: DTZ001
    micros = (moment - _EPOCH) // timedelta(microseconds=1) + int((fraction or "0")[:6].ljust(6, "0"))
    if zone is not None and zone != "Z":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        if int(digits[:2]) > 23 or int(digits[2:]) > 59:
            raise ValueError
        offset = (int(digits[:2]) * 60 + int(digits[2:])) * 60_000_000
        micros += -offset if zone[0] == "+" else offset
    return micros


def _timestamp(value: object) -> int:
    expected = "expected TIMESTAMP (ISO-8601 text or integer milliseconds since the epoch)"
    if isinstance(value, str):
        try:
            micros = iso_micros(value)
        except ValueError:
            raise ValueError(f"{expected}, found {found(value)}") from None
    elif isinstance(value, int) and not isinstance(value, bool):
        micros = value * 1000
    elif isinstance(value, float) and value.is_integer():
        micros = int(value) * 1000
    else:
        raise ValueError(f"{expected}, found {found(value)}")
    if not FIRST_MICROS <= micros <= LAST_MICROS:
        raise ValueError(f"expected TIMESTAMP in the years 1 to 9999 (integers are milliseconds), found {found(value)}")
    return micros


def _formatted(value: object, written: TimeFormat) -> int | None:
    try:
        micros = micros_of(written, value)
    except (ValueError, OverflowError):
        what = "a number" if written.kind == "epoch" else "text"
        raise ValueError(f"expected TIMESTAMP ({what}, {written}), found {found(value)}") from None
    if micros is not None and not FIRST_MICROS <= micros <= LAST_MICROS:
        raise ValueError(f"expected TIMESTAMP in the years 1 to 9999 ({written}), found {found(value)}")
    return micros


def converter(kind: Kind) -> Callable[[Any], object]:
    """The function from a decoded JSON value (never None) to a value of a column; it raises ValueError for the user."""
    if not isinstance(kind, TimeColumn):
        return FROM_JSON[kind]

    def convert(value: object) -> object:
        micros = _timestamp(value) if kind.format is None else _formatted(value, kind.format)
        return None if micros is None else kind.checked(micros)

    return convert


def _integer(value: object) -> int:
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(number, int) and not isinstance(number, bool):
        if _INT_LOW <= number <= _INT_HIGH:
            return number
        raise ValueError(f"expected INT (64 bit), found {found(value)}")
    raise ValueError(f"expected INT, found {found(value)}")


def _double(value: object) -> float | None:
    if isinstance(value, Huge):
        raise ValueError(f"expected DOUBLE, found {found(value)}, which is out of range")  # noqa: TRY004 - a record's fault
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise ValueError(f"expected DOUBLE, found {found(value)}, which is out of range") from None
        return number if number - number == 0 else None
    raise ValueError(f"expected DOUBLE, found {found(value)}")


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected STRING, found {found(value)}")  # noqa: TRY004 - a record's fault
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("expected STRING, found half of a surrogate pair") from None
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected BOOLEAN, found {found(value)}")  # noqa: TRY004 - a record's fault
    return value


FROM_JSON = {
    Type.INT: _integer,
    Type.DOUBLE: _double,
    Type.STRING: _string,
    Type.BOOLEAN: _boolean,
    Type.TIMESTAMP: _timestamp,
}


def from_json(value: object, type_: Kind) -> object:
    """A decoded JSON value as a value of a column; ValueError, for the user, where it is none.

    >>> from_json(3.0, Type.INT), from_json("1970-01-01T00:00:00Z", Type.TIMESTAMP), from_json(None, Type.STRING)
    (3, 0, None)
    >>> from_json("abc", Type.DOUBLE)
    Traceback (most recent call last):
    ValueError: expected DOUBLE, found "abc"
    """
    return None if value is None else converter(type_)(value)


def from_text(text: str, type_: Kind) -> object:
    """A CSV field (never the empty one) as a value of a column; ValueError, for the user, where it is none.

    >>> from_text("true", Type.BOOLEAN), from_text("1e3", Type.INT), from_text("nan", Type.DOUBLE)
    (True, 1000, None)
    """
    if type_ is Type.STRING:
        return _string(text)
    stripped = text.strip(" \t")
    if isinstance(type_, TimeColumn):
        return _time_from_text(text, stripped, type_)
    if _HEXADECIMAL.fullmatch(stripped) and type_ in (Type.INT, Type.TIMESTAMP):
        number = int(stripped, 16)
        return FROM_JSON[type_](number - (1 << 64) if number > _INT_HIGH else number)
    if type_ is Type.BOOLEAN:
        if stripped in TRUE_TEXT or stripped in FALSE_TEXT:
            return stripped in TRUE_TEXT
        raise ValueError(f"expected BOOLEAN (true or false), found {found(text)}")
    if type_ is Type.TIMESTAMP:
        return _timestamp(int(stripped) if _INTEGER.fullmatch(stripped) and len(stripped) < 25 else stripped)
    if _NOT_FINITE.fullmatch(stripped):
        return None
    if not _NUMBER.fullmatch(stripped):
        raise ValueError(f"expected {type_}, found {found(text)}")
    if type_ is Type.INT and _INTEGER.fullmatch(stripped) and len(stripped) < 25:
        return _integer(int(stripped))
    return FROM_JSON[type_](json_float(stripped))


def _time_from_text(text: str, stripped: str, kind: TimeColumn) -> object:
    if kind.format is None:
        micros = from_text(text, Type.TIMESTAMP)
        return kind.checked(micros) if isinstance(micros, int) else None
    if kind.format.kind == "text":
        return converter(kind)(stripped)
    if _NOT_FINITE.fullmatch(stripped):
        return None
    if not _NUMBER.fullmatch(stripped) or len(stripped) > _MOST_DIGITS:
        raise ValueError(f"expected TIMESTAMP (a number, {kind.format}), found {found(text)}")
    return converter(kind)(int(stripped) if _INTEGER.fullmatch(stripped) else json_float(stripped))


# --- whole columns -------------------------------------------------------------------------------------------------


class Refused(Exception):  # noqa: N818 - not an error: the exact reader takes over
    """Arrow decoded a column to something that the exact reader must look at."""


def finish(column: pa.ChunkedArray | pa.Array, type_: Kind, *, text: bool = False) -> pa.Array:
    """A decoded column in the type of the engine; `Refused` where a value is out of range.

    In a `text`, an infinity is `Infinity` (NULL) or a number beyond the range of DOUBLE (an error): Arrow does not say.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    if type_ is Type.DOUBLE:
        finite = pc.is_finite(array)
        if pc.all(finite).as_py() is not False:
            return array
        if text and pc.any(pc.is_inf(array)).as_py():
            raise Refused
        return pc.if_else(finite, array, None)
    if isinstance(type_, TimeColumn):
        return _finish_time(array, type_)
    if type_ is Type.TIMESTAMP:
        return _finish_timestamp(array)
    return array


def _finish_time(array: pa.Array, kind: TimeColumn) -> pa.Array:
    if kind.format is None or pa.types.is_timestamp(array.type):
        times = _finish_timestamp(array)
    else:
        micros = finish_format(array, kind.format)
        if micros is None:
            raise Refused
        low, high = _bounds(micros)
        if low < FIRST_MICROS or high > LAST_MICROS:
            raise Refused
        times = micros.view(ARROW[Type.TIMESTAMP])
    if kind.latest is not None and times.null_count < len(times) and _bounds(times.cast(pa.int64()))[1] > kind.latest:
        raise Refused
    return times


def _finish_timestamp(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_timestamp(kind):
        numbers = array.cast(pa.int64())
        low, high = _bounds(numbers)
        if kind.unit == "ns":
            numbers = _floor_divide(numbers, 1000)
            low, high = low // 1000, high // 1000
        elif kind.unit != "us":
            factor = 1000 if kind.unit == "ms" else 1_000_000
            numbers, low, high = _multiply(numbers, factor, low, high)
    else:
        low, high = _bounds(array)
        numbers, low, high = _multiply(array, 1000, low, high)
    if low < FIRST_MICROS or high > LAST_MICROS:
        raise Refused
    return numbers.view(ARROW[Type.TIMESTAMP])


def _bounds(numbers: pa.Array) -> tuple[int, int]:
    ends = pc.min_max(numbers)
    return ends["min"].as_py() or 0, ends["max"].as_py() or 0


def _multiply(numbers: pa.Array, factor: int, low: int, high: int) -> tuple[pa.Array, int, int]:
    low, high = low * factor, high * factor
    if low < FIRST_MICROS or high > LAST_MICROS:
        raise Refused
    return pc.multiply(numbers, factor), low, high


def _floor_divide(numbers: pa.Array, divisor: int) -> pa.Array:
    values = np.floor_divide(numbers.fill_null(0).to_numpy(zero_copy_only=False), divisor)
    return pa.array(values, mask=np.asarray(numbers.is_null())) if numbers.null_count else pa.array(values)


def empty_batch(columns: Columns) -> pa.RecordBatch:
    """No events."""
    schema = arrow_schema(columns)
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def batch_of(values: Mapping[str, list[Any]], columns: Columns) -> pa.RecordBatch:
    """A batch of exact values by column, TIMESTAMP as microseconds."""
    arrays = [
        pa.array(values[name], pa.int64()).view(ARROW[Type.TIMESTAMP])
        if is_time(kind)
        else pa.array(values[name], arrow_type(kind))
        for name, kind in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(columns))

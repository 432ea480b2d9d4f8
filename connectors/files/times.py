"""Columns of times that are not read in the default way: another format, or a limit to how far ahead they may be.

A `TimeColumn` stands in the place of `Type.TIMESTAMP` in the columns that a reader is given. With a `format`, values
are numbers counted from the epoch or text in that format (`cep.ir.time_format`). With `ahead`, a time that lies more
than that after `now`, the clock of the machine that reads, makes its record a bad one: an event dated a year ahead
would make everything after it late.

`readable` makes the columns of a stream, `at_clock` tells them the time: a bounded run reads the clock once, so
that reading a file twice gives the same; a job reads it for each batch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.expr import duration_text, timestamp_text
from cep.ir.model import Stream
from cep.ir.time_format import of_number, of_text
from cep.ir.types import EPOCH_UNITS, TimeFormat, Type

OFF = -1
"""The value of `--max-ahead off`: no limit, whatever the stream says."""


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """See the module's text. Times are in microseconds."""

    format: TimeFormat | None = None
    ahead: int | None = None
    now: int | None = None

    def __str__(self) -> str:
        return "TIMESTAMP" if self.format is None else f"TIMESTAMP {self.format}"

    @property
    def latest(self) -> int | None:
        """The latest time that is an event's; None where there is no limit."""
        return None if self.ahead is None or self.now is None else self.now + self.ahead

    def checked(self, micros: int) -> int:
        """The time; ValueError, for the user, where it is too far ahead."""
        if self.latest is not None and micros > self.latest:
            assert self.ahead is not None
            raise ValueError(
                f"expected a time at most {duration_text(self.ahead)} after the clock of this machine, which says "
                f"{timestamp_text(self.now or 0)} (--max-ahead, MAX AHEAD), found {_moment(micros)}"
            )
        return micros


Kind = Type | TimeColumn
"""How a column is read."""
Column = tuple[str, Kind]
DEFAULT_WAYS = (pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"), pa.int64())
EPOCH_WAYS = (pa.int64(), pa.float64())
TEXT_WAYS = (pa.string(),)


def ways_of(kind: Kind) -> tuple[pa.DataType, ...]:
    """How times can be written in text, as Arrow reads them."""
    if not isinstance(kind, TimeColumn) or kind.format is None:
        return DEFAULT_WAYS
    return EPOCH_WAYS if kind.format.kind == "epoch" else TEXT_WAYS


def is_time(kind: Kind) -> bool:
    """Whether a column holds times."""
    return kind is Type.TIMESTAMP or isinstance(kind, TimeColumn)


def plain(columns: Sequence[Column]) -> tuple[tuple[str, Type], ...]:
    """The columns with their types alone."""
    return tuple((name, Type.TIMESTAMP if isinstance(kind, TimeColumn) else kind) for name, kind in columns)


def max_ahead(stream: Stream, given: int | None, default: int | None = None) -> int | None:
    """The limit of a stream: what the command line says (`OFF`: none), else the stream, else the default."""
    if given is not None:
        return None if given == OFF else given
    return stream.max_ahead if stream.max_ahead is not None else default


def readable(stream: Stream, columns: Sequence[tuple[str, Type]], ahead: int | None = None) -> tuple[Column, ...]:
    """Columns of a stream as they are to be read; `ahead` limits its event time."""
    formats = dict(stream.formats)
    result: list[Column] = []
    for name, type_ in columns:
        limit = ahead if name == stream.time else None
        special = name in formats or limit is not None
        result.append((name, TimeColumn(formats.get(name), limit) if special else type_))
    return tuple(result)


def wall_clock() -> int:
    """Microseconds since the epoch, now."""
    return time.time_ns() // 1000


def at_clock(columns: Sequence[Column], now: int | None = None) -> tuple[Column, ...]:
    """The same columns with limits counted from `now`, the wall clock where None."""
    limited = [kind for _, kind in columns if isinstance(kind, TimeColumn) and kind.ahead is not None]
    if not limited:
        return tuple(columns)
    now = wall_clock() if now is None else now
    return tuple((name, replace(kind, now=now) if kind in limited else kind) for name, kind in columns)


def to_json(columns: Sequence[Column]) -> list[list[Any]]:
    """Columns for an option of a Spark source."""
    found: list[list[Any]] = []
    for (name, type_), (_, kind) in zip(plain(columns), columns, strict=True):
        if isinstance(kind, TimeColumn):
            written = None if kind.format is None else [kind.format.kind, kind.format.text]
            found.append([name, type_.value, written, kind.ahead])
        else:
            found.append([name, type_.value])
    return found


def of_json(found: Sequence[Sequence[Any]]) -> tuple[Column, ...]:
    """What `to_json` has written."""
    columns: list[Column] = []
    for name, type_, *special in found:
        if special:
            written, ahead = special
            columns.append((name, TimeColumn(None if written is None else TimeFormat(*written), ahead)))
        else:
            columns.append((name, Type(type_)))
    return tuple(columns)


# --- values in a format --------------------------------------------------------------------------------------------


def micros_of(format_: TimeFormat, value: object) -> int | None:
    """The time of a value in a format; ValueError (without a text) where it is none, None for NaN."""
    if format_.kind == "text":
        if not isinstance(value, str):
            raise ValueError
        return of_text(format_.text, value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError  # noqa: TRY004 - a record's fault
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            return None
        raise ValueError
    return of_number(format_.text, value)


def finish_format(array: pa.Array, format_: TimeFormat) -> pa.Array | None:
    """Microseconds of a column in a format; None where some value has to be looked at by itself."""
    if format_.kind == "text":
        return _texts(array, format_.text)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), pa.int64())
    if pa.types.is_integer(array.type):
        numbers = array.cast(pa.int64())
        factor = EPOCH_UNITS[format_.text]
        if factor > 1:
            try:
                return pc.multiply_checked(numbers, factor)
            except pa.ArrowInvalid:
                return None
        if factor:
            return numbers
        values = np.floor_divide(numbers.fill_null(0).to_numpy(zero_copy_only=False), 1000)
        return pa.array(values, mask=np.asarray(numbers.is_null()))
    values = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
    factor = EPOCH_UNITS[format_.text]
    scaled = np.rint(values * factor if factor else values / 1000)
    if not np.all(np.abs(scaled[~np.isnan(scaled)]) < 2**62):
        return None
    missing = np.isnan(scaled)
    return pa.array(np.where(missing, 0, scaled).astype(np.int64), mask=missing)


def _texts(array: pa.Array, text: str) -> pa.Array | None:
    """Each different text is read once: clocks of seconds repeat themselves."""
    encoded = array.cast(pa.string()).dictionary_encode()
    try:
        read = [None if value is None else of_text(text, value) for value in encoded.dictionary.to_pylist()]
    except ValueError:
        return None
    return pa.array(read, pa.int64()).take(encoded.indices)


def _moment(micros: int) -> str:
    try:
        return timestamp_text(micros)
    except (OverflowError, ValueError):
        return f"{micros} microseconds since 1970"

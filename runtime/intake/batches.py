"""Input: whatever a caller pushes, as columns that are known to fit.

Nothing is stored before everything has been looked at, so an error leaves the engine as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.plan import Plan
from cep.ir.types import Type
from runtime.arrays.columnar import ARROW_TYPES, as_computed, in_one, without_nulls

SIGN = "_sign"
NO_TIME = int(np.iinfo(np.int64).max)
"""In `StreamBatch.times`, the time of an event without one: never late."""
_LOWEST = int(np.iinfo(np.int64).min)


class BatchError(ValueError):
    """A batch that does not fit the plan, or deletes what is not there. The engine is unchanged."""


class StreamBatch:
    """The events of one stream: computed columns, event times and signs."""

    __slots__ = ("columns", "length", "signs", "times")

    def __init__(
        self, columns: dict[str, Any], length: int, times: np.ndarray | None, signs: np.ndarray | None
    ) -> None:
        self.columns = columns
        self.length = length
        self.times = times
        self.signs = signs

    @property
    def newest(self) -> int | None:
        """The latest event time of what is inserted; None where there is none."""
        if self.times is None or not self.length:
            return None
        times = self.times if self.signs is None else self.times[self.signs > 0]
        newest = int(times.max(initial=_LOWEST))
        if newest == NO_TIME:  # some have no time: look at the others
            newest = int(times[times != NO_TIME].max(initial=_LOWEST))
        return None if newest == _LOWEST else newest


def read_batch(plan: Plan, batch: Any) -> dict[str, StreamBatch]:
    """Check a pushed batch against the plan's streams; raises `BatchError`."""
    if isinstance(batch, (pa.RecordBatch, pa.Table)):
        if len(plan.streams) != 1:
            names = ", ".join(stream.name for stream in plan.streams)
            raise BatchError(f"pattern {plan.pattern} reads several streams: push a dict with keys {names}")
        batch = {plan.streams[0].name: batch}
    if not isinstance(batch, Mapping):
        raise BatchError(f"expected a RecordBatch, a Table or a dict of them, found {type(batch).__name__}")
    known = {stream.name for stream in plan.streams}
    if unknown := [name for name in batch if name not in known]:
        raise BatchError(
            f"pattern {plan.pattern} does not read stream {unknown[0]}; it reads {', '.join(sorted(known))}"
        )
    for name, data in batch.items():
        if not isinstance(data, (pa.RecordBatch, pa.Table)):
            raise BatchError(f"stream {name}: expected a RecordBatch or a Table, found {type(data).__name__}")
    return {name: _read_stream(plan, name, data) for name, data in batch.items()}


def _read_stream(plan: Plan, name: str, data: Any) -> StreamBatch:
    present = set(data.schema.names)
    if len(present) < len(data.schema.names):
        twice = next(column for column in data.schema.names if data.schema.names.count(column) > 1)
        raise BatchError(f"stream {name}: the batch has several columns called {twice}")
    columns: dict[str, Any] = {}
    for attr, type_ in plan.needed_columns(name):
        if attr not in present:
            columns[attr] = pa.nulls(data.num_rows, as_type(type_))
            continue
        columns[attr] = _fit(data.column(attr), type_, f"{name}.{attr}")
    time = plan.stream(name).time
    times = None
    if time is not None:
        array = columns[time]
        times = without_nulls(array, NO_TIME).to_numpy(zero_copy_only=False)
    signs = None
    if SIGN in present:
        signs = in_one(data.column(SIGN)).to_numpy(zero_copy_only=False)
        if not np.isin(signs, (1, -1)).all():
            raise BatchError(f"stream {name}: {SIGN} must be 1 or -1 in every row")
    return StreamBatch(columns, data.num_rows, times, signs)


def as_type(type_: Type) -> pa.DataType:
    """The type that a computed column has."""
    return pa.int64() if type_ in (Type.TIMESTAMP, Type.DURATION) else ARROW_TYPES[type_]


def _fit(array: Any, type_: Type, name: str) -> Any:
    """Cast a column to what the stream declares, where no value changes; refuse otherwise."""
    wanted = ARROW_TYPES[type_]
    array = in_one(array)
    if array.type == wanted:
        return as_computed(array)
    actual = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    fits = actual == wanted or pa.types.is_null(actual)
    if type_ is Type.TIMESTAMP:
        fits = fits or pa.types.is_timestamp(actual)
    elif type_ is Type.INT:
        fits = fits or pa.types.is_integer(actual)
    elif type_ is Type.DOUBLE:
        fits = fits or pa.types.is_integer(actual) or pa.types.is_floating(actual)
    elif type_ is Type.STRING:
        fits = fits or pa.types.is_large_string(actual) or pa.types.is_string_view(actual)
    if not fits:
        raise BatchError(f"{name}: expected {type_} ({wanted}), found {actual}")
    try:
        # What is finer than a microsecond is cut off; everything else that would change a value is refused.
        return as_computed(array.cast(options=pc.CastOptions(wanted, allow_time_truncate=True)))
    except pa.ArrowInvalid as error:
        raise BatchError(f"{name}: does not fit {type_}: {error}") from error

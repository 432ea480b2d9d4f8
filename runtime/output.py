"""Matches as Arrow record batches: built column by column, one batch per chunk.

Columns: `_id` (16 bytes), `_start` and `_end` (earliest and latest event time), `_sign` where the input was signed,
then one column per field. Text comes dictionary-encoded: a match repeats its events' text, and only codes are copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cep.expr import Col
from cep.plan import Field, Plan
from cep.types import Type
from runtime import hashing
from runtime.columnar import ARROW_TYPES, evaluate
from runtime.columns import Column, Growable, number_array
from runtime.fingerprints import Fingerprints
from runtime.leaf import DEAD, Leaf
from runtime.partial import Partial, Places, Times

_TEXT = pa.dictionary(pa.int32(), pa.string())


def output_schema(plan: Plan, *, signed: bool) -> pa.Schema:
    """The schema of a plan's matches."""
    columns = [("_id", pa.binary(16)), ("_start", ARROW_TYPES[Type.TIMESTAMP]), ("_end", ARROW_TYPES[Type.TIMESTAMP])]
    if signed:
        columns.append(("_sign", pa.int8()))
    columns += [(field.name, field_type(field)) for field in plan.fields]
    return pa.schema(columns)


def field_type(field: Field) -> pa.DataType:
    """The Arrow type of a field."""
    if field.type is Type.STRING:
        return _TEXT
    return ARROW_TYPES.get(field.type, pa.null())


class Output:
    """Turns complete `Partial`s into record batches."""

    __slots__ = (
        "_fields",
        "_ids",
        "_leaves",
        "_no_times",
        "_plan",
        "_seed",
        "_time_fields",
        "schema",
        "signed_schema",
    )

    def __init__(self, plan: Plan, leaves: Mapping[str, Leaf]) -> None:
        self._plan = plan
        self._leaves = leaves
        seed = hashing.seed(plan.pattern)
        self._ids = {var: leaf.prints for var, leaf in leaves.items()}
        self._fields = [_looked_up(field, leaves) for field in plan.fields]
        self._seed = hashing.both_lanes((np.array([seed[0]], np.uint64), np.array([seed[1]], np.uint64)))
        times = {var: Col(var, leaf.spec.time or "", Type.TIMESTAMP) for var, leaf in leaves.items()}
        numbers = {field.expr: number for number, field in enumerate(plan.fields)}
        self._time_fields = {var: numbers[time] for var, time in times.items() if time in numbers}
        """By variable: the number of the field that returns its event's time, where one does."""
        self._no_times = pa.nulls(0, ARROW_TYPES[Type.TIMESTAMP])
        self.schema = output_schema(plan, signed=False)
        self.signed_schema = output_schema(plan, signed=True)

    def batch(self, partial: Partial, sign: int | None) -> Any:
        """The record batch of some matches; `sign` is None where the input was not signed."""
        fields = self.fields(partial)
        ids = summed(partial, self._ids, self._seed)
        start = self._times(partial.earliest, partial.start, partial.size, fields)
        end = self._times(partial.latest, partial.end, partial.size, fields)
        columns = [hashing.id_array(ids), start, end]
        if sign is not None:
            columns.append(number_signs(partial.size, sign))
        columns += fields
        return pa.RecordBatch.from_arrays(columns, schema=self.schema if sign is None else self.signed_schema)

    def fields(self, partial: Partial) -> list[Any]:
        """The field columns of some matches."""
        places = partial.places()
        return [
            self._evaluated(field, places, partial.size) if column is None else column.take(*places[var])
            for field, var, column in self._fields
        ]

    def field(self, field: Field, partial: Partial) -> Any:
        """The column of one field that is computed."""
        return self._evaluated(field, partial.places(), partial.size)

    def _evaluated(self, field: Field, places: Places, size: int) -> Any:
        def supply(col: Col) -> Any:
            return self._leaves[col.var].columns[col.attr].take(*places[col.var])

        array = evaluate(field.expr, supply, size)
        if field.type is Type.STRING:
            return array.dictionary_encode()
        return array.cast(field_type(field))

    def _times(
        self, times: Times, values: Callable[[Mapping[str, Leaf]], np.ndarray | None], size: int, fields: list[Any]
    ) -> Any:
        """The column of the matches' starts or ends. Where one of the fields is just that, it is put out twice."""
        if isinstance(times, str) and times in self._time_fields and not self._plan.distinct:
            return fields[self._time_fields[times]]
        micros = None if self._plan.distinct else values(self._leaves)  # a tuple has no one time
        if micros is None:
            if len(self._no_times) < size:
                self._no_times = pa.nulls(size, ARROW_TYPES[Type.TIMESTAMP])
            return self._no_times.slice(0, size)
        missing = micros == DEAD
        return number_array(micros, Type.TIMESTAMP, missing if missing.any() else None)


def _looked_up(field: Field, leaves: Mapping[str, Leaf]) -> tuple[Field, str, Column | None]:
    """A field with the variable and the column that it is; without a column where it has to be computed."""
    if isinstance(field.expr, Col):
        return field, field.expr.var, leaves[field.expr.var].columns[field.expr.attr]
    return field, "", None


def summed(partial: Partial, fingerprints: Mapping[str, Fingerprints | Growable], seed: np.ndarray) -> np.ndarray:
    """The sum of the fingerprints of each match's events, over the variables that have one."""
    total = seed
    for var, rows in partial.rows.items():
        if var in fingerprints:
            total = hashing.add_lanes(fingerprints[var].at(rows), total)
    if partial.last is None:
        return total if total is not seed else seed.repeat(partial.size)
    var, rows, repeats = partial.last
    if var not in fingerprints:
        return total.repeat(repeats) if total is not seed else seed.repeat(partial.size)
    if total is seed:
        return hashing.add_lanes(fingerprints[var].at(rows), seed)
    return hashing.add_lanes(total.repeat(repeats), fingerprints[var].at(rows))


def number_signs(size: int, sign: int) -> Any:
    """A column of one sign."""
    return pa.array(np.full(size, sign, dtype=np.int8))

"""Matches as Arrow record batches: built column by column, one batch per chunk.

Columns: `_id` (16 bytes), `_start` and `_end` (earliest and latest event time), `_sign` where the input was signed,
then one column per field. Text comes dictionary-encoded: a match repeats its events' text, and only codes are copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cep.expr import Col
from cep.plan import Field, Plan
from cep.types import Type
from runtime import hashing
from runtime.columnar import ARROW_TYPES, evaluate
from runtime.columns import number_array
from runtime.leaf import DEAD, Leaf
from runtime.matcher import Partial

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

    __slots__ = ("_leaves", "_no_times", "_plan", "_seed", "schema", "signed_schema")

    def __init__(self, plan: Plan, leaves: Mapping[str, Leaf]) -> None:
        self._plan = plan
        self._leaves = leaves
        seed = hashing.seed(plan.pattern)
        self._seed = hashing.both_lanes((np.array([seed[0]], np.uint64), np.array([seed[1]], np.uint64)))
        self._no_times = pa.nulls(0, ARROW_TYPES[Type.TIMESTAMP])
        self.schema = output_schema(plan, signed=False)
        self.signed_schema = output_schema(plan, signed=True)

    def batch(self, partial: Partial, sign: int | None) -> Any:
        """The record batch of some matches; `sign` is None where the input was not signed."""
        timed = not self._plan.distinct  # a tuple has no one time
        columns = [self._ids(partial), self._times(partial.earliest if timed else None, partial.size)]
        columns.append(self._times(partial.latest if timed else None, partial.size))
        if sign is not None:
            columns.append(number_signs(partial.size, sign))
        columns += self.fields(partial)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema if sign is None else self.signed_schema)

    def fields(self, partial: Partial) -> list[Any]:
        """The field columns of some matches."""
        return [self._field(field, partial) for field in self._plan.fields]

    def _field(self, field: Field, partial: Partial) -> Any:
        if isinstance(field.expr, Col):
            return self._gather(field.expr, partial)

        def supply(col: Col) -> Any:
            return self._gather(col, partial)

        array = evaluate(field.expr, supply, partial.size)
        if field.type is Type.STRING:
            return array.dictionary_encode()
        return array.cast(field_type(field))

    def _gather(self, col: Col, partial: Partial) -> Any:
        column = self._leaves[col.var].columns[col.attr]
        if partial.last is None:
            return column.take(partial.rows[col.var])
        var, rows, repeats = partial.last
        return column.take(rows) if col.var == var else column.take(partial.rows[col.var], repeats)

    def _ids(self, partial: Partial) -> Any:
        """Sum the fingerprints of each match's events."""
        total: np.ndarray | None = None
        for var, rows in partial.rows.items():
            lanes = self._leaves[var].ids.at(rows)
            total = hashing.add_lanes(lanes, self._seed if total is None else total)
        assert total is not None
        if partial.last is not None:
            var, rows, repeats = partial.last
            total = hashing.add_lanes(total.repeat(repeats), self._leaves[var].ids.at(rows))
        return hashing.id_array(total)

    def _times(self, times: np.ndarray | None, size: int) -> Any:
        if times is None:
            if len(self._no_times) < size:
                self._no_times = pa.nulls(size, ARROW_TYPES[Type.TIMESTAMP])
            return self._no_times.slice(0, size)
        missing = times == DEAD
        return number_array(times, Type.TIMESTAMP, missing if missing.any() else None)


def number_signs(size: int, sign: int) -> Any:
    """A column of one sign."""
    return pa.array(np.full(size, sign, dtype=np.int8))

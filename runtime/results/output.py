"""Matches as Arrow record batches: built column by column, one batch per chunk.

Columns: `_id` (16 bytes), `_start` and `_end` (earliest and latest event time), `_sign` where the input was signed,
then one column per field. Text comes dictionary-encoded: a match repeats its events' text, and only codes are copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from cep.ir.expr import Col
from cep.ir.plan import Field, Plan
from cep.ir.types import Type
from runtime.arrays.columnar import ARROW_TYPES, evaluate
from runtime.arrays.columns import Column, number_array
from runtime.search.folds import SetRows
from runtime.search.partial import Partial, Places, Times
from runtime.state import identity
from runtime.state.leaf import DEAD, Leaf

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
        "_spans",
        "_time_fields",
        "_values",
        "schema",
        "signed_schema",
    )

    def __init__(self, plan: Plan, leaves: Mapping[str, Leaf], sets: Mapping[str, SetRows] | None = None) -> None:
        self._plan = plan
        self._leaves = leaves
        self._values: dict[str, Leaf | SetRows] = {**leaves, **(sets or {})}
        self._spans = plan.spans()
        self._ids = {var: leaf.prints for var, leaf in leaves.items()}
        self._fields = [[_looked_up(field, self._values) for field in _typed(part, plan)] for part in plan.parts]
        """By alternative."""
        self._seed = identity.start(plan.pattern)
        times = {var: Col(var, leaf.spec.time or "", Type.TIMESTAMP) for var, leaf in leaves.items()}
        numbers = [{field.expr: number for number, field in enumerate(part.fields)} for part in plan.parts]
        self._time_fields = [{var: known[time] for var, time in times.items() if time in known} for known in numbers]
        """By alternative and variable: the number of the field that returns its event's time, where one does."""
        self._no_times = pa.nulls(0, ARROW_TYPES[Type.TIMESTAMP])
        self.schema = output_schema(plan, signed=False)
        self.signed_schema = output_schema(plan, signed=True)

    def batch(self, partial: Partial, sign: int | None) -> Any:
        """The record batch of some matches; `sign` is None where the input was not signed."""
        fields = self.fields(partial)
        ids = summed(partial, self._ids, self._seed)
        start, end = self.spanned(partial, fields)
        columns = [identity.id_array(ids), start, end]
        if sign is not None:
            columns.append(number_signs(partial.size, sign))
        columns += fields
        return pa.RecordBatch.from_arrays(columns, schema=self.schema if sign is None else self.signed_schema)

    def spanned(self, partial: Partial, fields: list[Any]) -> tuple[Any, Any]:
        """The columns of the times of each match's first and last event, those of its sets among them."""
        if not self._spans:
            start = self._times(partial.earliest, partial.start, partial, fields)
            return start, self._times(partial.latest, partial.end, partial, fields)
        start, end = self.ends(partial)
        return self.times(start, partial.size), self.times(end, partial.size)

    def ends(self, partial: Partial) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The times of each match's first and last event, those of its sets among them."""
        start, end = partial.start(self._leaves), partial.end(self._leaves)
        if start is None or end is None:
            return start, end
        places = partial.places() if self._spans else {}
        for first, last in self._spans:
            start = np.minimum(start, self._micros(first, places))
            end = np.maximum(end, self._micros(last, places))
        return start, end

    def _micros(self, col: Col, places: Places) -> np.ndarray:
        rows, repeats = places[col.var]
        values: np.ndarray = self._values[col.var].columns[col.attr].computed(rows).to_numpy(zero_copy_only=False)
        return values if repeats is None else values.repeat(repeats)

    def fields(self, partial: Partial) -> list[Any]:
        """The field columns of some matches."""
        if isinstance(partial.branch, np.ndarray):
            return self._of_several(partial, partial.branch)
        places = partial.places()
        return [
            self._evaluated(field, places, partial.size) if column is None else column.take(*places[var])
            for field, var, column in self._fields[partial.branch]
        ]

    def _of_several(self, partial: Partial, branches: np.ndarray) -> list[Any]:
        """The field columns of matches of different alternatives."""
        order = np.argsort(branches, kind="stable")
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        parts = []
        for branch in np.unique(branches).tolist():
            some = partial.take(np.flatnonzero(branches == branch))
            some.branch = branch
            parts.append(self.fields(some))
        places = pa.array(back)
        return [_joined(columns).take(places) for columns in zip(*parts, strict=True)]

    def field(self, number: int, partial: Partial) -> Any:
        """The column of one field, as it is computed."""
        assert isinstance(partial.branch, int)
        field, _, _ = self._fields[partial.branch][number]
        return self._evaluated(field, partial.places(), partial.size)

    def _evaluated(self, field: Field, places: Places, size: int) -> Any:
        def supply(col: Col) -> Any:
            return self._values[col.var].columns[col.attr].take(*places[col.var])

        array = evaluate(field.expr, supply, size)
        if field.type is Type.STRING:
            return array.dictionary_encode()
        return array.cast(field_type(field))

    def _times(
        self,
        times: Times,
        values: Callable[[Mapping[str, Leaf]], np.ndarray | None],
        partial: Partial,
        fields: list[Any],
    ) -> Any:
        """The column of the matches' starts or ends. Where one of the fields is just that, it is put out twice."""
        assert isinstance(partial.branch, int)
        known = self._time_fields[partial.branch]
        if isinstance(times, str) and times in known:
            return fields[known[times]]
        return self.times(values(self._leaves), partial.size)

    def times(self, micros: np.ndarray | None, size: int) -> Any:
        """A column of times; NULL where one is missing, or all are."""
        if micros is None:
            if len(self._no_times) < size:
                self._no_times = pa.nulls(size, ARROW_TYPES[Type.TIMESTAMP])
            return self._no_times.slice(0, size)
        missing = micros == DEAD
        return number_array(micros, Type.TIMESTAMP, missing if missing.any() else None)

    @property
    def nbytes(self) -> int:
        """Bytes held: a column of NULLs."""
        return int(self._no_times.nbytes)


def _typed(part: Plan, plan: Plan) -> list[Field]:
    """The fields of an alternative, in the types of those of the pattern: what is not bound is a NULL of that type."""
    return [replace(own, type=field.type) for own, field in zip(part.fields, plan.fields, strict=True)]


def _joined(columns: Sequence[Any]) -> Any:
    """Parts of a column as one."""
    return pa.chunked_array(columns).unify_dictionaries().combine_chunks() if len(columns) > 1 else columns[0]


def _looked_up(field: Field, leaves: Mapping[str, Leaf | SetRows]) -> tuple[Field, str, Column | None]:
    """A field with the variable and the column that it is; without a column where it has to be computed."""
    if isinstance(field.expr, Col):
        return field, field.expr.var, leaves[field.expr.var].columns[field.expr.attr]
    return field, "", None


class Prints(Protocol):
    """What has a fingerprint for rows."""

    def at(self, rows: np.ndarray) -> np.ndarray:
        """The fingerprints of some rows: a copy."""


def summed(partial: Partial, fingerprints: Mapping[str, Prints], seed: np.ndarray) -> np.ndarray:
    """The sum of the fingerprints of each match's events, over the variables that have one."""
    total = seed
    for var, rows in partial.rows.items():
        if var in fingerprints:
            total = identity.add_lanes(fingerprints[var].at(rows), total)
    if partial.last is None:
        return total if total is not seed else seed.repeat(partial.size)
    var, rows, repeats = partial.last
    if var not in fingerprints:
        return total.repeat(repeats) if total is not seed else seed.repeat(partial.size)
    if total is seed:
        return identity.add_lanes(fingerprints[var].at(rows), seed)
    return identity.add_lanes(total.repeat(repeats), fingerprints[var].at(rows))


def number_signs(size: int, sign: int) -> Any:
    """A column of one sign."""
    return pa.array(np.full(size, sign, dtype=np.int8))

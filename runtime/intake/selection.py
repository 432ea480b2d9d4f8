"""Selections: the events of a batch that can bind a variable, with what is worked out about them on the way.

Variables of one stream with equal filters (`s1` and `s2` of the card-testing pattern) share a selection, so filters
and key numbers are computed once for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.expr import Col, Expr, rewrite
from cep.ir.plan import Plan
from cep.ir.types import Type
from runtime.arrays.columnar import as_computed, evaluate, holds
from runtime.arrays.keys import KeySpace
from runtime.intake.batches import StreamBatch


class Selection:
    """Filtered rows of one stream's batch; columns are filtered when first asked for."""

    __slots__ = ("_columns", "_encoded", "_keys", "_mask", "_stream", "length", "signs")

    def __init__(self, stream: StreamBatch, late: np.ndarray | None, filters: tuple[Expr, ...]) -> None:
        self._stream = stream
        mask = holds(filters, lambda col: stream.columns[col.attr], stream.length)
        if late is not None:
            in_time = pa.array(~late)
            mask = in_time if mask is None else pc.and_(mask, in_time)
        self.length = stream.length if mask is None else mask.true_count
        self._mask = None if self.length == stream.length else mask
        self.signs = stream.signs
        if stream.signs is not None and self._mask is not None:
            self.signs = stream.signs[self._mask.to_numpy(zero_copy_only=False)]
        self._columns: dict[str, Any] = {}
        self._encoded: dict[str, Any] = {}
        """Text that is a join key, by its distinct values: looked up once a value."""
        self._keys: dict[tuple[int, Expr], np.ndarray] = {}

    def column(self, name: str) -> Any:
        """A column of the selected events, as `as_computed` gives it."""
        if name not in self._columns:
            column = self._stream.columns[name]
            self._columns[name] = column if self._mask is None else column.filter(self._mask)
        return self._columns[name]

    def values(self, expr: Expr) -> Any:
        """The values of an expression over one variable, whichever that is called."""
        if isinstance(expr, Col):
            return self.column(expr.attr)
        return as_computed(evaluate(expr, lambda col: self.column(col.attr), self.length))

    def numbers(self, space: KeySpace, expr: Expr) -> np.ndarray:
        """The key numbers of an expression's values."""
        if not isinstance(expr, Col):
            return space.encode(self.values(expr))
        known = (id(space), Col("", expr.attr, expr.type))
        if known not in self._keys:
            if expr.type is Type.STRING and expr.attr not in self._encoded:
                self._encoded[expr.attr] = self.column(expr.attr).dictionary_encode()
            self._keys[known] = space.encode(self._encoded.get(expr.attr, self.column(expr.attr)))
        return self._keys[known]

    def take(self, rows: np.ndarray) -> Selection:
        """Some of the selected events, by position."""
        chosen = pa.array(rows)
        part = object.__new__(Selection)
        part._stream = StreamBatch(
            {n: self.column(n).take(chosen) for n in self._stream.columns}, len(rows), None, None
        )
        part.length = len(rows)
        part._mask = None
        part.signs = None
        part._columns, part._encoded, part._keys = {}, {}, {}
        return part

    @classmethod
    def of(cls, columns: dict[str, Any], length: int) -> Selection:
        """All of some columns, e.g. from a snapshot."""
        return cls(StreamBatch(columns, length, None, None), None, ())


def same_filter(plan: Plan) -> dict[str, str]:
    """For each variable the first one of its stream with an equal filter, which may be itself."""
    first: dict[object, str] = {}
    filters = {leaf.var: tuple(rewrite(condition, _anonymous) for condition in leaf.filter) for leaf in plan.leaves}
    return {leaf.var: first.setdefault((leaf.stream, filters[leaf.var]), leaf.var) for leaf in plan.leaves}


def _anonymous(expr: Expr) -> Expr:
    """An attribute without its variable: two variables' filters are equal if they are so but for the name."""
    return Col("", expr.attr, expr.type) if isinstance(expr, Col) else expr

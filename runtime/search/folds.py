"""Folds: what the events of a set add up to, for many sets at once.

A set is a range of an index, narrowed by the conditions that no index decides; of a run, the part at one end that
nothing breaks. Its number of events, their first and
last one, and counts and sums of INT (`runtime.state.running`) are read off the range, however long that is. Everything
else looks at the events of the set, once each and a chunk of sets at a time. At one moment events are ordered by `ORDER
BY`, else by the declared columns; so no value depends on the order of arrival.

Exact: INT is added without overflow, and NULL where the sum does not fit INT; DOUBLE is added without rounding on the
way and rounded once (`math.fsum`). As in SQL, NULLs are left out, and what is left of nothing is NULL (COUNT: 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from cep.ir.expr import Col, Expr
from cep.ir.plan import Fold, Folded, Unbroken, previous
from cep.ir.types import Type
from runtime.arrays.columnar import holds
from runtime.arrays.columns import make_column
from runtime.arrays.sorted_groups import Operations, spread
from runtime.intake.batches import as_type
from runtime.search.partial import Partial
from runtime.search.ranges import BoundStep, Ranges
from runtime.state.leaf import DEAD
from runtime.state.running import Totals

LAST = int(np.iinfo(np.int64).max)
CHUNK = 1 << 16
"""Events of sets that are looked at at a time."""


def fold(
    ranges: Ranges, bound: BoundStep, partial: Partial, leaves: Mapping[str, Any], operations: Operations
) -> tuple[np.ndarray, dict[str, Any]]:
    """Of the set of each partial match: whether it has as many events as it must, and a column for each value."""
    step = bound.step
    assert isinstance(step, Fold)
    low, high = ranges.of(bound, partial, None)  # whatever else has left
    counts = np.maximum(high - low, 0)
    fits: list[np.ndarray] = []
    found: dict[str, list[Any]] = {each.name: [] for each in step.folded}
    looks = bool(step.checks) or step.run is not None or any(each.reads for each in step.folded)
    for some in parts(counts, CHUNK) if looks else (slice(0, len(counts)),):
        sets = Sets(bound, low[some], counts[some])
        if step.checks and sets.counts.any():
            sets.check(partial.take(some), leaves, operations)
        if step.run is not None and sets.counts.any():
            sets.narrow(step.run, partial.take(some), leaves, operations)
        fits.append(sets.fits(step))
        for each in step.folded:
            found[each.name].append(sets.fold(each))
    return np.concatenate(fits), {name: _joined(arrays) for name, arrays in found.items()}


def parts(counts: np.ndarray, chunk: int) -> Iterator[slice]:
    """Cut sets into parts of at most so many events, or of one set; one part where there are none."""
    ends = counts.cumsum()
    first = 0
    while first < len(counts) or not first:
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(ends.searchsorted(before + chunk, side="right")))
        yield slice(first, last)
        first = last


def _joined(arrays: list[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


class Sets:
    """Some sets, as ranges of an index; once conditions have narrowed them, as their rows."""

    __slots__ = ("_bound", "_first", "_index", "_rows", "counts", "leaf")

    def __init__(self, bound: BoundStep, first: np.ndarray, counts: np.ndarray) -> None:
        self._bound = bound
        self._index = bound.index
        self._first = first
        self._rows: np.ndarray | None = None
        self.leaf = bound.leaf
        self.counts = counts

    def check(self, partial: Partial, leaves: Mapping[str, Any], operations: Operations) -> None:
        """Leave out what fails the conditions that no index decides."""
        step = self._bound.step
        rows = self._all()
        operations.seeks += len(rows)
        of = np.arange(partial.size).repeat(self.counts)

        def supply(col: Col) -> Any:
            where = rows if col.var == step.var else partial.rows[col.var][of]
            return leaves[col.var].columns[col.attr].computed(where)

        mask = holds(step.checks, supply, len(rows))
        kept = np.ones(len(rows), np.bool_) if mask is None else mask.to_numpy(zero_copy_only=False)
        self._rows = rows[kept]
        self.counts = np.bincount(of[kept], minlength=partial.size)
        self._first = self.counts.cumsum() - self.counts

    def narrow(self, run: Unbroken, partial: Partial, leaves: Mapping[str, Any], operations: Operations) -> None:
        """Leave out what is not in the unbroken part at one end of each set."""
        of = np.arange(partial.size).repeat(self.counts)
        rows = self._in_order(self._all(), of)
        operations.seeks += len(rows)
        before = np.concatenate((rows[:1], rows[:-1]))

        def supply(col: Col) -> Any:
            if col.var != self._bound.step.var:
                return leaves[col.var].columns[col.attr].computed(partial.rows[col.var][of])
            earlier = previous(col)
            return self.leaf.columns[earlier or col.attr].computed(rows if earlier is None else before)

        def where(conditions: tuple[Expr, ...]) -> np.ndarray:
            mask = holds(conditions, supply, len(rows))
            return np.ones(len(rows), np.bool_) if mask is None else mask.to_numpy(zero_copy_only=False)

        sound = where(run.holds)
        goes_on = np.zeros(len(rows), np.bool_)
        goes_on[1:] = (sound & where(run.pairs))[1:] & sound[:-1] & (of[1:] == of[:-1])
        number = np.cumsum(~goes_on)  # of the part that a row is in
        filled = np.flatnonzero(self.counts)
        ends = self.counts.cumsum()
        outer = ends[filled] - 1 if run.at_end else ends[filled] - self.counts[filled]
        chosen = np.full(partial.size, -1, dtype=np.int64)
        chosen[filled] = number[outer]
        kept = sound & (number == chosen[of])
        self._rows = rows[kept]
        self.counts = np.bincount(of[kept], minlength=partial.size)
        self._first = self.counts.cumsum() - self.counts

    def _in_order(self, rows: np.ndarray, of: np.ndarray) -> np.ndarray:
        """The rows with those of one moment in order, too."""
        assert self.leaf.time is not None
        times = self.leaf.time.at(rows)
        tied = np.zeros(len(rows) + 1, np.bool_)
        tied[1:-1] = (times[1:] == times[:-1]) & (of[1:] == of[:-1])
        several = np.flatnonzero(tied[1:] | tied[:-1])
        if not len(several):
            return rows
        keys = ordered_by(self.leaf, rows[several])
        moments = np.cumsum(~tied[:-1])[several].tolist()
        order = sorted(range(len(several)), key=lambda i: (moments[i], keys[i]))
        ordered = rows.copy()
        ordered[several] = rows[several[order]]
        return ordered

    def _all(self) -> np.ndarray:
        """The rows of all sets, one set after the other, in order of time."""
        return self._rows if self._rows is not None else self._index.rows_at(spread(self._first, self.counts))

    def _at(self, positions: np.ndarray) -> np.ndarray:
        """The rows at positions of sets, which are counted from `_first`."""
        return self._index.rows_at(positions) if self._rows is None else self._rows[positions]

    def fits(self, step: Fold) -> np.ndarray:
        """Which sets have as many events as they must."""
        enough: np.ndarray = self.counts >= step.least
        return enough if step.most is None else enough & (self.counts <= step.most)

    def fold(self, what: Folded) -> Any:
        """A column with one value a set."""
        if what.op in ("first", "last"):
            return pa.array(self._time(what.op))
        if what.op == "COUNT" and what.arg is None:
            return pa.array(self.counts.astype(np.int64))
        assert what.arg is not None
        if what.op in ("FIRST", "LAST"):
            return self._edge(what)
        running = self.leaf.running.get((self._bound.step.index, what.arg)) if self._rows is None else None
        if running is not None and what.runs:
            return _of_totals(what, running.totals(self._first, self.counts, self.leaf.size))
        values = self._values(what.arg, self._all())
        cut = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        of = np.arange(len(self.counts)).repeat(self.counts)[cut]
        values = values.take(pa.array(cut))
        if what.distinct:
            of = of[_first_of_each(of, values)]
        counts = np.bincount(of, minlength=len(self.counts))
        if what.op == "COUNT":
            return pa.array(counts.astype(np.int64))
        return _FOLDS[what.op](values, counts, what.type)

    def _time(self, op: str) -> np.ndarray:
        """The time of each set's first or last event; after, or before, all times for an empty one."""
        assert self.leaf.time is not None
        times = np.full(len(self.counts), LAST if op == "first" else DEAD + 1, dtype=np.int64)
        filled = np.flatnonzero(self.counts)
        times[filled] = self.leaf.time.at(self._at(self._outer(filled, op)))
        return times

    def _outer(self, filled: np.ndarray, op: str) -> np.ndarray:
        """The position of the first or last event of sets that have one."""
        positions: np.ndarray = self._first[filled] + (0 if op.lower() == "first" else self.counts[filled] - 1)
        return positions

    def _values(self, arg: Expr, rows: np.ndarray) -> Any:
        return self.leaf.valued(arg, rows)

    def _edge(self, what: Folded) -> Any:
        """FIRST and LAST: the value of that event, also if it is NULL; NULL for an empty set."""
        assert what.arg is not None
        filled = np.flatnonzero(self.counts)
        if not len(filled):
            return pa.nulls(len(self.counts), as_type(what.type))
        positions = self._outer(filled, what.op)
        rows = self._at(positions)
        assert self.leaf.time is not None
        inward = np.where(self.counts[filled] > 1, 1 if what.op == "FIRST" else -1, 0)
        alike = self.leaf.time.at(self._at(positions + inward)) == self.leaf.time.at(rows)
        for number in np.flatnonzero(alike & (inward != 0)).tolist():
            rows[number] = self._outermost(int(filled[number]), what.op)
        places = np.full(len(self.counts), -1, dtype=np.int64)
        places[filled] = np.arange(len(filled))
        return self._values(what.arg, rows).take(pa.array(places, mask=places < 0))

    def _outermost(self, number: int, op: str) -> int:
        """The first or last event of a set that has several at that moment: by `ORDER BY`, or by their columns."""
        assert self.leaf.time is not None
        positions = self._first[number] + np.arange(self.counts[number])
        positions = positions if op == "FIRST" else positions[::-1]
        tied: list[int] = []
        moment = int(self.leaf.time.at(self._at(positions[:1]))[0])
        for start in range(0, len(positions), 64):  # ties are few, sets can be large
            rows = self._at(positions[start : start + 64])
            same = self.leaf.time.at(rows) == moment
            tied += rows[same].tolist()
            if not same.all():
                break
        keys = ordered_by(self.leaf, np.array(tied))
        best = (min if op == "FIRST" else max)(range(len(tied)), key=keys.__getitem__)
        return tied[best]


def ordered_by(leaf: Any, rows: np.ndarray) -> list[tuple[Any, ...]]:
    """What orders events of one moment: `ORDER BY`, then the declared columns; NULL last."""
    columns = [leaf.columns[name].computed(rows).to_pylist() for name in leaf.in_moment]
    return [tuple((v is None, 0 if v is None else v) for v in row) for row in zip(*columns, strict=True)]


def _first_of_each(of: np.ndarray, values: Any) -> np.ndarray:
    """Where each value of each set stands first."""
    if pa.types.is_floating(values.type):
        values = pa.array(values.to_numpy(zero_copy_only=False) + 0.0)  # -0.0 is 0.0
    codes = values.dictionary_encode().indices.to_numpy(zero_copy_only=False)
    _, first = np.unique(np.stack((of, codes)), axis=1, return_index=True)
    return np.sort(first)


def _of_totals(what: Folded, totals: Totals) -> Any:
    """A count, sum or average of INT from running sums."""
    if what.op == "COUNT":
        return pa.array(totals.counts)
    empty = totals.counts == 0
    if what.op == "SUM":
        return pa.array(totals.whole(), as_type(what.type), mask=empty | ~totals.fits)
    pairs = zip(totals.exact(), totals.counts.tolist(), strict=True)
    return pa.array([total / count if count else None for total, count in pairs], as_type(what.type))


def _lists(values: Any, counts: np.ndarray) -> Sequence[list[Any]]:
    flat = values.to_pylist()
    ends = counts.cumsum().tolist()
    return [flat[end - count : end] for end, count in zip(ends, counts.tolist(), strict=True)]


def _sum(values: Any, counts: np.ndarray, type_: Type) -> Any:
    if type_ is Type.DOUBLE:
        return pa.array([_fsum(some) if some else None for some in _lists(values, counts)], as_type(type_))
    sums = [sum(some) if some else None for some in _lists(values, counts)]
    return pa.array([s if s is not None and -(2**63) <= s < 2**63 else None for s in sums], as_type(type_))


def _fsum(values: list[float]) -> float | None:
    try:
        return math.fsum(values)
    except ValueError:  # both infinities
        return None
    except OverflowError:  # on the way; perhaps not in the end
        total = sum(map(Fraction, values))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _avg(values: Any, counts: np.ndarray, type_: Type) -> Any:
    found: list[float | None] = []
    for some in _lists(values, counts):
        if not some:
            found.append(None)
        elif isinstance(some[0], float):
            total = _fsum(some)
            found.append(None if total is None else total / len(some))
        else:
            found.append(sum(some) / len(some))
    return pa.array(found, as_type(type_))


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[[Any, np.ndarray, Type], Any]:
    def fold(values: Any, counts: np.ndarray, type_: Type) -> Any:
        return pa.array([choose(some) if some else None for some in _lists(values, counts)], as_type(type_))

    return fold


_FOLDS: Mapping[str, Callable[[Any, np.ndarray, Type], Any]] = {
    "SUM": _sum,
    "AVG": _avg,
    "MIN": _extreme(min),
    "MAX": _extreme(max),
}


class SetRows:
    """Stands for a leaf in combinations: one row for each set of the chunk that is being worked on."""

    __slots__ = ("columns", "size", "time")

    def __init__(self, fold: Fold) -> None:
        self.columns = {each.name: make_column(each.type) for each in fold.folded}
        self.size = 0
        self.time = None

    def add(self, values: Mapping[str, Any], size: int) -> np.ndarray:
        """The rows of some sets, with their values."""
        for name, column in self.columns.items():
            column.extend(values[name])
        rows = np.arange(self.size, self.size + size)
        self.size += size
        return rows

    def forget(self, size: int = 0) -> None:
        """All rows but the first ones: the combinations that had them are gone."""
        if size < self.size:
            for column in self.columns.values():
                column.keep(np.arange(size))
            self.size = size

    def compared(self, expr: Expr, rows: np.ndarray) -> np.ndarray:
        """The values that a range takes: times."""
        assert isinstance(expr, Col)
        values: np.ndarray = self.columns[expr.attr].computed(rows).to_numpy(zero_copy_only=False)
        return values

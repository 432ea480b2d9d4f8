"""A leaf of the join tree: the events that can bind one pattern variable, and the indexes over them.

Rows are appended and keep their numbers. What joins and comparisons need of a row (key numbers, compared values) is
computed once, when it arrives. `best` is the *best start* of a row: the largest value that the earliest time of a
partial match from this row downwards can have (`DEAD` where there is none); it is kept only where the plan has chains
below the leaf.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from cep.expr import Col, Expr, variables
from cep.plan import Plan
from cep.types import Type
from runtime import hashing
from runtime.columnar import without_nulls
from runtime.columns import Growable, NumberColumn, make_column
from runtime.fingerprints import Fingerprints
from runtime.keys import GroupSpace, KeySpace
from runtime.selection import Selection
from runtime.sorted_groups import Operations, SortedGroups
from runtime.twins import Twins

DEAD = np.iinfo(np.int64).min
"""The best start of a row from which no partial match goes down; also the time of an event without one."""


class Spaces:
    """The key and group numbers that all leaves of an engine share."""

    __slots__ = ("groups", "keys")

    def __init__(self, plan: Plan) -> None:
        self.keys = {
            key.name: KeySpace(integers=all(expr.type is Type.INT for _, expr in key.members)) for key in plan.keys
        }
        self.groups = {index.key: GroupSpace(len(index.key)) for index in plan.indexes}

    def __len__(self) -> int:
        """How many keys and groups have numbers, used or not."""
        return sum(map(len, self.keys.values())) + sum(map(len, self.groups.values()))


class Leaf:
    """See the module's text."""

    __slots__ = (
        "_compared",
        "_groups",
        "_keys",
        "_members",
        "_outside",
        "_returned",
        "_seed",
        "_spaces",
        "best",
        "columns",
        "gone",
        "has_null_time",
        "indexes",
        "prints",
        "shares",
        "size",
        "spec",
        "time",
        "twins",
    )

    def __init__(self, plan: Plan, var: str, spaces: Spaces, operations: Operations) -> None:
        self.spec = plan.leaf(var)
        self.size = 0
        self.columns = {name: make_column(type_) for name, type_ in self.spec.columns}
        self.time = Growable(np.int64) if self.spec.time is not None else None
        self.has_null_time = False
        self.gone = Growable(np.bool_)
        self._seed = hashing.seed(plan.pattern, var)
        self.prints = Fingerprints(self._seed, self.columns, may_wait=not plan.distinct)
        self._returned = _returned(plan, var) if plan.merges else []
        self.shares = Growable(hashing.BOTH_LANES) if self._returned else None
        """What a row adds to the id of a DISTINCT tuple: the fingerprint of what is returned of it."""
        self._outside = _shown_elsewhere(plan, var)
        self.twins = Twins() if plan.merges and plan.shows_all else None
        """Which rows look alike in a DISTINCT tuple; None where a variable shows nothing, and so all of its rows do."""
        self._spaces = spaces
        self._members = {key.name: key.of(var) for key in plan.keys if var in dict(key.members)}
        self._keys = {name: Growable(np.int64) for name in self._members}
        signatures = {index.key for index in plan.indexes if set(index.key) <= set(self._members)}
        self._groups = {signature: Growable(np.int64) for signature in signatures if len(signature) > 1}
        self._compared = {expr: Growable(_dtype(expr)) for expr in _compared(plan, var) if not _is_number(expr)}
        self.indexes = {
            number: SortedGroups(None if index.sort is None else _dtype(index.sort), operations)
            for number, index in enumerate(plan.indexes)
            if index.var == var
        }
        has_children = any(edge.parent == var for edge in plan.edges)
        is_chained = any(edge.child == var and edge.chain for edge in plan.edges)
        self.best = Growable(np.int64) if has_children and is_chained else None

    # --- rows ------------------------------------------------------------------------------------------------------

    def add(self, plan: Plan, events: Selection, known: tuple[np.ndarray, np.ndarray] | None = None) -> np.ndarray:
        """Append events and index them; the new row numbers.

        `known` are content hashes and ids, when rows come back from a snapshot.
        """
        length = events.length
        times = None
        if self.time is not None and self.spec.time is not None:
            array = events.column(self.spec.time)
            self.has_null_time |= bool(array.null_count)
            times = without_nulls(array, DEAD).to_numpy(zero_copy_only=False)
        self._number(events)
        if known is None:
            self.prints.add(events, times, self.gone.view(), None if self.time is None else self.time.view())
        else:
            self.prints.put(*known)
        rows = np.arange(self.size, self.size + length)
        for name, column in self.columns.items():
            column.extend(events.column(name))
        if self.time is not None and times is not None:
            self.time.extend(times)
        if self.shares is not None:
            parts = [events.hashes(name) for name in self._returned]
            shares = hashing.combine(self._seed, parts, length)
            self.shares.extend(hashing.both_lanes(shares))
            if self.twins is not None:
                self.twins.add(self._looks(shares))
        self.gone.extend(np.zeros(length, dtype=np.bool_))
        self.size += length
        self._index(plan, rows)
        return rows

    def _looks(self, shares: hashing.Lanes) -> hashing.Lanes:
        """What a DISTINCT tuple shows of new rows, whose keys are numbered already."""
        length = len(shares[0])
        keys = [self._keys[name].view()[-length:].view(np.uint64) for name in self._outside if length]
        return hashing.combine(self._seed, [shares, *((key, key) for key in keys)], length) if keys else shares

    def _index(self, plan: Plan, rows: np.ndarray) -> None:
        for number, index in self.indexes.items():
            described = plan.indexes[number]
            keys = None if described.sort is None else self.compared(described.sort, rows)
            index.insert(self.group(described.key, rows), keys, rows)

    def _number(self, events: Selection) -> None:
        """Work out key numbers, groups and compared values of new events."""
        numbers = {name: events.numbers(self._spaces.keys[name], expr) for name, expr in self._members.items()}
        for name, column in self._keys.items():
            column.extend(numbers[name])
        for signature, groups in self._groups.items():
            keys = [numbers[name] for name in signature]
            groups.extend(self._spaces.groups[signature].encode(keys, events.length))
        for expr, values in self._compared.items():
            array = events.values(expr)
            if expr.type is Type.STRING:
                values.extend(np.array(array.to_pylist(), dtype=object))
            else:
                values.extend(array.to_numpy(zero_copy_only=False).astype(values.view().dtype, copy=False))

    def remove(self, plan: Plan, rows: np.ndarray) -> None:
        """Take rows out of all indexes; their numbers stay used until the engine compacts."""
        for number, index in self.indexes.items():
            index.remove(self.group(plan.indexes[number].key, rows), rows)
        self.gone.view()[rows] = True
        self.prints.forget(rows)
        if self.twins is not None:
            self.twins.forget(rows)

    def keep(self, plan: Plan, rows: np.ndarray) -> None:
        """Forget all other rows, and number these anew in the same order. O(rows kept).

        Best starts stay: those that lean on a row that is forgotten are too old for any match to come.
        """
        for column in self.columns.values():
            column.keep(rows)
        for values in self._per_row():
            values.keep(rows)
        self.prints.keep(rows)
        if self.twins is not None:
            self.twins.keep(rows)
        self.size = len(rows)
        for index in self.indexes.values():
            index.clear()
        self._index(plan, np.arange(self.size))

    def _per_row(self) -> list[Growable]:
        """Everything beside the columns that has a value for each row."""
        parts = [self.gone, *self._keys.values(), *self._groups.values()]
        parts += self._compared.values()
        return parts + [part for part in (self.time, self.best, self.shares) if part is not None]

    # --- reading ---------------------------------------------------------------------------------------------------

    def group(self, signature: tuple[str, ...], rows: np.ndarray) -> np.ndarray:
        """The group of rows in a space that all keys of this leaf can supply."""
        if not signature:
            return np.zeros(len(rows), dtype=np.int64)
        if len(signature) == 1:
            return self._keys[signature[0]].at(rows)
        return self._groups[signature].at(rows)

    def key(self, name: str, rows: np.ndarray) -> np.ndarray:
        """The number of one key."""
        return self._keys[name].at(rows)

    def compared(self, expr: Expr, rows: np.ndarray) -> np.ndarray:
        """The values of an expression that some range compares."""
        if isinstance(expr, Col) and _is_number(expr):
            column = self.columns[expr.attr]
            assert isinstance(column, NumberColumn)
            return column.values.at(rows)
        return self._compared[expr].at(rows)

    def best_starts(self) -> np.ndarray:
        """The best start of every row; a row without children is its own."""
        if self.best is not None:
            return self.best.view()
        assert self.time is not None
        return self.time.view()

    def live(self, floor: int | None) -> np.ndarray:
        """The rows that are not deleted and not older than `floor`."""
        keep = ~self.gone.view()
        if floor is not None and self.time is not None:
            keep = keep & (self.time.view() >= floor)
        return np.flatnonzero(keep)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        parts = (*self.columns.values(), *self._per_row(), *self.indexes.values(), self.prints)
        return sum(part.nbytes for part in parts) + (self.twins.nbytes if self.twins is not None else 0)


def _is_number(expr: Expr) -> bool:
    """Whether the values can be read straight from a column."""
    return isinstance(expr, Col) and expr.type is not Type.STRING


def _dtype(expr: Expr) -> Any:
    if expr.type is Type.STRING:
        return object
    if expr.type is Type.BOOLEAN:
        return np.bool_
    return np.float64 if expr.type is Type.DOUBLE else np.int64


def _returned(plan: Plan, var: str) -> list[str]:
    """The attributes of a variable that are returned as they are."""
    return [field.expr.attr for field in plan.fields if isinstance(field.expr, Col) and field.expr.var == var]


def _shown_elsewhere(plan: Plan, var: str) -> list[str]:
    """The keys of a variable whose values the output returns, of other variables only."""
    returned = {field.expr for field in plan.fields if isinstance(field.expr, Col)}
    keys = [key for key in plan.keys if var in dict(key.members)]
    return [k.name for k in keys if k.of(var) not in returned and any(expr in returned for _, expr in k.members)]


def _compared(plan: Plan, var: str) -> Iterable[Expr]:
    """Everything that an index of this variable sorts by, or that a range takes from it."""
    found = [index.sort for index in plan.indexes if index.var == var and index.sort is not None]
    found += [r.bound for step in plan.steps() for r in step.ranges if variables(r.bound) == {var}]
    return dict.fromkeys(found)

"""A leaf of the join tree: the events that can bind one pattern variable, and the indexes over them.

Rows are appended and keep their numbers. What joins and comparisons need of a row (key numbers, compared values) is
computed once, when it arrives. `best` is the *best start* of a row: the largest value that the earliest time of a
partial match from this row downwards can have (`DEAD` where there is none); it is kept only where the plan has chains
below the leaf, for each alternative of the pattern that has.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from sys import getsizeof
from typing import Any

import numpy as np

from cep.ir.expr import Col, Expr, columns, variables
from cep.ir.plan import Fold, Plan
from cep.ir.plan import Leaf as Spec
from cep.ir.types import Type
from runtime.arrays.columnar import as_computed, evaluate, without_nulls
from runtime.arrays.columns import Growable, NumberColumn, make_column
from runtime.arrays.keys import GroupSpace, KeySpace
from runtime.arrays.sorted_groups import Operations, SortedGroups
from runtime.intake.selection import Selection
from runtime.state.fingerprints import Fingerprints
from runtime.state.id_key import IdKey
from runtime.state.looks import Looks
from runtime.state.running import RunningSums
from runtime.state.twins import Twins

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

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(key.nbytes for key in self.keys.values()) + sum(group.nbytes for group in self.groups.values())


class Leaf:
    """See the module's text."""

    __slots__ = (
        "_compared",
        "_groups",
        "_keys",
        "_members",
        "_outside",
        "_outside_looks",
        "_returned",
        "_spaces",
        "best",
        "columns",
        "gone",
        "has_null_time",
        "in_moment",
        "indexes",
        "look",
        "looks",
        "prints",
        "running",
        "shown",
        "size",
        "spec",
        "time",
        "twins",
    )

    def __init__(
        self, plan: Plan, var: str, spaces: Spaces, operations: Operations, id_key: IdKey | None = None
    ) -> None:
        self.spec = plan.leaf(var)
        self.size = 0
        kept = {name: make_column(type_) for name, type_ in self.spec.columns}
        self.columns = kept | {name: make_column(type_) for name, type_ in self.spec.derived}
        self.time = Growable(np.int64) if self.spec.time is not None else None
        self.has_null_time = False
        self.gone = Growable(np.bool_)
        merges = plan.merges
        self.prints = Fingerprints(_role(plan, self.spec), kept, id_key, apart=not merges)
        """Which event a row is, in ids of matches; where DISTINCT merges matches, nobody asks."""
        looked_at = merges and not plan.branches
        self._returned = {name: self.columns[name] for name in _returned(plan, var)} if looked_at else {}
        self.looks = Looks(self._returned.values())
        self.look = Growable(np.int64) if self._returned else None
        """What a DISTINCT tuple shows of a row, as a number: equal for rows of which equal values are returned."""
        self.shown = Fingerprints((plan.pattern, var, "DISTINCT"), self._returned, id_key, apart=False)
        """What a row adds to the id of a DISTINCT tuple: the fingerprint of what is returned of it."""
        self._outside = _shown_elsewhere(plan, var) if looked_at else []
        self._outside_looks = GroupSpace(1 + len(self._outside))
        self.twins = Twins() if merges and plan.shows_all else None
        """Which rows look alike in a DISTINCT tuple; None where a variable shows nothing, and so all of its rows do."""
        self._spaces = spaces
        self._members = {key.name: key.of(var) for key in plan.keys if var in dict(key.members)}
        self._keys = {name: Growable(np.int64) for name in self._members}
        signatures = {index.key for index in plan.indexes if set(index.key) <= set(self._members)}
        self._groups = {signature: Growable(np.int64) for signature in signatures if len(signature) > 1}
        names = {name for name, _ in self.spec.derived}
        self._compared = {
            expr: Growable(_dtype(expr))
            for expr in _compared(plan, var)
            if not _is_number(expr) and not names.intersection(col.attr for col in columns(expr))
        }
        self.indexes = {
            number: SortedGroups(None if index.sort is None else _dtype(index.sort), operations)
            for number, index in enumerate(plan.indexes)
            if index.var == var
        }
        self.running = {
            (fold.index, each.arg): RunningSums(
                self.indexes[fold.index],
                partial(self.group, plan.indexes[fold.index].key),
                partial(self.valued, each.arg),
            )
            for fold in plan.lookups()
            if isinstance(fold, Fold) and fold.var == var and not fold.checks and fold.run is None
            for each in fold.folded
            if each.runs and each.arg is not None
        }
        """Running sums of what sets add up, by index and value."""
        order = plan.stream(self.spec.stream).order
        self.in_moment = sorted(kept, key=lambda name: name != order)
        """The columns that order events of one moment: `ORDER BY` before all others."""
        self.best = {part.branch: Growable(np.int64) for part in plan.parts if _has_best(part, var)}

    # --- rows ------------------------------------------------------------------------------------------------------

    def add(self, events: Selection) -> np.ndarray:
        """Append events; the new row numbers. They are found once `index` has been called with them."""
        length = events.length
        times = None
        if self.time is not None and self.spec.time is not None:
            array = events.column(self.spec.time)
            self.has_null_time |= bool(array.null_count)
            times = without_nulls(array, DEAD).to_numpy(zero_copy_only=False)
        self._number(events)
        for name, _ in self.spec.columns:
            self.columns[name].extend(events.column(name))
        self.prints.add(length, times, self.gone.view(), None if self.time is None else self.time.view())
        rows = np.arange(self.size, self.size + length)
        if self.time is not None and times is not None:
            self.time.extend(times)
        self.gone.extend(np.zeros(length, dtype=np.bool_))
        self.size += length
        if not self.spec.derived:
            self.look_at(rows)
        return rows

    def look_at(self, rows: np.ndarray) -> None:
        """Number what a DISTINCT tuple shows of new rows; called once their derived columns are there."""
        if self.look is None:
            return
        numbers = self.looks.add(rows)
        self.look.extend(numbers)
        self.shown.size = self.size
        if self.twins is not None:
            keys = [self._keys[name].at(rows) for name in self._outside]
            self.twins.add(self._outside_looks.encode([numbers, *keys], len(rows)))

    def index(self, plan: Plan, rows: np.ndarray) -> None:
        """Put rows into all indexes."""
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

    def drop(self, rows: np.ndarray) -> None:
        """Rows that were added and are in no index will never be."""
        self.gone.view()[rows] = True
        self.prints.forget(rows)
        if self.twins is not None:
            self.twins.forget(rows)

    def remove(self, plan: Plan, rows: np.ndarray) -> None:
        """Take rows out of all indexes; their numbers stay used until the engine compacts."""
        for number, index in self.indexes.items():
            index.remove(self.group(plan.indexes[number].key, rows), rows)
        self.gone.view()[rows] = True
        self.prints.forget(rows)
        if self.twins is not None:
            self.twins.forget(rows)

    def keep(self, plan: Plan, rows: np.ndarray) -> None:
        """Forget all other rows, and number these and what they look like anew, in the same order. O(rows kept).

        Best starts stay: those that lean on a row that is forgotten are too old for any match to come.
        """
        for column in self.columns.values():
            column.keep(rows)
        for values in self._per_row():
            values.keep(rows)
        self.prints.keep(rows)
        self.size = len(rows)
        if self.look is not None:
            self.shown.keep(rows)
            self.looks, self.look = Looks(self._returned.values()), Growable(np.int64)
            self._outside_looks = GroupSpace(1 + len(self._outside))
            if self.twins is not None:
                self.twins = Twins()
            self.look_at(np.arange(self.size))
            if self.twins is not None:
                self.twins.settle()
        for index in self.indexes.values():
            index.clear()
        for sums in self.running.values():
            sums.forget()
        self.index(plan, np.arange(self.size))

    def _per_row(self) -> list[Growable]:
        """Everything beside the columns that has a value for each row."""
        parts = [self.gone, *self._keys.values(), *self._groups.values()]
        parts += self._compared.values()
        return [*parts, *self.best.values(), *([] if self.time is None else [self.time])]

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
        if expr in self._compared:
            return self._compared[expr].at(rows)
        array = self.valued(expr, rows)  # of what a held row was asked: known after the row itself
        if expr.type is Type.STRING:
            return np.array(array.to_pylist(), dtype=object)
        zero = False if expr.type is Type.BOOLEAN else 0
        values: np.ndarray = without_nulls(array, zero).to_numpy(zero_copy_only=False)
        return values.astype(_dtype(expr), copy=False)

    def valued(self, expr: Expr, rows: np.ndarray) -> Any:
        """An expression over this leaf's columns, as an Arrow array."""
        return as_computed(evaluate(expr, lambda col: self.columns[col.attr].computed(rows), len(rows)))

    def best_starts(self, branch: int = 0) -> np.ndarray:
        """The best start of every row in an alternative; a row without children is its own."""
        if (best := self.best.get(branch)) is not None:
            return best.view()
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
        """Bytes held. Texts that are compared are Python objects, shared with the indexes: O(rows) for these."""
        parts = (*self.columns.values(), *self._per_row(), *self.indexes.values(), self.prints, self.shown, self.looks)
        texts = [values.view() for expr, values in self._compared.items() if expr.type is Type.STRING]
        shared = sum(getsizeof(text) for column in texts for text in column)
        others = (*self.running.values(), self.look, self.twins)
        return shared + sum(part.nbytes for part in (*parts, *others) if part is not None)


def _has_best(plan: Plan, var: str) -> bool:
    has_children = any(edge.parent == var for edge in plan.edges)
    return has_children and any(edge.child == var and edge.chain for edge in plan.edges)


def _is_number(expr: Expr) -> bool:
    """Whether the values can be read straight from a column."""
    return isinstance(expr, Col) and expr.type is not Type.STRING


def _dtype(expr: Expr) -> Any:
    if expr.type is Type.STRING:
        return object
    if expr.type is Type.BOOLEAN:
        return np.bool_
    return np.float64 if expr.type is Type.DOUBLE else np.int64


def _role(plan: Plan, leaf: Spec) -> tuple[str, ...]:
    """What events stand for: a variable, with the stream where alternatives bind it to several."""
    streams = {other.stream for other in plan.leaves if other.variable == leaf.variable}
    return (plan.pattern, leaf.variable, *([leaf.stream] if len(streams) > 1 else []))


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
    found += [r.bound for step in plan.lookups() for r in step.ranges if variables(r.bound) == {var}]
    return dict.fromkeys(found)

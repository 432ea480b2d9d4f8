"""RETURN DISTINCT: a tuple is put out when it comes alive.

A combination of events makes its tuple alive from its last event until its first one leaves the window. `Alive` keeps,
for each tuple, until when it is; a combination whose last event is later than that puts the tuple out (again).
Without a window a tuple stays alive until deletions take its last combination.

A deletion that takes the last combination of a tuple takes back every time it was put out, but for those that rest on
combinations that have left the window: these cannot be deleted any more, and the tuple has been a result for good.

A tuple is known by its id: the sum of its events' shares in it (`Leaf.shares`), each hashed once when the event came.
So a combination whose tuple is known costs an addition per event and a probe of a table; its fields are never built.
Where no other combination can make its tuple (`runtime.twins`), that is put out without asking, and not remembered.

Guaranteed: the set of tuples is SQL's SELECT DISTINCT, in every order of arrival. When events are late, a tuple that
would have stayed alive through the late event can be put out once more: same tuple, same id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cep.expr import Col
from cep.plan import Plan
from cep.types import Type
from runtime import hashing
from runtime.columnar import ARROW_TYPES
from runtime.columns import Growable
from runtime.hash_table import HashTable
from runtime.leaf import DEAD, Leaf
from runtime.output import Output, number_signs, summed
from runtime.partial import Partial

_PRUNE_AT = 1024
FOREVER = np.iinfo(np.int64).max


class Tuples:
    """Tuples by id, without repetition; with a window also when the first and last combination of each leaves it."""

    __slots__ = ("_window", "soonest", "table", "until")

    def __init__(self, window: int | None) -> None:
        self._window = window
        self.table = HashTable()
        self.soonest = Growable(np.int64)
        self.until = Growable(np.int64)

    def number(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The number of each tuple, and the positions of those that are new, one for each, still without times."""
        numbers, fresh = self.table.add(hashing.lanes_of(ids))
        if self._window is not None:
            self.soonest.extend(np.full(len(fresh), FOREVER))
            self.until.extend(np.full(len(fresh), DEAD))
        return numbers, fresh

    def add(self, ids: np.ndarray, start: np.ndarray | None) -> np.ndarray:
        """Add the tuples of matches that start at these times; the positions of those that are new, one for each."""
        numbers, fresh = self.number(ids)
        if self._window is not None:
            assert start is not None
            leaves = start + self._window
            np.minimum.at(self.soonest.view(), numbers, leaves)
            np.maximum.at(self.until.view(), numbers, leaves)
        return np.sort(fresh)


class Alive:
    """The tuples that are out, and until when; those left out that only one combination can make."""

    __slots__ = ("_computed", "_earlier", "_leaves", "_output", "_plan", "_prune_at", "_seed", "_tuples")

    def __init__(self, plan: Plan, output: Output, leaves: Mapping[str, Leaf]) -> None:
        self._plan = plan
        self._prune_at = _PRUNE_AT
        self._seed = hashing.seed(plan.pattern, "DISTINCT")
        self._computed = [field for field in plan.fields if not isinstance(field.expr, Col)]
        self._tuples = Tuples(plan.window)
        """`soonest` is that of the tuple's present life: when the first of the combinations behind it leaves."""
        self._earlier: dict[int, list[int]] = {}
        """`soonest` of a tuple's lives before: it was put out, died and came again, and has not been forgotten yet."""
        self.bind(output, leaves)

    def bind(self, output: Output, leaves: Mapping[str, Leaf]) -> None:
        """Go on with other leaves: the engine has compacted."""
        self._output = output
        self._leaves = leaves

    def __len__(self) -> int:
        return len(self._tuples.table)

    @property
    def nbytes(self) -> int:
        """Bytes held; what Python holds for tuples that came again is left out."""
        return self._tuples.table.nbytes + self._tuples.soonest.nbytes + self._tuples.until.nbytes

    def ids(self, partial: Partial) -> np.ndarray:
        """The id of each match's tuple."""
        shares = {var: leaf.shares for var, leaf in self._leaves.items() if leaf.shares is not None}
        total = summed(partial, shares, hashing.both_lanes(hashing.combine(self._seed, [], 1)))
        if self._computed:
            columns = [hashing.hash_array(self._output.field(field, partial)) for field in self._computed]
            hashing.add_lanes(total, hashing.both_lanes(hashing.combine(self._seed, columns, partial.size)))
        return total

    # --- once each -------------------------------------------------------------------------------------------------

    def batches(self, partials: Iterable[Partial]) -> Iterator[Any]:
        """The tuples of all current matches, each once, as record batches."""
        for partial, ids, places in self._once(partials):
            if len(places):
                yield self._batch_of(partial, ids, places, None)

    def count(self, partials: Iterable[Partial]) -> int:
        """How many rows `batches` has."""
        return sum(len(places) for _, _, places in self._once(partials))

    def _once(self, partials: Iterable[Partial]) -> Iterator[tuple[Partial, np.ndarray, np.ndarray]]:
        seen = Tuples(None)
        for partial in partials:
            ids = self.ids(partial)
            yield partial, ids, self._choose(partial, ids, lambda _, some: seen.add(some, None))

    def _choose(
        self, partial: Partial, ids: np.ndarray, choose: Callable[[Partial, np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """The places of the matches that no other can make the tuple of, and of those that are chosen of the rest."""
        shared = self._shared(partial)
        if shared is None:
            return choose(partial, ids)
        rest = np.flatnonzero(shared)
        if not len(rest):
            return np.arange(partial.size)
        chosen = rest[choose(partial.flat().take(rest), ids[rest])]
        return np.sort(np.concatenate((np.flatnonzero(~shared), chosen)))

    def _shared(self, partial: Partial) -> np.ndarray | None:
        """Which matches have an event with a twin, so that another could make the same tuple; None: all may."""
        shared = np.zeros(partial.size, dtype=np.bool_)
        for var, (rows, repeats) in partial.places().items():
            twins = self._leaves[var].twins
            if twins is None:
                return None
            if twins.shared:
                some = ~twins.is_alone(rows)
                shared |= some if repeats is None else some.repeat(repeats)
        return shared

    def _batch_of(self, partial: Partial, ids: np.ndarray, places: np.ndarray, sign: int | None) -> Any:
        """A record batch of some matches' tuples; start and end are NULL, for a tuple has no one time."""
        if len(places) < partial.size:
            partial, ids = partial.flat().take(places), ids[places]
        return self._batch(self._output.fields(partial), hashing.id_array(ids), sign)

    def _batch(self, fields: list[Any], ids: Any, sign: int | None) -> Any:
        size = len(ids)
        none = pa.nulls(size, ARROW_TYPES[Type.TIMESTAMP])
        columns = [ids, none, none]
        if sign is not None:
            columns.append(number_signs(size, sign))
        schema = self._output.schema if sign is None else self._output.signed_schema
        return pa.RecordBatch.from_arrays([*columns, *fields], schema=schema)

    # --- insertions ------------------------------------------------------------------------------------------------

    def admit(self, partial: Partial, sign: int | None, watermark: int | None) -> Any | None:
        """The record batch of the tuples that these matches bring to life; None where there are none."""

        def choose(some: Partial, ids: np.ndarray) -> np.ndarray:
            windowed = self._plan.window is not None
            return self._come_alive(ids, some, watermark) if windowed else self._tuples.add(ids, None)

        ids = self.ids(partial)
        places = self._choose(partial, ids, choose)
        return self._batch_of(partial, ids, places, sign) if len(places) else None

    def remember(self, partial: Partial, watermark: int | None) -> None:
        """Take in the tuples of matches that may have been put out without asking: they have twins now, or are deleted.

        A match that was asked for is known: its tuple lives until it leaves, or longer. Where it lives less long, it
        is known from an earlier life only, of which the events have left.
        """
        ids = self.ids(partial)
        start = partial.start(self._leaves)
        if self._plan.window is None or start is None:
            self._tuples.add(ids, None)
            return
        numbers = self._tuples.table.find(hashing.lanes_of(ids))
        until = self._tuples.until.at(np.maximum(numbers, 0))
        new = np.flatnonzero((numbers < 0) | (start + self._plan.window > until))
        if len(new):
            self._come_alive(ids[new], partial.flat().take(new), watermark)

    def _come_alive(self, ids: np.ndarray, partial: Partial, watermark: int | None) -> np.ndarray:
        """Which matches put their tuple out: those that end later than their tuple would have lived without them.

        Matches are looked at tuple by tuple, in the order of their ends; how long the tuple lives before one of them is
        a running maximum over those before it.
        """
        start, end = partial.start(self._leaves), partial.end(self._leaves)
        assert start is not None
        assert end is not None
        assert self._plan.window is not None
        tuples = self._tuples
        known = tuples.table.numbered
        numbers, _ = tuples.number(ids)
        order = np.lexsort((end, numbers))
        numbers, ends = numbers[order], end[order]
        leaves = (start + self._plan.window)[order]
        begins = np.concatenate(([True], numbers[1:] != numbers[:-1]))
        before = np.where(begins, DEAD, np.concatenate(([DEAD], leaves[:-1])))
        before = np.maximum(_running_maximum(before, begins), tuples.until.at(numbers))
        is_out = (ends > before) | (begins & (numbers >= known))
        self._live(numbers, leaves, begins, is_out, known, watermark)
        first = np.flatnonzero(begins)
        tuples.until.view()[numbers[first]] = np.maximum(
            tuples.until.at(numbers[first]), np.maximum.reduceat(leaves, first)
        )
        return np.sort(order[is_out])

    def _live(
        self,
        numbers: np.ndarray,
        leaves: np.ndarray,
        begins: np.ndarray,
        is_out: np.ndarray,
        known: int,
        watermark: int | None,
    ) -> None:
        """Note the lives of tuples: each begins with a match that is put out and has the matches up to the next."""
        soonest = self._tuples.soonest.view()
        cuts = np.flatnonzero(begins | is_out)
        least = np.minimum.reduceat(leaves, cuts)
        number, new_life = numbers[cuts], is_out[cuts]
        again = new_life & ~(begins[cuts] & (number >= known))
        simple = ~again  # at most one for each tuple, and before those that come again
        soonest[number[simple]] = np.minimum(soonest[number[simple]], least[simple])
        for place in np.flatnonzero(again).tolist():
            tuple_, life = int(number[place]), int(least[place])
            self._set_earlier(tuple_, self._lives(tuple_, watermark))
            soonest[tuple_] = life

    # --- lives -----------------------------------------------------------------------------------------------------

    def _lives(self, number: int, watermark: int | None) -> list[int]:
        """When the lives of a tuple end to be deletable, those that have not yet."""
        if self._plan.window is None:
            return [FOREVER]
        lives = [*self._earlier.get(number, ()), int(self._tuples.soonest.view()[number])]
        return [life for life in lives if watermark is None or life >= watermark]

    def _set_earlier(self, number: int, lives: list[int]) -> None:
        if lives:
            self._earlier[number] = lives
        else:
            self._earlier.pop(number, None)

    # --- deletions -------------------------------------------------------------------------------------------------

    def collect(self, partials: Iterable[Partial]) -> tuple[Tuples, list[Any]]:
        """All tuples of some matches, and batches that have each once."""
        tuples, batches = Tuples(self._plan.window), []
        for partial in partials:
            ids = self.ids(partial)
            fresh = tuples.add(ids, partial.start(self._leaves))
            if len(fresh):
                batches.append(self._batch_of(partial, ids, fresh, None))
        return tuples, batches

    def gone(self, before: list[Any], remaining: Tuples, watermark: int | None) -> Iterator[Any]:
        """After deletions: of the tuples in `before`, those that no match is left for, with sign -1."""
        table = self._tuples.table
        for batch in before:
            keys = hashing.lanes_of(hashing.from_id_array(batch.column(0)))
            numbers, left = table.find(keys), remaining.table.find(keys)
            for place in np.flatnonzero((numbers >= 0) & (left >= 0)).tolist():
                self._shorten(int(numbers[place]), remaining, int(left[place]), watermark)
            lost = np.flatnonzero((numbers >= 0) & (left < 0))
            times = np.array([len(self._lives(n, watermark)) for n in numbers[lost].tolist()], dtype=np.int64)
            for number in numbers[lost].tolist():
                self._set_earlier(number, [])
            table.discard(numbers[lost])
            places = pa.array(lost.repeat(times))
            if len(places):
                fields = [batch.column(i).take(places) for i in range(3, batch.num_columns)]
                yield self._batch(fields, batch.column(0).take(places), -1)
        if table.numbered > 2 * len(table) + _PRUNE_AT:
            self._keep(table.live())

    def _shorten(self, number: int, remaining: Tuples, left: int, watermark: int | None) -> None:
        """A tuple has lost combinations but not its last. What its lives began with may be among those lost."""
        if self._plan.window is None:
            return
        soonest = int(remaining.soonest.view()[left])
        # What has left the window stays as it is and cannot be taken back.
        lives = [max(soonest, life) for life in self._lives(number, watermark)] or [DEAD]
        self._set_earlier(number, lives[:-1])
        self._tuples.soonest.view()[number] = lives[-1]
        self._tuples.until.view()[number] = remaining.until.view()[left]

    # --- the state -------------------------------------------------------------------------------------------------

    def prune(self, watermark: int) -> None:
        """Forget tuples that are dead for good. Amortised O(1) per tuple."""
        if self._plan.window is not None and len(self) > self._prune_at:
            live = self._tuples.table.live()
            self._keep(live[self._tuples.until.at(live) >= watermark])
            self._prune_at = max(_PRUNE_AT, 2 * len(self))

    def _keep(self, numbers: np.ndarray) -> None:
        """Forget all other tuples."""
        before = self._tuples
        self._tuples = Tuples(self._plan.window)
        self._tuples.table = HashTable.of(before.table.keys(numbers))
        if self._plan.window is not None:
            self._tuples.soonest.extend(before.soonest.at(numbers))
            self._tuples.until.extend(before.until.at(numbers))
        renumbered = {int(old): new for new, old in enumerate(numbers.tolist())} if self._earlier else {}
        self._earlier = {renumbered[old]: lives for old, lives in self._earlier.items() if old in renumbered}

    def dump(self) -> Any:
        """As a record batch, for a snapshot."""
        numbers = self._tuples.table.live()
        ids = hashing.id_array(hashing.both_lanes(self._tuples.table.keys(numbers)))
        if self._plan.window is None:
            return pa.record_batch({"id": ids})
        soonest = self._tuples.soonest.at(numbers).tolist()
        lives = [[*self._earlier.get(n, ()), life] for n, life in zip(numbers.tolist(), soonest, strict=True)]
        until = pa.array(self._tuples.until.at(numbers))
        return pa.record_batch({"id": ids, "until": until, "lives": pa.array(lives, pa.list_(pa.int64()))})

    def load(self, batch: Any) -> None:
        """From a snapshot."""
        ids = hashing.from_id_array(batch.column("id"))
        self._tuples.table = HashTable.of(hashing.lanes_of(ids))
        if self._plan.window is None:
            return
        lives = batch.column("lives").to_pylist()
        self._tuples.until.extend(batch.column("until").to_numpy())
        self._tuples.soonest.extend(np.array([life[-1] for life in lives], dtype=np.int64))
        self._earlier = {number: life[:-1] for number, life in enumerate(lives) if len(life) > 1}


def _running_maximum(values: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """The largest value so far, in each run that begins where it is said.

    >>> _running_maximum(np.array([5, 3, 9, 1, 4]), np.array([True, False, False, True, False]))
    array([5, 5, 9, 1, 4])
    """
    if bool(begins.all()):
        return values
    # Ranks instead of values leave room to raise each run above the one before it.
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = np.arange(len(values))
    base = (np.cumsum(begins) - 1) * len(values)
    largest: np.ndarray = values[order[np.maximum.accumulate(ranks + base) - base]]
    return largest

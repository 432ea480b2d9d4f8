"""RETURN DISTINCT: a tuple is put out when it comes alive.

A combination of events makes its tuple alive from its last event until its first one leaves the window. `Alive` keeps,
for each tuple, until when it is; a combination whose last event is later than that puts the tuple out (again), with its
own start and end. A life is told apart from others of its tuple by that end, which is part of the id. Without a window
a tuple stays alive until deletions take its last combination.

What is found in one push is decided together: a life begins with the combination that ends first, and of several with
the one that starts last (`runtime.results.lives`). A deletion that takes the last combination of a tuple takes back
every time it was put out, as it was put out, but for those that rest on combinations that have left the window: these
cannot be deleted any more, and the tuple has been a result for good.

A tuple is known by what its events look like, a few numbers (`runtime.results.tuples`): a combination whose tuple is
known costs a lookup for each event and a probe of a table; its fields are never built. Where no other combination can
make its tuple (`runtime.state.twins`), that is put out without asking, and not remembered.

Guaranteed: the set of tuples is SQL's SELECT DISTINCT, in every order of arrival. When events are late, a tuple that
would have stayed alive through the late event can be put out once more, and what a life begins with is what was there.

Not dated (start and end are NULL, and the id is that of the tuple alone): tuples of streams without time, and without a
window those of which some variable only has to exist, since which of its events was there first is never looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from sys import getsizeof
from typing import Any

import numpy as np
import pyarrow as pa

from cep.ir.plan import Plan, Probe
from cep.ir.types import Type
from runtime.arrays.columns import Growable, make_column, number_array
from runtime.arrays.hash_table import HashTable
from runtime.results.lives import FOREVER, Lives
from runtime.results.output import Output, number_signs, summed
from runtime.results.tuples import Shape
from runtime.search.matcher import CHUNK
from runtime.search.partial import Partial
from runtime.state import identity
from runtime.state.id_key import IdKey
from runtime.state.identity import Digests
from runtime.state.leaf import DEAD, Leaf

_PRUNE_AT = 1024

Life = tuple[int, int, int]
"""When the first of the combinations behind a life leaves, and the start and end of the one that began it."""


class Alive:
    """The tuples that are out, and until when; those left out that only one combination can make."""

    __slots__ = (
        "_affected",
        "_all_dead",
        "_dated",
        "_earlier",
        "_end",
        "_key",
        "_leaves",
        "_output",
        "_plan",
        "_present",
        "_prune_at",
        "_seed",
        "_shape",
        "_table",
        "_until",
        "_waiting",
    )

    def __init__(self, plan: Plan, output: Output, leaves: Mapping[str, Leaf], id_key: IdKey | None) -> None:
        self._plan = plan
        self._key = id_key
        self._prune_at = _PRUNE_AT
        self._all_dead = FOREVER
        """When all tuples that the last `prune` kept are dead, unless they live longer by now."""
        self._seed = identity.start(plan.pattern, "DISTINCT")
        timed = any(leaf.time is not None for leaf in plan.leaves)
        self._dated = all(
            part.window is not None or (timed and not any(isinstance(step, Probe) for step in part.steps()))
            for part in plan.parts
        )
        self._shape = Shape(plan)
        self._table = HashTable(self._shape.words)
        self._until = Growable(np.int64)
        """When the last of the combinations behind a tuple leaves; DEAD for a tuple that has not been out."""
        self._present = tuple(Growable(np.int64) for _ in range(3))
        """The present `Life` of each tuple."""
        self._earlier: dict[int, list[Life]] = {}
        """A tuple's lives before: it was put out, died and came again, and has not been forgotten yet."""
        self._waiting: list[Lives] = []
        """What was found in this push, each part merged."""
        self._affected: list[tuple[np.ndarray, list[Any], np.ndarray]] = []
        """Tuples that lose combinations: their numbers, fields, and what their ids are made of but for the end."""
        self.bind(output, leaves)

    def bind(self, output: Output, leaves: Mapping[str, Leaf]) -> None:
        """Go on with other leaves: the engine has compacted."""
        self._output = output
        self._leaves = leaves
        self._shape.bind(output, leaves)

    def __len__(self) -> int:
        return len(self._table)

    def count_alive(self, watermark: int | None) -> int:
        """How many tuples are alive; some that are not may not have been forgotten yet. O(tuples)."""
        return len(self._alive_at(watermark))

    @property
    def nbytes(self) -> int:
        """Bytes held, with what Python holds for tuples that came again."""
        again = getsizeof(self._earlier) + sum(
            getsizeof(lives) + (32 + 3 * 32) * len(lives) + 64 for lives in self._earlier.values()
        )
        dated = sum(part.nbytes for part in (self._until, *self._present))
        return self._table.nbytes + self._shape.nbytes + dated + again

    # --- putting out -----------------------------------------------------------------------------------------------

    def _batch(self, partial: Partial, start: np.ndarray | None, end: np.ndarray | None, sign: int | None) -> Any:
        """A record batch of the tuples of some matches, with these times."""
        fields = self._output.fields(partial)
        return self._of(fields, self._ids(partial, fields), start, end, sign)

    def _ids(self, partial: Partial, fields: list[Any]) -> np.ndarray:
        """The sum of what some tuples show, without their ends."""
        shares = {var: leaf.shown for var, leaf in self._leaves.items() if leaf.look is not None}
        total = summed(partial, shares, self._seed)
        if self._shape.computed:
            names = (self._plan.pattern, "DISTINCT", "computed")
            digests = Digests(names, self._shape.computed_columns(fields), self._key)
            identity.add_lanes(total, digests.of(np.arange(partial.size)))
        return total

    def _of(
        self, fields: list[Any], ids: np.ndarray, start: np.ndarray | None, end: np.ndarray | None, sign: int | None
    ) -> Any:
        size = len(ids)
        if self._dated:
            assert end is not None
            different, places = np.unique(end, return_inverse=True)
            column = make_column(Type.TIMESTAMP)
            missing = different == DEAD
            column.extend(number_array(different, Type.INT, missing if missing.any() else None))
            ends = Digests((self._plan.pattern, "DISTINCT", "end"), {"end": column}, self._key)
            ids = identity.add_lanes(ids.copy(), ends.of(np.arange(len(different)))[places.reshape(-1)])
        else:
            start = end = None
        columns = [identity.id_array(ids), self._output.times(start, size), self._output.times(end, size)]
        if sign is not None:
            columns.append(number_signs(size, sign))
        schema = self._output.schema if sign is None else self._output.signed_schema
        return pa.RecordBatch.from_arrays([*columns, *fields], schema=schema)

    def _shared(self, partial: Partial) -> np.ndarray | None:
        """Which matches have an event with a twin, so that another could make the same tuple; None: all may."""
        shared = np.zeros(partial.size, dtype=np.bool_)
        for var, (rows, repeats) in partial.places().items():
            if var not in self._leaves:
                continue  # a set: its events follow from the others
            twins = self._leaves[var].twins
            if twins is None:
                return None
            if twins.shared:
                some = ~twins.is_alone(rows)
                shared |= some if repeats is None else some.repeat(repeats)
        return shared

    def _split(self, partial: Partial) -> tuple[np.ndarray, np.ndarray]:
        """The places of the matches that no other can make the tuple of, and of the rest."""
        shared = self._shared(partial)
        if shared is None:
            every = np.arange(partial.size)
            return every[:0], every
        return np.flatnonzero(~shared), np.flatnonzero(shared)

    # --- once each -------------------------------------------------------------------------------------------------

    def batches(self, partials: Iterable[Partial]) -> Iterator[Any]:
        """The tuples of all current matches, each once and as it was put out last, as record batches."""
        for partial, places in self._once(partials):
            if not len(places):
                continue
            some = _taken(partial, places)
            first, last = self._output.ends(some)
            if self._dated and len(self._table):
                start = some.start(self._leaves)
                assert start is not None
                assert first is not None
                assert last is not None
                numbers = self._table.find(self._shape.keys(some))
                known = np.flatnonzero(numbers >= 0)
                # An earlier life, of which the events have left, is not the present one.
                known = known[self._until.at(numbers[known]) >= self._leaves_at(start[known], some.branch)]
                first, last = first.copy(), last.copy()
                first[known], last[known] = (self._present[i].at(numbers[known]) for i in (1, 2))
            yield self._batch(some, first, last, None)

    def count(self, partials: Iterable[Partial]) -> int:
        """How many rows `batches` has."""
        return sum(len(places) for _, places in self._once(partials))

    def _once(self, partials: Iterable[Partial]) -> Iterator[tuple[Partial, np.ndarray]]:
        seen = HashTable(self._shape.words)
        for partial in partials:
            alone, rest = self._split(partial)
            if len(rest):
                _, first = seen.add(self._shape.keys(_taken(partial, rest)))
                alone = np.sort(np.concatenate((alone, rest[first])))
            yield partial, alone

    # --- insertions ------------------------------------------------------------------------------------------------

    def admit(self, partial: Partial, sign: int | None) -> Any | None:
        """The record batch of the tuples that come to life with these matches for certain; others wait."""
        places, rest = self._split(partial)
        if len(rest):
            some = _taken(partial, rest)
            if self._dated:
                self._wait(some)
            else:
                _, first = self._table.add(self._shape.keys(some))
                places = np.sort(np.concatenate((places, rest[first])))
        if not len(places):
            return None
        some = _taken(partial, places)
        return self._batch(some, *self._output.ends(some), sign)

    def settle(self, sign: int | None, watermark: int | None) -> Iterator[Any]:
        """At the end of a push: record batches of the tuples that what has waited brings to life."""
        if not self._waiting:
            return
        lives = self._merge_waiting()
        self._waiting = []
        lives = lives.take(np.flatnonzero(self._come_alive(lives, watermark)))
        # In an order that no table has a say in.
        begun_by = lives.begun_by
        branch = [begun_by.branch] if isinstance(begun_by.branch, np.ndarray) else []
        order = np.lexsort((*branch, *reversed(begun_by.rows.values()), lives.start, lives.end))
        for first in range(0, len(order), CHUNK):
            some = lives.take(order[first : first + CHUNK])
            yield self._batch(some.begun_by, some.first, some.last, sign)

    def remember(self, partial: Partial, watermark: int | None) -> None:
        """Take in the tuples of matches that may have been put out without asking: they have twins now, or are deleted.

        A match that was asked for is known: its tuple lives until it leaves, or longer. Where it lives less long, it
        is known from an earlier life only, of which the events have left.
        """
        if not self._dated:
            self._table.add(self._shape.keys(partial))
            return
        numbers = self._table.find(self._shape.keys(partial))
        start = partial.start(self._leaves)
        assert start is not None
        known = self._until.at(np.maximum(numbers, 0)) if self._until.size else numbers
        new = np.flatnonzero((numbers < 0) | (self._leaves_at(start, partial.branch) > known))
        if len(new):
            self._come_alive(self._lives_of(partial.flat().take(new)), watermark)

    def recall(self, partials: Iterable[Partial], watermark: int | None) -> None:
        """Take in all current tuples that another combination could make: nothing is known of what was put out."""
        for partial in partials:
            _, rest = self._split(partial)
            if len(rest) and self._dated:
                self._wait(_taken(partial, rest))
            elif len(rest):
                self._table.add(self._shape.keys(_taken(partial, rest)))
        if self._waiting:
            self._come_alive(self._merge_waiting(), watermark)
            self._waiting = []

    def _leaves_at(self, start: np.ndarray, branch: int | np.ndarray) -> np.ndarray:
        """When combinations of an alternative leave that start then."""
        window = self._window(branch)
        return np.full(len(start), FOREVER) if window is None else start + window

    def _window(self, branch: int | np.ndarray) -> int | None:
        assert isinstance(branch, int)
        return self._plan.parts[branch].window

    def _lives_of(self, partial: Partial) -> Lives:
        """The lives that some matches give to their tuples, which get their numbers."""
        numbers, added = self._table.add(self._shape.keys(partial))
        new = len(added)
        self._until.extend(np.full(new, DEAD))
        for part, value in zip(self._present, (FOREVER, DEAD, DEAD), strict=True):
            part.extend(np.full(new, value))
        start, end = partial.start(self._leaves), partial.end(self._leaves)
        first, last = self._output.ends(partial)
        assert start is not None
        assert end is not None
        assert first is not None
        assert last is not None
        flat = partial.flat()
        # A match that only asks for an event has no row of it; what is put out does not need it.
        unbound = np.full_like(numbers, -1)  # by this alternative
        rows = {var: flat.rows.get(var, unbound) for var in sorted(self._shape.mentioned)} or {"": unbound}
        assert isinstance(partial.branch, int)
        branch = np.full_like(numbers, partial.branch) if self._plan.branches else 0
        begun_by = Partial(partial.size, rows, None, None, None, branch)
        return Lives.of(numbers, begun_by, (start, end), (first, last), self._window(partial.branch)).merged()

    def _wait(self, partial: Partial) -> None:
        """Keep what was found until the end of the push; memory is that of the lives, not of the matches."""
        self._waiting.append(self._lives_of(partial))
        sizes = [len(lives) for lives in self._waiting]
        if sum(sizes[1:]) > max(CHUNK, sizes[0]):
            self._waiting = [self._merge_waiting()]

    def _merge_waiting(self) -> Lives:
        return Lives.together(self._waiting).merged()

    def _come_alive(self, lives: Lives, watermark: int | None) -> np.ndarray:
        """Note lives; which of them put their tuple out: those that begin after the tuple would have died without."""
        number, until = lives.number, self._until.view()
        before = until[number]
        is_new = before == DEAD
        is_out = is_new | (lives.end > before)
        longer = np.flatnonzero(~is_out)
        soonest = self._present[0].view()
        np.minimum.at(soonest, number[longer], lives.soonest[longer])
        begins = is_new & np.concatenate(([True], number[1:] != number[:-1]))[: len(number)]
        for part, values in zip(self._present, (lives.soonest, lives.first, lives.last), strict=True):
            part.view()[number[begins]] = values[begins]
        for place in np.flatnonzero(is_out & ~begins).tolist():
            tuple_ = int(number[place])
            self._set_earlier(tuple_, self._lives(tuple_, watermark))
            life = int(lives.soonest[place]), int(lives.first[place]), int(lives.last[place])
            for part, value in zip(self._present, life, strict=True):
                part.view()[tuple_] = value
        np.maximum.at(until, number, lives.until)
        return np.asarray(is_out)

    # --- lives -----------------------------------------------------------------------------------------------------

    def _lives(self, number: int, watermark: int | None) -> list[Life]:
        """The lives of a tuple that can still be taken back."""
        if not self._dated:
            return [(FOREVER, DEAD, DEAD)]
        soonest, start, end = (int(part.view()[number]) for part in self._present)
        lives = [*self._earlier.get(number, ()), (soonest, start, end)]
        return [life for life in lives if watermark is None or life[0] >= watermark]

    def _set_earlier(self, number: int, lives: list[Life]) -> None:
        if lives:
            self._earlier[number] = lives
        else:
            self._earlier.pop(number, None)

    # --- deletions -------------------------------------------------------------------------------------------------

    def lose(self, partial: Partial, watermark: int | None) -> None:
        """These matches are about to go: their tuples may."""
        self.remember(partial, watermark)
        numbers = self._table.find(self._shape.keys(partial))
        _, first = np.unique(numbers, return_index=True)
        some = partial.flat().take(np.sort(first))
        fields = self._output.fields(some)
        self._affected.append((numbers[np.sort(first)], fields, self._ids(some, fields)))

    def gone(self, left: Iterable[Partial], watermark: int | None) -> Iterator[Any]:
        """After deletions: of the tuples that `lose` was told of, those that no match is left for, with sign -1."""
        if not self._affected:
            return
        soonest, until = np.full(self._table.numbered, FOREVER), np.full(self._table.numbered, DEAD)
        for partial in left:
            numbers = self._table.find(self._shape.keys(partial))
            known = np.flatnonzero(numbers >= 0)
            start = partial.start(self._leaves)
            leaves = (
                self._leaves_at(start, partial.branch)[known] if start is not None else np.full(len(known), FOREVER)
            )
            np.minimum.at(soonest, numbers[known], leaves)
            np.maximum.at(until, numbers[known], leaves)
        done: set[int] = set()
        for numbers, fields, ids in self._affected:
            places: list[int] = []
            lives: list[Life] = []
            for place, number in enumerate(numbers.tolist()):
                if number in done:
                    continue
                done.add(number)
                if until[number] != DEAD:
                    self._shorten(number, int(soonest[number]), int(until[number]), watermark)
                    continue
                taken = self._lives(number, watermark)
                places += [place] * len(taken)
                lives += taken
                self._set_earlier(number, [])
                self._table.discard(np.array([number]))
            if places:
                _, start, end = (np.array(part, dtype=np.int64) for part in zip(*lives, strict=True))
                yield self._of([field.take(pa.array(places)) for field in fields], ids[places], start, end, -1)
        self._affected = []
        if self._table.numbered > 2 * len(self._table) + _PRUNE_AT:
            self._keep(self._table.live())

    def _shorten(self, number: int, soonest: int, until: int, watermark: int | None) -> None:
        """A tuple has lost combinations but not its last. What its lives began with may be among those lost."""
        if not self._dated:
            return
        # What has left the window stays as it is and cannot be taken back.
        lives = [(max(soonest, life[0]), *life[1:]) for life in self._lives(number, watermark)]
        self._set_earlier(number, lives[:-1])
        self._present[0].view()[number] = lives[-1][0] if lives else DEAD
        self._until.view()[number] = until

    # --- the state -------------------------------------------------------------------------------------------------

    def prune(self, watermark: int) -> None:
        """Forget tuples that are dead for good: when there are twice as many, or all that were kept are dead.

        Amortised O(1) per tuple.
        """
        if self._plan.window is None or len(self) <= (_PRUNE_AT if watermark > self._all_dead else self._prune_at):
            return
        self._keep(self._alive_at(watermark))
        self._prune_at = max(_PRUNE_AT, 2 * len(self))
        self._all_dead = int(self._until.view().max(initial=DEAD)) if len(self) else FOREVER

    def _alive_at(self, watermark: int | None) -> np.ndarray:
        live = self._table.live()
        if self._plan.window is None or watermark is None:
            return live
        return live[self._until.at(live) >= watermark]

    def _keep(self, numbers: np.ndarray) -> None:
        """Forget all other tuples."""
        self._put(HashTable.of(self._table.keys(numbers)), numbers)

    def renumber(self, looks: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
        """Rows were forgotten, and looks have new numbers: old and new ones of the rows that stay, by variable."""
        live = self._table.live()
        keys, left = self._shape.renumbered(self._table.keys(live), looks)
        self._put(HashTable.of(keys), live[left])

    def _put(self, table: HashTable, numbers: np.ndarray) -> None:
        """Go on with a table that has the tuples of these numbers, in this order."""
        self._table = table
        if self._dated:
            for part in (self._until, *self._present):
                part.keep(numbers)
        renumbered = {int(old): new for new, old in enumerate(numbers.tolist())} if self._earlier else {}
        self._earlier = {renumbered[old]: lives for old, lives in self._earlier.items() if old in renumbered}


def _taken(partial: Partial, places: np.ndarray) -> Partial:
    """Some matches: all of them as they are."""
    return partial if len(places) == partial.size else partial.flat().take(places)

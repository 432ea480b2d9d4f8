"""The engine: one plan, its state, and the matches that each batch of events adds.

A batch is applied leaf by leaf, earliest events first; after each leaf the matches that contain its new rows are
enumerated against the state so far. So a match is found exactly once: when the last of its variables, in that order, is
applied (trap 6.2 and 6.3 of idris.md). Deletions go first and mirror this. Alternatives of a pattern share the leaves:
after each, every one of them (`runtime.branch`) looks for its matches.

State is logical: an event stays readable until compaction, but no match ever depends on whether it has happened. Memory
is linear in the events of the window: where more rows are dead than alive, those alive are kept alone
(`runtime.compaction`).

Not guaranteed: that an engine can be used after an exception other than `BatchError`, or after a reader was dropped
half-way; it says so, and a snapshot brings it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from cep.ir.plan import Plan
from runtime import pull, settle, snapshot
from runtime.arrays.heap import keep_heap
from runtime.arrays.sorted_groups import Operations
from runtime.branch import Branch
from runtime.compaction import Compaction
from runtime.intake.batches import StreamBatch, read_batch
from runtime.intake.selection import Selection, same_filter
from runtime.intake.watermark import Clock
from runtime.results.distinct import Alive
from runtime.results.output import Output
from runtime.search.gaps import Asks
from runtime.search.matcher import CHUNK
from runtime.search.partial import Partial
from runtime.state import corrections
from runtime.state.id_key import IdKey
from runtime.state.leaf import DEAD, Leaf, Spaces
from runtime.state.waiting import Waiting

Watermark = int | Literal["declared"] | None


class Engine:
    """Maintains one pattern's matches under insertions, expiry and deletions.

    >>> import cep, pyarrow as pa
    >>> text = "STREAM T (k INT, x INT); PATTERN P AND(T a, T b) WHERE a.k = b.k AND a.x < b.x UNBOUNDED;"
    >>> plan = cep.compile(text)["P"]
    >>> engine = Engine(plan)
    >>> engine.push(pa.table({"k": [1, 1, 2], "x": [5, 7, 9]})).read_all().select(["a.x", "b.x"]).to_pylist()
    [{'a.x': 5, 'b.x': 7}]
    >>> engine.count()
    1
    """

    __slots__ = (
        "_alive",
        "_asks",
        "_branches",
        "_broken",
        "_chunk",
        "_clock",
        "_codes",
        "_compaction",
        "_held",
        "_id_key",
        "_leaves",
        "_open",
        "_output",
        "_pushes",
        "_same_filter",
        "_sets",
        "_singles",
        "_spaces",
        "_waiting",
        "by_turns",
        "counters",
        "operations",
        "plan",
        "watermark",
    )

    def __init__(self, plan: Plan, *, id_key: bytes | IdKey | None = None, chunk: int = CHUNK) -> None:
        """An empty engine. With `id_key` ids are keyed: the same key gives the same ids, in every run and engine."""
        keep_heap()
        self.plan = plan
        self._id_key = IdKey(id_key) if isinstance(id_key, bytes) else id_key
        self.watermark: int | None = None
        self._codes = {stream.name: code for code, stream in enumerate(plan.streams)}
        self._clock = Clock({self._codes[s.name]: s.watermark for s in plan.streams if s.time is not None})
        self.operations = Operations()
        self.counters = {"events": 0, "matches": 0, "late": 0, "expired": 0}
        self._chunk = chunk
        self._open = False
        self._broken = False
        self._pushes = 0
        self._same_filter = same_filter(plan)
        gaps = [leaf.var for leaf in plan.leaves if leaf.var not in plan.order]
        self.by_turns = (*gaps, *plan.order)
        """All variables in the order in which their events are stored: those of gaps, then single events."""
        self._compaction = Compaction()
        self._alive: Alive | None = None
        self._waiting = {leaf.var: Waiting(leaf) for leaf in plan.leaves if leaf.hold is not None}
        self._held = max((room.hold for room in self._waiting.values()), default=0)
        self._reset()

    def _reset(self) -> None:
        """Empty leaves, indexes and key numbers."""
        plan = self.plan
        self._spaces = Spaces(plan)
        self._leaves = {
            leaf.var: Leaf(plan, leaf.var, self._spaces, self.operations, self._id_key) for leaf in plan.leaves
        }
        self._branches = [Branch(part, self._leaves, self._spaces, self.operations, self._chunk) for part in plan.parts]
        self._sets = {name: rows for branch in self._branches for name, rows in branch.sets.items()}
        asking = {var: next(b.plan for b in self._branches if var in b.singles) for var in self._waiting}
        self._asks = {var: Asks(part, var, self._leaves, self._spaces, self.operations) for var, part in asking.items()}
        self._singles = {leaf.var: self._leaves[leaf.var] for leaf in plan.singles}
        self._output = Output(plan, self._singles, self._sets)
        if plan.merges:
            if self._alive is None:
                self._alive = Alive(plan, self._output, self._singles, self._id_key)
            else:
                self._alive.bind(self._output, self._singles)

    # --- push ------------------------------------------------------------------------------------------------------

    def push(self, batch: Any, watermark: Watermark = "declared") -> pa.RecordBatchReader:
        """Apply a batch of events; a reader over the matches it adds (and, for deletions, takes away).

        Args:
            batch: a RecordBatch or Table (patterns over one stream), or a dict of them by stream. A column `_sign` of
                1 and -1 makes it a batch of corrections.
            watermark: no event older than this will be pushed any more, in microseconds. As "declared" by the streams,
                it is each stream's latest event time so far minus its `WATERMARK`, the least of them, and there is none
                until every stream has had an event. None leaves it where it is. It never goes back, and takes effect
                after the batch: rows older than the watermark of an earlier push are dropped and counted as late.

        The reader works as it is read, in bounded memory, and must be read to its end before the next push. Raises
        `BatchError`, with the engine unchanged, where the batch does not fit or deletes what is not there.
        """
        return self._take(batch, watermark, find=True)

    def load(self, batch: Any, watermark: Watermark = "declared") -> None:
        """`push` for events whose matches were delivered before: fills the state without enumerating. O(events).

        Only DISTINCT patterns and corrections look at the matches all the same: what is alive depends on them. The
        matches that are not looked for are not counted in `stats()` either.
        """
        for _ in self._take(batch, watermark, find=False):
            pass

    def _take(self, batch: Any, watermark: Watermark, *, find: bool) -> pa.RecordBatchReader:
        self._check_usable()
        if isinstance(watermark, str) and watermark != "declared":
            raise ValueError(f'watermark: expected microseconds, "declared" or None, found {watermark!r}')
        streams = read_batch(self.plan, batch)
        signed = any(stream.signs is not None for stream in streams.values())
        parts = self._select(streams)
        deletions = corrections.deletions(self._leaves, self._waiting, parts) if signed else None
        self.counters["events"] += sum(stream.length for stream in streams.values())
        self.counters["late"] += sum(
            int(late.sum()) for stream in streams.values() if (late := self._late(stream)) is not None
        )
        for name, stream in streams.items():
            if (newest := stream.newest) is not None:
                self._clock.reach(self._codes[name], newest)
        schema = self._output.signed_schema if signed else self._output.schema
        self._open = True
        self._pushes += 1
        for table in self._sets.values():
            table.forget()
        reached = self._clock.watermark if watermark == "declared" else watermark
        generator = self._apply(parts, deletions, signed, reached, find=find or signed or self._alive is not None)
        return pa.RecordBatchReader.from_batches(schema, generator)

    def advance(self, watermark: int) -> pa.RecordBatchReader:
        """No event older than this comes any more: a reader over the matches that are final by that."""
        return self.push({}, watermark)

    def finish(self) -> pa.RecordBatchReader:
        """No event comes any more at all: whatever waits is settled."""
        return self.push({}, settle.END)

    def _check_usable(self) -> None:
        if self._broken and not self._open:
            raise RuntimeError(
                "the last batch was not applied to its end (an error, or a reader dropped half-way): "
                "restore the engine from a snapshot"
            )
        if self._open:
            raise RuntimeError("the matches of the last push have not been read to the end: read_all() them first")

    def _late(self, stream: StreamBatch) -> np.ndarray | None:
        """Which events are late; None where none is."""
        if self.watermark is None or stream.times is None or not stream.length:
            return None
        return stream.times < self.watermark if int(stream.times.min()) < self.watermark else None

    def _select(self, streams: Mapping[str, StreamBatch]) -> dict[str, Selection]:
        """For each variable the events that can bind it: filtered, not late. Equal filters are applied once."""
        parts: dict[str, Selection] = {}
        for leaf in self.plan.leaves:
            first = self._same_filter[leaf.var]
            if leaf.stream not in streams:
                continue
            if first not in parts:
                stream = streams[leaf.stream]
                parts[first] = Selection(stream, self._late(stream), leaf.filter)
            parts[leaf.var] = parts[first]
        return parts

    def _apply(
        self,
        parts: dict[str, Selection],
        deletions: corrections.Deletions | None,
        signed: bool,
        watermark: int | None,
        *,
        find: bool,
    ) -> Iterator[Any]:
        """Apply the batch as its matches are read; the engine is broken if that ends half-way."""
        try:
            self._broken = True
            yield from self._change(parts, deletions, signed, watermark, find=find)
            self._expire()
            self._broken = False
        finally:
            self._open = False

    def _change(
        self,
        parts: dict[str, Selection],
        deletions: corrections.Deletions | None,
        signed: bool,
        watermark: int | None,
        *,
        find: bool,
    ) -> Iterator[Any]:
        """Delete, insert leaf by leaf, move the watermark, settle."""
        if deletions is not None:
            for var, left in deletions.waiting.items():
                self._waiting[var].replace(left, self.watermark)
            if deletions.rows:
                yield from self._delete(deletions.rows)
        added = self._add(parts)
        if find:
            self._remember()
        sign = 1 if signed else None
        for var, rows in added.items():
            yield from self._found(var, rows, rows, sign, find=find)
        if watermark is not None and (self.watermark is None or watermark > self.watermark):
            self.watermark = watermark
        yield from settle.settle(self, sign, find=find)
        if self._alive is not None:
            for batch in self._alive.settle(sign, self.lived):
                self.counters["matches"] += batch.num_rows
                yield batch

    def _add(self, parts: dict[str, Selection]) -> dict[str, np.ndarray]:
        """Store new events in all leaves, where they are not found yet: what has a twin is known before any match.

        Those of gaps come first: what is asked about them is asked of all. What is held back waits.
        """
        added = {}
        for var in self.by_turns:
            events = parts.get(var)
            if events is not None and events.signs is not None and events.length:
                events = corrections.insertions(self._leaves[var], events)
            if events is None or not events.length:
                continue
            if var in self._waiting:
                self._waiting[var].add(events)
            else:
                added[var] = self._leaves[var].add(events)
        return added

    def _found(self, var: str, added: np.ndarray, rows: np.ndarray, sign: int | None, *, find: bool) -> Iterator[Any]:
        """Index those of the rows added to a leaf that stay, and find their matches."""
        self._leaves[var].index(self.plan, rows)
        branches = [branch for branch in self._branches if var in branch.leaves]
        for branch in branches:
            branch.chains.added(var, added)
        for partial in (partial for branch in branches if find for partial in branch.found(var, rows)):
            batch = self._emit(partial, sign)
            if batch is not None:
                self.counters["matches"] += batch.num_rows
                yield batch

    def _emit(self, partial: Partial, sign: int | None) -> Any | None:
        if self._alive is not None:
            return self._alive.admit(partial, sign)
        partial = self._once(partial)
        return self._output.batch(partial, sign) if partial.size else None

    def _remember(self) -> None:
        """For DISTINCT: rows have twins since the last batch, and what was put out with them may come again."""
        floor = self.horizon
        for var, leaf in self._singles.items():
            if self._alive is None or leaf.twins is None or not len(leaf.twins.met):
                continue
            rows = leaf.twins.met
            if floor is not None and leaf.time is not None:
                rows = rows[leaf.time.at(rows) >= floor]  # what has left the window is dead for good
            for branch in self._branches:
                for partial in branch.matchers[var].matches(rows, floor):
                    self._alive.remember(partial, self.lived)
            leaf.twins.settle()

    def _once(self, partial: Partial) -> Partial:
        """For DISTINCT: the matches without those of a second event of equal content, which make the same tuple."""
        if not self.plan.distinct:
            return partial
        for var, leaf in self._singles.items():
            if leaf.prints.has_twins:
                partial = partial.flat()
                partial = partial.take(leaf.prints.is_first(partial.rows[var]))
        return partial

    # --- deletions -------------------------------------------------------------------------------------------------

    def _delete(self, deletions: dict[str, np.ndarray]) -> Iterator[Any]:
        """Take rows out, leaf by leaf, with the matches that they take along; what is in a gap takes none."""
        for var in reversed(self.plan.order):
            rows = deletions.pop(var, None)
            if rows is None or not len(rows):
                continue
            branches = [branch for branch in self._branches if var in branch.matchers]
            for partial in (partial for branch in branches for partial in branch.matchers[var].matches(rows)):
                if self._alive is not None:
                    self._alive.lose(partial, self.lived)
                    continue
                batch = self._emit(partial, -1)
                if batch is not None:
                    self.counters["matches"] -= batch.num_rows
                    yield batch
            self._leaves[var].remove(self.plan, rows)
            self._compaction.deleted(len(rows))
            for branch in branches:
                branch.chains.removed(var, rows)
        for var, rows in deletions.items():
            self._leaves[var].remove(self.plan, rows)
            self._compaction.deleted(len(rows))
        if self._alive is not None:
            for batch in self._alive.gone(pull.all_matches(self), self.lived):
                self.counters["matches"] -= batch.num_rows
                yield batch

    # --- time ------------------------------------------------------------------------------------------------------

    def floor(self, var: str) -> int | None:
        """Rows of a variable before this can be in no match any more; None where there is no such time."""
        keep = self.plan.keep(var)
        return None if self.watermark is None or keep is None else max(self.watermark - keep, DEAD + 1)

    @property
    def horizon(self) -> int | None:
        """Events before this can be in no match any more: the watermark minus the window, or more where rows wait."""
        floors = [self.floor(var) for var in self._singles]
        return min((floor for floor in floors if floor is not None), default=None)

    @property
    def lived(self) -> int | None:
        """Lives of DISTINCT tuples that ended before this can have no other match: what waits may be so old."""
        return None if self.watermark is None else max(self.watermark - self._held, DEAD + 1)

    @property
    def due(self) -> int | None:
        """The watermark at which something that waits is applied next, in microseconds; None where nothing waits."""
        return settle.due(self)

    @property
    def waiting(self) -> int:
        """The rows that wait."""
        return sum(room.size for room in self._waiting.values())

    @property
    def expired(self) -> int:
        """Rows that have left the window, whether they are still stored or not. O(rows stored)."""
        stored = self._leaves.items()
        return self.counters["expired"] + sum(
            len(leaf.live(None)) - len(leaf.live(self.floor(var))) for var, leaf in stored
        )

    def live(self) -> dict[str, np.ndarray]:
        """The rows of each leaf that can still be in a match, or in a gap."""
        return {var: leaf.live(self.floor(var)) for var, leaf in self._leaves.items()}

    def _expire(self) -> None:
        lived = self.lived
        if self._alive is not None and lived is not None:
            self._alive.prune(lived)
        self._compaction.run(self)

    def looks(self, rows: dict[str, np.ndarray] | None) -> dict[str, np.ndarray]:
        """What some rows look like in a DISTINCT tuple, by variable; all rows where none are given."""
        looks = {var: leaf.look for var, leaf in self._leaves.items() if leaf.look is not None}
        return {var: look.view() if rows is None else look.at(rows[var]) for var, look in looks.items()}

    # --- pull ------------------------------------------------------------------------------------------------------

    def enumerate(self) -> pa.RecordBatchReader:
        """All current matches: every event at or after the horizon, where there is one. Read before the next push."""
        self._check_usable()
        return pa.RecordBatchReader.from_batches(self._output.schema, self._current(self._pushes))

    def _current(self, pushes: int) -> Iterator[Any]:
        found = pull.enumerate_matches(self)
        while True:
            if self._pushes != pushes:
                raise RuntimeError("the engine was pushed to before its matches were read: enumerate() again")
            batch = next(found, None)
            if batch is None:
                return
            yield batch

    def count(self) -> int:
        """How many `enumerate` would give, without building them. O(state · log) for acyclic plans without checks."""
        self._check_usable()
        return pull.count_matches(self)

    def contains(self, match: Mapping[str, Any]) -> bool:
        """Whether some current match has these field values (all fields named must agree; NULL is None)."""
        self._check_usable()
        return pull.contains_match(self, match)

    # --- the rest --------------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The state as bytes that `restore` reads; versioned, and tied to the plan by its key."""
        self._check_usable()
        return snapshot.dump(self)

    @classmethod
    def restore(cls, plan: Plan, data: bytes, *, id_key: bytes | IdKey | None = None) -> Engine:
        """An engine that goes on where `snapshot` was taken. Raises `snapshot.SnapshotError` with the reason."""
        engine = cls(plan, id_key=id_key)
        snapshot.load(engine, data)
        return engine

    def stats(self) -> dict[str, Any]:
        """What the engine holds and has done."""
        live = {var: len(rows) for var, rows in self.live().items()}
        return {
            **self.counters,
            "expired": self.expired,
            "watermark": self.watermark,
            "tuples": live,
            "waiting": self.waiting,
            "due": self.due,
            "indexes": [
                {"variable": index.var, "key": list(index.key), "sort": str(index.sort), "rows": self._index_size(i)}
                for i, index in enumerate(self.plan.indexes)
            ],
            "keys": {name: len(space) for name, space in self._spaces.keys.items()},
            "distinct": self._alive.count_alive(self.lived) if self._alive is not None else None,
            "bytes": self.nbytes,
            "operations": self.operations.as_dict(),
        }

    @property
    def nbytes(self) -> int:
        """Bytes held: rows, indexes, key and group numbers, hashes, tuples of a DISTINCT. O(keys new since last asked).

        What an engine holds whatever its state (the plan, a few objects for each variable) is left out.
        """
        rows = sum(leaf.nbytes for leaf in self._leaves.values())
        tuples = self._alive.nbytes if self._alive is not None else 0
        waiting = sum(room.nbytes for room in self._waiting.values())
        return rows + waiting + self._spaces.nbytes + self._output.nbytes + tuples

    def _index_size(self, number: int) -> int:
        return self._leaves[self.plan.indexes[number].var].indexes[number].size

    def _check(self) -> None:
        """Assert every invariant of the state; for tests."""
        for leaf in self._leaves.values():
            for index in leaf.indexes.values():
                index._check()
                assert index.size == int((~leaf.gone.view()).sum()), "an index holds the live rows"
            for sums in leaf.running.values():
                sums._check()
        for room in self._waiting.values():
            room._check()
            assert room.due is None or self.watermark is None or room.due > self.watermark, "what is due is applied"
        for branch in self._branches:
            self._check_best(branch)

    def _check_best(self, branch: Branch) -> None:
        horizon = branch.horizon(self.watermark)
        for edge in branch.plan.edges:
            above = self._leaves[edge.parent]
            if (best := above.best.get(branch.plan.branch)) is not None:
                rows = above.live(None)
                anew, kept = branch.chains._best(edge.parent, rows), best.view()[rows]
                if horizon is not None:  # how much older than that does not matter
                    anew, kept = np.maximum(anew, horizon), np.maximum(kept, horizon)
                assert (anew == kept).all(), "stale best start"

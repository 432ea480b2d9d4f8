"""The engine: one plan, its state, and the matches that each batch of events adds.

A batch is applied leaf by leaf, earliest events first; after each leaf the matches that contain its new rows are
enumerated against the state so far. So a match is found exactly once: when the last of its variables, in that order, is
applied (trap 6.2 and 6.3 of idris.md). Deletions go first and mirror this.

State is logical: an event stays readable until compaction, but no match ever depends on whether it has happened. Memory
is linear in the events of the window: when more rows are dead than alive, the leaves are rebuilt from those alive.

Not guaranteed: that an engine can be used after an exception other than `BatchError`, or after a reader was dropped
half-way; it says so, and a snapshot brings it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from cep.plan import Plan
from runtime import corrections, pull, snapshot
from runtime.batches import StreamBatch, read_batch
from runtime.chains import Chains
from runtime.distinct import Alive
from runtime.existence import Best
from runtime.heap import keep_heap
from runtime.leaf import Leaf, Spaces
from runtime.matcher import CHUNK, Matcher
from runtime.output import Output
from runtime.partial import Partial
from runtime.selection import Selection, same_filter
from runtime.sorted_groups import Operations

_COMPACT_AT = 8192
"""Dead rows that are never worth a compaction."""
_KEYS_AT = 1 << 14
"""Keys and groups that are never worth new numbers."""


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
        "_best",
        "_broken",
        "_chains",
        "_chunk",
        "_compact_at",
        "_leaves",
        "_matchers",
        "_open",
        "_output",
        "_pushes",
        "_same_filter",
        "_spaces",
        "counters",
        "operations",
        "plan",
        "watermark",
    )

    def __init__(self, plan: Plan, *, chunk: int = CHUNK) -> None:
        keep_heap()
        self.plan = plan
        self.watermark: int | None = None
        self.operations = Operations()
        self.counters = {"events": 0, "matches": 0, "late": 0, "expired": 0}
        self._chunk = chunk
        self._open = False
        self._broken = False
        self._pushes = 0
        self._best = {leaf.var: best for leaf in plan.leaves if (best := Best.of(plan, leaf.var)) is not None}
        self._same_filter = same_filter(plan)
        self._compact_at = _COMPACT_AT
        self._alive: Alive | None = None
        self._reset()

    def _reset(self) -> None:
        """Empty leaves, indexes and key numbers."""
        plan = self.plan
        self._spaces = Spaces(plan)
        self._leaves = {leaf.var: Leaf(plan, leaf.var, self._spaces, self.operations) for leaf in plan.leaves}
        self._chains = Chains(plan, self._leaves)
        self._matchers = {
            trigger.var: Matcher(plan, trigger, self._leaves, self._spaces, self.operations, self._chunk)
            for trigger in plan.triggers
        }
        self._output = Output(plan, self._leaves)
        if plan.merges:
            if self._alive is None:
                self._alive = Alive(plan, self._output, self._leaves)
            else:
                self._alive.bind(self._output, self._leaves)

    # --- push ------------------------------------------------------------------------------------------------------

    def push(self, batch: Any, watermark: int | None = None) -> pa.RecordBatchReader:
        """Apply a batch of events; a reader over the matches it adds (and, for deletions, takes away).

        Args:
            batch: a RecordBatch or Table (patterns over one stream), or a dict of them by stream. A column `_sign` of
                1 and -1 makes it a batch of corrections.
            watermark: no event older than this will be pushed any more, in microseconds. It takes effect after the
                batch: rows older than the watermark of an earlier push are dropped and counted as late.

        The reader works as it is read, in bounded memory, and must be read to its end before the next push. Raises
        `BatchError`, with the engine unchanged, where the batch does not fit or deletes what is not there.
        """
        return self._take(batch, watermark, find=True)

    def load(self, batch: Any, watermark: int | None = None) -> None:
        """`push` for events whose matches were delivered before: fills the state without enumerating. O(events).

        Only DISTINCT patterns and corrections look at the matches all the same: what is alive depends on them. The
        matches that are not looked for are not counted in `stats()` either.
        """
        for _ in self._take(batch, watermark, find=False):
            pass

    def _take(self, batch: Any, watermark: int | None, *, find: bool) -> pa.RecordBatchReader:
        self._check_usable()
        streams = read_batch(self.plan, batch)
        signed = any(stream.signs is not None for stream in streams.values())
        parts = self._select(streams)
        deletions = corrections.deletions(self._leaves, parts) if signed else {}
        self.counters["events"] += sum(stream.length for stream in streams.values())
        self.counters["late"] += sum(
            int(late.sum()) for stream in streams.values() if (late := self._late(stream)) is not None
        )
        schema = self._output.signed_schema if signed else self._output.schema
        self._open = True
        self._pushes += 1
        generator = self._apply(parts, deletions, signed, watermark, find=find or signed or self._alive is not None)
        return pa.RecordBatchReader.from_batches(schema, generator)

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
        deletions: dict[str, np.ndarray],
        signed: bool,
        watermark: int | None,
        *,
        find: bool,
    ) -> Iterator[Any]:
        """Apply the batch as its matches are read; the engine is broken if that ends half-way."""
        try:
            self._broken = True
            yield from self._change(parts, deletions, signed, find=find)
            self._advance(watermark)
            self._broken = False
        finally:
            self._open = False

    def _change(
        self, parts: dict[str, Selection], deletions: dict[str, np.ndarray], signed: bool, *, find: bool
    ) -> Iterator[Any]:
        """Delete, then insert leaf by leaf."""
        if any(len(rows) for rows in deletions.values()):
            yield from self._delete(deletions)
        for trigger in self.plan.triggers:
            events = parts.get(trigger.var)
            if events is not None and events.signs is not None and events.length:
                events = corrections.insertions(self._leaves[trigger.var], events)
            if events is None or not events.length:
                continue
            rows = self._leaves[trigger.var].add(self.plan, events)
            self._chains.added(trigger.var, rows)
            if not find:
                continue
            self._remember(trigger.var)
            if (best := self._best.get(trigger.var)) is not None:
                rows = best.among(self._leaves[trigger.var], rows)
            for partial in self._matchers[trigger.var].matches(rows):
                batch = self._emit(partial, 1 if signed else None)
                if batch is not None:
                    self.counters["matches"] += batch.num_rows
                    yield batch

    def _emit(self, partial: Partial, sign: int | None) -> Any | None:
        if self._alive is not None:
            return self._alive.admit(partial, sign, self.watermark)
        partial = self._once(partial)
        return self._output.batch(partial, sign) if partial.size else None

    def _remember(self, var: str) -> None:
        """For DISTINCT: rows have twins since the last batch, and what was put out with them may come again."""
        leaf, floor = self._leaves[var], self.horizon
        if self._alive is None or leaf.twins is None or not len(leaf.twins.met):
            return
        rows = leaf.twins.met
        if floor is not None and leaf.time is not None:
            rows = rows[leaf.time.at(rows) >= floor]  # what has left the window is dead for good
        for partial in self._matchers[var].matches(rows, floor):
            self._alive.remember(partial, self.watermark)

    def _once(self, partial: Partial) -> Partial:
        """For DISTINCT: the matches without those of a second event of equal content, which make the same tuple."""
        if not self.plan.distinct:
            return partial
        for var, leaf in self._leaves.items():
            if leaf.prints.has_twins:
                partial = partial.flat()
                partial = partial.take(leaf.prints.is_first(partial.rows[var]))
        return partial

    # --- deletions -------------------------------------------------------------------------------------------------

    def _delete(self, deletions: dict[str, np.ndarray]) -> Iterator[Any]:
        """Take rows out, leaf by leaf, with the matches that they take along."""
        affected: list[Any] = []
        for trigger in reversed(self.plan.triggers):
            rows = deletions.get(trigger.var)
            if rows is None or not len(rows):
                continue
            for partial in self._matchers[trigger.var].matches(rows):
                if self._alive is not None:
                    self._alive.remember(partial, self.watermark)
                    affected += self._alive.collect([partial])[1]
                    continue
                batch = self._emit(partial, -1)
                if batch is not None:
                    self.counters["matches"] -= batch.num_rows
                    yield batch
            self._leaves[trigger.var].remove(self.plan, rows)
            self._chains.removed(trigger.var, rows)
        if self._alive is not None and affected:
            remaining, _ = self._alive.collect(pull.all_matches(self))
            for batch in self._alive.gone(affected, remaining, self.watermark):
                self.counters["matches"] -= batch.num_rows
                yield batch

    # --- time ------------------------------------------------------------------------------------------------------

    @property
    def horizon(self) -> int | None:
        """Events before this can be in no match any more: the watermark minus the window."""
        if self.watermark is None or self.plan.window is None:
            return None
        return self.watermark - self.plan.window

    @property
    def expired(self) -> int:
        """Rows that have left the window, whether they are still stored or not. O(rows stored)."""
        horizon = self.horizon
        leaves = self._leaves.values()
        return self.counters["expired"] + sum(len(leaf.live(None)) - len(leaf.live(horizon)) for leaf in leaves)

    def _advance(self, watermark: int | None) -> None:
        if watermark is not None and (self.watermark is None or watermark > self.watermark):
            self.watermark = watermark
        if self._alive is not None and self.watermark is not None:
            self._alive.prune(self.watermark)
        self._compact()

    def _compact(self) -> None:
        """Shrink the leaves where most of their rows have expired or been deleted. Amortised O(1) a row."""
        stored = sum(leaf.size for leaf in self._leaves.values())
        if stored <= self._compact_at:
            return
        live = {var: leaf.live(self.horizon) for var, leaf in self._leaves.items()}
        alive = sum(len(rows) for rows in live.values())
        if stored > 2 * alive:
            self.counters["expired"] = self.expired
            if len(self._spaces) > max(_KEYS_AT, 4 * alive):
                snapshot.reload(self, snapshot.extract(self, live))  # keys get new numbers, those of live rows alone
            else:
                for var, rows in live.items():
                    self._leaves[var].keep(self.plan, rows)
        self._compact_at = max(_COMPACT_AT, 2 * alive)

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
    def restore(cls, plan: Plan, data: bytes) -> Engine:
        """An engine that goes on where `snapshot` was taken. Raises `snapshot.SnapshotError` with the reason."""
        engine = cls(plan)
        snapshot.load(engine, data)
        return engine

    def stats(self) -> dict[str, Any]:
        """What the engine holds and has done."""
        horizon = self.horizon
        live = {var: len(leaf.live(horizon)) for var, leaf in self._leaves.items()}
        return {
            **self.counters,
            "expired": self.expired,
            "watermark": self.watermark,
            "tuples": live,
            "indexes": [
                {"variable": index.var, "key": list(index.key), "sort": str(index.sort), "rows": self._index_size(i)}
                for i, index in enumerate(self.plan.indexes)
            ],
            "keys": {name: len(space) for name, space in self._spaces.keys.items()},
            "distinct": len(self._alive) if self._alive is not None else None,
            "bytes": sum(leaf.nbytes for leaf in self._leaves.values())
            + (self._alive.nbytes if self._alive is not None else 0),
            "operations": self.operations.as_dict(),
        }

    def _index_size(self, number: int) -> int:
        return self._leaves[self.plan.indexes[number].var].indexes[number].size

    def _check(self) -> None:
        """Assert every invariant of the state; for tests."""
        for leaf in self._leaves.values():
            for index in leaf.indexes.values():
                index._check()
                assert index.size == int((~leaf.gone.view()).sum()), "an index holds the live rows"
        horizon = self.horizon
        for edge in self.plan.edges:
            above = self._leaves[edge.parent]
            if above.best is not None:
                rows = above.live(None)
                anew, kept = self._chains._best(edge.parent, rows), above.best.view()[rows]
                if horizon is not None:  # how much older than that does not matter
                    anew, kept = np.maximum(anew, horizon), np.maximum(kept, horizon)
                assert (anew == kept).all(), "stale best start"

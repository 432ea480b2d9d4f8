"""The stateful operator: one log of events per slot in Spark's state, and an engine per pattern as a cache of it.

For each batch of a slot: drop what is older than the watermark, bring the engines to where the log is, push the events,
append them to the log, delete log entries that no future match can need. The state is

* `meta`: the numbers of the first and next log entry, the last one's token, the log's bytes, and for each pattern its
  plan's key and the entry it began with (a pattern that was added later does not see older events);
* `log`: number → the batch's events as they were packed, the watermark they were pushed with, the token;
* `times`: number → the newest event time of an entry, so that expiry reads no events.

What holds: after a batch commits, state and matches are those of that batch exactly once, because Spark writes both or
neither and the engine is rebuilt whenever its last entry is not the committed one. Matches do not depend on how the
stream is cut into batches; lateness does, since the watermark of a batch comes from the batches before it.

Entries are deleted from the front only: with events out of order an entry may stay as long as one in front of it.
A slot that gets no events keeps its last window's worth of log until it does.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from cep.plan import Plan
from runtime.spark import cache
from runtime.spark.blobs import from_payload, to_blob, to_payload
from runtime.spark.feed import blobs, gather, push, without_late
from runtime.spark.layout import Group, Layout, Member

OUTPUT = (
    "pattern STRING, matches BIGINT, blob BINARY, "
    "events BIGINT, late BIGINT, entries BIGINT, log_bytes BIGINT, rebuilt BIGINT, caught_up BIGINT"
)
"""One row per pattern and blob of matches, and one without pattern per slot and batch, with what happened."""
_ROW = Row("pattern", "matches", "blob", "events", "late", "entries", "log_bytes", "rebuilt", "caught_up")
META_FORMAT = 1


def new_engine(plan: Plan) -> Any:
    """The engine of a plan."""
    from runtime import Engine  # the driver builds processors without it

    return Engine(plan)


class PatternChangedError(RuntimeError):
    """The state was written by another version of a pattern."""


@dataclass(slots=True)
class Meta:
    """The `meta` state, decoded. `patterns` maps a name to (plan key, generation, first log entry)."""

    first: int
    next: int
    token: int
    bytes: int
    patterns: dict[str, tuple[str, int, int]]

    @classmethod
    def read(cls, state: Any) -> Meta:
        """From a ValueState; empty where there is none yet."""
        value = state.get()
        if value is None:
            return cls(0, 0, 0, 0, {})
        form, first, following, token, size, patterns = value
        if form != META_FORMAT:
            raise PatternChangedError(
                f"the checkpoint has state of format {form}, this version reads {META_FORMAT}: use a new checkpoint"
            )
        return cls(first, following, token, size, {name: tuple(entry) for name, entry in json.loads(patterns).items()})

    def write(self, state: Any) -> None:
        """To the ValueState."""
        state.update((META_FORMAT, self.first, self.next, self.token, self.bytes, json.dumps(self.patterns)))


class Matcher(StatefulProcessor):
    """See the module's text. `job` separates the cached engines of different queries in one worker."""

    def __init__(self, layout: Layout, job: str, on_pattern_change: str = "fail", make: Any = new_engine) -> None:
        self._groups = layout.by_slot()
        self._times = {feed.stream.name: feed.stream.time for feed in layout.feeds}
        self._timed = layout.timed
        self._job = job
        self._on_change = on_pattern_change
        self._make = make

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._meta = handle.getValueState(
            "meta", "format INT, first BIGINT, next BIGINT, token BIGINT, bytes BIGINT, patterns STRING"
        )
        self._log = handle.getMapState("log", "number BIGINT", "token BIGINT, watermark BIGINT, payload BINARY")
        self._newest = handle.getMapState("times", "number BIGINT", "newest BIGINT, bytes BIGINT")

    def close(self) -> None:
        """Nothing to release: the engines stay."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """The matches of a slot's events of one batch."""
        slot = int(key[0])
        group = self._groups.get(slot)
        watermark = self._watermark(timerValues)
        received = [(row.stream, bytes(row.blob), row.newest) for row in rows]
        if group is None:
            return  # a slot of a group that is gone; nothing is sent there
        meta = Meta.read(self._meta)
        self._admit(group, meta)
        parts, tables, late = self._accept(received, watermark)
        rebuilt = caught_up = 0
        total = sum(table.num_rows for table in tables.values())
        number, token = meta.next, secrets.randbits(62)
        for member in group.members:
            cached, replayed, fresh = self._engine(slot, member, meta)
            rebuilt += fresh and replayed > 0
            caught_up += replayed
            if total:
                for count, blob in blobs(push(cached.engine, member.plan, tables, watermark)):
                    yield _ROW(member.plan.pattern, count, blob, 0, 0, 0, 0, 0, 0)
                cached.next, cached.token = number + 1, token
            cache.keep(self._cache_key(slot, member), cached)
        if total:
            self._append(meta, number, token, parts, received, watermark)
        self._expire(group, meta, watermark)
        meta.write(self._meta)
        entries = meta.next - meta.first
        yield _ROW(None, 0, None, total, late, entries, meta.bytes, rebuilt, caught_up)

    # --- events ----------------------------------------------------------------------------------------------------

    def _watermark(self, timer_values: Any) -> int | None:
        if not self._timed:
            return None
        millis = timer_values.getCurrentWatermarkInMs()
        return millis * 1000 if millis > 0 else None

    def _accept(
        self, received: list[tuple[str, bytes, int | None]], watermark: int | None
    ) -> tuple[list[tuple[str, bytes]], dict[str, pa.Table], int]:
        """What to log, what to push, and how many events were late."""
        tables = gather(((stream, blob) for stream, blob, _ in received), self._times)
        late = 0
        changed = set()
        for stream in list(tables):
            tables[stream], dropped = without_late(tables[stream], self._times[stream], watermark)
            late += dropped
            if dropped:
                changed.add(stream)
        parts = [(stream, blob) for stream, blob, _ in received if stream not in changed]
        parts += [(stream, to_blob(tables[stream])) for stream in sorted(changed) if tables[stream].num_rows]
        return parts, tables, late

    # --- the log ---------------------------------------------------------------------------------------------------

    def _append(
        self,
        meta: Meta,
        number: int,
        token: int,
        parts: list[tuple[str, bytes]],
        received: list[tuple[str, bytes, int | None]],
        watermark: int | None,
    ) -> None:
        payload = to_payload(parts)
        times = [newest for _, _, newest in received if newest is not None]
        self._log.updateValue((number,), (token, watermark, payload))
        self._newest.updateValue((number,), (max(times, default=None), len(payload)))
        meta.next, meta.token, meta.bytes = number + 1, token, meta.bytes + len(payload)

    def _expire(self, group: Group, meta: Meta, watermark: int | None) -> None:
        if group.retention is None or watermark is None:
            return
        horizon = watermark - group.retention
        while meta.first < meta.next:
            newest, size = self._newest.getValue((meta.first,)) or (None, 0)
            if newest is not None and newest >= horizon:
                return
            self._log.removeKey((meta.first,))
            self._newest.removeKey((meta.first,))
            meta.first, meta.bytes = meta.first + 1, meta.bytes - size

    # --- engines ---------------------------------------------------------------------------------------------------

    def _admit(self, group: Group, meta: Meta) -> None:
        """Compare the patterns that the state knows with those of the job."""
        known = meta.patterns
        meta.patterns = {}
        for member in group.members:
            plan, generation = member.plan, member.generation
            key, old, since = known.get(plan.pattern, (plan.key, generation, meta.next))
            if key != plan.key and old == generation and self._on_change == "fail":
                raise PatternChangedError(
                    f"pattern `{plan.pattern}` is not the one this checkpoint was written with: start with a new "
                    "checkpoint, or let it forget what it saw with on_pattern_change=restart"
                )
            same = key == plan.key and old == generation
            meta.patterns[plan.pattern] = (plan.key, generation, since if same else meta.next)

    def _cache_key(self, slot: int, member: Member) -> cache.Key:
        return (self._job, slot, member.plan.key, member.generation)

    def _engine(self, slot: int, member: Member, meta: Meta) -> tuple[cache.Cached, int, bool]:
        """The engine of a pattern as of the log's end, how many entries it had to read, and whether it is new."""
        since = meta.patterns[member.plan.pattern][2]
        cached = cache.take(self._cache_key(slot, member))
        fresh = cached is None or cached.since != since or not self._seen(cached, meta)
        if cached is None or fresh:
            cached = cache.Cached(self._make(member.plan), since, max(since, meta.first), 0)
        start = cached.next
        for number in range(start, meta.next):
            token, watermark, payload = self._entry(number)
            tables = gather(from_payload(payload), self._times)
            for _ in push(cached.engine, member.plan, tables, watermark):
                pass  # matches of a batch that is done
            cached.next, cached.token = number + 1, token
        return cached, meta.next - start, fresh

    def _seen(self, cached: cache.Cached, meta: Meta) -> bool:
        """Whether the last entry that the engine saw is the one in the log."""
        if cached.next == meta.next:
            return cached.next == cached.since or cached.token == meta.token
        if cached.next > meta.next or cached.next < meta.first:
            return False
        if cached.next == cached.since:
            return True
        if cached.next == meta.first:
            return False  # the entry that would tell is deleted
        return bool(self._entry(cached.next - 1)[0] == cached.token)

    def _entry(self, number: int) -> tuple[int, int | None, bytes]:
        """A log entry: token, watermark, payload."""
        entry = self._log.getValue((number,))
        if entry is None:
            raise RuntimeError(f"log entry {number} is missing from the state: the checkpoint is damaged")
        token, watermark, payload = entry
        return token, watermark, bytes(payload)

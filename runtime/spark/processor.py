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

Spark visits a slot only when it gets events or a timer of it fires. So each slot that has state keeps one timer, at
most an hour of event time ahead (`ROUND`). When it fires, a slot that had no events is rid of what its windows have
left behind, and one whose last pattern was removed from the job of everything. Other batches do nothing for that.

Not guaranteed: entries are deleted from the front only, so with events out of order one may stay as long as one in
front of it. Where no stream has event time, no timer ever fires: what the last pattern of a key leaves there stays.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructType

from cep.plan import Plan
from runtime.spark import host
from runtime.spark.blobs import from_blob, to_blob, to_payload
from runtime.spark.cache import Engines, Key, Position
from runtime.spark.feed import without_late
from runtime.spark.layout import Group, Layout, Member
from runtime.spark.worker import settle

OUTPUT = (
    "pattern STRING, matches BIGINT, blob BINARY, "
    "events BIGINT, late BIGINT, entries BIGINT, log_bytes BIGINT, rebuilt BIGINT, caught_up BIGINT"
)
"""One row per pattern and blob of matches, and one without pattern per slot and batch, with what happened."""
_ROW = Row("pattern", "matches", "blob", "events", "late", "entries", "log_bytes", "rebuilt", "caught_up")
META_FORMAT = 1
ROUND = 3_600_000
"""How often the timer of a slot fires, in milliseconds of event time. A firing costs a few calls to the state."""

# Schemas as objects: text would be parsed by the JVM, once for each state, task and batch.
_NUMBER = StructType().add("number", LongType())
_ENTRY = StructType().add("token", LongType()).add("watermark", LongType()).add("payload", BinaryType())
_TIMES = StructType().add("newest", LongType()).add("bytes", LongType())
_META = (
    StructType()
    .add("format", IntegerType())
    .add("first", LongType())
    .add("next", LongType())
    .add("token", LongType())
    .add("bytes", LongType())
    .add("patterns", StringType())
)


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


@dataclass(slots=True)
class Accepted:
    """The events of a batch that are not late."""

    parts: list[tuple[str, bytes]]
    events: int
    late: int
    newest: int | None


class Matcher(StatefulProcessor):
    """See the module's text. `job` separates the cached engines of different queries.

    With `hosted`, engines live in processes of their own (`runtime.spark.host`), else in the Python worker.
    """

    def __init__(
        self,
        layout: Layout,
        job: str,
        on_pattern_change: str = "fail",
        make: Callable[[Plan], Any] = new_engine,
        *,
        hosted: bool = True,
    ) -> None:
        self._groups = layout.by_slot()
        self._times = {feed.stream.name: feed.stream.time for feed in layout.feeds}
        self._job = job
        self._on_change = on_pattern_change
        self._make = make
        self._hosted = hosted

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state."""
        self._handle = handle
        self._meta = handle.getValueState("meta", _META)
        self._log = handle.getMapState("log", _NUMBER, _ENTRY)
        self._newest = handle.getMapState("times", _NUMBER, _TIMES)

    def close(self) -> None:
        """Nothing to release: the engines stay."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """The matches of a slot's events of one batch."""
        slot = int(key[0])
        group = self._groups.get(slot)
        if group is None:
            return  # nothing is sent to a slot of a group that is gone
        watermark = self._watermark(timerValues)
        accepted = self._accept(rows, watermark)
        meta = Meta.read(self._meta)
        if not meta.patterns:
            self._look_again(watermark)
        self._admit(group, meta)
        number, token, payload = meta.next, secrets.randbits(62), to_payload(accepted.parts)
        rebuilt = caught_up = 0
        engines = host.engines(self._job, slot, self._times, self._make, hosted=self._hosted)
        try:
            for member in group.members:
                cache_key = (self._job, slot, member.plan.key, member.generation)
                replayed, fresh = self._catch_up(engines, cache_key, member, meta)
                rebuilt += fresh and replayed > 0
                caught_up += replayed
                if accepted.events:
                    for count, blob in engines.feed(cache_key, number, token, watermark, payload, emit=True):
                        yield _ROW(member.plan.pattern, count, blob, 0, 0, 0, 0, 0, 0)
        finally:
            engines.close()
        if accepted.events:
            self._append(meta, token, accepted.newest, watermark, payload)
        self._expire(group, meta, watermark)
        meta.write(self._meta)
        entries = meta.next - meta.first
        yield _ROW(None, 0, None, accepted.events, accepted.late, entries, meta.bytes, rebuilt, caught_up)
        settle()

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803, ARG002
    ) -> Iterator[Row]:
        """Drop what a slot no longer needs, which is everything if its group is gone. Emits nothing."""
        group = self._groups.get(int(key[0]))
        if group is None:
            for state in (self._meta, self._log, self._newest):
                state.clear()
        else:
            watermark = self._watermark(timerValues)
            self._look_again(watermark)
            meta = Meta.read(self._meta)
            self._admit(group, meta)
            self._expire(group, meta, watermark)
            meta.write(self._meta)
        return iter(())

    def _look_again(self, watermark: int | None) -> None:
        self._handle.registerTimer((watermark or 0) // 1000 + ROUND)

    # --- events ----------------------------------------------------------------------------------------------------

    def _watermark(self, timer_values: Any) -> int | None:
        millis = timer_values.getCurrentWatermarkInMs()
        return millis * 1000 if millis > 0 else None

    def _accept(self, rows: Iterator[Row], watermark: int | None) -> Accepted:
        """What is not late. A blob is opened only if there can be late events in it."""
        accepted = Accepted([], 0, 0, None)
        for row in rows:
            blob, count = bytes(row.blob), row.events
            if watermark is not None and row.oldest is not None and row.oldest < watermark:
                table, late = without_late(from_blob(blob), self._times[row.stream], watermark)
                accepted.late += late
                blob, count = to_blob(table), table.num_rows
            if count:
                accepted.parts.append((row.stream, blob))
                accepted.events += count
                if row.newest is not None:
                    accepted.newest = max(row.newest, accepted.newest or row.newest)
        return accepted

    # --- the log ---------------------------------------------------------------------------------------------------

    def _append(self, meta: Meta, token: int, newest: int | None, watermark: int | None, payload: bytes) -> None:
        self._log.updateValue((meta.next,), (token, watermark, payload))
        self._newest.updateValue((meta.next,), (newest, len(payload)))
        meta.next, meta.token, meta.bytes = meta.next + 1, token, meta.bytes + len(payload)

    def _expire(self, group: Group, meta: Meta, watermark: int | None) -> None:
        """Delete from the front of the log what no pattern needs: it began later, or its window has moved on."""
        needs = []
        for member in group.members:
            window = member.plan.window
            oldest = -math.inf if window is None or watermark is None else watermark - window
            needs.append((meta.patterns[member.plan.pattern][2], oldest))
        while meta.first < meta.next:
            oldest = min((oldest for since, oldest in needs if since <= meta.first), default=math.inf)
            if oldest == -math.inf:
                return
            newest, size = self._newest.getValue((meta.first,)) or (None, 0)
            if newest is not None and newest >= oldest:
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

    def _catch_up(self, engines: Engines, key: Key, member: Member, meta: Meta) -> tuple[int, bool]:
        """Bring the engine of a pattern to the log's end: how many entries it had to read, and whether it is new."""
        since = meta.patterns[member.plan.pattern][2]
        position = engines.position(key)
        fresh = position is None or position.since != since or not self._seen(position, meta)
        if position is None or fresh:
            position = Position(since, max(since, meta.first), 0)
            engines.create(key, member.plan, position)
        for number in range(position.next, meta.next):
            token, watermark, payload = self._entry(number)
            for _ in engines.feed(key, number, token, watermark, payload, emit=False):
                pass
        return meta.next - position.next, fresh

    def _seen(self, position: Position, meta: Meta) -> bool:
        """Whether the last entry that the engine saw is the one in the log."""
        if position.next == meta.next:
            return position.next == position.since or position.token == meta.token
        if position.next > meta.next or position.next < meta.first:
            return False
        if position.next == position.since:
            return True
        if position.next == meta.first:
            return False  # the entry that would tell is deleted
        return bool(self._entry(position.next - 1)[0] == position.token)

    def _entry(self, number: int) -> tuple[int, int | None, bytes]:
        """A log entry: token, watermark, payload."""
        entry = self._log.getValue((number,))
        if entry is None:
            raise RuntimeError(f"log entry {number} is missing from the state: the checkpoint is damaged")
        token, watermark, payload = entry
        return token, watermark, bytes(payload)

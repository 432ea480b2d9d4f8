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
most an hour of event time ahead (`runtime.spark.state.timers`). When it fires, a slot that had no events is rid of what
its windows have left behind, and one whose last pattern was removed from the job of everything. Other batches do
nothing for that.

Where patterns hold events back (`runtime.settle`), the timer of a slot is set to the moment at which the first of them
is due. When it fires, the engines get the watermark, and the log an entry without events that says so: an engine that
is built anew from the log has settled what was settled before, entry by entry, and nothing is put out twice. Events are
logged for as long as what waits may ask about them (`Member.keep`).

Late events are counted once, by the first group of patterns that gets them (`runtime.spark.flow.pack`), and with
`keep_late` they leave as blobs beside the matches, in the same batch.

Not guaranteed: entries are deleted from the front only, so with events out of order one may stay as long as one in
front of it. Where no stream has event time, no timer ever fires: what the last pattern of a key leaves there stays.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, LongType, StringType, StructType

from cep.ir.plan import Plan
from runtime.spark.blobs import from_blob, to_blob, to_payload
from runtime.spark.layout import Group, Layout, Member
from runtime.spark.state import host, timers
from runtime.spark.state.cache import Engines, Key, Position, Waiting, new_engine
from runtime.spark.state.feed import bits, late_events
from runtime.spark.worker import settle

OUTPUT = (
    "pattern STRING, stream STRING, matches BIGINT, blob BINARY, watermark BIGINT, "
    "events BIGINT, late BIGINT, ties BIGINT, entries BIGINT, log_bytes BIGINT, rebuilt BIGINT, caught_up BIGINT, "
    "slot BIGINT, waiting BIGINT, due BIGINT"
)
"""What leaves the operator: a row per pattern and blob of matches; one per stream and blob of late events, with the
watermark that they met; one per stream that has ties, named by the first pattern of the slot's group; and one per slot
and batch, without pattern, stream and blob, with what happened. That one has `slot` and what it holds back, where some
pattern of it waits."""
_NAMES = tuple(column.split()[0] for column in OUTPUT.split(", "))
_ROW = Row(*_NAMES)
_EMPTY = dict.fromkeys(("pattern", "stream", "blob", "watermark", "slot", "waiting", "due"))


def output(**values: Any) -> Row:
    """A row of `OUTPUT`: what is not given is NULL, or 0 where it is a count."""
    return _ROW(*(values.get(name, _EMPTY.get(name, 0)) for name in _NAMES))


META_FORMAT = 1

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


def _waiting(engines: Engines, keys: Sequence[Key]) -> Waiting:
    """What engines hold back together."""
    found = [engines.waiting(key) for key in keys]
    return Waiting(
        sum(each.rows for each in found), min((each.due for each in found if each.due is not None), default=None)
    )


def _is_due(due: int | None, watermark: int | None) -> bool:
    return due is not None and watermark is not None and due <= watermark


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
    """The events of a batch that are not late; how many are, of those that are to be told here, and which they are."""

    parts: list[tuple[str, bytes]] = field(default_factory=list)
    events: int = 0
    newest: int | None = None
    late: int = 0
    told: list[tuple[str, pa.Table]] = field(default_factory=list)


class Matcher(StatefulProcessor):
    """See the module's text. `job` separates the cached engines of different queries.

    With `hosted`, engines live in processes of their own (`runtime.spark.state.host`), else, and those of another
    `make`, in the Python worker.
    """

    def __init__(
        self,
        layout: Layout,
        job: str,
        on_pattern_change: str = "fail",
        make: Callable[[Plan], Any] = new_engine,
        *,
        hosted: bool = True,
        keep_late: bool = False,
    ) -> None:
        self._groups = layout.by_slot()
        self._times = {feed.stream.name: feed.stream.time for feed in layout.feeds}
        self._columns = {feed.stream.name: [name for name, _ in feed.columns] for feed in layout.feeds}
        self._job = job
        self._on_change = on_pattern_change
        self._make = make
        self._hosted = hosted
        self._keep_late = keep_late

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
        if not meta.patterns and not group.waits:
            timers.look_again(self._handle, watermark)
        yield from self._visit(slot, group, meta, watermark, accepted)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """Apply what a slot held back and is due by now, and drop what it no longer needs.

        That is everything if its group is gone.
        """
        slot = int(key[0])
        group = self._groups.get(slot)
        if group is None:
            for state in (self._meta, self._log, self._newest):
                state.clear()
            return
        watermark = self._watermark(timerValues)
        meta = Meta.read(self._meta)
        if group.waits:
            yield from self._visit(slot, group, meta, watermark, Accepted(), expiredTimerInfo.getExpiryTimeInMs())
            return
        timers.look_again(self._handle, watermark)
        self._admit(group, meta)
        self._expire(group, meta, watermark)
        meta.write(self._meta)

    def _visit(
        self,
        slot: int,
        group: Group,
        meta: Meta,
        watermark: int | None,
        accepted: Accepted,
        fired: int | None = None,
    ) -> Iterator[Row]:
        """Bring a slot up to date with a batch, which may be no more than a watermark that something waited for."""
        self._admit(group, meta)
        number, token, payload = meta.next, secrets.randbits(62), to_payload(accepted.parts)
        keys = {m.plan.pattern: (self._job, slot, m.plan.layout, m.generation) for m in group.members}
        held = [keys[member.plan.pattern] for member in group.members if member.plan.hold is not None]
        rebuilt = caught_up = 0
        engines = host.engines(self._job, slot, self._times, self._make, hosted=self._hosted)
        try:
            for member in group.members:
                replayed, fresh = self._catch_up(engines, keys[member.plan.pattern], member, meta)
                rebuilt += fresh and replayed > 0
                caught_up += replayed
            settles = not accepted.events and _is_due(_waiting(engines, held).due, watermark)
            if accepted.events or settles:
                for name, cache_key in keys.items():
                    for count, blob in engines.feed(cache_key, number, token, watermark, payload, emit=True):
                        yield output(pattern=name, matches=count, blob=blob)
            unordered = group.unordered
            if accepted.events and unordered:
                for stream, ties in engines.ties(unordered).items():
                    if ties:
                        yield output(pattern=group.members[0].plan.pattern, stream=stream, ties=ties)
            waiting = _waiting(engines, held)
        finally:
            engines.close()
        if accepted.events or settles:
            self._append(meta, token, accepted.newest, watermark, payload)
        self._expire(group, meta, watermark)
        meta.write(self._meta)
        if group.waits:
            timers.arm(self._handle, watermark, waiting.due, fired)
        for stream, table in accepted.told:
            yield output(stream=stream, blob=to_blob(table), watermark=watermark)
        yield output(
            events=accepted.events,
            late=accepted.late,
            entries=meta.next - meta.first,
            log_bytes=meta.bytes,
            rebuilt=rebuilt,
            caught_up=caught_up,
            **({"slot": slot, "waiting": waiting.rows, "due": waiting.due} if group.waits else {}),
        )
        settle()

    # --- events ----------------------------------------------------------------------------------------------------

    def _watermark(self, timer_values: Any) -> int | None:
        millis = timer_values.getCurrentWatermarkInMs()
        return millis * 1000 if millis > 0 else None

    def _accept(self, rows: Iterator[Row], watermark: int | None) -> Accepted:
        """What is not late. A blob is opened only if there can be late events in it."""
        accepted = Accepted()
        for row in rows:
            blob, count = bytes(row.blob), row.events
            if watermark is not None and row.oldest is not None and row.oldest < watermark:
                table = from_blob(blob)
                late = late_events(table, self._times[row.stream], watermark)
                self._tell(accepted, row, table, late)
                table = table.filter(pa.array(~late))
                blob, count = to_blob(table), table.num_rows
            if count:
                accepted.parts.append((row.stream, blob))
                accepted.events += count
                if row.newest is not None:
                    accepted.newest = max(row.newest, accepted.newest or row.newest)
        return accepted

    def _tell(self, accepted: Accepted, row: Row, table: pa.Table, late: npt.NDArray[np.bool_]) -> None:
        """Count late events, and keep them where they are wanted, as far as no other group does that."""
        first = bits(row.first, table.num_rows)
        told = late & first
        count = int(np.count_nonzero(told))
        accepted.late += count
        if not (count and self._keep_late):
            return
        whole = table.filter(pa.array(told))
        if row.rest is not None:
            rest = from_blob(bytes(row.rest)).filter(pa.array(late[first]))
            for name in rest.schema.names:
                whole = whole.append_column(name, rest.column(name))
        accepted.told.append((row.stream, whole.select(self._columns[row.stream])))

    # --- the log ---------------------------------------------------------------------------------------------------

    def _append(self, meta: Meta, token: int, newest: int | None, watermark: int | None, payload: bytes) -> None:
        self._log.updateValue((meta.next,), (token, watermark, payload))
        self._newest.updateValue((meta.next,), (newest, len(payload)))
        meta.next, meta.token, meta.bytes = meta.next + 1, token, meta.bytes + len(payload)

    def _expire(self, group: Group, meta: Meta, watermark: int | None) -> None:
        """Delete from the front of the log what no pattern needs: it began later, or its window has moved on.

        An entry without events, which passed a watermark on, goes with those before it: they are what it settled.
        """
        needs = []
        for member in group.members:
            keep = member.keep
            oldest = -math.inf if keep is None or watermark is None else watermark - keep
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
            key, old, since = known.get(plan.pattern, (plan.meaning, generation, meta.next))
            if not plan.is_of(key) and old == generation and self._on_change == "fail":
                raise PatternChangedError(
                    f"pattern `{plan.pattern}` is not the one this checkpoint was written with: start with a new "
                    "checkpoint, or let it forget what it saw with on_pattern_change=restart"
                )
            same = plan.is_of(key) and old == generation
            meta.patterns[plan.pattern] = (plan.meaning, generation, since if same else meta.next)

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

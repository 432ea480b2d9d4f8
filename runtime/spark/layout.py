"""What a job is made of: which events go where, worked out once on the driver from the patterns' plans.

Patterns with the same partition key form a *group*: their events are packed once and logged once. Each group has a
fixed number of buckets, and each bucket a *slot*, the 64-bit number that Spark groups by. A slot depends on nothing but
the group's key, the bucket and the number of buckets, so adding or removing a pattern moves nobody else's state. Slots
are chosen so that Spark's own hash puts bucket `b` into shuffle partition `b` of as many as there are buckets (Spark
would otherwise leave some cores two buckets and others none).

A pattern without a partition key is a group of its own with one bucket.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cep.ir.model import Stream
from cep.ir.plan import Plan, canonical
from cep.ir.types import Type, common_type
from runtime.spark.sql import bucket, prefilter, quote

_SEED = 42  # what Spark's hash partitioning starts from
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A pattern in a job. A new `generation` of the same pattern starts without what an older one remembers."""

    plan: Plan
    generation: int = 0

    @property
    def keep(self) -> int | None:
        """How far behind the watermark events are needed to build the engine anew, in microseconds; None for ever.

        Where rows wait, a DISTINCT tuple that was put out is alive to them for so much longer, and whether it was put
        out depends on the gaps of its events, which reach a window further back.
        """
        plan = self.plan
        kept = [plan.keep(leaf.var) for leaf in plan.leaves]
        if plan.hold is not None and plan.merges and plan.window is not None:
            kept.append(2 * plan.window + plan.hold)
        return None if None in kept else max(each for each in kept if each is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Patterns that share a partition key, and with it packed events and a log."""

    name: str
    key: tuple[tuple[str, tuple[str, ...]], ...] | None
    types: tuple[Type, ...]
    members: tuple[Member, ...]
    slots: tuple[int, ...]

    def columns(self, stream: str) -> tuple[tuple[str, Type], ...]:
        """The attributes of a stream that some pattern of the group needs, in declared order."""
        plans = [member.plan for member in self.members if any(leaf.stream == stream for leaf in member.plan.leaves)]
        wanted = {column for plan in plans for column in plan.needed_columns(stream)}
        declared = plans[0].stream(stream).columns if plans else ()
        return tuple(column for column in declared if column in wanted)

    @property
    def unordered(self) -> dict[str, tuple[str, ...]]:
        """The streams whose events a SEQ compares with each other without an order at ties, and their key here."""
        names = sorted({name for member in self.members for name in member.plan.unordered})
        return {name: dict(self.key or ()).get(name, ()) for name in names}

    @property
    def waits(self) -> bool:
        """Whether some pattern holds events back until the watermark has passed them."""
        return any(member.plan.hold is not None for member in self.members)

    @property
    def streams(self) -> frozenset[str]:
        """The streams whose events the group takes."""
        return frozenset(leaf.stream for member in self.members for leaf in member.plan.leaves)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the events of one stream go in one group.

    `place` is a SQL expression: the bucket, NULL for an event that no pattern of the group can use.
    """

    place: str
    slots: tuple[int, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """One stream of the job: the columns to read and where its events go."""

    stream: Stream
    columns: tuple[tuple[str, Type], ...]
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A whole job. `feeds` are in order of the streams' names: Spark's checkpoint numbers the sources."""

    groups: tuple[Group, ...]
    feeds: tuple[Feed, ...]
    buckets: int

    def by_slot(self) -> dict[int, Group]:
        """The group behind each slot."""
        return {slot: group for group in self.groups for slot in group.slots}


def layout(
    members: Sequence[Member], streams: Mapping[str, Stream], buckets: int, *, every_column: bool = False
) -> Layout:
    """The layout of a job over `streams`, which may be more than the patterns use.

    With `every_column`, all declared attributes are read, not only those that a pattern needs.
    """
    grouped: dict[str, list[Member]] = {}
    for member in members:
        grouped.setdefault(group_name(member.plan), []).append(member)
    groups = tuple(_group(name, grouped[name], buckets) for name in sorted(grouped))
    feeds = tuple(_feed(streams[name], groups, every_column) for name in sorted(streams))
    return Layout(groups=groups, feeds=feeds, buckets=buckets)


def group_name(plan: Plan) -> str:
    """A name that patterns with the same partition key share, in every version of the job."""
    if plan.partition_key is None:
        return f"pattern:{plan.pattern}"
    what = canonical((tuple(sorted(plan.partition_key)), key_types(plan)))
    return "key:" + hashlib.sha256(what.encode()).hexdigest()[:16]


def key_types(plan: Plan) -> tuple[Type, ...]:
    """The type in which each part of the partition key is compared across streams."""
    types: list[Type] = []
    for name, attributes in plan.partition_key or ():
        found = [plan.stream(name).type_of(attribute) for attribute in attributes]
        for place, type_ in enumerate(found):
            assert type_ is not None
            if place == len(types):
                types.append(type_)
            else:
                types[place] = common_type(types[place], type_) or type_
    return tuple(types)


def _group(name: str, members: Iterable[Member], buckets: int) -> Group:
    ordered = tuple(sorted(members, key=lambda member: member.plan.pattern))
    plan = ordered[0].plan
    count = buckets if plan.partition_key is not None else 1
    return Group(
        name=name,
        key=plan.partition_key,
        types=key_types(plan),
        members=ordered,
        slots=tuple(slot(name, number, count, buckets) for number in range(count)),
    )


def _feed(stream: Stream, groups: Iterable[Group], every_column: bool) -> Feed:
    targets = []
    wanted = {(stream.time, Type.TIMESTAMP)} if stream.time is not None else set()
    for group in groups:
        if stream.name not in group.streams:
            continue
        columns = group.columns(stream.name)
        wanted.update(columns)
        leaves = [leaf for member in group.members for leaf in member.plan.leaves if leaf.stream == stream.name]
        # Leaves often differ in their variable only: the text tells.
        useful = " OR ".join(dict.fromkeys(f"({prefilter(leaf.filter)})" for leaf in leaves))
        place = "0"
        if group.key is not None:
            types = dict(stream.columns)
            place = bucket(
                [(name, types[name]) for name in dict(group.key)[stream.name]], group.types, len(group.slots)
            )
        targets.append(
            Target(
                place=f"CASE WHEN {useful} THEN {place} END",
                slots=group.slots,
                columns=tuple(name for name, _ in columns),
            )
        )
    chosen = tuple(column for column in stream.columns if every_column or column in wanted) or stream.columns[:1]
    return Feed(stream=stream, columns=chosen, targets=tuple(targets))


# --- slots ---------------------------------------------------------------------------------------------------------


def slot(group: str, number: int, count: int, partitions: int) -> int:
    """The slot of bucket `number` of `count`, which Spark's hash sends to shuffle partition `number % partitions`.

    A single bucket goes to a partition that its group's name chooses. Takes `partitions` attempts on average.
    """
    first = hashlib.sha256(f"{group}|{number}|{count}".encode()).digest()
    wanted = (number if count > 1 else int.from_bytes(first[8:12], "big")) % partitions
    candidate = int.from_bytes(first[:8], "big", signed=True)
    while murmur3_long(candidate) % partitions != wanted:
        candidate = (candidate + 1 + (1 << 63)) % (1 << 64) - (1 << 63)
    return candidate


def murmur3_long(value: int, seed: int = _SEED) -> int:
    """Spark's `hash(BIGINT)`: Murmur3 (32 bit) of the eight bytes, as a signed number.

    >>> murmur3_long(0), murmur3_long(-1)
    (-1670924195, -939490007)
    """
    h = seed
    for word in (value & _MASK, (value >> 32) & _MASK):
        k = word * 0xCC9E2D51 & _MASK
        k = ((k << 15 | k >> 17) & _MASK) * 0x1B873593 & _MASK
        h ^= k
        h = (h << 13 | h >> 19) & _MASK
        h = (h * 5 + 0xE6546B64) & _MASK
    h ^= 8
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h & 0x80000000 else h


def quoted(columns: Iterable[str]) -> str:
    """A list of names for SQL."""
    return ", ".join(quote(name) for name in columns)

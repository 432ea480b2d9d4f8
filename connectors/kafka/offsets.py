"""Which offsets a batch reads: pure functions over positions.

Positions are what Spark keeps in its checkpoint: the next offset of each partition, and beside them the ids of the
topic and of the cluster, `{"topic": {"0": 12, ..., "id": "Zk3v..."}, "": {"cluster": "5L6g..."}}`. Offsets mean nothing
without them: a topic that was deleted and made anew has other records at the same offsets. Checkpoints of earlier
versions have no ids; they learn them with the next batch.

The start of a batch is the end of the one before, except for the first: Spark asks where to start when it plans it, and
again whenever it runs it, and retention may have moved the beginning in between. So the end of the first batch also
says where that batch starts (`with_start`).

Where a stream is promised not to be late (`heartbeatDelay`), the end of a batch also has a *beat*: a moment, in
milliseconds, at which the topics ended where the batch does. So it is known, and known again when the batch is run once
more, that everything that had arrived by then was read.

A partition that appears while a query runs is first written down at its beginning, with nothing read, and read from the
batch after: so a batch that is replayed reads what it read before, whatever retention did since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connectors.kafka.cluster import Identity, Partition
from connectors.kafka.config import KafkaFailureError

Positions = dict[Partition, int]


@dataclass(frozen=True, slots=True)
class Loss:
    """Records of a partition that a query should have read and never can."""

    topic: str
    partition: int
    wanted: int
    found: int | None

    def __str__(self) -> str:
        where = f"{self.topic}[{self.partition}]"
        if self.found is None:
            return f"{where} is gone (the query was at offset {self.wanted})"
        if self.found < self.wanted:
            return f"{where} ends at offset {self.found}, before {self.wanted} where the query was: it was made anew"
        gone = self.found - self.wanted
        return f"{where} begins at offset {self.found}: {gone:,} offsets from {self.wanted} on are gone"


@dataclass(frozen=True, slots=True)
class Replaced:
    """A topic that is not the one that a query read."""

    topic: str
    before: str
    now: str

    def __str__(self) -> str:
        return f"{self.topic} was deleted and made anew (it had the id {self.before}, now it has {self.now})"


@dataclass(frozen=True, slots=True)
class Moved:
    """A cluster that is not the one that a query read from."""

    before: str
    now: str

    def __str__(self) -> str:
        return f"the checkpoint was written with the cluster {self.before}, this is the cluster {self.now}"


class DataLossError(KafkaFailureError):
    """Retention or a deleted topic overtook the query."""

    def __init__(self, losses: Sequence[Loss | Replaced | Moved]) -> None:
        super().__init__(
            "events were lost before they were read: "
            + "; ".join(map(str, losses))
            + ". Lengthen the topic's retention, or name the right cluster and topic. To go on with what is there (a "
            "topic that was made anew from its beginning), use --on-data-loss continue (option failOnDataLoss=false); "
            "matches that need the lost events will be missing"
        )


Offsets = dict[str, dict[str, Any]]
"""Positions as Spark writes them down."""


def encode(positions: Positions, identity: Identity | None = None, *, first: bool = False) -> Offsets:
    """Positions as Spark writes them down; `first`: where a query starts.

    >>> encode({("b", 0): 1, ("a", 10): 2, ("a", 9): 3})
    {'a': {'9': 3, '10': 2}, 'b': {'0': 1}}
    >>> encode({("a", 0): 1}, Identity("C", {"a": "Zk3v"}))
    {'a': {'0': 1, 'id': 'Zk3v'}, '': {'cluster': 'C'}}
    """
    written: Offsets = {}
    for (topic, partition), offset in sorted(positions.items()):
        written.setdefault(topic, {})[str(partition)] = offset
    if identity is not None:
        for topic, places in written.items():
            if topic in identity.topics:
                places["id"] = identity.topics[topic]
        if identity.cluster is not None:
            written[""] = {"cluster": identity.cluster}
    if first:
        written.setdefault("", {})["first"] = "true"
    return written


def is_first(written: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether these are the positions where a query starts."""
    return "first" in written.get("", {})


def with_start(written: Offsets, start: Positions) -> Offsets:
    """The end of the first batch, which says where the batch starts.

    >>> end = with_start(encode({("a", 0): 7}), {("a", 0): 3})
    >>> end, start_of(end)
    ({'a': {'0': 7}, '': {'start': '{"a": {"0": 3}}'}}, {('a', 0): 3})
    """
    return {**written, "": {**written.get("", {}), "start": json.dumps(encode(start))}}


def start_of(written: Mapping[str, Mapping[str, Any]]) -> Positions | None:
    """Where the batch starts that ends here, None where the batch before says so."""
    start = written.get("", {}).get("start")
    return None if start is None else decode(json.loads(start))


def with_beat(written: Offsets, beat: int | None) -> Offsets:
    """Positions at which everything was read that had arrived at a moment; None: at none that is known.

    >>> end = with_beat(encode({("a", 0): 7}), 1_900_000_000_000)
    >>> end, beat_of(end), decode(end)
    ({'a': {'0': 7}, '': {'beat': 1900000000000}}, 1900000000000, {('a', 0): 7})
    """
    return written if beat is None else {**written, "": {**written.get("", {}), "beat": beat}}


def beat_of(written: Mapping[str, Mapping[str, Any]]) -> int | None:
    """The last moment for which everything was read that had arrived by then."""
    beat = written.get("", {}).get("beat")
    return None if beat is None else int(beat)


def same(one: Mapping[str, Mapping[str, Any]], other: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether positions, beats, and what is known of ids, are the same: then there is nothing new to read."""
    return (decode(one), identity_of(one), beat_of(one)) == (decode(other), identity_of(other), beat_of(other))


def decode(written: Mapping[str, Mapping[str, Any]]) -> Positions:
    """Positions as Spark wrote them down."""
    return {
        (topic, int(number)): int(offset)
        for topic, of in written.items()
        for number, offset in of.items()
        if topic and number.isdigit()
    }


def identity_of(written: Mapping[str, Mapping[str, Any]]) -> Identity:
    """The ids that were written down with positions, as far as they were."""
    topics = {topic: str(places["id"]) for topic, places in written.items() if topic and "id" in places}
    return Identity(written.get("", {}).get("cluster"), topics)


def changes(before: Identity, now: Identity) -> list[Replaced | Moved]:
    """What is not what it was; what was not known before is no change."""
    found: list[Replaced | Moved] = []
    if before.cluster is not None and now.cluster is not None and before.cluster != now.cluster:
        found.append(Moved(before.cluster, now.cluster))
    for topic, was in sorted(before.topics.items()):
        if now.topics.get(topic, was) != was:
            found.append(Replaced(topic, was, now.topics[topic]))
    return found


def stale_topics(before: Identity, now: Identity, topics: Iterable[str]) -> set[str]:
    """The topics whose offsets mean nothing any more: they were made anew, or are another cluster's."""
    found = changes(before, now)
    replaced = {change.topic for change in found if isinstance(change, Replaced)}
    if any(isinstance(change, Moved) for change in found):
        replaced |= {name for name in topics if now.topics.get(name) != before.topics.get(name, "")}
    return replaced


def is_new(loss: Loss) -> bool:
    """Whether the partition is another one than the query knew."""
    return loss.found is not None and loss.found < loss.wanted


def lost(start: Positions, begin: Positions, end: Positions) -> list[Loss]:
    """What of `start` cannot be read any more, given where the partitions now begin and end."""
    losses = []
    for (topic, partition), offset in sorted(start.items()):
        low, high = begin.get((topic, partition)), end.get((topic, partition))
        if low is None or high is None:
            losses.append(Loss(topic, partition, offset, None))
        elif low > offset:
            losses.append(Loss(topic, partition, offset, low))
        elif high < offset:
            losses.append(Loss(topic, partition, offset, high))
    return losses


def advance(start: Positions, begin: Positions, end: Positions, limit: int | None) -> Positions:
    """Where a batch ends that starts at `start`, reading at most `limit` offsets.

    The limit is shared out in proportion to what each partition has; each that has anything gets at least one, as long
    as the limit lasts. Partitions that are not in `start` are put at their beginning.

    >>> advance({("t", 0): 0, ("t", 1): 0}, {}, {("t", 0): 90, ("t", 1): 10}, 10)
    {('t', 0): 9, ('t', 1): 1}
    >>> advance({("t", 0): 5}, {("t", 1): 3}, {("t", 0): 5, ("t", 1): 9}, None)
    {('t', 0): 5, ('t', 1): 3}
    """
    reached = dict(start)
    ahead = {place: end[place] - offset for place, offset in start.items() if end.get(place, 0) > offset}
    total = sum(ahead.values())
    left = total if limit is None else min(limit, total)
    share = left / total if total else 0.0
    for place, available in sorted(ahead.items(), key=lambda item: item[1]):
        taken = min(available, left, max(1, int(available * share)))
        reached[place] += taken
        left -= taken
    for place, available in sorted(ahead.items(), key=lambda item: -item[1]):
        if left <= 0:
            break
        more = min(left, available - (reached[place] - start[place]))
        reached[place] += more
        left -= more
    for place in end:
        if place not in reached:
            reached[place] = begin[place]
    return dict(sorted(reached.items()))

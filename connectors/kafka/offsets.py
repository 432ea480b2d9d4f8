"""Which offsets a batch reads: pure functions over positions.

Positions are what Spark keeps in its checkpoint, `{"topic": {"0": 12, ...}}`: the next offset of each partition.

A partition that appears while a query runs is first written down at its beginning, with nothing read, and read from the
batch after: so a batch that is replayed reads what it read before, whatever retention did since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connectors.kafka.cluster import Partition
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


class DataLossError(KafkaFailureError):
    """Retention or a deleted topic overtook the query."""

    def __init__(self, losses: list[Loss]) -> None:
        super().__init__(
            "events were lost before they were read: "
            + "; ".join(map(str, losses))
            + ". Lengthen the topic's retention. To go on with what is left, set fail-on-data-loss to false; "
            "matches that need the lost events will be missing"
        )


def encode(positions: Positions) -> dict[str, dict[str, int]]:
    """Positions as Spark writes them down.

    >>> encode({("b", 0): 1, ("a", 10): 2, ("a", 9): 3})
    {'a': {'9': 3, '10': 2}, 'b': {'0': 1}}
    """
    written: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(positions.items()):
        written.setdefault(topic, {})[str(partition)] = offset
    return written


def decode(written: Mapping[str, Mapping[str, int]]) -> Positions:
    """Positions as Spark wrote them down."""
    return {(topic, int(number)): int(offset) for topic, of in written.items() for number, offset in of.items()}


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

"""What is true of a set of events, and from which push to which.

`Truth` holds the combinations that DuckDB found for a pattern in a set of events. One query answers for every order of
arrival, every prefix, with and without deletions and late events: the matches of some events are the combinations
whose rows are all among them. So a combination is there *from* the push that brings the last of its rows, *to* the push
that takes the first of them away, and an engine can be held to that after every single push (`presences`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cep.ir.expr import Value
from tests.oracle.events import Row

Arrival = tuple[int, str, Row]
"""Sign, stream, event."""
NEVER = 1 << 60
"""The number of a push that does not come."""


class Presence(NamedTuple):
    """A combination that is among the matches at the end of some pushes."""

    since: int
    """The push that makes it a match."""
    until: int
    """The push that takes it back; `NEVER`."""
    values: tuple[Value, ...]
    """Start, end and fields."""


class Truth:
    """The combinations of a pattern over a set of events: the rows of each, by identity, with start, end and fields."""

    __slots__ = ("combinations", "distinct")

    def __init__(self, distinct: bool) -> None:
        self.distinct = distinct
        self.combinations: list[tuple[tuple[int, ...], tuple[Value, ...]]] = []

    def bag(self, events: Mapping[str, Sequence[Row]]) -> list[tuple[Value, ...]]:
        """Start, end and fields of each combination of these events, which are rows of the set."""
        there = {id(row) for rows in events.values() for row in rows}
        return [found for rows, found in self.combinations if there.issuperset(rows)]

    def matches(self, events: Mapping[str, Sequence[Row]]) -> list[tuple[Value, ...]]:
        """The fields that the pattern gives, once each for DISTINCT."""
        found = [row[2:] for row in self.bag(events)]
        return list(dict.fromkeys(found)) if self.distinct else found

    def presences(self, pushed: Sequence[Sequence[Arrival]]) -> list[Presence]:
        """When each combination is among the matches, given what the pushes brought and took away.

        A match that waits for its gaps to close (language.md, section 1.4) would begin later: at the first push whose
        watermark reaches what it is due at. That goes here.
        """
        came: dict[int, int] = {}
        gone: dict[int, int] = {}
        for number, arrivals in enumerate(pushed):
            for sign, _, row in arrivals:
                (came if sign > 0 else gone)[id(row)] = number
        found = []
        for rows, values in self.combinations:
            since = max([came.get(row, NEVER) for row in rows])
            until = min([gone.get(row, NEVER) for row in rows]) if gone else NEVER
            if since < until:
                found.append(Presence(since, until, values))
        return found

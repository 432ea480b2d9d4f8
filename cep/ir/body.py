"""The body of a pattern, in the shape that it was written in: what has to happen, in which order.

A pattern keeps its shape until branches are made; what follows from the shape is derived here and nowhere else: which
variables bind single events, which pairs of them `SEQ` orders, and where the gap of each other step lies.

*Single events* (`One`) are bound one by one. `Absent` (`NOT B b`) and `Many` (`B+ b`, `B{2,5} b`, `RUN(...)`) are *gap
steps*: they speak of all events that lie in their gap and never multiply matches. `SEQ` looks through gap steps: the
events before and after them are neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise, product


class Select(Enum):
    """Which of the events that could stand in a step's place: no earlier one, or no later one."""

    FIRST = "FIRST"
    LAST = "LAST"


@dataclass(frozen=True, slots=True)
class One:
    """`B b`: one event. With `select`, `FIRST(B b)` or `LAST(B b)`."""

    var: str
    select: Select | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """`NOT B b`: no event in the gap."""

    var: str


@dataclass(frozen=True, slots=True)
class Many:
    """`B{least,most} b`: all events in the gap, so many; `most` is None where there is no limit.

    With `run` they are unbroken: `RUN(B{least,most} b)`.
    """

    var: str
    least: int
    most: int | None
    run: bool = False


@dataclass(frozen=True, slots=True)
class Seq:
    """Every event of an item is later than every event of the item before it."""

    items: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class All:
    """`AND`: the items in any order."""

    items: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """`OR`: one of the items. Gone once branches are made."""

    items: tuple[Body, ...]


Body = One | Absent | Many | Seq | All | Any
Gap = Absent | Many


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the gap of a step lies: after all events of `after`, before all events of `before`.

    These are variables of single events. `beside` are sets: a NOT next to a set lies between its last (or first) event
    and the neighbour; (-1, f) says "after the last of f", (1, f) "before the first of f".
    """

    step: Gap
    after: tuple[str, ...]
    before: tuple[str, ...]
    beside: tuple[tuple[int, str], ...] = ()


def singles(body: Body) -> tuple[str, ...]:
    """The variables that bind one event each, as written.

    >>> singles(Seq((One("a"), Absent("b"), All((One("c"), Many("d", 1, None))))))
    ('a', 'c')
    """
    return tuple(step.var for step in steps(body) if isinstance(step, One))


def steps(body: Body) -> Iterator[One | Gap]:
    """Every step, as written."""
    if isinstance(body, (Seq, All, Any)):
        for item in body.items:
            yield from steps(item)
    else:
        yield body


def order(body: Body) -> tuple[tuple[str, str], ...]:
    """(earlier, later) pairs of single events of neighbouring items of each `SEQ`.

    >>> order(Seq((One("a"), Absent("x"), All((One("b"), One("c"))), One("d"))))
    (('a', 'b'), ('a', 'c'), ('b', 'd'), ('c', 'd'))
    """
    if not isinstance(body, (Seq, All, Any)):
        return ()
    found = [pair for item in body.items for pair in order(item)]
    if isinstance(body, Seq):
        items = [names for item in body.items if (names := singles(item))]
        for earlier, later in pairwise(items):
            found += product(earlier, later)
    return tuple(found)


def places(body: Body) -> tuple[Place, ...]:
    """Where each gap lies, as written.

    >>> [(p.step.var, p.after, p.before) for p in places(Seq((One("a"), Absent("b"), One("c"), Absent("d"))))]
    [('b', ('a',), ('c',)), ('d', ('c',), ())]
    """
    return tuple(_places(body, (), (), ()))


def _places(
    body: Body, after: tuple[str, ...], before: tuple[str, ...], beside: tuple[tuple[int, str], ...]
) -> Iterator[Place]:
    """`after` and `before` are what the SEQs around say; the innermost that says something counts."""
    if isinstance(body, (Absent, Many)):
        yield Place(step=body, after=after, before=before, beside=beside if isinstance(body, Absent) else ())
    elif isinstance(body, (All, Any)):
        for item in body.items:
            yield from _places(item, after, before, beside)
    elif isinstance(body, Seq):
        for number, item in enumerate(body.items):
            earlier = [singles(other) for other in body.items[:number]]
            later = [singles(other) for other in body.items[number + 1 :]]
            near = [(-1, s) for s in _sets_next_to(body.items[:number][::-1])]
            near += [(1, s) for s in _sets_next_to(body.items[number + 1 :])]
            inside = next((names for names in reversed(earlier) if names), after)
            until = next((names for names in later if names), before)
            kept = [(side, name) for side, name in beside if (inside if side < 0 else until) in (after, before)]
            yield from _places(item, inside, until, tuple(near or kept))


def _sets_next_to(items: tuple[Body, ...]) -> Iterator[str]:
    """The sets of the nearest item that has an event; NOTs are looked through."""
    for item in items:
        sets = [step.var for step in steps(item) if isinstance(step, Many)]
        yield from sets
        if sets or singles(item):
            return

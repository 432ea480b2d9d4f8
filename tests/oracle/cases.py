"""Random cases: a pattern with events that hit it.

A `Case` holds the text of a `.cep` file with one pattern, the `cep.ir.model.Pattern` that the text means (made by
`tests.oracle.patterns`, not by the checker), and the events per stream. Everything is drawn from a `random.Random`-like
source: `random_case(seed)` is quick, `cases()` puts hypothesis behind the same code so that failures shrink.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random as Rng

from hypothesis import strategies as st

from cep.ir.model import Pattern, Stream
from cep.ir.types import Type
from tests.oracle.events import Row, draw_rows, jsonl, narrow
from tests.oracle.patterns import Draft, draw, with_lanes

EVENTS = {1: 40, 2: 36, 3: 24, 4: 14, 5: 10}
"""At most so many events a stream, by the number of variables: combinations grow with the power."""
FEW_EVENTS = {1: 12, 2: 10, 3: 7, 4: 6, 5: 5}


@dataclass(frozen=True, slots=True)
class Case:
    """A pattern as text and as meaning, with events per stream."""

    text: str
    pattern: Pattern
    events: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple({v.stream.name: v.stream for v in self.pattern.variables}.values())

    def __str__(self) -> str:
        return self.text + "\n" + jsonl(self.streams, self.events)


def make(rng: Rng, kind: str | None = None) -> Case:
    """A case from a source of randomness; `kind` is any, classic or chain, drawn where it is not given."""
    draft = draw(rng, kind)
    return with_events(rng, draft, Case(draft.text(rng), draft.pattern))


def with_events(rng: Rng, draft: Draft, case: Case) -> Case:
    """The case of a draft with as many events as are worth it."""
    most = EVENTS[len(draft.variables)]
    tied = draft.kind == "chain" and rng.random() < 0.85
    sizes = {stream.name: rng.choice((0, most // 2, most, most, most)) for stream in case.streams}
    return replace(case, events={s.name: draw_rows(rng, s, sizes[s.name], tied=tied) for s in case.streams})


def random_case(seed: int) -> Case:
    """The same case for the same seed, in every process."""
    return make(Rng(seed))


def cases() -> st.SearchStrategy[Case]:
    """The same cases, drawn by hypothesis."""
    return st.randoms(use_true_random=False).map(make)


def more_events(rng: Rng, case: Case) -> dict[str, list[Row]]:
    """Other events for the pattern of a case: few, of few moments, alike: that is where most mistakes show."""
    most = FEW_EVENTS[len(case.pattern.variables)]
    domain = narrow(rng) if rng.random() < 0.5 else None
    sizes = {s.name: 0 if rng.random() < 0.05 else rng.randint(2, most) for s in case.streams}
    return {s.name: draw_rows(rng, s, sizes[s.name], tied=rng.random() < 0.5, domain=domain) for s in case.streams}


def fewer(case: Case) -> Case:
    """The case with every second event."""
    return replace(case, events={name: rows[::2] for name, rows in case.events.items()})


def side_by_side(rng: Rng, draft: Draft, lanes: int) -> Case:
    """The pattern over many small sets of events at once, each in a lane of its own, which is one more key.

    One engine then does the work of many, on state that many keys share: what one lane holds must never show in
    another.
    """
    type_ = rng.choice((Type.INT, Type.INT, Type.STRING))
    drawn = with_lanes(draft, type_)
    case = Case(drawn.text(rng), drawn.pattern)
    numbers = rng.sample(range(1 << 40), lanes) if rng.random() < 0.5 else range(lanes)
    for number in numbers:
        lane = number if type_ is Type.INT else f"lane {number}"
        for stream, rows in more_events(rng, case).items():
            case.events.setdefault(stream, []).extend(row | {"lane": lane} for row in rows)
    return case

"""The comparisons of one seed, for runs that make very many of them.

A *comparison* is one random pattern over one random set of events, whose matches are what DuckDB says: times and fields
after every push, ids, late events, and what `enumerate`, `count` and `contains` say at the end (`tests.oracle.judge`).
A seed makes one pattern and compares it in two ways:

- *alone*: a set of events has an engine to itself. Each set arrives in one way, drawn from `TREATMENTS`; one in four
  arrives whole as well, so that ids are seen not to depend on the arrival. Sets are small, but for one in eight seeds
  that has a large one too.
- *side by side*: very many sets share one engine, each in a lane of its own, which is one more key of the pattern
  (`tests.oracle.cases.side_by_side`); this costs a tenth, and lanes must not mix.

Half of the seeds work with tiny limits: chunks of three matches, compaction and pruning all the time, which is what
large streams do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from unittest.mock import patch

from runtime import Engine
from tests.oracle.cases import Case, fewer, more_events, side_by_side, with_events
from tests.oracle.events import Events
from tests.oracle.harness import TREATMENTS, Maker, Treatment
from tests.oracle.patterns import Draft, draw
from tests.oracle.sql import Database
from tests.oracle.truth import Truth
from tests.oracle.verify import Trial, verify_each

MOST = 600
"""No set of events has more matches: a thousand rows find nothing that a hundred do not."""
AGAIN = 0.25
"""How often an engine that is restored at all is: bringing one back costs as much as three pushes."""
WHOLE = replace(TREATMENTS[0], ask=False)
PUSHES = 10
"""About so many pushes bring the sets that share an engine."""
DRAWN = 4
"""Of so many sets of events one is chosen: DuckDB says which have matches, for all of them by one query."""
TWICE = 0.25
"""How often a set of events arrives whole as well."""
ASKED = 0.3
"""How often an engine is asked for its matches at the end."""
LARGE = 0.125
BARREN = 0.1
"""How often a pattern is taken that has no match in any of the sets drawn."""


@dataclass(slots=True)
class Tally:
    """What has been compared."""

    alone: int = 0
    side_by_side: int = 0
    matching: int = 0
    """Those of both in which there was something to find."""

    @property
    def comparisons(self) -> int:
        return self.alone + self.side_by_side


@contextmanager
def limits(tiny: bool, chunk: int = 3) -> Iterator[Maker]:
    """Engines as they are, or with limits so small that they are reached all the time: `chunk` matches at a time."""
    with ExitStack() as changed:
        if tiny:
            changed.enter_context(patch.multiple("runtime.compaction", ROWS=4, KEYS=8))
            changed.enter_context(patch("runtime.results.distinct._PRUNE_AT", 1))
        yield Maker(partial(Engine, chunk=chunk) if tiny else Engine, Engine.restore)


def compare(database: Database, seed: int, tally: Tally, *, streams: int, lanes: int, thin: bool = True) -> None:
    """The comparisons of one seed, added to the tally as they are made; raises `Disagreement`."""
    rng = Random(f"many {seed}")
    draft, case, drawn = _pattern(database, rng, streams * DRAWN)
    tiny = rng.random() < 0.5
    with limits(tiny) as maker:
        _alone(maker, database, rng, case, _worthwhile(drawn, streams), tally, thin)
    if lanes:
        with limits(tiny, chunk=lanes) as maker:
            _side_by_side(maker, database, rng, draft, lanes, tally, thin)


Answered = tuple[Events, Truth]
"""A set of events, and what DuckDB says of it."""


def _pattern(database: Database, rng: Random, count: int) -> tuple[Draft, Case, list[Answered]]:
    """A pattern with sets of events; mostly one that has matches in some, since nothing agrees with nothing easily."""
    for attempt in range(5):
        draft = draw(rng)
        case = Case(draft.text(rng), draft.pattern)
        sets: list[Events] = [more_events(rng, case) for _ in range(count)]
        if rng.random() < LARGE:
            sets.insert(0, _fitted(database, with_events(rng, draft, case)))
        truths = database.truths(case.pattern, sets)
        if attempt == 4 or rng.random() < BARREN or any(truth.combinations for truth in truths):
            break
    return draft, case, list(zip(sets, truths, strict=True))


def _drawn(rng: Random, ways: Sequence[Treatment]) -> Treatment:
    return replace(rng.choice(ways), seed=rng.randrange(1 << 30), again=AGAIN, ask=rng.random() < ASKED)


def _alone(
    maker: Maker, database: Database, rng: Random, case: Case, chosen: Sequence[Answered], tally: Tally, thin: bool
) -> None:
    trials: list[Trial] = []
    for events, _ in chosen:
        ways = [_drawn(rng, TREATMENTS)]
        if rng.random() < TWICE:
            ways.insert(0, WHOLE)
        trials.append((events, ways))
    truths = [truth for _, truth in chosen]
    if verify_each(maker, database, case, trials, truths, thin=thin, probes=1):
        tally.alone += len(truths)
        tally.matching += sum(bool(truth.combinations) for truth in truths)


def _worthwhile(drawn: Sequence[Answered], count: int) -> list[Answered]:
    """So many sets of events, most of them with matches where that can be had."""
    full = [one for one in drawn if one[1].combinations]
    empty = [one for one in drawn if not one[1].combinations]
    kept = full[: count - count // 6]
    return kept + empty[: count - len(kept)]


def _fitted(database: Database, case: Case) -> Events:
    """The events of a case, thinned until they have at most `MOST` matches."""
    while database.count(replace(case.pattern, distinct=False), case.events) > MOST:
        case = fewer(case)
    return case.events


def _side_by_side(
    maker: Maker, database: Database, rng: Random, draft: Draft, lanes: int, tally: Tally, thin: bool
) -> None:
    case = side_by_side(rng, draft, lanes * DRAWN)
    (truth,) = database.truths(case.pattern, [case.events])
    names = [name for name, _ in case.pattern.fields]
    place = 2 + next(i for i in reversed(range(len(names))) if names[i].split(".")[-1] == "lane")
    full = {values[place] for _, values in truth.combinations}
    drawn = dict.fromkeys(row["lane"] for rows in case.events.values() for row in rows)
    empty = [lane for lane in drawn if lane not in full]
    kept = full | set(empty[: max(lanes - len(full), lanes // 6)])
    case = replace(case, events={s: [row for row in rows if row["lane"] in kept] for s, rows in case.events.items()})
    some = [how for how in TREATMENTS[1:] if how.batches == "random"]
    split = PUSHES / max(sum(map(len, case.events.values())), 1)
    ways = [replace(_drawn(rng, some), split=split), WHOLE]
    rng.shuffle(ways)
    if verify_each(maker, database, case, [(case.events, ways)], [truth], thin=thin, probes=1):
        tally.side_by_side += len(kept)
        tally.matching += len(full)

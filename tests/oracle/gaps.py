"""Random patterns with gap steps against DuckDB, after every push.

`gap_patterns` draws them, `gap_sql` says in SQL what they mean. What must have been put out after a push are the
matches of the events so far that are due at its watermark; at the end, all of them.

`python -m tests.oracle.gaps --cases N --seed S` runs cases in a row and tells the rate.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any, Protocol, TypeVar

import pyarrow as pa

import cep
from cep.diagnostics import CepError
from cep.ir.plan import Plan
from runtime import Engine, compaction
from tests.oracle.gap_patterns import DAY, draw, draw_events
from tests.oracle.gap_shapes import STREAMS, Row
from tests.oracle.gap_sql import query
from tests.oracle.sql import Database

DATABASE = Database()
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)


class Written(Protocol):
    """A pattern that was drawn."""

    text: str


Drawn = TypeVar("Drawn", bound=Written)


class DifferenceError(AssertionError):
    """What the engine said is not what SQL says."""


def table(rows: Sequence[Row], signs: Sequence[int] | None = None) -> pa.Table:
    columns: dict[str, Any] = {
        "ts": pa.array([row["ts"] for row in rows], pa.timestamp("us", tz="UTC")),
        **{name: pa.array([row[name] for row in rows], pa.int64()) for name in ("k", "x", "n")},
    }
    if signs is not None:
        columns["_sign"] = pa.array(signs, pa.int8())
    return pa.table(columns)


def arrivals(rng: Random, disorder: int) -> list[tuple[str, Row]]:
    events = draw_events(rng)
    late = 2 * disorder if rng.random() < 0.3 else disorder
    keyed = [((row["ts"] or 0) + rng.randint(0, late) if disorder else i, i) for i, (_, row) in enumerate(events)]
    return [events[i] for _, i in sorted(keyed)]


def said(reader: Any, *, distinct: bool) -> Counter[tuple[Any, ...]]:
    """Matches with their times; tuples of DISTINCT without: which life is told depends on arrival."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in reader.read_all().to_pylist():
        fields = tuple(value for name, value in row.items() if name not in ("_id", "_start", "_end", "_sign"))
        times = () if distinct else tuple((row[name] - EPOCH) // MICROSECOND for name in ("_start", "_end"))
        found[(*times, *fields)] += row.get("_sign", 1)
    return found


def drawn(rng: Random, draw: Callable[[Random], Drawn], refused: Collection[str]) -> tuple[Drawn, Plan]:
    """A pattern that is one: those with a mistake that only drawing makes are refused, as they must be."""
    while True:
        case = draw(rng)
        try:
            return case, cep.compile(case.text)["P"]
        except CepError as error:
            if {diagnostic.code for diagnostic in error.diagnostics} - set(refused):
                raise DifferenceError(f"{error}\n{case.text}") from error


@dataclass
class Told:
    """What happened push by push: the events that were in time, watermarks, and what the engine put out."""

    events: dict[str, list[tuple[Any, ...]]] = field(default_factory=lambda: {name: [] for name in STREAMS})
    marks: list[tuple[int, int]] = field(default_factory=list)
    out: list[Counter[tuple[Any, ...]]] = field(default_factory=list)
    history: list[str] = field(default_factory=list)


def compare(seed: int) -> int:
    """One pattern over one stream; how many comparisons with DuckDB were made."""
    rng = Random(seed)
    # Two sets side by side, and numbers that cannot be.
    case, plan = drawn(rng, draw, ("CEP0412", "CEP0403"))
    told = run(rng, plan, distinct=case.distinct)
    return judged(f"seed {seed}\n{case.text}", query(case), told, distinct=case.distinct)


def judged(what: str, asked: str, told: Told, *, distinct: bool) -> int:
    """Compare what was told up to each push with what DuckDB is `asked`; how many comparisons those are."""
    wanted = answers(asked, told)
    got: Counter[tuple[Any, ...]] = Counter()
    for push, _ in told.marks:
        got += told.out[push - 1]
        want = wanted.get(push, Counter())
        if distinct:  # how often a tuple is told depends on its lives; which are told does not
            got, want = Counter(set(got)), Counter(set(want))
        if got != want:
            history = "\n".join(told.history[:push])
            raise DifferenceError(f"{what}\n{history}\nmissing {want - got}\ntoo much {got - want}\n{asked}")
    return len(told.marks)


def run(rng: Random, plan: Plan, *, distinct: bool) -> Told:
    """Push random events in random batches, with watermarks, snapshots and corrections."""
    disorder = next(stream.watermark for stream in plan.streams)
    events = arrivals(rng, disorder)
    compaction.ROWS = rng.choice((0, 8192))  # forget at once what can be forgotten, or late
    engine = Engine(plan)
    told = Told()
    used = {stream.name for stream in plan.streams}
    mark: int | None = None
    at = pushes = 0
    correct = rng.random() < 0.25 and not distinct
    while at <= len(events):
        if at == len(events):
            at += 1
            batch: list[tuple[str, Row]] = []
            mark = 2**63 - 1
        else:
            size = rng.choice((1, 1, 2, 3, 7)) if rng.random() < 0.9 else 0
            batch, at = events[at : at + size], at + size
        pushes += 1
        kept = [(s, row) for s, row in batch if s in used]
        for name, row in kept:
            if mark is None or row["ts"] is None or row["ts"] >= mark:
                told.events[name].append((row["ts"], row["k"], row["x"], row["n"], pushes))
        share: dict[str, Any] = {}
        for name in used:
            rows = [row for s, row in kept if s == name]
            signs = [1] * len(rows)
            if correct and rows and rng.random() < 0.5:  # what comes and goes in one batch was never there
                ghost = {**rng.choice(rows), "n": 10_000 + pushes}
                rows, signs = [*rows, ghost, ghost], [*signs, 1, -1]
            if rows:
                share[name] = table(rows, signs if correct else None)
        if at <= len(events):
            newest = max((row["ts"] for _, row in kept if row["ts"] is not None), default=None)
            if newest is not None and rng.random() < 0.8:
                mark = max(mark if mark is not None else -(2**62), newest - disorder)
        told.history.append(f"push {pushes}: {kept} watermark {mark}")
        told.out.append(said(engine.push(share, mark), distinct=distinct))
        # Nothing has left the window of any alternative: what was told is all there is.
        if mark is None or mark - min(part.window or 0 for part in plan.parts) < DAY:
            current = said(engine.enumerate(), distinct=distinct)
            all_told = sum(told.out, Counter())
            if current != (Counter(set(all_told)) if distinct else all_told) or engine.count() != current.total():
                raise DifferenceError(f"enumerate() after {told.history}: {current}, told {all_told}")
        told.marks.append((pushes, mark if mark is not None else -(2**62)))
        engine._check()
        if rng.random() < 0.3:
            engine = Engine.restore(plan, engine.snapshot())
            engine._check()
    return told


def answers(asked: str, told: Told) -> dict[int, Counter[tuple[Any, ...]]]:
    """What a query gives for each push, all of them at once."""
    found: dict[int, Counter[tuple[Any, ...]]] = {}
    tables = {name: _table(("ts", "k", "x", "n", "p"), rows) for name, rows in told.events.items()}
    tables["marks"] = _table(("p", "w"), told.marks)
    for push, *values in DATABASE.over(tables, asked):
        found.setdefault(int(push or 0), Counter())[tuple(values)] += 1
    return found


def _table(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    return pa.table({name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate(names)})


def main(description: str | None, compare: Callable[[int], int]) -> None:
    """Compare cases in a row, from the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started, compared = time.monotonic(), 0
    for seed in range(options.seed, options.seed + options.cases):
        compared += compare(seed)
    seconds = time.monotonic() - started
    print(f"{options.cases} patterns, {compared} comparisons, 0 differences, {compared / seconds:.0f} a second")


if __name__ == "__main__":
    main(__doc__, compare)

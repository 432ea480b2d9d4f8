"""Random patterns with OR and `?` against DuckDB, after every push.

The SQL is that of language.md 4: UNION ALL over every way to choose one item of each OR (`B? b` is `OR(B b, NOT B b)`),
each way a query of `tests.oracle.gap_sql`. A conjunct is asked of a branch that binds a variable of each OR that it
mentions; what a branch does not bind is NULL, in conditions and fields. What must have been put out after a push are
the matches of the events so far that are due at its watermark, branch by branch.

`python -m tests.oracle.either --cases N --seed S` runs cases in a row and tells the rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random

from tests.oracle import gap_shapes, gaps
from tests.oracle.gap_shapes import SECOND, STREAMS, Case, Group, Step, steps_of
from tests.oracle.gap_sql import query as query_of

OR, MAYBE = "OR", "?"


@dataclass(frozen=True)
class Way:
    """One way to choose: a body without alternatives, and the variables of each OR on its way."""

    body: Step | Group
    ors: tuple[frozenset[str], ...] = ()

    @property
    def singles(self) -> list[Step]:
        return [step for step in steps_of(self.body) if not step.absent]

    @property
    def absent(self) -> list[Step]:
        return [step for step in steps_of(self.body) if step.absent]


@dataclass
class Choice:
    """A pattern with alternatives: a case of `tests.oracle.gaps` for each."""

    text: str
    cases: list[Case]
    distinct: bool


def ways(body: Step | Group) -> list[Way]:
    if isinstance(body, Step):
        return [Way(body)]
    if body.operator == MAYBE:
        (step,) = steps_of(body)
        own = (frozenset({step.var}),)
        return [Way(step, own), Way(Step(step.var, step.stream, absent=True), own)]
    if body.operator == OR:
        own = (frozenset(step.var for step in steps_of(body)),)
        return [Way(way.body, own + way.ors) for item in body.items for way in ways(item)]
    return [
        Way(Group(body.operator, tuple(way.body for way in chosen)), sum((way.ors for way in chosen), ()))
        for chosen in product(*map(ways, body.items))
    ]


def written(body: Step | Group) -> str:
    if isinstance(body, Step):
        return gap_shapes.written(body)
    if body.operator == MAYBE:
        (step,) = steps_of(body)
        return f"{step.stream}? {step.var}"
    return f"{body.operator}({', '.join(map(written, body.items))})"


# --- drawing -------------------------------------------------------------------------------------------------------


def draw_body(rng: Random) -> Step | Group:
    names = iter("abcdefghijklmnopqrstuvw")

    def one() -> Step:
        select = rng.choice(("FIRST", "LAST")) if rng.random() < 0.08 else None
        return Step(next(names), rng.choice(STREAMS), select=select)

    def absent() -> Step:
        return Step(next(names), rng.choice(STREAMS), absent=True)

    def either(depth: int) -> Group:
        if rng.random() < 0.25:  # one name for events of different streams
            name = next(names)
            return Group(OR, tuple(Step(name, stream) for stream in rng.sample(STREAMS, 2)))
        items: list[Step | Group] = [one()]
        for _ in range(rng.choice((1, 1, 2))):
            kind = rng.random()
            if kind < 0.5:
                items.append(one())
            elif kind < 0.65 and depth:
                items.append(absent())
            elif kind < 0.75 and depth < 2:
                items.append(either(depth + 1))
            else:
                inner: list[Step | Group] = [one(), one() if rng.random() < 0.5 else absent()]
                rng.shuffle(inner)
                items.append(Group(rng.choice(("SEQ", "AND")), tuple(inner)))
        rng.shuffle(items)
        return Group(OR, tuple(items))

    def item(depth: int) -> Step | Group:
        kind = rng.random()
        if kind < 0.4:
            return either(depth)
        if kind < 0.6:
            return Group(MAYBE, (Step(next(names), rng.choice(STREAMS)),))
        return absent() if kind < 0.7 else one()

    shape = rng.random()
    if shape < 0.25:
        return either(0)
    if shape < 0.35:  # a chain with alternatives at its start: best starts differ
        return Group("SEQ", (either(2), one(), one()))
    operator = "AND" if rng.random() < 0.15 else "SEQ"
    return Group(operator, tuple(item(1) for _ in range(rng.choice((2, 2, 3, 3, 4)))))


def draw(rng: Random) -> Choice:
    while True:
        body = draw_body(rng)
        found = ways(body)
        sizes = [len(way.singles) for way in found]
        if 2 <= len(found) <= 8 and min(sizes) >= 1 and max(sizes) <= 3:
            break
    window = rng.choice((2, 4, 7, 12)) * SECOND
    every = list(dict.fromkeys(step.var for step in steps_of(body)))
    common = [v for v in every if all(v in {step.var for step in way.singles} for way in found)]
    may_lack = {v for v in every if any(v in {step.var for step in way.absent} for way in found)}
    shown = [v for v in every if any(v in {step.var for step in way.singles} for way in found)]
    partition = rng.random() < 0.7 or not common
    where = [] if partition else [f"{common[0]}.k = {v}.k" for v in every if v != common[0] and rng.random() < 0.8]
    where += list(_conditions(rng, found, every, common, may_lack))
    distinct = rng.random() < 0.3
    fields = [f"{v}.n AS {v}" for v in shown]
    if distinct:
        fields = [f"{v}.x AS x{i}" for i, v in enumerate(rng.sample(shown, min(len(shown), rng.choice((1, 1, 2)))))]
    streams_of = {v: {step.stream for way in found for step in way.singles if step.var == v} for v in shown}
    if rng.random() < 0.4:
        fields.append(f"STREAM_OF({rng.choice(sorted(streams_of))}) AS s")
    if rng.random() < 0.3 and len(shown) > 1:
        left, right = rng.sample(shown, 2)
        fields.append(f"COALESCE({left}.x, {right}.x + 10) AS y")
    watermark = rng.choice((0, 0, 2, 5))
    ordered = rng.random() < 0.2
    tail = f"WATERMARK {watermark} SECONDS{' ORDER BY n' if ordered else ''}"
    lines = [f"STREAM {name} (ts TIMESTAMP, k INT, x INT, n INT) TIMESTAMP BY ts {tail};" for name in STREAMS]
    lines.append(f"PATTERN P {written(body)}")
    lines += ["  WHERE " + " AND ".join(where)] if where else []
    lines += ["  PARTITION BY k"] if partition else []
    lines.append(f"  WITHIN {window // SECOND} SECONDS")
    lines.append(f"  RETURN {'DISTINCT ' if distinct else ''}{', '.join(fields)};")
    text = "\n".join(lines)
    cases = [_case(text, way, where, fields, window, partition, distinct, ordered) for way in found]
    return Choice(text, cases, distinct)


def _conditions(
    rng: Random, found: list[Way], every: list[str], common: list[str], may_lack: set[str]
) -> Iterator[str]:
    for v in every:
        if rng.random() < 0.2:
            yield f"{v}.x > {rng.randint(0, 2)}"
        if common and v != common[-1] and rng.random() < 0.15:
            yield f"{v}.x {rng.choice(('<=', '<>', '>'))} {common[-1]}.x"
        if common and v != common[0] and rng.random() < 0.1:
            yield f"{v}.ts <= {common[0]}.ts + {rng.randint(1, 5)} SECONDS"
    together = [(a.var, b.var) for way in found for a in way.singles for b in way.singles if a.var < b.var]
    there = [pair for pair in together if not may_lack & set(pair)]
    if there and rng.random() < 0.2:
        left, right = rng.choice(there)
        if all({left, right} <= {s.var for s in way.singles} or not {left, right} & _bound(way) for way in found):
            yield f"{left}.x {rng.choice(('<', '<=', '<>'))} {right}.x"
    certain = [v for v in every if v not in may_lack]
    if len(certain) > 1 and rng.random() < 0.35:
        left, right = rng.sample(certain, 2)
        yield f"COALESCE({left}.x, {right}.x, 2) > {rng.randint(0, 1)}"


def _bound(way: Way) -> set[str]:
    return {step.var for step in steps_of(way.body)}


# --- SQL -----------------------------------------------------------------------------------------------------------


def _case(
    text: str,
    way: Way,
    where: list[str],
    fields: list[str],
    window: int,
    partition: bool,
    distinct: bool,
    ordered: bool,
) -> Case:
    """A branch as a case of its own."""
    bound = _bound(way)
    conditions: dict[str, list[str]] = {"": []}
    bounded: dict[str, tuple[str, int]] = {}
    absent = {step.var for step in way.absent}
    for conjunct in where:
        used = _used(conjunct)
        if any(used & names and not used & names & bound for names in way.ors):
            continue
        gap = next(iter(used & absent), "")
        conditions.setdefault(gap, []).append(_with_nulls(conjunct, bound))
        if ".ts <= " in conjunct:
            left, right, length = re.fullmatch(r"(\w)\.ts <= (\w)\.ts \+ (\d+) SECONDS", conjunct).groups()  # type: ignore[union-attr]
            if {left, right} <= bound:
                bounded[left] = (right, int(length) * SECOND)
    if partition:
        first = way.singles[0].var
        conditions[""] += [f"{first}.k = {step.var}.k" for step in way.singles]
        for step in way.absent:
            conditions.setdefault(step.var, []).append(f"{step.var}.k = {first}.k")
    streams = {step.var: step.stream for step in way.singles}
    shown = [_field(field.rsplit(" AS ", 1)[0], streams) for field in fields]
    return Case(text, way.body, window, conditions, way.singles, way.absent, shown, bounded, distinct, ordered)


def _used(text: str) -> set[str]:
    return set(re.findall(r"\b([a-z])\.[a-z]+\b", text))


def _with_nulls(text: str, bound: set[str]) -> str:
    return re.sub(r"\b([a-z])\.[a-z]+\b", lambda m: m[0] if m[1] in bound else "NULL::BIGINT", text)


def _field(text: str, streams: dict[str, str]) -> str:
    if text.startswith("STREAM_OF"):
        stream = streams.get(text[len("STREAM_OF(") : -1])
        return "NULL" if stream is None else f"'{stream}'"
    return _with_nulls(text, set(streams))


def query(choice: Choice) -> str:
    """UNION ALL of the branches; one without a gap is due when its events are there."""
    return " UNION ALL ".join(query_of(case).replace("greatest() <= marks.w", "TRUE") for case in choice.cases)


# --- comparing -----------------------------------------------------------------------------------------------------


def compare(seed: int) -> int:
    """One pattern over one stream; how many comparisons with DuckDB were made."""
    rng = Random(seed)
    choice, plan = gaps.drawn(rng, draw, ("CEP0403",))
    told = gaps.run(rng, plan, distinct=choice.distinct)
    return gaps.judged(f"seed {seed}\n{choice.text}", query(choice), told, distinct=choice.distinct)


if __name__ == "__main__":
    gaps.main(__doc__, compare)

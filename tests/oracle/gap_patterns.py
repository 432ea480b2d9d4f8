"""Random patterns with gap steps, and events for them; see `tests.oracle.gaps`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

from tests.oracle.gap_shapes import (
    ANCHOR,
    SECOND,
    STREAMS,
    Case,
    Group,
    Row,
    Step,
    around,
    of_sets,
    renamed,
    steps_of,
    written,
)

SELECTED = 0.15
SETS = 0.4
LONE = 0.12
RUNS = 0.35
DAY = 19_000 * 86_400 * SECOND
"""Where the random times begin."""


def draw_body(rng: Random) -> Step | Group:
    names = iter("abcdefghijklmnop")

    def one() -> Step:
        select = rng.choice(("FIRST", "LAST")) if rng.random() < SELECTED else None
        return Step(next(names), rng.choice(STREAMS), select=select)

    def absent() -> Step:
        if rng.random() < SETS:
            least = rng.choice((0, 1, 1, 2, 3))
            return Step(next(names), rng.choice(STREAMS), least=least, most=rng.choice((None, None, max(1, least + 1))))
        return Step(next(names), rng.choice(STREAMS), absent=True)

    def seq(depth: int, most: int) -> Group:
        items: list[Step | Group] = []
        for _ in range(rng.choice((1, 2, 2, 3)[:most])):
            if rng.random() < 0.45:
                items.append(absent())
            if depth < 1 and rng.random() < 0.25:
                inner: list[Step | Group] = [one()]
                inner += [absent()] if rng.random() < 0.6 else [one()]
                rng.shuffle(inner)
                items.append(Group("AND", tuple(inner)))
            else:
                items.append(one())
        if rng.random() < 0.35:
            items.append(absent())
        return Group("SEQ", tuple(items))

    if rng.random() < 0.2:
        inner: list[Step | Group] = [one(), absent()]
        inner += [one()] if rng.random() < 0.5 else []
        inner += [seq(1, 2)] if rng.random() < 0.3 else []
        rng.shuffle(inner)
        return Group("AND", tuple(inner))
    return seq(0, 4)


def draw_lone(rng: Random) -> Group:
    """A set that stands alone, perhaps between NOTs, with its last event beside it."""
    stream, least = rng.choice(STREAMS), rng.choice((1, 1, 2, 3))
    most = rng.choice((None, None, least + 1))
    items: list[Step | Group] = [Group("AND", (Step(ANCHOR, stream), Step("b", stream, least=least, most=most)))]
    if rng.random() < 0.3:
        items.insert(0, Step("a", rng.choice(STREAMS), absent=True))
    if rng.random() < 0.3:
        items.append(Step("c", rng.choice(STREAMS), absent=True))
    return Group("SEQ", tuple(items))


def with_runs(rng: Random, body: Step | Group, whole: Step | Group) -> Step | Group:
    """Some of the sets as runs, where something says where a run is to end or begin."""
    if isinstance(body, Group):
        return Group(body.operator, tuple(with_runs(rng, item, whole) for item in body.items))
    if body.least is None or rng.random() >= RUNS:
        return body
    before, after, _ = around(whole, body.var)
    lone = any(step.var == ANCHOR for step in steps_of(whole))
    return replace(body, run=True) if before or after or lone else body


def draw_pairs(rng: Random, var: str, singles: Sequence[Step]) -> list[str]:
    """What is asked of an event of a run and the one before it."""
    every = [f"{var}.x {op} PREV({var}.x)" for op in (">", ">=", "<>", "=")]
    every += [f"{var}.ts - PREV({var}.ts) <= {rng.randint(1, 3)} SECONDS"]
    every += [f"{var}.x + PREV({var}.x) > {single.var}.x" for single in singles]
    return rng.sample(every, rng.choice((0, 1, 1, 2)))


def draw(rng: Random) -> Case:
    lone = rng.random() < LONE
    while True:
        body = draw_lone(rng) if lone else draw_body(rng)
        body = with_runs(rng, body, body)
        steps = steps_of(body)
        singles = [step for step in steps if step.single]
        gaps = [step for step in steps if not step.single]
        if singles and len(singles) <= 3 and (gaps or any(step.select for step in singles)):
            break
    window = rng.choice((2, 4, 7, 12)) * SECOND
    conditions: dict[str, list[str]] = {"": []}
    bounded: dict[str, tuple[str, int]] = {}
    partition = rng.random() < 0.6
    if not partition:
        for left, right in pairwise(singles):
            if rng.random() < 0.7:
                conditions[""].append(f"{left.var}.k = {right.var}.k")
    if len(singles) > 1 and rng.random() < 0.3:
        left, right = rng.sample(singles, 2)
        conditions[""].append(f"{left.var}.x {rng.choice(('<', '<=', '<>'))} {right.var}.x")
    if len(singles) > 1 and rng.random() < 0.2:
        left, right = rng.sample(singles, 2)
        length = rng.randint(1, 5)
        conditions[""].append(f"{left.var}.ts <= {right.var}.ts + {length} SECONDS")
        bounded[left.var] = (right.var, length * SECOND)  # and so the other candidates, where it is selected
    for gap in gaps:
        own: list[str] = conditions.setdefault(gap.var, [])
        if rng.random() < 0.3:
            own.append(f"{gap.var}.x > {rng.randint(0, 2)}")
        if gap.run:
            conditions[f"pairs {gap.var}"] = draw_pairs(rng, gap.var, [] if lone else singles)
        if lone:  # its last event has no name
            continue
        if not partition and not gap.run and rng.random() < 0.7:
            own.append(f"{gap.var}.k = {rng.choice(singles).var}.k")
        if rng.random() < 0.25:
            compared = rng.choice((">", "<>") if gap.run else (">", "=", "<>"))
            own.append(f"{gap.var}.x {compared} {rng.choice(singles).var}.x")
        if rng.random() < 0.15:
            other, length = rng.choice(singles).var, rng.randint(1, 4)
            own.append(f"{gap.var}.ts <= {other}.ts + {length} SECONDS")
            if not gap.run:  # what is later breaks it, and may come until the window has passed
                bounded[gap.var] = (other, length * SECOND)
    sets = [gap for gap in gaps if gap.least is not None]
    if sets and rng.random() < 0.25:  # which events are in one gap depends on another
        one, other = rng.choice(sets), rng.choice(gaps)
        if one is not other:
            about = (f"{other.var}.x > MIN({one.var}.x)", f"{other.var}.ts <= LAST({one.var}.ts) + 2 SECONDS")
            conditions[other.var].append(rng.choice((*about, f"{other.var}.x < COUNT({one.var})")))
    conditions["having"] = draw_having(rng, sets, [] if lone else singles)
    distinct = rng.random() < 0.2
    known = [] if lone else singles
    fields = [f"{step.var}.n AS {step.var}" for step in known]
    for one in sets:
        fields += [f"{text} AS {one.var}{number}" for number, text in enumerate(draw_values(rng, one.var))]
    if lone and not fields:
        fields = [f"COUNT({sets[0].var}) AS c"]
    if distinct:
        fields = [f"{rng.choice((*(f'{step.var}.x' for step in known), *(f'SUM({one.var}.x)' for one in sets)))} AS x"]
    shown = [of_sets(text.split(" AS ")[0]) for text in fields]
    where = [part for parts in conditions.values() for part in parts]
    watermark = rng.choice((0, 0, 2, 5))
    ordered = rng.random() < 0.3
    tail = f"WATERMARK {watermark} SECONDS{' ORDER BY n' if ordered else ''}"
    lines = [f"STREAM {name} (ts TIMESTAMP, k INT, x INT, n INT) TIMESTAMP BY ts {tail};" for name in STREAMS]
    lines.append(f"PATTERN P {written(body)}")
    lines += ["  WHERE " + " AND ".join(where)] if where else []
    lines += ["  PARTITION BY k"] if partition else []
    lines += [f"  WITHIN {window // SECOND} SECONDS", f"  RETURN {'DISTINCT ' if distinct else ''}{', '.join(fields)};"]
    if partition:
        first = singles[0].var
        conditions[""] += [f"{first}.k = {step.var}.k" for step in singles]
    if lone:
        conditions[""] += [renamed(c, "b", ANCHOR) for c in conditions["b"]]
    members: dict[str, list[str]] = {}
    for gap in gaps:
        said = members.setdefault(gap.var, []) if gap.run else conditions.setdefault(gap.var, [])
        said += [f"{gap.var}.k = {first}.k"] if partition else []
        said += [f"b.ts <= {ANCHOR}.ts"] if lone and gap.var == "b" else []
    text = "\n".join(lines)
    return Case(text, body, window, conditions, singles, gaps, shown, bounded, distinct, ordered, partition, members)


def draw_events(rng: Random) -> list[tuple[str, Row]]:
    """Events with their streams, in order of time, with ties and NULLs."""
    moment, found = 0, []
    for number in range(rng.choice((4, 8, 14, 22))):
        moment += rng.choice((0, 1, 1, 2, 3)) * SECOND // rng.choice((1, 1, 2))
        row: Row = {
            "ts": None if rng.random() < 0.02 else DAY + moment,
            "k": None if rng.random() < 0.04 else rng.choice((1, 1, 1, 2)),
            "x": None if rng.random() < 0.1 else rng.randint(0, 3),
            "n": number,
        }
        found.append((rng.choice(STREAMS), row))
    return found


def draw_values(rng: Random, var: str) -> list[str]:
    """Some aggregates of a set."""
    every = [f"COUNT({var})", f"COUNT({var}.x)", f"COUNT(DISTINCT {var}.x)", f"FIRST({var}.x)", f"LAST({var}.x)"]
    every += [f"{op}({var}.x)" for op in ("SUM", "AVG", "MIN", "MAX")]
    return rng.sample(every, rng.choice((0, 1, 2, 3)))


def draw_having(rng: Random, sets: Sequence[Step], singles: Sequence[Step]) -> list[str]:
    """Conditions on what sets add up to: with a number, with a single event, with another set."""
    found: list[str] = []
    for one in sets:
        if rng.random() < 0.4:
            value = rng.choice((*draw_values(rng, one.var), f"SUM({one.var}.x)"))
            value += rng.choice(("", "", " * 2"))
            others = [str(rng.randint(0, 5))] + [f"{single.var}.x" for single in singles]
            found.append(f"{value} {rng.choice(('>', '<=', '>=', '<>', '='))} {rng.choice(others)}")
    if len(sets) > 1 and rng.random() < 0.4:
        found.append(f"COUNT({sets[0].var}) {rng.choice(('>', '<='))} COUNT({sets[1].var})")
    return found

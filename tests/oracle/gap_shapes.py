"""Bodies with gap steps, as the random patterns of `tests.oracle.gaps` are made of, and what lies around each step."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

SECOND = 1_000_000
STREAMS = ("A", "B", "C")
ANCHOR = "zz"
"""The single event that stands for a lone set's last one, in SQL."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One event; with `absent` none, with `least` a set of so many, a `run` if so; `select` is FIRST or LAST."""

    var: str
    stream: str
    absent: bool = False
    select: str | None = None
    least: int | None = None
    most: int | None = None
    run: bool = False

    @property
    def single(self) -> bool:
        return not self.absent and self.least is None

    @property
    def quantifier(self) -> str:
        if (self.least, self.most) in ((0, None), (1, None)):
            return "+" if self.least else "*"
        return f"{{{self.least},{'' if self.most is None else self.most}}}"


@dataclass(frozen=True)
class Group:
    """SEQ or AND."""

    operator: str
    items: tuple[Step | Group, ...]


@dataclass
class Case:
    """A pattern with its events in order of arrival: (stream, row, sign)."""

    text: str
    body: Step | Group
    window: int | None
    conditions: dict[str, list[str]]
    """By gap variable its conjuncts, "" for those of single events; in the language and in SQL alike."""
    singles: list[Step]
    gaps: list[Step]
    shown: list[str]
    bounded: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Gap variables with `b.ts <= a.ts + d`: the single event and d."""
    distinct: bool = False
    ordered: bool = False
    """Whether the streams have an `ORDER BY`: events of one stream and moment are ordered by n."""
    partition: bool = False
    members: dict[str, list[str]] = field(default_factory=dict)
    """By run what says which events are in it; its conditions say what breaks it, those of "pairs b" of neighbours."""

    def earlier(self, left: str, right: str, rival: tuple[str, str] | None = None) -> str:
        """SQL for "is before"; `rival` is another name of one of the steps, and which."""
        streams = {step.var: step.stream for step in (*self.singles, *self.gaps)}
        if rival is not None:
            streams[rival[0]] = streams[rival[1]]
        if not self.ordered or streams[left] != streams[right]:
            return f"{left}.ts < {right}.ts"
        return f"({left}.ts < {right}.ts OR ({left}.ts = {right}.ts AND {left}.n < {right}.n))"

    def past(self, var: str, other: str, op: str, end: str) -> str:
        """SQL for "is beyond the first or last event of a set"; beyond those of an empty one is everything."""
        streams = {step.var: step.stream for step in self.gaps}
        beyond = f"set_{other}.{end} IS NULL OR {var}.ts {op} set_{other}.{end}"
        if self.ordered and streams[var] == streams[other]:
            beyond += f" OR ({var}.ts = set_{other}.{end} AND {var}.n {op} set_{other}.{end}_n)"
        return f"({beyond})"


def steps_of(body: Step | Group) -> list[Step]:
    return [body] if isinstance(body, Step) else [step for item in body.items for step in steps_of(item)]


def written(body: Step | Group) -> str:
    if isinstance(body, Group):
        if any(isinstance(item, Step) and item.var == ANCHOR for item in body.items):
            return written(body.items[-1])
        return f"{body.operator}({', '.join(map(written, body.items))})"
    if body.absent:
        return f"NOT {body.stream} {body.var}"
    if body.least is not None:
        plain = f"{body.stream}{body.quantifier} {body.var}"
        return f"RUN({plain})" if body.run else plain
    return f"{body.select}({body.stream} {body.var})" if body.select else f"{body.stream} {body.var}"


def around(body: Step | Group, var: str) -> tuple[list[str], list[str], list[Step]]:
    """All single events before and after a step, and the first named of the step that follows it next."""
    before: list[str] = []
    after: list[str] = []
    following: list[Step] = []
    here: Step | Group = body
    while isinstance(here, Group):
        at = next(i for i, item in enumerate(here.items) if var in [s.var for s in steps_of(item)])
        if here.operator == "SEQ":
            before += [s.var for item in here.items[:at] for s in steps_of(item) if s.single]
            later = [[s for s in steps_of(item) if s.single] for item in here.items[at + 1 :]]
            after += [s.var for some in later for s in some]
            nearest = next((some for some in later if some), [])
            following = nearest or following
        here = here.items[at]
    return before, after, following


def beside(body: Step | Group, var: str) -> tuple[list[str], list[str]]:
    """The sets of the items next to a NOT in its SEQ, before and after it; other NOTs are looked through."""
    found: tuple[list[str], list[str]] = ([], [])
    here: Step | Group = body
    while isinstance(here, Group):
        at = next(i for i, item in enumerate(here.items) if var in [s.var for s in steps_of(item)])
        if here.operator == "SEQ":
            for side, items in enumerate((here.items[:at][::-1], here.items[at + 1 :])):
                for item in items:
                    events = [s for s in steps_of(item) if not s.absent]
                    if events:
                        found[side][:] = [s.var for s in events if s.least is not None]
                        break
        here = here.items[at]
    return found


def renamed(condition: str, old: str, new: str) -> str:
    return condition.replace(f"{old}.", f"{new}.")


SETS_OF = {
    "COUNT": "cnt",
    "COUNT x": "present",
    "COUNT DISTINCT x": "kinds",
    "SUM x": "total",
    "AVG x": "mean",
    "MIN x": "low",
    "MAX x": "high",
    "FIRST x": "head",
    "LAST x": "tail",
    "LAST ts": "lst",
}
"""Aggregates as columns of a set's subquery."""
AGGREGATE = re.compile(r"\b(COUNT|SUM|AVG|MIN|MAX|FIRST|LAST)\((DISTINCT )?(\w+)(?:\.(\w+))?\)")


def of_sets(text: str) -> str:
    """A condition or a field with each aggregate as a column of the set's subquery."""

    def column(found: re.Match[str]) -> str:
        op, distinct, var, attr = found.groups()
        return f"set_{var}." + SETS_OF[" ".join(part for part in (op, (distinct or "").strip(), attr) if part)]

    return AGGREGATE.sub(column, text)

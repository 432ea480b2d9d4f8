"""Checked patterns: every name resolved, every expression typed, nothing decided yet about how to run them."""

from __future__ import annotations

from dataclasses import dataclass, field

from cep.ir import body as bodies
from cep.ir.body import Body
from cep.ir.expr import Expr
from cep.ir.types import TimeFormat, Type
from cep.source import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A declared stream. `time` is the event-time attribute; `watermark` the allowed disorder in microseconds.

    `max_ahead` is how far (in microseconds) an event's time may lie after the clock of the machine that reads it, None
    where nothing is said. `order` names the attribute that orders events of one moment. `formats` says how TIMESTAMP
    attributes are written in events, where that is not the default. `idle_after` promises (in microseconds) that events
    arrive at most so long after their time, None where nothing is promised.
    """

    name: str
    columns: tuple[tuple[str, Type], ...]
    time: str | None = None
    watermark: int = 0
    max_ahead: int | None = None
    order: str | None = None
    formats: tuple[tuple[str, TimeFormat], ...] = ()
    idle_after: int | None = None

    def type_of(self, attr: str) -> Type | None:
        """The type of an attribute, None where there is no such attribute."""
        return dict(self.columns).get(attr)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable of a pattern: one event of a stream."""

    name: str
    stream: Stream
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A conjunct of `WHERE` (or one that another clause stands for), with where it was written."""

    expr: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """A value of all events of a gap variable: `COUNT(b)`, `SUM(b.x)`.

    In expressions it is `Col(gap.name, aggregate.name, aggregate.type)`. `name` is its canonical text without the
    variable: `COUNT(*)` (of events), `COUNT(x)` (of values that are not NULL), `COUNT(DISTINCT x)`, `SUM(x * 2)`. `arg`
    is over the gap variable's own attributes, None for `COUNT(*)`.
    """

    name: str
    op: str
    arg: Expr | None
    distinct: bool
    type: Type

    def text(self, var: str) -> str:
        """As it is written, of a variable: `SUM(b.x)`."""
        return f"{self.op}({'DISTINCT ' if self.distinct else ''}{var if self.arg is None else self.arg})"


@dataclass(frozen=True, slots=True, kw_only=True)
class GapVariable:
    """The variable of a gap step (`Absent` or `Many`): all events that lie in its gap.

    `conditions` say which events those are: every conjunct of `WHERE` that mentions the variable by element, also where
    it mentions others (single events, aggregates of other sets), and the `PARTITION BY` equalities with the first
    single event. `pairs` are the conjuncts of a run with `PREV`; `PREV(b.x)` is `Col("b", "PREV(x)", type)`.
    `aggregates` are those that something uses.
    """

    name: str
    stream: Stream
    span: Span = field(compare=False, repr=False)
    conditions: tuple[Condition, ...] = ()
    pairs: tuple[Condition, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A checked pattern.

    `window` is in microseconds, None for `UNBOUNDED`. `fields` are the outputs in order. `partition_by` equalities are
    in `conditions` already, and in those of each gap; a pattern without single events (a lone set) has none.

    `variables` bind one event each, `gaps` all events of a gap. `conditions` are over single events alone; `having` are
    the conjuncts that mention aggregates of gaps, beside single events.

    With `OR` there are `branches`: every way to choose one alternative of each `OR`, as a pattern of its own with the
    same fields; what a branch does not bind is NULL there. Then `body` is what was written, `variables` and `gaps` hold
    each pair of name and stream once, and `conditions` the conjuncts as written: to be shown, the branches are to run.
    """

    name: str
    variables: tuple[Variable, ...]
    body: Body
    conditions: tuple[Condition, ...]
    partition_by: tuple[str, ...]
    window: int | None
    distinct: bool
    fields: tuple[tuple[str, Expr], ...]
    span: Span = field(compare=False, repr=False)
    gaps: tuple[GapVariable, ...] = ()
    having: tuple[Condition, ...] = ()
    branches: tuple[Pattern, ...] = ()
    anchor: str | None = None

    @property
    def order(self) -> tuple[tuple[str, str], ...]:
        """(earlier, later) variable pairs between neighbouring steps of each `SEQ`."""
        return bodies.order(self.body)

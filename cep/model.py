"""Checked patterns: every name resolved, every expression typed, nothing decided yet about how to run them."""

from __future__ import annotations

from dataclasses import dataclass, field

from cep.expr import Expr
from cep.source import Span
from cep.types import Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A declared stream. `time` is the event-time attribute; `watermark` the allowed disorder in microseconds."""

    name: str
    columns: tuple[tuple[str, Type], ...]
    time: str | None = None
    watermark: int = 0

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
class Pattern:
    """A checked pattern.

    `order` holds (earlier, later) variable pairs between neighbouring steps of each `SEQ`: for
    `SEQ(A a, AND(B b, C c), D d)` it is (a, b), (a, c), (b, d), (c, d). `window` is in microseconds, None for
    `UNBOUNDED`. `fields` are the outputs in order. `partition_by` equalities are in `conditions` already.
    """

    name: str
    variables: tuple[Variable, ...]
    order: tuple[tuple[str, str], ...]
    conditions: tuple[Condition, ...]
    partition_by: tuple[str, ...]
    window: int | None
    distinct: bool
    fields: tuple[tuple[str, Expr], ...]
    span: Span = field(compare=False, repr=False)

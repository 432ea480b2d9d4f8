"""The syntax tree: what was written, with where it was written, before anything is known to be right.

Nodes are frozen and compare by content: spans do not take part in equality, so two files that differ in layout only
have equal trees (that is what the formatter's tests compare).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cep.source import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Anything that stands somewhere in a file."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(Node):
    """An identifier; case matters."""

    text: str


# --- expressions ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Expr(Node):
    """A value or a condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberLiteral(Expr):
    """`42` is an int, `4.2` and `1e3` are floats."""

    value: int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class StringLiteral(Expr):
    """`'it''s'` holds `it's`."""

    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BooleanLiteral(Expr):
    """`TRUE` or `FALSE`."""

    value: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NullLiteral(Expr):
    """`NULL`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampLiteral(Expr):
    """`TIMESTAMP '2024-01-01T00:00:00Z'`: microseconds since the epoch, and the text between the quotes."""

    micros: int
    text: str = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationLiteral(Expr):
    """`5 MINUTES`: `unit` is singular and upper case (a key of `cep.ir.types.MICROS`)."""

    count: int | float
    unit: str

    @property
    def micros(self) -> int:
        """The length in microseconds."""
        from cep.ir.types import MICROS

        return round(self.count * MICROS[self.unit])


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute(Expr):
    """`var.attr`."""

    var: Name
    attr: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Bare(Expr):
    """A name alone: a variable as a whole, in `COUNT(b)`."""

    name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Unary(Expr):
    """`op` is `-` or `NOT`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(Expr):
    """`op` is one of `+ - * / % = <> < <= > >= AND OR`. `!=` is read as `<>`, `==` as `=`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Expr):
    """`func(args)`; `func.text` as written. `star` is for `COUNT(*)`, `distinct` for `COUNT(DISTINCT b.x)`."""

    func: Name
    args: tuple[Expr, ...]
    star: bool = False
    distinct: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InList(Expr):
    """`operand [NOT] IN (items)`."""

    operand: Expr
    items: tuple[Expr, ...]
    negated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Between(Expr):
    """`operand [NOT] BETWEEN low AND high`, both ends included."""

    operand: Expr
    low: Expr
    high: Expr
    negated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Like(Expr):
    """`operand [NOT] LIKE pattern`; `%` any text, `_` any character."""

    operand: Expr
    pattern: Expr
    negated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IsNull(Expr):
    """`operand IS [NOT] NULL`."""

    operand: Expr
    negated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class When(Node):
    """One `WHEN condition THEN result` of a `CASE`."""

    condition: Expr
    result: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Expr):
    """`CASE [operand] WHEN .. THEN .. [ELSE ..] END`."""

    operand: Expr | None
    whens: tuple[When, ...]
    otherwise: Expr | None


# --- the body of a pattern -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Body(Node):
    """What has to happen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Body):
    """`Stream var`: one event."""

    stream: Name
    var: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Seq(Body):
    """Each item strictly later than the one before."""

    items: tuple[Body, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class And(Body):
    """All items, in any order."""

    items: tuple[Body, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Or(Body):
    """One of the items."""

    items: tuple[Body, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Not(Body):
    """The item does not happen."""

    item: Body


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat(Body):
    """A set: `B+ b` (1, None), `B* b` (0, None), `B{2} b` (2, 2), `B{2,5} b`, `B{2,} b` (2, None)."""

    stream: Name
    var: Name
    least: int
    most: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Optional(Body):
    """`B? b`: one event, or none that fits."""

    stream: Name
    var: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected(Body):
    """`FIRST(B b)`, `LAST(B b)`, `NEXT(A a, B b)`, `RUN(B{2,} b)`: `op` is in upper case."""

    op: str
    items: tuple[Body, ...]


# --- statements ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Node):
    """Ends with `;`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Import(Statement):
    """`IMPORT 'streams.cep';` relative to the file that says it."""

    path: StringLiteral


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochFormat(Node):
    """`EPOCH SECONDS`: `unit` is singular and upper case (a key of `cep.ir.types.EPOCH_UNITS`)."""

    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat(Node):
    """`FORMAT '%d.%m.%Y'`."""

    text: StringLiteral


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDecl(Node):
    """`name TYPE [EPOCH unit | FORMAT '..']`; the type's name as written."""

    name: Name
    type: Name
    format: EpochFormat | TextFormat | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamDecl(Statement):
    """A stream: `STREAM name (columns)`, then `TIMESTAMP BY`, `WATERMARK`, `IDLE AFTER`, `MAX AHEAD`, `ORDER BY`."""

    name: Name
    columns: tuple[ColumnDecl, ...]
    timestamp_by: Name | None
    watermark: DurationLiteral | None
    idle_after: DurationLiteral | None = None
    max_ahead: DurationLiteral | None = None
    order_by: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Within(Node):
    """`WITHIN d`."""

    duration: DurationLiteral


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbounded(Node):
    """`UNBOUNDED`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnItem(Node):
    """`expr [AS alias]`; an attribute without alias is called `var.attr`."""

    expr: Expr
    alias: Name | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Return(Node):
    """`RETURN [DISTINCT] items`."""

    distinct: bool
    items: tuple[ReturnItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternDecl(Statement):
    """A pattern: `PATTERN name body [WHERE ..] [PARTITION BY ..] [WITHIN ..|UNBOUNDED] [RETURN ..];`.

    `window` is None where the clause is missing: the checker reports it.
    """

    name: Name
    body: Body
    where: Expr | None
    partition_by: tuple[Name, ...]
    window: Within | Unbounded | None
    returns: Return | None


@dataclass(frozen=True, slots=True, kw_only=True)
class File(Node):
    """All statements of one file, in order."""

    statements: tuple[Statement, ...]

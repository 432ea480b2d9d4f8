"""The functions of the language: what they take, what they give, and what is no function here on purpose."""

from __future__ import annotations

from dataclasses import dataclass

from cep.ir.types import COLUMN_TYPES, Type

_NUMBERS = frozenset({Type.INT, Type.DOUBLE})
_TEXT = frozenset({Type.STRING})
_ORDERED = frozenset({Type.INT, Type.DOUBLE, Type.STRING, Type.TIMESTAMP, Type.DURATION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """`result` None means the common type of the arguments; `most` None means any number. `about` is for people."""

    name: str
    accepts: frozenset[Type]
    usage: str
    about: str = ""
    result: Type | None = None
    least: int = 1
    most: int | None = 1

    def takes(self, count: int) -> bool:
        """Whether this many arguments are right."""
        return self.least <= count and (self.most is None or count <= self.most)

    @property
    def arity_text(self) -> str:
        """`1 argument`, `at least 2 arguments`."""
        prefix = "at least " if self.most is None else ""
        return f"{prefix}{self.least} argument{'' if self.least == 1 else 's'}"

    @property
    def accepts_text(self) -> str:
        """`INT or DOUBLE`."""
        return " or ".join(type_.value for type_ in Type if type_ in self.accepts)


FUNCTIONS = {
    function.name: function
    for function in (
        Function(name="ABS", accepts=_NUMBERS | {Type.DURATION}, usage="ABS(x)"),
        Function(name="ROUND", accepts=_NUMBERS, usage="ROUND(x)"),
        Function(name="LOWER", accepts=_TEXT, usage="LOWER(text)", result=Type.STRING),
        Function(name="UPPER", accepts=_TEXT, usage="UPPER(text)", result=Type.STRING),
        Function(name="LENGTH", accepts=_TEXT, usage="LENGTH(text)", result=Type.INT),
        Function(
            name="COALESCE",
            accepts=frozenset({*COLUMN_TYPES, Type.DURATION}),
            usage="COALESCE(x, y)",
            least=2,
            most=None,
        ),
        Function(name="GREATEST", accepts=_ORDERED, usage="GREATEST(x, y)", least=2, most=None),
        Function(name="LEAST", accepts=_ORDERED, usage="LEAST(x, y)", least=2, most=None),
    )
}
"""By name, upper case; a call may spell it in any case."""

_ANY = frozenset({*COLUMN_TYPES, Type.DURATION})

AGGREGATES = {
    function.name: function
    for function in (
        Function(
            name="COUNT",
            accepts=_ANY,
            usage="COUNT(b)",
            about="how many events a set has; of `b.x` how many values, of `DISTINCT b.x` how many different ones",
            result=Type.INT,
        ),
        Function(name="SUM", accepts=_NUMBERS | {Type.DURATION}, usage="SUM(b.x)", about="the sum over a set"),
        Function(name="AVG", accepts=_NUMBERS, usage="AVG(b.x)", about="the average over a set", result=Type.DOUBLE),
        Function(name="MIN", accepts=_ORDERED, usage="MIN(b.x)", about="the smallest value of a set"),
        Function(name="MAX", accepts=_ORDERED, usage="MAX(b.x)", about="the largest value of a set"),
        Function(name="FIRST", accepts=_ANY, usage="FIRST(b.x)", about="the value of the earliest event of a set"),
        Function(name="LAST", accepts=_ANY, usage="LAST(b.x)", about="the value of the latest event of a set"),
    )
}
"""What makes one value of all events of a set, by name, upper case."""

OF_VARIABLES = {
    function.name: function
    for function in (
        Function(name="PREV", accepts=_ANY, usage="PREV(b.x)", about="the value of the event before, in a run"),
        Function(
            name="STREAM_OF",
            accepts=frozenset(),
            usage="STREAM_OF(x)",
            about="the name of the stream that a variable is of",
            result=Type.STRING,
        ),
    )
}
"""What else is of a variable, not of a value."""

EVERY_FUNCTION = FUNCTIONS | AGGREGATES | OF_VARIABLES
"""All that can be called, by name."""

OF_ONE_MATCH = {"MIN": "LEAST", "MAX": "GREATEST"}
"""What may have been meant by an aggregate of several values."""

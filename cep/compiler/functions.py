"""The functions of the language: what they take, what they give, and what is no function here on purpose."""

from __future__ import annotations

from dataclasses import dataclass

from cep.types import COLUMN_TYPES, Type

_NUMBERS = frozenset({Type.INT, Type.DOUBLE})
_TEXT = frozenset({Type.STRING})
_ORDERED = frozenset({Type.INT, Type.DOUBLE, Type.STRING, Type.TIMESTAMP, Type.DURATION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """`result` None means the common type of the arguments; `most` None means any number."""

    name: str
    accepts: frozenset[Type]
    usage: str
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

AGGREGATES: dict[str, str | None] = {"COUNT": None, "SUM": None, "AVG": None, "MIN": "LEAST", "MAX": "GREATEST"}
"""What SQL has and a match cannot have, with the function that may have been meant."""

"""The types of the language.

`INT` is 64 bit, `TIMESTAMP` and `DURATION` count microseconds (since the epoch, in UTC, for timestamps).
`DURATION` has literals but no columns; `NULL` is the type of the bare literal and fits everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Type(Enum):
    """A type; its value is the keyword a user writes."""

    INT = "INT"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    BOOLEAN = "BOOLEAN"
    TIMESTAMP = "TIMESTAMP"
    DURATION = "DURATION"
    NULL = "NULL"

    @property
    def is_number(self) -> bool:
        """Whether arithmetic with plain numbers makes sense."""
        return self in (Type.INT, Type.DOUBLE)

    def __str__(self) -> str:
        return self.value


COLUMN_TYPES = (Type.INT, Type.DOUBLE, Type.STRING, Type.BOOLEAN, Type.TIMESTAMP)
"""What a stream's attribute can be declared as."""

MICROS = {
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
}
"""Microseconds in one of each duration unit (singular spelling)."""

EPOCH_UNITS = {"SECOND": 1_000_000, "MILLISECOND": 1_000, "MICROSECOND": 1, "NANOSECOND": 0}
"""Microseconds in a unit of `EPOCH`; a nanosecond is less than one."""


@dataclass(frozen=True, slots=True)
class TimeFormat:
    """How a TIMESTAMP is written in events: `kind` is `epoch`, `text` a unit of `EPOCH_UNITS`; or `text`, a format.

    `cep.ir.time_format` reads them.
    """

    kind: str
    text: str

    def __str__(self) -> str:
        if self.kind == "epoch":
            return f"EPOCH {self.text}S"
        quoted = self.text.replace("'", "''")
        return f"FORMAT '{quoted}'"


def common_type(left: Type, right: Type) -> Type | None:
    """The type both sides take before they are compared or merged; None where there is none.

    >>> common_type(Type.INT, Type.DOUBLE)
    <Type.DOUBLE: 'DOUBLE'>
    >>> common_type(Type.NULL, Type.STRING)
    <Type.STRING: 'STRING'>
    >>> common_type(Type.TIMESTAMP, Type.INT) is None
    True
    """
    if left is right:
        return left
    if Type.NULL in (left, right):
        return right if left is Type.NULL else left
    if left.is_number and right.is_number:
        return Type.DOUBLE
    return None

"""The values of literals: numbers that fit, timestamps that exist.

Each function takes what was written and returns a value, or None where there is none: the caller knows the place.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta

LARGEST = 2**63 - 1
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,6}))?)?\s*(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - offsets are taken off by hand: a time of year 1 may have one
_MICROSECOND = timedelta(microseconds=1)


def integer(text: str, largest: int = LARGEST) -> int | None:
    """The value of a row of digits; None where it is larger than `largest`.

    >>> integer("007"), integer("9223372036854775808")
    (7, None)
    """
    digits = text.lstrip("0") or "0"
    if len(digits) > 19:  # before int(), which refuses very long texts
        return None
    value = int(digits)
    return value if value <= largest else None


def decimal(text: str) -> float | None:
    """The nearest double; None where it is infinite.

    >>> decimal("1e3"), decimal("1e999")
    (1000.0, None)
    """
    value = float(text)
    return value if math.isfinite(value) else None


def timestamp(text: str) -> int | None:
    """Microseconds since the epoch of an ISO-8601 date or time (UTC where it names no zone); None where malformed.

    >>> timestamp("1970-01-01T01:00:00.5+01:00"), timestamp("1970-01-02"), timestamp("1970-02-30")
    (500000, 86400000000, None)
    """
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, _, sign, off_hours, off_minutes = match.groups()
    shift = int(off_hours or 0) * 60 + int(off_minutes or 0)
    if int(off_hours or 0) > 23 or int(off_minutes or 0) > 59:
        return None
    try:
        local = datetime(  # noqa: DTZ001 - see _EPOCH
            int(year),
            int(month),
            int(day),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((fraction or "").ljust(6, "0")),
        )
    except ValueError:
        return None
    return (local - _EPOCH) // _MICROSECOND - (-1 if sign == "-" else 1) * shift * 60_000_000

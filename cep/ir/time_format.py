"""How a column of type TIMESTAMP is written in events, where that is not the default (ISO-8601 or milliseconds).

`EPOCH unit` is a number counted from 1970-01-01T00:00:00Z; fractions are allowed and rounded to a microsecond, integers
finer than that are cut off. `FORMAT '...'` is text, described by directives as in `strptime`, a fixed set that means
the same on every machine: no locale, English names in any case, ASCII digits. A format without `%z` is UTC.

    %Y  year, four digits            %H  hour 0-23              %f  fraction of a second, 1 to 9 digits
    %y  year 1969-2068, two digits   %I  hour 1-12, with %p     %z  zone: Z, +02, +0200, +02:00
    %m  month 1-12                   %p  AM or PM               %a %A  day of the week, not checked
    %d  day of the month             %M  minute                 %F  %Y-%m-%d
    %b %B  name of the month         %S  second                 %T  %H:%M:%S
    %j  day of the year              %%  a percent sign

Numbers of two digits may lack the zero or have a blank in its place (`Jan  2`). What follows the sixth digit of a
fraction is cut off.

Guarantee: a format that `problem` accepts names one moment for each text that it matches, and nothing else is read.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import lru_cache

from cep.ir.types import EPOCH_UNITS

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_SHORTHAND = {"F": "%Y-%m-%d", "T": "%H:%M:%S"}
_TWO = r"( ?\d|\d\d)"
_EXPRESSIONS = {
    "Y": r"(\d{4})",
    "y": r"(\d\d)",
    "m": _TWO,
    "d": _TWO,
    "b": r"((?i:" + "|".join(_MONTHS) + "))",
    "B": r"((?i:" + "|".join(_LONG_MONTHS) + "))",
    "j": r"(\d{1,3})",
    "H": _TWO,
    "I": _TWO,
    "p": r"((?i:am|pm))",
    "M": _TWO,
    "S": _TWO,
    "f": r"(\d{1,9})",
    "z": r"(Z|[+-]\d\d(?::?\d\d)?)",
    "a": r"((?i:mon|tue|wed|thu|fri|sat|sun))",
    "A": r"((?i:monday|tuesday|wednesday|thursday|friday|saturday|sunday))",
}
_SAME = (("Y", "y"), ("m", "b", "B"), ("H", "I"), ("a", "A"))
_EPOCH = date(1970, 1, 1)
_DAY = 86_400_000_000


def of_number(unit: str, value: float) -> int:
    """Microseconds since the epoch of a number that counts units of `EPOCH_UNITS`.

    >>> of_number("SECOND", 1.5), of_number("NANOSECOND", -1)
    (1500000, -1)
    """
    factor = EPOCH_UNITS[unit]
    if isinstance(value, int):
        return value * factor if factor else value // 1000
    return round(value * factor) if factor else round(value / 1000)


def of_text(text: str, written: str) -> int:
    """Microseconds since the epoch of what is written in the format `text`; ValueError where it does not fit.

    >>> of_text("%d/%b/%Y:%T %z", "02/Jan/1970:01:00:00 +0100")
    86400000000
    """
    expression, directives = _compiled(text)
    match = expression.fullmatch(written)
    if match is None:
        raise ValueError
    found = dict(zip(directives, match.groups(), strict=True))
    micros = (_day(found) - _EPOCH).days * _DAY + _time_of_day(found)
    return micros - _zone(found.get("z", "Z"))


def problem(text: str) -> str | None:
    """What makes a format unusable, None where it names moments.

    >>> problem("%Y-%m-%d %H:%M"), problem("%H:%M"), problem("%Q")
    (None, 'it has no year', 'there is no directive `%Q`')
    """
    plain = _expanded(text)
    directives = re.findall(r"%(.?)", plain, re.DOTALL)
    for directive in directives:
        if directive not in _EXPRESSIONS and directive != "%":
            return f"there is no directive `%{directive}`" if directive else "it ends within a directive"
    used = [directive for directive in directives if directive != "%"]
    for group in (*_SAME, *((directive,) for directive in _EXPRESSIONS)):
        if sum(used.count(directive) for directive in group) > 1:
            return f"it has {' or '.join(f'`%{directive}`' for directive in group)} more than once"
    has = set(used)
    if not has & {"Y", "y"}:
        return "it has no year"
    if "j" in has and has & {"m", "b", "B", "d"}:
        return "it has a day of the year and a month or day of the month"
    if "j" not in has and not ("d" in has and has & {"m", "b", "B"}):
        return "it has no month and day"
    if ("I" in has) != ("p" in has):
        return "`%I` and `%p` go together"
    if "M" in has and not has & {"H", "I"}:
        return "it has minutes and no hour"
    if "S" in has and "M" not in has:
        return "it has seconds and no minutes"
    if "f" in has and "S" not in has:
        return "it has a fraction and no seconds"
    return None


def _expanded(text: str) -> str:
    """The format without `%F` and `%T`; `%%` stays."""
    return re.sub(r"%(.?)", lambda m: _SHORTHAND.get(m[1], m[0]), text, flags=re.DOTALL)


@lru_cache(maxsize=64)
def _compiled(text: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    directives: list[str] = []
    parts: list[str] = []
    for literal, directive in re.findall(r"([^%]+)|%(.)", _expanded(text), re.DOTALL):
        if literal or directive == "%":
            parts.append(re.escape(literal or "%"))
        else:
            directives.append(directive)
            parts.append(_EXPRESSIONS[directive])
    return re.compile("".join(parts), re.ASCII), tuple(directives)


def _day(found: dict[str, str]) -> date:
    year = int(found["Y"]) if "Y" in found else _full_year(int(found["y"]))
    if "j" in found:
        day = date(year, 1, 1) + timedelta(days=int(found["j"]) - 1)
        if int(found["j"]) < 1 or day.year != year:
            raise ValueError
        return day
    name = found.get("b") or found.get("B") or ""
    month = _MONTHS.index(name[:3].lower()) + 1 if name else int(found["m"])
    return date(year, month, int(found["d"]))


def _full_year(short: int) -> int:
    return short + (1900 if short >= 69 else 2000)


def _time_of_day(found: dict[str, str]) -> int:
    hour = int(found.get("H", "0"))
    if "I" in found:
        hour = int(found["I"])
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + (12 if found["p"].lower() == "pm" else 0)
    minute, second = int(found.get("M", "0")), int(found.get("S", "0"))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + int(found.get("f", "0")[:6].ljust(6, "0"))


def _zone(text: str) -> int:
    if text == "Z":
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    if int(digits[:2]) > 23 or int(digits[2:]) > 59:
        raise ValueError
    offset = (int(digits[:2]) * 60 + int(digits[2:])) * 60_000_000
    return offset if text[0] == "+" else -offset

"""What people write first because another language has it, and what to write here instead.

Consulted where a text does not parse, before any guess by spelling: `FOR` is no misspelt `OR`. A name that is also one
of these words is never bothered where it parses.
"""

from __future__ import annotations

from collections.abc import Sequence

_PATTERN = "a pattern is: PATTERN name SEQ(A a, B b) WHERE ... WITHIN ... RETURN ..."
_SET = "a set of events has its quantifier after the stream: `A+ a`, `A{5,} a`, `A{2,5} a`"
_REGULAR = "regular expressions are not supported yet: LIKE knows `%` (any text) and `_` (one character)"
_ABSENCE = "that an event does not come is said in the body: `SEQ(A a, NOT B b, C c)`"
_ORDER = "a sequence of events is written `SEQ(A a, B b)`"
_CHOSEN = "`FIRST(B b)` and `LAST(B b)` take one of the events that fit, RETURN DISTINCT puts equal results out once"
_DURATION = "a duration is a number and a unit: `5 MINUTES`"
_WINDOW = "the window is written `WITHIN 5 MINUTES`"
_UNTIL = "a set ends where the next step begins: `SEQ(B+ b, C c)`; what must not come first is `NOT C c`"
_OPTIONAL = "an event that need not come is written `B? b`"
_STRICT = "events that follow each other without another between are `NEXT(A a, B b)`, or a `RUN(B{2,} b)`"

_WORDS = {
    "SUPPRESS": f"`SUPPRESS` is not supported yet: {_CHOSEN}",
    "LIMIT": f"`LIMIT` is not supported yet: {_CHOSEN}",
    "SKIP": f"there is no `SKIP`: every combination of events is a match; {_CHOSEN}",
    "AFTER": f"there is no `AFTER MATCH`: every combination of events is a match; {_CHOSEN}",
    "GROUP": "`GROUP BY` is not supported yet: PARTITION BY joins events by a key, `COUNT(b)` counts those of a set",
    "HAVING": "`HAVING` is not supported yet: conditions on the events and sets of a match stand in WHERE",
    "ORDER": "a pattern has no `ORDER BY`: SEQ(A a, B b) puts events in order of time, matches come as they are found",
    "SELECT": f"there is no `SELECT`: the fields of a match are named last, in RETURN; {_PATTERN}",
    "FROM": f"there is no `FROM`: streams stand in the body; {_PATTERN}",
    "MATCH_RECOGNIZE": f"there is no `MATCH_RECOGNIZE`: {_PATTERN}",
    "WINDOW": _WINDOW,
    "OVER": "an aggregate is of a set, `B+ b`, and a set has the window of the pattern: `WITHIN 5 MINUTES`",
    "FILTER": "which events are in a set is said in WHERE: `b.x > 5`",
    "FOR": _WINDOW,
    "EMIT": f"there is no `EMIT`: a match is put out as soon as it is complete; {_PATTERN}",
    "ON": "conditions stand in WHERE: `WHERE a.x = b.x`",
    "EVERY": "there is no `EVERY`: every combination of events is a match anyway, `SEQ(A a, B b)`",
    "TIMES": _SET,
    "ONEORMORE": _SET,
    "RLIKE": _REGULAR,
    "REGEXP": _REGULAR,
    "SIMILAR": _REGULAR,
    "MATCHES": _REGULAR,
    "ILIKE": "write `LOWER(a.x) LIKE 'abc%'`, with the pattern in lower case",
    "ESCAPE": "LIKE has no escape: `%` and `_` are always wildcards",
    "INTERVAL": _DURATION,
    "EXISTS": _ABSENCE,
    **dict.fromkeys(("WITHOUT", "MISSING", "ABSENT", "UNLESS"), _ABSENCE),
    "UNTIL": _UNTIL,
    **dict.fromkeys(("STRICT", "CONSECUTIVE", "CONTIGUOUS"), _STRICT),
    **dict.fromkeys(("FOLLOWED", "FOLLOWEDBY", "THEN"), _ORDER),
    "LET": "`LET` is not supported yet: write the value where it is used",
    "PARAM": "`PARAM` is not supported yet: write the value where it is used",
    "CREATE": "a stream is declared `STREAM name (ts TIMESTAMP, ...) TIMESTAMP BY ts;`, without `CREATE`",
}
_PREFIXES = {
    "FIRST": "{0}({1} {2})",
    "LAST": "{0}({1} {2})",
    "OPTIONAL": "{1}? {2}",
    "OPTION": "{1}? {2}",
} | dict.fromkeys(("ALL", "MANY", "SOME"), "{1}+ {2}")
"""Words before an event, as another language would have them, with what to write."""

OPERATORS = "`SEQ`, `AND`, `OR`, `NOT`, `FIRST`, `LAST`, `NEXT` and `RUN`"
BODY_OPERATORS = {
    **dict.fromkeys(("ANY", "EITHER", "ONEOF", "ONE_OF"), "one of several events is written `OR(A a, B b)`"),
    **dict.fromkeys(("ALL", "BOTH"), "events in any order are written `AND(A a, B b)`"),
    **dict.fromkeys(("SEQUENCE", "FOLLOWEDBY", "FOLLOWED_BY", "THEN"), _ORDER),
    **dict.fromkeys(("ABSENT", "MISSING", "WITHOUT", "NONE", "EXISTS", "NOT_EXISTS"), _ABSENCE),
    **dict.fromkeys(("OPTIONAL", "MAYBE"), _OPTIONAL),
    **dict.fromkeys(("REPEAT", "TIMES", "KLEENE", "MANY", "ONEORMORE", "ATLEAST", "COUNT"), _SET),
    **dict.fromkeys(("STRICT", "CONSECUTIVE", "CONTIGUOUS", "IMMEDIATELY"), _STRICT),
    "UNTIL": _UNTIL,
    "EVERY": _WORDS["EVERY"],
    "WITHIN": _WINDOW,
}
"""Operators of other languages, by name in upper case."""


def habit(text: str, recent: Sequence[str], following: str, *, in_body: bool) -> str | None:
    """A hint for `text`, where parsing stopped; `recent` are the words before it, the last one last.

    `in_body` says that an event or a sequence of events is what could stand there, or has just stood there.
    """
    word = text.upper()
    before = [part.upper() for part in recent]
    last = before[-1] if before else ""
    if "EXISTS" in before[-3:] or (word == "NOT" and following.upper() in ("FOLLOWED", "EXISTS")):
        return _ABSENCE
    if "EVERY" in before[-2:] and in_body:
        return _WORDS["EVERY"]
    if last == "INTERVAL":
        return _DURATION
    if text == "." and last in ("FIRST", "LAST") and before[-2:-1] == ["."]:
        return f"write `{last}({recent[-3]}.{following})`"
    if text == "." and last == ")" and before[-3:-2] == ["("]:
        return f"write `{recent[-4]}({recent[-2]}.{following})`" if len(recent) > 3 else None
    if text == "*" and last == "." and before[-3:-2] == ["("]:
        return f"write `{recent[-4]}({recent[-2]})`" if len(recent) > 3 else None
    if in_body and (known := _in_body(text, recent, following)) is not None:
        return known
    if word in ("TRUE", "FALSE") and last in ("IS", "NOT"):
        return "a BOOLEAN is a condition by itself: `a.flag`, or `NOT a.flag`"
    if word == "AS" and "CAST" in before:
        return "there is no CAST: an INT that meets a DOUBLE becomes one by itself"
    if last == "WITHIN" and text.startswith("'"):
        return f"{_DURATION}, without quotes"
    if text == "." and before[-2:-1] == ["BY"]:
        return f"PARTITION BY takes an attribute that all events have, without a variable: `PARTITION BY {following}`"
    return _WORDS.get(word)


def _in_body(text: str, recent: Sequence[str], following: str) -> str | None:
    """What is known of slips in the body of a pattern."""
    word, last = text.upper(), recent[-1] if recent else ""
    opening = max((at for at, part in enumerate(recent) if part == "{"), default=0)
    if opening and "}" not in recent[opening:]:  # inside of a quantifier
        return _quantifier(recent[opening - 1], recent[opening + 1 :], text, following)
    if last in ("+", "*", "?", "}"):
        start = opening if last == "}" else len(recent) - 1
        stream = recent[start - 1] if start else "A"
        return f"every event has a variable: `{stream}{''.join(recent[start:])} {stream[:1].lower()}`"
    if text in ("+", "*", "?", "{") and len(recent) > 1 and _is_name(last) and _is_name(recent[-2]):
        quantifier = text if text != "{" else f"{{{following},}}" if following.isdigit() else "{2,}"
        return f"the quantifier stands after the stream: `{recent[-2]}{quantifier} {last}`"
    if text in ("+", "*", "?", "{"):
        return _SET
    if len(recent) > 1 and (prefix := _PREFIXES.get(recent[-2].upper())) is not None and _is_name(text):
        return f"write `{prefix.format(recent[-2].upper(), last, text)}`"
    if text.isdigit() and (_is_name(following) or "LEAST" in (part.upper() for part in recent[-2:])):
        return _SET
    if word in ("OR", "AND") and _is_name(last):
        return f"in a body `{word}` stands before its events: `{word}(A a, B b)`"
    return None


def _quantifier(stream: str, inside: Sequence[str], text: str, following: str) -> str | None:
    if text == "," and not inside:
        return f"write `{stream}{{0,{following}}} {stream[:1].lower()}`" if following.isdigit() else _SET
    most = following.lstrip(".")
    if len(inside) == 1 and inside[0].isdigit() and (text in (".", "-", ":", "..") or text.upper() == "TO"):
        numbers = f"{inside[0]},{most}" if most.isdigit() else f"{inside[0]},"
        return f"write `{stream}{{{numbers}}} {stream[:1].lower()}`"
    return _SET


def _is_name(text: str) -> bool:
    return text[:1].isalpha() or text[:1] in ("_", '"')


FUNCTIONS = {
    **dict.fromkeys(("POWER", "POW"), "there is no power yet: write `x * x`"),
    **dict.fromkeys(
        ("SQRT", "LN", "LOG", "LOG10", "EXP", "FLOOR", "CEIL", "CEILING", "TRUNC", "SIGN", "MOD"),
        "not supported yet: there are `+ - * / %` and the functions below",
    ),
    **dict.fromkeys(
        ("CONCAT", "SUBSTRING", "SUBSTR", "TRIM", "LTRIM", "RTRIM", "REPLACE", "SPLIT", "LEFT", "RIGHT", "CONTAINS",
         "STARTS_WITH", "STARTSWITH", "ENDS_WITH", "ENDSWITH", "POSITION", "INSTR"),
        "text cannot be cut or joined yet: LIKE tests what is in it, e.g. `a.x LIKE '%abc%'`",
    ),
    **dict.fromkeys(("REGEXP_LIKE", "REGEXP_MATCHES", "MATCHES", "REGEX", "REGEXP", "RLIKE", "EXTRACT"), _REGULAR),
    **dict.fromkeys(
        ("NOW", "CURRENT_TIMESTAMP", "GETDATE", "SYSDATE", "CURRENT_DATE", "TODAY"),
        "a pattern knows the times of events only: compare them with each other, `b.ts - a.ts < 5 MINUTES`",
    ),
    **dict.fromkeys(("DATEDIFF", "TIMESTAMPDIFF", "AGE"), "subtract times: `b.ts - a.ts < 5 MINUTES`"),
    **dict.fromkeys(("IF", "IIF", "DECODE", "NULLIF"), "write `CASE WHEN ... THEN ... ELSE ... END`"),
    **dict.fromkeys(("IFNULL", "NVL", "ISNULL"), "write `COALESCE(x, y)`, or `x IS NULL`"),
    **dict.fromkeys(("LEN", "CHAR_LENGTH", "CHARACTER_LENGTH"), "write `LENGTH(text)`"),
    **dict.fromkeys(("LCASE",), "write `LOWER(text)`"),
    **dict.fromkeys(("UCASE",), "write `UPPER(text)`"),
    **dict.fromkeys(
        ("PREVIOUS", "LAG", "LEAD", "NEXT"),
        "in a run, `RUN(B{2,} b)`, `PREV(b.x)` is the value of the event before",
    ),
    **dict.fromkeys(
        ("STDDEV", "MEDIAN", "VARIANCE", "PERCENTILE", "COLLECT", "ARRAY_AGG", "LISTAGG", "STRING_AGG"),
        "the aggregates of a set are COUNT, SUM, AVG, MIN, MAX, FIRST and LAST",
    ),
    **dict.fromkeys(
        ("COUNT_DISTINCT", "DISTINCT_COUNT", "COUNTDISTINCT", "DCOUNT", "APPROX_COUNT_DISTINCT"),
        "write `COUNT(DISTINCT b.x)`",
    ),
    **dict.fromkeys(("SIZE", "CARDINALITY", "ARRAY_LENGTH"), "the number of events of a set `B+ b` is `COUNT(b)`"),
    **dict.fromkeys(("ELEMENT_AT", "NTH", "NTH_VALUE"), "the ends of a set are `FIRST(b.x)` and `LAST(b.x)`"),
    **dict.fromkeys(("FIRST_VALUE", "EARLIEST"), "write `FIRST(b.x)`"),
    **dict.fromkeys(("LAST_VALUE", "LATEST"), "write `LAST(b.x)`"),
    **dict.fromkeys(("MEAN", "AVERAGE"), "write `AVG(b.x)`"),
    **dict.fromkeys(("CLASSIFIER", "TYPE_OF", "TYPEOF"), "write `STREAM_OF(x)`: the name of the stream of `x`"),
    "EXISTS": _ABSENCE,
}  # fmt: skip
"""Functions of other languages, by name in upper case."""

_COUNTS = frozenset({"count", "size", "len", "length", "cnt", "num"})
_ENDS = frozenset({"first", "last"})


def member(variable: str, attr: str, stream: str, *, is_set: bool) -> str | None:
    """A hint for what people take for an attribute of a variable that has several events."""
    word = attr.lower()
    if word in _COUNTS:
        return f"write `COUNT({variable})`" + ("" if is_set else f", of a set: `{stream}{{2,}} {variable}` in the body")
    if word in _ENDS:
        instead = f"{word.upper()}({variable}.x)"
        return f"write `{instead}`" + ("" if is_set else f", of a set: `{stream}{{2,}} {variable}` in the body")
    return None

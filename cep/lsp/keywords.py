"""A sentence about each keyword and type, for hover and completion."""

from __future__ import annotations

TYPE_HELP = {
    "INT": "**INT**: a whole number of 64 bits. Arithmetic that leaves them gives NULL.",
    "DOUBLE": "**DOUBLE**: a number with a fraction (IEEE 754, 64 bits). There is no NaN: it is read as NULL.",
    "STRING": "**STRING**: text, compared by code point.",
    "BOOLEAN": "**BOOLEAN**: `TRUE` or `FALSE`.",
    "TIMESTAMP": "**TIMESTAMP**: a moment, to the microsecond. In events: ISO-8601, or milliseconds since the epoch.",
}
"""By the type's name."""

_DURATION = "A unit of durations: `500 MILLISECONDS`, `10 SECONDS`, `5 MINUTES`, `1 HOUR`, `2 DAYS`."
_EPOCH = "A unit of `EPOCH`: `SECONDS`, `MILLISECONDS`, `MICROSECONDS` or `NANOSECONDS`."
_AHEAD = "`MAX AHEAD 1 DAY`: an event dated further after the clock of the machine that reads it is not an event."
_IDLE = (
    "`IDLE AFTER 1 MINUTE`: events arrive at most this long after their time, so that a silent stream holds up nothing."
)

KEYWORD_HELP = {
    "STREAM": "`STREAM name (column TYPE, ...) TIMESTAMP BY column WATERMARK 10 SECONDS;` declares a kind of event.",
    "PATTERN": "`PATTERN name SEQ(...) WHERE ... WITHIN ... RETURN ...;` describes a combination of events.",
    "IMPORT": "`IMPORT 'streams.cep';` makes the streams of another file known; the path is relative to this file.",
    "SEQ": "`SEQ(A a, B b)`: each step strictly later than the one before.",
    "AND": "`AND(A a, B b)` in a body: all of them, in any order. In a condition: both sides hold.",
    "OR": "`OR(A a, B b)` in a body: one of them. In a condition: at least one side holds.",
    "NOT": "`NOT B b` in a body: no such event there. In a condition: the opposite (unknown stays unknown).",
    "WHERE": "Conditions over `variable.attribute`. A comparison with NULL does not hold.",
    "PARTITION": "`PARTITION BY x`: all events of a match agree on `x`. Also says how a job is spread over machines.",
    "WITHIN": "`WITHIN 1 HOUR`: from the first event of a match to its last at most this long.",
    "UNBOUNDED": "No window: nothing is ever forgotten, so state can grow for ever.",
    "RETURN": "`RETURN expr AS name, ...`: the fields of a match. Without it: every attribute, as `var.attr`.",
    "DISTINCT": "`RETURN DISTINCT`: each tuple once while any combination of events behind it is alive.",
    "AS": "Names a field of the match.",
    "IN": "`x IN (a, b)`: equal to one of them.",
    "BETWEEN": "`x BETWEEN a AND b`: both ends included.",
    "LIKE": "`x LIKE 'a%'`: `%` is any text, `_` any character; case matters.",
    "IS": "`x IS NULL`, `x IS NOT NULL`.",
    "NULL": "No value. Comparisons with it never hold: use `IS NULL`.",
    "TRUE": "A BOOLEAN.",
    "FALSE": "A BOOLEAN.",
    "CASE": "`CASE WHEN condition THEN value ... ELSE value END`.",
    "WHEN": "A branch of `CASE`.",
    "THEN": "The value of a branch of `CASE`.",
    "ELSE": "The value of `CASE` where no branch holds; NULL without it.",
    "END": "The end of `CASE`.",
    "TIMESTAMP": "`TIMESTAMP BY column` names the event time. `TIMESTAMP '2024-01-01T00:00:00Z'` is a moment.",
    "WATERMARK": "`WATERMARK 10 SECONDS`: how late an event may be; later ones are dropped and counted. Default: 0.",
    "BY": "`TIMESTAMP BY column`, `ORDER BY column`, `PARTITION BY attribute`.",
    "ORDER": "`ORDER BY column`: orders events of the stream at one moment; `SEQ` then compares time and column.",
    "MAX": _AHEAD,
    "AHEAD": _AHEAD,
    "IDLE": _IDLE,
    "AFTER": _IDLE,
    "EPOCH": "`ts TIMESTAMP EPOCH SECONDS`: in events a number, counted from 1970-01-01T00:00:00Z.",
    "FORMAT": "`ts TIMESTAMP FORMAT '%d/%b/%Y:%T %z'`: in events text, with directives as in `strptime`.",
    "MICROSECOND": _EPOCH,
    "MICROSECONDS": _EPOCH,
    "NANOSECOND": _EPOCH,
    "NANOSECONDS": _EPOCH,
    "MILLISECOND": _DURATION,
    "MILLISECONDS": _DURATION,
    "SECOND": _DURATION,
    "SECONDS": _DURATION,
    "MINUTE": _DURATION,
    "MINUTES": _DURATION,
    "HOUR": _DURATION,
    "HOURS": _DURATION,
    "DAY": _DURATION,
    "DAYS": _DURATION,
}
"""By the keyword as it can be written, upper case. A test compares it with the lexer."""

BODY_HELP = {
    "FIRST": "`FIRST(B b)` in a body: no event that could stand in its place is earlier.",
    "LAST": "`LAST(B b)` in a body: no event that could stand in its place is later.",
    "NEXT": "`NEXT(A a, B b)`: one after the other, with no event of any stream of the pattern between.",
    "RUN": "`RUN(B{2,} b)`: an unbroken set. An event that does not fulfil the conditions on `b` breaks it.",
}
"""By the operators of a body that are names elsewhere."""

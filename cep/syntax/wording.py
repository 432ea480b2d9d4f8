"""Syntax errors in plain words: what was expected, what was found, and what the writer probably meant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

from cep.syntax._generated.CepParser import CepParser as P
from cep.syntax.habits import habit

UNITS = frozenset((P.MILLISECOND, P.SECOND, P.MINUTE, P.HOUR, P.DAY))
NAMES = frozenset((P.IDENTIFIER, P.QUOTED, *range(P.TIMESTAMP, P.DAY + 1)))
STREAM_CLAUSES = (P.TIMESTAMP, P.WATERMARK, P.IDLE, P.MAX, P.ORDER)
CLAUSES = (P.WHERE, P.PARTITION, P.WITHIN, P.UNBOUNDED, P.RETURN)
STATEMENTS = (P.STREAM, P.PATTERN, P.IMPORT)
END = -1
"""ANTLR's EOF: here, the end of the piece that is being parsed."""

_VALUE = (NAMES - UNITS) | {P.MINUS, P.LPAREN, P.INTEGER, P.DECIMAL, P.STRING, P.TRUE, P.FALSE, P.NULL, P.CASE}
_WORDS = NAMES | {P.STREAM, P.PATTERN, P.SEQ, P.END, P.CASE}
_OPERATORS = frozenset((P.PLUS, P.MINUS, P.STAR, P.SLASH, P.PERCENT))
_TESTS = frozenset((P.EQ, P.NE, P.LT, P.LE, P.GT, P.GE, P.IS, P.NOT, P.IN, P.BETWEEN, P.LIKE))
_ANY_OPERATOR = _OPERATORS | _TESTS | UNITS | {P.AND, P.OR}
_BODY = frozenset((P.SEQ, P.AND, P.OR, P.NOT)) | NAMES
_QUANTIFIERS = frozenset((P.PLUS, P.STAR, P.QUESTION, P.LBRACE))
_SYMBOLS = {
    P.EQ: "=",
    P.NE: "<>",
    P.LE: "<=",
    P.LT: "<",
    P.GE: ">=",
    P.GT: ">",
    P.PLUS: "+",
    P.MINUS: "-",
    P.STAR: "*",
    P.SLASH: "/",
    P.PERCENT: "%",
    P.QUESTION: "?",
    P.LPAREN: "(",
    P.RPAREN: ")",
    P.LBRACE: "{",
    P.RBRACE: "}",
    P.COMMA: ",",
    P.DOT: ".",
    P.SEMI: ";",
}
_PLAIN = {P.INTEGER: "a whole number", P.DECIMAL: "a number", P.STRING: "text in single quotes", P.IDENTIFIER: "a name"}
_GROUPS = (
    (_BODY, _BODY, "an event (`Stream var`) or `SEQ(...)`"),
    (NAMES | _QUANTIFIERS, NAMES | _QUANTIFIERS | {P.LPAREN}, "a name"),
    (_VALUE | {P.NOT}, _VALUE | UNITS | {P.NOT}, "an expression"),
    (_VALUE, _VALUE | UNITS, "a value"),
    (_OPERATORS, _ANY_OPERATOR, "an operator"),
    (_WORDS, frozenset(range(P.STREAM, P.QUOTED + 1)), "a name"),
    (NAMES, NAMES | _QUANTIFIERS, "a name"),
    (UNITS, UNITS, "a unit (`SECONDS`, `MINUTES`, ...)"),
    (frozenset((P.INTEGER, P.DECIMAL)), frozenset((P.INTEGER, P.DECIMAL)), "a number"),
)
_FOLLOWING = {"body": CLAUSES, "pattern": CLAUSES, "item": CLAUSES, "stream": STREAM_CLAUSES}
_SHORT_UNITS = {
    "ms": "MILLISECONDS",
    "milli": "MILLISECONDS",
    "millis": "MILLISECONDS",
    "msec": "MILLISECONDS",
    "s": "SECONDS",
    "sec": "SECONDS",
    "secs": "SECONDS",
    "m": "MINUTES",
    "min": "MINUTES",
    "mins": "MINUTES",
    "h": "HOURS",
    "hr": "HOURS",
    "hrs": "HOURS",
    "d": "DAYS",
}


def describe(kinds: Collection[int], end: Sequence[str]) -> str:
    """What could have stood there; `end` says what the end of the piece looks like.

    >>> describe({P.COMMA, END}, ("a clause", "`;`"))
    '`,`, a clause or `;`'
    """
    left = set(kinds)
    parts = []
    for needed, covered, words in _GROUPS:
        if needed <= left:
            left -= covered
            parts.append(words)
    if P.AND in kinds and P.OR not in kinds and "an operator" in parts:  # the AND of a BETWEEN
        parts.append("`AND`")
    parts += [_PLAIN.get(kind) or f"`{spelling(kind)}`" for kind in sorted(left - {END}, key=_order)]
    if END in left:
        parts += end
    return listing(parts)


def _order(kind: int) -> tuple[bool, int]:
    return kind in (P.COMMA, P.SEMI), kind


def spelling(kind: int) -> str:
    """How a token is written."""
    return _SYMBOLS.get(kind) or str(P.symbolicNames[kind])


def listing(parts: Iterable[str]) -> str:
    """`a, b or c`, without repetition."""
    items = list(dict.fromkeys(part for part in parts if part))
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}" if items else "nothing"


def near_keyword(text: str, kinds: Iterable[int]) -> int | None:
    """The keyword among `kinds` that the text is a misspelling of, if any.

    >>> near_keyword("PATERN", STATEMENTS) == P.PATTERN, near_keyword("Trans", STATEMENTS)
    (True, None)
    """
    words = {P.symbolicNames[kind]: kind for kind in kinds if P.STREAM <= kind <= P.DAY}
    folded = text.upper()
    near = get_close_matches(folded, words, n=1, cutoff=0.7)
    return words[near[0]] if near and len(text) > 2 and folded != near[0] else None


def hint(
    *,
    kinds: Collection[int],
    found: int,
    text: str,
    before: int | None,
    recent: Sequence[str],
    following: int,
    following_text: str,
    piece: str,
) -> str | None:
    """What to do about it, for the slips that people make; None where nothing is known.

    `recent` are the words before the one that was found, the last one last.
    """
    before_text = recent[-1] if recent else ""
    known = (
        habit(text, recent, following_text, in_body=piece == "body") if piece in ("body", "pattern", "item") else None
    )
    if known is not None:
        return known
    near = near_keyword(text, {*kinds, *(_FOLLOWING.get(piece, ()) if END in kinds else ())})
    upper = text.upper()
    if found == P.IDENTIFIER and near is not None and not (near in NAMES and P.IDENTIFIER in kinds):
        return f"did you mean `{P.symbolicNames[near]}`?"
    if found == P.WRONG_OPERATOR and text == "->":
        return "a sequence of events is written `SEQ(A a, B b)`"
    if before == P.QUOTED and P.DOT in kinds:
        return f"text stands in single quotes: '{before_text[1:-1]}'"
    if set(kinds) >= UNITS and text.lower() in _SHORT_UNITS:
        unit = _SHORT_UNITS[text.lower()]
        return f"write `{before_text} {unit[:-1] if before_text == '1' else unit}`"
    if P.NANOSECOND in kinds and P.IDENTIFIER not in kinds:
        return "write `EPOCH SECONDS`, `EPOCH MILLISECONDS`, `EPOCH MICROSECONDS` or `EPOCH NANOSECONDS`"
    if set(kinds) >= UNITS and before in (P.INTEGER, P.DECIMAL) and _OPERATORS.isdisjoint(kinds) and found not in NAMES:
        return f"a duration has a unit: `{before_text} SECONDS`"
    if set(kinds) >= UNITS and upper in ("WEEK", "WEEKS", "MONTH", "MONTHS", "YEAR", "YEARS"):
        return "the longest unit is a day: a week is `7 DAYS`"
    if before == P.COMMA and found in (P.RPAREN, P.SEMI, END, *CLAUSES):
        return "take out the comma before it"
    if found in NAMES and (P.COMMA in kinds or (END in kinds and piece in ("column", "item"))):
        return (
            f"is `AS` or a comma missing? A field is named `... AS {text}`"
            if piece == "item"
            else "is a comma missing?"
        )
    if P.IDENTIFIER in kinds and P.STREAM <= found <= P.END and not (P.MINUS in kinds or following == P.LPAREN):
        return f'`{upper}` is a reserved word; as a name it stands in double quotes: "{text}"'
    if P.LBRACE in kinds and before in NAMES:
        return f"every event has a stream and a variable, e.g. `{before_text} {before_text[:1].lower()}`"
    if before == P.PATTERN and found in (P.SEQ, P.AND, P.OR, P.NOT, P.LPAREN):
        return "a pattern has a name: PATTERN name SEQ(...)"
    if piece == "column" and before in NAMES and P.IDENTIFIER in kinds:
        return "a column is a name and a type: INT, DOUBLE, STRING, BOOLEAN or TIMESTAMP"
    if piece == "column" and found in (P.LPAREN, P.NOT, P.NULL):
        return "a type is one word and every column may be NULL"
    if before == P.RPAREN and P.COMMA not in kinds and found == P.RPAREN:
        return "there is a `)` too many"
    return None

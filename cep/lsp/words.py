"""Tokens and statements, without a parse: what is known of a file however broken it is.

A statement reaches to its `;`, or to a word that can only begin the next one. A pattern's variables are the pairs of
names (`Stream var`) in its body, whatever else is wrong with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from antlr4.Token import Token

from cep.diagnostics import Diagnostics
from cep.source import Source
from cep.syntax._generated.CepLexer import CepLexer as L
from cep.syntax.lex import lex

NAMES = frozenset({L.IDENTIFIER, L.QUOTED, *range(L.TIMESTAMP, L.DAY + 1)})
"""What can name a stream, a pattern or a variable."""
KEYWORDS = frozenset(range(L.STREAM, L.DAY + 1))
STARTS = frozenset({L.STREAM, L.PATTERN, L.IMPORT})
CLAUSES = frozenset({L.WHERE, L.PARTITION, L.WITHIN, L.UNBOUNDED, L.RETURN})
UNITS = frozenset(range(L.MILLISECOND, L.DAY + 1))
_BEFORE_NAMES = frozenset({L.DOT, L.AS, L.COMMA, L.LPAREN, L.BY, L.WHEN, L.THEN, L.ELSE})
_QUANTIFIER = frozenset({L.PLUS, L.STAR, L.QUESTION, L.LBRACE, L.RBRACE, L.INTEGER, L.COMMA})


@dataclass(frozen=True, slots=True)
class Word:
    """A token: its type in the lexer, its text as written, and where it stands."""

    kind: int
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """What the word names: without the quotes of a quoted name.

        >>> Word(L.QUOTED, '"a ""b"', 0, 7).name
        'a "b'
        """
        return self.text[1:-1].replace('""', '"') if self.kind == L.QUOTED else self.text

    @property
    def is_word(self) -> bool:
        """Whether it is a name or a keyword."""
        return self.kind in NAMES or self.kind in KEYWORDS


@dataclass(frozen=True, slots=True)
class Step:
    """`Stream var`, with its quantifier as written and the operator that it alone is in (`NOT`, `RUN`, ...)."""

    stream: Word
    var: Word
    quantifier: str = ""
    operator: str = ""

    @property
    def what(self) -> str:
        """What the variable stands for, in words.

        >>> Step(Word(L.IDENTIFIER, "Login", 0, 5), Word(L.IDENTIFIER, "f", 6, 7), "{5,}").what
        'all events of `Login` that fit, at least 5'
        """
        stream = f"`{self.stream.name}`"
        many = _many(self.quantifier)
        if self.operator == "NOT":
            return f"no event of {stream}" if many in (None, "at least 1") else f"not {many} events of {stream}"
        if self.quantifier == "?":
            return f"one event of {stream}, or none that fits"
        if many is not None:
            unbroken = "the unbroken events" if self.operator == "RUN" else "all events"
            return f"{unbroken} of {stream} that fit, {many}"
        chosen = {"FIRST": "the first event", "LAST": "the last event"}.get(self.operator, "one event")
        return f"{chosen} of {stream}" + (" that fits" if self.operator in ("FIRST", "LAST") else "")


def _many(quantifier: str) -> str | None:
    """How many a quantifier asks for; None where it makes no set."""
    inside = {"+": "1,", "*": "0,"}.get(quantifier) or quantifier.strip("{}")
    least, comma, most = inside.partition(",")
    if not least.isdigit():
        return None
    if not comma:
        return f"exactly {least}"
    return f"{least} to {most}" if most else "any number" if least == "0" else f"at least {least}"


@dataclass(frozen=True, slots=True)
class Statement:
    """Some words: `kind` is the type of the first where that can begin a statement, else None."""

    kind: int | None
    words: tuple[Word, ...]

    @property
    def title(self) -> Word | None:
        """The name of the stream or pattern."""
        if self.kind in (L.STREAM, L.PATTERN) and len(self.words) > 1 and self.words[1].is_word:
            return self.words[1]
        return None

    @property
    def body(self) -> tuple[Word, ...]:
        """The words of a pattern between its name and its first clause."""
        rest = self.words[2:] if self.kind == L.PATTERN else ()
        stop = next((i for i, word in enumerate(rest) if word.kind in CLAUSES), len(rest))
        return rest[:stop]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of a pattern's body that name a stream and a variable."""
        body = self.body
        found = []
        for at, word in enumerate(body):
            starts = at == 0 or body[at - 1].kind in (L.LPAREN, L.COMMA, L.NOT)
            if word.kind not in NAMES or not starts:
                continue
            after = at + 1
            if after < len(body) and body[after].kind in (L.PLUS, L.STAR, L.QUESTION, L.LBRACE):
                while after < len(body) and body[after].kind in _QUANTIFIER:
                    after += 1
            if after < len(body) and body[after].kind in NAMES:
                written = "".join(part.text for part in body[at + 1 : after])
                found.append(Step(word, body[after], written, _before(body, at)))
        return tuple(found)

    @property
    def variables(self) -> dict[str, tuple[str, ...]]:
        """The streams of each variable: several where alternatives share a name."""
        result: dict[str, tuple[str, ...]] = {}
        for step in self.steps:
            known = result.get(step.var.name, ())
            result[step.var.name] = known if step.stream.name in known else (*known, step.stream.name)
        return result


def _before(body: Sequence[Word], at: int) -> str:
    """The operator that a step alone is in: NOT, RUN, FIRST or LAST; NOT also where an OR is negated."""
    if at and body[at - 1].kind == L.NOT:
        return "NOT"
    depth = 0
    for place in range(at - 1, -1, -1):
        depth += (body[place].kind == L.RPAREN) - (body[place].kind == L.LPAREN)
        if depth < 0:  # the bracket that is open here
            opener = body[place - 1] if place else None
            if opener is None:
                return ""
            if opener.kind == L.OR:
                return "NOT" if place > 1 and body[place - 2].kind == L.NOT else ""
            return opener.name.upper() if opener.kind in NAMES else ""
    return ""


def words(source: Source) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """The tokens of a file, and its comments."""
    lexed = lex(source, Diagnostics())
    tokens = tuple(_word(source, token) for token in lexed.tokens if token.type != Token.EOF)
    return tokens, tuple(_word(source, token) for token in lexed.comments)


def _word(source: Source, token: object) -> Word:
    start, end = token.start, token.stop + 1  # type: ignore[attr-defined]  # antlr4 has no types
    return Word(token.type, source.text[start:end], start, end)  # type: ignore[attr-defined]  # antlr4 has no types


def statement_at(found: Sequence[Word], offset: int) -> Statement:
    """The statement that an offset is in, or the empty one between two statements."""
    begin = 0
    for at, word in enumerate(found):
        if word.start >= offset:
            break
        if word.kind == L.SEMI:
            begin = at + 1
        elif word.kind in STARTS and (at == 0 or found[at - 1].kind not in _BEFORE_NAMES) and word.end < offset:
            begin = at
    end = begin
    while end < len(found) and found[end].kind != L.SEMI:
        if end > begin and found[end].kind in STARTS and found[end - 1].kind not in _BEFORE_NAMES:
            break
        end += 1
    chosen = tuple(found[begin:end])
    if chosen and chosen[0].start > offset:
        chosen = ()
    return Statement(chosen[0].kind if chosen and chosen[0].kind in STARTS else None, chosen)

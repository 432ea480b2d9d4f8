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
_QUANTIFIER = frozenset({L.PLUS, L.STAR, L.QUESTION, L.LBRACE, L.RBRACE, L.INTEGER})


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
    def steps(self) -> tuple[tuple[Word, Word], ...]:
        """The (stream, variable) pairs of a pattern's body."""
        body = self.body
        found = []
        for at, word in enumerate(body):
            starts = at == 0 or body[at - 1].kind in (L.LPAREN, L.COMMA, L.NOT)
            if word.kind not in NAMES or not starts:
                continue
            after = at + 1
            while after < len(body) and body[after].kind in _QUANTIFIER:
                after += 1
            if after < len(body) and body[after].kind in NAMES:
                found.append((word, body[after]))
        return tuple(found)

    @property
    def variables(self) -> dict[str, str]:
        """The stream of each variable; of two with one name the first counts."""
        result: dict[str, str] = {}
        for stream, var in self.steps:
            result.setdefault(var.name, stream.name)
        return result


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

"""What the cursor is on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from cep.compiler.shared.functions import EVERY_FUNCTION
from cep.ir.types import COLUMN_TYPES
from cep.lsp.analysis import Analysis
from cep.lsp.keywords import BODY_HELP
from cep.lsp.words import CLAUSES, KEYWORDS, NAMES, Statement, Word, statement_at
from cep.syntax._generated.CepLexer import CepLexer as L


class Kind(Enum):
    """What a word can stand for."""

    STREAM = "stream"
    PATTERN = "pattern"
    VARIABLE = "variable"
    ATTRIBUTE = "attribute"
    FUNCTION = "function"
    TYPE = "type"
    IMPORT = "import"
    KEYWORD = "keyword"


@dataclass(frozen=True, slots=True)
class Thing:
    """A word and what it stands for; `streams` are those an attribute or variable belongs to."""

    kind: Kind
    word: Word
    statement: Statement
    streams: tuple[str, ...] = ()
    variable: str | None = None


def thing_at(analysis: Analysis, offset: int) -> Thing | None:
    """What stands at an offset (or ends there); None in white space, in comments and on punctuation."""
    word = _touching(analysis.words, offset)
    if word is None:
        return None
    statement = statement_at(analysis.words, word.end)
    if word not in statement.words:
        return None
    at = statement.words.index(word)
    if word.kind == L.STRING and statement.kind == L.IMPORT:
        return Thing(Kind.IMPORT, word, statement)
    if not word.is_word:
        return None
    found = _in_stream(word, statement, at) if statement.kind == L.STREAM else _in_pattern(word, statement, at)
    if found is not None:
        return found
    return Thing(Kind.KEYWORD, word, statement) if word.kind in KEYWORDS else None


def _touching(words: Sequence[Word], offset: int) -> Word | None:
    under = [word for word in words if word.start <= offset <= word.end]
    # At a border, as in `a|.x`, the word counts and not the dot.
    return next((word for word in under if word.is_word or word.kind == L.STRING), under[0] if under else None)


def _in_stream(word: Word, statement: Statement, at: int) -> Thing | None:
    title = statement.title
    if title is None:
        return None
    before = statement.words[at - 1].kind
    if at == 1:
        return Thing(Kind.STREAM, word, statement, (title.name,))
    if before in (L.LPAREN, L.COMMA, L.BY):
        return Thing(Kind.ATTRIBUTE, word, statement, (title.name,))
    if word.name.upper() in {type_.value for type_ in COLUMN_TYPES} and statement.words[at - 1].is_word:
        following = statement.words[at + 1].kind if at + 1 < len(statement.words) else None
        if following in (L.COMMA, L.RPAREN, None):
            return Thing(Kind.TYPE, word, statement)
    return None


def _in_pattern(word: Word, statement: Statement, at: int) -> Thing | None:
    if statement.kind != L.PATTERN:
        return None
    if at == 1:
        return Thing(Kind.PATTERN, word, statement)
    variables = statement.variables
    for step in statement.steps:
        if word == step.stream:
            return Thing(Kind.STREAM, word, statement, (step.stream.name,))
        if word == step.var:
            return Thing(Kind.VARIABLE, word, statement, variables[step.var.name], step.var.name)
    before = statement.words[at - 1].kind
    following = statement.words[at + 1].kind if at + 1 < len(statement.words) else None
    if before == L.DOT:
        owner = statement.words[at - 2].name if at >= 2 else ""
        return Thing(Kind.ATTRIBUTE, word, statement, variables.get(owner, ()), owner)
    clause = clause_of(statement.words[:at])
    if following == L.LPAREN and clause is None and word.name.upper() in BODY_HELP and word.kind != L.QUOTED:
        return Thing(Kind.KEYWORD, word, statement)
    if following == L.LPAREN and word.name.upper() in EVERY_FUNCTION:
        return Thing(Kind.FUNCTION, word, statement)
    if clause == L.PARTITION and before in (L.BY, L.COMMA):
        streams = (name for names in variables.values() for name in names)
        return Thing(Kind.ATTRIBUTE, word, statement, tuple(dict.fromkeys(streams)))
    if clause in (L.WHERE, L.RETURN) and before != L.AS and word.name in variables:
        return Thing(Kind.VARIABLE, word, statement, variables[word.name], word.name)
    if word.kind in NAMES and word in statement.body:
        return Thing(Kind.STREAM, word, statement, (word.name,))
    return None


def clause_of(before: Sequence[Word]) -> int | None:
    """The keyword of the clause that these words end in; None in a pattern's body."""
    return next((word.kind for word in reversed(before) if word.kind in CLAUSES), None)

"""Give a variable another name, everywhere in its pattern.

Only variables: they live in one statement. A stream or an attribute can be used by files that nobody has opened, and
attributes are named by the events themselves.
"""

from __future__ import annotations

from cep.lsp.analysis import Analysis
from cep.lsp.things import Kind, Thing, thing_at
from cep.source import Span
from cep.syntax.unparse import unparse_name


class CannotRenameError(Exception):
    """Why a name cannot be given; the message is for people."""


def renamable(analysis: Analysis, offset: int) -> Thing | None:
    """The variable at an offset; None where there is none, or nothing binds it."""
    thing = thing_at(analysis, offset)
    return thing if thing is not None and thing.kind is Kind.VARIABLE else None


def rename(analysis: Analysis, offset: int, name: str) -> tuple[tuple[Span, ...], str]:
    """Where a variable stands, and the text to put there; raises `CannotRenameError` where it cannot be done."""
    thing = renamable(analysis, offset)
    if thing is None:
        raise CannotRenameError("only variables can be renamed")
    bare = name[1:-1].replace('""', '"') if len(name) > 2 and name[0] == name[-1] == '"' else name
    if not bare.strip() or "\n" in bare or "\r" in bare:
        raise CannotRenameError("a name is not empty and stands in one line")
    if bare != thing.variable and bare in thing.statement.variables:
        raise CannotRenameError(f"there is a variable `{bare}` already")
    found = [
        analysis.source.span(word.start, word.end)
        for word in thing.statement.words
        if (other := thing_at(analysis, word.end)) is not None
        and other.word == word
        and other.kind is Kind.VARIABLE
        and other.variable == thing.variable
    ]
    return tuple(found), unparse_name(bare)

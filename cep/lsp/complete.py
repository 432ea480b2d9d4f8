"""What can stand at the cursor.

Decided from the tokens before it, so that it works in a statement that is being written. Offers what fits in most
cases, not a proof: after `WHERE a.x` both operators that are words and the next clauses are offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from cep.compiler.shared.functions import EVERY_FUNCTION
from cep.ir.expr import duration_text
from cep.ir.model import Stream
from cep.ir.types import Type
from cep.lsp.analysis import Analysis
from cep.lsp.keywords import BODY_HELP, KEYWORD_HELP, TYPE_HELP
from cep.lsp.things import clause_of
from cep.lsp.words import NAMES, UNITS, Statement, Word, statement_at
from cep.syntax._generated.CepLexer import CepLexer as L
from cep.syntax.unparse import unparse_name

_UNITS = ("MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS")
_EPOCH_UNITS = ("SECONDS", "MILLISECONDS", "MICROSECONDS", "NANOSECONDS")
_SECOND_WORDS = {L.ORDER: "BY", L.MAX: "AHEAD", L.IDLE: "AFTER"}
_CLAUSES = {
    L.WHERE: "WHERE",
    L.PARTITION: "PARTITION BY",
    L.WITHIN: "WITHIN",
    L.UNBOUNDED: "UNBOUNDED",
    L.RETURN: "RETURN",
}
_VALUES = ("NOT", "CASE", "NULL", "TRUE", "FALSE", "TIMESTAMP")
_OPERATORS = ("AND", "OR", "IN", "BETWEEN", "LIKE", "IS NULL", "IS NOT NULL", "NOT IN")
_OPERAND_ENDS = frozenset({L.RPAREN, L.INTEGER, L.DECIMAL, L.STRING, L.NULL, L.TRUE, L.FALSE, L.END, *UNITS, *NAMES})


class Sort(Enum):
    """What is offered; the order is the order of the list."""

    ATTRIBUTE = 0
    VARIABLE = 1
    STREAM = 2
    TYPE = 3
    FUNCTION = 4
    KEYWORD = 5


@dataclass(frozen=True, slots=True)
class Offer:
    """Something to insert at the cursor, in the place of the word that is being typed."""

    label: str
    sort: Sort
    detail: str = ""
    help: str = ""
    insert: str = ""


def complete(analysis: Analysis, offset: int) -> list[Offer]:
    """What can stand at an offset."""
    if _in_text(analysis, offset):
        return []
    statement = statement_at(analysis.words, offset)
    typed = next((w for w in statement.words if w.is_word and w.start < offset <= w.end), None)
    until = typed.start if typed is not None else offset
    before = tuple(word for word in statement.words if word.end <= until)
    if not before or statement.kind is None:
        return list(_keywords(("STREAM", "PATTERN", "IMPORT")))
    if before[-1].kind in (L.INTEGER, L.DECIMAL):
        return list(_keywords(_UNITS))
    if statement.kind == L.STREAM:
        return list(_in_stream(analysis, statement, before))
    return list(_in_pattern(analysis, statement, before)) if statement.kind == L.PATTERN else []


def _in_text(analysis: Analysis, offset: int) -> bool:
    text = analysis.source.text
    inside = [w for w in (*analysis.words, *analysis.comments) if w.start < offset]
    return any(
        offset < w.end or (offset == w.end and (w.text.startswith("--") or (offset == len(text) and _unterminated(w))))
        for w in inside
        if w.kind in (L.STRING, L.QUOTED, L.LINE_COMMENT, L.BLOCK_COMMENT)
    )


def _unterminated(word: Word) -> bool:
    return word.kind in (L.STRING, L.QUOTED) and (len(word.text) < 2 or word.text[0] != word.text[-1])


# --- streams -------------------------------------------------------------------------------------------------------


def _in_stream(analysis: Analysis, statement: Statement, before: Sequence[Word]) -> Iterator[Offer]:
    last = before[-1].kind
    title = statement.title
    depth = _depth(before)
    if depth > 0:
        if last not in (L.LPAREN, L.COMMA) and before[-1].is_word and before[-2].kind in (L.LPAREN, L.COMMA):
            yield from (Offer(name, Sort.TYPE, help=text) for name, text in TYPE_HELP.items())
        elif last == L.EPOCH:
            yield from _keywords(_EPOCH_UNITS)
        elif last == L.TIMESTAMP and before[-3].kind in (L.LPAREN, L.COMMA):
            yield from _keywords(("EPOCH", "FORMAT"))
    elif last == L.BY and title is not None and title.name in analysis.scope.streams:
        stream = analysis.scope.streams[title.name]
        yield from _attributes([stream], only=None if before[-2].kind == L.ORDER else Type.TIMESTAMP)
    elif last in _SECOND_WORDS and before[-2].kind != L.BY:
        yield from _keywords((_SECOND_WORDS[last],))
    elif any(word.kind == L.RPAREN for word in before) and last not in (L.BY, L.WATERMARK, L.AHEAD, L.AFTER):
        yield from _keywords(("TIMESTAMP BY", "WATERMARK", "IDLE AFTER", "MAX AHEAD", "ORDER BY"))


# --- patterns ------------------------------------------------------------------------------------------------------


def _in_pattern(analysis: Analysis, statement: Statement, before: Sequence[Word]) -> Iterator[Offer]:
    clause = clause_of(before)
    if clause is None:
        yield from _in_body(analysis, before)
        return
    known = analysis.scope.streams
    variables = {var: [known[name] for name in names if name in known] for var, names in statement.variables.items()}
    last = before[-1].kind
    if last == L.DOT:
        yield from _attributes(variables.get(before[-2].name, []))
    elif clause == L.PARTITION:
        yield from _partition(before, [stream for streams in variables.values() for stream in streams])
    elif clause in (L.WITHIN, L.UNBOUNDED):
        if last != L.WITHIN:
            yield from _next_clauses(before)
    elif last == L.AS:
        return
    elif last in _OPERAND_ENDS:
        # `AS x` has ended a field: only a comma or the next clause fits.
        named = len(before) > 1 and before[-2].kind == L.AS
        if not named:
            yield from _keywords(_OPERATORS)
            if clause == L.RETURN:
                yield from _keywords(("AS",))
        if _depth(before) == 0:
            yield from _next_clauses(before)
    else:
        if last == L.RETURN:
            yield from _keywords(("DISTINCT",))
        whats = {step.var.name: step.what.replace("`", "") for step in reversed(statement.steps)}
        for var in variables:
            yield Offer(var, Sort.VARIABLE, whats[var], insert=unparse_name(var))
        if last == L.LPAREN and before[-2].name.upper() == "COUNT":
            yield from _keywords(("DISTINCT",))
        for function in EVERY_FUNCTION.values():
            yield Offer(
                function.name, Sort.FUNCTION, function.usage, function.about or f"takes {function.accepts_text}"
            )
        yield from _keywords(_VALUES)


def _in_body(analysis: Analysis, before: Sequence[Word]) -> Iterator[Offer]:
    if len(before) < 2:
        return
    body = before[2:]
    if not body or body[-1].kind in (L.LPAREN, L.COMMA, L.NOT):
        for stream in analysis.scope.streams.values():
            columns = ", ".join(f"{name} {type_}" for name, type_ in stream.columns)
            yield Offer(stream.name, Sort.STREAM, columns, insert=unparse_name(stream.name))
        yield from _keywords(("SEQ", "AND", "OR", "NOT"))
        yield from (Offer(name, Sort.KEYWORD, help=text) for name, text in BODY_HELP.items())
    elif _depth(body) == 0 and (body[-1].kind == L.RPAREN or len(body) > 1):
        yield from _next_clauses(before)


def _partition(before: Sequence[Word], streams: Sequence[Stream]) -> Iterator[Offer]:
    last = before[-1].kind
    if last == L.PARTITION:
        yield from _keywords(("BY",))
    elif last in (L.BY, L.COMMA):
        yield from _attributes(streams)
    else:
        yield from _next_clauses(before)


def _attributes(streams: Sequence[Stream], only: Type | None = None) -> Iterator[Offer]:
    """The attributes that all of the streams have."""
    if not streams:
        return
    shared = set.intersection(*({name for name, _ in stream.columns} for stream in streams))
    first = streams[0]
    for name, type_ in first.columns:
        if name in shared and only in (None, type_):
            time = f"the event time, up to {duration_text(first.watermark)} late" if name == first.time else ""
            yield Offer(name, Sort.ATTRIBUTE, f"{type_} of {first.name}", time, unparse_name(name))


def _next_clauses(before: Sequence[Word]) -> Iterator[Offer]:
    order = list(_CLAUSES)
    done = [order.index(word.kind) for word in before if word.kind in _CLAUSES]
    here = max(done, default=-1)
    if here == order.index(L.WITHIN):
        here = order.index(L.UNBOUNDED)
    yield from _keywords(_CLAUSES[kind] for kind in order[here + 1 :])


def _keywords(names: Iterable[str]) -> Iterator[Offer]:
    for name in names:
        yield Offer(name, Sort.KEYWORD, help=KEYWORD_HELP.get(name.split()[0], ""))


def _depth(found: Sequence[Word]) -> int:
    return sum((word.kind == L.LPAREN) - (word.kind == L.RPAREN) for word in found)

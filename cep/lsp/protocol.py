"""Our values as the protocol's: positions, diagnostics, symbols, completion items.

The protocol counts lines from 0 and, within a line, in code units that client and server agree on (UTF-16 unless both
speak something else); a line ends at LF, CR LF or CR. We count characters. `Places` translates.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from lsprotocol import types
from pygls.workspace import PositionCodec

from cep.diagnostics import Diagnostic, Severity
from cep.ir import ast
from cep.lsp.analysis import Analysis
from cep.lsp.complete import Offer, Sort
from cep.source import Span
from cep.syntax.unparse import unparse_body, unparse_name

_LINE_END = re.compile("\r\n|\n|\r")
_UNUSED = frozenset({"CEP0212", "CEP0213"})
_SORTS = {
    Sort.ATTRIBUTE: types.CompletionItemKind.Field,
    Sort.VARIABLE: types.CompletionItemKind.Variable,
    Sort.STREAM: types.CompletionItemKind.Struct,
    Sort.TYPE: types.CompletionItemKind.TypeParameter,
    Sort.FUNCTION: types.CompletionItemKind.Function,
    Sort.KEYWORD: types.CompletionItemKind.Keyword,
}


class Places:
    """Character offsets of a text and the protocol's positions in it."""

    __slots__ = ("_codec", "_starts", "_text")

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self._text = text
        self._codec = codec
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def offset(self, position: types.Position) -> int:
        """The character offset of a position; one past the end of a line is the end of that line."""
        if position.line >= len(self._starts):
            return len(self._text)
        at = self._starts[position.line]
        units = 0
        while at < len(self._text) and self._text[at] not in "\r\n" and units < position.character:
            units += int(self._codec.client_num_units(self._text[at]))
            at += 1
        return at

    def position(self, offset: int) -> types.Position:
        """The position of a character offset."""
        offset = max(0, min(offset, len(self._text)))
        line = bisect_right(self._starts, offset) - 1
        units = int(self._codec.client_num_units(self._text[self._starts[line] : offset]))
        return types.Position(line=line, character=units)

    def range(self, start: int, end: int) -> types.Range:
        """The range between two offsets."""
        return types.Range(start=self.position(start), end=self.position(end))

    def whole(self) -> types.Range:
        """All of the text."""
        return self.range(0, len(self._text))


def diagnostic(
    found: Diagnostic, places: Places, related: list[types.DiagnosticRelatedInformation], narrowed: Span
) -> types.Diagnostic:
    """A finding; `narrowed` is where to underline it."""
    parts = [found.message, *([found.hint] if found.hint else []), *(f"note: {note}" for note in found.notes)]
    severity = types.DiagnosticSeverity.Error if found.severity is Severity.ERROR else types.DiagnosticSeverity.Warning
    return types.Diagnostic(
        range=places.range(narrowed.start, narrowed.end),
        message="\n".join(parts),
        severity=severity,
        code=found.code,
        source="cep",
        related_information=related or None,
        tags=[types.DiagnosticTag.Unnecessary] if found.code in _UNUSED else None,
        data={"hint": found.hint} if found.hint else None,
    )


def narrow(found: Diagnostic, analysis: Analysis) -> Span:
    """Where to underline a finding: one about a whole pattern (its cost) goes to the pattern's name."""
    for file in (analysis.unit.file, *analysis.unit.imported):
        for statement in file.statements:
            if isinstance(statement, ast.PatternDecl) and statement.span == found.span:
                return statement.name.span
    return found.span


def completion_item(offer: Offer, replaced: types.Range) -> types.CompletionItem:
    """An offer, to be put in the place of what has been typed of it."""
    return types.CompletionItem(
        label=offer.label,
        kind=_SORTS[offer.sort],
        detail=offer.detail or None,
        documentation=types.MarkupContent(types.MarkupKind.Markdown, offer.help) if offer.help else None,
        sort_text=f"{offer.sort.value}",
        filter_text=offer.label,
        text_edit=types.TextEdit(range=replaced, new_text=offer.insert or offer.label),
    )


def symbols(analysis: Analysis, places: Places) -> list[types.DocumentSymbol]:
    """Streams with their attributes, patterns with their variables."""
    return [symbol for statement in analysis.unit.file.statements for symbol in _symbol(statement, places)]


def _symbol(statement: ast.Statement, places: Places) -> Iterator[types.DocumentSymbol]:
    if isinstance(statement, ast.StreamDecl):
        columns = [
            _named(column.name, column.span, types.SymbolKind.Field, column.type.text.upper(), places)
            for column in statement.columns
        ]
        yield _named(statement.name, statement.span, types.SymbolKind.Struct, "stream", places, columns)
    elif isinstance(statement, ast.PatternDecl):
        steps = [
            _named(step.var, step.span, types.SymbolKind.Variable, detail, places)
            for step, detail in _steps(statement.body, "")
        ]
        yield _named(statement.name, statement.span, types.SymbolKind.Event, "pattern", places, steps)


def _steps(body: ast.Body, operator: str) -> Iterator[tuple[ast.Step | ast.Repeat | ast.Optional, str]]:
    """The variables of a body, each with its stream, quantifier and operator: `NOT Login`, `RUN Login{2,}`."""
    if isinstance(body, (ast.Step, ast.Repeat, ast.Optional)):
        written = unparse_body(body).removesuffix(f" {unparse_name(body.var)}")
        yield body, f"{operator} {written}".strip()
    elif isinstance(body, ast.Not):
        yield from _steps(body.item, "NOT")
    else:
        assert isinstance(body, (ast.Seq, ast.And, ast.Or, ast.Selected))
        inner = body.op if isinstance(body, ast.Selected) else operator if isinstance(body, ast.Or) else ""
        for item in body.items:
            yield from _steps(item, inner)


def _named(
    name: ast.Name,
    whole: Span,
    kind: types.SymbolKind,
    detail: str,
    places: Places,
    children: list[types.DocumentSymbol] | None = None,
) -> types.DocumentSymbol:
    return types.DocumentSymbol(
        name=name.text or "?",  # the protocol forbids empty names, which a broken file can have
        detail=detail,
        kind=kind,
        range=places.range(min(whole.start, name.span.start), max(whole.end, name.span.end)),
        selection_range=places.range(name.span.start, name.span.end),
        children=children,
    )

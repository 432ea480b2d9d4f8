"""Where the things under the cursor were declared."""

from __future__ import annotations

import os
from pathlib import Path

from cep.ir import ast
from cep.lsp.analysis import Analysis
from cep.lsp.things import Kind, Thing, thing_at
from cep.source import Source, Span


def define(analysis: Analysis, offset: int) -> tuple[Span, ...]:
    """The places where what stands at an offset was declared.

    There are several for an attribute of several streams, and for a name that alternatives share.
    """
    thing = thing_at(analysis, offset)
    if thing is None:
        return ()
    if thing.kind is Kind.STREAM:
        return _streams(analysis, thing)
    if thing.kind is Kind.ATTRIBUTE:
        return _attributes(analysis, thing)
    if thing.kind is Kind.VARIABLE:
        bound = [step.var for step in thing.statement.steps if step.var.name == thing.variable]
        return tuple(analysis.source.span(var.start, var.end) for var in bound)
    if thing.kind is Kind.IMPORT:
        return _file(analysis, thing)
    if thing.kind is Kind.PATTERN:
        return (analysis.source.span(thing.word.start, thing.word.end),)
    return ()


def _streams(analysis: Analysis, thing: Thing) -> tuple[Span, ...]:
    declared = analysis.scope.declared.get(thing.streams[0])
    return (declared.name.span,) if declared is not None else ()


def _attributes(analysis: Analysis, thing: Thing) -> tuple[Span, ...]:
    declared = [analysis.scope.declared[name] for name in thing.streams if name in analysis.scope.declared]
    return tuple(span for decl in declared if (span := _column(decl, thing.word.name)) is not None)


def _column(decl: ast.StreamDecl, name: str) -> Span | None:
    return next((column.name.span for column in decl.columns if column.name.text == name), None)


def _file(analysis: Analysis, thing: Thing) -> tuple[Span, ...]:
    written = thing.word.text.strip("'").replace("''", "'")
    path = os.path.normpath(Path(analysis.source.name).parent / written)
    try:
        there = Path(path).is_file()
    except ValueError:  # a NUL in the name
        there = False
    return (Source(path, "").span(0, 0),) if there else ()

"""A file as the editor has it, with everything the compiler knows of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cep.compiler.load import Unit, load
from cep.compiler.pipeline import Result, compile_unit
from cep.compiler.resolve import Scope, resolve
from cep.diagnostics import Diagnostics
from cep.lsp.words import Word, words
from cep.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """`words` are the tokens of the file itself; `scope` has the streams of its imports too."""

    source: Source
    unit: Unit
    scope: Scope
    result: Result
    words: tuple[Word, ...]
    comments: tuple[Word, ...]


def analyse(source: Source, texts: Mapping[str, str], import_root: str | None = None) -> Analysis:
    """Compile a file, taking imported files from `texts` (by absolute path) where they are open in the editor."""
    diagnostics = Diagnostics()
    unit = load(source, diagnostics, texts, import_root)
    result = compile_unit(unit, diagnostics)
    found, comments = words(source)
    return Analysis(
        source=source,
        unit=unit,
        scope=resolve(unit, Diagnostics()),
        result=result,
        words=found,
        comments=comments,
    )

"""The passes that judge a file, in the order of the pipeline."""

from __future__ import annotations

from cep.compiler.check import check
from cep.compiler.lint import lint
from cep.compiler.load import load
from cep.compiler.resolve import resolve
from cep.compiler.satisfiable import satisfiable
from cep.diagnostics import Diagnostics
from cep.ir.model import Pattern
from cep.source import Source


def judge(source: Source) -> tuple[tuple[Pattern, ...], Diagnostics]:
    """All findings for a file, and its patterns without errors."""
    diagnostics = Diagnostics()
    unit = load(source, diagnostics)
    scope = resolve(unit, diagnostics)
    patterns = check(unit, scope, diagnostics)
    for pattern in patterns:
        satisfiable(pattern, diagnostics)
    lint(unit, patterns, diagnostics)
    return patterns, diagnostics

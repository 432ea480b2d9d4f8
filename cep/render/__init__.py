"""Findings as text: one `Diagnostic` model, one sibling module per output format.

Every renderer is a function `render(reports, ...) -> str` over the same `Report`s: it prints nothing, reads no file and
knows nothing of terminals. `FORMATS` names them the way
`cep validate --output-format` does.
"""

from __future__ import annotations

from cep.render.report import Report

__all__ = ["FORMATS", "Report"]

FORMATS = ("full", "concise", "json", "github", "sarif")
"""The names `--output-format` takes; each is a module of this package with a function `render`."""

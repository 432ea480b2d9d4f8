"""One line a finding: `path:line:col: severity[CODE] message`, what editors and `grep` understand."""

from __future__ import annotations

from collections.abc import Sequence

from cep.diagnostics import Diagnostic
from cep.render.report import Report, findings


def render(reports: Sequence[Report]) -> str:
    """All findings, one a line; empty where there are none."""
    return "".join(line(item) + "\n" for item in findings(reports))


def line(item: Diagnostic) -> str:
    """One finding; the hint follows in parentheses. Line breaks in a message become blanks."""
    span = item.span
    text = f"{span.file}:{span.line}:{span.column}: {item.severity.value}[{item.code}] {item.message}"
    return " ".join((text + (f" ({item.hint})" if item.hint else "")).splitlines())

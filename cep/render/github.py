"""GitHub workflow commands: findings as annotations on the lines of a pull request.

GitHub shows about ten annotations of a kind per step, so errors come first.
"""

from __future__ import annotations

from collections.abc import Sequence

from cep.diagnostics import Diagnostic, Severity
from cep.render.report import Report, findings


def render(reports: Sequence[Report]) -> str:
    """One workflow command a finding, errors before warnings."""
    ordered = sorted(findings(reports), key=lambda item: item.severity is not Severity.ERROR)
    return "".join(annotation(item) + "\n" for item in ordered)


def annotation(item: Diagnostic) -> str:
    """One workflow command. Columns are left out where the span runs over several lines: GitHub rejects them there."""
    span = item.span
    properties = {"title": f"cep ({item.code})", "file": span.file, "line": str(span.line)}
    if span.line == span.end_line:
        properties["col"] = str(span.column)
    properties["endLine"] = str(span.end_line)
    if span.line == span.end_line:
        properties["endColumn"] = str(span.end_column)
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    parts = [item.message, *([item.hint] if item.hint else []), *(f"note: {note}" for note in item.notes)]
    return f"::{item.severity.value} {listed}::{_data(chr(10).join(parts))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

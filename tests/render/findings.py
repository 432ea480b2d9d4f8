"""Findings to render: one source with the troubles that layouts must survive."""

from __future__ import annotations

from cep.diagnostics import Diagnostic, Label, Severity
from cep.render.report import Report
from cep.source import Source, Span

TEXT = """STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE) TIMESTAMP BY ts;
-- 口座 is an account
PATTERN P
  SEQ(Trans s1, Trans s2)
  WHERE s1.acc = s2.acc
\tAND '口座' = s1.accc AND
    s2.amout < 100
  WITHIN 1 HOUR;
STREAM Trans (
  ts TIMESTAMP
);
"""
SOURCE = Source("rules/p.cep", TEXT)


def span(text: str, source: Source = SOURCE) -> Span:
    """The first place where `text` stands."""
    start = source.text.index(text)
    return source.span(start, start + len(text))


def finding(
    place: str | Span,
    message: str = "something is wrong",
    *,
    code: str = "CEP0203",
    severity: Severity = Severity.ERROR,
    hint: str | None = None,
    notes: tuple[str, ...] = (),
    labels: tuple[Label, ...] = (),
) -> Diagnostic:
    where = span(place) if isinstance(place, str) else place
    return Diagnostic(code=code, severity=severity, span=where, message=message, hint=hint, notes=notes, labels=labels)


UNKNOWN = finding(
    "amout",
    "unknown attribute `amout` on stream `Trans`",
    hint="did you mean `amnt`?",
    notes=("Trans has ts, acc, amnt",),
)
TWICE = finding(
    "STREAM Trans (\n  ts TIMESTAMP\n);",
    "stream `Trans` is declared twice",
    code="CEP0205",
    labels=(Label(span("Trans"), "first declared here"),),
)
WARNING = finding("P\n", "no partition key: 100% in one bucket, really", code="CEP0503", severity=Severity.WARNING)


def report(*items: Diagnostic, source: Source = SOURCE) -> Report:
    ok = not any(item.severity is Severity.ERROR for item in items)
    return Report(file=source.name, ok=ok, diagnostics=items, sources={source.name: source})

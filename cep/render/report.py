"""What a run found in one file: the only thing that the renderers look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from cep.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from cep.ir.plan import Plan
    from cep.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A file as named by the user, whether it is valid, its findings and the plans of its patterns.

    `sources` holds the text of the file and of everything it imports, by name; a renderer that finds no text for a
    span leaves the excerpt out.
    """

    file: str
    ok: bool
    diagnostics: tuple[Diagnostic, ...] = ()
    plans: tuple[Plan, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)


def findings(reports: Iterable[Report]) -> tuple[Diagnostic, ...]:
    """All findings of all reports, each once: two files that import a third share what is wrong in it."""
    unique = {(d.code, d.span): d for d in chain.from_iterable(report.diagnostics for report in reports)}
    return tuple(unique.values())


def by_file(reports: Sequence[Report]) -> tuple[Report, ...]:
    """The same findings, each under the file it is in.

    A finding in an imported file moves to a report of that file: one that is there already, or a new one at the end.
    The importing file keeps its `ok`.
    """
    named: dict[str, Report] = {report.file: replace(report, diagnostics=()) for report in reports}
    sources = {name: source for report in reports for name, source in report.sources.items()}
    for item in findings(reports):
        here = named.get(item.span.file) or Report(file=item.span.file, ok=True, sources=sources)
        ok = here.ok and item.severity is not Severity.ERROR
        named[item.span.file] = replace(here, ok=ok, diagnostics=(*here.diagnostics, item))
    return tuple(named.values())


def summary(reports: Sequence[Report]) -> str:
    """One line that counts: for people, about the run.

    >>> summary([Report(file="a.cep", ok=True)])
    '1 file, 0 patterns: no findings'
    """
    found = findings(reports)
    errors = sum(item.severity is Severity.ERROR for item in found)
    counts = [count(number, word) for number, word in ((errors, "error"), (len(found) - errors, "warning")) if number]
    patterns = sum(len(report.plans) for report in reports)
    head = f"{count(len(reports), 'file')}, {count(patterns, 'pattern')}"
    return f"{head}: {', '.join(counts) or 'no findings'}"


def count(number: int, word: str) -> str:
    """A number with its noun.

    >>> count(1, "error"), count(2, "error")
    ('1 error', '2 errors')
    """
    return f"{number} {word}" + ("" if number == 1 else "s")

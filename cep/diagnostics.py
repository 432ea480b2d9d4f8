"""Findings as values: what is wrong, where, and what to do about it.

Nothing here prints. A pass collects `Diagnostic`s in a `Diagnostics` list; `cep.render` turns them into text, JSON,
GitHub annotations or SARIF; `CepError` carries them through code that cannot go on.

Every code is declared once, in `CODES`. Numbers: 00xx files, 01xx syntax, 02xx names, 03xx types, 04xx patterns that
cannot be meant, 05xx cost, 09xx not supported yet. A released code keeps its meaning for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from cep.source import Span


class Severity(Enum):
    """Errors stop the compiler after the pass that found them; warnings never do."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that a diagnostic speaks of, e.g. the first of two declarations."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One finding. `message` is lower case without a full stop; `hint` says what to do; `notes` what exists."""

    code: str
    severity: Severity
    span: Span
    message: str
    hint: str | None = None
    notes: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()


class Diagnostics:
    """Collects findings in the order they are made; a finding that is already there is not added again."""

    __slots__ = ("_items", "_seen")

    def __init__(self) -> None:
        self._items: list[Diagnostic] = []
        self._seen: set[tuple[str, Span]] = set()

    def error(
        self,
        code: str,
        span: Span,
        message: str,
        *,
        hint: str | None = None,
        notes: Iterable[str] = (),
        labels: Iterable[Label] = (),
    ) -> None:
        """Add an error."""
        self._add(Severity.ERROR, code, span, message, hint, notes, labels)

    def warning(
        self,
        code: str,
        span: Span,
        message: str,
        *,
        hint: str | None = None,
        notes: Iterable[str] = (),
        labels: Iterable[Label] = (),
    ) -> None:
        """Add a warning."""
        self._add(Severity.WARNING, code, span, message, hint, notes, labels)

    def extend(self, items: Iterable[Diagnostic]) -> None:
        """Add findings made elsewhere."""
        for item in items:
            self._append(item)

    def _add(
        self,
        severity: Severity,
        code: str,
        span: Span,
        message: str,
        hint: str | None,
        notes: Iterable[str],
        labels: Iterable[Label],
    ) -> None:
        assert code in CODES, f"undeclared diagnostic code {code}"
        self._append(
            Diagnostic(
                code=code,
                severity=severity,
                span=span,
                message=message,
                hint=hint,
                notes=tuple(notes),
                labels=tuple(labels),
            )
        )

    def _append(self, item: Diagnostic) -> None:
        key = (item.code, item.span)
        if key not in self._seen:
            self._seen.add(key)
            self._items.append(item)

    @property
    def has_errors(self) -> bool:
        """Whether anything found is an error."""
        return any(item.severity is Severity.ERROR for item in self._items)

    def sorted(self) -> tuple[Diagnostic, ...]:
        """All findings by file, then place, then code."""
        return tuple(sorted(self._items, key=lambda d: (d.span.file, d.span.start, d.span.end, d.code)))

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


class CepError(Exception):
    """A run that cannot go on, with the findings that say why."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__(
            "\n".join(
                f"{d.span.file}:{d.span.line}:{d.span.column}: {d.severity.value}[{d.code}]: {d.message}"
                + (f" ({d.hint})" if d.hint else "")
                for d in self.diagnostics
            )
        )


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint with the nearest known name, ignoring case; None where nothing is near.

    >>> did_you_mean("amout", ["ts", "acc", "amnt"])
    'did you mean `amnt`?'
    """
    by_folded = {candidate.casefold(): candidate for candidate in known}
    near = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return f"did you mean `{by_folded[near[0]]}`?" if near else None


CODES: dict[str, str] = {
    "CEP0001": "file not found or not readable",
    "CEP0002": "file is not UTF-8 text",
    "CEP0003": "import cycle",
    "CEP0101": "syntax error",
    "CEP0102": "unknown character",
    "CEP0103": "unterminated string or comment",
    "CEP0104": "number out of range",
    "CEP0105": "malformed timestamp literal",
    "CEP0106": "clause repeated or out of order",
    "CEP0107": "nested too deeply",
    "CEP0201": "unknown stream",
    "CEP0202": "unknown variable",
    "CEP0203": "unknown attribute",
    "CEP0204": "unknown function",
    "CEP0205": "stream declared twice",
    "CEP0206": "pattern declared twice",
    "CEP0207": "attribute declared twice",
    "CEP0208": "variable bound twice",
    "CEP0209": "output field named twice",
    "CEP0210": "reserved output field name",
    "CEP0211": "unknown type",
    "CEP0212": "stream is never used",
    "CEP0213": "variable is never used",
    "CEP0214": "output field needs a name",
    "CEP0301": "operand of the wrong type",
    "CEP0302": "types cannot be compared",
    "CEP0303": "timestamp compared with a number",
    "CEP0304": "wrong number of arguments",
    "CEP0305": "aggregate not allowed here",
    "CEP0306": "condition is not boolean",
    "CEP0307": "event time is not a TIMESTAMP attribute",
    "CEP0308": "comparison with NULL is never true",
    "CEP0401": "neither WITHIN nor UNBOUNDED",
    "CEP0402": "stream has no event time",
    "CEP0403": "condition can never hold",
    "CEP0404": "order contradicts SEQ",
    "CEP0405": "window too short for the order",
    "CEP0406": "window is not positive",
    "CEP0407": "condition always holds",
    "CEP0501": "variable is not connected to the others",
    "CEP0502": "one event can bind two variables",
    "CEP0503": "no partition key: runs in one bucket",
    "CEP0504": "cyclic pattern",
    "CEP0901": "OR is not supported yet",
    "CEP0902": "NOT is not supported yet",
    "CEP0903": "repetition is not supported yet",
}
"""Every code with the title that `docs/diagnostics.md` and SARIF use. A test keeps page and table equal."""

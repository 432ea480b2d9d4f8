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

from cep import limits
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
    """Collects findings in the order they are made; a finding that is already there is not added again.

    The first `limits.FINDINGS` are kept; CEP0110 says at the first of the others how many there are.
    """

    __slots__ = ("_beyond", "_errors", "_items", "_lost", "_more", "_seen")

    def __init__(self) -> None:
        self._items: list[Diagnostic] = []
        self._seen: set[tuple[str, Span]] = set()
        self._errors = 0
        self._lost = 0
        self._more = 0
        self._beyond: Diagnostic | None = None

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
        if item.code == "CEP0110":  # from a list that is full itself
            self._beyond = item
            self._errors += item.severity is Severity.ERROR
            self._lost += item.severity is Severity.ERROR
            return
        key = (item.code, item.span)
        if key in self._seen:
            return
        self._errors += item.severity is Severity.ERROR
        if len(self._items) < limits.FINDINGS:
            self._seen.add(key)
            self._items.append(item)
        else:
            self._more += 1
            self._lost += item.severity is Severity.ERROR
            if self._beyond is None or (self._beyond.severity, item.severity) == (Severity.WARNING, Severity.ERROR):
                self._beyond = item

    @property
    def errors(self) -> int:
        """How many errors were found, those that are not kept among them."""
        return self._errors

    @property
    def full(self) -> bool:
        """Whether there were more errors than are kept: then nobody can say which patterns are free of them."""
        return self._lost > 0

    @property
    def has_errors(self) -> bool:
        """Whether anything found is an error."""
        return self._errors > 0

    def sorted(self) -> tuple[Diagnostic, ...]:
        """All findings by file, then place, then code."""
        return tuple(sorted(self, key=lambda d: (d.code == "CEP0110", d.span.file, d.span.start, d.span.end, d.code)))

    def __iter__(self) -> Iterator[Diagnostic]:
        yield from self._items
        if self._beyond is not None:
            yield self._last(self._beyond)

    def _last(self, first: Diagnostic) -> Diagnostic:
        if first.code == "CEP0110":
            return first
        return Diagnostic(
            code="CEP0110",
            severity=first.severity,
            span=first.span,
            message=f"and {self._more:,} more finding{'' if self._more == 1 else 's'}, from here on",
            hint="correct the ones above first",
        )

    def __len__(self) -> int:
        return len(self._items) + (self._beyond is not None)


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


FEW_NAMES, MOST_NAMES = 200, 1000
"""Of more names than the first only those with the same initial are compared, of more than the second none: a file with
thousands of unknown names is judged within seconds."""


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint with the nearest known name, ignoring case; None where nothing is near.

    >>> did_you_mean("amout", ["ts", "acc", "amnt"])
    'did you mean `amnt`?'
    """
    names = list(known)
    if len(names) > MOST_NAMES:
        return None
    if len(names) > FEW_NAMES:
        names = [candidate for candidate in names if candidate[:1].casefold() == name[:1].casefold()][:FEW_NAMES]
    by_folded = {candidate.casefold(): candidate for candidate in names}
    near = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return f"did you mean `{by_folded[near[0]]}`?" if near else None


CODES: dict[str, str] = {
    "CEP0001": "file not found or not readable",
    "CEP0002": "file is not UTF-8 text",
    "CEP0003": "import cycle",
    "CEP0004": "import leaves the project",
    "CEP0101": "syntax error",
    "CEP0102": "unknown character",
    "CEP0103": "unterminated string or comment",
    "CEP0104": "number out of range",
    "CEP0105": "malformed timestamp literal",
    "CEP0106": "clause repeated or out of order",
    "CEP0107": "nested too deeply",
    "CEP0108": "file too large",
    "CEP0109": "text or name too long",
    "CEP0110": "too many findings",
    "CEP0201": "unknown stream",
    "CEP0202": "unknown variable",
    "CEP0203": "unknown attribute",
    "CEP0204": "unknown function",
    "CEP0205": "stream declared twice",
    "CEP0206": "pattern declared twice",
    "CEP0207": "attribute declared twice",
    "CEP0208": "variable bound twice",
    "CEP0209": "output field named twice",
    "CEP0210": "reserved name",
    "CEP0211": "unknown type",
    "CEP0212": "stream is never used",
    "CEP0213": "variable is never used",
    "CEP0214": "output field needs a name",
    "CEP0215": "output of an event that does not come",
    "CEP0301": "operand of the wrong type",
    "CEP0302": "types cannot be compared",
    "CEP0303": "timestamp compared with a number",
    "CEP0304": "wrong number of arguments",
    "CEP0305": "aggregate not allowed here",
    "CEP0306": "condition is not boolean",
    "CEP0307": "event time is not a TIMESTAMP attribute",
    "CEP0308": "comparison with NULL is never true",
    "CEP0309": "output of a set of events",
    "CEP0311": "format of something that is not a TIMESTAMP",
    "CEP0312": "time format does not name a moment",
    "CEP0313": "ORDER BY orders nothing",
    "CEP0401": "neither WITHIN nor UNBOUNDED",
    "CEP0402": "stream has no event time",
    "CEP0403": "condition can never hold",
    "CEP0404": "order contradicts SEQ",
    "CEP0405": "window too short for the order",
    "CEP0406": "window is not positive",
    "CEP0407": "condition always holds",
    "CEP0408": "nothing says that the gap is over",
    "CEP0409": "no event makes a match",
    "CEP0410": "condition over two gaps",
    "CEP0411": "quantifier that cannot be meant",
    "CEP0412": "two sets side by side",
    "CEP0413": "PREV outside of a run",
    "CEP0414": "condition over alternatives that no match binds together",
    "CEP0417": "key of a run is not in PARTITION BY",
    "CEP0420": "clause needs an event time",
    "CEP0430": "pattern too large",
    "CEP0501": "variable is not connected to the others",
    "CEP0502": "one event can bind two variables",
    "CEP0503": "no partition key: runs in one bucket",
    "CEP0504": "cyclic pattern",
    "CEP0505": "match may wait for a silent stream",
    "CEP0506": "too many alternatives",
    "CEP0507": "condition is asked of each event of a gap",
    "CEP0508": "equality with a rounded sum",
    "CEP0901": "set beside alternatives is not supported yet",
    "CEP0904": "operator of something that it cannot take",
}
"""Every code with the title that `docs/diagnostics.md` and SARIF use. A test keeps page and table equal."""

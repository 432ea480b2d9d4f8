"""Findings for people: the source line, a caret under the span with the hint beside it, notes and second places.

The layout is that of design, section 2. Widths are those of a terminal: wide characters take two cells, tabs end at
every fourth cell, control characters are shown as a replacement sign. A line longer than `width` is cut around its
span. A span over several lines is drawn with a bar at its left. Colour is a flag: whoever knows the terminal sets it.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import click
from rich.cells import cell_len

from cep.diagnostics import Diagnostic, Severity
from cep.render.report import Report, findings
from cep.source import Source, Span

TAB = 4
ELLIPSIS = "..."
LONGEST_EXCERPT = 7
"""A span over more lines than this shows its first and last lines only."""

_COLOURS = {Severity.ERROR: "bright_red", Severity.WARNING: "bright_yellow"}
_SECOND = "bright_blue"
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def render(reports: Sequence[Report], *, color: bool = False, width: int = 120) -> str:
    """All findings, a blank line between them."""
    sources = {name: source for report in reports for name, source in report.sources.items()}
    return "\n".join(diagnostic(item, sources, color=color, width=width) for item in findings(reports))


def diagnostic(item: Diagnostic, sources: Mapping[str, Source], *, color: bool = False, width: int = 120) -> str:
    """One finding with a final line break."""
    return "".join(line.rstrip() + "\n" for line in _Drawing(item, sources, color, width).lines())


@dataclass(frozen=True, slots=True)
class _Mark:
    """A place to underline; the first of a diagnostic is drawn with carets, the others with dashes."""

    span: Span
    text: str
    primary: bool

    @property
    def several_lines(self) -> bool:
        return self.span.end_line > self.span.line

    @property
    def sign(self) -> str:
        return "^" if self.primary else "-"


class _Drawing:
    __slots__ = ("color", "gutter", "item", "sources", "width")

    def __init__(self, item: Diagnostic, sources: Mapping[str, Source], color: bool, width: int) -> None:
        self.item = item
        self.sources = sources
        self.color = color
        self.gutter = max(len(str(span.end_line)) for span in (item.span, *(label.span for label in item.labels)))
        self.width = max(width - self.gutter - 3, 40)

    def lines(self) -> Iterator[str]:
        item = self.item
        head = self.paint(f"{item.severity.value}[{item.code}]", _COLOURS[item.severity])
        yield f"{head}: {self.paint(visible(item.message), None)}"
        beside = visible(item.hint) if item.hint and "\n" not in item.hint else ""
        primary = _Mark(item.span, beside, True)
        others = [_Mark(label.span, visible(label.text), False) for label in item.labels]
        for number, block in enumerate(self.blocks(primary, others)):
            yield from self.block(block, "-->" if number == 0 else ":::")
        shown = item.span.file in self.sources
        if item.hint and (not beside or not shown):
            yield from self.trailer("help", item.hint)
        for note in item.notes:
            yield from self.trailer("note", note)

    def blocks(self, primary: _Mark, others: list[_Mark]) -> Iterator[list[_Mark]]:
        """Marks of one line each in the file of the primary one share an excerpt; every other mark has its own."""
        together = [
            mark
            for mark in others
            if not (mark.several_lines or primary.several_lines) and mark.span.file == primary.span.file
        ]
        yield [primary, *together]
        for mark in others:
            if mark not in together:
                yield [mark]

    def block(self, marks: list[_Mark], arrow: str) -> Iterator[str]:
        span = marks[0].span
        where = f"{visible(span.file)}:{span.line}:{span.column}"
        yield f"{' ' * self.gutter}{self.paint(arrow, _SECOND)} {where}"
        source = self.sources.get(span.file)
        if source is None:
            if not marks[0].primary:
                yield from self.trailer("note", marks[0].text)
            return
        yield self.margin()
        if marks[0].several_lines:
            yield from self.tall(source, marks[0])
            return
        previous = 0
        by_line = sorted(marks, key=lambda mark: mark.span.line)
        for number, group in groupby(by_line, key=lambda mark: mark.span.line):
            if previous and number == previous + 2:
                text, _ = _line(source.line(number - 1)).fit(0, 0, self.width)
                yield self.margin(number - 1) + text
            elif previous and number > previous + 1:
                yield self.paint(ELLIPSIS, _SECOND)
            yield from self.flat(source, number, list(group))
            previous = number

    def flat(self, source: Source, number: int, marks: list[_Mark]) -> Iterator[str]:
        """One line of source; below it, one line for each mark, the primary one first."""
        marks.sort(key=lambda mark: not mark.primary)
        first, *_ = marks
        shown = _line(source.line(number))
        begin, end = shown.cells(first.span.column, first.span.end_column)
        text, shift = shown.fit(begin, end, self.width)
        yield self.margin(number) + text
        for mark in marks:
            begin, end = shown.cells(mark.span.column, mark.span.end_column)
            begin, end = max(begin + shift, 0), max(end + shift, 0)
            if begin >= cell_len(text) + 1:
                begin = end = max(cell_len(text) - 1, 0)
            length = max(min(end, max(cell_len(text), begin + 1)) - begin, 1)
            under = mark.sign * length + (f" {mark.text}" if mark.text else "")
            yield self.margin() + " " * begin + self.paint(under, self.colour(mark))

    def tall(self, source: Source, mark: _Mark) -> Iterator[str]:
        """A span over several lines: a bar from its first character to its last."""
        span = mark.span
        paint = self.colour(mark)
        last = span.end_line
        if span.end_column == 1:  # it ends with a line break: the line after it is no part of it
            last -= 1
        numbers = list(range(span.line, last + 1))
        top = _line(source.line(span.line))
        begin, _ = top.cells(span.column, span.column)
        from_margin = not top.text[:begin].strip()
        room = self.width - 2
        for number in self.excerpt(numbers):
            if number is None:
                yield self.paint(f"{ELLIPSIS:<{self.gutter + 3}}", _SECOND) + self.paint("|", paint)
                continue
            text, _ = _line(source.line(number)).fit(0, 0, room)
            if number == span.line:
                yield self.margin(number) + (self.paint("/", paint) if from_margin else " ") + " " + text
                if not from_margin:
                    yield self.margin() + self.paint(" " + "_" * (min(begin, room) + 1) + mark.sign, paint)
            else:
                yield self.margin(number) + self.paint("|", paint) + " " + text
        bottom = _line(source.line(last))
        column = span.end_column if last == span.end_line else len(source.line(last)) + 1
        _, end = bottom.cells(column, column)
        tail = f" {mark.text}" if mark.text else ""
        yield self.margin() + self.paint("|" + "_" * max(min(end, room), 1) + mark.sign + tail, paint)

    @staticmethod
    def excerpt(numbers: list[int]) -> Iterator[int | None]:
        if len(numbers) <= LONGEST_EXCERPT:
            yield from numbers
            return
        yield from numbers[:3]
        yield None
        yield from numbers[-2:]

    def trailer(self, kind: str, text: str) -> Iterator[str]:
        first, *rest = map(visible, text.splitlines() or [""])
        yield f"{' ' * (self.gutter + 1)}{self.paint('=', _SECOND)} {self.paint(f'{kind}:', None)} {first}"
        for line in rest:
            yield " " * (self.gutter + 5 + len(kind)) + line

    def margin(self, number: int | None = None) -> str:
        label = "" if number is None else str(number)
        return self.paint(f"{label:>{self.gutter}} |", _SECOND) + " "

    def colour(self, mark: _Mark) -> str:
        return _COLOURS[self.item.severity] if mark.primary else _SECOND

    def paint(self, text: str, colour: str | None) -> str:
        return click.style(text, fg=colour, bold=True) if self.color else text


class Line:
    r"""A line of source as a terminal shows it. Measured once, O(length); cutting it is O(width).

    >>> Line("\ta").text, Line("\ta").cells(2, 3)
    ('    a', (4, 5))
    """

    __slots__ = ("_shown", "_starts")

    def __init__(self, raw: str) -> None:
        shown: list[str] = []
        starts = [0]
        for char in raw:
            text, cells = _seen(char) if char != "\t" else _TABS[starts[-1] % TAB]
            shown.append(text)
            starts.append(starts[-1] + cells)
        self._shown = shown
        self._starts = starts

    @property
    def text(self) -> str:
        """The whole line."""
        return "".join(self._shown)

    def cells(self, column: int, end_column: int) -> tuple[int, int]:
        """The cells of a range of columns (from 1, the end excluded), counted from 0."""
        last = len(self._starts) - 1
        return self._starts[min(column - 1, last)], self._starts[min(end_column - 1, last)]

    def fit(self, begin: int, end: int, width: int) -> tuple[str, int]:
        """The line cut to `width` cells so that those from `begin` to `end` stay visible; also how far they moved.

        >>> Line("a" * 30 + "X" + "b" * 30).fit(30, 31, 21)
        ('...aaaaaaaXbbbbbbb...', -20)
        """
        cells = self._starts[-1]
        if cells <= width:
            return self.text, 0
        room = width - 2 * len(ELLIPSIS)
        start = max(begin - max((room - (end - begin)) // 2, 0), 0)
        start = min(start, cells - room)
        before = ELLIPSIS if start > len(ELLIPSIS) else ""
        if not before:
            start = 0
        stop = start + width - len(before) - len(ELLIPSIS)
        first = bisect_left(self._starts, start)
        last = bisect_right(self._starts, stop) - 1
        after = ELLIPSIS if last < len(self._shown) else ""
        return before + "".join(self._shown[first:last]) + after, len(before) - self._starts[first]


_TABS = tuple((" " * (TAB - at), TAB - at) for at in range(TAB))


@lru_cache(maxsize=1 << 16)
def _seen(char: str) -> tuple[str, int]:
    """What a terminal shows of a character, and in how many cells."""
    shown = visible(char)
    return shown, cell_len(shown)


@lru_cache(maxsize=8)
def _line(raw: str) -> Line:
    """A line that several findings are in is measured once."""
    return Line(raw)


def visible(text: str) -> str:
    r"""Characters that would move the cursor, change colours or the direction of text, replaced by a sign.

    >>> visible("a\x1b[31m")
    'a\ufffd[31m'
    """
    return "".join("\ufffd" if unicodedata.category(char) in _INVISIBLE else char for char in text)

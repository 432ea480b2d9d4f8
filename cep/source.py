"""Source text and places in it.

A `Source` is a name and a text; a `Span` is a half-open range of it with its line and column already worked out, so
that a diagnostic can be rendered late, in another process, without the text. Lines and columns count from 1 and in
characters; `end_column` is the column after the last character.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters in a file, `start` (inclusive) to `end` (exclusive)."""

    file: str
    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, other: Span) -> Span:
        """The smallest span that holds both; they must be of one file, `self` first."""
        return Span(self.file, self.start, other.end, self.line, self.column, other.end_line, other.end_column)


@dataclass(frozen=True, slots=True)
class Source:
    """A file's name as the user typed it, and its text."""

    name: str
    text: str
    _line_starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0]
        starts += [i + 1 for i, char in enumerate(self.text) if char == "\n"]
        object.__setattr__(self, "_line_starts", tuple(starts))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1, of a character offset. O(log lines)."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        r"""The span from `start` to `end`, clipped to the text.

        >>> Source("a.cep", "ab\ncd").span(3, 5)
        Span(file='a.cep', start=3, end=5, line=2, column=1, end_line=2, end_column=3)
        """
        start = max(0, min(start, len(self.text)))
        end = max(start, min(end, len(self.text)))
        return Span(self.name, start, end, *self.position(start), *self.position(end))

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its line break; empty past the end."""
        if not 1 <= number <= len(self._line_starts):
            return ""
        begin = self._line_starts[number - 1]
        stop = self._line_starts[number] - 1 if number < len(self._line_starts) else len(self.text)
        return self.text[begin:stop].rstrip("\r")

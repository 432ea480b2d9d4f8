"""What can be wrong with an input, and what is done about it.

A *bad record* is one that cannot be read as an event of its stream; an `ErrorPolicy` says whether it ends the run
(`fail`), is left out (`skip`) or is left out and kept (`dead-letter=FILE`). An *unreadable input* (no such file, a
cut-off archive, a column of a type that cannot be meant) ends the run under every policy: nothing after it can be
trusted.

Guaranteed: a bad record is counted once, and names its file, its line, what was expected and what was found.
"""

from __future__ import annotations

import json
from pathlib import Path
from threading import Lock
from typing import IO


class InputError(Exception):
    """An input that cannot be read at all; the text is for the user."""


class BadRecordError(InputError):
    """A record that is not an event of its stream. `line` counts from 1 (rows, where a format has no lines)."""

    def __init__(self, file: str, line: int, error: str, raw: str) -> None:
        self.file = file
        self.line = line
        self.error = error
        self.raw = raw
        super().__init__(f"{file}:{line}: {error}")


class ErrorPolicy:
    """What happens to bad records, and how many there were.

    >>> policy = ErrorPolicy.parse("skip")
    >>> policy.bad_record("events.jsonl", 17, '"amnt": expected DOUBLE, found "abc"', "{...}")
    >>> policy.count
    1
    """

    __slots__ = ("_file", "_lock", "count", "first", "kind", "path")

    def __init__(self, kind: str = "fail", path: Path | None = None) -> None:
        self.kind = kind
        self.path = path
        self.count = 0
        self.first: BadRecordError | None = None
        self._file: IO[str] | None = None
        self._lock = Lock()  # several inputs are read at once

    @classmethod
    def parse(cls, text: str) -> ErrorPolicy:
        """The policy that `--on-error` names; ValueError, for the user, where it names none."""
        kind, equals, path = text.partition("=")
        if kind in ("fail", "skip") and not equals:
            return cls(kind)
        if kind == "dead-letter" and path:
            return cls(kind, Path(path))
        raise ValueError(f"expected fail, skip or dead-letter=FILE, found {text!r}")

    def bad_record(self, file: str, line: int, error: str, raw: str) -> None:
        """Count a bad record; raises it under `fail`, writes it under `dead-letter`."""
        found = BadRecordError(file, line, error, raw)
        if self.kind == "fail":
            raise found
        with self._lock:
            self.count += 1
            if self.first is None:
                self.first = found
            if self.path is not None:
                record = {"file": file, "line": line, "error": error, "raw": raw}
                self.open().write(json.dumps(record, ensure_ascii=False) + "\n")

    def open(self) -> IO[str]:
        """The dead-letter file, made now if it is not there; called early, it tells of a path that is not writable."""
        assert self.path is not None
        if self._file is None:
            self._file = self.path.open("w", encoding="utf-8")
        return self._file

    def close(self) -> None:
        """Write out what is pending."""
        if self._file is not None:
            self._file.close()
            self._file = None


IGNORE = "ignore"
"""The kind of a policy that neither counts nor raises: for a first look at an input that is read again later."""


class Ignored(ErrorPolicy):
    """Leaves bad records out without counting them."""

    def __init__(self) -> None:
        super().__init__(IGNORE)

    def bad_record(self, file: str, line: int, error: str, raw: str) -> None:
        """Do nothing."""

"""Ctrl-C and SIGTERM end a run between two writes, so that what was written is whole.

The first signal is noted, and `check` raises `Interrupted` where the run asks for it; the second one has its usual
effect, for a run that does not come to ask.
"""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(Exception):  # noqa: N818 - asked for, not an error
    """A signal came. `status` is what a shell reports for a process that it ended."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.status = 128 + number
        super().__init__(signal.Signals(number).name)


class Interrupts:
    """While entered, signals are noted instead of ending the process. Does nothing outside the main thread."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:  # noqa: PYI034 - Self is not in Python 3.10
        try:
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._note)
        except ValueError:
            self._restore()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.number = number
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)

    def check(self) -> None:
        """Raise `Interrupted` if a signal came."""
        if self.number is not None:
            raise Interrupted(self.number)

"""The progress bar: on a terminal only, on stderr, and only for runs that take longer than a second."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from connectors.files.prefetch import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

_AFTER = 1.0
_EVERY = 0.1


class Bar:
    """Bytes read of all inputs, with counts of events and matches beside them."""

    def __init__(self, reading: Sequence[Progress], total: int | None) -> None:
        self._reading = reading
        self._total = total
        self._enabled = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._started = self._drawn = time.monotonic()
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Bar:  # noqa: PYI034 - Self is not in Python 3.10
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, events: int, matches: int) -> None:
        """Draw, if it is time to."""
        now = time.monotonic()
        if not self._enabled or now - self._started < _AFTER or now - self._drawn < _EVERY:
            return
        self._drawn = now
        if self._bar is None or self._task is None:
            self._start()
        assert self._bar is not None
        assert self._task is not None
        rate = events / (now - self._started)
        text = f"{events:,} events  {matches:,} matches  {rate:,.0f} events/s"
        self._bar.update(self._task, completed=sum(item.read for item in self._reading), counts=text)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, TextColumn
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        self._bar = RichProgress(
            BarColumn(bar_width=12),
            DownloadColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[counts]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("replay", total=self._total, counts="")
        self._bar.start()

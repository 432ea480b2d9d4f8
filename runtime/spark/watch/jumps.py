"""What a job's watermark tells about clocks, batch by batch: jumps, a watermark ahead of the clock, times of 1970.

A watermark that moves by more than the longest window in one batch forgets everything and may make all that follows
late; one that is ahead of the machine's clock was made by an event that is, or the machine's clock is behind; one
before 1990 comes from numbers that were read in the wrong unit. Each is said when it begins, not again for every batch
that it lasts: a job that reads its backlog jumps with every batch, and that is fine.

The watermark that Spark reports with a batch is the one that the batches before it have made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from cep.ir.expr import duration_text

if TYPE_CHECKING:
    from cep.ir.plan import Plan
    from runtime.spark.watch.progress import Batch

_YEAR_1990 = datetime(1990, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to warn of: an event of the log and its fields."""

    event: str
    fields: dict[str, Any]


class Jumps:
    """Look at every batch. `total` counts jumps, also those that are not said."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        windows = [plan.window for plan in plans]
        # Without a window nothing is forgotten, but events can be late all the same: any jump of a day counts then.
        known = [window for window in windows if window is not None] or [86_400_000_000]
        self._longest = max(known)
        self._before: datetime | None = None
        self._lasting: frozenset[str] = frozenset()
        self.total = 0

    def look(self, batch: Batch) -> list[Finding]:
        """What begins with this batch."""
        found = {finding.event: finding for finding in self._findings(batch)}
        fresh = [finding for event, finding in found.items() if event not in self._lasting]
        self._lasting = frozenset(found)
        self._before = batch.watermark or self._before
        return fresh

    def _findings(self, batch: Batch) -> list[Finding]:
        watermark = batch.watermark
        if watermark is None:
            return []
        text = watermark.isoformat().replace("+00:00", "Z")
        found = []
        moved = watermark - self._before if self._before is not None else timedelta(0)
        micros = moved // timedelta(microseconds=1)
        if micros > self._longest:
            self.total += 1
            why = f"moved by {duration_text(micros)} in one batch, more than the longest window: is a clock ahead?"
            found.append(Finding("watermark_jump", {"batch": batch.number, "watermark": text, "why": why}))
        if batch.lag is not None and batch.lag < 0:
            why = f"{-batch.lag:.0f} s ahead of the clock of this machine: --max-ahead refuses events that are"
            found.append(Finding("watermark_ahead", {"batch": batch.number, "watermark": text, "why": why}))
        if watermark < _YEAR_1990:
            why = "before 1990: are times in seconds? Declare them `TIMESTAMP EPOCH SECONDS`"
            found.append(Finding("watermark_long_ago", {"batch": batch.number, "watermark": text, "why": why}))
        return found

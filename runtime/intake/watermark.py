"""The watermark of a pattern, event by event.

Over the merged order in which events arrive: each stream's watermark is its latest event time so far minus the disorder
it allows; the pattern's is the least of its streams', and there is none until every stream has had an event. An event
is *late* if its time is before the watermark that the events before it made. That is a property of the order alone,
never of how it was cut into batches.

Streams without event time, and events whose time is NULL, neither move the watermark nor are late.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

NONE = -(2**63)
"""The time of an event without one, and the watermark before there is one."""

Times = npt.NDArray[np.int64]
Codes = npt.NDArray[np.integer[Any]]


class Clock:
    """Watermark over streams with event time, given as code -> allowed disorder in microseconds.

    >>> clock = Clock({0: 10})
    >>> times = np.array([100, 95, 120, 105], np.int64)
    >>> clock.advance(np.zeros(4, np.int8), times).tolist(), clock.watermark
    ([False, False, False, True], 110)
    """

    __slots__ = ("_delays", "_latest", "marks")

    def __init__(self, delays: Mapping[int, int]) -> None:
        self._delays = dict(delays)
        self._latest = dict.fromkeys(delays, NONE)
        self.marks: Times = np.empty(0, np.int64)
        """The watermark that each event of the last `advance` met (`NONE` where there was none)."""

    @property
    def watermark(self) -> int | None:
        """The watermark after all events so far; None where there is none."""
        marks = [self._latest[code] - delay for code, delay in self._delays.items() if self._latest[code] != NONE]
        return min(marks) if marks and len(marks) == len(self._delays) else None

    @property
    def latest(self) -> dict[int, int]:
        """The latest event time of each stream that has had an event with one."""
        return {code: time for code, time in self._latest.items() if time != NONE}

    def reach(self, code: int, time: int) -> None:
        """A stream has had an event of this time. Streams that the clock does not know are left out."""
        if code in self._latest:
            self._latest[code] = max(self._latest[code], time)

    def advance(self, codes: Codes, times: Times) -> npt.NDArray[np.bool_]:
        """Take the next events in merged order; which of them are late. Vectorised, O(events · streams).

        Events of streams that the clock does not know are never late.
        """
        count = len(times)
        if not count or not self._delays:
            self.marks = np.full(count, NONE, np.int64)
            return np.zeros(count, np.bool_)
        before = np.full(count, 2**63 - 1, np.int64)
        known = np.zeros(count, np.bool_)
        for code, delay in self._delays.items():
            mine = codes == code
            known |= mine
            seen = np.empty(count + 1, np.int64)
            seen[0] = self._latest[code]
            np.copyto(seen[1:], np.where(mine, times, NONE))
            np.maximum.accumulate(seen, out=seen)
            self._latest[code] = int(seen[-1])
            marks = seen[:-1]
            np.minimum(before, np.where(marks == NONE, NONE, marks - delay), out=before)
        self.marks = before
        late: npt.NDArray[np.bool_] = known & (times != NONE) & (times < before)
        return late

"""Time that passes only when something says so. Stands in for the module `time` in the code under test.

`monotonic` is the same for everyone and never goes back; `time` is the wall clock, which faults may set.
"""

from __future__ import annotations

import time as real
from collections.abc import Callable

START = 1_767_225_600.0
"""The wall clock at the beginning: 2026-01-01T00:00:00Z."""


class Clock:
    """One clock for a world. `on_tick` is told of every step: the broker times transactions out."""

    def __init__(self) -> None:
        self.now = 0.0
        self.wall = START
        self.on_tick: Callable[[float], None] = lambda _now: None

    def advance(self, seconds: float) -> None:
        if seconds > 0:
            self.now += seconds
            self.wall += seconds
            self.on_tick(self.now)

    def jump(self, seconds: float) -> None:
        """Set the wall clock."""
        self.wall += seconds

    # As the module `time` has them

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.wall

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def perf_counter(self) -> float:
        return self.now

    def gmtime(self, seconds: float | None = None) -> real.struct_time:
        return real.gmtime(self.wall if seconds is None else seconds)

    strftime = staticmethod(real.strftime)

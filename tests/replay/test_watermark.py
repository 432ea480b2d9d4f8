"""The clock says what the definition says, and says it the same however the order is cut."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.intake.watermark import NONE, Clock

EVENTS = st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(-20, 20)), max_size=40)
DELAYS = {0: 0, 1: 5, 2: 3}
"""Stream 3 is not the pattern's."""


def definition(events: list[tuple[int, int | None]], delays: dict[int, int]) -> tuple[list[bool], int | None]:
    latest: dict[int, int] = {}
    late = []
    for code, time in events:
        mark = min(latest[c] - delays[c] for c in delays) if set(delays) <= set(latest) else None
        late.append(code in delays and time is not None and mark is not None and time < mark)
        if code in delays and time is not None:
            latest[code] = max(latest.get(code, time), time)
    return late, min(latest[c] - delays[c] for c in delays) if set(delays) <= set(latest) else None


@settings(deadline=None)
@given(events=EVENTS, cuts=st.lists(st.integers(0, 40)), streams=st.sets(st.integers(0, 2), min_size=1))
def test_late_is_what_comes_before_the_watermark_of_the_events_before(
    events: list[tuple[int, int | None]], cuts: list[int], streams: set[int]
) -> None:
    delays = {code: DELAYS[code] for code in streams}
    codes = np.array([code for code, _ in events], np.int16)
    times = np.array([NONE if time is None else time for _, time in events], np.int64)
    clock = Clock(delays)
    late: list[bool] = []
    ends = sorted({min(cut, len(events)) for cut in cuts} | {len(events)})
    for begin, end in zip([0, *ends], ends, strict=False):
        late += clock.advance(codes[begin:end], times[begin:end]).tolist()
    assert (late, clock.watermark) == definition(events, delays)

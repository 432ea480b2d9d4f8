"""The timer of a slot: when Spark is to visit it although no event comes.

Every slot that has state looks again once in a while (`ROUND`), to be rid of what it no longer needs. A slot whose
patterns hold events back has its timer at the moment at which the first of them is due instead.

Spark fires a timer in a batch without data if there is no other. Some versions do so when the watermark is *after* it,
others when it is there, and some pass over a timer that is set to the watermark itself (SPARK-56566). So there are two:
at the millisecond at which something is due, and at the one before. If the first comes too early, nothing happens.
"""

from __future__ import annotations

from typing import Any

ROUND = 3_600_000
"""How often the timer of a slot fires, in milliseconds of event time. A firing costs a few calls to the state."""


def look_again(handle: Any, watermark: int | None) -> None:
    """Set the timer of a slot that holds nothing back."""
    handle.registerTimer((watermark or 0) // 1000 + ROUND)


def arm(handle: Any, watermark: int | None, due: int | None, fired: int | None) -> None:
    """Set the timer of a slot that may hold events back, and delete the one before, unless it `fired`: Spark does."""
    now = (watermark or 0) // 1000
    there = set(handle.listTimers()) - {fired}
    if due is not None:
        at = max(-(-due // 1000), now + 1)
        wanted = {at - 1, at} - {fired}
    else:
        ahead = [at for at in there if now < at <= now + ROUND]
        wanted = {min(ahead, default=now + ROUND)}
    for at in there - wanted:
        handle.deleteTimer(at)
    for at in wanted - there:
        handle.registerTimer(at)

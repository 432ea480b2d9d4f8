"""A day of temperatures, a reading a minute, and machines that stop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from examples._generate import HOUR, MINUTE, Feed, ts, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(41, disorder=4)

    def readings(machine: str, at: float, values: Sequence[float]) -> float:
        """A reading a minute; the time after the last."""
        for number, celsius in enumerate(values):
            feed.add("Reading", at + number * MINUTE, machine=machine, celsius=celsius)
        return at + len(values) * MINUTE

    def stop(machine: str, at: float, reason: str = "fault") -> None:
        feed.add("Stopped", at, machine=machine, reason=reason)

    for number in range(30):  # up and down, and a stop now and then
        machine = f"press-{number:02d}"
        values = [60 + (i % 4) * 3 + round(feed.random.uniform(0, 2), 2) for i in range(40)]
        stop(machine, readings(machine, feed.random.uniform(0, 8 * HOUR), values))

    stop("slowly", readings("slowly", HOUR, [60.0, 61.5, 64.0, 68.0, 75.5]))
    feed.plant("RisingBeforeFailure", machine="slowly", readings=5, low=60.0, high=75.5)

    # Of twelve readings the last eight rise.
    stop("after a while", readings("after a while", HOUR, [70, 71, 60, 59, 58, 60, 61, 63, 66, 70, 75, 81]))
    feed.plant("RisingBeforeFailure", machine="after a while", readings=8, low=58, high=81)

    # Only a quarter of an hour counts: of twenty readings a minute apart the last fifteen.
    at = readings("for long", HOUR, [float(60 + i) for i in range(20)])
    stop("for long", at)
    feed.plant("RisingBeforeFailure", machine="for long", stopped_at=ts(at), readings=15, low=65.0)

    stop("the last one fell", readings("the last one fell", 2 * HOUR, [60, 64, 68, 72, 76, 80, 79.9]))
    stop("one stood still", readings("one stood still", 2 * HOUR, [50, 64, 68, 68, 72, 76, 80]))
    stop("four are too few", readings("four are too few", 2 * HOUR, [60, 65, 70, 75]))
    stop("not warm enough", readings("not warm enough", 2 * HOUR, [60, 62, 64, 66, 69.9]))
    stop("switched off", readings("switched off", 2 * HOUR, [60, 64, 68, 72, 76]), "maintenance")
    readings("longer ago", 2 * HOUR, [60, 64, 68, 72, 76])
    stop("longer ago", 2 * HOUR + 15 * MINUTE + 0.001)
    decoys = (
        "the last one fell",
        "one stood still",
        "four are too few",
        "not warm enough",
        "switched off",
        "longer ago",
    )
    for machine in decoys:
        feed.decoy("RisingBeforeFailure", machine=machine)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

"""Smoke and temperature in a building over a day; it burns three times."""

from __future__ import annotations

from pathlib import Path

from examples._generate import HOUR, MINUTE, Feed, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(10, disorder=15)

    def smoke(at: float, area: str, density: float) -> None:
        feed.add("Smoke", at, area=area, density=density)

    def heat(at: float, area: str, celsius: float | None) -> None:
        feed.add("Temperature", at, area=area, celsius=celsius)

    def readings(at: float) -> None:
        # Kitchens are smoky, boiler rooms hot; nothing is both.
        floor = feed.random.randrange(8)
        smoke(at, f"kitchen-{floor}", round(feed.random.uniform(0, 0.4), 3))
        heat(at, f"kitchen-{floor}", round(feed.random.uniform(15, 45), 1))
        smoke(at + 7, f"boiler-{floor}", round(feed.random.uniform(0, 0.1), 3))
        heat(at + 7, f"boiler-{floor}", round(feed.random.uniform(30, 70), 1))

    feed.noise(500, 24 * HOUR, readings)

    # Every pair of smoke and heat is a match: two times three.
    for at, density in ((0, 0.2), (10, 0.5)):
        smoke(2 * HOUR + at, "archive", density)
    for at, celsius in ((30, 50.0), (60, 80.0), (90, 140.0)):
        heat(2 * HOUR + at, "archive", celsius)
    feed.plant("Fire", 6, area="archive")

    smoke(5 * HOUR, "lab", 0.11)
    heat(5 * HOUR + 5 * MINUTE, "lab", 45.1)
    feed.plant("Fire", area="lab", density=0.11, after=300_000_000)

    # A detector that fails in the fire: a missing value is no heat, the next one is.
    smoke(9 * HOUR, "garage", 0.9)
    heat(9 * HOUR + 10, "garage", None)
    heat(9 * HOUR + 20, "garage", 300.0)
    feed.plant("Fire", area="garage", celsius=300.0)

    close_calls = {
        "heat first": (MINUTE, 0.5, 0, 90.0),
        "at one instant": (0, 0.5, 0, 90.0),
        "too late": (0, 0.5, 5 * MINUTE + 0.001, 90.0),
        "thin smoke": (0, 0.1, 30, 90.0),
        "warm": (0, 0.5, 30, 45.0),
        "no reading": (0, 0.5, 30, None),
    }
    for why, (smoke_at, density, heat_at, celsius) in close_calls.items():
        smoke(12 * HOUR + smoke_at, why, density)
        heat(12 * HOUR + heat_at, why, celsius)
        feed.decoy("Fire", area=why)
    smoke(13 * HOUR, "one room", 0.5)
    heat(13 * HOUR + 30, "the next room", 90.0)
    feed.decoy("Fire", area="the next room")
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

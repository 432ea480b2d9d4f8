"""Logins of a week; people travel, and a few are in two places."""

from __future__ import annotations

from pathlib import Path

from examples._generate import DAY, HOUR, MINUTE, Feed, ts, write

CITIES = {
    "Brussels": (50.85, 4.35),
    "Paris": (48.86, 2.35),
    "Madrid": (40.42, -3.70),
    "New York": (40.71, -74.01),
    "Singapore": (1.35, 103.82),
    "Fiji": (-17.71, 178.06),
    "Samoa": (-13.76, -172.10),
}


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(2, disorder=25)

    def login(at: float, usr: str, city: str, ok: bool = True) -> None:
        lat, lon = CITIES[city]
        # An address is looked up with an error of some kilometres.
        lat, lon = (round(place + feed.random.uniform(-0.2, 0.2), 3) for place in (lat, lon))
        feed.add("Login", at, usr=usr, ip=f"{city.lower().replace(' ', '-')}.example", ok=ok, lat=lat, lon=lon)

    def at_work(at: float) -> None:
        # Each user logs in near home; failures come from anywhere.
        user = feed.random.randrange(40)
        ok = feed.random.random() < 0.9
        home = ("Brussels", "Paris", "Madrid", "New York")[user % 4]
        login(at, f"user-{user:02d}", home if ok else feed.random.choice(list(CITIES)), ok)

    feed.noise(1500, 5 * DAY, at_work)

    for minute in (0, 7, 12):
        login(HOUR + minute * MINUTE, "eve", "Brussels")
    login(2 * HOUR, "eve", "Singapore")
    feed.plant("ImpossibleTravel", usr="eve", at=ts(2 * HOUR), ip="singapore.example")

    # There and back: both logins after the first are impossible.
    login(0, "oscar", "Paris")
    login(90 * MINUTE, "oscar", "New York")
    login(3 * HOUR, "oscar", "Paris")
    feed.plant("ImpossibleTravel", usr="oscar", at=ts(90 * MINUTE))
    feed.plant("ImpossibleTravel", usr="oscar", at=ts(3 * HOUR))

    close_calls = {
        "by plane": ((0, "Brussels", True), (8 * HOUR, "New York", True)),
        "failed abroad": ((0, "Brussels", True), (HOUR, "Singapore", False)),
        "next town": ((0, "Brussels", True), (10, "Paris", True)),
        "over the date line": ((0, "Fiji", True), (2 * HOUR, "Samoa", True)),
        "at the same instant": ((0, "Brussels", True), (0, "Singapore", True)),
        "half round the world": ((0, "Singapore", True), (10 * HOUR + MINUTE, "New York", True)),
        "a day later": ((0, "Madrid", True), (DAY, "Singapore", True)),
    }
    for why, logins in close_calls.items():
        for at, city, ok in logins:
            login(DAY + at, why, city, ok)
        feed.decoy("ImpossibleTravel", usr=why)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

"""Logins of a day; some passwords are guessed."""

from __future__ import annotations

from pathlib import Path

from examples._generate import HOUR, MINUTE, Feed, ts, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(6, disorder=25)

    def login(at: float, usr: str, ip: str, ok: bool | None) -> None:
        feed.add("Login", at, usr=usr, ip=ip, ok=ok, lat=50.85, lon=4.35)

    def people(at: float) -> None:
        # One in eight mistypes, at most three times in a row.
        user = feed.random.randrange(100)
        ip = f"192.0.2.{user}"
        tries = feed.random.choice((0, 0, 0, 0, 0, 1, 2, 3))
        for i in range(tries):
            login(at + 4 * i, f"user-{user:02d}", ip, False)
        login(at + 4 * tries, f"user-{user:02d}", ip, True)

    for user in range(500):
        people(user * 170.0)

    # Forty guesses: 91,390 ways to choose four of them, one alert.
    for second in range(40):
        login(3 * HOUR + second, "admin", "203.0.113.9", False)
    login(3 * HOUR + 41, "admin", "203.0.113.9", True)
    feed.plant("BruteForce", usr="admin", ip="203.0.113.9", at=ts(3 * HOUR + 41))

    # A patient one: five minutes from the first guess to the success.
    for minute, ok in ((0, False), (1, False), (2, False), (3, False), (5, True)):
        login(8 * HOUR + minute * MINUTE, "backup", "203.0.113.10", ok)
    feed.plant("BruteForce", usr="backup", at=ts(8 * HOUR + 5 * MINUTE))

    home, away = "198.51.100.1", "198.51.100.2"
    close_calls = {
        "three guesses": ((0, home, False), (1, home, False), (2, home, False), (9, home, True)),
        "two addresses": ((0, home, False), (1, home, False), (2, away, False), (3, away, False), (9, home, True)),
        "never in": tuple((second, home, False) for second in range(30)),
        "success first": ((0, home, True), *((second, home, False) for second in range(1, 9))),
        "too slow": ((0, home, False), (1, home, False), (2, home, False), (3, home, False), (300.001, home, True)),
        "in after three": tuple((second, home, second > 2) for second in range(5)),
        "in after two": tuple((second, home, second in (2, 4)) for second in range(5)),
        "two in one instant": ((0, home, False), (1, home, False), (1, home, False), (2, home, False), (9, home, True)),
        "outcome unknown": ((0, home, False), (1, home, None), (2, home, False), (3, home, False), (9, home, True)),
    }
    for why, logins in close_calls.items():
        for at, ip, ok in logins:
            login(12 * HOUR + at, why, ip, ok)
        feed.decoy("BruteForce", usr=why)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

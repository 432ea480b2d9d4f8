"""Logins of a day; some passwords are guessed, from many addresses."""

from __future__ import annotations

from pathlib import Path

from examples._generate import HOUR, MINUTE, Feed, ts, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(26, disorder=25)

    def login(at: float, usr: str, ip: str, ok: bool | None) -> None:
        feed.add("Login", at, usr=usr, ip=ip, ok=ok, lat=50.85, lon=4.35)

    for number in range(500):
        # Everybody comes every five hours, and mistypes at most three times.
        user, at = number % 100, number * 170.0
        tries = feed.random.choice((0, 0, 0, 0, 0, 1, 2, 3))
        for i in range(tries):
            login(at + 4 * i, f"user-{user:02d}", f"192.0.2.{user}", False)
        login(at + 4 * tries, f"user-{user:02d}", f"192.0.2.{user}", True)

    # Forty guesses from four addresses: one match, with all of them.
    for second in range(40):
        login(3 * HOUR + second, "admin", f"203.0.113.{second % 4}", False)
    login(3 * HOUR + 41, "admin", "203.0.113.9", True)
    feed.plant("FailedLogins", usr="admin", failures=40, addresses=4, at=ts(3 * HOUR + 41))

    # A patient one: five minutes from the first guess to the success.
    for minute in range(5):
        login(8 * HOUR + minute * MINUTE, "backup", "203.0.113.10", False)
    login(8 * HOUR + 5 * MINUTE, "backup", "203.0.113.10", True)
    feed.plant("FailedLogins", usr="backup", failures=5, addresses=1, since=ts(8 * HOUR))

    # Two successes after the same guesses are two matches.
    for second, ok in enumerate((False, False, False, False, False, True, True)):
        login(9 * HOUR + second, "twice", "203.0.113.11", ok)
    feed.plant("FailedLogins", 2, usr="twice", failures=5)

    here = "198.51.100.1"
    close_calls = {
        "four guesses": (*((second, False) for second in range(4)), (9, True)),
        "never in": tuple((second, False) for second in range(30)),
        "success first": ((0, True), *((second, False) for second in range(1, 9))),
        "too slow": (*((60 * minute, False) for minute in range(5)), (300.001, True)),
        "in one instant": (*((second, False) for second in range(4)), (9, False), (9, True)),
        "outcome unknown": (*((second, False) for second in range(4)), (5, None), (9, True)),
    }
    for why, logins in close_calls.items():
        for at, ok in logins:
            login(12 * HOUR + at, why, here, ok)
        feed.decoy("FailedLogins", usr=why)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

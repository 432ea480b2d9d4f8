"""Payments of a day; a few stolen cards are tried out."""

from __future__ import annotations

from pathlib import Path

from examples._generate import HOUR, MINUTE, Feed, ts, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(1, disorder=8)

    def payment(at: float, acc: str, amnt: float) -> None:
        feed.add("Trans", at, acc=acc, amnt=amnt)

    def daily_life(at: float) -> None:
        # Half of the accounts pay small and middling sums, the other half large and middling ones.
        account = feed.random.randrange(60)
        low, high = (5, 399.99) if account % 2 else (100, 900)
        payment(at, f"acc-{account:02d}", round(feed.random.uniform(low, high), 2))

    feed.noise(2400, 24 * HOUR, daily_life)

    payment(2 * HOUR, "stolen-1", 1.0)
    payment(2 * HOUR + 4 * MINUTE, "stolen-1", 2.5)
    payment(2 * HOUR + 9 * MINUTE, "stolen-1", 250.0)
    payment(2 * HOUR + 31 * MINUTE, "stolen-1", 899.0)
    feed.plant("CardTesting", acc="stolen-1", last_ts=ts(2 * HOUR + 31 * MINUTE), amount=899.0)

    # Three tries and two purchases: every pair of tries before each purchase is a match.
    for minute, amount in ((0, 0.5), (3, 0.5), (5, 1.0), (20, 450.0), (21, 500.0)):
        payment(9 * HOUR + minute * MINUTE, "stolen-2", amount)
    feed.plant("CardTesting", 6, acc="stolen-2")

    # Exactly an hour from the first to the last: the window includes its boundary.
    for at, amount in ((0, 10.0), (HOUR / 2, 10.0), (HOUR, 401.0)):
        payment(12 * HOUR + at, "stolen-3", amount)
    feed.plant("CardTesting", acc="stolen-3", first_ts=ts(12 * HOUR), last_ts=ts(13 * HOUR))

    close_calls = {
        "an hour and a millisecond": ((0, 10.0), (HOUR / 2, 10.0), (HOUR + 0.001, 900.0)),
        "large before small": ((0, 900.0), (MINUTE, 5.0), (2 * MINUTE, 5.0)),
        "both tries at once": ((0, 5.0), (0, 7.0), (2 * MINUTE, 900.0)),
        "not small": ((0, 5.0), (MINUTE, 100.0), (2 * MINUTE, 900.0)),
        "first not small": ((0, 200.0), (MINUTE, 5.0), (2 * MINUTE, 900.0)),
        "not large": ((0, 5.0), (MINUTE, 5.0), (2 * MINUTE, 400.0)),
        "one try": ((0, 5.0), (MINUTE, 900.0), (2 * MINUTE, 900.0)),
        "purchase with the last try": ((0, 5.0), (MINUTE, 5.0), (MINUTE, 900.0)),
    }
    for why, payments in close_calls.items():
        for at, amount in payments:
            payment(15 * HOUR + at, why, amount)
        feed.decoy("CardTesting", acc=why)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

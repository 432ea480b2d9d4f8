"""Transfers of a week; some money goes round in a circle."""

from __future__ import annotations

from pathlib import Path

from examples._generate import DAY, HOUR, MINUTE, Feed, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(13, disorder=50)

    def transfer(at: float, acc: str, dst: str, amount: float) -> None:
        feed.add("Transfer", at, acc=acc, dst=dst, amount=amount, device="web")

    def payments(at: float) -> None:
        # Large sums go from lower account numbers to higher ones, so they never come back; small ones go anywhere.
        first, second = sorted(feed.random.sample(range(60), 2))
        if feed.random.random() < 0.5:
            transfer(at, f"acc-{first:02d}", f"acc-{second:02d}", float(feed.random.randrange(5000, 9000)))
        else:
            transfer(at, f"acc-{second:02d}", f"acc-{first:02d}", float(feed.random.randrange(10, 4000)))

    feed.noise(1800, 7 * DAY, payments)

    def ring(at: float, names: tuple[str, str, str], *sums: float, gap: float = HOUR) -> None:
        for i, amount in enumerate(sums):
            transfer(at + i * gap, names[i % 3], names[(i + 1) % 3], amount)

    ring(DAY, ("shell-1", "shell-2", "shell-3"), 10_000.0, 9_800.0, 9_500.0)
    feed.plant("CircularTransfers", first="shell-1", second="shell-2", third="shell-3", sent=10_000.0, returned=9_500.0)

    # Twice round, 6 transfers in 10 hours: a circle can start anywhere, and skip.
    ring(3 * DAY, ("front-1", "front-2", "front-3"), *[8_000.0] * 6, gap=2 * HOUR)
    feed.plant("CircularTransfers", 4, first="front-1")
    feed.plant("CircularTransfers", first="front-2")
    feed.plant("CircularTransfers", first="front-3")

    # A day to the millisecond.
    ring(5 * DAY, ("slow-1", "slow-2", "slow-3"), 5_000.0, 5_000.0, 4_500.0, gap=DAY / 2)
    feed.plant("CircularTransfers", first="slow-1")

    close_calls = {
        "too slow": (((0, 1, 9000.0), (1, 2, 9000.0), (2, 0, 9000.0)), 12.5 * HOUR),
        "too little": (((0, 1, 4999.0), (1, 2, 4999.0), (2, 0, 4999.0)), HOUR),
        "a fee too high": (((0, 1, 9000.0), (1, 2, 8000.0), (2, 0, 8000.0)), HOUR),
        "more comes back": (((0, 1, 9000.0), (1, 2, 9000.0), (2, 0, 9001.0)), HOUR),
        "backwards": (((2, 0, 9000.0), (1, 2, 9000.0), (0, 1, 9000.0)), HOUR),
        "there and back": (((0, 1, 9000.0), (1, 0, 9000.0), (0, 1, 9000.0)), HOUR),
        "to itself first": (((0, 0, 9000.0), (0, 1, 9000.0), (1, 0, 9000.0)), HOUR),
        "to itself second": (((0, 1, 9000.0), (1, 1, 9000.0), (1, 0, 9000.0)), HOUR),
        "to itself third": (((0, 1, 9000.0), (1, 0, 9000.0), (0, 0, 9000.0)), HOUR),
        "to itself": (((0, 0, 9000.0), (0, 0, 9000.0), (0, 0, 9000.0)), MINUTE),
        "at once": (((0, 1, 9000.0), (1, 2, 9000.0), (2, 0, 9000.0)), 0.0),
    }
    for why, (transfers, gap) in close_calls.items():
        for number, (source, target, amount) in enumerate(transfers):
            transfer(2 * DAY + number * gap, f"{why} {source}", f"{why} {target}", amount)
        for account in sorted({source for source, _, _ in transfers}):
            feed.decoy("CircularTransfers", first=f"{why} {account}")
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

"""Cash deposits of four weeks; some stay below the limit on purpose."""

from __future__ import annotations

from pathlib import Path

from examples._generate import DAY, HOUR, Feed, write

BRANCHES = ("North", "South", "East", "West")


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(4, disorder=50)

    def deposit(at: float, acc: str, branch: str, amount: float) -> None:
        feed.add("Deposit", at, acc=acc, branch=branch, amount=amount)

    def shopkeepers(at: float) -> None:
        # Takings: sometimes reported, usually small; each shop uses the two branches that are nearest.
        shop = feed.random.randrange(50)
        amount = feed.random.choice((feed.random.uniform(200, 7000), feed.random.uniform(7000, 14000)))
        branch = BRANCHES[(shop + feed.random.randrange(2)) % 4]
        deposit(at, f"shop-{shop:02d}", branch, round(amount, 2))

    feed.noise(1600, 28 * DAY, shopkeepers)

    def series(acc: str, start: float, *deposits: tuple[float, str, float]) -> None:
        for at, branch, amount in deposits:
            deposit(start + at, acc, branch, amount)

    # Five deposits make many triples and one alert.
    series("mule-1", 2 * DAY, (0, "North", 9500.0), (3 * HOUR, "East", 9800.0), (6 * HOUR, "South", 9900.0),
           (DAY, "West", 9000.0), (2 * DAY, "East", 9990.0))  # fmt: skip
    feed.plant("Structuring", acc="mule-1")

    # Once in the first week, again in the third: the tuple dies with its window in between, so it is put out twice.
    for week in (0, 2):
        series("mule-2", week * 7 * DAY, (0, "North", 9000.0), (DAY, "East", 8500.0), (3 * DAY, "South", 8200.0))
    feed.plant("Structuring", 2, acc="mule-2")

    close_calls = {
        "one branch": ((0, "North", 9900.0), (HOUR, "North", 9900.0), (2 * HOUR, "North", 9900.0)),
        "two branches": ((0, "North", 9900.0), (HOUR, "South", 9900.0), (2 * HOUR, "North", 9900.0)),
        "reported": ((0, "North", 9900.0), (HOUR, "South", 10000.0), (2 * HOUR, "East", 9900.0)),
        "reported first": ((0, "North", 12000.0), (HOUR, "South", 9900.0), (2 * HOUR, "East", 9900.0)),
        "reported last": ((0, "North", 9900.0), (HOUR, "South", 9900.0), (2 * HOUR, "East", 12000.0)),
        "just the sum": ((0, "North", 8000.0), (HOUR, "South", 8000.0), (2 * HOUR, "East", 9000.0)),
        "too slow": ((0, "North", 9900.0), (DAY, "South", 9900.0), (3 * DAY + 0.001, "East", 9900.0)),
        "at once": ((0, "North", 9900.0), (0, "South", 9900.0), (2 * HOUR, "East", 9900.0)),
    }
    for why, deposits in close_calls.items():
        series(why, 10 * DAY, *deposits)
        feed.decoy("Structuring", acc=why)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

"""Cash deposits of four weeks; some are split on purpose."""

from __future__ import annotations

from pathlib import Path

from examples._generate import DAY, HOUR, Feed, write

BRANCHES = ("North", "South", "East", "West")


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(24, disorder=50)

    def deposit(at: float, acc: str, branch: str, amount: float) -> None:
        feed.add("Deposit", at, acc=acc, branch=branch, amount=amount)

    def shopkeepers(at: float) -> None:
        # Takings, often large in sum; each shop uses the two branches that are nearest.
        shop = feed.random.randrange(50)
        branch = BRANCHES[(shop + feed.random.randrange(2)) % 4]
        deposit(at, f"shop-{shop:02d}", branch, round(feed.random.uniform(200, 14000), 2))

    feed.noise(1600, 28 * DAY, shopkeepers)

    def series(acc: str, start: float, *deposits: tuple[float, str, float]) -> None:
        for at, branch, amount in deposits:
            deposit(start + at, acc, branch, amount)

    # Twelve small ones: no three of them add up to the limit. One alert while it goes on.
    series("ant", 2 * DAY, *((3 * HOUR * i, BRANCHES[i % 4], 2500.0 + i) for i in range(12)))
    feed.plant("StructuringTotal", acc="ant")

    # Once in the first week, again in the third: told twice.
    for week in (0, 2):
        series("mule", week * 7 * DAY, (0, "North", 9000.0), (DAY, "East", 8500.0), (3 * DAY, "South", 8200.0))
    feed.plant("StructuringTotal", 2, acc="mule")

    close_calls = {
        "one branch": tuple((HOUR * i, "North", 9900.0) for i in range(5)),
        "two branches": tuple((HOUR * i, BRANCHES[i % 2], 9900.0) for i in range(5)),
        "reported": ((0, "North", 9900.0), (HOUR, "South", 10000.0), (2 * HOUR, "East", 9900.0)),
        "just the sum": ((0, "North", 8000.0), (HOUR, "South", 8000.0), (2 * HOUR, "East", 9000.0)),
        "too slow": ((0, "North", 9900.0), (DAY, "South", 9900.0), (3 * DAY + 0.001, "East", 9900.0)),
    }
    for why, deposits in close_calls.items():
        series(why, 10 * DAY, *deposits)
        feed.decoy("StructuringTotal", acc=why)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

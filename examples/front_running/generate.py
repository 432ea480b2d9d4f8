"""Trades of an hour; a broker knows what its clients are about to do."""

from __future__ import annotations

from pathlib import Path

from examples._generate import HOUR, MINUTE, Feed, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(12, disorder=0.4)

    def trade(at: float, symbol: str, broker: str, account: str, side: str, qty: int, price: float) -> None:
        feed.add("Trade", at, symbol=symbol, broker=broker, account=account, side=side, qty=qty, price=price)

    def market(at: float) -> None:
        # Houses trade blocks, clients trade less than ten times as much.
        house = feed.random.random() < 0.3
        trade(
            at,
            feed.random.choice(("ABC", "DEF", "GHI", "JKL")),
            f"broker-{feed.random.randrange(5)}",
            "HOUSE" if house else f"client-{feed.random.randrange(200)}",
            feed.random.choice(("BUY", "SELL")),
            feed.random.randrange(1000, 2000) if house else feed.random.randrange(10, 10_000),
            round(feed.random.uniform(99, 101), 2),
        )

    feed.noise(1300, HOUR, market)

    trade(10 * MINUTE, "XYZ", "broker-7", "HOUSE", "BUY", 500, 20.00)
    trade(10 * MINUTE + 2, "XYZ", "broker-7", "fund-1", "BUY", 80_000, 20.10)
    trade(10 * MINUTE + 30, "XYZ", "broker-7", "HOUSE", "SELL", 500, 20.25)
    feed.plant("FrontRunning", broker="broker-7", symbol="XYZ", client="fund-1", qty=500, gain=0.25)

    # Ahead of a seller, and two clients behind: two matches.
    trade(20 * MINUTE, "XYZ", "broker-8", "HOUSE", "SELL", 100, 30.50)
    trade(20 * MINUTE + 1, "XYZ", "broker-8", "fund-2", "SELL", 1000, 30.25)
    trade(20 * MINUTE + 5, "XYZ", "broker-8", "fund-3", "SELL", 50_000, 30.00)
    trade(21 * MINUTE, "XYZ", "broker-8", "HOUSE", "BUY", 100, 29.75)
    feed.plant("FrontRunning", broker="broker-8", client="fund-2", gain=0.75)
    feed.plant("FrontRunning", broker="broker-8", client="fund-3", gain=0.75)

    # own, client, close: each (seconds, account, side, quantity, price)
    own, client, close = (0, "HOUSE", "BUY", 100, 20.0), (2, "fund", "BUY", 1000, 20.1), (9, "HOUSE", "SELL", 100, 20.2)
    close_calls = {
        "at a loss": (own, client, (9, "HOUSE", "SELL", 100, 20.0)),
        "small client": (own, (2, "fund", "BUY", 999, 20.1), close),
        "other side": (own, (2, "fund", "SELL", 1000, 20.1), close),
        "client first": ((3, "HOUSE", "BUY", 100, 20.0), client, close),
        "client six seconds later": (own, (5.001, "fund", "BUY", 1000, 20.1), close),
        "held too long": (own, client, (60.001, "HOUSE", "SELL", 100, 20.2)),
        "no client": (own, (2, "HOUSE", "BUY", 1000, 20.1), close),
        "closed by a client": (own, client, (9, "fund", "SELL", 100, 20.2)),
        "bought more": (own, client, (9, "HOUSE", "BUY", 100, 20.2)),
    }
    for why, trades in close_calls.items():
        for at, account, side, qty, price in trades:
            trade(40 * MINUTE + at, "XYZ", why, account, side, qty, price)
        feed.decoy("FrontRunning", broker=why)
    # The client of another broker: good luck, or bad, but no knowledge.
    trade(50 * MINUTE, "XYZ", "lucky", "HOUSE", "BUY", 100, 20.0)
    trade(50 * MINUTE + 2, "XYZ", "broker-9", "fund", "BUY", 1000, 20.1)
    trade(50 * MINUTE + 9, "XYZ", "lucky", "HOUSE", "SELL", 100, 20.2)
    feed.decoy("FrontRunning", broker="lucky")
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

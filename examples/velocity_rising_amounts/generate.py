"""Card payments of a day; a few cards are pushed to their limit."""

from __future__ import annotations

from pathlib import Path

from examples._generate import HOUR, MINUTE, Feed, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(5, disorder=4)

    def payment(at: float, card: str, amount: float, merchant: str = "web") -> None:
        feed.add("Payment", at, card=card, merchant=merchant, amount=amount)

    def shopping(at: float) -> None:
        card = feed.random.randrange(120)
        payment(at, f"card-{card:03d}", round(feed.random.uniform(20, 150), 2), f"shop-{feed.random.randrange(30)}")

    feed.noise(1900, 24 * HOUR, shopping)

    for minute, amount in ((0, 10.0), (1, 15.0), (2, 30.0), (3, 210.0)):
        payment(HOUR + minute * MINUTE, "pushed-1", amount)
    feed.plant("RisingAmounts", card="pushed-1", lowest=10.0, highest=210.0)

    # Seven payments hold nine rising fours: what lies between the steps does not hide them.
    for minute, amount in ((0, 10.0), (1, 20.0), (2, 12.0), (3, 40.0), (4, 80.0), (5, 75.0), (6, 300.0)):
        payment(6 * HOUR + minute * MINUTE, "pushed-2", amount)
    feed.plant("RisingAmounts", 9, card="pushed-2", highest=300.0)

    # Ten minutes to the millisecond.
    for minute, amount in ((0, 40.0), (2, 60.0), (4, 90.0), (10, 500.0)):
        payment(8 * HOUR + minute * MINUTE, "pushed-3", amount)
    feed.plant("RisingAmounts", card="pushed-3")

    close_calls = {
        "too slow": ((0, 10.0), (1, 20.0), (2, 40.0), (10.001, 300.0)),
        "not enough": ((0, 10.0), (1, 15.0), (2, 22.5), (3, 200.0)),
        "a step too small": ((0, 100.0), (1, 149.99), (2, 240.0), (3, 400.0)),
        "last step too small": ((0, 100.0), (1, 150.0), (2, 225.0), (3, 337.49)),
        "falling": ((0, 400.0), (1, 200.0), (2, 90.0), (3, 40.0)),
        "two at once": ((0, 50.0), (1, 100.0), (1, 200.0), (3, 400.0)),
    }
    for why, payments in close_calls.items():
        for minute, amount in payments:
            payment(12 * HOUR + minute * MINUTE, why, amount)
        feed.decoy("RisingAmounts", card=why)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

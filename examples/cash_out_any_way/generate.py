"""Payments of three kinds over two days, some of them soon after the password was reset."""

from __future__ import annotations

from pathlib import Path

from examples._generate import DAY, HOUR, MINUTE, Feed, ts, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(31, disorder=50)
    where = {"Transfer": "dst", "Card": "shop", "Cash": "machine"}

    def pay(stream: str, at: float, acc: str, amount: float = 900.0) -> None:
        feed.add(stream, at, acc=acc, amount=amount, **{where[stream]: f"{stream.lower()}-{round(at) % 7}"})

    def background(at: float) -> None:
        stream = feed.random.choice(sorted(where))
        pay(stream, at, f"acc-{feed.random.randrange(80):02d}", round(feed.random.uniform(5, 2000), 2))

    feed.noise(500, 2 * DAY, background)
    for number in range(40):  # without a payment
        feed.add("PasswordReset", feed.random.uniform(0, 2 * DAY), acc=f"idle-{number:02d}")

    def reset(acc: str, at: float) -> None:
        feed.add("PasswordReset", at, acc=acc)

    def found(acc: str, how: str, confirmed_at: str | None = None) -> None:
        feed.plant("CashOut", acc=acc, how=how, confirmed_at=confirmed_at)

    for number, stream in enumerate(sorted(where)):
        acc, at = f"by {stream}", (2 + number) * HOUR
        reset(acc, at)
        pay(stream, at + 10 * MINUTE, acc)
        found(acc, stream)

    # All three ways, the last of them exactly when the hour ends.
    reset("every way", 8 * HOUR)
    for stream, at in (("Card", 8.2), ("Cash", 8.5), ("Transfer", 9.0)):
        pay(stream, at * HOUR, "every way")
        found("every way", stream)

    # Confirmed: the payment is told with that, and not also without.
    reset("confirmed", 12 * HOUR)
    feed.add("Confirmed", 12.1 * HOUR, acc="confirmed", channel="phone")
    pay("Cash", 12.5 * HOUR, "confirmed")
    found("confirmed", "Cash", ts(12.1 * HOUR))

    # Confirmed by messages only, which the thief can answer: as if nobody had.
    reset("by message", 14 * HOUR)
    for at in (14.1, 14.2):
        feed.add("Confirmed", at * HOUR, acc="by message", channel="message")
    pay("Card", 14.5 * HOUR, "by message")
    found("by message", "Card")

    # Confirmed afterwards.
    reset("too late", 16 * HOUR)
    pay("Transfer", 16.2 * HOUR, "too late")
    feed.add("Confirmed", 16.3 * HOUR, acc="too late", channel="phone")
    found("too late", "Transfer")

    reset("a little", 20 * HOUR)
    pay("Card", 20.1 * HOUR, "a little", 500.0)
    reset("after the hour", 21 * HOUR)
    pay("Cash", 22 * HOUR + 0.001, "after the hour")
    pay("Transfer", 23 * HOUR, "paid before")
    reset("paid before", 23.1 * HOUR)
    reset("one's reset", 25 * HOUR)
    pay("Transfer", 25.1 * HOUR, "another's payment")
    for acc in ("a little", "after the hour", "paid before", "one's reset", "another's payment"):
        feed.decoy("CashOut", acc=acc)

    # A day later: the watermark passes whatever waits.
    reset("the last one", 3 * DAY)
    feed.add("Confirmed", 3 * DAY, acc="nobody", channel="phone")
    for stream in where:
        pay(stream, 3 * DAY, "nobody", 1.0)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

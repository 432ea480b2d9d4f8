"""Two days of logins and payments; most people log in before they pay."""

from __future__ import annotations

from pathlib import Path

from examples._generate import DAY, HOUR, MINUTE, Feed, ts, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(31, disorder=4)

    def login(usr: str, at: float, *, ok: bool = True) -> None:
        feed.add("Login", at, usr=usr, ok=ok)

    def pay(usr: str, at: float, amount: float = 2000.0) -> None:
        feed.add("Payment", at, usr=usr, amount=amount)

    for number in range(400):
        usr, at = f"user-{number % 120:03d}", round(feed.random.uniform(HOUR, 2 * DAY), 3)
        login(usr, at)
        pay(usr, at + feed.random.uniform(1, 29 * MINUTE), round(feed.random.uniform(1000, 5000), 2))

    pay("never seen", DAY)
    feed.plant("PaidWithoutLogin", usr="never seen", paid_at=ts(DAY))

    # A failed login is none, and one after the payment comes too late.
    login("locked out", DAY - MINUTE, ok=False)
    pay("locked out", DAY)
    login("locked out", DAY + MINUTE)
    feed.plant("PaidWithoutLogin", usr="locked out", paid_at=ts(DAY))

    # A millisecond more than half an hour; the second payment is another one.
    login("long session", DAY)
    pay("long session", DAY + 30 * MINUTE + 0.001)
    pay("long session", DAY + 31 * MINUTE)
    feed.plant("PaidWithoutLogin", 2, usr="long session")

    # At the very moment of the payment is not before it.
    login("at once", DAY)
    pay("at once", DAY)
    feed.plant("PaidWithoutLogin", usr="at once", paid_at=ts(DAY))

    login("half an hour", DAY)
    pay("half an hour", DAY + 30 * MINUTE)
    pay("small change", DAY, 999.99)
    login("second try", DAY - 2 * MINUTE, ok=False)
    login("second try", DAY - MINUTE)
    pay("second try", DAY)
    login("just before", DAY - 0.001)
    pay("just before", DAY)
    for usr in ("half an hour", "small change", "second try", "just before"):
        feed.decoy("PaidWithoutLogin", usr=usr)
    login("a bit longer", DAY)
    pay("a bit longer", DAY + 31 * MINUTE)
    feed.plant("PaidWithoutLogin", usr="a bit longer")
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

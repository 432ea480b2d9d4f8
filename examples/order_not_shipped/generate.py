"""Orders of four weeks, what was shipped of them, and when they were cancelled; some are forgotten."""

from __future__ import annotations

from pathlib import Path

from examples._generate import DAY, HOUR, Feed, ts, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(23, disorder=240)

    def order(order_id: str, at: float, total: float = 50.0) -> None:
        feed.add("Ordered", at, order_id=order_id, total=total)

    for number in range(400):
        at, order_id = feed.random.uniform(0, 24 * DAY), f"order-{number:03d}"
        order(order_id, at, round(feed.random.uniform(21, 400), 2))
        if feed.random.random() < 0.1:
            feed.add("Cancelled", at + feed.random.uniform(60, DAY), order_id=order_id)
        else:
            feed.add("Shipped", at + feed.random.uniform(60, 2 * DAY - 1), order_id=order_id, part=False)

    order("forgotten", DAY)
    feed.plant("NotShipped", order_id="forgotten", ordered_at=ts(DAY))

    # A millisecond late is late; it is told then, however late the parcel is.
    order("shipped too late", 3 * DAY)
    feed.add("Shipped", 5 * DAY + 0.001, order_id="shipped too late", part=False)
    feed.plant("NotShipped", order_id="shipped too late", ordered_at=ts(3 * DAY))

    order("shipped in part", 5 * DAY)
    feed.add("Shipped", 6 * DAY, order_id="shipped in part", part=True)
    feed.plant("NotShipped", order_id="shipped in part", ordered_at=ts(5 * DAY))

    # At the very moment of the order is not after it.
    order("shipped when ordered", 7 * DAY)
    feed.add("Shipped", 7 * DAY, order_id="shipped when ordered", part=False)
    feed.plant("NotShipped", order_id="shipped when ordered", ordered_at=ts(7 * DAY))

    order("on the last millisecond", 9 * DAY)
    feed.add("Shipped", 11 * DAY, order_id="on the last millisecond", part=False)
    order("cancelled", 9 * DAY)
    feed.add("Cancelled", 9 * DAY + HOUR, order_id="cancelled")
    order("the rest came", 9 * DAY)
    feed.add("Shipped", 10 * DAY, order_id="the rest came", part=True)
    feed.add("Shipped", 10 * DAY + HOUR, order_id="the rest came", part=False)
    order("not worth it", 9 * DAY, total=20.0)
    for order_id in ("on the last millisecond", "cancelled", "the rest came", "not worth it"):
        feed.decoy("NotShipped", order_id=order_id)

    # Weeks later: the watermark passes whatever waits.
    order("the last one", 40 * DAY)
    feed.add("Shipped", 40 * DAY + HOUR, order_id="the last one", part=False)
    feed.add("Cancelled", 40 * DAY + HOUR, order_id="nothing")
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

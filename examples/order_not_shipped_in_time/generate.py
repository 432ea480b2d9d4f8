"""Orders of four weeks, their payments and shipments; some go wrong."""

from __future__ import annotations

from pathlib import Path

from examples._generate import DAY, HOUR, Feed, ts, write

PATTERNS = ("ShippedAfterDue", "ShippedLongAfterPayment", "ShippedUnpaid")


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(9, disorder=240)

    def order(order_id: str, at: float, due: float, paid: float, shipped: float | None, part: float = 1.0) -> None:
        """An order with a payment and perhaps a shipment, times in seconds after `at`; `part` of the total is paid."""
        total = round(feed.random.uniform(10, 400), 2)
        feed.add("Ordered", at, order_id=order_id, due=ts(at + due), total=total)
        feed.add("Paid", at + paid, order_id=order_id, amount=round(total * part, 2))
        if shipped is not None:
            feed.add("Shipped", at + shipped, order_id=order_id, carrier=feed.random.choice(("Post", "Van", "Bike")))

    for number in range(450):
        paid = feed.random.uniform(60, DAY)
        shipped = paid + feed.random.uniform(60, 2 * DAY - 1)
        order(f"order-{number:03d}", feed.random.uniform(0, 24 * DAY), 4 * DAY, paid, shipped)

    # Paid at once, promised for the third day, sent on the fourth.
    order("late", 0, 3 * DAY, HOUR, 3 * DAY + HOUR)
    feed.plant("ShippedAfterDue", order_id="late", due=ts(3 * DAY))
    feed.plant("ShippedLongAfterPayment", order_id="late", paid_at=ts(HOUR))

    # Promised for next week, and in time, but three days after payment.
    order("dawdling", 5 * DAY, 7 * DAY, DAY, 4 * DAY)
    feed.plant("ShippedLongAfterPayment", order_id="dawdling", waited=round(3 * DAY * 1_000_000))
    feed.decoy("ShippedAfterDue", order_id="dawdling")

    order("on credit", 9 * DAY, 5 * DAY, 4 * DAY, DAY)
    feed.plant("ShippedUnpaid", order_id="on credit", paid_at=ts(13 * DAY))
    feed.decoy("ShippedLongAfterPayment", order_id="on credit")

    order("two days to the millisecond", 9 * DAY, 5 * DAY, DAY, 3 * DAY)
    order("on the day", 9 * DAY, 2 * DAY, DAY, 2 * DAY)
    order("paid when shipped", 9 * DAY, 2 * DAY, DAY, DAY)
    order("half paid", 9 * DAY, 5 * DAY, DAY, 4 * DAY, part=0.5)
    order("never shipped", 9 * DAY, 2 * DAY, DAY, None)
    order("shipped after two weeks", 2 * DAY, 2 * DAY, DAY, 14 * DAY + 0.001)
    order("paid after two weeks", 2 * DAY, 2 * DAY, 14 * DAY + 0.001, DAY)
    for order_id in ("two days to the millisecond", "on the day", "paid when shipped", "half paid", "never shipped",
                     "shipped after two weeks", "paid after two weeks"):  # fmt: skip
        for pattern in PATTERNS:
            feed.decoy(pattern, order_id=order_id)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

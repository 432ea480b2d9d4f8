"""A day of requests: people who look at a few pages, and crawlers that look at many."""

from __future__ import annotations

from pathlib import Path

from examples._generate import DAY, HOUR, Feed, ts, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(37, disorder=4)

    def visit(visitor: str, at: float, count: int, step: float, first: int = 0) -> float:
        """`count` requests, `step` seconds apart; the time of the last."""
        for number in range(count):
            feed.add("Request", at + number * step, visitor=visitor, path=f"/page/{first + number}")
        return at + (count - 1) * step

    def person(at: float) -> None:
        visit(f"visitor-{feed.random.randrange(10_000):04d}", at, feed.random.randint(1, 6), feed.random.uniform(1, 29))

    feed.noise(200, DAY, person)

    last = visit("crawler", HOUR, 40, 2.5)
    feed.plant("Crawl", visitor="crawler", ends=ts(last), requests=40, pages=40, exit_page="/page/39")

    # The longest pause that is none, and a second session later.
    last = visit("slow crawler", 2 * HOUR, 10, 5.0)
    last = visit("slow crawler", last + 30, 10, 5.0)
    feed.plant("Crawl", visitor="slow crawler", ends=ts(last), requests=20)
    last = visit("slow crawler", last + 30.001, 25, 1.0)
    feed.plant("Crawl", visitor="slow crawler", ends=ts(last), requests=25)

    # The same page again and again is one page.
    for number in range(21):
        feed.add("Request", 5 * HOUR + number, visitor="reloading", path="/login")
    feed.plant("Crawl", visitor="reloading", requests=21, pages=1)

    visit("nineteen", HOUR, 19, 5.0)
    last = visit("paused in the middle", 3 * HOUR, 10, 5.0)
    visit("paused in the middle", last + 30.001, 10, 5.0, first=10)
    last = visit("paused twice", 4 * HOUR, 15, 1.0)
    last = visit("paused twice", last + 31, 1, 1.0)
    visit("paused twice", last + 31, 15, 1.0)
    for number in range(24):  # one a minute
        feed.add("Request", 6 * HOUR + 60 * number, visitor="patient", path=f"/page/{number}")
    visit("a little too slow", 7 * HOUR, 20, 15.8)
    for visitor in ("nineteen", "paused in the middle", "paused twice", "patient", "a little too slow"):
        feed.decoy("Crawl", visitor=visitor)

    # Sixty in six minutes: what lies within five minutes of the last counts.
    last = visit("six minutes", 8 * HOUR, 60, 6.0)
    feed.plant("Crawl", visitor="six minutes", ends=ts(last), requests=51)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

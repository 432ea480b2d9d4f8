"""Connections of an hour; some hosts are scanned."""

from __future__ import annotations

from pathlib import Path

from examples._generate import HOUR, MINUTE, Feed, ts, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(8, disorder=1.5)

    def conn(at: float, src: str, dst: str, port: int, accepted: bool) -> None:
        feed.add("Conn", at, src=src, dst=dst, port=port, accepted=accepted)

    def traffic(at: float) -> None:
        # A client is refused on one or two ports at most, whatever it talks to.
        src, dst = feed.random.randrange(40), feed.random.randrange(12)
        refused = feed.random.random() < 0.3
        port = feed.random.choice((8080, 9090)) if refused else feed.random.choice((22, 80, 443))
        conn(at, f"10.0.1.{src}", f"10.0.2.{dst}", port, not refused)

    feed.noise(1700, 2 * HOUR, traffic)

    scanner, target = "203.0.113.50", "10.0.2.3"
    for second, port in enumerate((443, 21, 8443, 25, 110, 3306, 5432, 23)):
        conn(10 * MINUTE + second, scanner, target, port, False)
    conn(10 * MINUTE + 20, scanner, target, 22, True)
    feed.plant("PortScan", src=scanner, dst=target, port=22, at=ts(10 * MINUTE + 20))

    # All probes at one instant: their order is of no interest.
    for port in (1, 2, 3):
        conn(20 * MINUTE, "203.0.113.51", target, port, False)
    conn(21 * MINUTE, "203.0.113.51", target, 80, True)
    feed.plant("PortScan", src="203.0.113.51", dst=target, port=80)

    close_calls = {
        "two ports": ((0, 21, False), (1, 23, False), (2, 21, False), (9, 22, True)),
        "accepted first": ((0, 22, True), (1, 21, False), (2, 23, False), (3, 25, False)),
        "too slow": ((0, 21, False), (1, 23, False), (2, 25, False), (60.001, 22, True)),
        "with the last probe": ((0, 21, False), (1, 23, False), (2, 25, False), (2, 22, True)),
        "lowest port open": ((0, 21, True), (1, 23, False), (2, 25, False), (9, 22, True)),
        "middle port open": ((0, 21, False), (1, 23, True), (2, 25, False), (9, 22, True)),
        "highest port open": ((0, 21, False), (1, 23, False), (2, 25, True), (9, 22, True)),
        "never in": tuple((port / 10, port, False) for port in range(1, 40)),
    }
    for why, conns in close_calls.items():
        for at, port, accepted in conns:
            conn(HOUR + at, why, target, port, accepted)
        feed.decoy("PortScan", src=why)
    # A sweep over hosts, one port each.
    for host in range(12):
        conn(HOUR + host, "sweep", f"10.0.2.{host}", 23, False)
        conn(HOUR + 20, "sweep", f"10.0.2.{host}", 22, True)
    feed.decoy("PortScan", src="sweep")
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

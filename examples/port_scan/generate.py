"""Connections of two hours; some hosts are scanned."""

from __future__ import annotations

from pathlib import Path

from examples._generate import HOUR, MINUTE, Feed, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(31, disorder=1.5)

    def conn(at: float, src: str, dst: str, port: int | None, accepted: bool) -> None:
        feed.add("Conn", at, src=src, dst=dst, port=port, accepted=accepted)

    def traffic(at: float) -> None:
        # Clients know which ports they want; a server that is down refuses them.
        client, server = feed.random.randrange(30), feed.random.randrange(10)
        port = feed.random.choice((22, 25, 53, 80, 443, 5432, 8080))
        conn(at, f"10.0.1.{client}", f"10.0.2.{server}", port, feed.random.random() < 0.9)

    feed.noise(1200, 2 * HOUR, traffic)

    # Three hundred ports: every one from the twentieth on is a moment of the scan, and one alert is enough.
    for port in range(1, 301):
        conn(20 * MINUTE + port / 10, "203.0.113.7", "10.0.2.1", port, False)
    feed.plant("PortScanned", src="203.0.113.7")

    # Slowly, every port twice: the twentieth exactly a minute after the first.
    for port in range(20):
        at = 40 * MINUTE + port * 60 / 19
        conn(at, "203.0.113.8", "10.0.2.2", 8000 + port, False)
        if port < 19:
            conn(at + 0.5, "203.0.113.8", "10.0.2.2", 8000 + port, False)
    feed.plant("PortScanned", src="203.0.113.8", dst="10.0.2.2")

    ports = range(9000, 9020)
    close_calls = {
        "nineteen ports": [(port % 19, "10.0.2.3", 9000 + port % 19, False) for port in range(40)],
        "one port": [(second, "10.0.2.3", 9000, False) for second in range(40)],
        "two hosts": [(port - 9000, f"10.0.2.{port % 2}", port, False) for port in ports],
        "one is open": [(port - 9000, "10.0.2.3", port, port == 9007) for port in ports],
        "too slow": [((port - 9000) * 60.001 / 19, "10.0.2.3", port, False) for port in ports],
        "no port": [(port - 9000, "10.0.2.3", None if port == 9003 else port, False) for port in ports],
    }
    for why, connections in close_calls.items():
        for at, dst, port, accepted in connections:
            conn(HOUR + at, why, dst, port, accepted)
        feed.decoy("PortScanned", src=why)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

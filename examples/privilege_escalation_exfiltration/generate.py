"""Grants, reads and uploads of two days; some data leaves."""

from __future__ import annotations

from pathlib import Path

from examples._generate import DAY, HOUR, MINUTE, Feed, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(7, disorder=8)

    def grant(at: float, usr: str, role: str) -> None:
        feed.add("RoleGranted", at, usr=usr, role=role)

    def read(at: float, usr: str, host: str, path: str, size: int) -> None:
        feed.add("FileRead", at, usr=usr, host=host, path=path, bytes=size)

    def upload(at: float, host: str, dst: str, size: int) -> None:
        feed.add("Upload", at, host=host, dst=dst, bytes=size)

    def office(at: float) -> None:
        # Reads of what is not secret, small uploads outside, large ones inside.
        usr, host = f"user-{feed.random.randrange(60):02d}", f"host-{feed.random.randrange(25):02d}"
        kind = feed.random.random()
        if kind < 0.1:
            grant(at, usr, feed.random.choice(("admin", "editor", "viewer", "Root")))
        elif kind < 0.6:
            folder = feed.random.choice(("public", "home", "secretariat"))
            read(at, usr, host, f"/{folder}/{feed.random.randrange(1000)}", feed.random.randrange(1_000, 50_000_000))
        elif kind < 0.8:
            upload(at, host, f"198.51.100.{feed.random.randrange(255)}", feed.random.randrange(100, 5_000_000))
        else:
            upload(at, host, f"10.0.0.{feed.random.randrange(255)}", feed.random.randrange(1_000, 80_000_000))

    feed.noise(1600, 2 * DAY, office)

    grant(HOUR, "mallory", "Admin")
    read(2 * HOUR, "mallory", "db-1", "/secret/customers.csv", 40_000_000)
    upload(2 * HOUR + 10 * MINUTE, "db-1", "203.0.113.5", 15_000_000)
    feed.plant("Exfiltration", usr="mallory", path="/secret/customers.csv", host="db-1", dst="203.0.113.5")

    # Two files, two uploads: which upload carried which file is told by its size.
    grant(20 * HOUR, "trent", "backup")
    read(20 * HOUR + MINUTE, "trent", "db-2", "/secret/keys", 1_000_000)
    read(20 * HOUR + 2 * MINUTE, "trent", "db-2", "/secret/ledger", 90_000_000)
    upload(20 * HOUR + 5 * MINUTE, "db-2", "203.0.113.6", 900_000)
    upload(20 * HOUR + 6 * MINUTE, "db-2", "203.0.113.7", 85_000_000)
    feed.plant("Exfiltration", usr="trent", path="/secret/keys", dst="203.0.113.6", bytes=900_000)
    feed.plant("Exfiltration", usr="trent", path="/secret/ledger", dst="203.0.113.7", bytes=85_000_000)

    outside = "203.0.113.8"
    close_calls = {
        "to the inside": ("admin", "/secret/a", 10_000, 60, "10.1.2.3", 9_000),
        "weak role": ("editor", "/secret/a", 10_000, 60, outside, 9_000),
        "not secret": ("admin", "/secrets", 10_000, 60, outside, 9_000),
        "too little": ("admin", "/secret/a", 10_000, 60, outside, 3_000),
        "too much": ("admin", "/secret/a", 10_000, 60, outside, 11_000),
        "too late": ("admin", "/secret/a", 10_000, 30 * MINUTE + 0.001, outside, 9_000),
        "before the read": ("admin", "/secret/a", 10_000, -1, outside, 9_000),
    }
    for number, (why, (role, path, size, after, dst, sent)) in enumerate(close_calls.items()):
        grant(30 * HOUR, why, role)
        read(31 * HOUR, why, f"desk-{number}", path, size)
        upload(31 * HOUR + after, f"desk-{number}", dst, sent)
        feed.decoy("Exfiltration", usr=why)
    # Granted after the read; and a day before it.
    for why, at in (("granted after", 31 * HOUR + 10), ("granted long before", 23 * HOUR)):
        grant(at, why, "root")
        read(31 * HOUR, why, why, "/secret/a", 10_000)
        upload(31 * HOUR + MINUTE, why, outside, 9_000)
        feed.decoy("Exfiltration", usr=why)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

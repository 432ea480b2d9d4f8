"""Readings of motors and halls over an hour, as CSV; two motors run hot."""

from __future__ import annotations

from pathlib import Path

from examples._generate import HOUR, MINUTE, Feed, write


def files() -> dict[str, str]:
    """The event files: sensors write CSV."""
    return generate().files(csv_streams=("Winding", "Bearing", "Air"))


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(11, disorder=8)

    def winding(at: float, hall: str, machine: str, celsius: float) -> None:
        feed.add("Winding", at, hall=hall, machine=machine, celsius=celsius)

    def bearing(at: float, hall: str, machine: str, celsius: float, vibration: float) -> None:
        feed.add("Bearing", at, hall=hall, machine=machine, celsius=celsius, vibration=vibration)

    def air(at: float, hall: str, celsius: float) -> None:
        feed.add("Air", at, hall=hall, celsius=celsius)

    def readings(at: float) -> None:
        # Motors run warm in a foundry and cool elsewhere; the limit is relative to the air.
        number = feed.random.randrange(4)
        hall, room = (f"foundry-{number}", 40) if number % 2 else (f"hall-{number}", 18)
        machine = f"{hall}-motor-{feed.random.randrange(6)}"
        air(at, hall, round(room + feed.random.uniform(-2, 2), 1))
        winding(at + 1, hall, machine, round(room + feed.random.uniform(20, 55), 1))
        bearing(at + 2, hall, machine, round(room + feed.random.uniform(5, 50), 1), round(feed.random.uniform(0, 7), 2))

    feed.noise(400, HOUR, readings)

    air(10 * MINUTE, "mill", 20.0)
    bearing(10 * MINUTE + 20, "mill", "saw-1", 62.0, 6.0)
    winding(10 * MINUTE + 40, "mill", "saw-1", 95.0)
    feed.plant("Overheating", machine="saw-1", winding=95.0, bearing=62.0, air=20.0)

    # The window is a minute, whatever comes first; each combination counts: two windings, two readings of the air.
    winding(30 * MINUTE, "press room", "press-1", 120.0)
    winding(30 * MINUTE + 5, "press room", "press-1", 121.0)
    bearing(30 * MINUTE + 10, "press room", "press-1", 80.0, 5.0)
    air(30 * MINUTE + 20, "press room", 21.0)
    air(30 * MINUTE + 60, "press room", 22.0)
    feed.plant("Overheating", 4, machine="press-1")

    close_calls = {
        "hot hall": ((0, 36.0), (10, 95.0), (20, 70.0, 6.0)),
        "just sixty": ((0, 20.0), (10, 80.0), (20, 70.0, 6.0)),
        "cool bearing": ((0, 20.0), (10, 100.0), (20, 60.0, 6.0)),
        "smooth": ((0, 20.0), (10, 100.0), (20, 70.0, 4.5)),
        "too far apart": ((0, 20.0), (30, 100.0), (60.001, 70.0, 6.0)),
    }
    for why, ((air_at, cold), (winding_at, hot), (bearing_at, warm, vibration)) in close_calls.items():
        air(45 * MINUTE + air_at, why, cold)
        winding(45 * MINUTE + winding_at, why, why, hot)
        bearing(45 * MINUTE + bearing_at, why, why, warm, vibration)
        feed.decoy("Overheating", machine=why)
    # The hot winding belongs to one motor, the shaking bearing to its neighbour.
    air(50 * MINUTE, "pair", 20.0)
    winding(50 * MINUTE + 1, "pair", "left", 100.0)
    bearing(50 * MINUTE + 2, "pair", "right", 70.0, 6.0)
    feed.decoy("Overheating", machine="left")
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, files())

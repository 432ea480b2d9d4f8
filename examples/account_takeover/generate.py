"""Resets, new devices and transfers of two days; some accounts are taken over."""

from __future__ import annotations

from pathlib import Path

from examples._generate import DAY, HOUR, MINUTE, Feed, ts, write


def generate() -> Feed:
    """The events, with what is planted in them."""
    feed = Feed(3, disorder=50)

    def reset(at: float, acc: str) -> None:
        feed.add("PasswordReset", at, acc=acc)

    def device(at: float, acc: str, name: str) -> None:
        feed.add("DeviceAdded", at, acc=acc, device=name)

    def transfer(at: float, acc: str, name: str, amount: float) -> None:
        feed.add("Transfer", at, acc=acc, dst=f"payee-{feed.random.randrange(500)}", amount=amount, device=name)

    def daily_life(at: float) -> None:
        # Devices that are added here never send more than a thousand; old phones do.
        acc = f"acc-{feed.random.randrange(80):02d}"
        kind = feed.random.random()
        if kind < 0.1:
            reset(at, acc)
        elif kind < 0.2:
            device(at, acc, f"{acc}-tablet")
        elif kind < 0.5:
            transfer(at, acc, f"{acc}-tablet", round(feed.random.uniform(5, 1000), 2))
        else:
            transfer(at, acc, f"{acc}-phone", round(feed.random.uniform(5, 5000), 2))

    feed.noise(1800, 2 * DAY, daily_life)

    reset(5 * HOUR, "victim-1")
    device(5 * HOUR + 3 * MINUTE, "victim-1", "burner")
    transfer(5 * HOUR + 9 * MINUTE, "victim-1", "burner", 4800.0)
    transfer(5 * HOUR + 10 * MINUTE, "victim-1", "burner", 4900.0)
    feed.plant("AccountTakeover", acc="victim-1", device="burner", amount=4800.0)
    feed.plant("AccountTakeover", acc="victim-1", device="burner", amount=4900.0)

    # Device first, password second, exactly two hours in all.
    device(20 * HOUR, "victim-2", "emulator")
    reset(20 * HOUR + MINUTE, "victim-2")
    transfer(22 * HOUR, "victim-2", "emulator", 1000.01)
    feed.plant("AccountTakeover", acc="victim-2", reset_at=ts(20 * HOUR + MINUTE), amount=1000.01)

    # Reset and device at the same instant: AND does not care.
    reset(30 * HOUR, "victim-3")
    device(30 * HOUR, "victim-3", "laptop")
    transfer(30 * HOUR + 1, "victim-3", "laptop", 2000.0)
    feed.plant("AccountTakeover", acc="victim-3")

    close_calls = {
        "old device": (("reset", 0, ""), ("device", 60, "new"), ("transfer", 120, "old", 9000.0)),
        "no reset": (("device", 60, "new"), ("transfer", 120, "new", 9000.0)),
        "small sum": (("reset", 0, ""), ("device", 60, "new"), ("transfer", 120, "new", 1000.0)),
        "too slow": (("reset", 0, ""), ("device", 60, "new"), ("transfer", 2 * HOUR + 0.001, "new", 9000.0)),
        "sent before": (("transfer", 0, "new", 9000.0), ("reset", 60, ""), ("device", 120, "new")),
        "sent with the reset": (("device", 0, "new"), ("reset", 60, ""), ("transfer", 60, "new", 9000.0)),
    }
    for why, events in close_calls.items():
        for kind, at, name, *amount in events:
            at += 40 * HOUR
            if kind == "reset":
                reset(at, why)
            elif kind == "device":
                device(at, why, name)
            else:
                transfer(at, why, name, *amount)
        feed.decoy("AccountTakeover", acc=why)
    return feed


if __name__ == "__main__":
    write(Path(__file__).parent, generate().files())

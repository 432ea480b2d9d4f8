"""A morning of card payments with planted fraud.

Ordinary accounts pay at home, at most every six minutes, between 5 and 400: none of that can match. Every planted fraud
has an account of its own, so a fraud is found if some alert of its pattern names its account.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from cep.ir.expr import timestamp_text

START = 1_709_539_200_000_000  # 2024-03-04T08:00:00Z in microseconds, for those who want the same morning again
COUNTRIES = ("BE", "DE", "ES", "FR", "IT", "NL", "PT")
SPACING = 360.0


@dataclass(frozen=True)
class Morning:
    """Events in order of time, and for each pattern the accounts that are defrauded."""

    events: list[dict[str, object]]
    planted: dict[str, frozenset[str]]


def morning(ordinary: int = 40_000, frauds: int = 12, hours: float = 3, seed: int = 11, start: int = START) -> Morning:
    """The events of a morning that begins at `start` (microseconds); the same for the same arguments."""
    random = Random(seed)  # noqa: S311 - synthetic data
    events: list[tuple[float, str, str, float]] = []
    accounts = max(1, round(ordinary * SPACING / (hours * 3600)))
    for number in range(ordinary):
        account, turn = number % accounts, number // accounts
        at = turn * SPACING + random.uniform(0, SPACING / 2)
        events.append((at, f"acc-{account:05d}", COUNTRIES[account % len(COUNTRIES)], random.uniform(5, 400)))
    end = hours * 3600 - 3600
    planted: dict[str, set[str]] = {"CardTesting": set(), "RisingAmounts": set(), "TwoCountries": set()}
    for number in range(frauds):
        for pattern, accounts_of in planted.items():
            account = f"{pattern.lower()}-{number:02d}"
            accounts_of.add(account)
            events += _fraud(pattern, account, random.uniform(0, end), random)
    events.sort()
    return Morning(
        [
            {
                "ts": timestamp_text(start + round(at * 1000) * 1000),
                "acc": acc,
                "country": country,
                "amnt": round(amnt, 2),
            }
            for at, acc, country, amnt in events
        ],
        {pattern: frozenset(accounts_of) for pattern, accounts_of in planted.items()},
    )


def _fraud(pattern: str, account: str, at: float, random: Random) -> list[tuple[float, str, str, float]]:
    home = random.choice(COUNTRIES)
    if pattern == "CardTesting":
        amounts = [random.uniform(0.5, 4.5) for _ in range(random.randint(2, 4))] + [random.uniform(450, 990)]
        gap = random.uniform(60, 300)
        return [(at + i * gap, account, home, amount) for i, amount in enumerate(amounts)]
    if pattern == "RisingAmounts":
        first = random.uniform(40, 80)
        return [(at + i * 60, account, home, first * 2.2**i) for i in range(3)]
    away = random.choice([country for country in COUNTRIES if country != home])
    return [(at, account, home, random.uniform(20, 90)), (at + random.uniform(120, 900), account, away, 180.0)]

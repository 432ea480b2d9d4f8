"""Events, what the trivial engine makes of them, and what must come out in the end.

The engine is tested elsewhere: here each event has so many matches as it says, found in the batch that reads it. So
what must be published depends on the input alone, and every match tells which event it is of.
"""

from __future__ import annotations

import json
import random
import string
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

LARGE = 20_000
"""Bytes of a match that is larger than any record may be here."""


@dataclass(frozen=True, slots=True)
class Event:
    """`matches` are found when it is read; they are `large` where one of them is more than a record may hold."""

    number: int
    key: str
    matches: int
    large: bool = False

    def encode(self) -> bytes:
        return json.dumps([self.number, self.key, self.matches, self.large]).encode()

    @classmethod
    def decode(cls, value: bytes) -> Event:
        return cls(*json.loads(value))

    def ids(self) -> list[str]:
        """Of its matches, in the order they are found."""
        return [f"{self.number:06d}.{place:03d}" for place in range(self.matches)]

    def is_large(self, place: int) -> bool:
        return self.large and place == 0


@cache
def _noise(seed: int) -> str:
    """Letters that no codec makes much shorter: topics count compressed bytes."""
    return "".join(random.Random(seed).choices(string.ascii_letters + string.digits, k=LARGE))


def matches_of(events: list[Event]) -> pa.RecordBatch | None:
    """The rows that executors stage, with the columns of `connectors.kafka.sink`."""
    keys, values, ids = [], [], []
    for event in events:
        for place, id_ in enumerate(event.ids()):
            keys.append(event.key)
            ids.append(id_)
            pad = _noise(event.number) if event.is_large(place) else ""
            values.append(f'{{"id": "{id_}", "pattern": "P", "end": null, "pad": "{pad}"}}')
    if not ids:
        return None
    count = len(ids)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(keys, pa.string()),
            pa.array(values, pa.string()),
            pa.array(ids, pa.string()),
            pa.array(["P"] * count, pa.string()),
            pa.array([None] * count, pa.string()),
        ],
        names=["key", "value", "id", "pattern", "time"],
    )

"""What the generators of the examples share: events, what was planted among them, and the files.

A generator adds background noise, *planted* matches and *decoys* (hard negatives: one condition away from a match). The
noise is built so that it cannot match, so a generator also says how many matches each plant gives, and the sum of those
is all there is: the tests hold the engine to it.

Events are written in an arrival order that is off by less than the disorder which the streams allow.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from cep.ir.expr import timestamp_text

Value = int | float | str | bool | None
START = 1_709_539_200_000_000  # 2024-03-04T08:00:00Z, a Monday, in microseconds

MINUTE = 60.0
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def ts(at: float) -> str:
    """The time `at` seconds after the start, as the files write it.

    >>> ts(0), ts(1.5)
    ('2024-03-04T08:00:00Z', '2024-03-04T08:00:01.500Z')
    """
    return timestamp_text(START + round(at * 1000) * 1000)


@dataclass(frozen=True)
class Plant:
    """Fields that exactly `matches` of a pattern's matches have."""

    pattern: str
    fields: dict[str, Value]
    matches: int


class Feed:
    """Events by stream, with what is planted among them.

    `disorder` is how many seconds an event may be overtaken by later ones: less than the least WATERMARK.
    """

    def __init__(self, seed: int, *, disorder: float = 0.0) -> None:
        self.random = Random(seed)  # noqa: S311 - test data
        self.plants: list[Plant] = []
        self._arrival = Random(seed + 1)  # noqa: S311 - test data
        self._disorder = disorder
        self._events: dict[str, list[tuple[float, dict[str, Value]]]] = {}

    def add(self, stream: str, at: float, **values: Value) -> None:
        """An event `at` seconds after the start; its attribute `ts` says so."""
        arrives = round(at, 3) + self._arrival.uniform(0, self._disorder)
        self._events.setdefault(stream, []).append((arrives, {"ts": ts(at), **values}))

    def noise(self, count: int, span: float, event: Callable[[float], None]) -> None:
        """Call `event` for `count` random times in `span` seconds."""
        for _ in range(count):
            event(round(self.random.uniform(0, span), 3))

    def plant(self, pattern: str, matches: int = 1, **fields: Value) -> None:
        """Say that `matches` matches of a pattern have these fields."""
        self.plants.append(Plant(pattern, fields, matches))

    def decoy(self, pattern: str, **fields: Value) -> None:
        """Say that no match of a pattern has these fields, though events come close."""
        self.plant(pattern, 0, **fields)

    @property
    def events(self) -> dict[str, list[dict[str, Value]]]:
        """The events of each stream in order of arrival."""
        return {
            stream: [event for _, event in sorted(events, key=lambda item: item[0])]
            for stream, events in self._events.items()
        }

    def files(self, *, csv_streams: Sequence[str] = ()) -> dict[str, str]:
        """File name to text: `events.jsonl` for one stream, else a file each, as CSV where asked for."""
        found = {}
        for stream, events in self.events.items():
            if stream in csv_streams:
                found[f"{stream}.csv"] = _csv(events)
            else:
                name = "events" if len(self._events) == 1 else stream
                found[f"{name}.jsonl"] = "".join(json.dumps(event) + "\n" for event in events)
        return found


def _csv(events: Sequence[dict[str, Value]]) -> str:
    from io import StringIO

    out = StringIO()
    writer = csv.DictWriter(out, list(events[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(events)
    return out.getvalue()


def write(folder: Path, files: dict[str, str]) -> None:
    """Write the files of an example."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")

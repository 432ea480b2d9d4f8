"""The records of a batch, cut into parts that are committed one by one.

How a batch is cut does not matter to who goes on with it: a marker says how many records are there and what they were
(a digest of their keys and values, in order), not which part began where. So a part may also end because time is up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from connectors.kafka.record import Record


@dataclass(frozen=True, slots=True)
class PartLimits:
    """How large a transaction gets; in time, a quarter of what the broker allows."""

    records: int = 100_000
    bytes: int = 32 << 20


class ContentError(Exception):
    """The records of a part that is committed are not those of the batch."""


class BatchRecords:
    """The records of a batch on their way: how many are behind, what they were, and the next one."""

    def __init__(self, rows: Iterator[Record]) -> None:
        self._rows = rows
        self._content = hashlib.blake2b(digest_size=12)
        self.records = 0
        self.too_large = 0
        self.head = next(rows, None)

    @property
    def content(self) -> str:
        """A digest of the records that are behind."""
        return self._content.copy().hexdigest()

    def step(self) -> None:
        """Leave the record at the head behind."""
        record = self.head
        assert record is not None
        key, value = record.key, record.value  # with lengths, so that what is where cannot be mistaken
        lengths = b"%d:%d:" % (-1 if key is None else len(key), -1 if value is None else len(value))
        self._content.update(lengths + (key or b"") + (value or b""))
        self.records += 1
        self.head = next(self._rows, None)

"""A record to publish."""

from __future__ import annotations

from typing import NamedTuple


class Record(NamedTuple):
    """A record to publish; `topic` None is the publisher's own."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    topic: str | None = None
    timestamp: int = 0

    @property
    def size(self) -> int:
        """Bytes that the broker counts, but for what it adds to each record."""
        size = len(self.key or b"") + len(self.value or b"")
        for name, value in self.headers:
            size += len(name) + len(value or b"") + 4
        return size

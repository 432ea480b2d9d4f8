"""Events of a job that share a moment with another of their key, where a SEQ compares them and nothing orders them.

Each bucket counts them in the events of a batch (`runtime.spark.state.cache`) that are not late and that some pattern
could use. Told in the log when a stream has the first, and once more at the end with all that there were.

Not counted: events of one moment that came in different batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from runtime.advice import ties_line

if TYPE_CHECKING:
    from runtime.spark.watch.progress import Batch

logger = structlog.get_logger()


class Ties:
    """Look at every batch; leave the `with` block at the end."""

    def __init__(self) -> None:
        self._found: dict[str, int] = {}
        self._told: dict[str, int] = {}

    def look(self, batch: Batch) -> None:
        """Add up a batch, and tell of a stream's first ties."""
        for stream, count in batch.ties.items():
            self._found[stream] = self._found.get(stream, 0) + count
            if count and stream not in self._told:
                self._tell(stream)

    def __enter__(self) -> Ties:  # noqa: PYI034 - Self is Python 3.11's
        return self

    def __exit__(self, *_: object) -> None:
        for stream, count in self._found.items():
            if count > self._told.get(stream, 0):
                self._tell(stream)

    def _tell(self, stream: str) -> None:
        self._told[stream] = self._found[stream]
        logger.info("ties", stream=stream, events=self._found[stream], what=ties_line(self._found[stream]))

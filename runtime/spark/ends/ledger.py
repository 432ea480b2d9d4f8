"""`cep-published.json`: the checkpoint's own copy of the newest marker, written after each commit.

The marker topic is what decides; the copy tells that it was lost (deleted, expired, another cluster): without it, a
topic without markers reads as "nothing was published yet". It names the output topic: a job that is pointed at another
one has published nothing there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from connectors.kafka.marker import Marker
from connectors.kafka.publisher import LedgerError
from runtime.spark.ends import manifest as manifests
from runtime.spark.errors import JobError

NAME = "cep-published.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class CheckpointLedger:
    """The copy in a checkpoint, of what was published to a topic."""

    checkpoint: str
    topic: str

    def load(self) -> Marker | None:
        """The copy, None where nothing was published to the topic; `JobError` where it cannot be understood."""
        text = manifests.read(self.checkpoint, NAME)
        if text is None:
            return None
        try:
            content = json.loads(text)
            if content["format"] != FORMAT:
                raise JobError(f"{self.checkpoint}/{NAME}: written by another version (format {content['format']})")
            if content["topic"] != self.topic:
                return None
            return Marker.decode(json.dumps(content["marker"]).encode())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise JobError(
                f"{self.checkpoint}/{NAME}: expected what the job has published, found something else ({error}). "
                "Remove the file to trust the marker topic alone"
            ) from error

    def store(self, marker: Marker) -> None:
        """Replace the copy; `LedgerError` where it cannot be written: the batch then counts as not done."""
        content = {"format": FORMAT, "topic": self.topic, "marker": json.loads(marker.encode())}
        try:
            manifests.write(self.checkpoint, NAME, json.dumps(content) + "\n")
        except JobError as error:
            raise LedgerError(str(error)) from error

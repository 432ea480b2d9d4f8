"""Do the events of a job have what its streams declare? Told once for each stream and column, from counts of batches.

Spark counts, with the events of a batch, the values of each column that a pattern uses (`dataflow.packed`); here they
are added up. A column that had no value in any event so far is told after the first batch with events, one that has a
value later is not told again; events without a time or a key are told when the first ones come. The names that are
there instead are looked up when they are to be told: in the first file, or in the newest records of the topic.

For metrics there are two numbers: the events of the newest batch that lack a time or a key (`missing`, by stream and
column), and the columns of a stream that no event so far has a value in (`empty`).

With `strict`, what would be a warning ends the job: after the batch, which is finished and published like any other,
so that nothing is lost, and a start without `--strict-schema` goes on behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import structlog

from cep.ir.model import Stream
from cep.ir.plan import Plan
from connectors.files import Input, InputError
from connectors.files.errors import Ignored
from connectors.files.fit import Seen, keys_of, misfits
from connectors.kafka.config import KafkaConfig, KafkaFailureError
from connectors.kafka.sample import newest_values
from runtime.spark.errors import JobError

if TYPE_CHECKING:
    from runtime.spark.watch.progress import Batch

KAFKA = "kafka:"
logger = structlog.get_logger()


class Fit:
    """What the batches of a job had in them."""

    def __init__(
        self,
        plans: Sequence[Plan],
        inputs: Mapping[str, str],
        *,
        kind: str | None = None,
        strict: bool = False,
        kafka: KafkaConfig | None = None,
    ) -> None:
        self._plans = plans
        self._inputs = inputs
        self._kind = kind
        self._strict = strict
        self._kafka = kafka
        self._streams: dict[str, Stream] = {stream.name: stream for plan in plans for stream in plan.streams}
        self._seen = {name: Seen() for name in self._streams}
        self._told: set[tuple[str, str]] = set()
        self.missing: dict[tuple[str, str], int] = {}
        self.empty: dict[str, int] = {}

    def look(self, batch: Batch) -> None:
        """Add up a batch and tell what is new; `JobError` where that must not be."""
        found = []
        self.missing = {}
        for name, counts in batch.values.items():
            stream = self._streams.get(name)
            if stream is None or not batch.events.get(name):
                continue
            seen = self._seen[name]
            seen.add(Seen(events=batch.events[name], values=dict(counts)))
            self._count(stream, batch.events[name], counts)
            fresh = [column for column in self._unfit(stream, seen) if (name, column) not in self._told]
            if fresh:
                self._told.update((name, column) for column in fresh)
                self._names(stream, seen)
                shown = Seen(seen.events, {column: seen.values[column] for column in fresh}, seen.present, seen.names)
                shown.nested = seen.nested
                found += misfits(stream, keys_of(self._plans, name), shown)
        for text in found:
            logger.warning("unfit", what=text)
        if found and self._strict:
            raise JobError(f"--strict-schema: {'; '.join(found)}")

    def _count(self, stream: Stream, events: int, values: Mapping[str, int]) -> None:
        """What metrics say of a batch of a stream."""
        for column in sorted(self._needed(stream)):
            if column in values:
                self.missing[stream.name, column] = events - values[column]
        self.empty[stream.name] = sum(not count for count in self._seen[stream.name].values.values())

    def _needed(self, stream: Stream) -> set[str]:
        """What an event cannot do without: its time and its keys."""
        return {name for name in (stream.time, *keys_of(self._plans, stream.name)) if name is not None}

    def _unfit(self, stream: Stream, seen: Seen) -> list[str]:
        needed = self._needed(stream)
        return [column for column, count in seen.values.items() if count < (seen.events if column in needed else 1)]

    def _names(self, stream: Stream, seen: Seen) -> None:
        """Look up what records of a stream have in them; nothing where they cannot be read again."""
        spec = self._inputs.get(stream.name, "")
        noted = Seen()
        if seen.names or "://" in spec:
            return
        try:
            if spec.startswith(KAFKA):
                for value in newest_values(self._kafka, spec.removeprefix(KAFKA)) if self._kafka is not None else ():
                    noted.line(value)
            else:
                files = Input.find(stream, spec, columns=list(seen.values), kind=self._kind)
                next((piece for _, piece in files.pieces(Ignored(), seen=noted) if piece.batch.num_rows), None)
        except (InputError, KafkaFailureError):
            return
        seen.present |= noted.present
        seen.names |= noted.names
        seen.nested |= noted.nested

"""What leaves a job: matches to one end, late events to another, in one run of the batch.

Executors turn what the stateful operator puts out into lines or records and put them away, matches and late events
apart (`Stager`, in `mapInArrow`); the driver then hands them to their ends (`Outlet`, in `foreachBatch`). An end is a
directory (`runtime.spark.ends.directory`), a topic (`runtime.spark.ends.kafka_ends`), or stdout
(`runtime.spark.ends.console`).

Each end gets each batch once, whatever is killed: it is offered a batch until Spark has committed it, and knows what it
has. Two topics share transactions, so a consumer of both sees a batch of both; two other ends do not wait for each
other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from connectors.staging import STAGED, Staged, staged_of, task_number
from runtime.spark.flow.late import LateUnpacker
from runtime.spark.flow.unpack import Unpacker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Publish = Callable[[Sequence[Staged], int], object]


class Put(Protocol):
    """How the rows of a task are put away."""

    def put(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[Staged]:
        """Put them away: what the driver needs to find them."""


class End(NamedTuple):
    """Where something goes: what executors do with it, and the driver. Without `publish`, it goes with the matches."""

    stager: Put
    publish: Publish | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stager:
    """For `mapInArrow`, on executors: matches and late events of a task, put away."""

    unpack: Unpacker
    matches: Put
    unpack_late: LateUnpacker | None = None
    late: Put | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of `STAGED`."""
        task = task_number()
        late: list[tuple[str, int, bytes]] = []
        for staged in self.matches.put(self.unpack(_matches(batches, late)), task):
            yield staged.row()
        if late and self.unpack_late is not None and self.late is not None:
            for staged in self.late.put(self.unpack_late(late), task):
                yield staged._replace(late=True).row()


def _matches(batches: Iterator[pa.RecordBatch], late: list[tuple[str, int, bytes]]) -> Iterator[pa.RecordBatch]:
    """The blobs of matches; those of late events are put aside, packed as they are: the operator held as much."""
    for batch in batches:
        other = pc.is_null(batch.column("pattern"))
        late.extend((row["stream"], row["watermark"], row["blob"]) for row in batch.filter(other).to_pylist())
        yield batch.filter(pc.invert(other))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlet:
    """For `foreachBatch`, on the driver: run the batch, and hand each end what is for it.

    `check` is called in between: what it raises keeps the batch from being published.
    """

    matches: Publish
    late: Publish | None = None
    check: Callable[[], None] | None = None

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Publish a batch."""
        staged = staged_of(rows)
        if self.check is not None:
            self.check()
        if self.late is None:
            self.matches(staged, batch)
            return
        self.matches([part for part in staged if not part.late], batch)
        self.late([part for part in staged if part.late], batch)


def sink(
    found: DataFrame,
    unpack: Unpacker,
    matches: End,
    unpack_late: LateUnpacker | None = None,
    late: End | None = None,
    check: Callable[[], None] | None = None,
) -> tuple[DataFrame, Callable[[Any, int], None]]:
    """Packed matches, and late events where they have an end, as staged rows and their batch function."""
    packed = found.select("pattern", "stream", "blob", "watermark").filter("blob IS NOT NULL")
    assert matches.publish is not None
    stager = Stager(
        unpack=unpack,
        matches=matches.stager,
        unpack_late=unpack_late,
        late=late.stager if late is not None else None,
    )
    outlet = Outlet(matches=matches.publish, late=late.publish if late is not None else None, check=check)
    return packed.mapInArrow(stager, STAGED), outlet


def staging_of(checkpoint: str) -> str:
    """Where executors put rows for the driver."""
    return f"{checkpoint.rstrip('/')}/staging"

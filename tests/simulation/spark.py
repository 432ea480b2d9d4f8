"""Spark's micro-batch protocol, around the real source and the real sink.

As `MicroBatchExecution` does it: the end of a batch is written to the offsets log, the batch is run and handed to
`foreachBatch`, then its number is written to the commit log. After a crash, a batch that is in the offsets log and not
in the commit log is run again with the same number and range; one that is in neither is planned anew. Batch 0 begins
where the source's `initialOffset` says, which is asked to plan it and again to run it: Spark does not write it down.
Batch 0 is planned also where there is nothing to read. An entry that is there already (another driver wrote it) ends
the query.

The logs are files in Spark's own format, since the code under test may read them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.simulation.process import Process
from tests.simulation.source import Event, matches_of

if TYPE_CHECKING:
    from connectors.kafka.source import KafkaStreamReader

Offset = dict[str, Any]
TASKS = 2
KEPT = 100
"""Entries of the logs that Spark keeps (`spark.sql.streaming.minBatchesToRetain`)."""


class ConcurrentQueryError(Exception):
    """Another query writes to this checkpoint: Spark's CONCURRENT_STREAM_LOG_UPDATE."""


class Checkpoint:
    """A checkpoint directory. `backup` and `restore` work on all of it, or on Spark's part."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def newest(self, log: str) -> int | None:
        """The newest entry of a log."""
        place = self.directory / log
        numbers = [int(path.name) for path in place.iterdir()] if place.exists() else []
        return max(numbers, default=None)

    def offsets(self, batch: int) -> Offset:
        """What the offsets log says of a batch: the third line, for the only source."""
        found: Offset = json.loads((self.directory / "offsets" / str(batch)).read_text().splitlines()[2])
        return found

    def add(self, log: str, batch: int, text: str) -> None:
        place = self.directory / log
        place.mkdir(exist_ok=True)
        if (place / str(batch)).exists():
            raise ConcurrentQueryError(f"{log}/{batch} is there already: another query writes to this checkpoint")
        (place / str(batch)).write_text(text)
        (place / str(batch - KEPT)).unlink(missing_ok=True)

    def backup(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.directory)): path.read_bytes()
            for path in sorted(self.directory.rglob("*"))
            if path.is_file()
        }

    def restore(self, files: dict[str, bytes], *, only_spark: bool = False) -> None:
        for path in sorted(self.directory.rglob("*"), reverse=True):
            if path.is_file() and (not only_spark or path.parent.name in ("offsets", "commits")):
                path.unlink()
        for name, content in files.items():
            path = self.directory / name
            if not only_spark or path.parent.name in ("offsets", "commits"):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)


class Frame:
    """A DataFrame as far as `match_writer` and `Publication` look at one."""

    def __init__(self, rows: pa.Table | None = None) -> None:
        self.rows = rows
        self.stager: Any = None

    def select(self, *_: object) -> Frame:
        return self

    def filter(self, *_: object) -> Frame:
        return self

    def mapInArrow(self, stager: Any, _schema: str) -> Frame:  # noqa: N802 - Spark's name
        self.stager = stager
        return self

    def toArrow(self) -> pa.Table | None:  # noqa: N802 - Spark's name
        return self.rows


class Query:
    """A running query. `step` runs a batch; whatever it raises ends the query."""

    def __init__(
        self,
        process: Process,
        checkpoint: Checkpoint,
        reader: KafkaStreamReader,
        stager: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        publication: Callable[[Any, int], None],
        task: Callable[[int], None],
    ) -> None:
        self.process = process
        self.checkpoint = checkpoint
        self.reader = reader
        self.stager = stager
        self.publication = publication
        self.task = task
        self.committed: Offset | None = None
        self.planned: Offset | None = None
        self.batch = 0
        self._recover()

    def _recover(self) -> None:
        newest = self.process.disk("read logs", lambda: self.checkpoint.newest("offsets"))
        if newest is None:
            return
        done = self.checkpoint.newest("commits")
        if done is not None and done >= newest:
            self.batch, self.committed = newest + 1, self.checkpoint.offsets(newest)
        else:
            self.batch, self.planned = newest, self.checkpoint.offsets(newest)
            self.committed = self.checkpoint.offsets(newest - 1) if newest else None

    def step(self) -> bool:
        """Run a batch; False where there is nothing to do."""
        start = self.committed if self.committed is not None else self.reader.initialOffset()
        if self.planned is None:
            limit = self.reader.getDefaultReadLimit()
            end = json.loads(json.dumps(self.reader.latestOffset(start, limit)))
            if end == self.committed:
                return False
            entry = "\n".join(["v1", json.dumps({"batchWatermarkMs": 0}), json.dumps(end)])
            self.process.disk("write offsets", lambda: self._write_down(entry))
            self.planned = end
        if self.committed is None:
            start = self.reader.initialOffset()
        self._run(start, self.planned)
        self.process.disk("write commit", lambda: self.checkpoint.add("commits", self.batch, 'v1\n{"nextBatch":0}'))
        self.committed, self.planned = self.planned, None
        self.batch += 1
        return True

    def _write_down(self, entry: str) -> None:
        self.checkpoint.add("offsets", self.batch, entry)
        if self.batch == 0:
            self.process.world.planned_first()

    def _run(self, start: Offset, end: Offset) -> None:
        tasks: list[list[Event]] = [[] for _ in range(TASKS)]
        for part in self.reader.partitions(start, end):
            for rows in self.reader.read(part):
                for value in rows.column("value").to_pylist():
                    event = Event.decode(value)
                    tasks[len(event.key) % TASKS].append(event)
        staged = []
        for number, events in enumerate(tasks):
            for _attempt in range(2 if self.process.world.faults.task_runs_twice(self.process) else 1):
                self.task(number)
                rows = matches_of(events)
                found = list(self.stager(iter([rows] if rows is not None else [])))
            staged += found
        self.publication(Frame(pa.Table.from_batches(staged) if staged else pa.table({})), self.batch)

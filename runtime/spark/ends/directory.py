"""A directory of matches, or of late events: JSON Lines files in which a plain reader finds each exactly once.

Executors write what they have to `_temporary/`, which readers skip (`FileStager`); when all of a batch is there, the
driver moves the files to names that job, batch and partition determine (`FilePublication`). A batch that is repeated
after a crash has the same matches in the same partitions, so it replaces its own files, and whatever else an earlier
attempt left under its number is deleted. A crash while files are moved leaves a batch partly visible until the job is
started again; never a match twice.

*The same batch.* A number alone does not name a batch. `_published/` has a marker for each job, as topics have: the
newest batch and what it read, written before its files are moved and again when they are there. `connectors.kafka`'s
`decide` compares it with the batch that comes and with what the checkpoint says. One that read something else under the
same number, or comes after the checkpoint went back (a restored backup, Spark's part of it lost), is refused, or
published (`--on-rewind fail|republish`): then the files of its number and of later ones are moved to `_replaced/`,
which readers skip too. Their matches are found again as far as their events are still there. Directories of earlier
versions have no marker; there, the names of the files tell the newest batch.

The directory must be on a file system that driver and executors share (on one machine, any).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import pyarrow as pa

from connectors.cap import Cap, Tally
from connectors.kafka.config import logger
from connectors.kafka.decide import FAIL, InputRange, Offer, Publish, Refuse, Skip, decide
from connectors.kafka.marker import Marker, now
from connectors.staging import Staged, task_number
from runtime.spark.ends.lines import lines
from runtime.spark.ends.manifest import write_local
from runtime.spark.errors import JobError

TEMPORARY, PUBLISHED, REPLACED = "_temporary", "_published", "_replaced"
"""Directories that readers skip, as all whose names begin so."""
MATCHES, LATE = "matches", "late"
"""What the names of files begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStager:
    """On executors: the rows of a partition to a file that nobody sees yet. `text` makes their lines."""

    directory: str
    job: str
    text: Callable[[pa.RecordBatch], Iterable[str]] = lines

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """For `mapInArrow`: a row of `STAGED`, or none where there is nothing."""
        for staged in self.put(batches, task_number()):
            yield staged.row()

    def put(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[Staged]:
        """Write rows, if there are any."""
        full = (batch for batch in batches if batch.num_rows)
        batch = next(full, None)
        if batch is None:
            return
        target = temporary(Path(self.directory), self.job) / f"{uuid.uuid4().hex}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        rows = 0
        with target.open("w", encoding="utf-8", newline="") as file:
            while batch is not None:
                file.writelines(self.text(batch))
                rows += batch.num_rows
                batch = next(full, None)
            file.flush()
            os.fsync(file.fileno())
        yield Staged(task, 0, rows, path=target.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePublication:
    """On the driver, once all tasks of a batch are done: make it visible. Harmless to repeat.

    `ranges` gives what a batch read; without it, a number is taken for a batch.
    """

    directory: str
    job: str
    kind: str = MATCHES
    ranges: Callable[[int], InputRange | None] | None = None
    on_rewind: str = FAIL
    cap: Cap = field(default_factory=Cap)
    tally: Tally = field(default_factory=Tally)

    def publish(self, staged: Sequence[Staged], batch: int) -> None:
        """Move the files of a batch to their names; `JobError` where it is not the batch that has to come."""
        files = sorted(staged, key=lambda part: part.task)
        place = temporary(Path(self.directory), self.job)
        for part, rows in zip(files, self.cap.kept([part.rows for part in files], batch, self.tally), strict=True):
            if rows < part.rows:
                _cut(place / str(part.path), rows)
        there = self._files()
        if not files and batch not in there:
            return
        newest = self._newest(there)
        read, decision = self._decide(newest, batch)
        if isinstance(decision, Skip) and newest is not None and newest.batch != batch:
            logger.info("%s", decision.warning or f"batch {batch} of {self.job} was published before: skipped")
            for part in files:
                (place / str(part.path)).unlink()
            return
        if decision.warning is not None:
            logger.warning("%s", decision.warning)
            self._put_aside([file for number, found in there.items() if number >= batch for file in found])
        marker = Marker(
            self.job,
            batch,
            sum(part.rows for part in files),
            0,
            now(),
            last=False,
            serial=newest.serial + 1 if newest is not None else 1,
            range=read.digest if read is not None else None,
            start=read.start if read is not None else None,
            end=read.end if read is not None else None,
            history=decision.history if isinstance(decision, Publish) else newest.history if newest is not None else (),
        )
        self._keep(marker)
        self._move(files, batch)
        self._keep(replace(marker, last=True))

    def _decide(self, newest: Marker | None, batch: int) -> tuple[InputRange | None, Publish | Skip]:
        read = then = None
        if self.ranges is not None:
            read = self.ranges(batch)
            if read is None:
                raise JobError(f"the checkpoint does not say what batch {batch} read: its offset log is damaged")
            if newest is not None and 0 <= newest.batch < batch:
                then = self.ranges(newest.batch)
        decision = decide(newest, Offer(batch, read, then), self.on_rewind)
        if isinstance(decision, Refuse):
            raise JobError(
                f"{self.directory}: {decision.reason}. The files that are replaced are then moved to {REPLACED}"
            )
        return read, decision

    # Files

    @property
    def _start(self) -> str:
        return f"{self.kind}-{self.job}-"

    def _files(self) -> dict[int, list[Path]]:
        """The files of the job, by batch."""
        found: dict[int, list[Path]] = {}
        for file in sorted(Path(self.directory).glob(f"{self._start}*.jsonl")):
            number = file.name[len(self._start) :].partition("-")[0]
            if number.isdecimal():
                found.setdefault(int(number), []).append(file)
        return found

    def _move(self, staged: Sequence[Staged], batch: int) -> None:
        """Give files their names, and remove what else has the batch's number."""
        directory = Path(self.directory)
        names = set()
        for part in staged:
            name = f"{self._start}{batch:09d}-{part.task:05d}.jsonl"
            (temporary(directory, self.job) / str(part.path)).replace(directory / name)
            names.add(name)
        for stale in directory.glob(f"{self._start}{batch:09d}-*.jsonl"):
            if stale.name not in names:
                stale.unlink()
        _sync(directory)

    def _put_aside(self, files: Sequence[Path]) -> None:
        """Move files to where nobody reads them as matches."""
        if not files:
            return
        target = Path(self.directory) / REPLACED / f"{self._start}{uuid.uuid4().hex[:8]}"
        target.mkdir(parents=True)
        for file in files:
            file.replace(target / file.name)
        logger.warning("%d files of %s are replaced: they are now in %s", len(files), self.job, target)

    # The marker

    def _newest(self, there: Mapping[int, Sequence[Path]]) -> Marker | None:
        """The newest batch that was published, or begun, as far as that is known."""
        marker = self._marker()
        last = max(there, default=-1)
        if marker is None or marker.batch < last:  # an earlier version, which writes none, was here
            return Marker(self.job, last, 0, 0, "") if last >= 0 else None
        return marker

    def _marker(self) -> Marker | None:
        path = Path(self.directory) / PUBLISHED / self._name
        try:
            return Marker.decode(path.read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise JobError(
                f"{path}: expected what the job has published, found something else ({error}). Remove the file to go "
                "by the names of the files alone"
            ) from error

    def _keep(self, marker: Marker) -> None:
        write_local(Path(self.directory) / PUBLISHED, self._name, marker.encode().decode() + "\n")

    @property
    def _name(self) -> str:
        return f"{self.kind}-{self.job}.json"


def _sync(directory: Path) -> None:
    """Let the names of files outlive the power."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cut(file: Path, rows: int) -> None:
    """Keep the first lines of a file."""
    short = file.with_suffix(".cut.jsonl")
    with file.open(encoding="utf-8", newline="") as every, short.open("w", encoding="utf-8", newline="") as kept:
        kept.writelines(islice(every, rows))
        kept.flush()
        os.fsync(kept.fileno())
    short.replace(file)


def temporary(directory: Path, job: str) -> Path:
    """Where a job's files are before they can be seen."""
    return directory / TEMPORARY / job


def clean(directory: Path, job: str) -> None:
    """Before a job starts: remove what its crashed attempts left behind."""
    for file in temporary(directory, job).glob("*.jsonl"):
        file.unlink(missing_ok=True)

"""Matches on stdout. They get to the driver through staged files, so that it holds a few thousand lines at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from connectors.cap import Cap, Tally
from connectors.staging import Staged, remove, rows_of
from runtime.spark.ends.lines import lines


def sortable(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For `RowStager`: rows of matches to lines, with what they are sorted by."""
    for rows in batches:
        columns = [rows.column("end"), rows.column("pattern"), rows.column("id"), pa.array(lines(rows), pa.string())]
        yield pa.RecordBatch.from_arrays(columns, names=["end", "pattern", "id", "value"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """On the driver: the lines of a batch to stdout, as they are read. Memory: a slice of what a task has."""

    staging: str
    cap: Cap = field(default_factory=Cap)
    tally: Tally = field(default_factory=Tally)

    def publish(self, staged: Sequence[Staged], batch: int) -> None:
        """Print what tasks have staged."""
        (left,) = self.cap.kept([sum(part.rows for part in staged)], batch, self.tally)
        for rows in rows_of(staged, self.staging):
            sys.stdout.writelines(rows.column("value").slice(0, left).to_pylist())
            left = max(0, left - rows.num_rows)
        sys.stdout.flush()
        remove(staged, self.staging)

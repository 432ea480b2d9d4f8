"""Events of DataFrames that are dated ahead of the clock (`MAX AHEAD`), where no reader of ours has seen them.

JSON Lines, CSV and Kafka records are checked where they are decoded (`connectors.files.times`). Parquet files and
DataFrames of a user are checked here, in SQL, before the watermark is taken from them: the clock is that of the batch
(`current_timestamp`). What is ahead fails the query, is left out, or is left out and written to a directory, one file
for each batch of a task; a task that is tried again writes a new file, so a dead letter can be there twice.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.expr import duration_text, timestamp_text
from cep.ir.model import Stream
from connectors.files.times import wall_clock
from runtime.spark.sql import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def limited(events: DataFrame, stream: Stream, ahead: int | None, on_error: str = "skip") -> DataFrame:
    """The events that are not more than `ahead` (microseconds) after the clock; the event time is a timestamp."""
    if ahead is None or stream.time is None:
        return events
    kind, _, directory = on_error.partition("=")
    if kind == "dead-letter":
        schema = ", ".join(f"{quote(field.name)} {field.dataType.simpleString()}" for field in events.schema.fields)
        return events.mapInArrow(_Letters(stream.name, stream.time, ahead, directory), schema)
    time = quote(stream.time)
    fine = f"{time} IS NULL OR {time} <= timestamp_micros(unix_micros(current_timestamp()) + {ahead})"
    if kind == "skip":
        return events.filter(fine)
    return events.filter(f"CASE WHEN {fine} THEN TRUE ELSE raise_error({_reason(stream, ahead)}) END")


def _reason(stream: Stream, ahead: int) -> str:
    found = f"CAST({quote(stream.time or '')} AS STRING)"
    return (
        f"concat('BadRecordError: stream {stream.name.replace(chr(39), '')}: ', {_text(stream.time or '', ahead)}, "
        f"{found}, ' (the clock says ', CAST(current_timestamp() AS STRING), ')')"
    )


def _text(time: str, ahead: int) -> str:
    text = _expected(time, ahead).replace("\\", "").replace("'", "")
    return f"'{text}'"


def _expected(time: str, ahead: int) -> str:
    limit = duration_text(ahead)
    return f'"{time}": expected a time at most {limit} after the clock of this machine (--max-ahead, MAX AHEAD), found '


@dataclass(frozen=True, slots=True)
class _Letters:
    """For `mapInArrow`: what is ahead goes to a file."""

    stream: str
    time: str
    ahead: int
    directory: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            times = batch.column(self.time).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
            bad = pc.fill_null(pc.greater(times, wall_clock() + self.ahead), False)
            if pc.any(bad).as_py():
                self._write(batch.filter(bad), times.filter(bad).to_pylist())
                batch = batch.filter(pc.invert(bad))
            yield batch

    def _write(self, bad: pa.RecordBatch, times: list[int]) -> None:
        folder = Path(self.directory)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{self.stream}-{uuid.uuid4().hex[:8]}.bad.jsonl").open("x", encoding="utf-8") as file:
            for row, at in zip(bad.to_pylist(), times, strict=True):
                error = _expected(self.time, self.ahead) + timestamp_text(at)
                letter = {"stream": self.stream, "error": error, "raw": json.dumps(row, default=str)}
                file.write(json.dumps(letter, ensure_ascii=False) + "\n")

"""A pattern as stream-stream joins, as a Spark user would write it: one join for each step after the first.

After `benchmarks.spark.by_join`, for any number of steps. Spark allows one event time in a row: after each join the
earlier one becomes an ordinary column. Conditions that an earlier join can decide are given to it.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.spark import session
from benchmarks.workloads import Workload, prefix_lengths

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 5
_TYPES = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "STRING"}


def run(workload: Workload, query: str, cap: float) -> dict[str, Any]:
    """All files of all streams, one of each in a micro-batch; the clock includes reading and planning them."""
    from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

    asked = json.loads(query)
    data = workload.data()
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        _write(data, directory)
        spark = session(directory)
        found = joined(spark, directory, asked, {stream: table.schema for stream, table in data.items()})
        observed = found.observe("result", F.count(F.lit(1)).alias("rows"), F.sum(F.expr(asked["check"])).alias("sum"))
        writer = observed.writeStream.format("noop").outputMode("append")
        started = time.perf_counter()
        running = writer.option("checkpointLocation", str(directory / "checkpoint")).trigger(availableNow=True).start()
        finished = bool(running.awaitTermination(int(cap)))
        seconds = time.perf_counter() - started
        progress = list(running.recentProgress)
        seen = [p.observedMetrics["result"] for p in progress if "result" in p.observedMetrics]
        steps = len(asked["steps"])
        result = {
            "finished": finished,
            "events": sum(p.numInputRows for p in progress) * len(data) // steps,
            "matches": sum(row.rows for row in seen),
            "checksum": sum(row.sum or 0 for row in seen),
            "seconds": seconds if finished else cap,
            "peak_rss_bytes": peak_of_tree(),
        }
        running.stop()
        spark.stop()
    return result


def joined(spark: SparkSession, directory: Path, asked: dict[str, Any], schemas: dict[str, pa.Schema]) -> DataFrame:
    """The steps, joined from left to right."""
    from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

    timed = {stream: "ts" in schema.names for stream, schema in schemas.items()}

    def side(name: str, stream: str, condition: str) -> DataFrame:
        names = [column for column in schemas[stream].names if column != "_arrival"]
        types = ", ".join(f"{c} {_TYPES.get(schemas[stream].field(c).type, 'TIMESTAMP')}" for c in names)
        events = spark.readStream.schema(types).option("maxFilesPerTrigger", 1).parquet(str(directory / stream))
        if timed[stream]:
            events = events.withWatermark("ts", "10 seconds")
        return events.filter(condition).selectExpr(*(f"{c} AS {name}_{c}" for c in names))

    conditions = [part for text in asked["conditions"] for part in text.split(" AND ")]
    conditions = [re.sub(r"\b([a-z]\d?)\.(\w+)", r"\1_\2", part) for part in conditions]
    (first, stream, condition), *others = asked["steps"]
    left = side(first, stream, condition)
    times = [first] if timed[stream] else []
    for name, stream, condition in others:
        for before in times[:-1]:
            left = left.withColumn(f"{before}_ts", F.expr(f"timestamp_micros(unix_micros({before}_ts))"))
        right = side(name, stream, condition)
        columns = {*left.columns, *right.columns}
        now = [part for part in conditions if set(re.findall(r"\b[a-z]\d?_\w+", part)) <= columns]
        conditions = [part for part in conditions if part not in now]
        left = left.join(right, F.expr(" AND ".join(now)), "inner")
        times += [name] if timed[stream] else []
    return left.selectExpr(
        *(
            f"timestamp_micros(unix_micros({column})) AS {column}" if column.endswith("_ts") else column
            for column in left.columns
        )
    )


def _write(data: dict[str, pa.Table], directory: Path) -> None:
    events = sum(table.num_rows for table in data.values())
    starts = [prefix_lengths(data, events * n // FILES) for n in range(FILES)] + [prefix_lengths(data, events)]
    for stream, table in data.items():
        (directory / stream).mkdir()
        for number in range(FILES):
            begin, end = starts[number][stream], starts[number + 1][stream]
            path = directory / stream / f"part-{number:04d}.parquet"
            pq.write_table(table.slice(begin, end - begin), path)
            os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def peak_of_tree() -> int:
    """The largest resident sizes of this process and all below it, added up."""
    parents: dict[int, int] = {}
    peaks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
        except OSError:  # it has ended meanwhile
            continue
        number = int(path.parent.name)
        parents[number] = int(lines["PPid"])
        peaks[number] = int(lines.get("VmHWM", "0 kB").split()[0]) * 1024
    tree = {os.getpid()}
    while more := {p for p, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return sum(peaks.get(p, 0) for p in tree)

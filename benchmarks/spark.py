"""The card-testing job on Spark, end to end from Parquet, next to what it could cost at least and what others would do.

    python -m benchmarks.spark [--events N ...] [--accounts N ...] [--ways WAY ...] [--batches N] [--json FILE]

Ways, each in a process of its own on `local[2]`, over the same files, one file a batch:

* `engine`: the job of `cep run`: filter, pack, log, engine, unpack.
* `pass-through`: the same pipeline with an engine that finds nothing: what packing, shuffling and logging cost.
* `rows`: `groupBy(acc).transformWithStateInPandas` fed with rows, small transactions in a ListState.
* `rows-filtered`: the same, with what neither is small nor large filtered out before it gets to Python, as we do.
* `join`: what a Spark user would write without either: a three-way stream-stream self-join with watermarks.

The first batches start the machinery, and Java compiles for some twenty of them: the first half is not counted; of the
others the median counts. The table also has the first and the last counted batch (flat means: no growth with the
stream) and the bytes of state on disk.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import facts
from benchmarks.workloads import CARD_TESTING, transactions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RESULTS = Path(__file__).parent / "results"
SCHEMA = "ts TIMESTAMP, acc STRING, amnt DOUBLE"
HOUR = 3600
WAYS = ("pass-through", "engine", "rows", "rows-filtered", "join")
BATCHES = {200_000: 32}
"""How many batches are run, by their size; others have 16. Short ones are not over before Java has compiled."""


class PassThrough:
    """An engine that looks at nothing."""

    def __init__(self, plan: Any) -> None:
        from runtime import Engine

        self._schema = Engine(plan).enumerate().schema

    def push(self, batch: Any, watermark: int | None = None) -> pa.RecordBatchReader:
        """No matches."""
        del batch, watermark
        return pa.RecordBatchReader.from_batches(self._schema, [])

    def load(self, batch: Any, watermark: int | None = None) -> None:
        """Nothing to fill."""


def session(directory: Path) -> SparkSession:
    """Two cores and the settings of `cep run`, for all ways alike."""
    from runtime.spark.job.session import open_session

    settings = {
        "spark.driver.memory": "4g",
        "spark.local.dir": str(directory / "local"),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
    }
    return open_session("benchmark", "local[2]", settings, 2, local_checkpoint=True)


def matches_of(way: str, events: DataFrame) -> DataFrame:
    """The query of a way."""
    if way in ("engine", "pass-through"):
        import cep
        from runtime.spark import detect
        from runtime.spark.state.cache import new_engine

        plans = cep.compile(CARD_TESTING.format(window=f"{HOUR} SECONDS"))
        make = new_engine if way == "engine" else PassThrough
        return detect(plans, {"Trans": events}, buckets=2, make_engine=make)
    if way == "join":
        return by_join(events)
    return by_rows(events if way == "rows" else events.filter("amnt < 100 OR amnt > 400"))


def by_rows(events: DataFrame) -> DataFrame:
    """Each account's small transactions of the last hour in a ListState; each large one meets every pair of them."""
    import pandas as pd  # type: ignore[import-untyped]
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    class Small(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._small = handle.getListState("small", "ts TIMESTAMP")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: ARG002, N802, N803
            batch = pd.concat(list(rows)).sort_values("ts")
            kept = [row[0] for row in self._small.get()]
            found: list[tuple[Any, ...]] = []
            for ts, amount in zip(batch["ts"], batch["amnt"], strict=True):
                kept = [small for small in kept if (ts - small).total_seconds() <= HOUR]
                if amount < 100:
                    kept.append(ts)
                elif amount > 400:
                    earlier = sorted(small for small in kept if small < ts)
                    found += [
                        (key[0], first, second, ts, amount)
                        for place, second in enumerate(earlier)
                        for first in earlier[:place]
                        if first < second
                    ]
            if kept:
                self._small.put([(ts,) for ts in kept])
            else:
                self._small.clear()
            yield pd.DataFrame(found, columns=["acc", "first_ts", "second_ts", "last_ts", "amount"])

        def close(self) -> None:
            pass

    timed = events.withWatermark("ts", "10 seconds")
    schema = "acc STRING, first_ts TIMESTAMP, second_ts TIMESTAMP, last_ts TIMESTAMP, amount DOUBLE"
    return timed.groupBy("acc").transformWithStateInPandas(Small(), schema, "Append", "EventTime")


def by_join(events: DataFrame) -> DataFrame:
    """Three scans, two stateful joins."""
    from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

    timed = events.withWatermark("ts", "10 seconds")

    def side(name: str, condition: str) -> DataFrame:
        chosen = timed.filter(condition)
        return chosen.select(*(F.col(column).alias(f"{name}_{column}") for column in ("ts", "acc", "amnt")))

    first, second, last = side("s1", "amnt < 100"), side("s2", "amnt < 100"), side("l", "amnt > 400")
    pairs = first.join(
        second, F.expr("s1_acc = s2_acc AND s1_ts < s2_ts AND s2_ts <= s1_ts + INTERVAL 1 HOUR"), "inner"
    )
    # Spark allows one event time in a row: the first one becomes an ordinary column.
    paired = pairs.selectExpr("timestamp_micros(unix_micros(s1_ts)) AS first_ts", "s2_ts", "s2_acc")
    window = "l_ts <= s2_ts + INTERVAL 1 HOUR AND l_ts <= first_ts + INTERVAL 1 HOUR"
    found = paired.join(last, F.expr(f"s2_acc = l_acc AND s2_ts < l_ts AND {window}"), "inner")
    return found.selectExpr("l_acc", "first_ts", "unix_micros(s2_ts)", "unix_micros(l_ts)", "l_amnt")


def run(way: str, data: Path, timeout: float) -> dict[str, Any]:
    """One way over one set of files: seconds of each batch, matches, state."""
    from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        spark = session(directory)
        events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(data))
        found = matches_of(way, events).observe("result", F.count(F.lit(1)).alias("rows"))
        writer = found.writeStream.format("noop").outputMode("append")
        query = writer.option("checkpointLocation", str(directory / "checkpoint")).trigger(availableNow=True).start()
        done = query.awaitTermination(int(timeout))
        progress = [p for p in query.recentProgress if p.numInputRows]
        state = directory / "checkpoint" / "state"
        result = {
            "way": way,
            "finished": bool(done),
            "batches": [p.durationMs["triggerExecution"] / 1000 for p in progress],
            "rows": [p.numInputRows for p in progress],
            "matches": sum(p.observedMetrics["result"].rows for p in progress if "result" in p.observedMetrics),
            "state_bytes": sum(file.stat().st_size for file in state.rglob("*") if file.is_file()),
        }
        query.stop()
        spark.stop()
    return result


def write_data(directory: Path, batch: int, batches: int, accounts: int) -> None:
    """One Parquet file a batch, in the order that Spark takes them."""
    table = transactions(batch * batches, accounts)["Trans"]
    for number in range(batches):
        path = directory / f"part-{number:04d}.parquet"
        pq.write_table(table.slice(number * batch, batch), path, row_group_size=max(1, batch // 4))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def in_own_process(way: str, data: Path, timeout: float) -> dict[str, Any]:
    """A JVM and Python workers that no other way has warmed up."""
    command = [sys.executable, "-m", "benchmarks.spark", "--one", way, str(data), "--timeout", str(timeout)]
    environment = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, **os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"way"')]
    if not lines:
        said = [text for text in done.stderr.splitlines() if "Exception: " in text or "Error: " in text]
        return {"way": way, "error": (said or ["no output"])[-1][:300]}
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def summary(result: dict[str, Any], batch: int, accounts: int) -> dict[str, Any]:
    """A row of the table."""
    if "error" not in result and not result["batches"]:
        result = {"way": result["way"], "error": "not one batch was done in time"}
    if "error" in result:
        return result | {"batch": batch, "accounts": accounts}
    batches = result["batches"]
    counted = batches[len(batches) // 2 :]
    seconds = statistics.median(counted)
    return result | {
        "batch": batch,
        "accounts": accounts,
        "seconds": seconds,
        "rows_per_second": batch / seconds,
        "first": counted[0],
        "last": counted[-1],
    }


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--events", type=int, nargs="+", default=[200_000, 2_000_000], help="events in a batch")
    parser.add_argument("--accounts", type=int, nargs="+", default=[1_000, 1_000_000])
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--batches", type=int, help="how many (16, and 32 of 200,000 events)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for one way")
    parser.add_argument("--json", type=Path, default=RESULTS / "spark.json")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run(options.one[0], Path(options.one[1]), options.timeout)))
        return
    rows: list[dict[str, Any]] = []
    stopped: set[tuple[str, int]] = set()
    options.json.parent.mkdir(exist_ok=True)
    print(f"{'batch':>9} {'accounts':>9}  {'way':<13}{'s/batch':>8}{'rows/s':>11}{'first':>8}{'last':>8}"
          f"{'matches':>10}{'state MB':>10}")  # fmt: skip
    for batch in options.events:
        for accounts in options.accounts:
            data = Path(tempfile.mkdtemp(prefix="bench-data-"))
            try:
                write_data(data, batch, options.batches or BATCHES.get(batch, 16), accounts)
                for way in options.ways:
                    started = time.perf_counter()
                    if (way, accounts) in stopped:
                        result = {"way": way, "error": "not run: stopped with smaller batches already"}
                    else:
                        result = in_own_process(way, data, options.timeout)
                    row = summary(result, batch, accounts)
                    row["total_seconds"] = time.perf_counter() - started
                    if not row.get("finished"):
                        stopped.add((way, accounts))
                    rows.append(row)
                    print(line(row), flush=True)
                    options.json.write_text(json.dumps({"machine": facts(), "results": rows}, indent=1) + "\n")
            finally:
                shutil.rmtree(data)


def line(row: dict[str, Any]) -> str:
    """A row for people."""
    head = f"{row['batch']:>9,} {row['accounts']:>9,}  {row['way']:<13}"
    if "error" in row:
        return f"{head} {row['error']}"
    late = "" if row["finished"] else f"  (stopped after {len(row['batches'])} batches)"
    return (
        f"{head}{row['seconds']:>8.1f}{row['rows_per_second']:>11,.0f}{row['first']:>8.1f}{row['last']:>8.1f}"
        f"{row['matches']:>10,}{row['state_bytes'] / 1e6:>10.1f}{late}"
    )


if __name__ == "__main__":
    main()

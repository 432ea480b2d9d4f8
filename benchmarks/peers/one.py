"""One engine of Python's side over one workload, in this process: prints one line of JSON.

    python -m benchmarks.peers.one ENGINE WORKLOAD DIRECTORY CAP SCALE

The events are read from the directory's Arrow files before the clock starts. Short runs are repeated for some seconds,
each with a new engine: the best counts, as it does for the Java engines. Memory is that of the first run. The listener
counts the rows of each batch that is delivered and adds up one of their columns.

`cep-once` is given all events in one push: the answer at the end, as DuckDB gives it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import replace
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.engine import run_duckdb, run_engine
from benchmarks.peers import data
from benchmarks.peers.suite import suite
from benchmarks.workloads import Workload, prefix_lengths
from runtime.memory import peak_rss

STRIDES = 20
REPEAT_FOR = 3


class Tally:
    """A listener: how many matches, and the sum of a column (of timestamps: in milliseconds)."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.matches = 0
        self.checksum = 0

    def __call__(self, found: pa.RecordBatch) -> int:
        """Take a batch of matches; how many it has."""
        values = found.column(self.column)
        stamps = pa.types.is_timestamp(values.type)
        total = pc.sum(values.cast(pa.int64()) if stamps else values).as_py() or 0
        self.checksum += total // 1000 if stamps else total
        self.matches += found.num_rows
        return int(found.num_rows)


def run_incremental(workload: Workload, tally: Tally) -> float:
    """DuckDB anew over everything so far, after each twentieth of the stream; only what is new counts.

    Nothing but the count tells new matches from old ones here: a job that alerts would have to compare rows as well.
    """
    import duckdb

    connection = duckdb.connect(config={"threads": 2})
    streams = workload.data()
    events = sum(table.num_rows for table in streams.values())
    before = (0, 0)
    started = time.perf_counter()
    for stride in range(1, STRIDES + 1):
        lengths = prefix_lengths(streams, events * stride // STRIDES)
        for name, table in streams.items():
            connection.register(name, table.slice(0, lengths[name]))
        now = Tally(tally.column)
        for batch in connection.sql(workload.sql).to_arrow_reader(1 << 16):
            now(batch)
        tally.matches += now.matches - before[0]
        tally.checksum += now.checksum - before[1]
        before = (now.matches, now.checksum)
    return time.perf_counter() - started


def run(engine: str, name: str, directory: Path, cap: float, scale: float) -> dict[str, Any]:
    """The figures of one measurement."""
    entry = next(entry for entry in suite(scale) if entry.name == name)
    streams = data.read(directory)
    workload = replace(entry.workload, data=lambda: streams)
    if engine == "spark-join":
        from benchmarks.peers import spark_join

        return spark_join.run(workload, entry.queries[engine], cap)
    import cep  # noqa: F401 - loading is not measured
    import runtime  # noqa: F401

    assert workload.check is not None
    begun = time.perf_counter()
    best, memory = float("inf"), None
    while memory is None or time.perf_counter() - begun < REPEAT_FOR:
        tally = Tally(workload.check)
        watch = threading.Timer(cap, _stop, (tally, cap))
        watch.daemon = True
        watch.start()
        best = min(best, _deliver(engine, workload, tally))
        watch.cancel()
        memory = memory or peak_rss()
    return _line(tally, finished=True, seconds=best, memory=memory) | {"events": workload.events}


def _deliver(engine: str, workload: Workload, tally: Tally) -> float:
    """Hand all matches to the listener; the seconds that it took."""
    if engine == "duckdb-incremental":
        return run_incremental(workload, tally)
    if engine == "duckdb":
        return float(run_duckdb(workload, 2, tally)["seconds"])
    once = engine == "cep-once"
    return float(run_engine(replace(workload, batch=None) if once else workload, tally)["seconds"])


class WithoutPandas(MetaPathFinder):
    """Arrow loads pandas where it is installed. Neither this engine nor DuckDB needs it."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """Refuse it, say nothing to all else."""
        del path, target
        if name == "pandas":
            raise ModuleNotFoundError("pandas is left out", name=name)


def _stop(tally: Tally, cap: float) -> None:
    """The cap is reached: say how far this came, and end."""
    print(json.dumps(_line(tally, finished=False, seconds=cap, memory=peak_rss())), flush=True)
    os._exit(0)


def _line(tally: Tally, *, finished: bool, seconds: float, memory: int) -> dict[str, Any]:
    return {
        "finished": finished,
        "matches": tally.matches,
        "checksum": tally.checksum,
        "seconds": seconds,
        "peak_rss_bytes": memory,
    }


if __name__ == "__main__":
    engine_name, workload_name, folder, seconds_text, scale_text = sys.argv[1:]
    if engine_name != "spark-join":
        sys.meta_path.insert(0, WithoutPandas())
    print(json.dumps(run(engine_name, workload_name, Path(folder), float(seconds_text), float(scale_text))))

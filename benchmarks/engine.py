"""The engine by itself, input already in Arrow, next to DuckDB evaluating the SQL over the same data in the same run.

    python -m benchmarks.engine [--only NAME ...] [--json FILE]

Every measurement runs in a process of its own (peak memory is the process's). The best of `--repeat` runs in it counts,
each with a new engine or connection: what is measured is a process that has been up for a while. DuckDB computes the
whole answer at once from all the data, on one thread and on all; the engine takes batches in order and delivers each
match when its last event is there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.machine import facts
from benchmarks.workloads import ENGINE, Workload
from runtime.memory import peak_rss

RESULTS = Path(__file__).parent / "results"


Listener = Callable[[pa.RecordBatch], int]
"""What is handed the matches; gives back how many."""


def counted(found: pa.RecordBatch) -> int:
    """A listener that looks at nothing else."""
    return int(found.num_rows)


def run_engine(workload: Workload, listener: Listener = counted) -> dict[str, Any]:
    """Push everything, read every match."""
    import cep
    import runtime

    plan = next(iter(cep.compile(workload.pattern).values()))
    data = workload.data()
    engine = runtime.Engine(plan)
    pushes = workload.pushes(data)
    base = peak_rss()
    matches = 0
    started = time.perf_counter()
    for batch, watermark in pushes:
        for found in engine.push(batch, watermark):
            matches += listener(found)
    seconds = time.perf_counter() - started
    measured = measured_as(workload, matches, seconds, base)
    started = time.perf_counter()
    measured["count"] = engine.count()
    measured["count_seconds"] = time.perf_counter() - started
    return measured


def run_duckdb(workload: Workload, threads: int, listener: Listener = counted) -> dict[str, Any]:
    """Run the SQL and fetch all batches."""
    import duckdb

    connection = duckdb.connect(config={"threads": threads})
    data = workload.data()
    for name, table in data.items():
        connection.register(name, table)
    base = peak_rss()
    matches = 0
    started = time.perf_counter()
    reader = connection.sql(workload.sql).to_arrow_reader(1 << 16)  # a relation is read as it is computed
    for batch in reader:
        matches += listener(batch)
    return measured_as(workload, matches, time.perf_counter() - started, base)


def measured_as(workload: Workload, matches: int, seconds: float, base: int) -> dict[str, Any]:
    """One result row."""
    events = workload.events
    return {
        "workload": workload.name,
        "events": events,
        "matches": matches,
        "seconds": seconds,
        "events_per_second": events / seconds,
        "matches_per_second": matches / seconds,
        "peak_rss_bytes": peak_rss(),
        "rss_over_data_bytes": max(0, peak_rss() - base),
    }


def best_of(way: str, workload: Workload, repeat: int) -> dict[str, Any]:
    """The fastest of some runs: `repeat`, more in the first three seconds, and none is begun after the first minute."""
    started = time.perf_counter()
    runs = [WAYS[way](workload)]
    while (passed := time.perf_counter() - started) < 3 or (len(runs) < repeat and passed < 60):
        runs.append(WAYS[way](workload))
    best = min(runs, key=lambda run: float(run["seconds"]))
    return best | {"runs": len(runs), "peak_rss_bytes": peak_rss()}


WAYS: dict[str, Callable[[Workload], dict[str, Any]]] = {
    "cep": run_engine,
    "duckdb-1": lambda w: run_duckdb(w, 1),
    "duckdb-2": lambda w: run_duckdb(w, 2),
}


def in_own_process(workload: str, way: str, repeat: int, timeout: float) -> dict[str, Any]:
    """Run one measurement in a fresh interpreter."""
    command = [sys.executable, "-m", "benchmarks.engine", "--one", workload, way, "--repeat", str(repeat)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return {"workload": workload, "failed": f"more than {timeout:.0f} s"}
    if done.returncode:
        return {"workload": workload, "failed": (done.stderr.strip().splitlines() or ["killed"])[-1][:200]}
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> None:
    """Run the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", help="names of workloads, e.g. 'W1 sparse' Q4")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--json", type=Path, default=RESULTS / "engine.json")
    parser.add_argument("--one", nargs=2, metavar=("WORKLOAD", "WAY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    workloads = {w.name: w for w in ENGINE}
    if options.one:
        print(json.dumps(best_of(options.one[1], workloads[options.one[0]], options.repeat)))
        return
    names = options.only or list(workloads)
    rows: list[dict[str, Any]] = []
    print(f"{'workload':<12}{'engine':<10}{'matches':>14}{'seconds':>9}{'events/s':>13}{'matches/s':>13}{'peak MB':>9}")
    for name in names:
        for way in WAYS:
            best = in_own_process(name, way, options.repeat, options.timeout)
            rows.append({"engine": way, **best})
            print(f"{name:<12}{way:<10}" + row(best), flush=True)
    options.json.parent.mkdir(exist_ok=True)
    options.json.write_text(json.dumps({"machine": facts(), "results": rows}, indent=1) + "\n")
    counts = {name: {r.get("matches") for r in rows if r["workload"] == name} - {None} for name in names}
    if different := [name for name, found in counts.items() if len(found) > 1]:
        sys.exit(f"the engines disagree on {', '.join(different)}")


def row(result: dict[str, Any]) -> str:
    """The figures of one line."""
    if "failed" in result:
        return f"  {result['failed']}"
    return (
        f"{result['matches']:>14,}{result['seconds']:>9.3f}{result['events_per_second']:>13,.0f}"
        f"{result['matches_per_second']:>13,.0f}{result['peak_rss_bytes'] / 2**20:>9.0f}"
    )


if __name__ == "__main__":
    main()

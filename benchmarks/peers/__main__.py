"""Run the comparison.

    python -m benchmarks.peers [--only WORKLOAD ...] [--engines NAME ...] [--cap SECONDS] [--memory GB] [--json FILE]

Each workload and engine is a process of its own, one after another, over the same files. Events are parsed into memory
first; the clock then runs until a listener has been handed the last match. Engines that finish must agree on the number
of matches and on the sum of one of their columns, or this ends with status 1. An engine that was stopped on a workload
is not run on those that contain it or are harder.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import facts
from benchmarks.peers import data, java
from benchmarks.peers.suite import ENGINES, Entry, suite

RESULTS = Path(__file__).parent.parent / "results"
START_UP = 150
"""Seconds that a process may take to load everything, before and after the clock."""
OUT_OF_MEMORY = "out of memory"


def measure(command: list[str], cap: float, memory: float) -> dict[str, Any]:
    """Run a command that prints a line of JSON; stop it when it takes too long or grows too large."""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment, start_new_session=True)
        deadline = time.monotonic() + cap + START_UP
        try:
            while process.poll() is None:
                if resident(process.pid) > (memory + 1) * 2**30:
                    return {"failed": f"{OUT_OF_MEMORY} ({memory:g} GB)"}
                if time.monotonic() > deadline:
                    return {"finished": False, "seconds": cap}
                time.sleep(0.05)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # what it has started ends with it, also when we are stopped
                process.wait()
        out.seek(0)
        err.seek(0)
        lines = [line for line in out.read().splitlines() if line.startswith("{")]
        said = err.read()
    if lines:
        result: dict[str, Any] = json.loads(lines[-1])
        return result
    if process.returncode == 3 or "OutOfMemoryError" in said:
        return {"failed": f"{OUT_OF_MEMORY} ({memory:g} GB)"}
    errors = [line for line in said.splitlines() if "Exception" in line or "Error" in line]
    return {"failed": (errors or said.splitlines() or [f"status {process.returncode}"])[0][:300]}


def resident(process: int) -> int:
    """The resident size of a process, in bytes; 0 when it has ended."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def run(entry: Entry, engine: str, directory: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One measurement."""
    if engine in java.ENGINES:
        query = directory / f"{engine}.txt"
        query.write_text(entry.queries[engine], encoding="utf-8")
        assert entry.workload.check is not None
        command = java.command(engine, directory / data.CSV, query, entry.workload.check, options.cap, options.memory)
    else:
        module = [sys.executable, "-m", "benchmarks.peers.one"]
        command = [*module, engine, entry.name, str(directory), str(options.cap), str(options.scale)]
    return measure(command, options.cap, options.memory)


def is_over(row: dict[str, Any]) -> bool:
    """Whether an engine was stopped, so that more of the same is not worth a run."""
    return row.get("finished") is False or str(row.get("failed", "")).startswith(OUT_OF_MEMORY)


def compare(entries: list[Entry], engines: list[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    """All rows, printed as they come."""
    rows: list[dict[str, Any]] = []
    over: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in entries:
        with tempfile.TemporaryDirectory(prefix="peers-") as name:
            directory = Path(name)
            data.write(entry.workload, directory)
            for engine in engines:
                if mark := entry.mark(engine):
                    row: dict[str, Any] = {"mark": mark}
                elif easier := over.get((entry.after or "", engine)):
                    row = {"mark": f"not run: stopped on {easier['workload']}", "over": easier["over"]}
                else:
                    row = run(entry, engine, directory, options)
                    if is_over(row):
                        row["over"] = row.get("failed") or f"> {options.cap:g} s"
                row |= {"workload": entry.name, "engine": engine, "group": entry.group, "size": entry.size}
                if "over" in row:
                    over[entry.name, engine] = row if "mark" not in row else over[entry.after or "", engine]
                rows.append(row)
                print(line(row), flush=True)
        events = entry.workload.events
        for row in rows:
            if row["workload"] == entry.name:
                row["stream"] = events
        store(rows, options)
    return rows


def line(row: dict[str, Any]) -> str:
    """A row for people."""
    head = f"{row['workload']:<26}{row['engine']:<20}"
    if "mark" in row:
        return f"{head}{row['mark']}"
    if "failed" in row:
        return f"{head}failed: {row['failed']}"
    matches = f"{row['matches']:>14,}" if "matches" in row else f"{'':>14}"
    memory = f"{row['peak_rss_bytes'] / 2**20:>9,.0f} MB" if "peak_rss_bytes" in row else ""
    reached = "" if row["finished"] else f"  stopped after {row['events']:,} events" if "events" in row else "  stopped"
    return f"{head}{matches}{row['seconds']:>10.3f} s{memory}{reached}"


def disagreements(rows: list[dict[str, Any]]) -> list[str]:
    """Workloads on which engines that finished have delivered different matches, and what each says."""
    found = []
    for name in dict.fromkeys(row["workload"] for row in rows):
        said = {r["engine"]: (r["matches"], r["checksum"]) for r in rows if r["workload"] == name and r.get("finished")}
        if len(set(said.values())) > 1:
            found.append(f"{name}: {said}")
    return found


def store(rows: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Write the results so far; with --update, beside those of the file that were not run now."""
    kept: list[dict[str, Any]] = []
    if options.update and options.json.exists():
        now = {(row["workload"], row["engine"]) for row in rows}
        before = json.loads(options.json.read_text(encoding="utf-8"))["results"]
        kept = [row for row in before if (row["workload"], row["engine"]) not in now]
    order = [entry.name for entry in suite(options.scale)]
    every = sorted(kept + rows, key=lambda row: (order.index(row["workload"]), ENGINES.index(row["engine"])))
    content = {
        "machine": facts(),
        "versions": java.versions(),
        "cap": options.cap,
        "memory": options.memory,
        "results": every,
    }
    options.json.parent.mkdir(exist_ok=True)
    options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="WORKLOAD", help="names of workloads, e.g. 'W1 dense' Q4")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, metavar="NAME", help=", ".join(ENGINES))
    parser.add_argument("--cap", type=float, default=30, help="seconds for one measurement")
    parser.add_argument("--memory", type=float, default=6, help="gigabytes for one process")
    parser.add_argument("--scale", type=float, default=1, help="a factor for the number of events, to try things out")
    parser.add_argument("--json", type=Path, help="where to write (a whole run at full size: results/peers.json)")
    parser.add_argument("--update", action="store_true", help="keep what the file has and was not run now")
    options = parser.parse_args()
    whole = not options.only and not options.engines and options.scale == 1
    if options.json is None:
        if not whole and not options.update:
            options.json = Path(tempfile.gettempdir()) / "peers.json"
            print(f"part of the table: written to {options.json}, not to the results; --update puts it there")
        else:
            options.json = RESULTS / "peers.json"
    entries = list(suite(options.scale))
    if options.only:
        names = [entry.name for entry in entries]
        if unknown := [name for name in options.only if name not in names]:
            sys.exit(f"no workload is called {', '.join(unknown)}: expected some of {', '.join(names)}")
        entries = [entry for entry in entries if entry.name in options.only]
    engines = options.engines or list(ENGINES)
    if any(engine in java.ENGINES for engine in engines):
        if reason := java.missing():
            sys.exit(f"{reason}. Without them: --engines cep duckdb duckdb-incremental")
        java.build()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    rows = compare(entries, engines, options)
    if different := disagreements(rows):
        sys.exit("the engines disagree on\n" + "\n".join(different))


if __name__ == "__main__":
    main()

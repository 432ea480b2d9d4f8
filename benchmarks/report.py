"""The tables of docs/benchmarks.md, written from benchmarks/results/*.json.

    python -m benchmarks.report [--check] [--results DIR] [--page FILE]

Between `<!-- results: NAME -->` and `<!-- end of results -->` stands what `results/NAME.json` says: a table, and the
machine it was measured on. Nothing else of the page is touched, and no figure comes from anywhere else. Where there is
no such file the page says so. `--check` writes nothing and ends with status 1 if the page is not up to date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
MISSING = "*Not measured yet on this machine.*"
AREA = re.compile(
    r"(?P<begin><!-- results: (?P<name>[\w-]+) -->\n).*?(?P<end><!-- end of results -->)", re.DOTALL | re.MULTILINE
)

Row = list[str]


def table(heads: str, rows: Iterable[Row]) -> str:
    """A Markdown table; `heads` are parted by `|`, those that begin with `>` are figures and stand on the right."""
    names = [head.strip() for head in heads.split("|")]
    rule = ["---:" if name.startswith(">") else "---" for name in names]
    lines = [[name.lstrip(">") for name in names], rule, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def engine(results: dict[str, Any]) -> str:
    """`benchmarks.engine`: one line for each workload and engine."""
    rows: list[Row] = []
    for row in results["results"]:
        if "failed" in row:
            rows.append([row["workload"], row["engine"], row["failed"], "", "", "", "", ""])
            continue
        rows.append(
            [
                row["workload"],
                row["engine"],
                f"{row['events']:,}",
                f"{row['matches']:,}",
                f"{row['seconds']:.3f}",
                f"{row['events_per_second']:,.0f}",
                f"{row['matches_per_second']:,.0f}",
                f"{row['peak_rss_bytes'] / 2**20:,.0f}",
            ]
        )
    return table("workload | engine | >events | >matches | >seconds | >events/s | >matches/s | >peak MiB", rows)


def spark(results: dict[str, Any]) -> str:
    """`benchmarks.spark`: one line for each size and way."""
    rows: list[Row] = []
    for row in results["results"]:
        head = [f"{row['batch']:,}", f"{row['accounts']:,}", row["way"]]
        if "error" in row:
            rows.append([*head, row["error"], "", "", "", "", ""])
            continue
        stopped = "" if row["finished"] else f" (stopped after {len(row['batches'])} batches)"
        rows.append(
            [
                *head,
                f"{row['seconds']:.1f}{stopped}",
                f"{row['rows_per_second']:,.0f}",
                f"{row['first']:.1f}",
                f"{row['last']:.1f}",
                f"{row['matches']:,}",
                f"{row['state_bytes'] / 1e6:,.1f}",
            ]
        )
    return table(">events/batch | >accounts | way | >s/batch | >events/s | >first | >last | >matches | >state MB", rows)


def kafka(results: dict[str, Any]) -> str:
    """`benchmarks.kafka`: one line for each source and rate, then what could not be measured."""
    rows: list[Row] = []
    for row in results["results"]:
        latency = row["latency_seconds"]
        rows.append(
            [
                row["source"],
                f"{row['rate']:,}",
                f"{row['sent_per_second']:,.0f}",
                f"{row['events_per_second']:,.0f}",
                f"{row['alerts']:,}",
                f"{row['missing']:,}",
                f"{row['twice']:,}",
                *(f"{latency[point]:.2f}" if row["alerts"] else "" for point in ("p50", "p90", "p99", "max")),
            ]
        )
    text = table(
        "source | >rate | >sent/s | >events/s | >alerts | >missing | >twice | >p50 s | >p90 s | >p99 s | >max s", rows
    )
    skipped = results.get("skipped") or {}
    reasons = [f"{name}: {why}" for name, why in skipped.items()] if isinstance(skipped, dict) else map(str, skipped)
    return "\n\n".join([text, *(f"Not measured: {reason}." for reason in reasons)])


def peers(results: dict[str, Any]) -> str:
    """`benchmarks.peers`: one line for each workload, one column for each engine that ran; notes and plots below."""
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for row in results["results"]:
        rows.setdefault(row["workload"], {})[row["engine"]] = row
    engines = list(dict.fromkeys(r["engine"] for r in results["results"] if "mark" not in r or "over" in r))
    notes: dict[str, int] = {}
    lines: list[Row] = []
    for name, cells in rows.items():
        done = [row for row in cells.values() if row.get("finished")]
        stream = next(iter(cells.values()))["stream"]
        matches = f"{done[0]['matches']:,}" if done else ""
        lines.append([name, f"{stream:,}", matches, *(peer_cell(cells.get(e), done, notes) for e in engines)])
    left_out = {r["engine"]: r["mark"] for r in results["results"] if r["engine"] not in engines}
    versions = ", ".join(f"{name.capitalize()} {number}" for name, number in results["versions"].items())
    explained = [
        table(" | ".join(["workload", ">events", ">matches", *(f">{e}" for e in engines)]), lines),
        LEGEND.format(**results),
        *(f"[{number}] {note}." for note, number in notes.items()),
        *(f"{engine}: {mark}." for engine, mark in left_out.items()),
        f"{versions}.",
        *(f"![{text}](assets/benchmarks/{file}.svg)" for file, text in PLOTS.items()),
    ]
    return "\n\n".join(explained)


LEGEND = """\
Seconds to deliver all matches and, in brackets, MiB of memory; the best of each in bold. `>` is over the cap of {cap:g}
s ({memory:g} GB a process), with the share of the matches that had come by then; `*` was not run: it was over the cap
on an easier workload. Numbers in square brackets are reasons, given below."""
PLOTS = {
    "time": "Seconds to deliver all matches, by workload and engine",
    "memory": "Peak memory, by workload and engine",
    "window": "Events a second as the window grows from a minute to a day",
    "matches": "Seconds to deliver as the number of matches grows",
}


def peer_cell(row: dict[str, Any] | None, done: list[dict[str, Any]], notes: dict[str, int]) -> str:
    """What the table says of one engine on one workload; reasons are numbered in `notes`."""
    if row is None:
        return ""
    if "over" in row:
        if "mark" in row:
            return f"{row['over']}*"
        share = row.get("matches", 0) / max(1, done[0]["matches"]) if done else 0
        return f"{row['over']} ({share:.0%})" if share >= 0.005 else row["over"]
    if reason := row.get("mark") or (f"failed: {row['failed']}" if "failed" in row else None):
        return f"[{notes.setdefault(reason, len(notes) + 1)}]"
    seconds, memory = f"{row['seconds']:.3g}", f"{row['peak_rss_bytes'] / 2**20:,.0f}"
    fastest = row["seconds"] == min(r["seconds"] for r in done)
    smallest = row["peak_rss_bytes"] == min(r["peak_rss_bytes"] for r in done)
    return f"{f'**{seconds}**' if fastest else seconds} ({f'**{memory}**' if smallest else memory})"


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "engine": engine,
    "peers": peers,
    "spark": spark,
    "kafka": kafka,
}


def machine(facts: dict[str, Any]) -> str:
    """What it was measured on, in a sentence."""
    packages = ", ".join(f"{name} {number}" for name, number in facts["packages"].items() if number)
    return (
        f"Measured on {facts['processor']}, {facts['cores']} cores, {facts['memory_bytes'] / 2**30:.0f} GiB of memory, "
        f"load average {facts['load_average']:.1f} at the end; Python {facts['python']}, {packages}."
    )


def area(name: str, directory: Path) -> str:
    """What belongs between the marks of a name."""
    if name not in TABLES:
        raise SystemExit(f"the page has a mark for results called {name}: expected one of {', '.join(TABLES)}")
    path = directory / f"{name}.json"
    if not path.exists():
        return f"\n{MISSING}\n\n"
    results = json.loads(path.read_text(encoding="utf-8"))
    return f"\n{TABLES[name](results)}\n\n{machine(results['machine'])}\n\n"


def written(page: str, directory: Path) -> str:
    """The page with its tables anew."""
    return AREA.sub(lambda found: found["begin"] + area(found["name"], directory) + found["end"], page)


def main(argv: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if the page is not up to date")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(argv)
    page = options.page.read_text(encoding="utf-8")
    now = written(page, options.results)
    if options.check:
        if now != page:
            print(f"{options.page.name} does not show the results: run python -m benchmarks.report")
        return int(now != page)
    options.page.write_text(now, encoding="utf-8")
    if (path := options.results / "peers.json").exists():
        from benchmarks.peers.plots import draw  # only who writes needs to be able to draw

        draw(json.loads(path.read_text(encoding="utf-8")), options.page.parent / "assets" / "benchmarks")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The plots of docs/benchmarks.md, from the results of `benchmarks.peers`.

SVG without dates or random names: the same results give the same files.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.suite import ENGINES

FILES = ("time", "memory", "window", "matches")
_COLOURS = (
    "#d62728",
    "#e377c2",
    "#7f7f7f",
    "#bcbd22",
    "#1f77b4",
    "#17becf",
    "#ff7f0e",
    "#000000",
    "#2ca02c",
    "#9467bd",
)
_MARKERS = ("o", "p", "s", "D", "^", "v", "P", "*", "X", "<")
_STYLE = {engine: (_COLOURS[i], _MARKERS[i]) for i, engine in enumerate(ENGINES)}

Row = dict[str, Any]


def draw(results: dict[str, Any], directory: Path) -> None:
    """Write all plots."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "peers", "svg.fonttype": "none", "font.size": 8, "axes.grid": True})
    mpl.rcParams.update({"grid.alpha": 0.3, "grid.linewidth": 0.5, "legend.frameon": False})
    directory.mkdir(parents=True, exist_ok=True)
    rows = results["results"]
    cap = results["cap"]
    label = f"seconds to deliver all matches (hollow: stopped at {cap:g} s)"
    _dots(rows, lambda row: row["seconds"], label, directory / "time.svg")
    label = "peak resident memory of the process, MiB (hollow: when stopped)"
    _dots(rows, lambda row: row.get("peak_rss_bytes", 0) / 2**20, label, directory / "memory.svg")
    _curves(
        [row for row in rows if row["group"] == "window"],
        (lambda row: row["size"], lambda row: row.get("events", row["stream"]) / row["seconds"]),
        ("window, seconds", "events a second"),
        directory / "window.svg",
    )
    _curves(
        [row for row in rows if row["group"] == "matches"],
        (lambda row: row["matches"], lambda row: row["seconds"]),
        ("matches of 200,000 events", "seconds to deliver them"),
        directory / "matches.svg",
    )


def _dots(rows: list[Row], value: Callable[[Row], float], label: str, path: Path) -> None:
    """A line of dots for each workload, one dot for each engine; thesis queries on the right."""
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(row["workload"] for row in rows))
    sides = [[n for n in names if not n.startswith("Q")], [n for n in names if n.startswith("Q")]]
    sides = [side for side in sides if side]
    height = 1.2 + 0.2 * max(len(side) for side in sides)
    figure, axes = plt.subplots(1, len(sides), figsize=(10, height), sharex=True, squeeze=False)
    for axis, side in zip(axes[0], sides, strict=True):
        for engine in ENGINES:
            colour, marker = _STYLE[engine]
            for full in (True, False):
                mine = [row for row in rows if row["engine"] == engine and row.get("finished") is full]
                chosen = [row for row in mine if row["workload"] in side and value(row) > 0]
                axis.scatter(
                    [value(row) for row in chosen],
                    [side.index(row["workload"]) for row in chosen],
                    s=18,
                    marker=marker,
                    edgecolors=colour,
                    facecolors=colour if full else "none",
                    linewidths=0.8,
                )
        axis.set_yticks(range(len(side)), side)
        axis.set_ylim(len(side) - 0.5, -0.5)
        axis.set_xscale("log")
        axis.set_xlabel(label)
    _legend(figure, rows, 8, 0.95)
    _save(figure, path)


def _curves(
    rows: list[Row], axes: tuple[Callable[[Row], float], Callable[[Row], float]], labels: tuple[str, str], path: Path
) -> None:
    """One curve for each engine, over the runs that it finished; hollow where it was stopped, as far as it had come."""
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(6, 3.6))
    for engine in ENGINES:
        colour, marker = _STYLE[engine]
        mine = [row for row in rows if row["engine"] == engine and "matches" in row]
        points = sorted((axes[0](row), axes[1](row)) for row in mine if row["finished"])
        reached = [(axes[0](row), axes[1](row)) for row in mine if not row["finished"]]
        if points:
            axis.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=4, linewidth=1)
        if reached:
            across, up = zip(*reached, strict=True)
            axis.scatter(across, up, s=16, marker=marker, edgecolors=colour, facecolors="none")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(labels[0])
    axis.set_ylabel(labels[1])
    _legend(figure, rows, 4, 0.88)
    _save(figure, path)


def _legend(figure: Any, rows: list[Row], columns: int, top: float) -> None:
    from matplotlib.lines import Line2D

    present = [engine for engine in ENGINES if any(r["engine"] == engine and "seconds" in r for r in rows)]
    handles = [
        Line2D([], [], color=_STYLE[engine][0], marker=_STYLE[engine][1], linestyle="", markersize=5, label=engine)
        for engine in present
    ]
    figure.legend(handles=handles, loc="upper center", ncols=min(columns, len(handles)))
    figure.tight_layout(rect=(0, 0, 1, top))


def _save(figure: Any, path: Path) -> None:
    from matplotlib import pyplot as plt

    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")

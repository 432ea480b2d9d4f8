"""The comparison with other engines: what is compared means the same, and what is written about it can be trusted."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.engine import run_duckdb, run_engine
from benchmarks.peers import data, java, one
from benchmarks.peers.__main__ import disagreements, is_over
from benchmarks.peers.suite import ENGINES, OURS_AND_DUCKDB, suite

SMALL = suite(0.01)
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("entry", SMALL, ids=lambda entry: entry.name)
def test_our_matches_are_those_of_the_sql(entry):
    ours, theirs = one.Tally(entry.workload.check), one.Tally(entry.workload.check)
    assert run_engine(entry.workload, ours)["matches"] == run_duckdb(entry.workload, 2, theirs)["matches"]
    assert ours.checksum == theirs.checksum


@pytest.mark.parametrize("name", ["W1 dense", "Q4", "AND of 4 streams"])
def test_recomputing_after_each_part_finds_each_match_once(name):
    workload = next(entry.workload for entry in SMALL if entry.name == name)
    whole, parts = one.Tally(workload.check), one.Tally(workload.check)
    run_duckdb(workload, 2, whole)
    one.run_incremental(workload, parts)
    assert (parts.matches, parts.checksum) == (whole.matches, whole.checksum)
    assert whole.matches > 0


def test_every_engine_has_a_query_or_a_reason_everywhere():
    for entry in SMALL:
        for engine in ENGINES:
            mark = entry.mark(engine)
            assert (mark is None) == (engine in OURS_AND_DUCKDB or engine in entry.queries)
            assert mark is None or mark.startswith(("cannot express: ", "not separate: ", "not written: "))


def test_workloads_have_names_of_their_own_and_follow_what_is_easier():
    names = [entry.name for entry in suite()]
    assert len(set(names)) == len(names)
    for place, entry in enumerate(suite()):
        assert entry.after is None or entry.after in names[:place]


def test_files_hold_the_events_in_order_of_arrival(tmp_path):
    workload = next(entry.workload for entry in SMALL if entry.name == "Q4")
    data.write(workload, tmp_path)
    streams = workload.data()
    heads, events = (tmp_path / data.CSV).read_text().split("\n\n")
    assert heads.splitlines()[0] == "R,a:long,b:long,c:string,k:long"
    lines = events.splitlines()
    assert len(lines) == workload.events
    places = {
        number: iter(table.drop_columns(["_arrival"]).to_pylist()) for number, table in enumerate(streams.values())
    }
    for arrival, line in enumerate(lines):
        number, *values = line.split(",")
        assert values == [str(value) for value in next(places[int(number)]).values()]
        assert int(values[0]) == arrival, "in time order the first attribute grows with arrival"
    assert data.read(tmp_path) == streams


def test_times_in_the_files_are_milliseconds(tmp_path):
    data.write(next(entry.workload for entry in SMALL if entry.name == "W1 sparse"), tmp_path)
    lines = (tmp_path / data.CSV).read_text().splitlines()
    assert lines[0] == "Trans,ts:long,acc:string,amnt:double"
    assert [line.split(",")[1] for line in lines[2:5]] == ["0", "1000", "2000"]


def test_late_events_are_not_dropped():
    entry = next(entry for entry in suite(0.05) if entry.name == "W1 10 % disorder")
    whole, pieces = one.Tally("first_ts"), one.Tally("first_ts")
    run_engine(replace(entry.workload, batch=None), whole)
    run_engine(replace(entry.workload, batch=7), pieces)
    assert (whole.matches, whole.checksum) == (pieces.matches, pieces.checksum)
    assert whole.matches > 0


def row(engine, matches=5, **more):
    figures = {"finished": True, "matches": matches, "checksum": 1, "seconds": 0.5, "peak_rss_bytes": 2**27}
    return {"workload": "Q1", "engine": engine, "group": None, "size": None, "stream": 12_000, **figures, **more}


def test_different_matches_are_an_error_unless_an_engine_was_stopped():
    assert disagreements([row("cep"), row("esper"), row("flink-cep", matches=2, finished=False)]) == []
    assert len(disagreements([row("cep"), row("esper", matches=6)])) == 1
    assert len(disagreements([row("cep"), row("esper", checksum=2)])) == 1


def test_who_was_stopped_is_not_run_on_more_of_the_same():
    assert is_over({"finished": False})
    assert is_over({"failed": "out of memory (6 GB)"})
    assert not is_over({"finished": True})
    assert not is_over({"failed": "Exception: no such pattern"})


RESULTS = {
    "cap": 30.0,
    "memory": 6.0,
    "versions": {"esper": "9.0.0"},
    "results": [
        row("cep"),
        row("duckdb", seconds=0.25, peak_rss_bytes=2**28),
        row("esper", matches=2, finished=False, over="> 30 s"),
        {"workload": "Q1", "engine": "flink-cep", "stream": 12_000, "mark": "not run: stopped on Q2", "over": "> 30 s"},
        {"workload": "Q1", "engine": "flink-sql", "stream": 12_000, "mark": "cannot express: all"},
        {"workload": "Q1", "engine": "siddhi", "stream": 12_000, "failed": "out of luck"},
    ],
}


def test_the_table_has_figures_caps_and_reasons():
    shown = report.peers(RESULTS)
    assert "| workload | events | matches | cep | duckdb | esper | flink-cep | siddhi |" in shown
    assert "| Q1 | 12,000 | 5 | 0.5 (**128**) | **0.25** (256) | > 30 s (40%) | > 30 s* | [1] |" in shown
    assert "[1] failed: out of luck." in shown
    assert "flink-sql: cannot express: all." in shown
    assert "Esper 9.0.0." in shown


def test_the_same_results_draw_the_same_plots(tmp_path):
    from benchmarks.peers.plots import FILES, draw

    rows = [row("cep", group=group, size=60) for group in ("window", "matches")]
    for directory in ("a", "b"):
        draw(RESULTS | {"results": rows}, tmp_path / directory)
    for name in FILES:
        first = (tmp_path / "a" / f"{name}.svg").read_text()
        assert first == (tmp_path / "b" / f"{name}.svg").read_text()
        assert "cep" in first
    assert set(FILES) == set(report.PLOTS)


def test_an_unknown_workload_is_an_error_that_names_the_others():
    command = [sys.executable, "-m", "benchmarks.peers", "--only", "Q13"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no workload is called Q13" in done.stderr
    assert "W1 dense" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(java.missing() is not None, reason=str(java.missing()))
def test_every_engine_finds_the_same_matches(tmp_path):
    file = tmp_path / "peers.json"
    names = ["W1 dense", "W1 10 % disorder", "Rising amounts", "SEQ of 5", "AND of 4 streams"]
    names += ["Q2", "Q6", "Q5 random order"]
    engines = [engine for engine in ENGINES if engine != "spark-join"]
    options = ["--scale", "0.01", "--cap", "120", "--json", str(file), "--engines", *engines, "--only", *names]
    command = [sys.executable, "-m", "benchmarks.peers", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(file.read_text())["results"]
    assert {r["engine"] for r in rows if r.get("finished")} == {*engines} - {"flink-sql"}
    assert [r for r in rows if "mark" not in r and not r.get("finished")] == []

"""The figures of docs/benchmarks.md are those of benchmarks/results, and the script that writes them can be trusted."""

from __future__ import annotations

import json

import pytest

from benchmarks import report

FACTS = {
    "processor": "Some Processor",
    "cores": 2,
    "memory_bytes": 8 * 2**30,
    "load_average": 0.24,
    "python": "3.11.9",
    "packages": {"numpy": "2.4.0", "duckdb": None},
}
ENGINE = {
    "workload": "W1 sparse",
    "engine": "cep",
    "events": 1_000_000,
    "matches": 1208,
    "seconds": 0.5,
    "events_per_second": 2e6,
    "matches_per_second": 2416.0,
    "peak_rss_bytes": 100 * 2**20,
}
SPARK = {
    "batch": 200_000,
    "accounts": 1000,
    "way": "engine",
    "seconds": 2.04,
    "finished": False,
    "batches": [9.0, 2.0],
    "rows_per_second": 98_039.2,
    "first": 2.1,
    "last": 2.0,
    "matches": 12,
    "state_bytes": 1_500_000,
}
KAFKA = {
    "source": "python",
    "rate": 1000,
    "sent_per_second": 999.6,
    "events_per_second": 950.2,
    "alerts": 40,
    "missing": 0,
    "twice": 0,
    "latency_seconds": {"p50": 1.0, "p90": 2.0, "p99": 2.5, "max": 3.0},
}


def store(directory, name, rows, **more):
    content = {"machine": FACTS, "results": rows, **more}
    (directory / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")


def test_the_page_shows_the_results_that_are_stored():
    assert report.main(["--check"]) == 0, "run python -m benchmarks.report"


def test_the_page_has_a_place_for_each_benchmark():
    names = [found["name"] for found in report.AREA.finditer(report.PAGE.read_text(encoding="utf-8"))]
    assert sorted(names) == sorted(report.TABLES)


def test_tables_are_written_between_the_marks_and_nowhere_else(tmp_path):
    page = tmp_path / "page.md"
    marks = "<!-- results: engine -->\n{}<!-- end of results -->"
    page.write_text("before\n" + marks.format("old\n") + "\nafter 1,208\n", encoding="utf-8")
    arguments = ["--results", str(tmp_path), "--page", str(page)]
    assert report.main(arguments) == 0
    assert page.read_text(encoding="utf-8") == "before\n" + marks.format(f"\n{report.MISSING}\n\n") + "\nafter 1,208\n"
    store(tmp_path, "engine", [ENGINE, {"workload": "Q4", "engine": "duckdb-1", "failed": "more than 300 s"}])
    assert report.main([*arguments, "--check"]) == 1
    assert report.main(arguments) == 0
    text = page.read_text(encoding="utf-8")
    assert "| W1 sparse | cep | 1,000,000 | 1,208 | 0.500 | 2,000,000 | 2,416 | 100 |" in text
    assert "| Q4 | duckdb-1 | more than 300 s |" in text
    assert (
        "Measured on Some Processor, 2 cores, 8 GiB of memory, load average 0.2 at the end; Python 3.11.9, numpy"
        in text
    )
    assert report.MISSING not in text
    assert text.startswith("before\n<!-- results: engine -->")
    assert text.endswith("<!-- end of results -->\nafter 1,208\n")
    assert report.main([*arguments, "--check"]) == 0, "writing twice changes nothing"


def test_what_was_stopped_failed_or_skipped_is_said():
    shown = report.spark({"results": [SPARK, {"batch": 5, "accounts": 6, "way": "join", "error": "a | b"}]})
    assert "| 200,000 | 1,000 | engine | 2.0 (stopped after 2 batches) | 98,039 | 2.1 | 2.0 | 12 | 1.5 |" in shown
    assert "| 5 | 6 | join | a \\| b |" in shown
    shown = report.kafka({"results": [KAFKA], "skipped": {"jvm": "no connector"}})
    assert "| python | 1,000 | 1,000 | 950 | 40 | 0 | 0 | 1.00 | 2.00 | 2.50 | 3.00 |" in shown
    assert "Not measured: jvm: no connector." in shown


def test_every_line_of_a_table_has_as_many_cells():
    failed = {"workload": "Q4", "engine": "cep", "failed": "killed"}
    error = {"batch": 5, "accounts": 6, "way": "join", "error": "no"}
    for shown in (
        report.engine({"results": [ENGINE, failed]}),
        report.spark({"results": [SPARK, error]}),
        report.kafka({"results": [KAFKA, KAFKA | {"alerts": 0}]}),
    ):
        assert len({line.count("|") for line in shown.splitlines()}) == 1


def test_an_unknown_mark_is_an_error(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- results: egnine -->\n<!-- end of results -->\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="egnine"):
        report.main(["--results", str(tmp_path), "--page", str(page)])

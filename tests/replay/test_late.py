"""`cep replay --late`: what was dropped as late, with the watermark that it met."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.replay.conftest import Cep, event, lines, write_events

ARRIVALS = [event(0, "x", 1), event(60, "x", 2), event(50, "x", 5), event(49.5, "y", 6), event(120, "x", 7)]


@pytest.mark.parametrize("batch", [1, 2, 1000])
def test_late_events_come_out_with_stream_reason_watermark_and_source(cep: Cep, folder: Path, batch: int) -> None:
    write_events(folder / "e.jsonl", [*ARRIVALS, event(1, "z", None)])
    done = cep(
        "replay", "p.cep", "--in", "Trans=e.jsonl", "--arrival-order", "--late", "late.jsonl", "--batch-size", batch
    )
    assert done.returncode == 0, done.stderr
    assert "2 late events dropped" in done.stderr
    common = {"stream": "Trans", "reason": "late", "patterns": ["Rise", "Twice"], "source": "e.jsonl"}
    assert lines((folder / "late.jsonl").read_text()) == [
        {**common, "watermark": "2024-01-01T00:00:50Z", "event": {**ARRIVALS[3], "amnt": 6.0}},
        {**common, "watermark": "2024-01-01T00:01:50Z", "event": event(1, "z", None)},
    ]


def test_all_attributes_are_there_and_only_patterns_that_dropped_it_are_named(cep: Cep, folder: Path) -> None:
    (folder / "two.cep").write_text(
        """
        STREAM A (ts TIMESTAMP, k STRING, unused STRING) TIMESTAMP BY ts;
        STREAM B (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;
        PATTERN Alone SEQ(A a, A b) PARTITION BY k WITHIN 1 HOUR RETURN a.k AS k;
        PATTERN Both SEQ(A a, B b) PARTITION BY k WITHIN 1 HOUR RETURN a.k AS k;
        """
    )
    early, later = event(0, "x", 0)["ts"], event(9, "x", 0)["ts"]
    rows = [{"ts": later, "k": "u", "unused": "first"}, {"ts": early, "k": "u", "unused": "second"}]
    write_events(folder / "a.jsonl", rows)
    write_events(folder / "b1.jsonl", [])
    write_events(folder / "b2.jsonl", [])
    args = ("replay", "two.cep", "--in", "A=a.jsonl", "--in", "B=b1.jsonl", "--in", "B=b2.jsonl", "--arrival-order")
    cep(*args, "--late", "late.jsonl")
    assert lines((folder / "late.jsonl").read_text()) == [
        {
            "stream": "A",
            "reason": "late",
            "watermark": later,
            "patterns": ["Alone"],
            "source": "a.jsonl",
            "event": {"ts": early, "k": "u", "unused": "second"},
        }
    ]


def test_in_time_order_nothing_is_late_and_the_file_is_empty(cep: Cep, folder: Path) -> None:
    write_events(folder / "e.jsonl", ARRIVALS)
    assert cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--late", "late.jsonl").returncode == 0
    assert (folder / "late.jsonl").read_text() == ""


def test_an_input_is_not_overwritten(cep: Cep, folder: Path) -> None:
    write_events(folder / "e.jsonl", ARRIVALS)
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--late", "e.jsonl")
    assert done.returncode != 0
    assert "--late e.jsonl: is an input; it would be overwritten" in done.stderr

"""`cep replay` and events that are dated ahead of the machine's clock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.replay.conftest import PATTERN, Cep, event, expected_rises, lines, rises, write_events

AHEAD = {"ts": "9000-01-01T00:00:00Z", "acc": "x", "amnt": 3.0}
GOOD = [event(0, "x", 1), event(20, "x", 2), event(30, "x", 5)]


def arrivals(folder: Path) -> None:
    write_events(folder / "e.jsonl", [GOOD[0], AHEAD, *GOOD[1:]])


def test_one_event_ahead_blinds_a_replay_in_arrival_order_without_a_limit(cep: Cep, folder: Path) -> None:
    arrivals(folder)
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--arrival-order", "--pattern", "Rise")
    assert (done.returncode, lines(done.stdout)) == (0, [])
    assert "2 late events dropped" in done.stderr


@pytest.mark.parametrize("way", ["option", "clause"])
def test_with_a_limit_it_is_a_bad_record_and_moves_no_watermark(cep: Cep, folder: Path, way: str) -> None:
    arrivals(folder)
    extra = ["--max-ahead", "1 DAY"]
    if way == "clause":
        (folder / "p.cep").write_text(PATTERN.replace("WATERMARK 10 SECONDS", "WATERMARK 10 SECONDS MAX AHEAD 1 DAY"))
        extra = []
    args = ("replay", "p.cep", "--in", "Trans=e.jsonl", "--arrival-order", "--pattern", "Rise", *extra)
    done = cep(*args, "--on-error", "dead-letter=bad.jsonl")
    assert rises(lines(done.stdout)) == expected_rises(GOOD)
    assert "late" not in done.stderr
    assert "1 bad record left out (in bad.jsonl)" in done.stderr
    (letter,) = lines((folder / "bad.jsonl").read_text())
    assert (letter["line"], json.loads(letter["raw"])) == (2, AHEAD)
    assert "at most 1 DAY after the clock of this machine" in letter["error"]
    failed = cep(*args)
    assert failed.returncode == 2
    assert failed.stderr.startswith('Error: e.jsonl:2: "ts": expected a time at most 1 DAY after the clock')
    assert "--max-ahead" in failed.stderr


def test_off_overrules_the_clause(cep: Cep, folder: Path) -> None:
    arrivals(folder)
    (folder / "p.cep").write_text(PATTERN.replace("WATERMARK 10 SECONDS", "WATERMARK 10 SECONDS MAX AHEAD 1 DAY"))
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--max-ahead", "off", "--pattern", "Rise")
    assert (done.returncode, rises(lines(done.stdout))) == (0, expected_rises(GOOD))


def test_what_is_no_duration(cep: Cep, folder: Path) -> None:
    arrivals(folder)
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--max-ahead", "soon")
    assert done.returncode == 2
    assert "expected a duration such as '1 DAY' or '90 MINUTES', or off, found 'soon'" in done.stderr


def test_a_case_of_cep_test_may_say_it_too(cep: Cep, folder: Path) -> None:
    case = folder / "case"
    case.mkdir()
    (case / "pattern.cep").write_text(PATTERN.replace("BY ts", "BY ts MAX AHEAD 1 DAY", 1).replace(
        "MAX AHEAD 1 DAY WATERMARK 10 SECONDS", "WATERMARK 10 SECONDS MAX AHEAD 1 DAY"
    ))  # fmt: skip
    write_events(case / "events.jsonl", [AHEAD])
    done = cep("test", case)
    assert done.returncode != 0
    assert "after the clock of this machine" in done.stdout + done.stderr


def test_declared_formats_are_read(cep: Cep, folder: Path) -> None:
    (folder / "p.cep").write_text(PATTERN.replace("ts TIMESTAMP,", "ts TIMESTAMP EPOCH SECONDS,"))
    seconds = [{**item, "ts": 1_704_067_200 + second} for item, second in zip(GOOD, (0, 20, 30), strict=True)]
    (folder / "e.jsonl").write_text("".join(json.dumps(item) + "\n" for item in seconds))
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--pattern", "Rise")
    found = lines(done.stdout)
    assert rises(found) == expected_rises(GOOD)
    assert max(match["end"] for match in found) == "2024-01-01T00:00:30Z"

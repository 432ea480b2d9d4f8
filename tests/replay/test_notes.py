"""What the summary says of the events themselves: ties, times in the wrong unit, a watermark that jumped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.replay.conftest import PATTERN, START, Cep, event, write_events

RISE = ("replay", "p.cep", "--in", "Trans=e.jsonl", "--pattern", "Rise")


def notes(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("note: ")]


@pytest.mark.parametrize("batch", [1, 2, 3, 1000])
def test_fifty_failures_and_a_success_in_one_second_are_counted(cep: Cep, folder: Path, batch: int) -> None:
    """Whatever the batches; other keys, other moments and events without a key or time do not count."""
    crowd = [event(1, "x", amount) for amount in range(51)]
    alone = [event(0, "x", 1), event(1, "y", 1), event(2, "x", 1), event(1, None, 1), event(1, None, 2)]  # type: ignore[arg-type]
    timeless = [{**event(1, "x", 1), "ts": None}] * 2
    pair = [event(3, "z", 1), event(3, "z", 1)]
    write_events(folder / "e.jsonl", [*crowd, *alone, *timeless, *pair])
    done = cep(*RISE, "--batch-size", batch)
    assert notes(done.stderr) == [
        "note: 53 events share a moment with another of their key; SEQ does not order them: ORDER BY in the stream"
    ]


def test_nothing_is_said_where_nothing_is_tied_or_ordered_by_an_attribute(cep: Cep, folder: Path) -> None:
    write_events(folder / "e.jsonl", [event(1, "x", 1), event(1, "y", 2), event(2, "x", 2)])
    assert notes(cep(*RISE).stderr) == []
    write_events(folder / "e.jsonl", [event(1, "x", 1), event(1, "x", 2)])
    assert len(notes(cep(*RISE).stderr)) == 1
    (folder / "p.cep").write_text(PATTERN.replace("WATERMARK 10 SECONDS", "WATERMARK 10 SECONDS ORDER BY amnt"))
    done = cep(*RISE)
    assert (notes(done.stderr), len(done.stdout.splitlines())) == ([], 1)


def test_seconds_read_as_milliseconds_are_told(cep: Cep, folder: Path) -> None:
    rows = [{"ts": START + second, "acc": "x", "amnt": second} for second in range(5)]
    (folder / "e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (note,) = notes(cep(*RISE).stderr)
    assert "most times of `Trans` lie before 1990 (5 of 5, e.g. 1970-01-20T17:21:07.200Z)" in note
    assert "are they seconds? Declare `ts TIMESTAMP EPOCH SECONDS`" in note
    (folder / "p.cep").write_text(PATTERN.replace("ts TIMESTAMP,", "ts TIMESTAMP EPOCH SECONDS,"))
    assert notes(cep(*RISE).stderr) == []


def test_times_after_the_next_decade_are_told(cep: Cep, folder: Path) -> None:
    write_events(folder / "e.jsonl", [event(0, "x", 1), *({"ts": "9000-01-01", "acc": "x", "amnt": i} for i in "12")])
    (folder / "e.jsonl").write_text((folder / "e.jsonl").read_text().replace('"1"', "1").replace('"2"', "2"))
    (note,) = [line for line in notes(cep(*RISE).stderr) if "most times" in line]
    assert "more than ten years ahead (2 of 3, e.g. 9000-01-01T00:00:00Z)" in note


def test_a_watermark_that_jumped_is_told_where_events_were_late(cep: Cep, folder: Path) -> None:
    ahead = {"ts": "2024-01-08T00:00:00Z", "acc": "x", "amnt": 3.0}
    write_events(folder / "e.jsonl", [event(0, "x", 1), ahead, event(20, "x", 2)])
    done = cep(*RISE, "--arrival-order")
    assert "1 late event dropped" in done.stderr
    (note,) = notes(done.stderr)
    assert "the watermark of `Rise` jumped by 7 DAYS to 2024-01-07T23:59:50Z at one event" in note
    assert "--max-ahead" in note
    assert notes(cep(*RISE).stderr) == []


def test_a_case_that_fails_says_it_too(cep: Cep, folder: Path) -> None:
    case = folder / "case"
    case.mkdir()
    (case / "pattern.cep").write_text(PATTERN)
    write_events(case / "events.jsonl", [event(1, "x", 1), event(1, "x", 2)])
    (case / "expected.jsonl").write_text('{"pattern": "Rise", "fields": {"acc": "x"}}\n')
    done = cep("test", case)
    assert done.returncode == 1
    assert "  note: 2 events share a moment with another of their key" in done.stdout

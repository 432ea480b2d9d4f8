"""What ends a run early leaves whole lines behind."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import command, environment, event, lines, write_events


def start(folder: Path, *args: object, **kwargs: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command("replay", "p.cep", *args),
        cwd=folder,
        env=environment(),
        stderr=subprocess.PIPE,
        **kwargs,  # type: ignore[call-overload]
    )


def wait_for(path: Path, size: int) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() or path.stat().st_size < size:
        assert time.monotonic() < deadline, "the run wrote nothing"
        time.sleep(0.02)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_between_lines(folder: Path, number: signal.Signals, status: int) -> None:
    # An endless input: the run is in the middle of its work when the signal comes.
    process = start(folder, "--in", "Trans=-", "--out", "m.jsonl", "--stats", "s.json", "--arrival-order", "--memory",
                    "1MB", "--batch-size", "50", stdin=subprocess.PIPE)  # fmt: skip
    assert process.stdin is not None
    block = "".join(json.dumps(event(n * 0.5, "x", float(n % 100))) + "\n" for n in range(2000)).encode()
    process.stdin.write(block)
    process.stdin.flush()
    wait_for(folder / "m.jsonl", 1)
    process.send_signal(number)
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    assert process.wait(30) == status
    process.stdin.close()
    text = (folder / "m.jsonl").read_text()
    assert text.endswith("}}\n")
    found = lines(text)
    stats = json.loads((folder / "s.json").read_text())
    assert stats["matches"] == len(found) > 0
    assert 0 < stats["events"] <= 2000
    assert errors.startswith(f"stopped by {number.name}: ")
    assert len(errors.splitlines()) == 1


def test_a_signal_while_waiting_for_input_ends_the_run(folder: Path) -> None:
    process = start(folder, "--in", "Trans=-", "--out", "m.jsonl", stdin=subprocess.PIPE)
    wait_for(folder / "m.jsonl", 0)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert process.stdin is not None
    assert process.stderr is not None
    assert process.stderr.read().decode().startswith("stopped by SIGINT: 0 events, 0 matches")
    process.stdin.close()
    assert (folder / "m.jsonl").read_text() == ""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_seen_enough_is_no_error(folder: Path, unbuffered: str) -> None:
    write_events(folder / "e.jsonl", [event(n * 0.5, "x", float(n)) for n in range(3000)])
    process = subprocess.Popen(
        command("replay", "p.cep", "--in", "Trans=e.jsonl", "--stats", "s.json"),
        cwd=folder,
        env={**environment(), "PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    json.loads(process.stdout.readline())
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(30) == 141
    assert (folder / "s.json").exists()


def test_nothing_is_left_in_the_temporary_directory(folder: Path) -> None:
    events = [event((n * 7919) % 6000, "x" * 300 + str(n), float(n)) for n in range(6000)]
    write_events(folder / "e.jsonl", events)
    temporary = folder / "tmp"
    temporary.mkdir()
    process = subprocess.run(
        command("replay", "p.cep", "--in", "Trans=e.jsonl", "--memory", "1MB", "--out", "m.jsonl"),
        cwd=folder,
        env={**environment(), "TMPDIR": str(temporary)},
        capture_output=True,
    )
    assert process.returncode == 0, process.stderr
    assert list(temporary.iterdir()) == []

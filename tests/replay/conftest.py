from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cep.ir.expr import timestamp_text

ROOT = Path(__file__).resolve().parents[2]
PATTERN = """\
STREAM Trans (
  ts TIMESTAMP,
  acc STRING,
  amnt DOUBLE
) TIMESTAMP BY ts WATERMARK 10 SECONDS;

PATTERN Rise
  SEQ(Trans a, Trans b)
  WHERE a.acc = b.acc AND b.amnt > a.amnt
  WITHIN 1 MINUTE
  RETURN a.acc AS acc, a.amnt AS low, b.amnt AS high, b.ts AS at;

PATTERN Twice
  SEQ(Trans a, Trans b)
  WHERE a.acc = b.acc AND a.amnt = b.amnt
  WITHIN 1 MINUTE
  RETURN a.acc AS acc;
"""
START = 1_704_067_200
"""2024-01-01T00:00:00Z."""

Event = dict[str, Any]
Cep = Callable[..., subprocess.CompletedProcess[str]]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}


def command(*args: object) -> list[str]:
    return [sys.executable, "-m", "cep.cli", *map(str, args)]


@pytest.fixture
def cep(tmp_path: Path) -> Cep:
    """Runs the command line in a process of its own, in a folder of its own."""

    def run(*args: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*args), cwd=tmp_path, env=environment(), input=stdin, capture_output=True, text=True, timeout=120
        )

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.cep").write_text(PATTERN)
    return tmp_path


def event(second: float, acc: str, amnt: float | None) -> Event:
    return {"ts": timestamp_text(int((START + second) * 1_000_000)), "acc": acc, "amnt": amnt}


def write_events(path: Path, events: list[Event]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in events))
    return path


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def rises(matches: list[dict[str, Any]]) -> list[tuple[str, float, float]]:
    return sorted(
        (m["fields"]["acc"], m["fields"]["low"], m["fields"]["high"]) for m in matches if m["pattern"] == "Rise"
    )


def expected_rises(events: list[Event]) -> list[tuple[str, float, float]]:
    """What `Rise` means, spelled out; times are compared as texts, all of one length."""
    from connectors.files.values import iso_micros

    found = []
    for a in events:
        for b in events:
            gap = iso_micros(b["ts"]) - iso_micros(a["ts"])
            if 0 < gap <= 60_000_000 and a["acc"] == b["acc"] and b["amnt"] > a["amnt"]:
                found.append((a["acc"], a["amnt"], b["amnt"]))
    return sorted(found)

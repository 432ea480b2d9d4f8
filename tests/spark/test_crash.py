"""Kill the driver, a Python worker, an engine host or the JVM at random moments: every match is there exactly once."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.spark.helpers import compiled, lines_in, trans, write_parts
from tests.spark.test_waiting import settled

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EVENTS = 200_000
FILES = 80
KILLS = int(os.environ.get("CEP_KILLS", "20"))
"""CI has time for fewer."""
PATTERN = """
STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE) TIMESTAMP BY ts WATERMARK 10 SECONDS;
PATTERN CardTesting
  SEQ(Trans s1, Trans s2, Trans l)
  WHERE s1.acc = s2.acc AND s2.acc = l.acc AND s1.amnt < 50 AND s2.amnt < 50 AND l.amnt > 450
  WITHIN 2 MINUTES
  RETURN l.acc AS acc, s1.ts AS first_ts, l.ts AS last_ts, l.amnt AS amount;
"""
ABSENCE = """
STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE) TIMESTAMP BY ts WATERMARK 10 SECONDS;
PATTERN Quiet
  SEQ(Trans s, NOT Trans l)
  WHERE s.acc = l.acc AND s.amnt < 50 AND l.amnt > 300
  WITHIN 2 MINUTES
  RETURN s.acc AS acc, s.ts AS at;
PATTERN Undisturbed
  SEQ(Trans s, NOT Trans n, Trans l)
  WHERE s.acc = n.acc AND s.acc = l.acc AND s.amnt < 20 AND n.amnt > 100 AND l.amnt > 450
  WITHIN 2 MINUTES
  RETURN s.acc AS acc, s.ts AS first_ts, l.ts AS last_ts;
"""


def descendants(process: int) -> dict[int, str]:
    """Processes that a process started, and what each runs."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            stat = (entry / "stat").read_text()
            parents[int(entry.name)] = int(stat.rsplit(")", 1)[1].split()[1])
            commands[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    found: dict[int, str] = {}
    waiting = [process]
    while waiting:
        parent = waiting.pop()
        for child, its_parent in parents.items():
            if its_parent == parent:
                found[child] = commands[child]
                waiting.append(child)
    return found


def command(tmp_path: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            sys.executable, "-m", "cep.cli", "run", str(tmp_path / "card.cep"), "--in", f"Trans={tmp_path}/Trans",
            "--out", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "checkpoint"), "--once",
            "--max-files", "1", "--buckets", "2", "--master", "local[2]", "--conf", "spark.driver.memory=2g",
        ],
        cwd=ROOT, stderr=(tmp_path / "log").open("wb"),
    )  # fmt: skip


def words(tmp_path: Path) -> str:
    """What the job said last."""
    return (tmp_path / "log").read_text(errors="replace")[-2000:]


def kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


@pytest.mark.parametrize("pattern", [PATTERN, ABSENCE], ids=["plain", "absence"])
def test_every_match_exactly_once_whatever_is_killed(tmp_path: Path, pattern: str) -> None:
    rng = random.Random(7)
    (tmp_path / "card.cep").write_text(pattern)
    events = trans(EVENTS, accounts=200, step=100_000)
    size = EVENTS // FILES
    write_parts(tmp_path / "Trans", [events.slice(number * size, size) for number in range(FILES)])
    kills: dict[str, int] = {}
    while sum(kills.values()) < KILLS:
        job = command(tmp_path)
        committed = len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*")))
        # Let it get to work: kills while Spark starts show nothing.
        deadline = time.monotonic() + 300
        while job.poll() is None and time.monotonic() < deadline:
            if len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))) > committed:
                break
            time.sleep(0.2)
        if job.poll() is not None:
            assert job.returncode == 0, words(tmp_path)
            break
        time.sleep(rng.uniform(0, 6))
        children = descendants(job.pid)
        # In local mode the JVM is driver and executor in one.
        kinds = {
            "driver": [job.pid],
            "executor": [pid for pid, what in children.items() if "/java " in what],
            "worker": [pid for pid, what in children.items() if "pyspark.daemon" in what],
            "host": [pid for pid, what in children.items() if "runtime.spark.state.host" in what],
        }
        kind = rng.choice([name for name, pids in kinds.items() if pids])
        for victim in kinds[kind] if kind == "driver" else [rng.choice(kinds[kind])]:
            kill(victim)
        kills[kind] = kills.get(kind, 0) + 1
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(rng.uniform(1, 5))
        for pid in (*children, job.pid):  # of whatever outlived it
            kill(pid)
        job.wait()
    job = command(tmp_path)
    assert job.wait(1800) == 0, words(tmp_path)
    found = lines_in(tmp_path / "out")
    last = events.column("ts").cast("int64").to_pylist()[-1]
    wanted = settled(compiled(pattern), {"Trans": events}, last // 1000 * 1000 - 10_000_000)
    assert found == wanted, f"{len(found - wanted)} too many, {len(wanted - found)} missing; kills: {kills}"
    assert len(kills) >= (3 if KILLS >= 20 else 1)

"""A job lives through what may pass and ends at once with what will not."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from runtime.spark.errors import JobError, SparkStartError
from runtime.spark.job import supervise
from runtime.spark.job.start import Job, prepare
from runtime.spark.job.supervise import Supervisor, restarts
from runtime.spark.watch import follow
from tests.conftest import ROOT
from tests.spark.helpers import CARD, Shared, compiled, expected, lines_in, trans, write_parts
from tests.spark.test_crash import descendants

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUSY = "org.apache.spark.SparkException: Python worker failed to connect back."
PATIENCE = 600.0


class World:
    """Attempts that fail or succeed as told, without Spark. A number is a batch that succeeds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: Path, *script: Exception | int, **options: Any) -> None:
        (where / "in.jsonl").write_text("{}")
        job = Job(inputs={"Trans": str(where / "in.jsonl")}, out="-", checkpoint=str(where / "c"), **options)
        self.script = list(script)
        self.opened = self.discarded = self.restarted = 0
        self.java: list[bool] = []
        self.reported: list[Any] = []
        self.pauses: list[float] = []
        self.stop = False
        self.supervisor = Supervisor(
            prepared=prepare(job, compiled(CARD)),
            sessions=self,  # type: ignore[arg-type]
            report=self.reported.append,
            restarted=self._count,
            stopping=lambda: self.stop,
        )
        monkeypatch.setattr(supervise, "start", lambda *_: None)
        monkeypatch.setattr(follow, "follow", self._follow)
        monkeypatch.setattr(supervise.time, "sleep", lambda _: None)
        monkeypatch.setattr(supervise.time, "monotonic", lambda: 0.0)
        monkeypatch.setattr(Supervisor, "_wait", lambda _, seconds: self.pauses.append(seconds) or self.stop)

    def open(self) -> Any:
        self.opened += 1
        if self.script and isinstance(self.script[0], SparkStartError):
            raise self.script.pop(0)  # type: ignore[misc]
        return object()

    def discard(self, _spark: Any, *, java: bool = False) -> None:
        self.discarded += 1
        self.java.append(java)

    def _count(self) -> None:
        self.restarted += 1

    def _follow(self, _running: Any, report: Callable[[Any], None], _stopping: Any) -> None:
        while self.script:
            step = self.script.pop(0)
            if isinstance(step, Exception):
                raise step
            report(FakeBatch(step))

    def run(self) -> World:
        self.supervisor.run()
        return self


@dataclasses.dataclass
class FakeBatch:
    number: int


def passing() -> Exception:
    return RuntimeError(BUSY)


class TestTheLoop:
    def test_a_passing_failure_restarts_with_growing_pauses_and_a_good_batch_starts_the_count_anew(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        failures = [passing() for _ in range(8)]
        with structlog.testing.capture_logs() as logs:
            world = World(monkeypatch, tmp_path, 1, *failures, 2, passing(), 3).run()
        assert world.pauses == [1, 2, 4, 8, 16, 32, 60, 60, 1]
        assert world.restarted == 9
        assert world.opened == world.discarded == 10
        assert [batch.number for batch in world.reported] == [1, 2, 3]
        warnings = [entry for entry in logs if entry["event"] == "restart"]
        assert len(warnings) == 9
        assert all(entry["log_level"] == "warning" and "busy" in entry["reason"] for entry in warnings)
        recovered = [(entry["batch"], entry["failures"]) for entry in logs if entry["event"] == "recovered"]
        assert recovered == [(2, 8), (3, 1)]

    def test_what_will_not_pass_ends_it_at_once(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        world = World(monkeypatch, tmp_path, RuntimeError("x.BadRecordError: a.jsonl:3: expected INT"), 1)
        with pytest.raises(JobError, match=r"^a.jsonl:3: expected INT$"):
            world.run()
        assert (world.opened, world.discarded, world.restarted) == (1, 1, 0)

    def test_never(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        world = World(monkeypatch, tmp_path, passing(), 1, restart="never")
        with pytest.raises(JobError, match=r"the machine is busy$"):
            world.run()
        assert world.restarted == 0

    def test_at_most_so_many_times_in_a_row(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        script = [passing(), passing(), 1, passing(), passing(), passing(), 2]
        world = World(monkeypatch, tmp_path, *script, restart="on-failure:2")
        with pytest.raises(JobError, match=r"busy \(tried 3 times\)$"):
            world.run()
        assert [batch.number for batch in world.reported] == [1]

    def test_once_has_a_few_tries(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        world = World(monkeypatch, tmp_path, passing(), passing(), passing(), 1, once=True).run()
        assert world.restarted == 3
        with pytest.raises(JobError, match="tried 4 times"):
            World(monkeypatch, tmp_path, *[passing() for _ in range(4)], once=True).run()

    def test_what_nobody_knows_is_tried_a_few_times(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        with pytest.raises(JobError, match=r"TypeError: odd \(tried 4 times\)"):
            World(monkeypatch, tmp_path, *[RuntimeError("TypeError: odd") for _ in range(9)]).run()

    def test_a_java_process_that_is_gone_is_made_anew(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        gone = ConnectionRefusedError(111, "Connection refused")
        assert World(monkeypatch, tmp_path, gone, passing(), 1).run().java == [True, False, False]

    def test_spark_that_does_not_start_is_final_unless_it_had(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        with pytest.raises(JobError, match="did not start"):
            World(monkeypatch, tmp_path, SparkStartError("Spark did not start: no"), 1).run()
        world = World(monkeypatch, tmp_path, passing(), SparkStartError("Spark did not start: no memory"), 1).run()
        assert [batch.number for batch in world.reported] == [1]

    def test_a_failure_while_it_is_stopped_is_told_and_ends_it(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        world = World(monkeypatch, tmp_path, passing(), 1)
        world.stop = True
        with structlog.testing.capture_logs() as logs:
            world.run()
        assert world.reported == []
        assert [entry["event"] for entry in logs] == ["failed_while_stopping"]

    def test_secrets_are_not_in_what_is_said(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        canary = "canary-5ecret"
        options = {"bootstrap.servers": "b:1", "sasl.password": canary}
        script = [RuntimeError(f"{BUSY}"), RuntimeError(f"odd {canary}"), RuntimeError(f"x.JobError: {canary}")]
        with structlog.testing.capture_logs() as logs, pytest.raises(JobError) as failure:
            World(monkeypatch, tmp_path, *script, kafka_options=options).run()
        assert canary not in f"{logs}{failure.value}"


def test_a_signal_ends_the_pause_at_once(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("{}")
    job = Job(inputs={"Trans": str(tmp_path / "in.jsonl")}, out="-", checkpoint=str(tmp_path / "c"))
    stop = threading.Event()
    supervisor = Supervisor(
        prepared=prepare(job, compiled(CARD)),
        sessions=None,  # type: ignore[arg-type]
        report=lambda _: None,
        restarted=lambda: None,
        stopping=stop.is_set,
    )
    threading.Timer(0.3, stop.set).start()
    assert supervisor._wait(1e9)


@pytest.mark.parametrize(
    "text", ["", "always", "never:3", "on-failure:", "on-failure:0", "on-failure:-1", "on-failure:x"]
)
def test_a_policy_that_is_none_is_explained(text: str) -> None:
    with pytest.raises(ValueError, match="expected never, on-failure or on-failure:N"):
        restarts(text, once=False)


def test_the_first_attempt_fails_and_the_next_one_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With real queries: the second batch of the first attempt fails in the sink, the rest is done by the next one."""
    from runtime.spark.ends.directory import FilePublication

    publish, failed = FilePublication.publish, []

    def fails_once(publication: FilePublication, staged: Any, batch: int) -> None:
        if batch == 1 and not failed:
            failed.append(batch)
            raise OSError(28, "No space left on device")
        publish(publication, staged, batch)

    monkeypatch.setattr(FilePublication, "publish", fails_once)
    monkeypatch.setattr(supervise, "FIRST_PAUSE", 0.01)
    events = trans(90)
    write_parts(tmp_path / "Trans", [events.slice(number * 30, 30) for number in range(3)])
    inputs, out = {"Trans": str(tmp_path / "Trans")}, str(tmp_path / "out")
    job = Job(inputs=inputs, out=out, checkpoint=str(tmp_path / "c"), once=True, buckets=2, max_files=1)
    reported: list[Any] = []
    count: list[int] = []
    Supervisor(
        prepared=prepare(job, compiled(CARD)),
        sessions=Shared(spark),
        report=reported.append,
        restarted=lambda: count.append(1),
        stopping=lambda: False,
    ).run()
    assert failed == [1]
    assert count == [1]
    assert [(batch.number, batch.total_events) for batch in reported] == [(0, 30), (1, 30), (2, 30)]
    assert lines_in(tmp_path / "out") == expected(compiled(CARD), {"Trans": events})


@pytest.mark.spark
@pytest.mark.slow
def test_a_job_whose_processes_are_killed_recovers_by_itself(tmp_path: Path) -> None:
    """Kills, one after the other, the engine hosts and Spark's Java process; nothing is lost and nothing is doubled."""
    (tmp_path / "card.cep").write_text(CARD)
    events = trans(120)
    parts = [events.slice(number * 40, 40) for number in range(3)]
    write_parts(tmp_path / "Trans", parts[:1])
    log = tmp_path / "log"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable, "-m", "cep.cli", "run", str(tmp_path / "card.cep"), "--in", f"Trans={tmp_path}/Trans",
        "--out", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "checkpoint"), "--buckets", "2",
        "--master", "local[2,1]", "--metrics-port", str(port), "--trigger", "200 milliseconds",
    ]  # fmt: skip
    with log.open("w") as errors:
        job = subprocess.Popen(command, cwd=ROOT, stderr=errors)
    try:
        wait_for(log, job, "batch", 1)
        hosts = {
            pid for pid, what in descendants(1).items() if "runtime.spark.state.host" in what and uses(pid, job.pid)
        }
        before = descendants(job.pid)
        second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert second.returncode == 2
        assert f"is in use by job `cep`, process {job.pid} on " in second.stderr

        workers = [pid for pid, what in before.items() if "pyspark.daemon" in what]
        assert workers
        for pid in workers:
            kill(pid)
        write_parts(tmp_path / "Trans", parts[1:2], first=1)
        wait_for(log, job, "batch", 2)

        java = [pid for pid, what in descendants(job.pid).items() if "/java " in what or what.startswith("java ")]
        assert java
        for pid in java:
            kill(pid)
        write_parts(tmp_path / "Trans", parts[2:], first=2)
        wait_for(log, job, "batch", 3)
        wait_for(log, job, "recovered", 1)
        assert not [pid for pid in hosts if Path(f"/proc/{pid}").exists() and "host" in cmdline(pid)]
        served = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        job.terminate()
        assert job.wait(PATIENCE) == 0, log.read_text()
    finally:
        job.kill()
    said = entries(log)
    count = sum(entry["event"] == "restart" for entry in said)
    assert f"cep_restarts_total {count}.0" in served
    assert "Spark's Java process has ended" in str([entry for entry in said if entry["event"] == "restart"])
    assert [entry["events"] for entry in said if entry["event"] == "batch"] == [40, 40, 40]
    assert lines_in(tmp_path / "out") == expected(compiled(CARD), {"Trans": events})


def uses(pid: int, job: int) -> bool:
    """Whether a process is of a job: engine hosts run in sessions of their own."""
    with contextlib.suppress(OSError):
        parent = int(cmdline(pid).split()[-1])
        return parent in descendants(job)
    return False


def cmdline(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def entries(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def wait_for(log: Path, job: subprocess.Popen[bytes], event: str, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while sum(entry["event"] == event for entry in entries(log)) < count:
        assert job.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)

"""The stage: three real brokers behind proxies, a disk that can fill up, events that keep coming, and a job.

The job is `cep run` with a driver, an executor, Python workers and engine hosts of its own, kept by something like
systemd: when it ends, it is started again. What it said when it ended is kept, for the table at the end.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

from connectors.kafka.cluster import ensure_topics
from connectors.testing import RealKafka
from tests.chaos.proxy import Proxies
from tests.kafka.decided import decided
from tests.kafka.jobs import PATTERN, ROOT, cep, environment, events, replayed, write_jsonl
from tests.spark.test_crash import kill

SOURCE, SINK = "transactions", "alerts"
DISK = 96 << 20
_BATCH = 4_000
"""Offsets in a batch. Partitions are read at most so far apart, which the pattern's watermark allows for."""
_PIECE = 500
_MARK = "CEP_CHAOS_JOB"


@dataclass(frozen=True, slots=True)
class Job:
    """A `cep run`: its driver, and the variable that all of its processes have in their environment."""

    process: subprocess.Popen[bytes]
    mark: str


class Stage:
    """Everything that runs, and what was sent. `with` it; `finish` lets the job end and says what it delivered."""

    brokers = 3

    def __init__(self, *, master: str) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="cep-chaos-"))
        self.disk = self.directory / "disk"
        self.job: Job | None = None
        self._jobs: list[Job] = []
        self.ended: Counter[str] = Counter()
        self.sent: list[dict[str, object]] = []
        self.ahead = 0
        self._master = master
        self._pattern = self.directory / "card.cep"
        self._ending = threading.Event()
        self._threads: list[threading.Thread] = []
        self.proxies = Proxies()

    def __enter__(self) -> Stage:  # noqa: PYI034 - Self is Python 3.11's
        self.disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", str(self.disk)], capture_output=True, check=False
        )
        if mounted.returncode:
            say("no disk of its own (mount needs root): disks do not fill up in this run")
        self._pattern.write_text(PATTERN)
        self.kafka = RealKafka(brokers=self.brokers, proxy=self.proxies.add)
        ensure_topics(self.kafka.config, [SOURCE, SINK], partitions=4, settings={"retention.ms": "-1"}, timeout=90)
        self._producer = Producer(
            self.kafka.config.client({"enable.idempotence": True, "message.timeout.ms": 0, "linger.ms": 50})
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()
        self._stop_jobs()
        self.kafka.close()
        self.proxies.close()
        subprocess.run(["umount", str(self.disk)], capture_output=True, check=False)

    # --- events ----------------------------------------------------------------------------------------------------

    def feed(self, total: int, seconds: float) -> None:
        """Send events evenly over some seconds, in a thread of its own."""
        self._start(self._feed, total, seconds / total * _PIECE)

    def _feed(self, total: int, pause: float) -> None:
        while len(self.sent) < total and not self._ending.is_set():
            self._send(min(_PIECE, total - len(self.sent)))
            self._ending.wait(pause)

    def _send(self, count: int) -> None:
        piece = events(count, after=len(self.sent))
        self.sent += piece
        for event in piece:
            self._produce(json.dumps(event).encode(), str(event["acc"]).encode())

    def send_ahead(self, years: int) -> None:
        """One event that is dated years ahead of this machine's clock."""
        event = {"ts": round((time.time() + years * 365 * 86_400) * 1000), "acc": "A001", "amnt": 1.0}
        self._produce(json.dumps(event).encode(), b"A001")
        self.ahead += 1

    def _produce(self, value: bytes, key: bytes) -> None:
        while True:
            try:
                self._producer.produce(SOURCE, value, key)
                self._producer.poll(0)
            except BufferError:  # noqa: PERF203 - a full queue is the ordinary case while brokers are away
                self._producer.poll(0.5)
            else:
                return

    # --- the job ---------------------------------------------------------------------------------------------------

    def keep_running(self) -> None:
        """Start the job whenever it is not running, in a thread of its own."""
        self._start(self._keep)

    def _start(self, what: object, *arguments: object) -> None:
        thread = threading.Thread(target=what, args=arguments, daemon=True)  # type: ignore[arg-type]
        thread.start()
        self._threads.append(thread)

    def _keep(self) -> None:
        number = 0
        while not self._ending.is_set():
            log = self.directory / f"job-{number}.log"
            self.job = job = self._launch(log)
            while job.process.poll() is None and not self._ending.wait(0.3):
                pass
            if not self._ending.is_set():
                self.ended[reason(job.process.returncode, log.read_text(errors="replace"))] += 1
            if number % 2:
                kill_all(job)  # as systemd does; the other time, what is left of the old job meets the new one
            number += 1

    def _launch(self, log: Path, *more: str) -> Job:
        arguments = cep(
            "run", self._pattern, "--in", f"Trans=kafka:{SOURCE}", "--out", f"kafka:{SINK}",
            "--bootstrap", self.kafka.bootstrap, "--checkpoint", self.disk / "checkpoint", "--master", self._master,
            "--buckets", 2, "--kafka-source", "python", "--max-offsets", _BATCH, "--on-error", "dead-letter", *more,
        )  # fmt: skip
        with log.open("wb") as out:
            mark = uuid.uuid4().hex
            variables = environment(**{_MARK: mark})
            process = subprocess.Popen(arguments, cwd=ROOT, env=variables, stdout=out, stderr=out)
        self._jobs.append(Job(process, mark))
        return self._jobs[-1]

    def _stop_jobs(self) -> None:
        """Kill the job and what is left of those before it."""
        for job in self._jobs:
            kill_all(job)
            job.process.wait()

    @property
    def committed(self) -> int:
        """Batches that Spark has written down as done."""
        with contextlib.suppress(OSError):
            commits = (self.disk / "checkpoint" / "commits").iterdir()
            return max((int(path.name) for path in commits if path.name.isdigit()), default=0)
        return 0

    # --- the end ---------------------------------------------------------------------------------------------------

    def finish(self, total: int) -> tuple[int, int, int]:
        """Send what is missing, let the job come to its end undisturbed: matches expected, lost and doubled."""
        self._ending.set()
        for thread in self._threads:
            thread.join()
        self._stop_jobs()
        while len(self.sent) < total:
            self._send(min(_PIECE, total - len(self.sent)))
        left = self._producer.flush(300)
        assert left == 0, f"{left} events were never taken by the brokers"
        for number in range(3):
            log = self.directory / f"last-{number}.log"
            self.job = self._launch(log, "--once")
            if self.job.process.wait() == 0:
                break
            say(log.read_text(errors="replace")[-3000:])
        else:
            raise AssertionError("the job does not come to its end, though nothing disturbs it any more")
        file = write_jsonl(self.directory / "events.jsonl", self.sent)
        delivered = [message.value().decode() for message in decided(self.kafka.config, SINK)]
        expected, found = Counter(replayed(self._pattern, file)), Counter(delivered)
        unknown = found.keys() - expected.keys()
        assert not unknown, f"{len(unknown)} matches that replay does not find, e.g. {min(unknown)}"
        return expected.total(), (expected - found).total(), (found - expected).total()


def say(text: str) -> None:
    """For whoever watches."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def members(job: Job) -> dict[int, str]:
    """The processes of a job, also of one whose driver is gone, and what each runs."""
    mark = f"{_MARK}={job.mark}".encode()
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    command = (entry / "cmdline").read_bytes()
                    found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found


def kill_all(job: Job) -> None:
    """End all of a job."""
    for pid in members(job):
        kill(pid)


def reason(status: int, words: str) -> str:
    """Why a job ended, for the table: the start of what it said."""
    said = [line for line in words.splitlines() if line.lower().startswith("error")]
    text = said[-1] if said else f"status {status}"
    return re.sub(r"[0-9a-f]{16,}|127\.0\.0\.1:\d+|\d+", "…", text)[:110]

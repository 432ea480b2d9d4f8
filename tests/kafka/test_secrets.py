"""Whatever fails, and whoever says so: no password is in anything that is written, nor in any command line.

Each stage of a job is made to fail with its resolved settings in the message and in its variables (`leaky.py`). Then
everything is searched: output, log, checkpoint, Spark's event log and working directories, temporary files, and the
command lines of all processes that the job started.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.kafka.jobs import PATTERN, ROOT, environment
from tests.spark.test_crash import descendants

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

BY_ENVIRONMENT, BY_FILE, WRITTEN, OF_SPARK = (
    "canary-by-environment",
    "canary-by-file",
    'canary-"written\\out',
    "canary-of-spark",
)
SECRETS = (b"canary-",)
SLOW = pytest.mark.slow


class Watched:
    """A process, and everything that it and its children write or are called with."""

    def __init__(self, command: list[str], directory: Path, **variables: str) -> None:
        self.directory = directory
        self.command_lines: set[str] = set()
        self.seen: dict[Path, bytes] = {}
        self.modes: dict[Path, int] = {}
        self.out = directory / "stdout"
        self.err = directory / "stderr"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment(**variables), stdout=out, stderr=err)
        done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(done,))
        watcher.start()
        try:
            self.status = self.process.wait(600)
        finally:
            self.process.kill()
            done.set()
            watcher.join()
        self._look()

    def _watch(self, done: threading.Event) -> None:
        while not done.wait(0.1):
            self.command_lines.update(descendants(self.process.pid).values())
            self._look()

    def _look(self) -> None:
        for root, _, names in os.walk(self.directory):
            for name in names:
                path = Path(root) / name
                with contextlib.suppress(OSError):
                    if name != "password" and not path.is_socket() and not path.is_fifo():
                        mode, data = path.stat().st_mode & 0o777, path.read_bytes()
                        if any(secret in data for secret in SECRETS):
                            self.seen[path], self.modes[path] = data, mode

    @property
    def leaks(self) -> list[str]:
        places = [
            f"{path}: {data[max(0, data.index(SECRETS[0]) - 200) : data.index(SECRETS[0]) + 60]!r}"
            for path, data in self.seen.items()
        ]
        return places + [line for line in self.command_lines if "canary-" in line]


@pytest.mark.parametrize(
    ("stage", "debug"),
    [
        pytest.param("config", False),
        pytest.param("topics", False),
        pytest.param("topics", True, marks=SLOW),
        pytest.param("session", False),
        pytest.param("start", True, marks=SLOW),
        pytest.param("source", False, marks=SLOW),
        pytest.param("source", True, marks=SLOW),
        pytest.param("executor", False, marks=SLOW),
        pytest.param("executor", True, marks=SLOW),
        pytest.param("publisher", False, marks=SLOW),
        pytest.param("publisher", True, marks=SLOW),
        pytest.param("follow", False, marks=SLOW),
        pytest.param("shutdown", True, marks=SLOW),
    ],
)
def test_no_secret_is_written_whatever_fails(kafka, topic, send, tmp_path, stage, debug):
    source, sink = topic(), topic()
    send(source, [(0, b"k", b'{"ts": 1704067200000, "acc": "A1", "amnt": 20.5}')])
    for name in ("tmp", "local", "events"):
        (tmp_path / name).mkdir()
    (tmp_path / "card.cep").write_text(PATTERN)
    (tmp_path / "password").write_text(BY_FILE + "\n")
    (tmp_path / "job.toml").write_text(
        f"""
        [kafka-option]
        'sasl.password' = 'env:{"CEP_TEST_NOT_SET" if stage == "config" else "CEP_TEST_PASSWORD"}'
        'ssl.key.password' = 'file:{tmp_path}/password'
        'ssl.keystore.password' = '{WRITTEN}'
        [conf]
        'spark.cep.password' = '{OF_SPARK}'
        'spark.local.dir' = '{tmp_path}/local'
        'spark.eventLog.enabled' = 'true'
        'spark.eventLog.dir' = 'file://{tmp_path}/events'
        """
    )
    job = Watched(
        [
            sys.executable, str(ROOT / "tests" / "kafka" / "leaky.py"), stage, *(["--debug"] if debug else []),
            "run", str(tmp_path / "card.cep"), "--in", f"Trans=kafka:{source}", "--out", f"kafka:{sink}",
            "--bootstrap", kafka.bootstrap, "--checkpoint", str(tmp_path / "checkpoint"), "--master", "local[2]",
            "--buckets", "2", "--kafka-source", "python", "--once", "--restart", "never",
            "--config", str(tmp_path / "job.toml"),
        ],
        tmp_path, TMPDIR=str(tmp_path / "tmp"), CEP_TEST_PASSWORD=BY_ENVIRONMENT,
    )  # fmt: skip
    job.seen.pop(tmp_path / "job.toml", None)  # where the test wrote it itself
    for path in [path for path in job.seen if path.suffix == ".properties"]:
        # Spark's settings on their way to Java: for nobody else, and gone when it has started.
        assert job.modes[path] == 0o600
        assert not path.exists()
        job.seen.pop(path)
    said = job.err.read_text()
    assert job.status == 2, said
    assert ("CEP_TEST_NOT_SET, which is not set here" if stage == "config" else f"boom in {stage}: ") in said
    assert not job.leaks, "\n".join(job.leaks)

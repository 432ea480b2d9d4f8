"""One job on one checkpoint: the second is refused and told by whom; one that was killed is in nobody's way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from pyarrow import fs

from runtime.spark.ends import manifest
from runtime.spark.errors import JobError
from runtime.spark.job import lease
from tests.conftest import ROOT

HOLDER = """
import subprocess, sys, time
from runtime.spark.job import lease
with lease.hold(sys.argv[1], "first"):
    subprocess.Popen(["sleep", "600"])  # as the Java process: it must not inherit the lease
    print("held", flush=True)
    time.sleep(600)
"""


def holder(checkpoint: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, checkpoint], cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_is_refused_at_once_and_told_who_holds_it(tmp_path: Path) -> None:
    with lease.hold(str(tmp_path / "new" / "checkpoint"), "first"):
        with pytest.raises(JobError, match=rf"is in use by job `first`, process {os.getpid()} on \S+, since 2\d{{3}}-"):
            lease.hold(str(tmp_path / "new" / "checkpoint"), "second").__enter__()
        with lease.hold(str(tmp_path / "other"), "second"):
            pass
    with lease.hold(f"file://{tmp_path}/new/checkpoint", "second"):
        pass


def test_a_job_that_was_killed_can_be_started_again_at_once(tmp_path: Path) -> None:
    first = holder(str(tmp_path))
    try:
        with pytest.raises(JobError, match=f"process {first.pid} on"):
            lease.hold(str(tmp_path), "second").__enter__()
        first.kill()
        first.wait()
        with lease.hold(str(tmp_path), "second"):
            pass
    finally:
        os.killpg(first.pid, signal.SIGKILL)  # its child, which outlives it


def test_a_checkpoint_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JobError, match="cannot be written: Not a directory"):
        lease.hold(str(tmp_path / "file" / "checkpoint"), "x").__enter__()


class TestOnAnObjectStore:
    """A directory that is used as one: whole files come and go, and there are no locks."""

    URI = "store://bucket/checkpoint"

    @pytest.fixture(autouse=True)
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        (tmp_path / "checkpoint").mkdir()
        filesystem = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
        monkeypatch.setattr(manifest, "remote", lambda _: (filesystem, "checkpoint"))
        monkeypatch.setattr(lease, "RENEWAL", 0.05)
        monkeypatch.setattr(lease, "_POLL", 0.02)
        return tmp_path / "checkpoint" / lease.NAME

    def claim(self, store: Path, **changes: object) -> dict[str, object]:
        content = {"host": "far", "pid": 7, "name": "first", "since": "then", "process": "b/1", "claim": "1"} | changes
        store.write_text(json.dumps(content))
        return content

    def test_a_claim_that_is_renewed_is_respected(self, store: Path) -> None:
        done = threading.Event()

        def renew() -> None:
            while not done.wait(0.05):
                temporary = store.with_suffix(".new")
                temporary.write_text(json.dumps(content | {"claim": str(time.monotonic())}))
                temporary.replace(store)

        content = self.claim(store)
        thread = threading.Thread(target=renew)
        thread.start()
        try:
            with pytest.raises(JobError, match="in use by job `first`, process 7 on far, since then"):
                lease.hold(self.URI, "second").__enter__()
        finally:
            done.set()
            thread.join()

    def test_one_that_is_not_is_taken_over(self, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lease, "STALE", 0.3)
        self.claim(store)
        with lease.hold(self.URI, "second") as check:
            check()
            assert json.loads(store.read_text())["name"] == "second"
        assert not store.exists()

    def test_that_of_a_process_of_this_machine_that_is_gone_is_taken_over_at_once(self, store: Path) -> None:
        process = subprocess.Popen(["sleep", "600"])
        gone = lease._process(process.pid)
        process.kill()
        process.wait()
        self.claim(store, host=lease.socket.gethostname(), pid=process.pid, process=gone)
        with lease.hold(self.URI, "second"):  # STALE is a minute here
            assert json.loads(store.read_text())["name"] == "second"

    def test_who_loses_it_is_told(self, store: Path) -> None:
        with lease.hold(self.URI, "first") as check:
            before = json.loads(store.read_text())["claim"]
            while json.loads(store.read_text() or "{}").get("claim", before) == before:
                time.sleep(0.01)  # it is renewed

            def look() -> None:
                while True:
                    self.claim(store, name="usurper")
                    time.sleep(0.01)
                    check()

            with pytest.raises(JobError, match="in use by job `usurper`, process 7 on far"):
                look()
        assert json.loads(store.read_text())["name"] == "usurper"  # which is not ours to remove

"""One job on one checkpoint at a time: a lease, `cep-job.lock` in the checkpoint.

On a mounted file system it is a lock of the operating system on that file (`flock`). It is gone with the process that
holds it, however that ends, so a job that was killed can be started again at once; the file itself stays, and says who
had it last. On NFS the server keeps such locks: after the loss of a whole machine, until the server notices (NFSv4: its
lease time, ninety seconds by default); where a server does not support locks the job is refused with what it said.

On an object store, which knows no locks, the file is a claim that its holder renews every `RENEWAL` seconds. Who finds
one waits until it has not been renewed for `STALE` seconds (a claim of a process of this machine that is gone is taken
over at once) and is refused as soon as it is renewed. Nobody's clock is compared with another's. A holder that finds
somebody else's claim stops (`check`).

Not guaranteed on object stores: two jobs that start within the same second can both believe to hold the lease, until
the next renewal, when one of them stops. Spark's own logs keep them from committing one batch twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import structlog

from runtime.spark.ends import manifest as manifests
from runtime.spark.errors import JobError

NAME = "cep-job.lock"
RENEWAL = 10.0
STALE = 60.0
_POLL = 0.5
logger = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who has a lease. `claim` changes with each renewal; `process` tells a process from a later one of its number."""

    host: str
    pid: int
    name: str
    since: str
    process: str
    claim: str = ""

    @classmethod
    def me(cls, name: str) -> Holder:
        """This process."""
        moment = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
        return cls(host=socket.gethostname(), pid=os.getpid(), name=name, since=moment, process=_process(os.getpid()))

    @classmethod
    def from_json(cls, text: str) -> Holder | None:
        """As it was written; None where it cannot be understood."""
        try:
            content = json.loads(text)
            return cls(**{key: content[key] for key in ("host", "pid", "name", "since", "process", "claim")})
        except (ValueError, KeyError, TypeError):
            return None

    def __str__(self) -> str:
        return f"job `{self.name}`, process {self.pid} on {self.host}, since {self.since}"

    @property
    def has_gone(self) -> bool:
        """Whether it was a process of this machine that has ended. False where that cannot be known."""
        boot = self.process.partition("/")[0]
        return self.host == socket.gethostname() and boot == _boot() != "" and _process(self.pid) != self.process


def _boot() -> str:
    """What tells this machine, since it was started, from all others. Linux only."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def _process(pid: int) -> str:
    """What tells a process from every other that has or had its number: the boot, and when it started."""
    with contextlib.suppress(OSError, IndexError):
        started = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
        return f"{_boot()}/{started}"
    return ""


@contextlib.contextmanager
def hold(checkpoint: str, name: str, stopping: Callable[[], bool] = lambda: False) -> Iterator[Callable[[], None]]:
    """Hold the lease of a checkpoint; `JobError` where another job has it, which the text names.

    Yields a function that raises `JobError` once the lease is lost; call it now and then.
    """
    directory = manifests.local(checkpoint)
    with (
        _locked(directory, checkpoint, name) if directory is not None else _claimed(checkpoint, name, stopping) as held
    ):
        yield held


def _taken(checkpoint: str, holder: Holder | None) -> JobError:
    who = str(holder) if holder is not None else "another process"
    return JobError(f"checkpoint {checkpoint} is in use by {who}: stop that job first, or use another checkpoint")


# --- mounted file systems ------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _locked(directory: Path, checkpoint: str, name: str) -> Iterator[Callable[[], None]]:
    import fcntl

    path = directory / NAME
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise JobError(f"checkpoint {checkpoint}: cannot be written: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _taken(checkpoint, Holder.from_json(path.read_text(encoding="utf-8"))) from None
        except OSError as error:
            raise JobError(f"checkpoint {checkpoint}: {NAME} cannot be locked: {error.strerror}") from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(asdict(Holder.me(name))).encode() + b"\n", 0)
        yield lambda: None
    finally:
        os.close(descriptor)


# --- object stores -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _claimed(checkpoint: str, name: str, stopping: Callable[[], bool]) -> Iterator[Callable[[], None]]:
    claim = _Claim(checkpoint, Holder.me(name))
    claim.take(stopping)
    done = threading.Event()
    thread = threading.Thread(target=claim.keep, args=(done,), name="cep-lease", daemon=True)
    thread.start()
    try:
        yield claim.check
    finally:
        done.set()
        thread.join()
        claim.release()


class _Claim:
    """A claim in a file that is renewed."""

    def __init__(self, checkpoint: str, me: Holder) -> None:
        self._checkpoint = checkpoint
        self._me = me
        self._filesystem, directory = manifests.remote(checkpoint)
        self._path = f"{directory}/{NAME}"
        self._lost: JobError | None = None

    def take(self, stopping: Callable[[], bool]) -> None:
        """Claim the checkpoint once nobody else does; `JobError` where somebody else goes on doing so."""
        found = self._read()
        if found is not None and not found.has_gone:
            logger.warning("waiting_for_lease", checkpoint=self._checkpoint, holder=str(found), seconds=STALE)
            deadline = time.monotonic() + STALE
            while time.monotonic() < deadline:
                if stopping():
                    raise _taken(self._checkpoint, found)
                time.sleep(_POLL)
                now = self._read()
                if now is None:
                    break
                if now.claim != found.claim:
                    raise _taken(self._checkpoint, now)
        self._write()
        time.sleep(_POLL)  # of two that write at the same time, the first one sees the other's claim
        self._compare()
        self.check()

    def keep(self, done: threading.Event) -> None:
        """Renew the claim until `done`; a store that does not answer is asked again, for as long as the claim lasts."""
        renewed = time.monotonic()
        while self._lost is None and not done.wait(RENEWAL):
            try:
                self._compare()
                if self._lost is None:
                    self._write()
                    renewed = time.monotonic()
            except JobError as error:  # noqa: PERF203 - once in ten seconds
                if time.monotonic() - renewed > STALE:
                    self._lost = error

    def check(self) -> None:
        """Raise where the claim is somebody else's, or could not be renewed."""
        if self._lost is not None:
            raise self._lost

    def release(self) -> None:
        """Remove the claim, so that nobody has to wait for it."""
        with contextlib.suppress(JobError, OSError):
            if self._lost is None:
                self._compare()
            if self._lost is None:
                self._filesystem.delete_file(self._path)

    def _compare(self) -> None:
        found = self._read()
        if found is None or (found.pid, found.host, found.process) != (self._me.pid, self._me.host, self._me.process):
            self._lost = _taken(self._checkpoint, found)

    def _read(self) -> Holder | None:
        try:
            with self._filesystem.open_input_stream(self._path) as file:
                return Holder.from_json(file.read().decode(errors="replace"))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise JobError(f"checkpoint {self._checkpoint}: cannot be read: {error}") from error

    def _write(self) -> None:
        content: dict[str, Any] = {**asdict(self._me), "claim": uuid.uuid4().hex}
        try:
            with self._filesystem.open_output_stream(self._path) as file:
                file.write(json.dumps(content).encode())
        except OSError as error:
            raise JobError(f"checkpoint {self._checkpoint}: cannot be written: {error}") from error

"""Engines in a process of their own: one host for each slot on each executor.

Spark hands a task to any idle Python worker, and a task with several Python steps holds several at a time. An engine
kept inside a worker is therefore often not where the next batch of its slot runs, and one that is has missed entries
(the metrics `rebuilt` and `caught_up` show it; batches of two million events took 2.3 s that way, 1.8 s with hosts).
A host is found under the slot's name by whichever worker runs the slot, so each event is pushed once and each engine is
in memory once.

Workers and hosts talk over a Unix socket in a directory that only this user can enter. A host is started by the first
worker that misses it, serves one worker at a time, and ends when the process that started the workers does, or when
nobody has come for `IDLE` seconds. It is a cache like any other: where it cannot be started, the worker keeps the
engines itself, and if it dies the task fails, is tried again, and reads the log.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cep.plan import Plan
from runtime.spark.cache import IDLE, Engines, Key, LocalEngines, Position

_FRAME = struct.Struct("<Q")
_PATIENCE = 60.0
_LOOK = 2.0
_LONGEST_PATH = 100


class HostError(RuntimeError):
    """A host failed; the text has its traceback."""


def engines(
    job: str, slot: int, times: Mapping[str, str | None], make: Callable[[Plan], Any], *, hosted: bool = True
) -> Engines:
    """The engines of a slot: those of its host, or, where there can be none, of this process."""
    if hosted and hasattr(socket, "AF_UNIX"):
        with contextlib.suppress(OSError):
            return HostedEngines(_connect(job, slot), times, make)
    return LocalEngines(times, make)


# --- the worker's side ---------------------------------------------------------------------------------------------


class HostedEngines:
    """`Engines` at the other end of a connection."""

    def __init__(self, connection: socket.socket, times: Mapping[str, str | None], make: Callable[[Plan], Any]) -> None:
        from pyspark import cloudpickle

        self._connection = connection
        self._ask("hello", cloudpickle.dumps((dict(times), make)))  # type: ignore[no-untyped-call]

    def position(self, key: Key) -> Position | None:
        """See `Engines`."""
        found = self._ask("position", key)
        return Position(*found) if found is not None else None

    def create(self, key: Key, plan: Plan, position: Position) -> None:
        """See `Engines`."""
        self._ask("create", key, plan, tuple(position))

    def feed(
        self, key: Key, number: int, token: int, watermark: int | None, payload: bytes, *, emit: bool
    ) -> Iterator[tuple[int, bytes]]:
        """See `Engines`."""
        _send(self._connection, ("feed", key, number, token, watermark, emit), payload)
        while (answer := self._answer()) is not None:
            yield answer

    def close(self) -> None:
        """See `Engines`."""
        self._connection.close()

    def _ask(self, *request: Any) -> Any:
        _send(self._connection, request)
        return self._answer()

    def _answer(self) -> Any:
        (kind, value), _ = _receive(self._connection)
        if kind == "error":
            raise HostError(value)
        return value


def _directory(job: str) -> Path:
    return Path(tempfile.gettempdir()) / f"cep-{os.getuid()}-{job[:12]}"


def _connect(job: str, slot: int) -> socket.socket:
    """A connection to the host of a slot, which is started if need be. OSError where that fails."""
    directory = _directory(job)
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.stat().st_uid != os.getuid():
        raise PermissionError(f"{directory} belongs to somebody else")
    path = directory / f"{slot & (1 << 64) - 1:x}"
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise OSError(f"{path}: too long for a socket")
    connection = _try(path)
    if connection is not None:
        return connection
    _spawn(path)
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        connection = _try(path)
        if connection is not None:
            return connection
        time.sleep(0.01)
    raise TimeoutError(f"the host at {path} does not answer")


def _try(path: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        return None
    return connection


def _spawn(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with open(f"{path}.log", "wb") as log:  # noqa: PTH123 - a descriptor for the child
        subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "runtime.spark.host", str(path), str(os.getppid())],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


# --- frames --------------------------------------------------------------------------------------------------------


def _send(connection: socket.socket, message: Any, payload: bytes = b"") -> None:
    head = pickle.dumps(message)
    connection.sendall(_FRAME.pack(len(head)) + _FRAME.pack(len(payload)) + head)
    if payload:
        connection.sendall(payload)


def _receive(connection: socket.socket) -> tuple[Any, bytes]:
    sizes = _exactly(connection, 2 * _FRAME.size)
    head = _exactly(connection, _FRAME.unpack_from(sizes)[0])
    payload = _exactly(connection, _FRAME.unpack_from(sizes, _FRAME.size)[0])
    return pickle.loads(head), payload  # noqa: S301 - from ourselves, through a directory that only we can enter


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray(size)
    view = memoryview(data)
    done = 0
    while done < size:
        count = connection.recv_into(view[done:])
        if count == 0:
            raise EOFError
        done += count
    return bytes(data)


# --- the host's side -----------------------------------------------------------------------------------------------


def serve(path: Path, parent: int) -> None:
    """Serve workers until the parent process is gone, or nobody comes any more."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    lock = path.with_name(path.name + ".lock")
    try:
        # One host per slot: the one that gets the lock. A stale lock is of a process that is gone.
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return
    path.unlink(missing_ok=True)
    listener.bind(str(path))
    listener.listen(8)
    listener.settimeout(_LOOK)
    last = time.monotonic()
    while time.monotonic() - last < IDLE and _alive(parent):
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        connection.settimeout(None)
        with connection, contextlib.suppress(EOFError, OSError):
            _converse(connection)
        last = time.monotonic()
    for file in (path, lock, path.with_name(path.name + ".log")):
        file.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _converse(connection: socket.socket) -> None:
    """One worker's batch."""
    local: LocalEngines | None = None
    while True:
        request, payload = _receive(connection)
        try:
            if request[0] == "hello":
                times, make = pickle.loads(request[1])  # noqa: S301 - see `_receive`
                local = LocalEngines(times, make)
                _send(connection, ("value", None))
                continue
            assert local is not None
            if request[0] == "feed":
                _, key, number, token, watermark, emit = request
                for count, blob in local.feed(key, number, token, watermark, payload, emit=emit):
                    _send(connection, ("value", (count, blob)))
                _send(connection, ("value", None))
            elif request[0] == "position":
                found = local.position(request[1])
                _send(connection, ("value", tuple(found) if found is not None else None))
            else:
                local.create(request[1], request[2], Position(*request[3]))
                _send(connection, ("value", None))
        except (EOFError, OSError):
            raise
        except Exception:  # whatever an engine raises belongs to the worker, whose task fails with it
            import traceback

            _send(connection, ("error", traceback.format_exc()))


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))

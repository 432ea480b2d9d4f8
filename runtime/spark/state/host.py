"""Engines in a process of their own: one host for each slot on each executor.

Spark hands a task to any idle Python worker, and a task with several Python steps holds several at a time. An engine
kept inside a worker is therefore often not where the next batch of its slot runs, and one that is has missed entries
(the metrics `rebuilt` and `caught_up` show it; batches of two million events took 2.3 s that way, 1.8 s with hosts).
A host is found under the slot's name by whichever worker runs the slot, so each event is pushed once and each engine is
in memory once.

Workers and hosts talk over a Unix socket in a directory that only this user can enter (`runtime.spark.state.frames`). A
host is started by the first worker that misses it, serves one worker at a time, and ends when the process that started
the workers does, or when nobody has come for `IDLE` seconds. It is a cache like any other: where it cannot be started,
the worker keeps the engines itself, and if it dies the task fails, is tried again, and reads the log.

A host builds engines of this program and nothing else: a job with engines of its own (`make_engine`) keeps them in the
workers.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cep.ir.plan import Plan
from runtime.spark.state import frames, plan_codec
from runtime.spark.state.cache import IDLE, Engines, Key, LocalEngines, NewEngine, Position, Waiting
from runtime.state.id_key import IdKey

_PATIENCE = 60.0
_WELCOME = 120.0
"""Seconds to wait for an answer to `hello`: the host may be with another worker, whose task is being given up."""
_HELLO = 60.0
"""Seconds that a worker has, once connected, to say `hello`."""
_LOOK = 2.0
_LONGEST_PATH = 100

logger = logging.getLogger("runtime.spark")


class HostError(RuntimeError):
    """An engine failed in its host; the text has its traceback."""


class HostLostError(RuntimeError):
    """The host has ended; the engines are rebuilt from the log when the task is tried again."""


def engines(
    job: str, slot: int, times: Mapping[str, str | None], make: Callable[[Plan], Any], *, hosted: bool = True
) -> Engines:
    """The engines of a slot: those of its host, or, where there can be none, of this process."""
    if hosted and isinstance(make, NewEngine) and frames.possible():
        try:
            return HostedEngines(_connect(job, slot), times, make.id_key)
        except OSError as error:
            logger.warning("no engine host: %s; the engines are kept in the Python worker", error)
    return LocalEngines(times, make)


# --- the worker's side ---------------------------------------------------------------------------------------------


class HostedEngines:
    """`Engines` at the other end of a connection. `OSError` where it does not answer."""

    def __init__(self, connection: socket.socket, times: Mapping[str, str | None], id_key: IdKey | None = None) -> None:
        self._connection = connection
        connection.settimeout(_WELCOME)
        try:
            key = id_key.secret.hex() if id_key is not None else None
            frames.send(connection, {"do": "hello", "times": dict(times), "id_key": key})
            frames.receive(connection)
        except EOFError:
            connection.close()
            raise ConnectionError("the host hung up") from None
        except BaseException:
            connection.close()
            raise
        connection.settimeout(None)

    def position(self, key: Key) -> Position | None:
        """See `Engines`."""
        found = self._ask({"do": "position", "key": key})
        return Position(*found) if found is not None else None

    def create(self, key: Key, plan: Plan, position: Position) -> None:
        """See `Engines`."""
        self._ask({"do": "create", "key": key, "plan": plan_codec.encode(plan), "position": position})

    def feed(
        self, key: Key, number: int, token: int, watermark: int | None, payload: bytes, *, emit: bool
    ) -> Iterator[tuple[int, bytes]]:
        """See `Engines`."""
        request = {"do": "feed", "key": key, "number": number, "token": token, "watermark": watermark, "emit": emit}
        self._send(request, payload)
        while (answer := self._answer())[0] is not None:
            yield answer

    def waiting(self, key: Key) -> Waiting:
        """See `Engines`."""
        return Waiting(*self._ask({"do": "waiting", "key": key}))

    def ties(self, keys: Mapping[str, Sequence[str]]) -> dict[str, int]:
        """See `Engines`."""
        found: dict[str, int] = self._ask({"do": "ties", "keys": dict(keys)})
        return found

    def close(self) -> None:
        """See `Engines`."""
        self._connection.close()

    def _ask(self, request: dict[str, Any]) -> Any:
        self._send(request)
        return self._answer()[0]

    def _send(self, request: dict[str, Any], payload: bytes = b"") -> None:
        try:
            frames.send(self._connection, request, payload)
        except OSError as error:
            raise HostLostError("the process with the engines of this slot has ended") from error

    def _answer(self) -> tuple[Any, bytes]:
        try:
            message, payload = frames.receive(self._connection)
        except (EOFError, OSError) as error:
            raise HostLostError("the process with the engines of this slot has ended") from error
        if "error" in message:
            raise HostError(message["error"])
        return message["value"], payload


def _directory(job: str) -> Path:
    return Path(tempfile.gettempdir()) / f"cep-{os.getuid()}-{job[:12]}"


def _connect(job: str, slot: int) -> socket.socket:
    """A connection to the host of a slot, which is started if need be. OSError where that fails."""
    directory = _directory(job)
    frames.private_directory(directory)
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
    try:
        frames.check_peer(connection)
    except OSError:
        connection.close()
        raise
    return connection


def _spawn(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    log = frames.private_file(path.with_name(path.name + ".log"), os.O_TRUNC)
    try:
        subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "runtime.spark.state.host", str(path), str(os.getppid())],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)


# --- the host's side -----------------------------------------------------------------------------------------------


def serve(path: Path, parent: int) -> None:
    """Serve workers until the parent process is gone, or nobody comes any more."""
    import fcntl

    frames.private_directory(path.parent)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    lock = path.with_name(path.name + ".lock")
    try:
        # One host per slot: the one that gets the lock. A stale lock is of a process that is gone.
        fcntl.flock(frames.private_file(lock, 0), fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        with connection, contextlib.suppress(EOFError, OSError):
            frames.check_peer(connection)
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
    connection.settimeout(_HELLO)
    request, _ = frames.receive(connection)
    if request.get("do") != "hello":
        raise ConnectionError("expected `hello` first")
    key = request["id_key"]
    local = LocalEngines(request["times"], NewEngine(IdKey(bytes.fromhex(key)) if key is not None else None))
    frames.send(connection, {"value": None})
    connection.settimeout(None)
    while True:
        request, payload = frames.receive(connection)
        try:
            _answer(connection, local, request, payload)
        except (EOFError, OSError):
            raise
        except Exception:  # whatever an engine raises belongs to the worker, whose task fails with it
            import traceback

            frames.send(connection, {"error": traceback.format_exc()})


def _answer(connection: socket.socket, local: LocalEngines, request: dict[str, Any], payload: bytes) -> None:
    if request["do"] == "ties":
        frames.send(connection, {"value": local.ties(request["keys"])})
        return
    job, slot, plan, generation = request["key"]
    key: Key = (job, slot, plan, generation)
    if request["do"] == "feed":
        number, token, watermark = request["number"], request["token"], request["watermark"]
        for count, blob in local.feed(key, number, token, watermark, payload, emit=request["emit"]):
            frames.send(connection, {"value": count}, blob)
        frames.send(connection, {"value": None})
    elif request["do"] == "position":
        frames.send(connection, {"value": local.position(key)})
    elif request["do"] == "waiting":
        frames.send(connection, {"value": local.waiting(key)})
    elif request["do"] == "create":
        local.create(key, plan_codec.decode(request["plan"]), Position(*request["position"]))
        frames.send(connection, {"value": None})
    else:
        raise ValueError(f"expected feed, position, waiting, create or ties, found {request['do']!r}")


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]))

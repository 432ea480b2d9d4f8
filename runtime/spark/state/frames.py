"""Messages between Python workers and engine hosts: a JSON head and a payload of bytes, over a Unix socket.

Nothing that is received is ever executed: no pickle in either direction. Sizes are bounded before anything is read;
a payload is a log entry or a blob of matches, which Spark itself bounds by 2 GiB.

Who may talk: the socket lies in a directory that only we can enter, and both ends ask the kernel (`SO_PEERCRED`)
whether the other belongs to the same user. Where a system cannot say so, there are no hosts.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import struct
from pathlib import Path
from typing import Any

_FRAME = struct.Struct("<4sIQ")
_MAGIC = b"CEPm"
_CREDENTIALS = struct.Struct("3i")
HEAD_LIMIT = 256 << 20
PAYLOAD_LIMIT = 1 << 31


def send(connection: socket.socket, message: dict[str, Any], payload: bytes = b"") -> None:
    """Send a message; `ValueError` where it is too large for one."""
    head = json.dumps(message).encode()
    if len(head) > HEAD_LIMIT or len(payload) > PAYLOAD_LIMIT:
        raise ValueError(f"a message of {len(head):,} and {len(payload):,} bytes is too large for an engine host")
    connection.sendall(_FRAME.pack(_MAGIC, len(head), len(payload)) + head)
    if payload:
        connection.sendall(payload)


def receive(connection: socket.socket) -> tuple[dict[str, Any], bytes]:
    """The next message. `EOFError` where the other end is gone, `ConnectionError` where it does not speak our way."""
    magic, head_size, payload_size = _FRAME.unpack(_exactly(connection, _FRAME.size))
    if magic != _MAGIC or head_size > HEAD_LIMIT or payload_size > PAYLOAD_LIMIT:
        raise ConnectionError("expected a message of this program on the socket of an engine host")
    try:
        message = json.loads(_exactly(connection, head_size))
    except ValueError as error:
        raise ConnectionError("expected a message in JSON on the socket of an engine host") from error
    if not isinstance(message, dict):
        raise ConnectionError("expected a message with named parts on the socket of an engine host")
    return message, _exactly(connection, payload_size)


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


# --- who and where -------------------------------------------------------------------------------------------------


def possible() -> bool:
    """Whether this system has what hosts need."""
    return hasattr(socket, "AF_UNIX") and hasattr(socket, "SO_PEERCRED")


def check_peer(connection: socket.socket) -> None:
    """`PermissionError` where the other end is not a process of this user."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(found)
    if user != os.getuid():
        raise PermissionError(f"the other end of an engine host's socket belongs to user {user}")


def private_directory(directory: Path) -> None:
    """Make a directory that only we can enter; `PermissionError` where what is there is anything else."""
    above = directory.parent.stat()
    if above.st_uid not in (0, os.getuid()) or (above.st_mode & 0o022 and not above.st_mode & stat.S_ISVTX):
        raise PermissionError(f"{directory.parent}: others could exchange what is in it")
    with contextlib.suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    found = directory.lstat()  # a link is not followed
    if not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{directory} is not a directory")
    if found.st_uid != os.getuid():
        raise PermissionError(f"{directory} belongs to somebody else")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(f"{directory} can be entered by others")


def private_file(path: Path, flags: int) -> int:
    """Open a file that only we can read, for writing; links are not followed."""
    return os.open(path, flags | os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

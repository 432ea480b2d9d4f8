"""Arrow tables as bytes: how events and matches travel through Spark and lie in its state.

A *blob* is one Arrow IPC stream. A *payload* is several blobs with the name of the stream of each: what the log keeps
of one batch. Both describe themselves, so that a job reads what an older version of it wrote.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence

import pyarrow as pa

_HEAD = struct.Struct("<4sI")
_MAGIC = b"CEP1"
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def to_blob(table: pa.Table | pa.RecordBatch) -> bytes:
    """A table as an Arrow IPC stream. O(bytes)."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as writer:
        writer.write(table)
    return bytes(sink.getvalue().to_pybytes())


def from_blob(blob: bytes | memoryview) -> pa.Table:
    """The table that `to_blob` wrote."""
    with pa.ipc.open_stream(pa.py_buffer(blob)) as reader:
        return reader.read_all()


def to_payload(parts: Sequence[tuple[str, bytes]]) -> bytes:
    """Blobs, each with its stream, as one value.

    >>> list(from_payload(to_payload([("A", b"12"), ("B", b"345")])))
    [('A', b'12'), ('B', b'345')]
    """
    head = json.dumps([[stream, len(blob)] for stream, blob in parts]).encode()
    return b"".join([_HEAD.pack(_MAGIC, len(head)), head, *(blob for _, blob in parts)])


def from_payload(payload: bytes) -> Iterable[tuple[str, bytes]]:
    """What `to_payload` put together."""
    magic, size = _HEAD.unpack_from(payload)
    if magic != _MAGIC:
        raise ValueError(f"expected a log entry of this program, found one that starts with {magic!r}")
    start = _HEAD.size + size
    for stream, length in json.loads(payload[_HEAD.size : start]):
        yield stream, payload[start : start + length]
        start += length

"""Snapshots: the rows of each leaf as Arrow, and a header that says what they belong to.

Indexes, key numbers and best starts are not stored: they are rebuilt from the rows, as after a compaction. Layout:
`CEPS`, two bytes of version, four of header length, a checksum of all that follows, the header as JSON, then one Arrow
IPC stream per leaf (and one for the tuples of a DISTINCT). A snapshot names its plan by key; another plan's is refused.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from runtime import hashing
from runtime.columnar import as_computed
from runtime.selection import Selection

if TYPE_CHECKING:
    from runtime.engine import Engine

MAGIC = b"CEPS"
VERSION = 3
_HEAD = struct.Struct("<4sHI16s")


class SnapshotError(ValueError):
    """Bytes that are no snapshot, or one of another version or plan."""


def extract(engine: Engine, rows: dict[str, np.ndarray]) -> dict[str, Any]:
    """Some rows of each leaf as record batches, their ids included."""
    batches = {}
    for var, chosen in rows.items():
        leaf = engine._leaves[var]
        arrays = {name: leaf.columns[name].computed(chosen) for name, _ in leaf.spec.columns}
        batches[var] = pa.RecordBatch.from_arrays(
            [
                *arrays.values(),
                pa.array(leaf.prints.content(chosen)),
                hashing.id_array(leaf.prints.at(chosen)),
            ],
            names=[*arrays, "_content", "_id"],
        )
    return batches


def reload(engine: Engine, batches: dict[str, Any]) -> None:
    """Empty the engine's state and fill it with these rows. O(rows)."""
    engine._reset()
    for trigger in engine.plan.triggers:
        batch = batches[trigger.var]
        leaf = engine._leaves[trigger.var]
        columns = {name: as_computed(batch.column(name)) for name, _ in leaf.spec.columns}
        ids = hashing.from_id_array(batch.column("_id"))
        content = batch.column("_content").to_numpy()
        rows = leaf.add(engine.plan, Selection.of(columns, batch.num_rows), (content, ids))
        engine._chains.added(trigger.var, rows)


def dump(engine: Engine) -> bytes:
    """The engine's state as bytes. O(live rows)."""
    batches = extract(engine, {var: leaf.live(engine.horizon) for var, leaf in engine._leaves.items()})
    parts = [_ipc(batch) for batch in batches.values()]
    if engine._alive is not None:
        parts.append(_ipc(engine._alive.dump()))
    header = {
        "plan": engine.plan.key,
        "pattern": engine.plan.pattern,
        "watermark": engine.watermark,
        "counters": {**engine.counters, "expired": engine.expired},
        "leaves": list(batches),
        "sizes": [len(part) for part in parts],
    }
    text = json.dumps(header).encode()
    content = b"".join([text, *parts])
    return _HEAD.pack(MAGIC, VERSION, len(text), _checksum(content)) + content


def load(engine: Engine, data: bytes) -> None:
    """Fill an empty engine from `dump`'s bytes; raises `SnapshotError` before anything is changed."""
    if len(data) < _HEAD.size or data[:4] != MAGIC:
        raise SnapshotError("these bytes are not a snapshot of an engine")
    _, version, length, checksum = _HEAD.unpack_from(data)
    if version != VERSION:
        raise SnapshotError(f"snapshot version {version} cannot be read here (this release reads {VERSION})")
    body = data[_HEAD.size + length :]
    try:
        header = json.loads(data[_HEAD.size : _HEAD.size + length])
        sizes = header["sizes"]
        if sum(sizes) != len(body):
            raise SnapshotError(f"the snapshot is truncated: {len(body)} of {sum(sizes)} bytes are here")
        if _checksum(data[_HEAD.size :]) != checksum:
            raise SnapshotError("the snapshot is damaged: its checksum is not that of its content")
        ends = np.cumsum(sizes)
        parts = [body[int(end - size) : int(end)] for end, size in zip(ends, sizes, strict=True)]
        if header["plan"] != engine.plan.key:
            raise SnapshotError(
                f"the snapshot is of another plan (pattern {header['pattern']}, key {header['plan'][:12]}): "
                f"this one is {engine.plan.pattern}, key {engine.plan.key[:12]}. A changed pattern starts empty."
            )
        batches = {var: _read(part) for var, part in zip(header["leaves"], parts, strict=False)}
    except (ValueError, KeyError, TypeError, pa.ArrowInvalid) as error:
        if isinstance(error, SnapshotError):
            raise
        raise SnapshotError(f"the snapshot is damaged: {error}") from error
    reload(engine, batches)
    if engine._alive is not None:
        engine._alive.load(_read(parts[-1]))
    engine.watermark = header["watermark"]
    engine.counters = header["counters"]


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def _ipc(batch: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def _read(data: bytes) -> Any:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()

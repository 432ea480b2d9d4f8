"""Snapshots: the rows of each leaf as Arrow, and a header that says what they belong to.

Indexes, key numbers and best starts are not stored: they are rebuilt from the rows, as after a compaction. Layout:
`CEPS`, two bytes of version, four of header length, a checksum of all that follows, the header as JSON, then one Arrow
IPC stream per leaf (then one for the tuples of a DISTINCT, and one for each leaf whose rows wait). A snapshot names its
plan by key; another plan's is refused, and so is one that was taken with another id key. Ids are not stored either:
they are made of what is. What is read is checked in full before it is used (`runtime.state.snapshot_check`).

Version 3, of before, is still read. It has the ids of then, which are left alone; of a DISTINCT output it has nothing
that is of use, and what is alive is worked out from the current matches.
"""

from __future__ import annotations

import hashlib
import json
import struct
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from runtime import pull
from runtime.arrays.columnar import as_computed
from runtime.intake.batches import as_type
from runtime.intake.selection import Selection
from runtime.results import stored_tuples
from runtime.state import snapshot_check
from runtime.state.snapshot_check import SnapshotError
from runtime.state.waiting import Waiting

if TYPE_CHECKING:
    from runtime.engine import Engine

__all__ = ["SnapshotError", "dump", "extract", "load", "reload"]

MAGIC = b"CEPS"
VERSION = 4
OLD = 3
READABLE = (OLD, VERSION)
_HEAD = struct.Struct("<4sHI16s")


def extract(engine: Engine, rows: dict[str, np.ndarray]) -> dict[str, Any]:
    """Some rows of each leaf as record batches."""
    batches = {}
    for var, chosen in rows.items():
        leaf = engine._leaves[var]
        arrays = {name: leaf.columns[name].computed(chosen) for name, _ in (*leaf.spec.columns, *leaf.spec.derived)}
        if not arrays:  # a batch without columns does not know how many rows it has
            arrays["_"] = pa.nulls(len(chosen))
        batches[var] = pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
    return batches


def reload(engine: Engine, batches: dict[str, Any]) -> None:
    """Empty the engine's state and fill it with these rows. O(rows)."""
    engine._reset()
    for var in engine.by_turns:
        batch = batches[var]
        leaf = engine._leaves[var]
        columns = {name: as_computed(batch.column(name)) for name, _ in leaf.spec.columns}
        rows = leaf.add(Selection.of(columns, batch.num_rows))
        for name, _ in leaf.spec.derived:
            leaf.columns[name].extend(as_computed(batch.column(name)))
        if leaf.spec.derived:
            leaf.look_at(rows)
        leaf.index(engine.plan, rows)
        if leaf.twins is not None:
            leaf.twins.settle()
        for branch in engine._branches:
            if var in branch.leaves:
                branch.chains.added(var, rows)


def dump(engine: Engine) -> bytes:
    """The engine's state as bytes. O(live rows)."""
    live = engine.live()
    batches = extract(engine, live)
    parts = [_ipc(batch) for batch in batches.values()]
    if engine._alive is not None:
        parts.append(_ipc(stored_tuples.dump(engine._alive, live, engine.lived)))
    parts += [_ipc(_waiting(room)) for room in engine._waiting.values()]
    latest = engine._clock.latest
    header = {
        "plan": engine.plan.meaning,
        "pattern": engine.plan.pattern,
        "id_key": engine._id_key.digest if engine._id_key is not None else None,
        "watermark": engine.watermark,
        "newest": {name: latest[code] for name, code in engine._codes.items() if code in latest},
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
    if version not in READABLE:
        raise SnapshotError(
            f"snapshot version {version} cannot be read here (this release reads {' and '.join(map(str, READABLE))})"
        )
    header = snapshot_check.read_header(data[_HEAD.size : _HEAD.size + length])
    body = data[_HEAD.size + length :]
    if sum(header["sizes"]) != len(body):
        raise SnapshotError(f"the snapshot is truncated: {len(body)} of {sum(header['sizes'])} bytes are here")
    if _checksum(data[_HEAD.size :]) != checksum:
        raise SnapshotError("the snapshot is damaged: its checksum is not that of its content")
    if not engine.plan.is_of(header["plan"]):
        raise SnapshotError(
            f"the snapshot is of another plan (pattern {header['pattern']}, key {header['plan'][:12]}): "
            f"this one is {engine.plan.pattern}, key {engine.plan.meaning[:12]}. A changed pattern starts empty."
        )
    old = version == OLD
    others = (engine._alive is not None) + len(engine._waiting)
    snapshot_check.check_header(header, engine.plan, engine.counters, old=old, others=others)
    key = engine._id_key.digest if engine._id_key is not None else None
    if not old and header["id_key"] != key:
        raise SnapshotError(
            f"the snapshot was taken with {_named(header['id_key'])}, this engine has {_named(key)}: ids would "
            "change half-way. Restore it with the key that it was taken with"
        )
    ends = list(accumulate(header["sizes"]))
    parts = [body[end - size : end] for end, size in zip(ends, header["sizes"], strict=True)]
    batches = {
        leaf.var: snapshot_check.read_rows(part, leaf, old=old)
        for leaf, part in zip(engine.plan.leaves, parts, strict=False)
    }
    rooms = parts[len(parts) - len(engine._waiting) :]
    waits = {
        var: snapshot_check.read_waiting(part, engine.plan.leaf(var), header["watermark"])
        for var, part in zip(engine._waiting, rooms, strict=True)
    }
    reload(engine, batches)
    for var, batch in waits.items():
        columns = {name: as_computed(batch.column(name)) for name in batch.schema.names}
        engine._waiting[var].replace(Selection.of(columns, batch.num_rows), header["watermark"])
    engine.watermark = header["watermark"]
    engine.counters = {name: header["counters"][name] for name in engine.counters}
    for name, newest in header.get("newest", {}).items():
        engine._clock.reach(engine._codes[name], newest)
    if engine._alive is not None and old:
        engine._alive.recall(pull.all_matches(engine), engine.lived)
    elif engine._alive is not None:
        stored_tuples.load(engine._alive, parts[len(batches)], {var: batch.num_rows for var, batch in batches.items()})


def _waiting(room: Waiting) -> Any:
    columns = room.everything()
    if columns is None:
        columns = {name: pa.array([], as_type(type_)) for name, type_ in room.spec.columns}
    return pa.record_batch(columns)


def _named(digest: str | None) -> str:
    return "no id key" if digest is None else f"the id key {digest}"


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


def _ipc(batch: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())

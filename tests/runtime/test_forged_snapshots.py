"""Snapshots that somebody made up, checksum and all: refused, or read as what an engine could have written."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from runtime import Engine, SnapshotError
from tests.runtime.snapshot_fuzz import PLANS, originals, packed, unpacked

ROOT = Path(__file__).parents[2]


def fuzz(first: int, last: int) -> None:
    """In a process of its own, so that a crash of it is a failure of the test and not its end."""
    command = [sys.executable, "-m", "tests.runtime.snapshot_fuzz", str(first), str(last)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = result.stdout.splitlines() or ["nothing"]
    assert result.returncode == 0, f"status {result.returncode} after {lines[-1]}:\n{result.stderr[-3000:]}"
    said = lines[-1].replace(",", "").split()
    refused, used, grown = int(said[1]), int(said[3]), int(said[4])
    assert refused > (last - first) // 3, "most forgeries are seen"
    assert used > (last - first) // 20, "and some are events like others"
    assert grown < 200, "no claim of a header allocates anything"


def test_forged_snapshots_never_crash_and_are_never_half_read() -> None:
    fuzz(0, 300)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_thousands_of_forged_snapshots(block: int) -> None:
    fuzz(1000 * (block + 1), 1000 * (block + 2))


Change = Callable[[dict[str, Any]], object]
HEADERS: dict[str, tuple[Change, str]] = {
    "watermark of text": (lambda h: h.update(watermark="1"), "its watermark is no number of microseconds"),
    "watermark out of range": (lambda h: h.update(watermark=2**63), "its watermark is no number of microseconds"),
    "no watermark": (lambda h: h.pop("watermark"), "its watermark is no number of microseconds"),
    "truth for a count": (lambda h: h["counters"].update(events=True), "its counter `events` is no number"),
    "a count left out": (lambda h: h["counters"].pop("late"), "its counter `late` is no number"),
    "another variable": (
        lambda h: h["leaves"].reverse(),
        r"it has rows of \['b', 'a'\], the pattern has the variables",
    ),
    "negative sizes": (lambda h: h.update(sizes=[-1, 1]), "a size in its header is no number"),
    "no plan": (lambda h: h.pop("plan"), "`plan` is missing in its header"),
    "time of another stream": (lambda h: h.update(newest={"Z": 1}), "its newest event times are not those"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name: str) -> None:
    header, parts = unpacked(originals()[0])
    change, message = HEADERS[name]
    change(header)
    with pytest.raises(SnapshotError, match=message):
        Engine.restore(PLANS[0], packed(json.dumps(header).encode(), parts))


@pytest.mark.parametrize("text", [b"[1]", b"{", b"\xff", b"[" * 100_000, b"{}"])
def test_headers_that_are_none(text: bytes) -> None:
    with pytest.raises(SnapshotError, match="damaged"):
        Engine.restore(PLANS[0], packed(text, unpacked(originals()[0])[1]))


def _ipc(batches: list[pa.RecordBatch], schema: pa.Schema) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _rows(part: bytes) -> pa.RecordBatch:
    return pa.ipc.open_stream(part).read_next_batch()


def _offsets_beyond(batch: pa.RecordBatch) -> pa.RecordBatch:
    at = batch.schema.names.index("k")
    valid, offsets, data = batch.column(at).buffers()
    wrong = bytearray(offsets.to_pybytes())
    wrong[4:8] = (2**30).to_bytes(4, "little")
    forged = pa.StringArray.from_buffers(len(batch), pa.py_buffer(bytes(wrong)), data, valid)
    return pa.RecordBatch.from_arrays([*batch.columns[:at], forged, *batch.columns[at + 1 :]], schema=batch.schema)


def _null_keys(batch: pa.RecordBatch) -> pa.RecordBatch:
    at = batch.schema.names.index("k")
    return batch.set_column(at, batch.schema.field(at), pa.nulls(len(batch), pa.string()))


PARTS: dict[str, tuple[Callable[[pa.RecordBatch], bytes], str]] = {
    "another type": (
        lambda _: _ipc([], pa.schema([("x", pa.int32())])),
        "the rows of a have other columns than ts int64, k string",
    ),
    "no batch": (lambda b: _ipc([], b.schema), "the rows of a cannot be read"),
    "two batches": (lambda b: _ipc([b, b], b.schema), "the rows of a come twice"),
    "offsets beyond their buffer": (lambda b: _ipc([_offsets_beyond(b)], b.schema), "the rows of a cannot be read"),
    "NULL keys": (lambda b: _ipc([_null_keys(b)], b.schema), "the rows of a have some that the pattern does not let"),
    "nothing": (lambda _: b"", "the rows of a cannot be read"),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts(name: str) -> None:
    header, parts = unpacked(originals()[0])
    change, message = PARTS[name]
    parts[0] = change(_rows(parts[0]))
    header["sizes"] = [len(part) for part in parts]
    with pytest.raises(SnapshotError, match=message):
        Engine.restore(PLANS[0], packed(json.dumps(header).encode(), parts))


def test_tuples_twice() -> None:
    header, parts = unpacked(originals()[2])
    batch = _rows(parts[-1])
    parts[-1] = _ipc([pa.concat_batches([batch, batch])], batch.schema)
    header["sizes"] = [len(part) for part in parts]
    with pytest.raises(SnapshotError, match="the tuples of DISTINCT have one twice"):
        Engine.restore(PLANS[2], packed(json.dumps(header).encode(), parts))


def _times(batch: pa.RecordBatch, value: int | None) -> pa.RecordBatch:
    at = batch.schema.names.index("ts")
    return batch.set_column(at, batch.schema.field(at), pa.array([value] * len(batch), pa.int64()))


WAITING: dict[str, tuple[Callable[[pa.RecordBatch], pa.RecordBatch], str]] = {
    "due": (lambda b: _times(b, 0), "the waiting rows of b have some that are due"),
    "without a time": (lambda b: _times(b, None), "the waiting rows of b have some (without a time|that the pattern)"),
    "of no key": (_null_keys, "the waiting rows of b have some that the pattern does not let through"),
    "of another shape": (lambda b: b.drop_columns(["k"]), "the waiting rows of b have other columns"),
}


@pytest.mark.parametrize("name", WAITING)
def test_waiting_rows(name: str) -> None:
    """The plan with a NOT in the middle: b is held back."""
    header, parts = unpacked(originals()[5])
    batch = _rows(parts[-1])
    assert len(batch) > 3
    change, message = WAITING[name]
    forged = change(batch)
    parts[-1] = _ipc([forged], forged.schema)
    header["sizes"] = [len(part) for part in parts]
    with pytest.raises(SnapshotError, match=message):
        Engine.restore(PLANS[5], packed(json.dumps(header).encode(), parts))


@pytest.mark.parametrize("which", [5, 6])
def test_what_waits_goes_on_where_the_snapshot_was_taken(which: int) -> None:
    engine = Engine.restore(PLANS[which], originals()[which])
    assert engine.stats()["waiting"] > 0
    twice = Engine.restore(PLANS[which], engine.snapshot())
    assert (twice.due, twice.stats()["waiting"]) == (engine.due, engine.stats()["waiting"])
    assert engine.finish().read_all().equals(twice.finish().read_all())

"""Forged snapshots: bytes of real ones changed at random, with a checksum that is right.

    python -m tests.runtime.snapshot_fuzz FIRST LAST

For each seed a forged snapshot is restored and, where that works, used: pushed to, asked for its matches, written and
restored again. `SnapshotError` or a working engine are right; anything else ends the process, and the seed printed last
is the one that did it. Run in a process of its own, for a crash is what is looked for.
"""

from __future__ import annotations

import faulthandler
import hashlib
import json
import struct
import sys
from random import Random

import pyarrow as pa

from runtime import Engine, SnapshotError
from runtime.memory import peak_rss
from tests.runtime.support import SECOND, batch, compiled

STREAMS = """STREAM T (ts TIMESTAMP, k STRING, x INT, d DOUBLE, f BOOLEAN) TIMESTAMP BY ts;
STREAM U (ts TIMESTAMP, k STRING, x INT) TIMESTAMP BY ts WATERMARK 1 MINUTE;
STREAM N (k STRING, x INT, y DOUBLE);"""
PATTERNS = (
    "PATTERN P SEQ(T a, T b) WHERE a.k = b.k AND a.x < b.x WITHIN 1 HOUR;",
    "PATTERN P SEQ(T a, U b) WHERE a.k = b.k WITHIN 1 HOUR RETURN DISTINCT b.k AS k, a.f AS f;",
    "PATTERN P AND(N a, N b) WHERE a.k < b.k AND a.x = b.x UNBOUNDED RETURN DISTINCT a.k AS k;",
    "PATTERN P SEQ(T a, AND(U b, T c)) WHERE a.k = b.k AND b.k = c.k AND a.x > 0 AND a.d <= c.d WITHIN 1 HOUR;",
    "PATTERN P AND(N a, N b, N c) WHERE a.x = b.x AND b.x = c.x AND a.y + b.y > c.y UNBOUNDED;",
    "PATTERN P SEQ(T a, NOT U n, T b, T c) WHERE a.x > 0 PARTITION BY k WITHIN 1 HOUR;",
    "PATTERN P SEQ(NOT T m, T a, NOT U n) WHERE n.x > a.x PARTITION BY k WITHIN 1 HOUR RETURN DISTINCT a.k AS k;",
    "PATTERN P SEQ(OR(T a, U a), U? n, T b) WHERE a.x > 0 PARTITION BY k WITHIN 1 HOUR;",
    "PATTERN P SEQ(T a, OR(T b, NOT U n)) PARTITION BY k WITHIN 1 HOUR RETURN DISTINCT a.k AS k, b.f AS f, b.d AS d;",
)
PLANS = [compiled(f"{STREAMS} {pattern}") for pattern in PATTERNS]
HEAD = struct.Struct("<4sHI16s")
NUMBERS = (0, 1, -1, 2, 7, 8, 255, 2**15, 2**31 - 1, -(2**31), 2**32, 2**40, 2**63 - 1, -(2**63))


def events(count: int, rng: Random) -> list[dict[str, object]]:
    return [
        {
            "ts": i * 60 * SECOND,
            "k": rng.choice(["ä", "b", "", "\U0001f600", None]),
            "x": rng.choice([1, 2, 3, 2**40, None]),
            "d": rng.choice([0.5, 1.5, None]),
            "f": rng.choice([True, False, None]),
            "y": rng.choice([0.5, 1.5, None]),
        }
        for i in range(count)
    ]


def batches(engine: Engine, count: int, seed: int) -> dict[str, pa.RecordBatch]:
    rng = Random(seed)
    plan = engine.plan
    return {s.name: batch(plan, s.name, events(count, rng)) for s in plan.streams}


def originals() -> list[bytes]:
    """A snapshot of each pattern with some state."""
    found = []
    for plan in PLANS:
        engine = Engine(plan)
        for seed in range(2):
            engine.push(batches(engine, 12, seed), (300 if plan.waits else 5) * SECOND).read_all()
        found.append(engine.snapshot())
    return found


def packed(header: bytes, parts: list[bytes]) -> bytes:
    content = b"".join([header, *parts])
    return HEAD.pack(b"CEPS", VERSION, len(header), hashlib.blake2b(content, digest_size=16).digest()) + content


def unpacked(data: bytes) -> tuple[dict[str, object], list[bytes]]:
    length = HEAD.unpack_from(data)[2]
    header = json.loads(data[HEAD.size : HEAD.size + length])
    at, parts = HEAD.size + length, []
    for size in header["sizes"]:
        parts.append(data[at : at + size])
        at += size
    return header, parts


def _changed(data: bytes, rng: Random) -> bytes:
    """Bytes flipped, numbers overwritten, pieces cut out, doubled or moved."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(made)) if made else 0
        kind = rng.random()
        if kind < 0.35:
            made[at : at + 1] = bytes([rng.randrange(256)])
        elif kind < 0.5:
            made[at : at + 1] = bytes([made[at] ^ (1 << rng.randrange(8))]) if made else b""
        elif kind < 0.85:
            size, code = rng.choice(((4, "<I"), (8, "<Q"), (2, "<H")))
            at -= at % size
            if at + size <= len(made):
                value = rng.choice((*NUMBERS, struct.unpack_from(code, made, at)[0] + rng.choice((-8, -1, 1, 8))))
                made[at : at + size] = struct.pack(code, value % (1 << 8 * size))
        elif kind < 0.93:
            del made[at : at + rng.choice((1, 8, 64))]
        else:
            made[at:at] = made[at : at + rng.choice((8, 64))]
    return bytes(made)


def _changed_header(header: dict[str, object], rng: Random) -> dict[str, object]:
    odd = (None, True, -1, 2**70, 0.5, "x", [], {}, ["a"], {"events": "x"}, [2**62], "\ud800")
    made = dict(header)
    name = rng.choice(list(made))
    if rng.random() < 0.2:
        made.pop(name)
    elif isinstance(made[name], dict) and made[name] and rng.random() < 0.6:
        inner = dict(made[name])  # type: ignore[call-overload]
        inner[rng.choice(list(inner))] = rng.choice(odd)
        made[name] = inner
    else:
        made[name] = rng.choice(odd)
    return made


def forged(data: bytes, rng: Random) -> bytes:
    header, parts = unpacked(data)
    kind = rng.random()
    if kind < 0.12:
        header = _changed_header(header, rng)
    elif kind < 0.2:
        rng.shuffle(parts)
        header["sizes"] = [len(part) for part in parts]
    elif kind < 0.25:
        return packed(_changed(json.dumps(header).encode(), rng), parts)
    else:
        which = rng.randrange(len(parts))
        parts[which] = _changed(parts[which], rng)
        header["sizes"] = [len(part) for part in parts]
    return packed(json.dumps(header).encode(), parts)


def use(engine: Engine, seed: int) -> None:
    """Whatever was restored works, and puts out what the plan says."""
    engine._check()
    schema = engine.enumerate().schema
    for table in (engine.enumerate().read_all(), engine.push(batches(engine, 20, seed), None).read_all()):
        table.validate(full=True)
        assert table.schema == schema
    assert engine.count() == engine.enumerate().read_all().num_rows
    if engine.plan.waits:
        engine.finish().read_all().validate(full=True)
        engine._check()
    stats = engine.stats()
    assert all(type(stats[name]) is int for name in ("events", "matches", "late", "expired", "bytes"))
    engine.push(batches(engine, 3, seed)).read_all()
    again = Engine.restore(engine.plan, engine.snapshot())
    assert again.count() == engine.count()


def main(first: int, last: int) -> None:
    faulthandler.enable()
    real = originals()
    refused = 0
    before = peak_rss()
    for seed in range(first, last):
        print(seed, flush=True)
        rng = Random(seed)
        which = rng.randrange(len(real))
        try:
            engine = Engine.restore(PLANS[which], forged(real[which], rng))
        except SnapshotError:
            refused += 1
            continue
        use(engine, seed)
    grown = (peak_rss() - before) >> 20
    print(f"refused {refused}, used {last - first - refused}, {grown} MB", flush=True)


VERSION = HEAD.unpack_from(Engine(PLANS[0]).snapshot())[1]

if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

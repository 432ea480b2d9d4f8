"""Snapshots: what they bring back, what they refuse, and that stored ones stay readable."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from runtime import Engine, SnapshotError
from runtime.snapshot import READABLE, VERSION
from tests.runtime.support import SECOND, compiled, current, fields, ids, push, rows_of

HERE = Path(__file__).parent / "snapshots"
STREAM = "STREAM T (ts TIMESTAMP, k STRING, x INT, d DOUBLE, f BOOLEAN) TIMESTAMP BY ts;"
SEQ = f"{STREAM} PATTERN P SEQ(T a, T b) WHERE a.k = b.k AND a.x < b.x WITHIN 1 HOUR;"
DISTINCT = f"{STREAM} PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR RETURN DISTINCT b.k AS k, a.f AS f;"
STORED = {"seq": SEQ, "distinct": DISTINCT}


def events(first: int, last: int) -> list[dict[str, object]]:
    rng = Random(7)
    made = [
        {
            "ts": i // 2 * 60 * SECOND,
            "k": rng.choice(["ä", "b", "", "\U0001f600", None]),
            "x": rng.choice([1, 2, -(2**63), 2**63 - 1, None]),
            "d": rng.choice([0.5, -0.0, float("inf"), None]),
            "f": rng.choice([True, False, None]),
        }
        for i in range(last)
    ]
    return made[first:]


def filled(text: str) -> Engine:
    engine = Engine(compiled(text))
    push(engine, events(0, 30), watermark=10 * 60 * SECOND)
    push(engine, [events(0, 30)[-1]], signs=[-1])
    push(engine, [{**events(0, 1)[0], "ts": 0}])  # too late
    return engine


@pytest.mark.parametrize("name", STORED)
def test_a_restored_engine_goes_on_as_if_nothing_had_happened(name: str) -> None:
    one = filled(STORED[name])
    two = Engine.restore(one.plan, one.snapshot())
    two._check()
    assert current(two) == current(one)
    stats = [
        {k: v for k, v in engine.stats().items() if k not in ("operations", "bytes", "keys")} for engine in (one, two)
    ]
    assert {**stats[0], "indexes": None} == {**stats[1], "indexes": None}
    assert stats[0]["late"] == 1
    assert two.snapshot() == one.snapshot()
    more = events(30, 50)
    assert sorted(map(str, push(one, more, watermark=20 * 60 * SECOND))) == sorted(
        map(str, push(two, more, watermark=20 * 60 * SECOND))
    )
    assert push(two, [events(0, 10)[8]]) == [], "the watermark came along"


def test_an_empty_engine_has_a_snapshot_too() -> None:
    plan = compiled(SEQ)
    engine = Engine.restore(plan, Engine(plan).snapshot())
    assert engine.count() == 0
    assert engine.watermark is None


@pytest.mark.parametrize("data", [b"", b"CEP", b"hello, world", b"PAR1" + bytes(100), b"CEPS"])
def test_foreign_bytes(data: bytes) -> None:
    with pytest.raises(SnapshotError, match="these bytes are not a snapshot of an engine"):
        Engine.restore(compiled(SEQ), data)


def test_another_version() -> None:
    data = bytearray(filled(SEQ).snapshot())
    data[4:6] = struct.pack("<H", VERSION + 1)
    with pytest.raises(
        SnapshotError, match=f"snapshot version {VERSION + 1} cannot be read here .*reads 3 and {VERSION}"
    ):
        Engine.restore(compiled(SEQ), bytes(data))


def test_another_plan() -> None:
    with pytest.raises(SnapshotError) as caught:
        Engine.restore(compiled(SEQ.replace("1 HOUR", "2 HOURS")), filled(SEQ).snapshot())
    assert "the snapshot is of another plan (pattern P, key " in str(caught.value)
    assert "A changed pattern starts empty." in str(caught.value)


def test_layout_and_comments_do_not_make_another_plan() -> None:
    spelled = SEQ.replace("WHERE", "-- spaced out\n  WHERE").replace("SEQ(T a, T b)", "seq( T a ,T b )")
    assert current(Engine.restore(compiled(spelled), filled(SEQ).snapshot())) == current(filled(SEQ))


@pytest.mark.parametrize("name", STORED)
def test_truncation_anywhere_is_noticed(name: str) -> None:
    plan, data = compiled(STORED[name]), filled(STORED[name]).snapshot()
    rng = Random(1)
    for size in {*range(60), *(rng.randrange(len(data)) for _ in range(60)), len(data) - 1}:
        with pytest.raises(SnapshotError, match=r"not a snapshot|truncated|damaged"):
            Engine.restore(plan, data[:size])
    with pytest.raises(SnapshotError, match=r"damaged|truncated"):
        Engine.restore(plan, data + b"x")


@pytest.mark.parametrize("name", STORED)
def test_damage_is_noticed(name: str) -> None:
    """A flipped byte anywhere is refused: a snapshot is never read as something else."""
    plan, data = compiled(STORED[name]), filled(STORED[name]).snapshot()
    rng = Random(2)
    for place in {*range(40), *(rng.randrange(len(data)) for _ in range(150))}:
        damaged = bytearray(data)
        damaged[place] ^= 0x15
        with pytest.raises(SnapshotError):
            Engine.restore(plan, bytes(damaged))


def test_a_refused_snapshot_leaves_nothing_behind() -> None:
    plan = compiled(SEQ)
    with pytest.raises(SnapshotError):
        Engine.restore(plan, filled(SEQ).snapshot()[:-1])
    assert len(push(Engine(plan), events(0, 30))) == len(push(Engine(plan), events(0, 30)))


def test_a_snapshot_waits_until_the_matches_are_read() -> None:
    engine = Engine(compiled(SEQ))
    reader = engine.push({})
    with pytest.raises(RuntimeError, match="have not been read to the end"):
        engine.snapshot()
    reader.read_all()
    engine.snapshot()


@pytest.mark.parametrize("version", READABLE)
@pytest.mark.parametrize("name", STORED)
def test_stored_snapshots_stay_readable(name: str, version: int) -> None:
    """Written when the format got its version (`write` below). Never write them again for this version.

    Ids are not stored: what is restored has those of today, which both versions of before the first release had not.

    The plan gets the hash that it had then: what the compiler makes of the pattern today is not this test's matter.
    """
    data = (HERE / f"{name}.v{version}.snapshot").read_bytes()
    want = json.loads((HERE / f"{name}.v{version}.json").read_text())
    plan = compiled(STORED[name])
    plan = replace(plan, meaning=want["plan"])
    engine = Engine.restore(plan, data)
    assert engine.watermark == want["watermark"]
    assert engine.stats()["events"] == want["events"]
    assert engine.stats()["late"] == want["late"]
    assert sorted(key.hex() for key in ids(rows_of(engine.enumerate().read_all()))) == want["ids"]
    assert sorted(map(str, fields(push(engine, events(30, 40))))) == want["next"]
    engine._check()


def write() -> None:
    """Write the stored snapshots: once per version of the format."""
    for name, text in STORED.items():
        engine = filled(text)
        (HERE / f"{name}.v{VERSION}.snapshot").write_bytes(engine.snapshot())
        stats = engine.stats()
        want = {
            "plan": engine.plan.meaning,
            "watermark": engine.watermark,
            "events": stats["events"],
            "late": stats["late"],
            "ids": sorted(key.hex() for key in ids(rows_of(engine.enumerate().read_all()))),
            "next": sorted(map(str, fields(push(engine, events(30, 40))))),
        }
        (HERE / f"{name}.v{VERSION}.json").write_text(json.dumps(want, indent=1) + "\n")

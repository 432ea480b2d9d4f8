"""Memory: `stats()["bytes"]` is what the engine holds, and what a burst brought goes with its window."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import runtime.compaction
from runtime import Engine
from tests.runtime.support import SECOND, compiled, push

STREAM = "STREAM T (ts TIMESTAMP, k STRING, n INT, x INT, s STRING) TIMESTAMP BY ts WATERMARK 5 SECONDS;"
KEYED = "a.k = b.k AND a.n = b.n"
SHAPES = {
    "text keys": "PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR;",
    "keys of two parts": f"PATTERN P SEQ(T a, T b) WHERE {KEYED} WITHIN 1 HOUR;",
    "large numbers": "PATTERN P SEQ(T a, T b) WHERE a.x = b.x AND a.n = b.n WITHIN 1 HOUR RETURN a.x AS x;",
    "texts compared": "PATTERN P AND(T a, T b) WHERE a.k = b.k AND a.s < b.s WITHIN 1 HOUR RETURN a.s AS s;",
    "distinct": "PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR RETURN DISTINCT a.n AS n, b.n AS m;",
    "one variable shown": "PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR RETURN DISTINCT a.k AS k;",
    "late events": "PATTERN P SEQ(T a, T b, T c) WHERE a.k = b.k AND b.k = c.k WITHIN 1 HOUR;",
}


def events(first: int, count: int, keys: int, *, seed: int = 1, disorder: int = 0) -> pa.Table:
    random = np.random.default_rng(seed + first)
    numbers = random.integers(0, keys, count)
    times = (first + np.arange(count)) * (SECOND // 100) - random.integers(0, disorder + 1, count)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array([f"account number {n}" for n in numbers.tolist()]),
            "n": pa.array(numbers % 100),
            "x": pa.array(numbers * 1_000_003 + 2**40),
            "s": pa.array([f"some text {n}" for n in random.integers(0, 10**9, count).tolist()]),
        }
    )


@pytest.mark.parametrize("name", SHAPES)
def test_bytes_are_what_is_held(name: str) -> None:
    """All that Python, numpy and Arrow have allocated since the engine was made, within a tenth."""
    plan = compiled(f"{STREAM} {SHAPES[name]}")
    late = 2 * SECOND if name == "late events" else 0
    Engine(plan).push(events(0, 100, 10)).read_all()  # what is made once for all engines

    def held(make: Callable[[], Engine]) -> tuple[int, Engine]:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes()
        engine = make()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes() - before, engine

    def filled() -> Engine:
        engine = Engine(plan)
        for first in range(0, 40_000, 4_000):
            for _ in engine.push(events(first, 4_000, 30_000, disorder=late)):
                pass
        return engine

    tracemalloc.start()
    try:
        empty, _unused = held(lambda: Engine(plan))
        measured, engine = held(filled)
    finally:
        tracemalloc.stop()
    told = engine.stats()["bytes"]
    assert abs(told - (measured - empty)) < 0.1 * measured, (told, measured, empty)
    assert told == engine.stats()["bytes"], "asking twice counts nothing twice"


def burst(engine: Engine, rows: int) -> None:
    """Many new keys at once, then a trickle of few for two windows."""
    for _ in engine.push(events(0, rows, 10**9)):
        pass
    for minute in range(1, 150):
        push(engine, [{"ts": (rows // 100 + 60 * minute) * SECOND, "k": "z", "n": 1, "x": 1, "s": "s"}], "declared")


@pytest.mark.parametrize("name", ["text keys", "keys of two parts", "large numbers", "distinct", "one variable shown"])
def test_keys_of_a_burst_go_with_its_window(name: str) -> None:
    engine = Engine(compiled(f"{STREAM} {SHAPES[name]}"))
    burst(engine, 40_000)
    stats = engine.stats()
    live = sum(stats["tuples"].values())
    assert 0 < live < 300
    assert sum(stats["keys"].values()) <= 2 * live, "keys of dead rows are gone"
    assert len(engine._spaces) <= 4 * live
    assert sum(leaf.size for leaf in engine._leaves.values()) < runtime.compaction.ROWS
    assert stats["bytes"] < 500_000
    engine._check()


def test_tuples_of_a_burst_go_with_its_window() -> None:
    text = f"{STREAM} {SHAPES['one variable shown']}"
    engine = Engine(compiled(text))
    twice = events(0, 5_000, 10**9)
    later = twice.set_column(0, "ts", pa.array(twice["ts"].cast(pa.int64()).to_numpy() + 60 * SECOND, twice["ts"].type))
    for table in (twice, later):
        for _ in engine.push(table):
            pass
    assert engine.stats()["distinct"] == 5_000
    burst_end = 110
    for minute in range(1, 150):
        push(engine, [{"ts": (burst_end + 60 * minute) * SECOND, "k": "z"}], "declared")
    assert engine.stats()["distinct"] < 10


def test_looks_are_amortised_over_the_rows_that_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the watermark moves by a window, a row is looked at a few times in its life."""
    monkeypatch.setattr(runtime.compaction, "ROWS", 64)
    monkeypatch.setattr(runtime.compaction, "KEYS", 64)
    text = "STREAM T (ts TIMESTAMP, k INT) TIMESTAMP BY ts WATERMARK 10 MINUTES;"
    engine = Engine(compiled(f"{text} PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 MILLISECOND;"))
    looked = 0
    live = type(engine._leaves["a"]).live

    def counted(leaf: object, floor: int | None) -> np.ndarray:
        nonlocal looked
        looked += leaf.size  # type: ignore[attr-defined]
        return live(leaf, floor)  # type: ignore[arg-type]

    monkeypatch.setattr(type(engine._leaves["a"]), "live", counted)
    count = 3_000
    for second in range(count):
        push(engine, [{"ts": second * SECOND, "k": second}], "declared")
    assert looked < 20 * 2 * count


def test_deleted_rows_and_their_keys_go_where_no_window_closes() -> None:
    engine = Engine(
        compiled("STREAM T (k INT, x INT); PATTERN P AND(T a, T b) WHERE a.k = b.k AND a.x < b.x UNBOUNDED;")
    )
    table = pa.table({"k": np.arange(30_000) + 2**40, "x": np.zeros(30_000, np.int64)})
    for sign in (1, -1):
        for _ in engine.push(table.append_column("_sign", pa.array(np.full(30_000, sign, np.int8)))):
            pass
    assert sum(engine.stats()["tuples"].values()) == 0
    assert sum(engine.stats()["keys"].values()) == 0

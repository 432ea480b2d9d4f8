"""`push` without a watermark: each stream's latest time minus its WATERMARK, the least of them, as a replay has it."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from runtime import Engine
from runtime.intake.watermark import Clock
from tests.runtime.support import SECOND, batch, compiled, fields, push

ONE = """STREAM T (ts TIMESTAMP, k INT) TIMESTAMP BY ts WATERMARK 10 SECONDS;
PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 MINUTE;"""
TWO = """STREAM A (ts TIMESTAMP, k INT) TIMESTAMP BY ts WATERMARK 10 SECONDS;
STREAM B (ts TIMESTAMP, k INT) TIMESTAMP BY ts WATERMARK 1 MINUTE;
STREAM N (k INT);
PATTERN P AND(A a, B b, N n) WHERE a.k = b.k AND b.k = n.k UNBOUNDED;"""


def at(*seconds: float | None, k: int = 1) -> list[dict[str, object]]:
    return [{"ts": None if s is None else round(s * SECOND), "k": k} for s in seconds]


def test_state_expires_without_anybody_passing_a_watermark() -> None:
    """The loop of the README."""
    engine = Engine(compiled(ONE))
    for minute in range(100):
        for _ in engine.push(batch(engine.plan, "T", at(60 * minute, 60 * minute + 30, k=minute))):
            pass
    stats = engine.stats()
    assert stats["watermark"] == (60 * 99 + 20) * SECOND
    assert stats["expired"] >= 2 * 2 * 97
    assert max(stats["tuples"].values()) <= 4


def test_it_takes_effect_after_the_batch() -> None:
    engine = Engine(compiled(ONE))
    push(engine, at(100, 50), "declared")  # not late: there was no watermark before
    assert engine.stats()["late"] == 0
    assert engine.watermark == 90 * SECOND
    push(engine, at(89, 90), "declared")
    assert engine.stats()["late"] == 1


def test_it_is_the_least_of_all_streams_with_time_and_none_before_each_has_had_an_event() -> None:
    engine = Engine(compiled(TWO))
    push(engine, {"A": at(1000), "N": [{"k": 1}]}, "declared")
    assert engine.watermark is None
    push(engine, {"B": at(None)}, "declared")
    assert engine.watermark is None, "an event without time is none"
    push(engine, {"B": at(500, None, 400)}, "declared")
    assert engine.watermark == 440 * SECOND
    push(engine, {"B": at(2000)}, "declared")
    assert engine.watermark == 990 * SECOND


def test_a_watermark_that_is_passed_wins_and_none_leaves_it_alone() -> None:
    engine = Engine(compiled(ONE))
    push(engine, at(100), 20 * SECOND)
    assert engine.watermark == 20 * SECOND, "lower than the declared one"
    push(engine, at(200), None)
    assert engine.watermark == 20 * SECOND
    push(engine, at(150), "declared")
    assert engine.watermark == 190 * SECOND, "what came in between counts"
    push(engine, at(200), 10 * SECOND)
    assert engine.watermark == 190 * SECOND, "never back"


def test_load_declares_it_as_well() -> None:
    engine = Engine(compiled(ONE))
    engine.load(batch(engine.plan, "T", at(100)))
    assert engine.watermark == 90 * SECOND


def test_what_is_taken_back_does_not_move_it() -> None:
    engine = Engine(compiled(ONE))
    push(engine, at(100, 95, k=1), "declared", signs=[1, 1])
    push(engine, [*at(95, k=1), *at(99, k=2)], "declared", signs=[-1, 1])
    assert engine.watermark == 90 * SECOND
    push(engine, at(300, 300, k=3), "declared", signs=[1, -1])  # never there, but it has come
    assert engine.watermark == 290 * SECOND


def test_a_batch_that_is_refused_does_not_move_it() -> None:
    engine = Engine(compiled(ONE))
    push(engine, at(100), "declared")
    with pytest.raises(ValueError, match="cannot delete"):
        push(engine, [*at(900), *at(95)], "declared", signs=[1, -1])
    push(engine, at(101), "declared")
    assert engine.watermark == 91 * SECOND


def test_snapshots_bring_it_back() -> None:
    engine = Engine(compiled(TWO))
    push(engine, {"A": at(1000)}, "declared")
    again = Engine.restore(engine.plan, engine.snapshot())
    push(again, {"B": at(500)}, "declared")
    assert again.watermark == 440 * SECOND


def test_another_word_is_refused() -> None:
    engine = Engine(compiled(ONE))
    with pytest.raises(ValueError, match="watermark: expected microseconds, \"declared\" or None, found 'derived'"):
        engine.push(batch(engine.plan, "T", at(1)), "derived")  # type: ignore[arg-type]
    push(engine, at(1), "declared")


def test_it_is_that_of_a_replay_in_order_of_arrival() -> None:
    """Event by event, the engine's watermark and lateness are those of `runtime.intake.watermark`."""
    plan = compiled(TWO.replace("STREAM N (k INT);", "").replace(", N n", "").replace(" AND b.k = n.k", ""))
    engine, clock = Engine(plan), Clock({0: 10 * SECOND, 1: 60 * SECOND})
    rng = Random(3)
    late = 0
    for second in range(300):
        code = rng.randrange(2)
        time = (second + rng.randint(-90, 5)) * SECOND
        late += int(clock.advance(np.array([code], np.int16), np.array([time], np.int64))[0])
        push(engine, {"AB"[code]: [{"ts": time, "k": 1}]}, "declared")
        assert engine.watermark == clock.watermark
        assert engine.stats()["late"] == late
    assert late > 10


def test_times_at_the_end_of_time() -> None:
    engine = Engine(compiled(ONE))
    table = pa.table({"ts": pa.array([-(2**63) + 1, 5], pa.timestamp("us", "UTC")), "k": [1, 1]})
    found = engine.push(table.slice(0, 1)).read_all().num_rows + engine.push(table.slice(1)).read_all().num_rows
    assert found == 0
    assert fields(push(engine, at(1, 2), "declared")) != {}

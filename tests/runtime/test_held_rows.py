"""What is kept for longer than the window, because something waits: DISTINCT tuples, and gaps before all events."""

from __future__ import annotations

import pyarrow as pa

import cep
from runtime import Engine

SECOND = 1_000_000
STREAMS = """
STREAM A (ts TIMESTAMP, k INT) TIMESTAMP BY ts;
STREAM B (ts TIMESTAMP, k INT) TIMESTAMP BY ts;
STREAM C (ts TIMESTAMP, k INT) TIMESTAMP BY ts;
"""


def push(engine: Engine, stream: str, second: float, watermark: float) -> list[dict[str, object]]:
    times = pa.array([int(second * SECOND)], pa.timestamp("us", tz="UTC"))
    found = engine.push({stream: pa.table({"ts": times, "k": [1]})}, int(watermark * SECOND))
    return found.read_all().to_pylist()


def test_a_tuple_that_lives_is_not_told_again_by_what_waited() -> None:
    plan = cep.compile(
        STREAMS + "PATTERN P SEQ(A a, NOT B b) PARTITION BY k WITHIN 6 SECONDS RETURN DISTINCT a.k AS k;"
    )
    engine = Engine(plan["P"])
    assert push(engine, "A", 0, 0) == []
    assert push(engine, "A", 5, 5) == []
    assert len(engine.advance(7 * SECOND).read_all()) == 1, "alive from 0 to 6"
    assert len(engine.advance(12 * SECOND).read_all()) == 0, "and so at 5"
    assert push(engine, "A", 30, 30) == []
    assert len(engine.finish().read_all()) == 1, "dead at 30: another occurrence"


def test_what_is_asked_for_does_not_depend_on_what_has_been_forgotten() -> None:
    text = "PATTERN P SEQ(NOT B b, A a, C c) PARTITION BY k WITHIN 10 SECONDS RETURN a.ts AS a, c.ts AS c;"
    plan = cep.compile(STREAMS + text)["P"]
    engine = Engine(plan)
    assert push(engine, "B", 1, 1) == []
    assert push(engine, "A", 5, 5) == []
    assert push(engine, "C", 9, 9) == [], "b is within ten seconds of c"
    assert push(engine, "A", 12, 12) == []
    engine = Engine.restore(plan, engine.snapshot())  # what can matter no more is not in it
    assert engine.count() == 0, "and still is"
    assert engine.enumerate().read_all().to_pylist() == []

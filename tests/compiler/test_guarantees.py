"""What a plan promises, held against what the engine does: no promise is better than the counts."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

import runtime
from cep.ir.plan import Plan
from tests.compiler.patterns import plan

START = datetime(2024, 1, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("SEQ(T a, T b) PARTITION BY k WITHIN 1 HOUR", "constant"),
        ("AND(T a, T b) PARTITION BY k WITHIN 1 HOUR", "constant"),
        ("AND(W a, W b) WHERE a.x < b.x UNBOUNDED", "constant"),
        ("SEQ(T a, T b, T c) PARTITION BY k WITHIN 1 HOUR", "constant when events arrive in time order"),
        ("AND(W a, W b, W c) WHERE a.x < c.x AND b.y < c.y UNBOUNDED", "constant for a new `c`; "),
        ("AND(W a, W b, W c) WHERE a.x < b.x AND b.y < c.y UNBOUNDED", "not constant"),
        ("SEQ(T a, T b) WHERE a.x < b.x PARTITION BY k WITHIN 1 HOUR", "not constant: `a.x < b.x` is checked"),
        ("SEQ(T a, T b) PARTITION BY k WITHIN 1 HOUR RETURN DISTINCT b.x AS x", "constant for a new `b`; "),
        ("SEQ(T a, T b) PARTITION BY k WITHIN 1 HOUR RETURN DISTINCT a.x AS x", "not constant"),
        ("AND(W a, W b, W c) WHERE a.x = b.x AND b.y = c.y AND a.k = c.k UNBOUNDED", "not constant"),
    ],
)
def test_delay(text: str, delay: str) -> None:
    found = plan(text).guarantees.delay
    assert found.startswith(delay)
    assert delay != "constant" or found == "constant"


@pytest.mark.parametrize(
    ("text", "space"),
    [
        ("SEQ(T a, T b) WITHIN 1 HOUR", "linear in the events of the last 1 HOUR that pass the filters, however"),
        ("SEQ(T a, T b) UNBOUNDED", "linear in the events that pass the filters, for ever"),
        (
            "SEQ(T a, T b) WITHIN 1 HOUR RETURN DISTINCT b.x AS x",
            "linear in the events of the last 1 HOUR that pass the",
        ),
        (
            "SEQ(T a, T b) WITHIN 1 HOUR RETURN DISTINCT a.x AS x, b.x AS y",
            "linear in the events of the last 1 HOUR that pass the filters and in the distinct tuples alive",
        ),
        (
            "SEQ(T a, T b) UNBOUNDED RETURN DISTINCT a.x + b.x AS s",
            "linear in the events that pass the filters and in the distinct tuples, for ever",
        ),
    ],
)
def test_space(text: str, space: str) -> None:
    assert plan(text).guarantees.space.startswith(space)


def dead_ends(found: Plan, count: int) -> int:
    """Rows read in vain for a new `a`, with `count` events of `c` that lack a `b`."""
    engine = runtime.Engine(found)
    engine.push({"C": pa.table({"x": list(range(1, count + 1)), "y": [0] * count})}).read_all()
    before = engine.stats()["operations"]["dead_ends"]
    assert engine.push({"A": pa.table({"x": [0]})}).read_all().num_rows == 0
    return int(engine.stats()["operations"]["dead_ends"]) - before


def test_why_a_star_is_constant_for_its_root_alone() -> None:
    import cep

    star = "STREAM A (x INT); STREAM B (y INT); STREAM C (x INT, y INT); "
    found = cep.compile(f"{star} PATTERN P AND(A a, B b, C c) WHERE a.x < c.x AND b.y < c.y UNBOUNDED;")["P"]
    assert dead_ends(found, 20) > dead_ends(found, 10) > 0


def test_why_the_space_of_distinct_counts_tuples() -> None:
    """As soon as another `c` could make them again."""
    found = plan("SEQ(T a, T b, T c) PARTITION BY k WITHIN 1 HOUR RETURN DISTINCT a.x AS x, b.x AS y")
    engine = runtime.Engine(found)
    times = pa.array([START + timedelta(seconds=i) for i in range(21)], pa.timestamp("us", "UTC"))
    engine.push(pa.table({"ts": times, "k": ["k"] * 21, "x": list(range(21))})).read_all()
    assert engine.stats()["distinct"] == 20 * 19 // 2

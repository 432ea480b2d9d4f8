"""What `cep explain` says about space, held against the bytes of the state as the input grows."""

from __future__ import annotations

import numpy as np
import pytest

from runtime import Engine
from tests.costs.sentences import PLAIN, TIMED, plan, timed
from tests.costs.support import SECOND, feed


@pytest.mark.parametrize(("steps", "sizes"), [(2, (256, 512, 1024)), (3, (64, 128, 256))])
def test_space_is_linear_while_matches_grow_with_a_power(steps: int, sizes: tuple[int, ...]) -> None:
    """Each window holds twice the events of the one before: twice the bytes, four or eight times the matches."""
    body = ", ".join(f"T {name}" for name in "abc"[:steps])
    held, matches = [], []
    for size in sizes:
        found = plan(
            f"{TIMED} PATTERN P SEQ({body}) PARTITION BY k WITHIN {size} SECONDS;",
            space="window",
        )
        engine = Engine(found)
        matches.append(feed(engine, timed(size), size=64, watermark=True))
        assert engine.stats()["tuples"] == dict.fromkeys("abc"[:steps], size)
        held.append(engine.stats()["bytes"])
    for i in (1, 2):
        assert held[i] <= 2.2 * held[i - 1]
        assert matches[i] >= 0.95 * 2**steps * matches[i - 1]


def test_space_of_a_long_stream_is_that_of_its_window() -> None:
    """Keys beyond a million: smaller ones have a table, which grows with the largest, to 8 MB at most."""
    found = plan(
        f"{TIMED} PATTERN P SEQ(T a, T b) PARTITION BY k WITHIN 100 SECONDS;",
        space="window",
    )
    held = []
    for n in (40_000, 120_000):
        engine, largest = Engine(found), 0
        events = timed(n, k=2**20 + np.arange(n) // 2)
        for first in range(0, n, 1000):
            feed(engine, {name: values[first : first + 1000] for name, values in events.items()}, watermark=True)
            largest = max(largest, engine.stats()["bytes"])
        held.append(largest)
    assert held[1] == pytest.approx(held[0], rel=0.1)


def test_space_without_a_window_is_that_of_the_filtered_events() -> None:
    found = plan(
        f"{PLAIN} PATTERN P AND(W a, W b) WHERE a.k = b.k AND a.x < 0 AND b.x = 1 UNBOUNDED;",
        space="for ever",
    )
    held = []
    for n, passing in ((8192, 8192), (16384, 16384), (65536, 16384)):
        engine = Engine(found)
        columns = {"k": np.arange(n), "x": np.where(np.arange(n) < passing, 1, 2)}
        feed(engine, columns, size=4096)
        held.append(engine.stats()["bytes"])
    assert held[1] <= 2.2 * held[0]
    assert held[2] == held[1], "what no filter lets through is not kept"


@pytest.mark.parametrize(
    ("bound", "sentence"),
    [
        ("WITHIN 9 DAYS", "window and tuples"),
        ("UNBOUNDED", "for ever and tuples"),
    ],
)
def test_space_of_distinct_counts_tuples(bound: str, sentence: str) -> None:
    """Nothing is shown of `c`: each `c` could make every tuple that is there."""
    returned = "RETURN DISTINCT a.x AS x, b.x AS y"
    found = plan(f"{TIMED} PATTERN P SEQ(T a, T b, T c) PARTITION BY k {bound} {returned};", space=sentence)
    for n in (20, 80):
        engine = Engine(found)
        feed(engine, timed(n + 1, x=np.arange(n + 1)), size=n + 1)
        assert engine.stats()["distinct"] == n * (n - 1) // 2


@pytest.mark.parametrize(
    ("bound", "sentence"),
    [
        ("WITHIN 9 DAYS", "window and twins"),
        ("UNBOUNDED", "for ever and twins"),
    ],
)
def test_space_of_distinct_counts_tuples_of_events_that_look_alike(bound: str, sentence: str) -> None:
    returned = "RETURN DISTINCT a.x AS x, b.x AS y"
    found = plan(f"{TIMED} PATTERN P SEQ(T a, T b) PARTITION BY k {bound} {returned};", space=sentence)
    for n in (20, 80):
        engine = Engine(found)
        feed(engine, timed(n, x=np.arange(n)), size=7)
        assert engine.stats()["distinct"] == 0, "all events look different"
        assert feed(engine, timed(1, ts=np.array([n * SECOND]), x=np.array([3]))) == n - 3
        assert engine.stats()["distinct"] == (n - 1) + n - 3, "what was put out with 3 before, and what it adds now"
    held = []
    for n in (256, 512, 1024):
        engine = Engine(found)
        feed(engine, timed(n, x=np.arange(n)), size=64)
        held.append(engine.stats()["bytes"])
    assert held[1] <= 2.2 * held[0]
    assert held[2] <= 2.2 * held[1]


def test_space_of_distinct_that_leaves_nothing_out_is_that_of_the_events() -> None:
    """Each tuple is one combination of events that differ: there is nothing to remember but the events."""
    returned = "RETURN DISTINCT a.k AS k, a.ts AS t, a.x AS x, b.ts AS u, b.x AS y"
    found = plan(
        f"{TIMED} PATTERN P SEQ(T a, T b) WHERE a.x < b.x PARTITION BY k WITHIN 9 DAYS {returned};", space="window"
    )
    held, matches = [], []
    for n in (256, 512, 1024):
        engine = Engine(found)
        columns = {name: np.repeat(values, 2) for name, values in timed(n, x=np.arange(n)).items()}
        matches.append(feed(engine, columns, size=64))  # every event twice: no tuple is
        assert engine.stats()["distinct"] is None
        held.append(engine.stats()["bytes"])
    assert matches == [n * (n - 1) // 2 for n in (256, 512, 1024)]
    assert held[1] <= 2.2 * held[0]
    assert held[2] <= 2.2 * held[1]

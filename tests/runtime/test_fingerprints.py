"""Rows that are hashed when a match shows them have the fingerprints that they would have had on arrival."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.types import Type
from runtime import hashing
from runtime.columns import Growable, make_column
from runtime.fingerprints import Fingerprints
from runtime.selection import Selection

TYPES = {"ts": Type.TIMESTAMP, "x": Type.INT, "d": Type.DOUBLE, "s": Type.STRING, "b": Type.BOOLEAN}
ARROW = {"ts": pa.int64(), "x": pa.int64(), "d": pa.float64(), "s": pa.string(), "b": pa.bool_()}


class Store:
    """A leaf's columns with their fingerprints, and nothing else of it."""

    def __init__(self, *, may_wait: bool) -> None:
        self.columns = {name: make_column(type_) for name, type_ in TYPES.items()}
        self.time, self.gone = Growable(np.int64), Growable(np.bool_)
        self.prints = Fingerprints(hashing.seed("P", "v"), self.columns, may_wait=may_wait)

    def add(self, rows: list[dict[str, Any]]) -> None:
        arrays = {name: pa.array([row[name] for row in rows], type_) for name, type_ in ARROW.items()}
        times = arrays["ts"].to_numpy()
        self.prints.add(Selection.of(arrays, len(rows)), times, self.gone.view(), self.time.view())
        for name, column in self.columns.items():
            column.extend(arrays[name])
        self.time.extend(times)
        self.gone.extend(np.zeros(len(rows), dtype=np.bool_))

    def keep(self, rows: np.ndarray) -> None:
        for part in (*self.columns.values(), self.time, self.gone, self.prints):
            part.keep(rows)


def events(times: list[int], value: int = 0) -> list[dict[str, Any]]:
    return [{"ts": t, "x": value, "d": t / 2, "s": f"text {t % 3}", "b": True} for t in times]


VALUES = st.fixed_dictionaries(
    {
        "x": st.none() | st.integers(0, 1),
        "d": st.none() | st.sampled_from((0.0, 1.5)),
        "s": st.none() | st.sampled_from(("", "a", "a long text that takes several words")),
        "b": st.none() | st.booleans(),
    }
)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_when_a_row_is_hashed_cannot_be_told(data: st.DataObject) -> None:
    """Batches in strict order, with ties and late ones, compactions and questions in between."""
    lazy, eager = Store(may_wait=True), Store(may_wait=False)
    now = 0
    for _ in range(data.draw(st.integers(1, 8))):
        steps = data.draw(st.lists(st.sampled_from((1, 1, 1, 2, 0, -1)), max_size=6))
        batch = []
        for step in steps:
            now += step
            batch.append({"ts": now, **data.draw(VALUES)})
        for store in (lazy, eager):
            store.add(batch)
        if data.draw(st.booleans()):
            kept = np.array(data.draw(st.lists(st.integers(0, 60), unique=True)), dtype=np.int64)
            kept = np.sort(kept[kept < lazy.prints.size])
            for store in (lazy, eager):
                store.keep(kept)
        if lazy.prints.size and data.draw(st.booleans()):
            rows = np.array(data.draw(st.lists(st.integers(0, lazy.prints.size - 1), max_size=8)), dtype=np.int64)
            assert lazy.prints.at(rows).tobytes() == eager.prints.at(rows).tobytes()
        assert lazy.prints.has_twins == eager.prints.has_twins
    every = np.arange(lazy.prints.size)
    assert lazy.prints.at(every).tobytes() == eager.prints.at(every).tobytes()
    assert lazy.prints.content(every).tolist() == eager.prints.content(every).tolist()


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each call has hashed."""
    counts: list[int] = []
    combine = hashing.combine

    def counted(start: tuple[int, int], columns: list[hashing.Lanes], length: int) -> hashing.Lanes:
        counts.append(length)
        return combine(start, columns, length)

    monkeypatch.setattr(hashing, "combine", counted)
    return counts


def test_in_strict_order_nothing_is_hashed_that_nobody_asks_for(hashed: list[int]) -> None:
    store = Store(may_wait=True)
    for first in range(0, 1000, 100):
        store.add(events(list(range(first, first + 100))))
    assert sum(hashed) == 0
    store.prints.at(np.array([3, 700]))
    assert sum(hashed) == 2


@pytest.mark.parametrize("size", [100, 1000])
def test_asking_often_costs_at_most_twice_hashing_all(size: int, hashed: list[int]) -> None:
    store = Store(may_wait=True)
    store.add(events(list(range(size))))
    for row in range(5 * size):
        store.prints.at(np.array([row % size]))
    assert size <= sum(hashed) <= 2 * size


def test_two_events_at_one_time_are_compared(hashed: list[int]) -> None:
    store = Store(may_wait=True)
    store.add(events([1, 2]))
    store.add(events([2]))
    assert sum(hashed) == 3
    assert store.prints.has_twins
    assert store.prints.is_first(np.arange(3)).tolist() == [True, True, False]

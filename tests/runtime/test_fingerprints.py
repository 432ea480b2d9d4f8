"""Rows are hashed when a match shows them; when that is cannot be told from their fingerprints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.ir.types import Type
from runtime.arrays.columns import Growable, make_column
from runtime.state.fingerprints import Fingerprints
from runtime.state.identity import Digests

TYPES = {"ts": Type.TIMESTAMP, "x": Type.INT, "d": Type.DOUBLE, "s": Type.STRING, "b": Type.BOOLEAN}
ARROW = {"ts": pa.int64(), "x": pa.int64(), "d": pa.float64(), "s": pa.string(), "b": pa.bool_()}


class Store:
    """A leaf's columns with their fingerprints, and nothing else of it."""

    def __init__(self) -> None:
        self.columns = {name: make_column(type_) for name, type_ in TYPES.items()}
        self.time, self.gone = Growable(np.int64), Growable(np.bool_)
        self.prints = Fingerprints(("P", "v"), self.columns, None)

    def add(self, rows: list[dict[str, Any]]) -> None:
        arrays = {name: pa.array([row[name] for row in rows], type_) for name, type_ in ARROW.items()}
        times = arrays["ts"].to_numpy()
        for name, column in self.columns.items():
            column.extend(arrays[name])
        self.prints.add(len(rows), times, self.gone.view(), self.time.view())
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
    lazy, eager = Store(), Store()
    now = 0
    for _ in range(data.draw(st.integers(1, 8))):
        steps = data.draw(st.lists(st.sampled_from((1, 1, 1, 2, 0, -1)), max_size=6))
        batch = []
        for step in steps:
            now += step
            batch.append({"ts": now, **data.draw(VALUES)})
        for store in (lazy, eager):
            store.add(batch)
        eager.prints.at(np.arange(eager.prints.size))
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


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each call has hashed."""
    counts: list[int] = []
    of = Digests.of

    def counted(self: Digests, rows: np.ndarray, ordinals: np.ndarray | None = None) -> np.ndarray:
        counts.append(len(rows))
        return of(self, rows, ordinals)

    monkeypatch.setattr(Digests, "of", counted)
    return counts


def test_nothing_is_hashed_that_nobody_asks_for(hashed: list[int]) -> None:
    """Nor in order, nor at one time, nor late."""
    store = Store()
    for first in range(0, 10_000, 1000):
        store.add(events([*range(first, first + 1000), first + 999, first]))
    assert sum(hashed) == 0
    store.prints.at(np.array([3, 7000, 3]))
    store.prints.at(np.array([7000, 7001]))
    assert sum(hashed) == 3


def test_few_of_many_and_many_of_many_are_found_alike(hashed: list[int]) -> None:
    """Those that are wanted are told apart by sorting them, or by marking: in either case each is hashed once."""
    for repeats in (1, 10):
        store = Store()
        store.add(events(list(range(20_000))))
        hashed.clear()
        asked = np.repeat(np.arange(0, 20_000, 20), repeats)
        store.prints.at(asked)
        store.prints.at(np.flip(asked))
        assert sum(hashed) == 1000


def test_where_most_are_wanted_all_are_hashed_at_once(hashed: list[int]) -> None:
    store = Store()
    store.add(events(list(range(20_000))))
    store.prints.at(np.arange(10_001))
    assert hashed == [20_000]


@pytest.mark.parametrize("size", [100, 1000])
def test_each_row_is_hashed_once_however_often_it_is_asked_for(size: int, hashed: list[int]) -> None:
    store = Store()
    store.add(events(list(range(size))))
    for row in range(5 * size):
        store.prints.at(np.array([row % size]))
    assert sum(hashed) == size


def test_those_asked_for_again_and_again_are_not_looked_at_for_ever(hashed: list[int]) -> None:
    store = Store()
    store.add(events(list(range(3000))))
    for _ in range(1000):
        store.prints.at(np.array([7]))
    assert sum(hashed) == 1
    for _ in range(2000):
        store.prints.at(np.array([7]))
    assert sum(hashed) == 3000, "all have been hashed, and nobody has to look any more"


def test_two_equal_events_are_told_apart() -> None:
    store = Store()
    store.add(events([1, 2]))
    assert not store.prints.has_twins
    store.add(events([2]))
    assert store.prints.has_twins
    assert store.prints.is_first(np.arange(3)).tolist() == [True, True, False]
    assert len(set(store.prints.at(np.arange(3)).tolist())) == 3

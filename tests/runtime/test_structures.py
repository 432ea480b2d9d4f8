"""The engine's structures one by one, against the shortest thing that does the same."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sortedcontainers import SortedKeyList

from cep.ir.types import Type
from runtime.arrays import hashing
from runtime.arrays.columnar import ARROW_TYPES, as_computed
from runtime.arrays.columns import Growable, NumberColumn, StringColumn, make_column
from runtime.arrays.sorted_groups import Operations, SortedGroups, _group_order, spread
from runtime.state.ordinals import Ordinals

# --- sorted groups -------------------------------------------------------------------------------------------------

KEYS: dict[str, Any] = {
    "int": lambda rng: rng.randint(-5, 5),
    "float": lambda rng: rng.choice((-1.5, 0.0, 2.5, float("inf"), float("-inf"))),
    "text": lambda rng: rng.choice(("", "a", "a\0", "b", "é", "\U0001f600", "z")),
    "none": None,
}
DTYPES = {"int": np.int64, "float": np.float64, "text": object, "none": None}


class Model:
    """A dict of sorted lists of (key, row) in order of key; rows of one key, and rows without one, as they came."""

    def __init__(self) -> None:
        self.groups: dict[int, SortedKeyList] = {}

    def group(self, number: int) -> SortedKeyList:
        # Where nothing is sorted by, all keys are equal: a new one goes behind them.
        return self.groups.get(number, SortedKeyList(key=lambda pair: 0 if pair[0] is None else pair[0]))

    def insert(self, group: int, key: Any, row: int) -> None:
        self.groups.setdefault(group, self.group(group)).add((key, row))

    def remove(self, group: int, key: Any, row: int) -> None:
        self.groups[group].remove((key, row))

    def cut(self, group: int, key: Any, side: str) -> int:
        rows = self.group(group)
        return int(rows.bisect_key_left(key) if side == "left" else rows.bisect_key_right(key))


def as_array(values: list[Any], kind: str) -> np.ndarray:
    array = np.empty(len(values), dtype=DTYPES[kind])
    array[:] = values
    return array


def content(index: SortedGroups, group: int) -> list[int]:
    low, high = index.bounds(np.array([group]))
    rows = index.rows_at(spread(low, high - low)).tolist()
    assert index.rows_of(low, high - low).tolist() == rows
    return rows


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("seed", range(4))
def test_sorted_groups_are_a_dict_of_sorted_lists(kind: str, seed: int) -> None:
    rng = Random(f"{kind} {seed}")
    index, model = SortedGroups(DTYPES[kind], Operations()), Model()
    where: dict[int, int] = {}
    key_of: dict[int, Any] = {}
    row = 0
    for _ in range(60):
        if where and rng.random() < 0.3:
            gone = rng.sample(sorted(where), rng.randint(1, min(len(where), 12)))
            index.remove(np.array([where[r] for r in gone]), np.array(gone))
            for r in gone:
                model.remove(where.pop(r), key_of.pop(r), r)
        else:
            size = rng.choice((0, 1, 1, 5, 40))
            groups = [rng.choice((0, 1, 2, 3, 17, 60)) for _ in range(size)]
            keys = [KEYS[kind](rng) for _ in range(size)] if kind != "none" else [None] * size
            rows = list(range(row, row + size))
            row += size
            index.insert(
                np.array(groups, dtype=np.int64),
                None if kind == "none" else as_array(keys, kind),
                np.array(rows, dtype=np.int64),
            )
            # A batch is stable: equal keys keep their order of arrival.
            for group, key, r in zip(groups, keys, rows, strict=True):
                model.insert(group, key, r)
                where[r], key_of[r] = group, key
        index._check()
        assert index.size == len(where)
        for group in (0, 1, 2, 3, 17, 60, 61, -1, 10**6):
            assert content(index, group) == [r for _, r in model.group(group)]
    if kind == "none":
        return
    groups = np.array([rng.choice((0, 1, 2, 3, 17, 60)) for _ in range(50)])
    values = [KEYS[kind](rng) for _ in range(50)]
    low, high = index.bounds(groups)
    for side in ("left", "right"):
        want = [model.cut(g, v, side) for g, v in zip(groups.tolist(), values, strict=True)]
        wanted = as_array(values, kind)
        assert (index.bisect(low, high, wanted, side) - low).tolist() == want
        assert (index.below(low, high, wanted, side) - low).tolist() == want
        few = index.bisect(low[:3], high[:3], wanted[:3], side)
        assert (few - low[:3]).tolist() == want[:3]
        same = index.bisect(low[:1].repeat(9), high[:1].repeat(9), wanted[:9], side)
        assert (same - low[0]).tolist() == [model.cut(int(groups[0]), v, side) for v in values[:9]]
    everything = [k for rows in model.groups.values() for k, _ in rows]
    for value in values[:10]:
        for op, holds in (("<", "__lt__"), ("<=", "__le__"), (">", "__gt__"), (">=", "__ge__")):
            if index.beyond(op, as_array([value], kind)):
                assert not any(getattr(key, holds)(value) for key in everything)


def test_sorted_groups_notice_when_they_are_broken() -> None:
    """The invariants are no ornament."""
    index = SortedGroups(np.int64, Operations())
    index.insert(np.array([0, 0, 1]), np.array([1, 2, 3]), np.array([0, 1, 2]))
    index._check()
    index._keys[index._start[0]] = 99
    with pytest.raises(AssertionError, match="group 0 is not sorted"):
        index._check()
    index._keys[index._start[0]] = 0
    index.size += 1
    with pytest.raises(AssertionError, match="size"):
        index._check()


@pytest.mark.parametrize("kind", ["int", "none"])
@pytest.mark.parametrize("seed", range(12))
def test_rows_that_come_one_after_another_are_not_looked_up(kind: str, seed: int) -> None:
    """One group in order is a run of rows until something comes between; what is read is the same with or without."""
    rng = Random(f"{kind} {seed}")
    index = SortedGroups(DTYPES[kind], Operations())
    disturbed = rng.choice(("never", "other group", "late", "gap", "removed"))
    rows: list[int] = []
    group = rng.randrange(3)
    start = row = rng.randrange(3)
    for number in range(8):
        size = rng.choice((1, 2, 30))
        groups, keys = np.full(size, group), np.arange(row, row + size)
        new = np.arange(row, row + size)
        if number == 5 and disturbed == "other group":
            groups[-1] = group + 1
        elif number == 5 and disturbed == "late":
            keys -= 3
        elif number == 5 and disturbed == "gap":
            new += 1
            row += 1
        index.insert(groups, None if kind == "none" else keys, new)
        row += size
        rows += new.tolist()
        if number == 5 and disturbed == "removed":
            index.remove(np.array([group]), np.array(rows[:1]))
        index._check()
        content(index, group)
        content(index, group + 1)
        sorted_by = kind == "int" or disturbed != "late"
        if number < 5 or disturbed == "never" or not sorted_by:
            assert index._run == (group, start)
        else:
            assert index._run is None
    low, high = index.bounds(np.array([group, group]))
    part = np.minimum(high - low, 5)
    assert index.rows_of(low + 1, part - 1).tolist() == index.rows_at(spread(low + 1, part - 1)).tolist()


def test_prefix_sums_are_right_within_every_group() -> None:
    rng = Random(5)
    index, model = SortedGroups(np.int64, Operations()), Model()
    for row in range(200):
        group, key = rng.randint(0, 5), rng.randint(0, 9)
        index.insert(np.array([group]), np.array([key]), np.array([row]))
        model.insert(group, key, row)
    weights = np.array([rng.randint(0, 10**6) for _ in range(200)])
    for values in (weights, weights.astype(object) * 2**70):
        sums = index.prefix_sums(values)
        for group in range(6):
            low, high = (int(end[0]) for end in index.bounds(np.array([group])))
            rows = [r for _, r in model.groups[group]]
            for i in range(len(rows)):
                assert sums[low + i] - sums[low] == sum(values[r] for r in rows[:i])
            assert sums[high] - sums[low] == sum(values[r] for r in rows)


def test_appending_is_amortised() -> None:
    """In order, a hundred thousand rows move nothing and fill half of their room at least."""
    index = SortedGroups(np.int64, Operations())
    for first in range(0, 100_000, 1000):
        rows = np.arange(first, first + 1000)
        index.insert(rows % 10, rows, rows)
    assert index._operations.displaced == 0
    assert index._end <= 2 * 2 * 100_000, "blocks that were outgrown are at most as much again"
    index._check()


# --- columns -------------------------------------------------------------------------------------------------------

VALUES: dict[Type, st.SearchStrategy[Any]] = {
    Type.INT: st.integers(-(2**63), 2**63 - 1),
    Type.DOUBLE: st.floats(allow_nan=False),
    Type.BOOLEAN: st.booleans(),
    Type.TIMESTAMP: st.integers(-(2**62), 2**62),
    Type.STRING: st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
}
ARROW = {
    Type.INT: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.BOOLEAN: pa.bool_(),
    Type.TIMESTAMP: pa.timestamp("us", "UTC"),
    Type.STRING: pa.string(),
}


@pytest.mark.parametrize("type_", VALUES)
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_column_gives_back_what_was_put_in(type_: Type, data: st.DataObject) -> None:
    column = make_column(type_)
    kept: list[Any] = []
    for _ in range(data.draw(st.integers(1, 4))):
        values = data.draw(st.lists(st.none() | VALUES[type_], max_size=8))
        array = pa.array(values, ARROW[type_])
        if data.draw(st.booleans()):  # a slice of a longer array
            array = pa.concat_arrays([array[:1], array, array[:1]]).slice(min(1, len(array)), len(array))
        column.extend(as_computed(array))
        kept += as_computed(array).to_pylist()
    rows = np.array(
        data.draw(st.lists(st.integers(0, max(0, len(kept) - 1)), max_size=10 if kept else 0)), dtype=np.int64
    )
    want = [kept[row] for row in rows]
    assert column.computed(rows).to_pylist() == want
    taken = column.take(rows)
    taken = taken.cast(pa.int64()) if type_ is Type.TIMESTAMP else taken
    assert taken.to_pylist() == want
    repeats = np.array([data.draw(st.integers(0, 3)) for _ in rows], dtype=np.int64)
    repeated = column.take(rows, repeats)
    repeated = repeated.cast(pa.int64()) if type_ is Type.TIMESTAMP else repeated
    repeated.validate(full=True)
    assert repeated.to_pylist() == [value for value, n in zip(want, repeats, strict=True) for _ in range(n)]
    assert column.nbytes > 0


def test_text_far_apart_is_gathered() -> None:
    column = StringColumn()
    column.extend(pa.array([f"text {i}" for i in range(5000)]))
    rows = np.array([4999, 0, 2500, 0])
    taken = column.take(rows)
    assert len(taken.dictionary) == 3
    assert taken.to_pylist() == ["text 4999", "text 0", "text 2500", "text 0"]


def test_what_was_handed_out_does_not_change_when_the_column_grows() -> None:
    number, text = NumberColumn(Type.INT), StringColumn()
    number.extend(pa.array([1, 2, 3]))
    text.extend(pa.array(["a", "b", "c"]))
    rows = np.arange(3)
    before = number.take(rows), text.take(rows)
    number.extend(pa.array(range(1000)))
    text.extend(pa.array(["x"] * 1000))
    assert before[0].to_pylist() == [1, 2, 3]
    assert before[1].to_pylist() == ["a", "b", "c"]


def test_a_growable_doubles() -> None:
    growable = Growable(np.int64)
    for i in range(1000):
        growable.extend(np.array([i]))
    assert growable.view().tolist() == list(range(1000))
    assert growable.at(np.array([5, 999])).tolist() == [5, 999]
    assert growable.nbytes <= 2 * 8 * 1024


# --- ordinals ------------------------------------------------------------------------------------------------------


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_ordinals_number_equal_events(data: st.DataObject) -> None:
    """However batches are cut and whatever is deleted: the live events of one content have the ordinals 0..n-1."""
    timed = data.draw(st.booleans())
    in_order = data.draw(st.booleans())
    columns = [make_column(Type.INT), make_column(Type.INT)]
    ordinals = Ordinals(columns)
    stored: list[tuple[int, int, int]] = []  # content, time, ordinal
    gone: list[bool] = []
    now = 0
    for _ in range(data.draw(st.integers(1, 6))):
        batch = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=5))
        if in_order:
            batch = sorted((now + step, value) for value, step in batch)
            batch = [(value, t) for t, value in batch]
            now = max([now, *(t for _, t in batch)])
        # The time is part of an event's content.
        content = [3 * t + value if timed else value for value, t in batch]
        for column in columns:
            column.extend(pa.array(content, pa.int64()))
        times = np.array([t for _, t in batch], dtype=np.int64) if timed else None
        assigned = ordinals.assign(
            np.arange(len(stored), len(stored) + len(batch)),
            times,
            np.array(gone, dtype=np.bool_),
            np.array([t for _, t, _ in stored], dtype=np.int64) if timed else None,
        )
        ordinal = [0] * len(batch) if assigned is None else assigned.tolist()
        stored += list(zip(content, (t for _, t in batch), ordinal, strict=True))
        gone += [False] * len(batch)
        live = [i for i, dead in enumerate(gone) if not dead]
        if live and data.draw(st.booleans()):
            victim = stored[data.draw(st.sampled_from(live))][0]
            newest = max(i for i in live if stored[i][0] == victim)
            gone[newest] = True
            ordinals.forget(np.array([newest]))
        counts = Counter(stored[i][0] for i, dead in enumerate(gone) if not dead)
        for value, n in counts.items():
            found = sorted(stored[i][2] for i, dead in enumerate(gone) if not dead and stored[i][0] == value)
            assert found == list(range(n))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_while_a_number_rises_no_table_is_kept(data: st.DataObject) -> None:
    """Without time: batches in which one column rises, then batches of anything; deletions and compactions between."""
    columns = [make_column(Type.STRING), make_column(Type.INT), make_column(Type.DOUBLE)]
    ordinals = Ordinals(columns)
    stored: list[tuple[Any, int, bool]] = []  # content, ordinal, whether it is deleted
    rising = data.draw(st.integers(0, 3))
    newest = -1
    for number in range(data.draw(st.integers(1, 5))):
        rows: list[tuple[Any, ...]] = []
        for _ in range(data.draw(st.integers(0, 4))):
            newest += 1
            any_double = data.draw(st.sampled_from((0.0, 0.5, None)))
            row = data.draw(st.sampled_from("ab")), data.draw(st.sampled_from((None, 0)))
            rows.append((*row, newest / 2 if number < rising else any_double))
        for column, values in zip(columns, zip(*rows, strict=True) if rows else ((), (), ()), strict=True):
            column.extend(pa.array(values, ARROW_TYPES[column.type]))
        gone = np.array([dead for _, _, dead in stored], dtype=np.bool_)
        assigned = ordinals.assign(np.arange(len(stored), len(stored) + len(rows)), None, gone, None)
        given_ = [0] * len(rows) if assigned is None else assigned.tolist()
        stored += [(row, ordinal, False) for row, ordinal in zip(rows, given_, strict=True)]
        if number < rising:
            assert ordinals.nbytes == 0
        live = [place for place, (_, _, dead) in enumerate(stored) if not dead]
        if live and data.draw(st.booleans()):
            victim = stored[data.draw(st.sampled_from(live))][0]
            last = max(place for place in live if stored[place][0] == victim)
            stored[last] = (*stored[last][:2], True)
            live.remove(last)
            ordinals.forget(np.array([last]))
        for row in {content for content, _, _ in stored}:
            found = sorted(ordinal for other, ordinal, dead in stored if other == row and not dead)
            assert found == list(range(len(found)))
        if data.draw(st.booleans()):
            for column in columns:
                column.keep(np.array(live, dtype=np.int64))
            stored = [stored[place] for place in live]
            ordinals.clear()


# --- hashes for tables ---------------------------------------------------------------------------------------------


def stored(values: list[Any], type_: Type) -> NumberColumn | StringColumn:
    column = make_column(type_)
    column.extend(pa.array(values, ARROW_TYPES[type_]))
    return column


def test_hashes_depend_on_values_not_on_where_they_are_stored() -> None:
    values = ["a", None, "", "a", "\U0001f600", "x" * 1000]
    every = np.arange(len(values))
    plain = stored(values, Type.STRING).hashes(every)
    assert (stored(["x", *values], Type.STRING).hashes(every + 1) == plain).all()
    assert (stored(values, Type.STRING).hashes(slice(0, len(values))) == plain).all()
    assert plain[0] == plain[3]
    assert len(set(plain.tolist())) == 5, "NULL is not the empty text"
    assert len(set(stored([0, None, 1], Type.INT).hashes(np.arange(3)).tolist())) == 3


@given(st.lists(st.text(max_size=40) | st.text("ab\x00", max_size=600), unique=True, max_size=60))
def test_no_two_texts_collide_whatever_their_length_and_each_hashes_as_if_it_were_alone(texts: list[str]) -> None:
    hashes = stored(texts, Type.STRING).hashes(np.arange(len(texts))).tolist()
    assert len(set(hashes)) == len(texts)
    assert hashes == [stored([text], Type.STRING).hashes(np.arange(1))[0] for text in texts]


def test_position_matters_and_small_numbers_do_not_collide() -> None:
    one, two = np.array([1], dtype=np.uint64), np.array([2], dtype=np.uint64)
    assert hashing.rows([one, two], 1) != hashing.rows([two, one], 1)
    numbers = stored(list(range(-50_000, 50_000)), Type.INT).hashes(slice(0, 100_000))
    assert len(np.unique(hashing.rows([numbers], 100_000))) == 100_000


@pytest.mark.parametrize("count", [1, 999, 1000, 5000])
@pytest.mark.parametrize("bits", [3, 16, 17, 31, 32, 40])
def test_rows_are_grouped_in_order_however_large_the_numbers_of_groups_are(count: int, bits: int) -> None:
    groups = np.random.default_rng(count + bits).integers(0, 1 << bits, count)
    groups[count // 2] = (1 << bits) - 1
    groups[count // 3 :] = groups[: count - count // 3].copy()  # numbers that come again
    assert _group_order(groups).tolist() == np.argsort(groups, kind="stable").tolist()

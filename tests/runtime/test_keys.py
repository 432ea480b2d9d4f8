"""Numbers for keys, against a dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.arrays import hashing
from runtime.arrays.hash_table import HashTable
from runtime.arrays.keys import GroupSpace, KeySpace
from runtime.results.lives import running_maximum

# --- keys ----------------------------------------------------------------------------------------------------------


TEXTS = st.sampled_from(["a", "b", "", "ä", "\U0001f600", "a\0"])
INTEGERS = st.sampled_from([0, 1, 2, 17, 2**20 - 1, 2**20, -1, 2**63 - 1, -(2**63)])


@pytest.mark.parametrize(("values_of", "type_"), [(TEXTS, pa.string()), (INTEGERS, pa.int64())], ids=["text", "int"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_equal_values_have_equal_numbers(values_of: Any, type_: pa.DataType, data: st.DataObject) -> None:
    space = KeySpace(integers=type_ == pa.int64())
    number_of: dict[Any, int] = {}
    for _ in range(data.draw(st.integers(0, 5))):
        values = data.draw(st.lists(values_of, max_size=6))
        numbers = space.encode(pa.array(values, type_)).tolist()
        for value, number in zip(values, numbers, strict=True):
            assert number_of.setdefault(value, number) == number
    assert sorted(number_of.values()) == list(range(len(space)))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=40),
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)),
    st.sampled_from((2, 3)),
)
def test_combinations_have_numbers_of_their_own(
    given_: list[tuple[int, int, int]], asked_: tuple[int, int, int], width: int
) -> None:
    combinations, probe = [keys[:width] for keys in given_], asked_[:width]
    space = GroupSpace(width)
    keys = [np.array([one[i] for one in combinations], dtype=np.int64) for i in range(width)]
    groups = space.encode(keys, len(combinations)).tolist()
    assert len(set(zip(combinations, groups, strict=True))) == len(set(combinations)) == len(set(groups)) == len(space)
    (asked,) = space.encode([np.array([key]) for key in probe], 1, add=False).tolist()
    assert asked == (groups[combinations.index(probe)] if probe in combinations else -1)
    assert len(space) == len(set(combinations)), "asking adds nothing"


def test_no_key_is_one_group_and_one_key_its_number() -> None:
    assert GroupSpace(0).encode([], 3).tolist() == [0, 0, 0]
    assert GroupSpace(1).encode([np.array([4, 2])], 2).tolist() == [4, 2]


# --- hash tables ----------------------------------------------------------------------------------------------------

CROWDED = st.tuples(st.sampled_from((0, 1, 64, 2**63, 2**64 - 1)), st.integers(0, 12))
"""Keys that are much alike."""
SCATTERED = st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))


def lanes(keys: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([a for a, _ in keys], dtype=np.uint64), np.array([b for _, b in keys], dtype=np.uint64)


@pytest.mark.parametrize("terrible", [False, True])
@settings(deadline=None)
@given(st.data())
def test_a_hash_table_is_a_dict_of_numbers(terrible: bool, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patched:
        if terrible:
            patched.setattr(hashing, "words", lambda keys: np.zeros(len(keys[0]), np.uint64))
        as_a_dict(data)


def as_a_dict(data: st.DataObject) -> None:
    table, model = HashTable(2), dict[tuple[int, int], int]()
    for _ in range(data.draw(st.integers(1, 5))):
        batch = data.draw(st.lists(CROWDED | SCATTERED, max_size=40))
        before = table.numbered
        numbers, fresh = table.add(lanes(batch))
        assert [batch[place] for place in fresh] == [
            key for key, _ in sorted({*zip(batch, numbers.tolist(), strict=True)}, key=lambda pair: pair[1])
            if key not in model
        ]  # fmt: skip
        assert fresh.tolist() == [batch.index(batch[place]) for place in fresh], "where each comes first"
        assert sorted(numbers[fresh].tolist()) == list(range(before, table.numbered))
        model |= {batch[place]: int(numbers[place]) for place in fresh}
        assert numbers.tolist() == [model[key] for key in batch]
        probe = data.draw(st.lists(CROWDED, max_size=10))
        assert table.find(lanes(probe)).tolist() == [model.get(key, -1) for key in probe]
        gone = data.draw(st.lists(st.sampled_from(sorted(model)), unique=True, max_size=20)) if model else []
        table.discard(np.array([model.pop(key) for key in gone], dtype=np.int64))
        assert len(table) == len(model)
        assert set(table.live().tolist()) == set(model.values())
        if data.draw(st.booleans()):
            kept = table.live()
            table = HashTable.of(table.keys(kept))
            model = {key: kept.tolist().index(number) for key, number in model.items()}


def test_probes_stay_few_as_a_hash_table_grows() -> None:
    """Rounds of `add` are what its cost depends on: a handful, at any size."""
    random = np.random.default_rng(1)
    table, rounds = HashTable(2), []
    for _ in range(64):
        keys = random.integers(0, 2**64, 4096, dtype=np.uint64), random.integers(0, 2**64, 4096, dtype=np.uint64)
        table.add(keys)
        rounds.append(len(table._places(keys)))
    assert len(table) == 64 * 4096
    assert max(rounds) <= 32
    assert table.nbytes <= 64 * len(table)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.booleans()), min_size=1))
def test_a_running_maximum_starts_again_with_each_run(pairs: list[tuple[int, bool]]) -> None:
    values = np.array([value for value, _ in pairs], dtype=np.int64)
    begins = np.array([True, *(begin for _, begin in pairs[1:])])
    want: list[int] = []
    for value, begin in zip(values.tolist(), begins.tolist(), strict=True):
        want.append(value if begin else max(want[-1], value))
    assert running_maximum(values, begins).tolist() == want

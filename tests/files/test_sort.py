"""Sorting by event time: the order, that it is stable, and when it uses the disk."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.ir.model import Stream
from cep.ir.types import Type
from connectors.files import ErrorPolicy, Input, sort
from connectors.files.merge import LOWEST, Cursor, merge_runs, rounds
from connectors.files.sort import ArrivalInput, SortedInput

STREAM = Stream(name="S", columns=(("ts", Type.TIMESTAMP), ("n", Type.INT), ("pad", Type.STRING)), time="ts")
MB = 1 << 20


def write(path: Path, times: list[int | None], pad: int = 0) -> Input:
    lines = (json.dumps({"ts": time, "n": n, "pad": "x" * pad}) for n, time in enumerate(times))
    path.write_text("".join(line + "\n" for line in lines))
    return Input.find(STREAM, str(path))


def drain(reader: SortedInput | ArrivalInput) -> tuple[list[int], list[int]]:
    keys: list[int] = []
    numbers: list[int] = []
    for chunk, batch in reader.chunks():
        assert len(chunk) == batch.num_rows
        keys += chunk.tolist()
        numbers += batch.column("n").to_pylist()
    reader.close()
    return keys, numbers


def by_time(times: list[int]) -> list[int]:
    return sorted(range(len(times)), key=lambda n: times[n])


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers of many small blocks, so that small files have the life of large ones."""
    import connectors.files

    monkeypatch.setattr(connectors.files, "_SMALLEST_BLOCK", 512)


def make(source: Input, memory: int) -> SortedInput:
    reader = SortedInput(source, ErrorPolicy(), memory=memory)
    reader.block = 1024
    return reader


@pytest.mark.usefixtures("small_blocks")
class TestAnInputLargerThanMemory:
    MEMORY = 20_000

    def test_in_order_streams_through_and_never_spills(self, tmp_path: Path) -> None:
        times = [n // 3 for n in range(5000)]
        reader = make(write(tmp_path / "e.jsonl", times), self.MEMORY)
        held = 0
        numbers = []
        for _, batch in reader.chunks():
            numbers += batch.column("n").to_pylist()
            held = max(held, reader._held_bytes)
        assert numbers == list(range(5000))
        assert reader.spill.written == 0
        assert held < 3000  # a block or so, and never the file

    def test_with_local_disorder_is_held_back_a_little_and_never_spills(self, tmp_path: Path) -> None:
        rng = random.Random(1)
        times = [n + rng.randint(0, 60) for n in range(5000)]
        reader = make(write(tmp_path / "e.jsonl", times), self.MEMORY)
        assert drain(reader)[1] == by_time(times)
        assert reader.spill.written == 0

    @pytest.mark.parametrize("runs", [64, 3])
    def test_in_no_order_is_spilled_and_merged(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int
    ) -> None:
        monkeypatch.setattr(sort, "MAX_RUNS", runs)
        rng = random.Random(2)
        times = [rng.randint(0, 500) for _ in range(8000)]
        reader = make(write(tmp_path / "e.jsonl", times), self.MEMORY)
        directories = []
        numbers = []
        for _, batch in reader.chunks():
            assert reader.spill._directory is not None
            directories.append(Path(reader.spill._directory.name))
            assert len(list(directories[0].iterdir())) <= runs
            numbers += batch.column("n").to_pylist()
        assert numbers == by_time(times)
        assert reader.spill.written > 5
        reader.close()
        assert not directories[0].exists()

    def test_events_without_a_time_are_not_lost_and_hold_nothing_back(self, tmp_path: Path) -> None:
        times: list[int | None] = [None if n % 50 == 0 else n for n in range(5000)]
        reader = make(write(tmp_path / "e.jsonl", times), self.MEMORY)
        keys, numbers = drain(reader)
        assert sorted(numbers) == list(range(5000))
        timed = [key for key in keys if key != LOWEST]
        assert timed == sorted(timed)
        assert reader.spill.written == 0

    def test_bad_records_are_counted_once_though_it_is_read_twice(self, tmp_path: Path) -> None:
        path = tmp_path / "e.jsonl"
        source = write(path, list(range(5000)))
        path.write_text(path.read_text().replace('"n": 7,', '"n": "x",').replace('"ts": 9,', '"ts": "x",'))
        policy = ErrorPolicy.parse("skip")
        reader = SortedInput(source, policy, memory=self.MEMORY)
        reader.block = 1024
        assert drain(reader)[1] == [n for n in range(5000) if n not in (7, 9)]
        assert policy.count == 2


@pytest.mark.usefixtures("small_blocks")
def test_a_csv_without_its_event_time_is_read_as_events_without_a_time(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(5000)))
    reader = make(Input.find(STREAM, str(tmp_path / "e.csv")), 2000)
    assert drain(reader) == ([LOWEST] * 5000, list(range(5000)))


def test_an_input_that_fits_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(sort, "Minima")
    times = [3, 1, 2, 1, 3]
    reader = SortedInput(write(tmp_path / "e.jsonl", times), ErrorPolicy(), memory=MB)
    assert drain(reader) == ([1000, 1000, 2000, 3000, 3000], [1, 3, 2, 0, 4])


@settings(max_examples=40, deadline=None)
@given(times=st.lists(st.integers(0, 30), max_size=200), block=st.integers(32, 400), memory=st.integers(200, 4000))
def test_any_times_any_block_any_memory(
    tmp_path_factory: pytest.TempPathFactory, times: list[int], block: int, memory: int
) -> None:
    import connectors.files

    source = write(tmp_path_factory.mktemp("sort") / "e.jsonl", list(times))
    reader = SortedInput(source, ErrorPolicy(), memory=memory)
    reader.block = block
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connectors.files, "_SMALLEST_BLOCK", 16)
        assert drain(reader)[1] == by_time(times)


# --- merging -------------------------------------------------------------------------------------------------------


def cursor(number: int, chunks: list[list[int]]) -> Cursor:
    def produce():  # type: ignore[no-untyped-def]
        for place, keys in enumerate(chunks):
            tags = [f"{number}.{place}.{i}" for i in range(len(keys))]
            yield np.array(keys, np.int64), pa.RecordBatch.from_pydict({"tag": tags})

    return Cursor(produce(), number)


RUNS = st.lists(st.lists(st.lists(st.integers(0, 6), max_size=4), max_size=4), min_size=1, max_size=4)


@settings(deadline=None)
@given(runs=RUNS)
def test_merging_is_a_stable_sort(runs: list[list[list[int]]]) -> None:
    for number, run in enumerate(runs):
        flat = sorted(key for chunk in run for key in chunk)
        runs[number] = [[flat.pop(0) for _ in chunk] for chunk in run]
    expected = sorted(
        (
            (key, number, place, i)
            for number, run in enumerate(runs)
            for place, chunk in enumerate(run)
            for i, key in enumerate(chunk)
        ),
    )
    found = [
        tag
        for _, batch in merge_runs([cursor(n, run) for n, run in enumerate(runs)])
        for tag in batch.column(0).to_pylist()
    ]
    assert found == [f"{number}.{place}.{i}" for _, number, place, i in expected]


def test_there_are_no_more_rounds_than_chunks() -> None:
    many = [cursor(0, [[n] for n in range(50)]), cursor(1, [list(range(50))])]
    assert len(list(rounds(many))) <= 51


@settings(max_examples=60, deadline=None)
@given(inputs=st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=3))
def test_arrival_order_takes_the_input_whose_next_event_is_earliest(
    tmp_path_factory: pytest.TempPathFactory, inputs: list[list[int]]
) -> None:
    folder = tmp_path_factory.mktemp("arrival")
    sources = [write(folder / f"{n}.jsonl", list(times)) for n, times in enumerate(inputs)]
    cursors = [Cursor(ArrivalInput(source, ErrorPolicy()).chunks(), n) for n, source in enumerate(sources)]
    found: list[tuple[int, int]] = []
    for parts in rounds(cursors):
        keys = np.concatenate([keys for _, keys, _ in parts])
        tags = [(number, n) for number, _, batch in parts for n in batch.column("n").to_pylist()]
        found += [tags[i] for i in np.argsort(keys, kind="stable")]
    heads = [0] * len(inputs)
    expected = []
    while any(head < len(times) for head, times in zip(heads, inputs, strict=True)):
        number = min(
            (n for n in range(len(inputs)) if heads[n] < len(inputs[n])), key=lambda n: (inputs[n][heads[n]], n)
        )
        expected.append((number, heads[number]))
        heads[number] += 1
    assert found == expected

"""Matches as JSON Lines: the same text as `json.dumps`, for every value."""

from __future__ import annotations

import datetime as dt
import io
import json
import os

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.ir.expr import timestamp_text
from connectors.files.match_writer import (
    double_texts,
    json_text,
    match_lines,
    timestamp_texts,
    write_all,
    write_matches,
)

MICROS = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
TIMES = MICROS | MICROS.map(lambda m: m // 1000 * 1000) | MICROS.map(lambda m: m // 1_000_000 * 1_000_000)


@settings(deadline=None)
@given(st.lists(st.none() | TIMES))
def test_timestamps_are_written_as_the_language_does(micros: list[int | None]) -> None:
    array = pa.array([m if m is None or m >= -62_135_596_800_000_000 else 0 for m in micros], pa.timestamp("us", "UTC"))
    assert timestamp_texts(array).to_pylist() == [None if m is None else timestamp_text(m) for m in micros]


@settings(deadline=None)
@given(
    st.lists(
        st.none()
        | st.floats()
        | st.integers(-(10**17), 10**17).map(float)
        | st.decimals(-1000, 1000, places=4).map(float)
    )
)
def test_doubles_are_written_as_python_does(values: list[float | None]) -> None:
    expected = [None if v is None or v - v != 0 else repr(v) for v in values]
    assert double_texts(pa.array(values, pa.float64())).to_pylist() == expected


@settings(deadline=None)
@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]))))
def test_strings_are_escaped_also_in_a_dictionary(values: list[str | None]) -> None:
    expected = [json.dumps(value, ensure_ascii=False) for value in values]
    array = pa.array(values, pa.string())
    assert json_text(array).to_pylist() == expected
    assert json_text(array.dictionary_encode()).to_pylist() == expected


def batch(count: int = 3) -> pa.RecordBatch:
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
    return pa.RecordBatch.from_pydict(
        {
            "_id": pa.array([bytes([n]) * 16 for n in range(count)], pa.binary(16)),
            "_start": pa.array([moment] * count, pa.timestamp("us", "UTC")),
            "_end": pa.nulls(count, pa.timestamp("us", "UTC")),
            'a"b': pa.array(['x"\n'] * count),
            "n": pa.array([n or None for n in range(count)], pa.int64()),
            "ok": pa.array([True] * count),
        }
    )


def test_a_match_is_one_object_a_line() -> None:
    lines = match_lines(batch(), "P").to_pylist()
    assert lines[1] == (
        '{"id": "01010101010101010101010101010101", "pattern": "P", "start": "2024-01-01T00:00:00Z", "end": null, '
        '"fields": {"a\\"b": "x\\"\\n", "n": 1, "ok": true}}\n'
    )
    assert [json.loads(line)["fields"]["n"] for line in lines] == [None, 1, 2]


def test_slices_of_a_batch_and_batches_without_fields() -> None:
    assert match_lines(batch(5).slice(3, 1), "P").to_pylist() == match_lines(batch(5), "P").to_pylist()[3:4]
    bare = batch().select(["_id", "_start", "_end"])
    assert json.loads(match_lines(bare, "P")[0].as_py())["fields"] == {}


def test_each_write_is_whole_lines() -> None:
    class Sink(io.BytesIO):
        writes: list[bytes] = []  # noqa: RUF012 - one sink

        def write(self, data) -> int:  # type: ignore[no-untyped-def, override]
            self.writes.append(bytes(data))
            return len(data)

    sink = Sink()
    assert list(write_matches([batch(10), batch(0), batch(1)], "P", sink, rows=4)) == [4, 4, 2, 1]
    assert all(data.endswith(b"}}\n") for data in sink.writes)
    assert len(b"".join(sink.writes).splitlines()) == 11


def test_a_file_that_writes_less_than_asked_gets_the_rest() -> None:
    read, write = os.pipe()

    class Short(io.RawIOBase):
        def write(self, data) -> int:  # type: ignore[no-untyped-def, override]
            return os.write(write, data[:7])

    write_all(Short(), memoryview(b"0123456789" * 3))  # type: ignore[arg-type]
    os.close(write)
    with os.fdopen(read, "rb") as file:
        assert file.read() == b"0123456789" * 3

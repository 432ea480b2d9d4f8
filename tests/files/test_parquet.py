"""Parquet: which column types fit which attribute."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors.files import BadRecordError, ErrorPolicy, InputError, read_events

from .conftest import TRANS, rows
from .test_jsonl import NOON, one


def read(path: Path, columns: dict[str, pa.Array], policy: ErrorPolicy | None = None) -> list[dict[str, object]]:
    pq.write_table(pa.table(columns), path / "e.parquet")
    return rows(list(read_events(str(path / "e.parquet"), TRANS, policy=policy)))


@pytest.mark.parametrize(
    "array",
    [
        pa.array([NOON // 1000, None], pa.timestamp("ms")),
        pa.array([NOON // 1_000_000, None], pa.timestamp("s", "UTC")),
        pa.array([NOON, None], pa.timestamp("us", "Europe/Berlin")),
        pa.array([NOON * 1000 + 999, None], pa.timestamp("ns", "UTC")),
        pa.array([NOON // 1000, None], pa.int64()),
        pa.array(["2024-01-01T12:00:00Z", None]),
        pa.array(["2024-01-01T12:00:00", None]),
        pa.array(["2024-01-01T14:00:00+02:00", None]).dictionary_encode(),
    ],
    ids=lambda array: str(array.type) + str(array[0])[-6:],
)
def test_timestamps_of_any_kind(tmp_path: Path, array: pa.Array) -> None:
    assert read(tmp_path, {"ts": array}) == [one(ts=NOON), one()]


def test_dates_are_midnight(tmp_path: Path) -> None:
    assert read(tmp_path, {"ts": pa.array([dt.date(2024, 1, 1)])}) == [one(ts=NOON - 12 * 3_600_000_000)]


def test_other_types_that_fit(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {
            "n": pa.array([1, 2], pa.uint8()),
            "amnt": pa.array([Decimal("1.50"), None]),
            "acc": pa.array(["a", "b"], pa.large_string()),
            "ok": pa.array([True, None]),
            "zip": pa.array([{"x": 1}, None]),
        },
    )
    assert found == [one(n=1, amnt=1.5, acc="a", ok=True), one(n=2, acc="b")]


def test_integers_fit_double_and_what_is_not_finite_is_null(tmp_path: Path) -> None:
    assert [r["amnt"] for r in read(tmp_path, {"amnt": pa.array([3, None], pa.int32())})] == [3.0, None]
    assert [r["amnt"] for r in read(tmp_path, {"amnt": pa.array([float("nan"), float("inf"), 1.0])})] == [
        None,
        None,
        1.0,
    ]


def test_a_file_without_any_known_column_has_events_of_nulls(tmp_path: Path) -> None:
    assert read(tmp_path, {"zip": pa.array([1, 2])}) == [one(), one()]


def test_a_column_of_another_type_is_an_error_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'e\.parquet: "amnt": expected DOUBLE, found a column of type string'):
        read(tmp_path, {"amnt": pa.array(["1.5"])}, ErrorPolicy.parse("skip"))


def test_values_out_of_range_are_bad_records_with_their_row(tmp_path: Path) -> None:
    columns = {"n": pa.array([1, 2**63, 3], pa.uint64()), "acc": pa.array(["a", "b", "c"])}
    with pytest.raises(BadRecordError, match=r'e\.parquet:2: "n": expected INT \(64 bit\), found 9223372036854775808'):
        read(tmp_path, columns)
    policy = ErrorPolicy.parse("skip")
    assert [row["acc"] for row in read(tmp_path, columns, policy)] == ["a", "c"]
    assert policy.count == 1
    with pytest.raises(BadRecordError, match=r"e\.parquet:1: .*years 1 to 9999"):
        read(tmp_path, {"ts": pa.array([NOON])})


def test_a_file_that_is_no_parquet_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "e.parquet").write_text("{}")
    with pytest.raises(InputError, match=r"e\.parquet: cannot be read"):
        list(read_events(str(tmp_path / "e.parquet"), TRANS))

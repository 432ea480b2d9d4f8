"""Whether a record is an event, and with what values, is decided by that record alone.

Records are read alone and in company: among others that are good, odd or bad, in blocks of any size. The answers must
be the same, for JSON Lines, CSV, Parquet and the values of Kafka records.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cep.ir.types import Type
from connectors.files import csv, jsonl
from connectors.files.errors import ErrorPolicy
from connectors.files.parquet import read_parquet
from connectors.kafka.decode import decode

COLUMNS = (("ts", Type.TIMESTAMP), ("s", Type.STRING), ("i", Type.INT), ("d", Type.DOUBLE), ("b", Type.BOOLEAN))
HEADER = b"s,ts,i,d,b,other\n"

NUMBERS = [
    *"""Inf -Inf NaN -NaN Infinity -Infinity inf nan 1.7976931348623157e308 1.7976931348623159e308 1e400 -1e400 1e-400
9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 9007199254740993 -0 -0.0 01 1. .5 +1
1e5 1E+5 1.0 0x10 0XfF 0xffffffffffffffff 0x 1_000 1704067200000 1704067200 1704067200000.0 0.5 253402300799999
253402300800000 -62135596800001 9223372036854775 1e12""".split(),  # noqa: SIM905 - easier to read than fifty quoted words
    "1" * 310,
    "1" * 5000,
    "0." + "1" * 5000,
]
TIMES = """2024-01-01T00:00:00Z 2024-01-01T00:00:00 2024-01-01 2024-01-01T00 2024-01-01T00:00Z 2024-01-01T00:00:00.1Z
2024-01-01T00:00:00.1234567Z 2024-01-01T00:00:00.123456789Z 2024-01-01T00:00:00.1234567891Z 2024-01-01T24:00:00Z
2024-01-01T23:59:60Z 2024-02-30T00:00:00Z 0000-01-01T00:00:00Z 0001-01-01T00:00:00Z 9999-12-31T23:59:59.999999Z
9999-12-31T23:59:59-10:00 1500-01-01T00:00:00.123456789Z 2300-01-01T00:00:00.123456789Z 2024-01-01T00:00:00+05
2024-01-01T00:00:00+0530 2024-01-01T00:00:00+24:00 2024-01-01T00:00:00z 2024-1-1 2024-01-01Z""".split()  # noqa: SIM905 - as above
TEXTS = [
    *TIMES,
    "",
    " ",
    "a",
    "true",
    "\\ud800",
    "\\udc00x",
    "\\ud83d\\ude00",
    "\\u0000",
    "\\x",
    "\x01",
    "\t",
    "\ufeffa",
    "é",
]
OTHERS = ["null", "true", "false", "True", "{}", "[]", '{"i": 5, "s": "x"}', "[1, 2", "[" * 400 + "]" * 400]
DEEP = "[" * 5000 + "]" * 5000
JSON_VALUES = [*NUMBERS, *(f'"{text}"' for text in TEXTS), *OTHERS, DEEP]
JSON_WHOLE = [
    *"""{} {"i":1}{"i":2} {"i":1}, {"i":1,} {,} {'i':1} {i:1} {"i":1}x {"i":1}} {{"i":1}} {"\\u0069":1} [] 1 null
{"i":1/**/} {"I":1} {"_sign":-1} {"\\u005fsign":1} {"_sign":null} {"u":{"_sign":1}} {"i":1,"i":2} {"i":"x","i":2}
{"s":"a","s":null} {"d":NaN,"d":1}""".split(),  # noqa: SIM905 - as above
    ' {"i":1}',
    '{"i":1}\r',
    '{"i":1}\x00',
    '{"i": 1\x0c}',
]

KEYS = ["ts", "s", "i", "d", "b", "other", "_sign"]

json_records = st.one_of(
    st.sampled_from(JSON_WHOLE),
    st.builds('{{"{}": {}}}'.format, st.sampled_from(KEYS), st.sampled_from(JSON_VALUES)),
    st.builds(
        '{{"{}": {}, "i": {}}}'.format,
        st.sampled_from(["ts", "i", "d", "other"]),
        st.sampled_from(JSON_VALUES),
        st.sampled_from(JSON_VALUES),
    ),
    st.builds('{{"i": {}, "d": {}}}'.format, st.integers(-(10**20), 10**20), st.floats()),
)

CSV_VALUES = [
    "",
    " ",
    "a",
    "true",
    "TRUE",
    "1",
    "0",
    '""',
    '"a"',
    '"a""b"',
    '" "',
    "\ufeffa",
    "nan(1)",
    " 1",
    "1 ",
    "yes",
]
csv_fields = st.sampled_from([*NUMBERS, *TIMES, *CSV_VALUES])
csv_records = st.one_of(
    st.builds(",".join, st.lists(csv_fields, min_size=6, max_size=6)),
    st.builds(",".join, st.lists(csv_fields, min_size=1, max_size=8)),
    st.builds(
        lambda at, value: "," * at + value + "," * (5 - at),
        st.integers(0, 5),
        csv_fields,
    ),
)


class Collected(ErrorPolicy):
    """Bad records as (line, error)."""

    def __init__(self) -> None:
        super().__init__("skip")
        self.bad: list[tuple[int, str]] = []

    def bad_record(self, file: str, line: int, error: str, raw: str) -> None:
        _ = file, raw
        self.bad.append((line, error))


Verdict = tuple[list[dict[str, Any]], list[str]]


def plain(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return batch.set_column(0, "ts", batch.column("ts").cast(pa.int64())).to_pylist() if batch.num_rows else []


def read_text(
    path: Path, kind: str, lines: list[str], block: int
) -> tuple[list[dict[str, Any]], list[tuple[int, str]]]:
    head = HEADER if kind == "csv" else b""
    path.write_bytes(head + "".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass"))
    policy = Collected()
    reader = csv.read_csv if kind == "csv" else jsonl.read_jsonl
    found = [row for piece in reader(path, COLUMNS, policy, block) for row in plain(piece.batch)]
    return found, policy.bad


def in_company(path: Path, kind: str, records: list[str], block: int, exact_below: int) -> None:
    module = csv if kind == "csv" else jsonl
    rows: list[dict[str, Any]] = []
    bad: list[tuple[int, str]] = []
    first = 2 if kind == "csv" else 1
    for number, record in enumerate(records):
        alone, errors = read_text(path, kind, [record], 1 << 20)
        rows += alone
        bad += [(number + first, error) for _, error in errors]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "EXACT_BELOW", exact_below)
        found, errors = read_text(path, kind, records, block)
    assert [(line, error) for line, error in errors] == bad
    assert repr(found) == repr(rows)


BLOCKS = st.sampled_from([1, 64, 1000, 1 << 20])
EXACT = st.sampled_from([16, 1000, 32 << 10])


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(json_records, max_size=12), BLOCKS, EXACT)
def test_a_json_record_has_one_verdict(tmp_path_factory: Any, records: list[str], block: int, exact_below: int) -> None:
    in_company(tmp_path_factory.getbasetemp() / "verdicts.jsonl", "jsonl", records, block, exact_below)


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(csv_records, max_size=12), BLOCKS, EXACT)
def test_a_csv_record_has_one_verdict(tmp_path_factory: Any, records: list[str], block: int, exact_below: int) -> None:
    in_company(tmp_path_factory.getbasetemp() / "verdicts.csv", "csv", records, block, exact_below)


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(json_records, max_size=12))
def test_the_value_of_a_kafka_record_has_one_verdict(records: list[str]) -> None:
    values = [record.encode("utf-8", "surrogatepass") for record in records]
    batch, errors = decode(pa.array(values, pa.binary()), COLUMNS)
    alone = [decode(pa.array([value], pa.binary()), COLUMNS) for value in values]
    assert repr(plain(batch)) == repr([row for one, _ in alone for row in plain(one)])
    assert [tuple(error) for error in errors] == [
        (number, error.reason) for number, (_, found) in enumerate(alone) for error in found
    ]


def every_odd_record(kind: str) -> list[str]:
    if kind == "csv":
        return ["," * at + value + "," * (5 - at) for at in range(6) for value in [*NUMBERS, *TIMES, *CSV_VALUES]]
    return [*JSON_WHOLE, *(f'{{"{key}": {value}}}' for key in KEYS for value in JSON_VALUES)]


@pytest.mark.parametrize(
    ("kind", "company"),
    [
        ("jsonl", '{"i": 1}'),
        ("jsonl", '{"i": "bad"}'),
        ("jsonl", '{"ts": 0}'),
        ("jsonl", '{"ts": "2024-01-01T00:00:00.123456789Z"}'),
        ("csv", ",,1,,,"),
        ("csv", ",,bad,,,"),
        ("csv", ",0,,,,"),
        ("csv", ",2024-01-01T00:00:00,,,,"),
        ("csv", ",2024-01-01T00:00:00.123456789Z,,,,"),
    ],
)
def test_no_odd_record_is_changed_by_a_neighbour(tmp_path: Path, kind: str, company: str) -> None:
    path = tmp_path / f"events.{kind}"
    neighbour = read_text(path, kind, [company], 1 << 20)
    for record in every_odd_record(kind):
        rows, bad = read_text(path, kind, [record], 1 << 20)
        found, errors = read_text(path, kind, [company, record, company], 1 << 20)
        assert repr(found) == repr(neighbour[0] + rows + neighbour[0]), record[:100]
        assert [e for _, e in errors] == [e for _, e in [*neighbour[1], *bad, *neighbour[1]]], record[:100]


@pytest.mark.parametrize(
    ("value", "amount"),
    [
        ("NaN", None),
        ("Inf", None),
        ("-Inf", None),
        ("-Infinity", None),
        ("-NaN", None),
        ("1.7976931348623157e308", 1.7976931348623157e308),
    ],
)
def test_numbers_that_are_not_finite_are_null_and_the_largest_one_is_kept(
    tmp_path: Path, value: str, amount: object
) -> None:
    rows, bad = read_text(tmp_path / "events.jsonl", "jsonl", [f'{{"d": {value}}}', '{"d": [1]}'], 1 << 20)
    assert [row["d"] for row in rows] == [amount]
    assert bad == [(2, '"d": expected DOUBLE, found an array')]


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_a_number_beyond_double_is_refused_alone_and_in_company(tmp_path: Path, kind: str) -> None:
    huge = '{"d": 1.7976931348623159e308}' if kind == "jsonl" else ",,,1.7976931348623159e308,,"
    good = '{"d": 1}' if kind == "jsonl" else ",,,1,,"
    for lines in ([huge], [good, huge], [huge, good]):
        rows, bad = read_text(tmp_path / "events", kind, lines, 1 << 20)
        assert len(rows) == len(lines) - 1
        assert [error for _, error in bad] == [
            '"d": expected DOUBLE, found 1.7976931348623159e308, which is out of range'
        ]


def test_a_parquet_time_is_cut_to_microseconds_the_same_way_beside_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    alone = pa.table({"ts": pa.array([-1], pa.timestamp("ns"))})
    beside = pa.table({"ts": pa.array([-1, -1], pa.timestamp("ns")), "i": pa.array([1, 2**63], pa.uint64())})
    for table in (alone, beside):
        pq.write_table(table, path)
        policy = Collected()
        found = [row for piece in read_parquet(path, COLUMNS, policy) for row in plain(piece.batch)]
        assert found[0]["ts"] == -1
        assert len(policy.bad) == table.num_rows - 1


def test_a_parquet_time_out_of_range_is_refused_whatever_its_unit(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    for column in (pa.array([2**62 + 1, 0], pa.timestamp("ms")), pa.array([2**31 - 1, 0], pa.date32())):
        pq.write_table(pa.table({"ts": column}), path)
        policy = Collected()
        found = [row for piece in read_parquet(path, COLUMNS, policy) for row in plain(piece.batch)]
        assert [row["ts"] for row in found] == [0]
        assert [line for line, _ in policy.bad] == [1]

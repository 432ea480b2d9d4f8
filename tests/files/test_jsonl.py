"""JSON Lines: what is accepted, what is refused and how it is said, and that both readers agree."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.ir.types import Type
from connectors.files import BadRecordError, ErrorPolicy, InputError, jsonl, read_events

from .conftest import TRANS, Read, rows

NOON = 1_704_110_400_000_000
"""2024-01-01T12:00:00Z."""


def one(**values: object) -> dict[str, object]:
    return {"ts": None, "acc": None, "amnt": None, "n": None, "ok": None, **values}


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ('"2024-01-01T12:00:00Z"', NOON),
        ('"2024-01-01T12:00:00"', NOON),
        ('"2024-01-01 12:00:00"', NOON),
        ('"2024-01-01T12:00Z"', NOON),
        ('"2024-01-01T14:00:00+02:00"', NOON),
        ('"2024-01-01T06:30:00-0530"', NOON),
        ('"2024-01-01T12:00:00.5Z"', NOON + 500_000),
        ('"2024-01-01T12:00:00.123456Z"', NOON + 123_456),
        ('"2024-01-01T12:00:00.123456789Z"', NOON + 123_456),
        ('"1969-12-31T23:59:59.9999999Z"', -1),
        ('"2024-01-01"', NOON - 12 * 3_600_000_000),
        ("1704110400000", NOON),
        ("1704110400000.0", NOON),
        ("-1", -1000),
        ("null", None),
    ],
)
def test_a_timestamp_is_iso_text_or_integer_milliseconds(read: Read, text: str, micros: int | None) -> None:
    assert read(f'{{"ts": {text}}}\n') == [one(ts=micros)]


def test_timestamps_may_be_written_in_both_ways_in_one_file(read: Read) -> None:
    lines = ['{"ts": "2024-01-01T12:00:00Z"}', '{"ts": 1704110400000}', '{"ts": "2024-01-01T12:00:00.1234567Z"}']
    assert [row["ts"] for row in read("\n".join(lines))] == [NOON, NOON, NOON + 123_456]


@pytest.mark.parametrize(
    ("record", "error"),
    [
        ('{"amnt": "abc"}', '"amnt": expected DOUBLE, found "abc"'),
        ('{"amnt": "1.5"}', '"amnt": expected DOUBLE, found "1.5"'),
        ('{"amnt": 1e999}', '"amnt": expected DOUBLE, found 1e999, which is out of range'),
        ('{"n": 1.5}', '"n": expected INT, found 1.5'),
        ('{"n": 9223372036854775808}', '"n": expected INT (64 bit), found 9223372036854775808'),
        ('{"n": true}', '"n": expected INT, found true'),
        ('{"ok": "true"}', '"ok": expected BOOLEAN, found "true"'),
        ('{"ok": 1}', '"ok": expected BOOLEAN, found 1'),
        ('{"acc": {"id": 1}}', '"acc": expected STRING, found an object'),
        ('{"acc": ["a"]}', '"acc": expected STRING, found an array'),
        ('{"acc": 1}', '"acc": expected STRING, found 1'),
        ('{"acc": "\\ud800"}', '"acc": expected STRING, found half of a surrogate pair'),
        (
            '{"ts": "yesterday"}',
            '"ts": expected TIMESTAMP (ISO-8601 text or integer milliseconds since the epoch), found "yesterday"',
        ),
        (
            '{"ts": "2024-02-30T00:00:00Z"}',
            '"ts": expected TIMESTAMP (ISO-8601 text or integer milliseconds since the epoch), found "2024-02-30T',
        ),
        (
            '{"ts": 1704110400000000}',
            '"ts": expected TIMESTAMP in the years 1 to 9999 (integers are milliseconds), found 1704110400000000',
        ),
        ("[1, 2]", "expected a JSON object, found an array"),
        ("17", "expected a JSON object, found 17"),
        ('{"n": 1} {"n": 2}', "expected a JSON object: Extra data at column 10"),
        ('{"n": 1,}', "expected a JSON object: "),
    ],
)
def test_a_bad_value_is_named_with_its_line(read: Read, record: str, error: str) -> None:
    good = '{"n": 1}\n'
    with pytest.raises(BadRecordError) as caught:
        read(good * 16 + record + "\n" + good)
    assert caught.value.line == 17
    assert caught.value.error.startswith(error)
    assert caught.value.raw == record
    assert str(caught.value).endswith(f"events.jsonl:17: {caught.value.error}")


def test_the_line_number_is_right_deep_in_a_large_file(tmp_path: Path) -> None:
    lines = [json.dumps({"n": number, "acc": "x" * 50}) for number in range(60_000)]
    lines[47_110] = '{"n": "x"}'
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(lines))
    with pytest.raises(BadRecordError, match=r'events\.jsonl:47111: "n": expected INT, found "x"'):
        list(read_events(str(path), TRANS))
    policy = ErrorPolicy.parse("skip")
    numbers = [n for batch in read_events(str(path), TRANS, policy=policy) for n in batch.column("n").to_pylist()]
    assert numbers == [n for n in range(60_000) if n != 47_110]
    assert policy.count == 1


def test_nan_and_infinity_are_null(read: Read) -> None:
    found = read('{"amnt": NaN, "n": 1}\n{"amnt": -Infinity, "n": 2}\n{"amnt": 2, "n": NaN}\n')
    assert found == [one(n=1), one(n=2), one(amnt=2.0)]


def test_numbers_that_are_whole_fit_int(read: Read) -> None:
    assert [row["n"] for row in read('{"n": 3.0}\n{"n": 3e2}\n{"n": -9223372036854775808}\n')] == [3, 300, -(2**63)]


def test_unknown_fields_are_ignored_and_missing_ones_null(read: Read) -> None:
    assert read('{"zip": {"deep": [1, {"n": 5}]}, "acc": "a"}\n{}\n') == [one(acc="a"), one()]


def test_the_last_of_two_equal_keys_holds(read: Read) -> None:
    assert read('{"n": 1, "n": 2}\n') == [one(n=2)]


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_empty_lines_line_ends_and_a_byte_order_mark(read: Read, end: str) -> None:
    text = "\ufeff\n" + '{"n": 1}\r\n\n  \n{"n": 2}' + end
    assert [row["n"] for row in read(text)] == [1, 2]


def test_an_empty_file_has_no_events(read: Read) -> None:
    assert read("") == []
    assert read("\ufeff") == []
    assert read("\n\n") == []


def test_invalid_utf8_is_named_with_its_line_also_in_ignored_fields(read: Read) -> None:
    with pytest.raises(BadRecordError, match=r"events\.jsonl:2: expected UTF-8 text, found byte 0xff at byte 7"):
        read(b'{"n": 1}\n{"x":"\xff"}\n')


def test_a_cut_off_last_line_says_so(read: Read) -> None:
    with pytest.raises(BadRecordError, match=r"events\.jsonl:2: .*\(the file ends within this line\)"):
        read('{"n": 1}\n{"n": 2, "ac')


def test_an_object_over_several_lines_is_not_a_record(read: Read) -> None:
    with pytest.raises(BadRecordError, match=r"events\.jsonl:1: expected a JSON object"):
        read('{"n":\n1}\n{"n": 2}\n')
    with pytest.raises(BadRecordError, match=r"events\.jsonl:1: expected a JSON object"):
        read('{"n": 1} {"n":\n2}\n')


def test_utf16_is_refused(read: Read) -> None:
    with pytest.raises(InputError, match="expected UTF-8 text, found UTF-16"):
        read('{"n": 1}\n'.encode("utf-16"))


def test_dead_letters_keep_what_was_written(read: Read, tmp_path: Path) -> None:
    policy = ErrorPolicy.parse(f"dead-letter={tmp_path / 'dead.jsonl'}")
    assert [row["n"] for row in read(b'{"n": 1}\nnot json\r\n{"n": "\xc3\xa4"}\n{"n": 4}\n', policy=policy)] == [1, 4]
    policy.close()
    records = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text(encoding="utf-8").splitlines()]
    file = str(tmp_path / "events.jsonl")
    assert records == [
        {"file": file, "line": 2, "error": "expected a JSON object: Expecting value at column 1", "raw": "not json"},
        {"file": file, "line": 3, "error": '"n": expected INT, found "ä"', "raw": '{"n": "ä"}'},
    ]
    assert policy.count == 2


def test_gzip_and_its_members(read: Read) -> None:
    data = gzip.compress(b'{"n": 1}\n') + gzip.compress(b'{"n": 2}\n')
    assert [row["n"] for row in read(data, "events.jsonl.gz")] == [1, 2]


def test_a_cut_off_archive_is_an_unreadable_input(read: Read) -> None:
    data = gzip.compress(b"".join(b'{"n": %d}\n' % n for n in range(5000)))
    with pytest.raises(InputError, match=r"events\.jsonl\.gz: cannot be read"):
        read(data[: len(data) // 2], "events.jsonl.gz")


def test_only_the_asked_columns_are_decoded(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"ts": 0, "amnt": "not a number", "n": 7}\n')
    (batch,) = read_events(str(path), TRANS, columns=["n"])
    assert batch.schema.names == ["ts", "n"]


def test_a_directory_and_a_glob_are_read_in_order_of_name(tmp_path: Path) -> None:
    for index, name in enumerate(["b.jsonl", "a.jsonl", "c.csv", ".hidden.jsonl", "_SUCCESS", "notes.txt"]):
        (tmp_path / name).write_text(f"n\n{index}\n" if name.endswith("csv") else f'{{"n": {index}}}\n')

    def numbers(spec: str) -> list[object]:
        return [row["n"] for row in rows(list(read_events(spec, TRANS)))]

    assert numbers(str(tmp_path)) == [1, 0, 2]
    assert numbers(f"{tmp_path}/*.jsonl") == [1, 0]


def test_what_is_not_there_or_says_no_format_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "events.txt").write_text("{}")
    (tmp_path / "empty").mkdir()
    for spec, message in [
        ("missing.jsonl", "No such file"),
        ("*.jsonl", "expected files that match, found none"),
        ("empty", "expected event files"),
        ("events.txt", "the name does not say the format"),
    ]:
        with pytest.raises(InputError, match=message):
            list(read_events(str(tmp_path / spec), TRANS))


VALUES = {
    Type.TIMESTAMP: st.integers(-62_135_596_800_000, 253_402_300_799_999)
    | st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    Type.STRING: st.text(st.characters(exclude_categories=["Cs"])),
    Type.DOUBLE: st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**70), 2**70),
    Type.INT: st.integers(-(2**63), 2**63 - 1),
    Type.BOOLEAN: st.booleans(),
}
RECORDS = st.lists(
    st.fixed_dictionaries(
        {}, optional={name: st.none() | VALUES[type_] for name, type_ in TRANS.columns} | {"x": st.none()}
    )
)


@settings(max_examples=60, deadline=None)
@given(records=RECORDS, ascii_only=st.booleans())
def test_the_fast_reader_agrees_with_the_exact_one(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, object]], ascii_only: bool
) -> None:
    path = tmp_path_factory.mktemp("agree") / "events.jsonl"
    path.write_text("".join(json.dumps(r, ensure_ascii=ascii_only) + "\n" for r in records), encoding="utf-8")
    found = rows(list(read_events(str(path), TRANS)))
    reader = jsonl.JsonReader("events.jsonl", TRANS.columns, ErrorPolicy())
    assert found == (rows([reader._exact(path.read_bytes(), 1, True)]) if records else [])
    for record, row in zip(records, found, strict=True):
        for name in ("acc", "n", "ok"):
            assert row[name] == record.get(name)
        if record.get("amnt") is not None:
            assert math.isclose(float(record["amnt"]), float(row["amnt"]), rel_tol=1e-15)  # type: ignore[arg-type]


def test_zstandard(read: Read) -> None:
    assert [row["n"] for row in read(pa.compress(b'{"n": 1}\n', "zstd", asbytes=True), "events.jsonl.zst")] == [1]

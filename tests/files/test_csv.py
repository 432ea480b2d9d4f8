"""CSV: quoting, NULL, line numbers, and where blocks are cut."""

from __future__ import annotations

import csv as stdlib_csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.files import BadRecordError, ErrorPolicy, InputError, csv
from connectors.files.csv import read_csv

from .conftest import TRANS, Read, rows
from .test_jsonl import NOON, one

HEADER = "ts,acc,amnt,n,ok\n"


def test_every_type_and_null(read: Read) -> None:
    text = HEADER + '2024-01-01T12:00:00Z,a,1.5,7,true\n,,,,\n1704110400000,"",-2,0,0\n'
    assert read(text, "e.csv") == [
        one(ts=NOON, acc="a", amnt=1.5, n=7, ok=True),
        one(),
        one(ts=NOON, acc="", amnt=-2.0, n=0, ok=False),
    ]


@pytest.mark.parametrize(
    "text", ["2024-01-01T12:00:00", "2024-01-01 14:00:00+02:00", "1704110400000", "2024-01-01T12:00:00.0000001Z"]
)
def test_a_file_may_write_timestamps_in_any_of_the_ways(read: Read, text: str) -> None:
    assert [row["ts"] for row in read(f"ts\n{text}\n{text}\n", "e.csv")] == [NOON, NOON]


def test_columns_come_in_any_order_unknown_ones_are_ignored_missing_ones_null(read: Read) -> None:
    assert read("zip,n,acc\nx,1,a\n", "e.csv") == [one(n=1, acc="a")]


def test_quotes_line_breaks_crlf_and_a_byte_order_mark(read: Read) -> None:
    text = '\ufeffacc,n\r\n"a, ""b""\nc",1\r\n\r\n5" pipe,2\r\n'
    assert [(row["acc"], row["n"]) for row in read(text, "e.csv")] == [('a, "b"\nc', 1), ('5" pipe', 2)]


def test_a_tab_separated_file(read: Read) -> None:
    assert read("acc\tn\na,b\t1\n", "e.tsv") == [one(acc="a,b", n=1)]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("a,x", '"n": expected INT, found "x"'),
        ("a,1,2", "expected 2 fields, as in the header, found 3"),
        ("a", "expected 2 fields, as in the header, found 1"),
        ("a,9223372036854775808", '"n": expected INT (64 bit), found 9223372036854775808'),
    ],
)
def test_a_bad_record_is_named_with_its_line(read: Read, line: str, error: str) -> None:
    with pytest.raises(BadRecordError) as caught:
        read(f'acc,n\n"two\nlines",1\n\n{line}\nb,2\n', "e.csv")
    assert (caught.value.line, caught.value.error, caught.value.raw) == (5, error, line)


def test_an_open_quote_is_named_where_it_begins(read: Read) -> None:
    with pytest.raises(BadRecordError, match=r"e\.csv:3: expected a closing quote, found the end of the file"):
        read('acc,n\na,1\n"b,2\nc,3\n', "e.csv")


def test_invalid_utf8_is_named_with_its_line(read: Read) -> None:
    with pytest.raises(BadRecordError, match=r"e\.csv:3: expected UTF-8 text, found byte 0xff"):
        read(b"acc,n\na,1\n\xff,2\n", "e.csv")


def test_a_header_that_is_none_and_one_with_a_column_twice(read: Read) -> None:
    with pytest.raises(InputError, match=r"e\.csv:1: expected a header with some of ts, acc, amnt, n, ok, found a1, 7"):
        read("a1,7\na2,8\n", "e.csv")
    with pytest.raises(InputError, match=r'expected column "n" once in the header, found it 2 times'):
        read("n,n\n1,2\n", "e.csv")


def test_nothing_but_a_header_has_no_events(read: Read) -> None:
    assert read(HEADER, "e.csv") == []
    assert read("", "e.csv") == []


def test_skipped_records_are_counted(read: Read) -> None:
    policy = ErrorPolicy.parse("skip")
    assert [row["n"] for row in read("acc,n\na,1\nb,x\nc,3\nd\n", "e.csv", policy)] == [1, 3]
    assert policy.count == 2


FIELDS = st.text(st.sampled_from('ab",\n\r ;é'), max_size=6)


@settings(max_examples=80, deadline=None)
@given(
    records=st.lists(st.tuples(FIELDS, st.integers(0, 99)), max_size=30),
    quoting=st.sampled_from([0, 1]),
    block=st.integers(8, 200),
)
def test_any_text_comes_back_whatever_the_blocks(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[str, int]], quoting: int, block: int
) -> None:
    sink = io.StringIO()
    writer = stdlib_csv.writer(sink, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(["acc", "n"])
    writer.writerows(records)
    path = tmp_path_factory.mktemp("csv") / "e.csv"
    path.write_bytes(sink.getvalue().encode())
    found = rows([piece.batch for piece in read_csv(path, TRANS.columns, ErrorPolicy(), block)])
    # An empty field that is not quoted is NULL, and the writer quotes none unless it must.
    assert [(row["acc"] or "", row["n"]) for row in found] == records


def test_a_lone_quote_does_not_swallow_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv, "PATIENCE", 2000)
    lines = [f'5" pipe,{n}' if n == 3 else f"p,{n}" for n in range(2000)]
    path = tmp_path / "e.csv"
    path.write_text("acc,n\n" + "\n".join(lines) + "\n")
    pieces = list(read_csv(path, TRANS.columns, ErrorPolicy(), 500))
    assert [row["n"] for row in rows([piece.batch for piece in pieces])] == list(range(2000))
    assert len(pieces) > 2

"""Decoding: every row decoded or refused with a reason, and the same whatever the rows around it."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.ir.types import Type
from connectors.kafka.decode import decode

COLUMNS = [("ts", Type.TIMESTAMP), ("acc", Type.STRING), ("n", Type.INT), ("x", Type.DOUBLE), ("ok", Type.BOOLEAN)]


def rows(*values: bytes | None, **options):
    batch, errors = decode(pa.array(values, pa.binary()), COLUMNS, **options)
    assert batch.num_rows == len(values)
    return batch.to_pylist(), [tuple(error) for error in errors]


GOOD = b'{"ts": "2024-01-01T00:00:00Z", "acc": "a", "n": 1, "x": 2.5, "ok": true, "unknown": {"deep": []}}'


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "expected a JSON object, found no value (a tombstone)"),
        (b"", "expected a JSON object, found an empty value"),
        (b" \n ", "expected a JSON object, found white space"),
        (b"[1]", "expected a JSON object, found an array"),
        (b'{"acc": "\xff"}', "expected UTF-8 text, found byte 0xff at byte 10"),
        (b'{"n": "1"}', '"n": expected INT, found "1"'),
        (b'{"n": 1.5}', None),
        (b'{"acc": 1}', None),
        (b'{"ts": "yesterday"}', None),
        (b'{"acc": "a\nb"}', None),
        (b'{"n": 1} {"n": 2}', None),
        (b'{"n": 1}\n{"n": 2}', None),
        (b'{"n": 1', None),
        (b"\x00", None),
    ],
)
def test_a_bad_record_is_refused_with_a_reason_and_its_neighbours_are_read(value, reason):
    found, errors = rows(GOOD, value, GOOD)

    assert [row["n"] for row in found] == [1, None, 1]
    assert found[1] == dict.fromkeys(dict(COLUMNS))
    ((row, text),) = errors
    assert row == 1
    assert text == reason if reason else text


def test_pretty_printed_values_are_read():
    pretty = json.dumps(json.loads(GOOD), indent=2).encode()
    found, errors = rows(pretty, GOOD, pretty.replace(b"\n", b"\r\n") + b"\r\n")
    assert errors == []
    assert found[0] == found[1] == found[2]


def test_values_beyond_the_limit_are_refused_unread():
    long = b'{"acc": "' + b"x" * 10_000_000 + b'"}'
    found, errors = rows(GOOD, long)
    assert errors == [(1, "expected a value of at most 8,388,608 bytes, found 10,000,011")]
    found, errors = rows(GOOD, long, max_value_bytes=16 << 20)
    assert errors == []
    assert len(found[1]["acc"]) == 10_000_000


def test_no_values_and_no_good_values():
    assert rows() == ([], [])
    assert len(rows(None, None)[1]) == 2


def test_an_unknown_format_lists_what_there_is():
    with pytest.raises(ValueError, match="there is json"):
        rows(GOOD, decoder="avro")


record = st.fixed_dictionaries(
    {},
    optional={
        "ts": st.one_of(
            st.none(), st.integers(0, 10**13), st.just("2024-01-01T00:00:00.123456789Z"), st.text(max_size=3)
        ),
        "acc": st.one_of(st.none(), st.text(max_size=5), st.integers()),
        "n": st.one_of(st.none(), st.integers(), st.floats(allow_nan=False), st.booleans()),
        "x": st.one_of(st.none(), st.floats(), st.integers(-(2**70), 2**70), st.text(max_size=2)),
        "ok": st.one_of(st.none(), st.booleans(), st.integers(0, 1)),
    },
)
value = st.one_of(
    st.none(),
    st.binary(max_size=6),
    record.map(lambda fields: json.dumps(fields).encode()),
    record.map(lambda fields: json.dumps(fields, indent=1, ensure_ascii=False).encode()),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(value, max_size=12))
def test_a_row_does_not_depend_on_its_neighbours(values):
    together, errors = rows(*values)
    alone = [rows(item) for item in values]
    assert repr(together) == repr([row for (row,), _ in alone])
    assert errors == [(n, reason) for n, (_, found) in enumerate(alone) for _, reason in found]

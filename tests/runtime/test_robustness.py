"""Whatever is pushed: right, or a clear BatchError with the engine as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from runtime import BatchError, Engine
from runtime.search import matcher
from tests.runtime.support import SECOND, batch, compiled, current, fields, ids, naive, push, rows_of

STREAM = "STREAM T (ts TIMESTAMP, k STRING, x INT, d DOUBLE, f BOOLEAN) TIMESTAMP BY ts;"
PAIRS = f"{STREAM} PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR;"
ROWS = [
    {"ts": i * SECOND, "k": k, "x": i, "d": d, "f": f}
    for i, (k, d, f) in enumerate(
        [
            ("a", 1.0, True),
            ("b", None, False),
            ("a", 0.5, None),
            (None, 2.0, True),
            ("b", -1.0, False),
            ("a", 3.0, True),
        ]
    )
]


@pytest.fixture
def engine() -> Engine:
    return Engine(compiled(PAIRS))


def plain_table() -> pa.Table:
    return pa.Table.from_batches([batch(compiled(PAIRS), "T", ROWS)])


def same(found: pa.Table) -> None:
    """The matches are those of the plain table, ids and all."""
    want = Engine(compiled(PAIRS)).push(plain_table()).read_all()
    assert ids(rows_of(found)) == ids(rows_of(want))
    assert fields(rows_of(found)) == fields(rows_of(want)) == naive(PAIRS, ROWS)


# --- the same events, otherwise laid out ------------------------------------------------------------------------------


def _chunked(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, 2), table.slice(2, 0), table.slice(2, 3), table.slice(5)])


def _uneven(table: pa.Table) -> pa.Table:
    columns = [pa.chunked_array([c.combine_chunks()[:i], c.combine_chunks()[i:]]) for i, c in enumerate(table.columns)]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _replaced(name: str, type_: pa.DataType) -> Any:
    def change(table: pa.Table) -> pa.Table:
        return table.set_column(table.column_names.index(name), name, table[name].cast(type_))

    change.__name__ = f"{name} as {type_}"
    return change


def _encoded(table: pa.Table) -> pa.Table:
    return table.set_column(1, "k", table["k"].dictionary_encode())


def _encoded_numbers(table: pa.Table) -> pa.Table:
    return table.set_column(2, "x", table["x"].dictionary_encode())


def _encoded_in_two_dictionaries(table: pa.Table) -> pa.Table:
    text = table["k"].combine_chunks()
    chunks = [text[:3].dictionary_encode(), text[3:].dictionary_encode()]
    return table.set_column(1, "k", pa.chunked_array(chunks))


def _unused_dictionary_values(table: pa.Table) -> pa.Table:
    codes = pa.array([2, 1, 2, None, 1, 2], pa.int8())
    return table.set_column(1, "k", pa.DictionaryArray.from_arrays(codes, pa.array(["zzz", "b", "a", None])))


def _padded_and_sliced(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(3), table, table]).combine_chunks().slice(3, 6)


def _more_columns_in_another_order(table: pa.Table) -> pa.Table:
    return table.append_column("extra", pa.array([b"x"] * 6)).select(["extra", "f", "d", "x", "k", "ts"])


@pytest.mark.parametrize(
    "change",
    [
        _chunked,
        _uneven,
        _encoded,
        _encoded_in_two_dictionaries,
        _unused_dictionary_values,
        _padded_and_sliced,
        _more_columns_in_another_order,
        _replaced("k", pa.large_string()),
        _replaced("k", pa.string_view()),
        _replaced("k", pa.dictionary(pa.int16(), pa.large_string())),
        _replaced("x", pa.int32()),
        _replaced("x", pa.uint8()),
        _encoded_numbers,
        _replaced("d", pa.float32()),
        _replaced("ts", pa.timestamp("us")),
        _replaced("ts", pa.timestamp("ns", "UTC")),
        _replaced("ts", pa.timestamp("ms", "Europe/Berlin")),
        _replaced("ts", pa.timestamp("s")),
    ],
    ids=lambda change: change.__name__.strip("_"),
)
def test_layout_does_not_matter(engine: Engine, change: Any) -> None:
    changed = change(plain_table())
    changed.validate(full=True)
    same(engine.push(changed).read_all())
    engine._check()


def test_pandas(engine: Engine) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "ts": pandas.to_datetime([row["ts"] for row in ROWS], unit="us", utc=True).astype("datetime64[ns, UTC]"),
            "k": [row["k"] for row in ROWS],
            "x": [row["x"] for row in ROWS],
            "d": [np.nan if row["d"] is None else row["d"] for row in ROWS],
            "f": [row["f"] for row in ROWS],
        }
    )
    table = pa.Table.from_pandas(frame)
    assert table.schema.field("ts").type == pa.timestamp("ns", "UTC")
    same(engine.push(table).read_all())


def test_nanoseconds_are_cut(engine: Engine) -> None:
    table = plain_table()
    times = pa.array(np.array([row["ts"] * 1000 + 999 for row in ROWS]), pa.timestamp("ns", "UTC"))
    same(engine.push(table.set_column(0, "ts", times)).read_all())


# --- nothing, or not enough -------------------------------------------------------------------------------------------


def test_empty_batches(engine: Engine) -> None:
    for empty in (plain_table().slice(0, 0), {}, {"T": batch(engine.plan, "T", [])}, pa.table({})):
        assert engine.push(empty).read_all().num_rows == 0
    assert engine.stats()["events"] == 0
    signed = batch(engine.plan, "T", [], [])
    assert "_sign" in engine.push(signed).read_all().column_names
    same(engine.push(plain_table()).read_all())


def test_a_batch_of_late_events_only(engine: Engine) -> None:
    engine.push(plain_table(), watermark=100 * SECOND).read_all()
    assert engine.push(plain_table()).read_all().num_rows == 0
    assert engine.stats()["late"] == len(ROWS)
    assert rows_of(engine.push(batch(engine.plan, "T", ROWS, [-1] * 6)).read_all()) == []
    assert engine.stats()["late"] == 2 * len(ROWS)


def test_missing_columns_are_null(engine: Engine) -> None:
    found = engine.push(plain_table().select(["ts", "k"])).read_all()
    assert found.num_rows == naive(PAIRS, ROWS).total()
    assert found["a.x"].null_count == found.num_rows
    assert engine.push(plain_table().select(["x"])).read_all().num_rows == 0, "no key, no join"
    assert engine.push(pa.table({"other": [1, 2]})).read_all().num_rows == 0
    assert engine.push(pa.table({"ts": pa.nulls(2), "k": ["a", "a"]})).read_all().num_rows == 0


# --- what does not fit ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pushed", "message"),
    [
        (pa.table({"x": ["1"]}), "T.x: expected INT (int64), found string"),
        (pa.table({"x": [1.5]}), "T.x: expected INT (int64), found double"),
        (pa.table({"x": [True]}), "T.x: expected INT (int64), found bool"),
        (
            pa.table({"x": pa.array([2**64 - 1], pa.uint64())}),
            "T.x: does not fit INT: Integer value 18446744073709551615",
        ),
        (pa.table({"d": ["1"]}), "T.d: expected DOUBLE (double), found string"),
        (pa.table({"d": [2**53 + 1]}), "T.d: does not fit DOUBLE: Integer value 9007199254740993"),
        (pa.table({"k": [1]}), "T.k: expected STRING (string), found int64"),
        (pa.table({"k": [b"x"]}), "T.k: expected STRING (string), found binary"),
        (pa.table({"f": [1]}), "T.f: expected BOOLEAN (bool), found int64"),
        (pa.table({"ts": [1]}), "T.ts: expected TIMESTAMP (timestamp[us, tz=UTC]), found int64"),
        (pa.table({"ts": ["2024-01-01"]}), "T.ts: expected TIMESTAMP (timestamp[us, tz=UTC]), found string"),
        (
            pa.table({"ts": pa.array([10], pa.date32())}),
            "T.ts: expected TIMESTAMP (timestamp[us, tz=UTC]), found date32",
        ),
        (pa.table({"ts": pa.array([2**62], pa.timestamp("s"))}), "T.ts: does not fit TIMESTAMP"),
        (pa.table({"x": [1], "_sign": [0]}), "stream T: _sign must be 1 or -1 in every row"),
        (pa.table({"x": [1], "_sign": pa.array([None], pa.int8())}), "stream T: _sign must be 1 or -1 in every row"),
        (
            pa.Table.from_arrays([pa.array([1])] * 2, names=["x", "x"]),
            "stream T: the batch has several columns called x",
        ),
        ({"U": pa.table({"x": [1]})}, "pattern P does not read stream U; it reads T"),
        ({"T": [{"x": 1}]}, "stream T: expected a RecordBatch or a Table, found list"),
        ([{"x": 1}], "expected a RecordBatch, a Table or a dict of them, found list"),
        (None, "expected a RecordBatch, a Table or a dict of them, found NoneType"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_is_refused_and_changes_nothing(engine: Engine, pushed: Any, message: str) -> None:
    engine.push(plain_table(), watermark=SECOND).read_all()
    before = engine.snapshot(), engine.stats()
    with pytest.raises(BatchError) as caught:
        engine.push(pushed, watermark=50 * SECOND)
    assert str(caught.value).startswith(message)
    assert (engine.snapshot(), engine.stats()) == before
    engine.push(plain_table()).read_all()


def test_several_streams_want_a_dict() -> None:
    engine = Engine(compiled("STREAM A (x INT); STREAM B (x INT); PATTERN P AND(A a, B b) UNBOUNDED;"))
    with pytest.raises(BatchError, match="pattern P reads several streams: push a dict with keys A, B"):
        engine.push(pa.table({"x": [1]}))
    with pytest.raises(BatchError, match=r"B\.x: expected INT"):
        engine.push({"A": pa.table({"x": [1]}), "B": pa.table({"x": ["1"]})})
    assert engine.stats()["events"] == 0


# --- values -----------------------------------------------------------------------------------------------------------


def joined(type_: str, values: list[Any], condition: str = "a.v = b.v") -> set[tuple[Any, Any]]:
    """Which pairs of values the engine joins; every event carries its place."""
    text = (
        f"STREAM T (i INT, v {type_}); PATTERN P AND(T a, T b) WHERE {condition} UNBOUNDED RETURN a.i AS i, b.i AS j;"
    )
    engine = Engine(compiled(text))
    found = push(engine, [{"i": i, "v": v} for i, v in enumerate(values)])
    assert fields(found) == current(engine)
    assert fields(found) == naive(text, [{"i": i, "v": v} for i, v in enumerate(values)])
    return {(row["i"], row["j"]) for row in found}


def test_zero_has_one_key_and_nan_has_none() -> None:
    assert joined("DOUBLE", [0.0, -0.0, float("nan"), None]) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert joined("DOUBLE", [0.0, -0.0, float("nan"), 1.0], "a.v < b.v") == {(0, 3), (1, 3)}
    infinite = [float("-inf"), 0.0, float("inf"), float("inf")]
    assert joined("DOUBLE", infinite, "a.v < b.v") == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)}


def test_huge_integers() -> None:
    values = [-(2**63), -(2**63) + 1, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1]
    assert joined("INT", values) == {(i, i) for i in range(6)}
    assert joined("INT", values, "a.v < b.v") == {(i, j) for i in range(6) for j in range(i + 1, 6)}
    # What overflows is NULL: it joins nothing, and nothing is raised.
    assert joined("INT", values, "a.v < b.v + 1") == {(i, j) for i in range(6) for j in range(i, 6) if j != 5}


def test_text_of_every_kind() -> None:
    values = [
        "",
        " ",
        "a",
        "a\0",
        "a\0b",
        "A",
        "é",
        "e\u0301",
        "\U0001f600",
        "\U0001f468\u200d\U0001f469",
        "\uffff",
        None,
    ]
    assert joined("STRING", values) == {(i, i) for i in range(11)}
    order = sorted(range(11), key=lambda i: values[i].encode())
    want = {(i, j) for at, i in enumerate(order) for j in order[at + 1 :]}
    assert joined("STRING", values, "a.v < b.v") == want


def test_a_lone_surrogate_never_gets_in() -> None:
    """Arrow text is UTF-8, which has no surrogates: the error comes before the engine."""
    with pytest.raises(UnicodeEncodeError):
        pa.table({"k": ["\ud800"]})


def test_long_text() -> None:
    long = "x" * 100_000
    assert joined("STRING", [long, long + "y", long]) == {(0, 0), (0, 2), (2, 0), (2, 2), (1, 1)}


def test_booleans_and_times_join_and_compare() -> None:
    assert joined("BOOLEAN", [True, False, None, True]) == {(0, 0), (0, 3), (3, 0), (3, 3), (1, 1)}
    assert joined("TIMESTAMP", [0, -1, 2**53, None], "a.v < b.v") == {(0, 2), (1, 0), (1, 2)}


def test_times_before_the_epoch() -> None:
    text = "STREAM T (ts TIMESTAMP) TIMESTAMP BY ts; PATTERN P SEQ(T a, T b) WITHIN 10 SECONDS;"
    events = [{"ts": t * SECOND} for t in (-100, -95, -90, -89, 0, 5)]
    assert fields(push(Engine(compiled(text)), events)) == naive(text, events)


# --- reading ----------------------------------------------------------------------------------------------------------


def many(engine: Engine) -> pa.RecordBatchReader:
    rows = [{"ts": i * SECOND, "k": "a", "x": i, "d": 0.0, "f": True} for i in range(20)]
    return engine.push(batch(engine.plan, "T", rows))


def test_matches_come_in_bounded_batches() -> None:
    engine = Engine(compiled(PAIRS), chunk=7)
    sizes = [found.num_rows for found in many(engine)]
    assert sum(sizes) == 190
    assert max(sizes) <= 7


def test_a_reader_must_be_read_to_its_end() -> None:
    engine = Engine(compiled(PAIRS), chunk=7)
    reader = many(engine)
    for misuse in (
        lambda: engine.push({}),
        engine.snapshot,
        engine.count,
        engine.enumerate,
        lambda: engine.contains({}),
    ):
        with pytest.raises(RuntimeError, match="have not been read to the end"):
            misuse()
    first = reader.read_next_batch().num_rows
    with pytest.raises(RuntimeError, match="have not been read to the end"):
        engine.push({})
    assert first + reader.read_all().num_rows == 190
    assert engine.count() == 190


def test_a_reader_dropped_half_way_breaks_the_engine_and_says_so() -> None:
    engine = Engine(compiled(PAIRS), chunk=7)
    reader = many(engine)
    reader.read_next_batch()
    reader.close()
    del reader
    gc.collect()
    with pytest.raises(RuntimeError, match=r"restore the engine from a snapshot|have not been read to the end"):
        engine.push({})


def test_an_exception_while_reading_is_the_readers_and_breaks_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(compiled(PAIRS), chunk=7)
    before = engine.snapshot()
    whole = matcher.Matcher.matches

    def failing(self: Any, *args: Any) -> Iterator[Any]:
        for i, partial in enumerate(whole(self, *args)):
            if i == 2:
                raise MemoryError("no room for more")
            yield partial

    monkeypatch.setattr(matcher.Matcher, "matches", failing)
    reader = many(engine)
    with pytest.raises(MemoryError, match="no room for more"):
        reader.read_all()
    monkeypatch.undo()
    for use in (lambda: engine.push({}), engine.snapshot, engine.count):
        with pytest.raises(RuntimeError, match="restore the engine from a snapshot"):
            use()
    again = Engine.restore(engine.plan, before)
    assert many(again).read_all().num_rows == 190


def test_an_enumeration_is_over_when_the_engine_changes() -> None:
    engine = Engine(compiled(PAIRS), chunk=7)
    many(engine).read_all()
    reader = engine.enumerate()
    reader.read_next_batch()
    engine.push({}).read_all()
    with pytest.raises(RuntimeError, match="pushed to before its matches were read"):
        reader.read_all()
    assert engine.enumerate().read_all().num_rows == 190


# --- asking -----------------------------------------------------------------------------------------------------------


def test_contains_takes_python_values(engine: Engine) -> None:
    engine.push(plain_table()).read_all()
    assert engine.contains({})
    assert engine.contains({"a.k": "a", "b.x": 5})
    assert engine.contains({"a.ts": datetime(1970, 1, 1, tzinfo=timezone.utc)})
    assert engine.contains({"a.ts": 0})
    assert engine.contains({"a.d": None, "b.f": False})
    assert engine.contains({"b.f": None})
    for absent in ({"a.k": "c"}, {"a.x": 5}, {"a.x": 2**70}, {"a.x": 0.5}, {"a.x": "q"}, {"a.k": "b", "b.x": 5}):
        assert not engine.contains(absent)
    with pytest.raises(KeyError, match=r"a\.z: pattern P returns a\.ts, a\.k"):
        engine.contains({"a.z": 1})

"""Nobody who can write an event may choose it so that another's match disappears or takes another's id.

The first tests attack the hash of before (splitmix64 from public seeds): one free INT column is enough to give an event
the hash of somebody else's. Each was seen to succeed against it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.ir.types import Type
from runtime import Engine, SnapshotError
from runtime.arrays import hashing
from runtime.arrays.columnar import as_computed
from runtime.arrays.columns import make_column
from runtime.state.id_key import IdKey, IdKeyError
from runtime.state.identity import Digests
from runtime.state.looks import Looks, same
from tests.runtime.support import SECOND, compiled, current, fields, naive, push, rows_of

MASK = (1 << 64) - 1
STREAM = "STREAM T (ts TIMESTAMP, who INT, x INT) TIMESTAMP BY ts;"
DISTINCT = f"{STREAM} PATTERN P SEQ(T a, T b) WITHIN 10 SECONDS RETURN DISTINCT a.ts, a.who, a.x, b.ts, b.who, b.x;"
MERGING = f"{STREAM} PATTERN P SEQ(T a, T b) WITHIN 10 SECONDS RETURN DISTINCT a.who, a.x, b.who, b.x;"
BAG = f"{STREAM} PATTERN P SEQ(T a, T b) WHERE a.x < b.x WITHIN 10 SECONDS RETURN a.who AS a, b.who AS b;"


def mixed(value: int) -> int:
    """splitmix64's finaliser, as it was."""
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & MASK
    return value ^ (value >> 31)


def twin_of(victim: dict[str, int], who: int, var: str) -> dict[str, int]:
    """An event of somebody else whose content hash was that of the victim's: only `x` is chosen."""
    seed = int.from_bytes(hashlib.blake2b(f"P\x00{var}".encode(), digest_size=16).digest()[:8], "little")

    def before_x(who: int) -> int:
        return mixed(mixed(mixed(seed) ^ victim["ts"]) ^ who)

    x = victim["x"] ^ before_x(victim["who"]) ^ before_x(who)
    return {"ts": victim["ts"], "who": who, "x": x - (1 << 64) if x >> 63 else x}


VICTIM = {"ts": 5 * SECOND, "who": 1, "x": 7}
FIRST = {"ts": 0, "who": 1, "x": 3}


@pytest.mark.parametrize("text", [DISTINCT, MERGING], ids=["all is shown", "tuples are merged"])
def test_a_crafted_event_suppresses_nobodys_distinct_match(text: str) -> None:
    engine = Engine(compiled(text))
    attack = twin_of(VICTIM, who=666, var="b")
    push(engine, [FIRST])
    assert len(push(engine, [attack])) == 1
    assert len(push(engine, [VICTIM])) == 1, "FIRST and VICTIM, whatever has the same hash"
    assert current(engine) == naive(text, [FIRST, attack, VICTIM])


def test_a_crafted_event_is_nobodys_twin_in_ids() -> None:
    """The ids of the victim's matches are those that they have without the attack."""
    attack = twin_of(VICTIM, who=666, var="b")
    alone = {row["_id"] for row in push(Engine(compiled(BAG)), [FIRST, VICTIM])}
    attacked = push(Engine(compiled(BAG)), [FIRST, attack, VICTIM])
    assert alone <= {row["_id"] for row in attacked}


def test_taking_back_a_crafted_event_takes_back_nobody_elses() -> None:
    engine = Engine(
        compiled(
            "STREAM A (ts TIMESTAMP, who INT, x INT) TIMESTAMP BY ts; STREAM B (ts TIMESTAMP) TIMESTAMP BY ts;"
            "PATTERN P SEQ(A a, B b) WITHIN 10 SECONDS RETURN a.who AS who, a.x AS x, b.ts AS ts;"
        )
    )
    push(engine, {"A": [VICTIM], "B": [{"ts": 6 * SECOND}]})
    with pytest.raises(ValueError, match="cannot delete an event that is not there"):
        push(engine, {"A": [twin_of(VICTIM, who=666, var="a")]}, signs={"A": [-1]})
    assert current(engine) == {(1, 7, 6 * SECOND): 1}


# --- a hash decides nothing -----------------------------------------------------------------------------------------

PATTERNS = {
    "bag": f"{STREAM} PATTERN P AND(T a, T b) WHERE a.who = b.who AND a.x < b.x WITHIN 3 SECONDS;",
    "all is shown": DISTINCT,
    "merging": MERGING,
    "computed": f"{STREAM} PATTERN P SEQ(T a, T b) WITHIN 3 SECONDS RETURN DISTINCT a.x + b.x AS s, b.who AS w;",
    "unbounded": f"{STREAM} PATTERN P AND(T a, T b) WHERE a.who = b.who UNBOUNDED RETURN DISTINCT a.x AS x, b.x AS y;",
    "two keys": f"{STREAM} PATTERN P SEQ(T a, T b) WHERE a.who = b.who AND a.x = b.x WITHIN 3 SECONDS;",
}
PLANS = {name: compiled(text) for name, text in PATTERNS.items()}
EVENT = st.builds(
    lambda t, who, x: {"ts": t * SECOND, "who": who, "x": x},
    st.integers(0, 5),
    st.integers(0, 1),
    st.sampled_from((0, 1, None)),
)


def history(name: str, batches: list[list[dict[str, Any]]], gone: list[int]) -> list[Any]:
    """All that an engine says of some batches, of which some events are taken back, and what is stored of it."""
    engine = Engine(PLANS[name])
    said: list[Any] = []
    for number, batch in enumerate(batches):
        taken = [batch[place] for place in gone if place < len(batch)]
        said.append(push(engine, batch))
        if taken:
            said.append(push(engine, taken, signs=[-1] * len(taken)))
        said.append(rows_of(engine.enumerate().read_all()))
        if number == 1:
            engine = Engine.restore(engine.plan, engine.snapshot())
    return [*said, engine.snapshot()]


@pytest.mark.parametrize("name", PATTERNS)
@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.lists(EVENT, max_size=8), min_size=1, max_size=3), st.lists(st.integers(0, 5), unique=True, max_size=2)
)
def test_with_a_terrible_hash_everything_is_as_it_was(
    name: str, batches: list[list[dict[str, Any]]], gone: list[int]
) -> None:
    """Also the order of rows and the bytes of a snapshot: nothing that can be seen depends on a hash, or its seed."""
    want = history(name, batches, gone)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hashing, "words", lambda keys: np.zeros(len(keys[0]), np.uint64))
        patched.setattr(hashing, "rows", lambda _, length: np.zeros(length, np.uint64))
        assert history(name, batches, gone) == want


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.none() | st.text("ab", max_size=3), st.none() | st.integers(0, 2)), max_size=12))
def test_looks_are_equal_exactly_where_values_are(values: list[tuple[str | None, int | None]]) -> None:
    columns = [make_column(Type.STRING), make_column(Type.INT)]
    columns[0].extend(pa.array([text for text, _ in values], pa.string()))
    columns[1].extend(pa.array([number for _, number in values], pa.int64()))
    every = np.arange(len(values))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(hashing, "rows", lambda _, length: np.zeros(length, np.uint64))
        looks = Looks(columns)
        numbers = looks.add(every).tolist()
        assert looks.find(columns, every).tolist() == numbers
    assert len(set(numbers)) == len(set(values))
    assert len(set(zip(numbers, values, strict=True))) == len(set(values))
    for row in range(len(values)):
        equal = same(columns, every, columns, np.full(len(every), row))
        assert equal.tolist() == [value == values[row] for value in values]


# --- ids ------------------------------------------------------------------------------------------------------------

ALL_TYPES = "STREAM T (ts TIMESTAMP, i INT, d DOUBLE, s STRING, b BOOLEAN) TIMESTAMP BY ts;"
GOLDEN = [
    {"ts": 1_700_000_000_000_000, "i": 7, "d": 1.5, "s": "ä", "b": True},
    {"ts": 1_700_000_001_000_000, "i": None, "d": None, "s": None, "b": None},
    {"ts": 1_700_000_001_000_000, "i": None, "d": None, "s": None, "b": None},
]
KEY = b"a key of some bytes"


def golden(returned: str, **options: Any) -> list[str]:
    engine = Engine(compiled(f"{ALL_TYPES} PATTERN P SEQ(T a, T b) WITHIN 1 HOUR RETURN {returned};"), **options)
    return sorted(row["_id"].hex() for row in push(engine, GOLDEN))


GOLDEN_IDS = {
    "bag": ["14994a286d513743a16bcc9fa43abe1e", "7fb84853630269af037fdde00b056231"],
    "distinct": ["cd9eab20c4782b849c43350090a8212c"],
    "computed": ["c26a1f06f77ba85c20ac3be958c4d07a"],
    "keyed": ["5e2f83f2d620982020eec84098d69221", "d6648425fce590e0787bb902c9a7e064"],
    "keyed distinct": ["f7dbd6d4be980604be994dc0a3f7fa05"],
}
EVERYTHING = "a.i, a.d, a.s, a.b, b.i, b.d, b.s, b.b"


def test_ids_are_the_same_for_ever() -> None:
    """Golden: a change here changes every match id that anybody has stored."""
    assert golden(EVERYTHING) == GOLDEN_IDS["bag"]
    assert golden("DISTINCT a.s, b.i") == GOLDEN_IDS["distinct"]
    assert golden("DISTINCT a.s, a.i + 1 AS more") == GOLDEN_IDS["computed"]
    assert golden(EVERYTHING, id_key=KEY) == GOLDEN_IDS["keyed"]
    assert golden("DISTINCT a.s, b.i", id_key=KEY) == GOLDEN_IDS["keyed distinct"]


def test_another_key_gives_other_ids_and_a_snapshot_knows_its_key() -> None:
    plan = compiled(BAG)
    engine = Engine(plan, id_key=KEY)
    keyed = push(engine, [FIRST, VICTIM])
    plain = push(Engine(plan), [FIRST, VICTIM])
    other = push(Engine(plan, id_key=KEY + b"!"), [FIRST, VICTIM])
    assert len({row["_id"] for row in (*keyed, *plain, *other)}) == 3
    restored = Engine.restore(plan, engine.snapshot(), id_key=KEY)
    assert rows_of(restored.enumerate().read_all()) == keyed
    for wrong in (None, KEY + b"!"):
        with pytest.raises(SnapshotError, match=r"taken with the id key .* ids would change half-way"):
            Engine.restore(plan, engine.snapshot(), id_key=wrong)
    with pytest.raises(SnapshotError, match="taken with no id key, this engine has the id key"):
        Engine.restore(plan, Engine(plan).snapshot(), id_key=KEY)


def test_a_key_is_shown_by_nothing() -> None:
    key = IdKey(KEY)
    assert KEY.decode() not in repr(key)
    assert KEY.decode() not in str({"key": key})
    assert IdKey(KEY) == key != IdKey(KEY + b"!")
    assert IdKey(b"x" * 100) != IdKey(b"x" * 101), "a long one counts to its end"
    with pytest.raises(IdKeyError) as caught:
        IdKey(b"hunter2")
    assert str(caught.value) == "the id key has 7 bytes, expected at least 16: e.g. `openssl rand -hex 32`"


def test_the_environment_holds_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CEP_TEST_KEY", KEY.decode())
    assert IdKey.named("env:CEP_TEST_KEY") == IdKey(KEY)
    monkeypatch.delenv("CEP_TEST_KEY")
    with pytest.raises(IdKeyError, match="the environment variable CEP_TEST_KEY is not set"):
        IdKey.named("env:CEP_TEST_KEY")
    for where in ("hunter2hunter2hunter2", "env:", "file:/etc/key"):
        with pytest.raises(IdKeyError, match=r"^expected env:NAME, the environment variable that holds the key$"):
            IdKey.named(where)


ROW = st.tuples(
    st.none() | st.text("a\x00", max_size=3),
    st.none() | st.text("a\x00", max_size=3),
    st.none() | st.sampled_from((0, 1, 97, -1)),
    st.none() | st.sampled_from((0.0, -0.0, float("nan"), 1.0)),
    st.none() | st.booleans(),
    st.integers(0, 2),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(ROW, max_size=12))
def test_different_rows_have_different_fingerprints(rows: list[tuple[Any, ...]]) -> None:
    """NULL is no value, text ends where it ends, 0.0 is -0.0, and NaN is NULL."""
    types = [Type.STRING, Type.STRING, Type.INT, Type.DOUBLE, Type.BOOLEAN]
    arrow = [pa.string(), pa.string(), pa.int64(), pa.float64(), pa.bool_()]
    columns = {}
    for number, (type_, kind) in enumerate(zip(types, arrow, strict=True)):
        column = make_column(type_)
        column.extend(as_computed(pa.array([row[number] for row in rows], kind)))
        columns[f"c{number}"] = column
    ordinals = np.array([row[5] for row in rows], dtype=np.int64)
    found = Digests(("P", "a"), columns, None).of(np.arange(len(rows)), ordinals).view("V16").tolist()
    meant = [tuple(None if v != v else v for v in row) for row in rows]
    assert len(set(zip(found, meant, strict=True))) == len(set(found)) == len(set(meant))


def test_roles_and_columns_tell_rows_apart() -> None:
    column = make_column(Type.INT)
    column.extend(pa.array([1]))
    text = make_column(Type.STRING)
    text.extend(pa.array([""]))
    variants = [
        Digests(names, {name: values}, None).of(np.arange(1)).tobytes()
        for names in (("P", "a"), ("P", "b"), ("Pa", ""), ("P", "a", "DISTINCT"))
        for name, values in (("x", column), ("y", column), ("x", text))
    ]
    assert len(set(variants)) == len(variants)


# --- which occurrence -----------------------------------------------------------------------------------------------

AGAIN = f"{STREAM} PATTERN P SEQ(T a, T b) PARTITION BY who WITHIN 4 SECONDS RETURN DISTINCT a.who AS who;"


def test_next_weeks_attack_has_an_id_of_its_own() -> None:
    """A consumer that drops the ids that it has seen loses nothing."""
    week = 7 * 24 * 3600
    found = push(Engine(compiled(AGAIN)), [{"ts": t * SECOND, "who": 1, "x": 0} for t in (0, 2, week, week + 1)])
    assert [(row["_start"] // SECOND, row["_end"] // SECOND) for row in found] == [(0, 2), (week, week + 1)]
    assert len({row["_id"] for row in found}) == 2
    assert fields(found) == Counter({(1,): 2})


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("restart", [False, True])
def test_in_order_the_batches_have_no_say(size: int, restart: bool) -> None:
    events = [{"ts": t * SECOND, "who": t % 3 % 2, "x": t % 2} for t in (0, 1, 2, 3, 5, 8, 9, 10, 20, 21, 22, 24, 31)]
    for text in (AGAIN, MERGING, PATTERNS["unbounded"], PATTERNS["computed"]):
        plan = compiled(text)
        whole = push(Engine(plan), events)
        engine, found = Engine(plan), []
        for first in range(0, len(events), size):
            found += push(engine, events[first : first + size], watermark=events[first]["ts"])
            if restart:
                engine = Engine.restore(plan, engine.snapshot())
        assert sorted(map(str, found)) == sorted(map(str, whole))


def test_without_time_a_tuple_has_none_and_one_id() -> None:
    text = "STREAM T (k INT, x INT); PATTERN P AND(T a, T b) WHERE a.k = b.k UNBOUNDED RETURN DISTINCT a.x AS x;"
    engine = Engine(compiled(text))
    (found,) = push(engine, [{"k": 1, "x": 5}])
    assert found["_start"] is found["_end"] is None
    assert push(engine, [{"k": 1, "x": 5}], signs=[-1]) == [{**found, "_sign": -1}]
    assert push(engine, [{"k": 2, "x": 5}]) == [found]

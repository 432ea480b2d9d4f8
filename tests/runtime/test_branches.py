"""Alternatives in the engine: one set of leaves, a search for each branch, one output.

That the matches are right is the oracle's business (`tests.oracle.either`); here is what surrounds them.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from cep.compiler.pipeline import compile_source
from cep.source import Source
from runtime import Engine
from tests.oracle.sql import Database
from tests.runtime.support import SECOND, batch, compiled, current, fields, ids, push, rows_of

STREAMS = "\n".join(f"STREAM {name} (ts TIMESTAMP, k INT, x INT, n INT) TIMESTAMP BY ts;" for name in "ABCD")
HOUR = "PARTITION BY k WITHIN 1 HOUR"
PATTERNS = {
    "a choice in the middle": f"SEQ(A a, OR(B b, C c), D d) {HOUR} RETURN a.n AS a, b.n AS b, c.n AS c, d.n AS d",
    "a choice at the start": f"SEQ(OR(A a, B b), C c, D d) {HOUR} RETURN a.n AS a, b.n AS b, c.n AS c, d.n AS d",
    "in either order": f"OR(SEQ(A a, B b), SEQ(B b, A a)) {HOUR} RETURN a.n AS a, b.n AS b",
    "one name": f"SEQ(OR(A x, B x), C c) WHERE x.x > 1 {HOUR} RETURN x.n AS x, c.n AS c, STREAM_OF(x) AS s",
    "an optional event": f"SEQ(A a, B? b, C c) {HOUR} RETURN a.n AS a, b.n AS b, c.n AS c",
    "an optional event at the end": f"SEQ(A a, B? b) {HOUR} RETURN a.n AS a, b.n AS b",
    "two of them": f"SEQ(A a, B? b, C? c, A d) {HOUR} RETURN a.n AS a, b.n AS b, c.n AS c, d.n AS d",
    "one event or two": f"OR(A a, SEQ(B b, C c)) {HOUR} RETURN a.n AS a, b.n AS b, c.n AS c",
    "without a key": "AND(A a, OR(B b, C c)) WHERE COALESCE(b.x, c.x) < a.x WITHIN 1 HOUR RETURN a.n AS a, b.n AS b",
    "no window": "AND(A a, OR(B b, C c)) WHERE a.x = b.x AND a.x < c.x UNBOUNDED RETURN a.n AS a, b.n AS b, c.n AS c",
}
DISTINCT = {
    "of what all bind": f"SEQ(A a, OR(B b, C c), D d) {HOUR} RETURN DISTINCT a.x AS x",
    "of what one binds": f"SEQ(A a, OR(B b, C c)) {HOUR} RETURN DISTINCT a.x AS x, b.x AS b",
    "with the stream": f"SEQ(OR(A a, B a), C c) {HOUR} RETURN DISTINCT a.x AS x, STREAM_OF(a) AS s",
    "of an optional event": f"SEQ(A a, B? b, C c) {HOUR} RETURN DISTINCT b.x AS x",
    "no window": "AND(A a, OR(B b, C c)) WHERE a.k = b.k AND a.k = c.k UNBOUNDED RETURN DISTINCT b.x AS b, c.x AS c",
}

Row = dict[str, Any]


def made(body: str) -> Engine:
    return Engine(compiled(f"{STREAMS} PATTERN P {body};"))


def events(rng: Random, count: int) -> list[tuple[str, Row]]:
    return [
        (rng.choice("ABCD"), {"ts": i * SECOND, "k": rng.choice((1, 1, 2, None)), "x": rng.randint(0, 3), "n": i})
        for i in range(count)
    ]


def by_stream(engine: Engine, some: list[tuple[str, Row]]) -> dict[str, list[Row]]:
    names = {stream.name for stream in engine.plan.streams}
    return {name: [row for s, row in some if s == name] for name in names if any(s == name for s, _ in some)}


# --- the state is one ----------------------------------------------------------------------------------------------


def test_what_several_branches_look_at_is_stored_once() -> None:
    engine = made(PATTERNS["a choice in the middle"])
    push(engine, {"A": [{"ts": 0, "k": 1, "x": 0, "n": 0}], "D": [{"ts": 9, "k": 1, "x": 0, "n": 9}]})
    assert engine.stats()["tuples"] == {"a": 1, "b": 0, "c": 0, "d": 1}
    assert [index["rows"] for index in engine.stats()["indexes"] if index["variable"] in "ad"] == [1, 1]


def test_only_what_waits_is_stored_beside() -> None:
    engine = made(PATTERNS["an optional event"])
    push(engine, {name: [{"ts": 5, "k": 1, "x": 0, "n": 0}] for name in "ABC"}, 0)
    assert engine.stats()["tuples"] == {"a": 1, "b": 1, "c": 1, "c·2": 0}
    assert (engine.waiting, engine.due) == (1, 5)
    rows_of(engine.advance(5).read_all())
    assert (engine.waiting, engine.due) == (0, None)


def test_the_bound_branch_is_immediate_and_the_unbound_one_waits() -> None:
    engine = made(f"SEQ(A a, B? b, C c) {HOUR} RETURN a.n AS a, b.n AS b")
    row = {"k": 1, "x": 0}
    first = {"A": [{**row, "ts": 0, "n": 0}], "B": [{**row, "ts": 1, "n": 1}], "C": [{**row, "ts": 2, "n": 2}]}
    assert fields(push(engine, first, 0)) == {(0, 1): 1}
    assert fields(push(engine, {"A": [{**row, "ts": 3, "n": 3}], "C": [{**row, "ts": 4, "n": 4}]}, 3)) == {(0, 1): 1}
    assert fields(rows_of(engine.finish().read_all())) == {(3, None): 1}


# --- asking --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PATTERNS)
def test_current_matches_are_those_put_out_while_nothing_has_left(name: str) -> None:
    rng = Random(name)
    for _ in range(3):
        engine, told = made(PATTERNS[name]), Counter[tuple[Any, ...]]()
        stream = events(rng, 24)
        for first in range(0, len(stream), 4):
            told += fields(push(engine, by_stream(engine, stream[first : first + 4]), first * SECOND))
            engine._check()
            assert current(engine) == told
            assert engine.count() == told.total()
            names = [field.name for field in engine.plan.fields]
            assert all(engine.contains(dict(zip(names, each, strict=True))) for each in told)
            assert not engine.contains({names[0]: 999})


@pytest.mark.parametrize("name", DISTINCT)
def test_current_tuples_are_each_there_once(name: str) -> None:
    rng = Random(name)
    for _ in range(3):
        engine, told = made(DISTINCT[name]), set[tuple[Any, ...]]()
        stream = events(rng, 24)
        for first in range(0, len(stream), 4):
            told |= set(fields(push(engine, by_stream(engine, stream[first : first + 4]), first * SECOND)))
            assert current(engine) == Counter(told)
            assert engine.count() == len(told)
            assert engine.stats()["distinct"] == len(told)


# --- corrections ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*PATTERNS, *DISTINCT])
def test_what_is_taken_back_was_never_there(name: str) -> None:
    """Whatever was put out for events that are deleted later comes again with the other sign, under its id."""
    body = {**PATTERNS, **DISTINCT}[name]
    is_tuple = name in DISTINCT
    rng = Random(name)
    for _ in range(6):
        engine, fresh = made(body), made(body)
        stream = events(rng, 18)
        gone = rng.sample(range(len(stream)), 6)
        told = push(engine, by_stream(engine, stream))
        some = by_stream(engine, [stream[i] for i in gone])
        told += push(engine, some, signs={key: [-1] * len(rows) for key, rows in some.items()})
        engine._check()
        told += rows_of(engine.finish().read_all())
        want = push(fresh, by_stream(fresh, [event for i, event in enumerate(stream) if i not in gone]))
        want += rows_of(fresh.finish().read_all())
        if is_tuple:  # when a tuple was told first, and so its id, depends on what was there
            assert set(fields(told)) == set(fields(want))
            continue
        assert fields(told) == fields(want)
        assert ids(told) == ids(want)


# --- ids -----------------------------------------------------------------------------------------------------------


def test_one_event_under_one_name_of_two_streams_has_two_ids() -> None:
    engine = made("OR(A x, B x) RETURN x.n AS n")
    row = {"ts": 1, "k": 1, "x": 1, "n": 7}
    found = push(engine, {"A": [row], "B": [row]})
    assert fields(found) == {(7,): 2}
    assert len(ids(found)) == 2


def test_ids_are_those_of_the_events_whatever_waits() -> None:
    """The same events of the same variables have one id, also where an alternative keeps them apart to wait."""
    both = made("OR(SEQ(A a, B b), SEQ(A a, NOT C c, B b)) PARTITION BY k WITHIN 1 HOUR RETURN a.n AS a, b.n AS b")
    row = {"k": 1, "x": 1}
    found = push(both, {"A": [{**row, "ts": 1, "n": 1}], "B": [{**row, "ts": 2, "n": 2}]}, 0)
    found += rows_of(both.finish().read_all())
    assert [leaf.var for leaf in both.plan.leaves] == ["a", "b", "b·2", "c"]
    assert fields(found) == {(1, 2): 2}
    assert list(ids(found).values()) == [2]


def test_a_tuple_that_comes_to_life_again_has_another_id() -> None:
    engine = made("SEQ(A a, OR(B b, C c)) PARTITION BY k WITHIN 5 SECONDS RETURN DISTINCT a.k AS k")

    def at(second: int, stream: str) -> list[Row]:
        return push(engine, {stream: [{"ts": second * SECOND, "k": 1, "x": 0, "n": second}]}, second * SECOND)

    assert not at(0, "A")
    (first,) = at(1, "B")
    assert not at(4, "C"), "the other branch makes the tuple that lives"
    assert not at(20, "A")
    (again,) = at(21, "C")
    assert first["_id"] != again["_id"]
    assert (again["_start"], again["_end"]) == (20 * SECOND, 21 * SECOND)


# --- state on its way ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*PATTERNS, *DISTINCT])
def test_a_restored_engine_goes_on_as_if_nothing_had_been(name: str) -> None:
    body = {**PATTERNS, **DISTINCT}[name]
    rng = Random(name)
    engine, stream = made(body), events(rng, 30)
    push(engine, by_stream(engine, stream[:15]), 8 * SECOND)
    twin = Engine.restore(engine.plan, engine.snapshot())
    twin._check()
    assert twin.snapshot() == engine.snapshot()
    for one in (engine, twin):
        one.load({})
    rest = by_stream(engine, stream[15:])
    assert ids(push(engine, rest, 20 * SECOND)) == ids(push(twin, rest, 20 * SECOND))
    assert ids(rows_of(engine.finish().read_all())) == ids(rows_of(twin.finish().read_all()))


def test_loaded_events_are_matched_and_not_told() -> None:
    engine, row = made(PATTERNS["a choice in the middle"]), {"k": 1, "x": 0}
    tables = {name: [{**row, "ts": i, "n": i}] for i, name in enumerate("ABC")}
    told = made(PATTERNS["a choice in the middle"])
    push(told, tables)
    engine.load(
        {stream.name: batch(engine.plan, stream.name, tables.get(stream.name, [])) for stream in engine.plan.streams}
    )
    last = {"D": [{**row, "ts": 9, "n": 9}]}
    assert fields(push(engine, last)) == fields(push(told, last)) == {(0, 1, None, 9): 1, (0, None, 2, 9): 1}


def test_the_query_is_a_union() -> None:
    """DuckDB on all events at once, with the SQL of the checked pattern: a second way to the same matches."""
    database, rng = Database(), Random(5)
    for body in PATTERNS.values():
        (pattern,) = compile_source(Source("p.cep", f"{STREAMS} PATTERN P {body};")).patterns
        engine = made(body)
        stream = events(rng, 40)
        found = push(engine, by_stream(engine, stream)) + rows_of(engine.finish().read_all())
        tables = {name: [row for s, row in stream if s == name] for name in "ABCD"}
        assert fields(found) == Counter(database.matches(pattern, tables)), body

"""Corrections: signed batches take events out again, with the matches they were in."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from runtime import BatchError, Engine
from tests.runtime.support import SECOND, compiled, current, fields, ids, naive, push, rows_of

STREAM = "STREAM T (ts TIMESTAMP, k INT, x INT) TIMESTAMP BY ts;"
SEQ = f"{STREAM} PATTERN P SEQ(T a, T b, T c) WHERE a.k = b.k AND b.k = c.k WITHIN 20 SECONDS;"
VALUES = f"{STREAM} PATTERN P AND(T a, T b) WHERE a.k = b.k AND a.x < b.x UNBOUNDED;"
DISTINCT = f"{STREAM} PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 20 SECONDS RETURN DISTINCT b.k AS k;"
TRIANGLE = (
    "STREAM T (x INT, y INT); PATTERN P AND(T a, T b, T c) WHERE a.y = b.x AND b.y = c.x AND c.y = a.x UNBOUNDED;"
)


def at(t: int, k: int = 0, x: int = 0) -> dict[str, int]:
    return {"ts": t * SECOND, "k": k, "x": x}


def state(engine: Engine) -> Any:
    """All that can be seen of an engine."""
    stats = engine.stats()
    return (
        engine.snapshot(),
        engine.count(),
        {name: stats[name] for name in stats if name != "operations"},
        current(engine),
    )


@pytest.mark.parametrize("text", [SEQ, VALUES, DISTINCT], ids=["seq", "values", "distinct"])
@pytest.mark.parametrize(
    ("events", "signs"),
    [
        ([at(9)], [-1]),
        ([at(1), at(1)], [-1, -1]),
        ([at(50), at(1), at(2), at(9)], [1, -1, -1, -1]),
        ([at(9), at(50)], [-1, 1]),
        ([at(1, k=5)], [-1]),
    ],
    ids=["never seen", "once too often", "after good ones", "before good ones", "other key"],
)
def test_deleting_what_is_not_there_changes_nothing(text: str, events: list[dict[str, int]], signs: list[int]) -> None:
    engine = Engine(compiled(text))
    push(engine, [at(1), at(2), at(3, x=1), at(4, k=1)], watermark=0)
    before = state(engine)
    with pytest.raises(BatchError, match=r"stream T: cannot delete an event that is not there \(as [abc]\): \{'ts'"):
        push(engine, events, watermark=100 * SECOND, signs=signs)
    assert state(engine) == before
    engine._check()
    assert len(push(engine, [at(5)])) == len(push(Engine.restore(engine.plan, before[0]), [at(5)]))


def test_the_message_shows_the_event() -> None:
    engine = Engine(compiled(VALUES))
    with pytest.raises(BatchError) as caught:
        push(engine, [at(9, k=3, x=7)], signs=[-1])
    assert "'ts': '1970-01-01T00:00:09Z'" in str(caught.value)
    assert "'k': 3" in str(caught.value)
    assert "'x': 7" in str(caught.value)


def test_one_stream_wrong_leaves_the_other_alone() -> None:
    engine = Engine(compiled("STREAM A (x INT); STREAM B (x INT); PATTERN P AND(A a, B b) WHERE a.x = b.x UNBOUNDED;"))
    push(engine, {"A": [{"x": 1}], "B": [{"x": 1}]})
    with pytest.raises(BatchError, match="stream B"):
        push(engine, {"A": [{"x": 1}], "B": [{"x": 2}]}, signs={"A": [-1], "B": [-1]})
    assert engine.count() == 1


@pytest.mark.parametrize("text", [SEQ, VALUES, DISTINCT], ids=["seq", "values", "distinct"])
def test_a_deletion_and_an_insertion_in_one_batch_cancel(text: str) -> None:
    engine = Engine(compiled(text))
    push(engine, [at(t, x=t) for t in range(5)])
    before = state(engine)
    assert push(engine, [at(2, x=2), at(2, x=2)], signs=[-1, 1]) == []
    assert push(engine, [at(9, x=9), at(9, x=9)], signs=[1, -1]) == []
    after = state(engine)
    assert after[1] == before[1]
    assert after[3] == before[3]
    assert after[2]["tuples"] == before[2]["tuples"]
    # Three of one and two of the other leave one insertion.
    extra = push(engine, [at(9, x=9)] * 5, signs=[1, -1, 1, -1, 1])
    assert fields(extra) == fields(push(Engine.restore(engine.plan, before[0]), [at(9, x=9)]))


@pytest.mark.parametrize("text", [SEQ, VALUES], ids=["seq", "values"])
def test_retractions_have_the_ids_of_the_matches(text: str) -> None:
    engine = Engine(compiled(text))
    given = push(engine, [at(t, x=t) for t in range(6)])
    taken = push(engine, [at(2, x=2)], signs=[-1])
    assert taken
    assert {row["_sign"] for row in taken} == {-1}
    by_id = {row["_id"]: row for row in given}
    for row in taken:
        assert {name: row[name] for name in by_id[row["_id"]]} == by_id[row["_id"]], "and their times and fields"
    left = rows_of(engine.enumerate().read_all())
    assert ids([*given, *taken]) == ids(left)
    assert fields(left) == naive(text, [at(t, x=t) for t in range(6) if t != 2])


def test_of_twins_one_goes_and_the_matches_of_the_other_stay() -> None:
    engine = Engine(compiled(SEQ))
    twins = [at(1), at(1), at(1), at(2), at(3)]
    given = push(engine, twins)
    assert len(given) == 3
    taken = push(engine, [at(1)], signs=[-1])
    assert len(taken) == 1
    net = ids([*given, *taken])
    assert net == ids(rows_of(engine.enumerate().read_all()))
    # What is left has the ids that two twins have had from the start.
    assert set(net) == set(ids(push(Engine(compiled(SEQ)), twins[1:])))


@pytest.mark.parametrize("text", [SEQ, VALUES, DISTINCT, TRIANGLE], ids=["seq", "values", "distinct", "triangle"])
@pytest.mark.parametrize("restore", [False, True])
def test_deletion_then_reinsertion_gives_the_same_ids(text: str, restore: bool) -> None:
    engine = Engine(compiled(text))
    events = (
        [{"x": x, "y": y} for x in range(3) for y in range(3)]
        if text == TRIANGLE
        else [at(t // 2, k=t % 2, x=t % 3) for t in range(12)]
    )
    given = push(engine, events)
    assert given
    for event in (events[3], events[7], events[0]):
        taken = push(engine, [event], signs=[-1])
        if restore:
            engine = Engine.restore(engine.plan, engine.snapshot())
        back = push(engine, [event])
        if text == DISTINCT:  # a tuple that was taken back begins another life
            assert fields(taken) + fields(back) == Counter()
        else:
            assert ids(taken) + ids(back) == Counter()
        given += [*taken, *back]
        engine._check()
    assert ids(given) == ids(rows_of(engine.enumerate().read_all()))


def test_distinct_is_retracted_with_its_last_combination() -> None:
    engine = Engine(compiled(DISTINCT))
    given = push(engine, [at(0), at(1), at(2)])
    assert fields(given) == {(0,): 1}
    assert (given[0]["_start"], given[0]["_end"]) == (0, SECOND), "of the combination that ends first"
    assert push(engine, [at(1)], signs=[-1]) == []
    taken = push(engine, [at(0)], signs=[-1])
    assert taken == [{**given[0], "_sign": -1}], "as it was put out, although 0 and 1 are not behind it any more"
    assert engine.count() == 0
    assert not engine.contains({"k": 0})
    assert engine.stats()["distinct"] == 0
    back = push(engine, [at(0)])
    assert (back[0]["_start"], back[0]["_end"]) == (0, 2 * SECOND)
    assert back[0]["_id"] != taken[0]["_id"], "another occurrence"
    assert push(engine, [at(2)], signs=[-1]) == [{**back[0], "_sign": -1}]


def test_distinct_lives_as_long_as_what_is_left_behind_it() -> None:
    """After a deletion the tuple's time is that of the combinations left: it is put out again once these are over."""
    engine = Engine(compiled(DISTINCT))
    assert len(push(engine, [at(0), at(1)])) == 1
    assert push(engine, [at(15)]) == [], "alive until 35 through the event at 15"
    assert push(engine, [at(15)], signs=[-1]) == []
    assert fields(push(engine, [at(30, k=1), at(31, k=1)])) == {(1,): 1}
    # k = 0 was alive until 21 again; an event at 30 finds nothing, one more at 31 revives the tuple.
    assert push(engine, [at(30)]) == []
    assert fields(push(engine, [at(31)])) == {(0,): 1}


def test_a_late_deletion_is_dropped_and_counted() -> None:
    engine = Engine(compiled(SEQ))
    given = push(engine, [at(1), at(2), at(3), at(10)], watermark=5 * SECOND)
    before = engine.count()
    assert push(engine, [at(2)], signs=[-1]) == []
    assert push(engine, [at(4)], signs=[-1]) == [], "nor is it an error where it is not there"
    assert engine.stats()["late"] == 2
    assert engine.count() == before
    # An event at the watermark itself is not late, nor is its deletion.
    assert len(push(engine, [at(5)], signs=[1])) == 3 + 3
    assert len(push(engine, [at(5)], signs=[-1])) == 6
    assert ids(given) == ids(rows_of(engine.enumerate().read_all()))


def test_deleting_the_best_start_of_a_chain_lowers_what_leaned_on_it() -> None:
    engine = Engine(compiled(SEQ))
    push(engine, [at(0), at(15), at(16)])
    push(engine, [at(15)], signs=[-1])
    engine._check()
    assert push(engine, [at(21)]) == [], "only 0 and 16 are left before it, and 0 is too old"
    assert len(push(engine, [at(20)])) == 2, "0, 16, 20 and 16, 20, 21"
    push(engine, [at(17), at(0)], signs=[1, -1])
    engine._check()


def test_a_tree_of_many_corrections_stays_small() -> None:
    """Deleted rows are compacted away without any watermark, and no id changes on the way."""
    engine = Engine(compiled(VALUES))
    keep = [at(t, k=1, x=t) for t in range(5)]
    given = push(engine, keep)
    sizes = []
    for turn in range(60):
        events = [at(turn, k=2 + i, x=-i) for i in range(400)]
        push(engine, events)
        push(engine, events, signs=[-1] * 400)
        sizes.append(engine.stats()["bytes"])
        engine._check()
    assert max(sizes[30:]) <= max(sizes[:30])
    assert ids(rows_of(engine.enumerate().read_all())) == ids(given)
    assert engine.stats()["expired"] == 0, "deleted is not expired"


def test_mixed_batches_agree_with_the_naive_engine() -> None:
    rng = Random(4)
    for text in (SEQ, VALUES, DISTINCT):
        engine = Engine(compiled(text))
        alive: list[dict[str, int]] = []
        out: list[dict[str, Any]] = []
        for _ in range(15):
            gone = rng.sample(alive, min(len(alive), rng.randint(0, 4)))
            for event in gone:
                alive.remove(event)
            new = [at(rng.randint(0, 30), k=rng.randint(0, 2), x=rng.randint(0, 3)) for _ in range(rng.randint(0, 5))]
            alive += new
            batch = [(event, -1) for event in gone] + [(event, 1) for event in new]
            rng.shuffle(batch)
            out += push(engine, [event for event, _ in batch], signs=[sign for _, sign in batch])
            engine._check()
            want = naive(text, alive)
            assert current(engine) == want
            if text != DISTINCT:  # a windowed tuple may have been put out more than once
                assert fields(out) == want

"""The traps of the digest's section 6, one test each: it fails in an engine that fell in."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import pyarrow as pa
import pytest

from runtime import BatchError, Engine, pull
from tests.runtime.support import SECOND, compiled, current, fields, ids, naive, push, rows_of

TIMED = "STREAM T (ts TIMESTAMP, k INT, x INT, y INT) TIMESTAMP BY ts;"
PLAIN = "STREAM T (k INT, x INT, y INT);"
PAIR = "STREAM R (a INT, b INT); STREAM S (b INT, c INT);"


def test_6_1_a_window_over_three_steps_is_no_predicate() -> None:
    """As a predicate, first-to-last closes a cycle; here it leaves the tree alone, however it is written."""
    body = f"{TIMED} PATTERN P SEQ(T a, T b, T c) WHERE a.k = b.k AND b.k = c.k"
    spelled = [
        compiled(f"{body} WITHIN 10 SECONDS;"),
        compiled(f"{body} AND c.ts <= a.ts + 10 SECONDS;"),
        compiled(f"{body} AND c.ts - a.ts <= 10 SECONDS;"),
    ]
    events = [{"ts": t * SECOND, "k": 1, "x": t, "y": 0} for t in (0, 1, 9, 10, 11, 21)]
    for plan in spelled:
        assert plan.verdict.acyclic
        assert plan.window == 10 * SECOND
        found = push(Engine(plan), events)
        assert fields(found) == naive(f"{body} WITHIN 10 SECONDS;", events)
        spans = sorted((row["a.x"], row["b.x"], row["c.x"]) for row in found)
        assert (0, 1, 10) in spans, "ten seconds are within ten seconds"
        assert (0, 1, 11) not in spans


def test_6_2_an_event_that_feeds_two_leaves() -> None:
    text = f"{PLAIN} PATTERN P AND(T a, T b) WHERE a.k = b.k AND a.x <= b.x UNBOUNDED RETURN a.x AS l, b.x AS r;"
    event = {"k": 0, "x": 5, "y": 0}
    engine = Engine(compiled(text))
    first, second = push(engine, [event]), push(engine, [event])
    assert [len(first), len(second)] == [1, 3], "1 then 3, total 4"
    assert max(ids([*first, *second]).values()) == 1
    together = push(Engine(compiled(text)), [event, event])
    assert ids(together) == ids([*first, *second]), "one batch gives what two give, ids included"
    strict = compiled(text.replace("<=", "<"))
    assert push(Engine(strict), [event, event]) == []
    assert len(push(Engine(compiled(text.replace(" AND a.x <= b.x", ""))), [event, event])) == 4


def test_6_3_a_batch_of_mixed_signs_hides_nothing() -> None:
    text = f"{PAIR} PATTERN P AND(R r, S s) WHERE r.b = s.b UNBOUNDED RETURN r.a AS a, r.b AS b, s.c AS c;"
    engine = Engine(compiled(text))
    push(engine, {"R": [{"a": 2, "b": 0}], "S": [{"b": 0, "c": 7}]})
    delta = push(engine, {"R": [{"a": 1, "b": 0}, {"a": 2, "b": 0}]}, signs={"R": [1, -1]})
    assert fields(delta) == {(1, 0, 7): 1, (2, 0, 7): -1}
    assert current(engine) == {(1, 0, 7): 1}


def test_6_4_multiplicities_never_go_below_zero() -> None:
    text = f"{PAIR} PATTERN P AND(R r, S s) WHERE r.b = s.b UNBOUNDED RETURN r.a AS a, s.c AS c;"
    engine = Engine(compiled(text))
    push(engine, {"R": [{"a": 1, "b": 0}, {"a": 2, "b": 0}], "S": [{"b": 0, "c": 7}]})
    with pytest.raises(BatchError, match=r"stream R: cannot delete an event that is not there \(as r\)"):
        push(engine, {"R": [{"a": 3, "b": 0}]}, signs={"R": [-1]})
    with pytest.raises(BatchError, match="not there"):
        push(engine, {"R": [{"a": 1, "b": 0}] * 2}, signs={"R": [-1, -1]})
    assert current(engine) == {(1, 7): 1, (2, 7): 1}
    push(engine, {"R": [{"a": 1, "b": 0}, {"a": 2, "b": 0}]}, signs={"R": [-1, -1]})
    # No zero entry is left in any index: a later partner finds nothing, and sizes say so.
    assert push(engine, {"S": [{"b": 0, "c": 8}]}) == []
    rows = {index["variable"]: index["rows"] for index in engine.stats()["indexes"]}
    assert rows == {"r": 0, "s": 2}
    engine._check()


def test_6_5_a_component_without_output_still_counts() -> None:
    """Its emptiness makes the result empty; its size is a factor, and only that."""
    streams = "STREAM A (x INT); STREAM B (y INT);"
    engine = Engine(compiled(f"{streams} PATTERN P AND(A a, B b) UNBOUNDED RETURN a.x AS x;"))
    assert push(engine, {"A": [{"x": 1}]}) == []
    assert engine.count() == 0
    assert fields(push(engine, {"B": [{"y": 5}, {"y": 6}]})) == {(1,): 2}
    assert engine.count() == 2
    distinct = Engine(compiled(f"{streams} PATTERN P AND(A a, B b) UNBOUNDED RETURN DISTINCT a.x AS x;"))
    assert push(distinct, {"A": [{"x": 1}]}) == []
    assert fields(push(distinct, {"B": [{"y": 5}, {"y": 6}]})) == {(1,): 1}
    assert push(distinct, {"B": [{"y": 5}]}, signs={"B": [-1]}) == []
    assert fields(push(distinct, {"B": [{"y": 6}]}, signs={"B": [-1]})) == {(1,): -1}
    assert distinct.count() == 0


@pytest.mark.parametrize("order", list(permutations("RST")), ids="".join)
def test_6_6_a_pair_of_deltas_meets_exactly_once(order: tuple[str, ...]) -> None:
    """New rows of two siblings in one batch join once: not never (old x old), not twice (new x new)."""
    streams = "STREAM R (a INT, b INT); STREAM S (b INT, c INT); STREAM T (b INT, d INT);"
    text = (
        f"{streams} PATTERN P AND(R r, S s, T t) WHERE r.b = s.b AND s.b = t.b "
        "UNBOUNDED RETURN r.a AS a, s.c AS c, t.d AS d;"
    )
    rows = {
        "R": [{"a": 1, "b": 0}, {"a": 2, "b": 0}],
        "S": [{"b": 0, "c": 1}],
        "T": [{"b": 0, "d": i} for i in (1, 2, 3)],
    }
    engine = Engine(compiled(text))
    found = push(engine, {name: rows[name] for name in order})
    assert fields(found) == naive(text, rows)
    assert len(found) == 6
    again = push(engine, {name: rows[name] for name in reversed(order)})
    assert len(found) + len(again) == 4 * 2 * 6
    assert max(ids([*found, *again]).values()) == 1


def test_6_7_atoms_with_equal_variable_sets_are_one_hyperedge() -> None:
    streams = "".join(f"STREAM {name} (x INT, y INT); " for name in "ABC")
    text = (
        f"{streams} PATTERN P AND(A a, B b, C c) WHERE a.x = b.x AND a.y = b.y AND b.x = c.x AND b.y = c.y "
        "UNBOUNDED RETURN a.x AS x, a.y AS y;"
    )
    plan = compiled(text)
    assert plan.verdict.acyclic
    events = {name: [{"x": x, "y": y} for x, y in product((1, 2), repeat=2)][i:] for i, name in enumerate("ABC")}
    assert fields(push(Engine(plan), events)) == naive(text, events) == {(2, 1): 1, (2, 2): 1}


def test_6_8_equality_of_differently_named_attributes_is_one_variable() -> None:
    """Kept as three predicates, the triangle of equalities would be cyclic."""
    streams = "STREAM A (p INT, x INT); STREAM B (q INT, y INT); STREAM C (r INT, z INT);"
    text = (
        f"{streams} PATTERN P AND(A a, B b, C c) WHERE a.p = b.q AND b.q = c.r AND a.p = c.r AND a.x < b.y UNBOUNDED;"
    )
    plan = compiled(text)
    assert plan.verdict.acyclic
    assert len(plan.keys) == 1
    events = {
        "A": [{"p": i % 3, "x": i} for i in range(6)],
        "B": [{"q": i % 2, "y": i} for i in range(6)],
        "C": [{"r": i % 4, "z": i} for i in range(6)],
    }
    assert fields(push(Engine(plan), events)) == naive(text, events)


def test_6_9_the_newest_event_is_the_root() -> None:
    """In time order an event that can only wait reads nothing, however many partners wait with it."""
    plan = compiled(
        f"{TIMED} PATTERN P SEQ(T a, T b, T c) "
        "WHERE a.k = b.k AND b.k = c.k AND a.x = 0 AND b.x = 1 AND c.x = 2 UNBOUNDED;"
    )
    assert plan.root == "c"
    engine = Engine(plan)
    for t in range(200):
        assert push(engine, [{"ts": t * SECOND, "k": 0, "x": t % 2, "y": 0}]) == []
    before = engine.operations.as_dict()
    assert before["dead_ends"] == 0
    assert before["displaced"] == 0
    # A b looks up the best start of the a before it: one row each. Nothing else is read.
    assert before["visited"] <= 100
    found = push(engine, [{"ts": 200 * SECOND, "k": 0, "x": 2, "y": 0}])
    assert len(found) == 100 * 101 // 2
    assert engine.operations.dead_ends == 0


def test_6_10_no_group_is_scanned_for_sums() -> None:
    """The work of an event, and of a count, does not grow with the rows of its group."""
    plan = compiled(f"{PLAIN} PATTERN P AND(T a, T b) WHERE a.k = b.k AND a.x < b.x AND a.y = 0 AND b.y = 1 UNBOUNDED;")
    work = []
    for size in (10, 10_000):
        engine = Engine(plan)
        push(engine, [{"k": 0, "x": i, "y": 1} for i in range(size)])
        before = engine.operations.as_dict()
        # Half of the group is a partner; the last one alone is put out.
        found = push(engine, [{"k": 0, "x": size - 2, "y": 0}])
        after = engine.operations.as_dict()
        work.append((len(found), {name: after[name] - before[name] for name in ("seeks", "visited", "displaced")}))
        visited = engine.operations.visited
        assert engine.count() == 1
        assert engine.operations.visited == visited, "a count reads prefix sums, not rows"
    assert work[0] == work[1] == (1, {"seeks": work[0][1]["seeks"], "visited": 1, "displaced": 0})


def test_6_11_a_band_is_one_interval() -> None:
    text = (
        "STREAM T (at TIMESTAMP, k INT, y INT); PATTERN P AND(T a, T b) "
        "WHERE a.k = b.k AND b.at > a.at AND b.at < a.at + 3 SECONDS AND a.y = 0 AND b.y = 1 UNBOUNDED;"
    )
    plan = compiled(text)
    for trigger in plan.triggers:
        (step,) = trigger.steps
        assert len(step.ranges) == 2
        assert not step.checks
    events = [{"k": 0, "at": t * SECOND, "y": y} for t in range(50) for y in (0, 1)]
    engine = Engine(plan)
    found = push(engine, events)
    found += push(engine, [{"k": 0, "at": 20 * SECOND + 1, "y": 0}, {"k": 0, "at": 30 * SECOND + 1, "y": 1}])
    assert fields(found) == current(engine)
    assert fields(found).total() == 48 * 2 + 1 + 3 + 3
    assert engine.operations.dead_ends == 0
    assert engine.operations.visited == 2 * len(found), "in push and in pull, rows outside the band are never read"


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("first", ["R", "S"])
def test_6_12_sort_direction_and_strictness(op: str, flipped: bool, first: str) -> None:
    sides = ("s.c", "r.a") if flipped else ("r.a", "s.c")
    condition = f"r.b = s.b AND {sides[0]} {op} {sides[1]}"
    text = f"{PAIR} PATTERN P AND(R r, S s) WHERE {condition} UNBOUNDED RETURN r.a AS a, s.c AS c;"
    events = {
        "R": [{"a": a, "b": 0} for a in (3, 1, 2, 2, 5)],
        "S": [{"b": 0, "c": c} for c in (2, 2, 4, 0, 3)],
    }
    engine = Engine(compiled(text))
    found = push(engine, {first: events[first]})
    other = "S" if first == "R" else "R"
    for event in events[other]:
        found += push(engine, {other: [event]})
    assert fields(found) == current(engine) == naive(text, events)
    assert engine.operations.dead_ends == 0


def test_6_13_one_leaf_two_orders() -> None:
    """s is grouped by y and sorted by z towards r, ungrouped and sorted by w towards t; both follow every change."""
    streams = "STREAM R (x INT, y INT); STREAM S (y INT, z INT, w INT); STREAM T (u INT, v INT);"
    text = f"{streams} PATTERN P AND(R r, S s, T t) WHERE r.y = s.y AND r.x < s.z AND s.w < t.u UNBOUNDED;"
    plan = compiled(text)
    orders = {(index.key != (), str(index.sort)) for index in plan.indexes if index.var == "s"}
    assert orders == {(True, "s.z"), (False, "s.w")}
    engine = Engine(plan)
    events = {
        "R": [{"x": i % 4, "y": i % 2} for i in range(8)],
        "S": [{"y": i % 2, "z": (i * 7) % 5, "w": (i * 3) % 7} for i in range(10)],
        "T": [{"u": i, "v": 0} for i in range(7)],
    }
    found = [row for name in "TSR" for event in events[name] for row in push(engine, {name: [event]})]
    assert fields(found) == current(engine) == naive(text, events)
    gone = events["S"][::2]
    found += push(engine, {"S": gone}, signs={"S": [-1] * len(gone)})
    left = events | {"S": events["S"][1::2]}
    assert fields(found) == current(engine) == naive(text, left)
    found += push(engine, {"R": [{"x": 0, "y": 1}], "T": [{"u": 9, "v": 0}]})
    left = left | {"R": [*left["R"], {"x": 0, "y": 1}], "T": [*left["T"], {"u": 9, "v": 0}]}
    assert fields(found) == current(engine) == naive(text, left)
    engine._check()


def test_6_14_predicates_within_one_atom_hold_everywhere() -> None:
    text = (
        f"{PLAIN} PATTERN P AND(T a, T b) WHERE a.k = b.k AND a.x < a.y AND b.x + b.y > 3 AND b.x <> 2 "
        "UNBOUNDED RETURN a.x AS ax, b.x AS bx, b.y AS y;"
    )
    events = [{"k": 0, "x": x, "y": y} for x, y in product(range(4), repeat=2)]
    engine = Engine(compiled(text))
    found = [row for event in events for row in push(engine, [event])]
    want = naive(text, events)
    assert fields(found) == current(engine) == want
    assert engine.count() == want.total()
    assert not engine.contains({"bx": 2})
    # An event that passes no filter was never stored, so taking it back is no change and no error.
    assert push(engine, [{"k": 0, "x": 2, "y": 0}], signs=[-1]) == []
    assert fields([*found, *push(engine, events[:8], signs=[-1] * 8)]) == current(engine) == naive(text, events[8:])


def test_6_15_projections_that_are_not_free_connex_are_summed() -> None:
    streams = "STREAM R (a INT, b INT); STREAM S (d INT, e INT); STREAM T (g INT, h INT);"
    returned = "RETURN DISTINCT r.b AS b, t.h AS h"
    plan = compiled(f"{streams} PATTERN P AND(R r, S s, T t) WHERE r.a < s.d AND s.d < t.g UNBOUNDED {returned};")
    assert plan.verdict.acyclic
    assert not plan.verdict.free_connex
    engine = Engine(plan)
    events = {
        "R": [{"a": 1, "b": 1}, {"a": 2, "b": 1}],
        "S": [{"d": 3, "e": 0}, {"d": 4, "e": 1}],
        "T": [{"g": 5, "h": 9}],
    }
    found = [row for name in "RST" for row in push(engine, {name: events[name]})]
    assert fields(found) == {(1, 9): 1}, "four combinations, one tuple"
    assert push(engine, {"S": [events["S"][0]]}, signs={"S": [-1]}) == []
    # The last way to the tuple is exchanged for another: whatever is said on the way, it cancels.
    delta = push(engine, {"S": [events["S"][1], {"d": 3, "e": 7}]}, signs={"S": [-1, 1]})
    assert fields(delta) == {}
    assert current(engine) == {(1, 9): 1}
    assert fields(push(engine, {"S": [{"d": 3, "e": 7}]}, signs={"S": [-1]})) == {(1, 9): -1}


def test_6_16_multiplicities_beyond_64_bits() -> None:
    names = "ABCDE"
    streams = "".join(f"STREAM {name} (x INT); " for name in names)
    plan = compiled(f"{streams} PATTERN P AND({', '.join(f'{n} {n.lower()}' for n in names)}) UNBOUNDED;")
    engine = Engine(plan, chunk=16)
    size = 20_000
    last = plan.triggers[-1].var.upper()
    for name in names:
        if name != last:
            push(engine, {name: [{"x": i} for i in range(size)]})
    reader = engine.push({last: pa.table({"x": range(size)})})
    reader.read_next_batch()  # the state is complete now; its 3.2e21 matches are not for reading
    assert pull.count_matches(engine) == size**5 > 2**63
    counts = pull.reduct(engine)[plan.root]
    assert Counter(counts.tolist()) == {size**4: size}


def test_6_2_for_every_order_of_arrival() -> None:
    """One event in two leaves, ties and duplicates included: the ids do not depend on the order either."""
    text = f"{TIMED} PATTERN P AND(T a, T b) WHERE a.k = b.k AND a.x <= b.x WITHIN 5 SECONDS;"
    events = [{"ts": t * SECOND, "k": 0, "x": x, "y": 0} for t, x in ((0, 1), (0, 1), (3, 1), (7, 2))]
    want = naive(text, events)
    seen = set()
    for order in permutations(events):
        engine = Engine(compiled(text))
        found = [row for event in order for row in push(engine, [event])]
        assert fields(found) == want
        seen.add(frozenset(ids(found)))
        assert ids(rows_of(engine.enumerate().read_all())) == ids(found)
    assert len(seen) == 1

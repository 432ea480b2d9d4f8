"""Every sentence that `cep explain` can print about time, held against counts as the input grows.

A promise must hold; a "not constant" must be earned: there is an input on which rows are read in vain. The last test
makes sure that no sentence goes without one of these.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from cep.compiler.pipeline import compile_source
from cep.source import Source
from runtime import Engine
from tests.costs.sentences import PLAIN, SENTENCES, TIMED, normal, plan, timed
from tests.costs.support import SECOND, Work, feed, work
from tests.oracle.cases import make

PATH = "STREAM R (a INT, b INT); STREAM S (d INT, e INT); STREAM U (g INT, h INT);"
SIZES = (100, 1000)


def one_more(engine: Engine, columns: dict[str, Any], stream: str | None = None) -> Work:
    """The work of one more event, given as columns of length one."""
    with work(engine) as done:
        feed(engine, {name: np.array([value]) for name, value in columns.items()}, stream=stream)
    return done


# --- update --------------------------------------------------------------------------------------------------------


def test_one_variable_is_only_stored() -> None:
    found = plan(f"{PLAIN} PATTERN P AND(W a) WHERE a.x > 1 UNBOUNDED;", update="stored", delay="constant")
    engine = Engine(found)
    with work(engine) as done:
        assert feed(engine, {"x": np.arange(1000)}) == 998
    index_work = {name: n for name, n in done.items() if name not in ("events", "matches")}
    assert set(index_work.values()) == {0}


@pytest.mark.parametrize("steps", [2, 3, 4])
def test_chains_in_order(steps: int) -> None:
    names = "abcd"[:steps]
    body = ", ".join(f"T {name}" for name in names)
    roles = " AND ".join(f"{name}.x = {i}" for i, name in enumerate(names))
    found = plan(f"{TIMED} PATTERN P SEQ({body}) WHERE {roles} PARTITION BY k WITHIN 9 DAYS;", update="in order")
    assert f"costs {steps - 1} index seek" in found.guarantees.update
    waits = []
    for n in SIZES:
        engine = Engine(found)
        feed(engine, timed(n, x=np.full(n, steps - 2)), size=n)
        # The newest step but one: in any crowd, it is appended, and looks at one row for its best start at most.
        waits.append(one_more(engine, {"ts": n * SECOND, "k": 0, "x": steps - 2, "y": 0}))
        assert waits[-1]["seeks"] == waits[-1]["bisections"] == waits[-1]["displaced"] == 0
        # One event of each step, then the one that completes them: one seek a step.
        engine = Engine(found)
        feed(engine, timed(n, k=np.ones(n, dtype=np.int64), x=np.arange(n) % (steps - 1)), size=n)
        feed(
            engine,
            {
                name: values + (n * SECOND if name == "ts" else 0)
                for name, values in timed(steps - 1, x=np.arange(steps - 1)).items()
            },
        )
        done = one_more(engine, {"ts": 2 * n * SECOND, "k": 0, "x": steps - 1, "y": 0})
        assert (done["matches"], done["seeks"], done["dead_ends"]) == (1, steps - 1, 0)
        # A late one displaces what it precedes.
        late = one_more(engine, {"ts": n * SECOND // 2 + 1, "k": 1, "x": 0, "y": 0})
        assert late["displaced"] == len([i for i in range(n) if i > n // 2 and i % (steps - 1) == 0])
    assert waits[0] == waits[1]


def test_two_variables_without_a_window() -> None:
    found = plan(
        f"{PLAIN} PATTERN P AND(W a, W b) WHERE a.x < b.x AND a.y = 0 AND b.y = 1 UNBOUNDED;",
        update="store",
        delay="constant",
        space="for ever",
    )
    costs = []
    for n in SIZES:
        engine = Engine(found)
        feed(engine, {"x": np.arange(n), "y": np.ones(n, dtype=np.int64)}, size=n)
        in_order = one_more(engine, {"x": n, "y": 1})
        displacing = one_more(engine, {"x": n - 11, "y": 1})
        assert in_order["displaced"] == 0
        assert displacing["displaced"] == 11
        matching = one_more(engine, {"x": n - 3, "y": 0})
        assert matching["matches"] == matching["visited"] == 3
        assert matching["dead_ends"] == 0
        costs.append((in_order, displacing, matching))
    assert costs[0] == costs[1]
    assert costs[0][2]["bisections"] <= 2


def test_a_path_without_a_window() -> None:
    found = plan(
        f"{PATH} PATTERN P AND(R r, S s, U u) WHERE r.a < s.d AND s.e < u.g UNBOUNDED;",
        update="path",
        delay="fails",
    )
    vain = []
    for n in SIZES:
        engine = Engine(found)
        feed(engine, {"d": np.arange(n), "e": np.arange(n)}, stream="S", size=n)
        done = one_more(engine, {"g": n + 1, "h": 0}, stream="U")  # every s is in range, none has an r
        assert done["seeks"] <= 1 + done["visited"]
        assert done["matches"] == 0
        vain.append(done["dead_ends"])
    assert vain == list(SIZES)


def test_a_window_with_values() -> None:
    found = plan(
        f"{TIMED} PATTERN P AND(T a, T b, T c) WHERE a.k = b.k AND b.x = c.x WITHIN 50 SECONDS;",
        update="per neighbour",
        delay="fails",
        space="window",
    )
    costs = []
    for n in SIZES:
        engine = Engine(found)
        columns = timed(n, k=np.arange(n) % 10, x=np.arange(n) % 7)
        feed(engine, {name: values[:60] for name, values in columns.items()}, watermark=True, size=20)
        with work(engine) as done:
            feed(engine, {name: values[60:] for name, values in columns.items()}, watermark=True, size=20)
        assert done["displaced"] == 0
        # Each event is a trigger three times; each partner read out is looked up once more.
        assert done["seeks"] <= 3 * done["events"] + done["visited"]
        assert done["bisections"] <= 3 * done["seeks"]
        costs.append(done.per_event("seeks", "visited"))
    assert costs[1] == pytest.approx(costs[0], rel=0.15)
    roles = "a.y = 0 AND b.y = 1 AND c.y = 2"
    found = plan(
        f"{TIMED} PATTERN P AND(T a, T b, T c) WHERE a.k = b.k AND b.x = c.x AND {roles} WITHIN 9 DAYS;", delay="fails"
    )
    vain = []
    for n in SIZES:
        engine = Engine(found)
        feed(engine, timed(n, y=np.ones(n, dtype=np.int64)), size=n)
        vain.append(one_more(engine, {"ts": n * SECOND, "k": 0, "x": 0, "y": 2})["dead_ends"])
    assert vain == list(SIZES), "every b is in range of the c, none has an a"


def test_a_cyclic_bag() -> None:
    text = f"{PLAIN} PATTERN P AND(W a, W b, W c) WHERE a.x = b.y AND b.x = c.y AND c.x = a.y UNBOUNDED;"
    found = plan(
        text,
        update="bag",
        delay="open bag",
    )
    orders = max(1 + len(trigger.alternatives) for trigger in found.triggers)
    vain = []
    for n in SIZES:
        engine = Engine(found)
        rng = np.random.default_rng(n)
        with work(engine) as done:
            feed(engine, {"x": rng.integers(0, n // 5, n), "y": rng.integers(0, n // 5, n)}, size=50)
        assert done["matches"] > 0
        # An event looks at the first list of every order, then walks the shortest; thrice: as a, as b, as c.
        assert done["seeks"] <= 3 * (orders + 1) * done["events"] + done["visited"]
        # Two fans at an event, one into it and one out of it, that meet nowhere else: both lists are long.
        engine = Engine(found)
        away, seven = 10 + np.arange(n), np.full(n, 7)
        feed(engine, {"x": np.concatenate((away, seven)), "y": np.concatenate((seven, 10**6 + away))}, size=2 * n)
        done = one_more(engine, {"x": 7, "y": 7})
        assert done["matches"] == 1, "the event with itself"
        vain.append(done["dead_ends"])
    assert vain[0] >= SIZES[0]
    assert vain[1] == pytest.approx(10 * vain[0], rel=0.05)


# --- delay ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", ["SEQ(T a, T b)", "AND(T a, T b)"])
@pytest.mark.parametrize("late", [False, True])
def test_two_variables_in_a_window(body: str, late: bool) -> None:
    found = plan(f"{TIMED} PATTERN P {body} PARTITION BY k WITHIN 50 SECONDS;", delay="constant")
    rng = np.random.default_rng(1)
    engine = Engine(found)
    columns = timed(400, k=rng.integers(0, 3, 400))
    if late:
        columns["ts"] = rng.permutation(columns["ts"])
    with work(engine) as done:
        assert feed(engine, columns, size=13) > 1000
    assert done["dead_ends"] == 0
    assert done["visited"] == done["matches"]


def test_a_chain_of_three() -> None:
    found = plan(f"{TIMED} PATTERN P SEQ(T a, T b, T c) PARTITION BY k WITHIN 50 SECONDS;", delay="constant in order")
    engine = Engine(found)
    with work(engine) as done:
        assert feed(engine, timed(300, k=np.arange(300) % 3), size=7) > 1000
    assert done["dead_ends"] == 0
    # "a late event can": an a whose bs have no c within the window.
    roles = "a.x = 0 AND b.x = 1 AND c.x = 2"
    vain = []
    for n in SIZES:
        engine = Engine(
            plan(
                f"{TIMED} PATTERN P SEQ(T a, T b, T c) WHERE {roles} PARTITION BY k WITHIN 9 DAYS;",
                delay="constant in order",
            )
        )
        feed(engine, timed(n, ts=SECOND + np.arange(n) * SECOND, x=np.full(n, 1)), size=n)
        vain.append(one_more(engine, {"ts": 0, "k": 0, "x": 0, "y": 0})["dead_ends"])
    assert vain == list(SIZES)


def test_a_check_on_every_partner() -> None:
    found = plan(
        f"{TIMED} PATTERN P SEQ(T a, T b) WHERE a.x < b.x PARTITION BY k WITHIN 9 DAYS;",
        delay="checked",
    )
    assert "`a.x < b.x`" in found.guarantees.delay
    vain = []
    for n in SIZES:
        engine = Engine(found)
        feed(engine, timed(n, x=np.full(n, 5)), size=n)
        vain.append(one_more(engine, {"ts": n * SECOND, "k": 0, "x": 5, "y": 0})["dead_ends"])
    assert vain == list(SIZES)


def test_a_chain_of_a_stream_with_order_by() -> None:
    """Ties are checked on every partner in range, so nothing is promised. Without ties an event meets itself alone."""
    ordered = TIMED.replace("BY ts", "BY ts ORDER BY y")
    text = f"{ordered} PATTERN P SEQ(T a, T b, T c) PARTITION BY k WITHIN 50 SECONDS;"
    engine = Engine(plan(text, delay="checked", update="per neighbour"))
    with work(engine) as done:
        assert feed(engine, timed(300, k=np.arange(300) % 3), size=7) > 1000
    partners = 50 // 3 + 1
    assert done["dead_ends"] <= 300 * (1 + partners)
    vain = []
    for n in SIZES:
        engine = Engine(plan(text, delay="checked"))
        feed(engine, timed(n, ts=np.zeros(n, dtype=np.int64)), size=n)
        vain.append(one_more(engine, {"ts": 0, "k": 0, "x": 0, "y": 0})["dead_ends"] >= n)
    assert vain == [True, True]


def test_a_star() -> None:
    star = "STREAM A (x INT); STREAM B (y INT); STREAM C (x INT, y INT);"
    found = plan(
        f"{star} PATTERN P AND(A a, B b, C c) WHERE a.x < c.x AND b.y < c.y UNBOUNDED;",
        delay="constant at the root",
    )
    assert "new `c`" in found.guarantees.delay
    costs, vain = [], []
    for n in SIZES:
        engine = Engine(found)
        feed(engine, {"x": np.arange(n)}, stream="A", size=n)
        feed(engine, {"y": np.arange(n)}, stream="B", size=n)
        done = one_more(engine, {"x": 3, "y": 4}, stream="C")
        assert (done["matches"], done["dead_ends"]) == (12, 0)
        costs.append(done)
        assert one_more(engine, {"x": 3, "y": 0}, stream="C")["visited"] == 0, "no b: nothing is read"
        engine = Engine(found)
        feed(engine, {"x": np.arange(n), "y": np.zeros(n, dtype=np.int64)}, stream="C", size=n)
        vain.append(one_more(engine, {"x": -1}, stream="A")["dead_ends"])
    assert costs[0] == costs[1]
    assert vain == list(SIZES)


def test_distinct_over_the_last_event() -> None:
    """Existence is asked for, never enumerated: one tuple costs one seek, whatever is behind it."""
    found = plan(
        f"{TIMED} PATTERN P SEQ(T a, T b) PARTITION BY k WITHIN 9 DAYS RETURN DISTINCT b.x AS x;",
        delay="constant at the output",
        space="window",
    )
    assert "new `b`" in found.guarantees.delay
    costs, merged = [], []
    for n in SIZES:
        engine = Engine(found)
        feed(engine, timed(n), size=n)
        done = one_more(engine, {"ts": n * SECOND, "k": 0, "x": 7, "y": 0})
        assert (done["matches"], done["dead_ends"]) == (1, 0)
        assert done["seeks"] == 1
        costs.append(done)
        # A late a is followed by n events with one x: they are merged into nothing new.
        done = one_more(engine, {"ts": -SECOND, "k": 0, "x": 0, "y": 0})
        assert done["matches"] == 0
        merged.append(done["visited"])
    assert costs[0] == costs[1]
    assert merged[1] > 5 * merged[0]


def test_distinct_that_merges() -> None:
    found = plan(
        f"{TIMED} PATTERN P SEQ(T a, T b) PARTITION BY k WITHIN 9 DAYS RETURN DISTINCT a.x AS x;",
        delay="merged",
    )
    merged = []
    for n in SIZES:
        engine = Engine(found)
        feed(engine, timed(n), size=n)
        done = one_more(engine, {"ts": n * SECOND, "k": 0, "x": 0, "y": 0})
        assert done["matches"] == 0
        merged.append(done["visited"])
    assert merged == list(SIZES)


def test_distinct_that_merges_where_events_look_alike() -> None:
    """An event that looks like no other costs its matches, its first twin those of both, the next its own again."""
    found = plan(
        f"{TIMED} PATTERN P SEQ(T a, T b) PARTITION BY k WITHIN 9 DAYS RETURN DISTINCT a.x AS x, b.x AS y;",
        delay="merged twins",
    )
    for n in SIZES:
        engine = Engine(found)
        feed(engine, timed(n, x=np.arange(n)), size=n)
        alone = one_more(engine, {"ts": n * SECOND, "k": 0, "x": n, "y": 0})
        assert (alone["matches"], alone["visited"]) == (n, n)
        # `b` is 0 for the first time: new tuples, and those of `a` = 0 are looked up to be remembered.
        first = one_more(engine, {"ts": (n + 1) * SECOND, "k": 0, "x": 0, "y": 0})
        assert (first["matches"], first["visited"]) == (n + 1, 2 * n + 1)
        again = one_more(engine, {"ts": (n + 2) * SECOND, "k": 0, "x": 0, "y": 0})
        assert (again["matches"], again["visited"]) == (0, n + 2)


# --- completeness --------------------------------------------------------------------------------------------------


def test_no_sentence_goes_untested() -> None:
    """Random patterns print no sentence but these, and each of these is counted by a test, here or in `test_space`."""
    printed: dict[str, str] = {}
    for seed in range(150):
        case = make(Random(seed))
        for made in compile_source(Source("generated.cep", case.text)).plans:
            for sentence in (made.guarantees.update, made.guarantees.delay, made.guarantees.space):
                printed.setdefault(normal(sentence), case.text)
    for sentence, text in printed.items():
        assert sentence in SENTENCES.values(), f"{sentence}\n{text}"
    assert len(printed) >= 12
    source = "".join(Path(__file__).with_name(f"test_{name}.py").read_text() for name in ("sentences", "space"))
    for name in SENTENCES:
        assert re.search(rf'(update|delay|space)="{name}"|"(WITHIN 9 DAYS|UNBOUNDED)", "{name}"', source), name

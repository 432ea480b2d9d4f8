"""Chains over event time where events share a moment: an edge that says `<=` takes them, one that says `<` does not.

The best start of a row depends on partners of its own moment as soon as an edge says `<=`; a row that arrives after its
parents must raise them then, and its deletion must lower them.
"""

from __future__ import annotations

from itertools import pairwise, permutations, product
from pathlib import Path
from random import Random

import pytest

from cep.cli import main
from runtime import Engine
from tests.runtime.support import SECOND, compiled, current, fields, naive, push

STREAMS = "STREAM A (ts TIMESTAMP, x INT) TIMESTAMP BY ts; STREAM B (ts TIMESTAMP, x INT) TIMESTAMP BY ts;"
ISSUE = f"{STREAMS} PATTERN P AND(A a, B b, A c) WHERE a.ts <= b.ts AND b.ts <= c.ts WITHIN 2 SECONDS;"


def chain(ops: tuple[str, ...], window: str = "WITHIN 2 SECONDS", margin: str = "") -> str:
    """AND over as many variables as there are comparisons, and one more; every second one of the other stream."""
    names = "abcde"[: len(ops) + 1]
    body = ", ".join(f"{'AB'[i % 2]} {name}" for i, name in enumerate(names))
    steps = [f"{x}.ts{margin} {op} {y}.ts" for op, (x, y) in zip(ops, pairwise(names), strict=True)]
    return f"{STREAMS} PATTERN P AND({body}) WHERE {' AND '.join(steps)} {window};"


def test_an_event_that_comes_after_its_parent_of_the_same_moment() -> None:
    engine = Engine(compiled(ISSUE))
    arrivals = [("B", 0), ("A", 0), ("A", SECOND)]
    found = [row for stream, ts in arrivals for row in push(engine, {stream: [{"ts": ts}]})]
    # a@0, b@0 and c@1, and c@0 as well: the event binds both a and c.
    assert fields(found) == naive(ISSUE, {"A": [{"ts": 0}, {"ts": SECOND}], "B": [{"ts": 0}]})
    assert len(found) == 2
    engine._check()


@pytest.mark.parametrize("inputs", [("A", "B"), ("B", "A")], ids="".join)
@pytest.mark.parametrize("size", [1, 100])
def test_replay_does_not_depend_on_the_order_of_its_inputs(tmp_path: Path, inputs: tuple[str, ...], size: int) -> None:
    (tmp_path / "p.cep").write_text(ISSUE)
    (tmp_path / "A.jsonl").write_text('{"ts": 0, "x": 1}\n{"ts": 1000, "x": 2}\n')
    (tmp_path / "B.jsonl").write_text('{"ts": 0, "x": 1}\n')
    given = [word for name in inputs for word in ("--in", f"{name}={tmp_path / name}.jsonl")]
    command = ["replay", str(tmp_path / "p.cep"), *given, "--batch-size", str(size)]
    assert main([*command, "--out", str(tmp_path / "out.jsonl")]) == 0
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize("ops", [*product(("<", "<="), repeat=2), *product(("<", "<="), repeat=3)], ids=" ".join)
@pytest.mark.parametrize("window", ["WITHIN 1 SECOND", "UNBOUNDED"])
def test_orders_of_arrival_give_the_same(ops: tuple[str, ...], window: str) -> None:
    text = chain(ops, window)
    plan = compiled(text)
    events = [("A", 0), ("B", 0), ("A", SECOND), ("B", SECOND), ("A", 2 * SECOND)]
    rows = {name: [{"ts": ts, "x": 1} for stream, ts in events if stream == name] for name in "AB"}
    want = naive(text, rows)
    for order in Random(1).sample(list(permutations(events)), 30):
        engine = Engine(plan)
        found = [row for stream, ts in order for row in push(engine, {stream: [{"ts": ts, "x": 1}]})]
        assert fields(found) == want, order
        engine._check()


@pytest.mark.parametrize("ops", [*product(("<", "<="), repeat=3)], ids=" ".join)
def test_deletions_of_a_moment_take_back_what_leaned_on_it(ops: tuple[str, ...]) -> None:
    text = chain(ops)
    plan = compiled(text)
    events = [("A", 0), ("B", 0), ("A", SECOND), ("B", SECOND), ("B", 2 * SECOND), ("A", 2 * SECOND)]
    for deleted in range(len(events)):
        engine = Engine(plan)
        found = [row for s, ts in events for row in push(engine, {s: [{"ts": ts, "x": 1}]}, signs={s: [1]})]
        stream, ts = events[deleted]
        found += push(engine, {stream: [{"ts": ts, "x": 1}]}, signs={stream: [-1]})
        engine._check()
        left = [event for i, event in enumerate(events) if i != deleted]
        rows = {name: [{"ts": at, "x": 1} for s, at in left if s == name] for name in "AB"}
        assert fields(found) == current(engine) == naive(text, rows)
        found += push(engine, {stream: [{"ts": ts, "x": 1}]}, signs={stream: [1]})
        engine._check()


@pytest.mark.parametrize("op", ["<", "<="])
def test_a_margin_shifts_the_tie(op: str) -> None:
    """`a.ts + 1 SECOND <= b.ts`: a tie is one second apart."""
    text = chain((op, op), "WITHIN 5 SECONDS", margin=" + 1 SECOND")
    plan = compiled(text)
    events = [("A", 0), ("B", SECOND), ("A", 2 * SECOND), ("A", 4 * SECOND), ("B", 3 * SECOND)]
    want = naive(text, {name: [{"ts": ts, "x": 1} for s, ts in events if s == name] for name in "AB"})
    for order in list(permutations(events))[::4]:
        engine = Engine(plan)
        found = [row for stream, ts in order for row in push(engine, {stream: [{"ts": ts, "x": 1}]})]
        assert fields(found) == want, order
        engine._check()


def test_a_late_event_displaces_only_parents_that_it_can_precede(monkeypatch: pytest.MonkeyPatch) -> None:
    """`<` leaves parents of the same moment alone; it did before, and costs depend on it."""
    plan = compiled(chain(("<", "<")))
    engine = Engine(plan)
    push(engine, {"B": [{"ts": SECOND, "x": 1}]})
    asked: list[str] = []
    chains = engine._branches[0].chains
    best = chains._best
    monkeypatch.setattr(type(chains), "_best", lambda _, var, rows: (asked.append(var), best(var, rows))[1])
    push(engine, {"A": [{"ts": SECOND, "x": 1}]})
    assert asked == []

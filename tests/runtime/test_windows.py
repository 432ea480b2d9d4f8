"""Windows: exact to the microsecond, whatever the batches, whatever has been physically removed."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

import runtime.compaction
from runtime import Engine
from tests.runtime.support import SECOND, batch, compiled, current, fields, ids, naive, push, rows_of

TWO = "WHERE a.k = b.k"
THREE = "WHERE a.k = b.k AND b.k = c.k"
STREAM = "STREAM T (ts TIMESTAMP, k INT, x INT) TIMESTAMP BY ts;"
PATTERNS = {
    "seq2": f"{STREAM} PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 10 SECONDS;",
    "seq3": f"{STREAM} PATTERN P SEQ(T a, T b, T c) WHERE a.k = b.k AND b.k = c.k WITHIN 10 SECONDS;",
    "and2": f"{STREAM} PATTERN P AND(T a, T b) WHERE a.k = b.k AND a.x < b.x WITHIN 10 SECONDS;",
    "and3": f"{STREAM} PATTERN P AND(T a, T b, T c) WHERE a.k = b.k AND b.k = c.k AND a.x < b.x WITHIN 10 SECONDS;",
    "nested": f"{STREAM} PATTERN P SEQ(T a, AND(T b, T c)) {THREE} AND b.x < c.x WITHIN 10 SECONDS;",
    "values": f"{STREAM} PATTERN P SEQ(T a, T b, T c) WHERE a.k = b.k AND b.k = c.k AND a.x < b.x WITHIN 10 SECONDS;",
    "no key": f"{STREAM} PATTERN P SEQ(T a, T b) WHERE a.x < b.x WITHIN 10 SECONDS;",
    "cyclic": f"{STREAM} PATTERN P AND(T a, T b, T c) WHERE a.k = b.x AND b.k = c.x AND c.k = a.x WITHIN 10 SECONDS;",
    "distinct": f"{STREAM} PATTERN P SEQ(T a, T b) {TWO} WITHIN 10 SECONDS RETURN DISTINCT a.k AS k, b.x AS x;",
}
WINDOW = 10 * SECOND


@pytest.fixture(autouse=True)
def _compact_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.compaction, "ROWS", 4)
    monkeypatch.setattr(runtime.compaction, "KEYS", 4)


def started(text: str) -> Engine:
    engine = Engine(compiled(text))
    assert engine._compaction._at == 4
    return engine


def at(micros: int, k: int = 0, x: int = 0) -> dict[str, int]:
    return {"ts": micros, "k": k, "x": x}


@pytest.mark.parametrize("name", ["seq2", "and2"])
@pytest.mark.parametrize(("gap", "matches"), [(WINDOW - 1, 1), (WINDOW, 1), (WINDOW + 1, 0)])
@pytest.mark.parametrize("late", [False, True], ids=["in order", "late"])
def test_the_boundary_of_two_events(name: str, gap: int, matches: int, late: bool) -> None:
    engine = started(PATTERNS[name])
    pair = [at(0, x=1), at(gap, x=2)]
    found = [row for event in (reversed(pair) if late else pair) for row in push(engine, [event])]
    assert len(found) == matches
    assert engine.count() == matches


@pytest.mark.parametrize("name", ["seq3", "and3", "values", "nested"])
@pytest.mark.parametrize(("gap", "matches"), [(WINDOW - 1, True), (WINDOW, True), (WINDOW + 1, False)])
def test_the_boundary_is_between_first_and_last(name: str, gap: int, matches: bool) -> None:
    """Each pair of neighbours lies within the window; the whole may not."""
    events = [at(0, x=1), at(gap // 2, x=2), at(gap, x=3)]
    for order in ((0, 1, 2), (0, 2, 1), (2, 1, 0), (1, 0, 2)):
        engine = started(PATTERNS[name])
        found = [row for i in order for row in push(engine, [events[i]])]
        assert fields(found) == naive(PATTERNS[name], events)
        spans = {row["_end"] - row["_start"] for row in found}
        assert (gap in spans) == matches


def stream(rng: Random, count: int, seconds: int) -> list[dict[str, int]]:
    times = sorted(rng.randint(0, seconds * 4) * SECOND // 4 for _ in range(count))
    return [at(t, k=rng.randint(0, 2), x=rng.randint(0, 3)) for t in times]


@pytest.mark.parametrize("name", PATTERNS)
def test_exact_whatever_the_batches_and_whatever_was_compacted(name: str) -> None:
    rng = Random(name)
    text = PATTERNS[name]
    for _ in range(2):
        events = stream(rng, 36, 70)
        want = naive(text, events)
        seen: set[frozenset[bytes]] = set()
        for most in (1, 6, 100):
            engine = started(text)
            out: list[dict[str, Any]] = []
            rest = list(events)
            while rest:
                size = rng.randint(1, most)
                part, rest = rest[:size], rest[size:]
                # The watermark may lag, jump to the newest event, or not be told at all.
                watermark = rng.choice((None, part[-1]["ts"], part[-1]["ts"] - 3 * SECOND))
                out += push(engine, part, watermark)
                engine._check()
                if rng.random() < 0.2:
                    engine = Engine.restore(engine.plan, engine.snapshot())
            if name == "distinct":
                assert set(fields(out)) == set(want)
            else:
                assert fields(out) == want
                assert max(ids(out).values(), default=1) == 1
            seen.add(frozenset(ids(out)))
            expected = sum(1 for row in out if row["_start"] is not None)
            assert engine.stats()["matches"] == len(out) >= expected
        assert len(seen) == 1, "the same ids in every run"


@pytest.mark.parametrize("name", PATTERNS)
def test_exact_when_events_are_late_but_allowed(name: str) -> None:
    rng = Random(name)
    text = PATTERNS[name]
    allowed = 6 * SECOND
    for _ in range(2):
        events = stream(rng, 36, 70)
        arrivals = sorted(events, key=lambda event: event["ts"] + rng.randint(0, allowed))
        engine = started(text)
        newest, out = 0, []
        for event in arrivals:
            newest = max(newest, event["ts"])
            out += push(engine, [event], newest - allowed)
            engine._check()
        assert engine.stats()["late"] == 0
        if name == "distinct":
            assert set(fields(out)) == set(naive(text, events))
        else:
            assert fields(out) == naive(text, events)


def test_an_event_may_be_older_than_the_watermark_of_its_own_batch() -> None:
    engine = started(PATTERNS["seq2"])
    assert len(push(engine, [at(0), at(5 * SECOND)], watermark=100 * SECOND)) == 1
    assert engine.stats()["late"] == 0


def test_late_means_before_the_watermark_of_an_earlier_push() -> None:
    engine = started(PATTERNS["seq2"])
    push(engine, [at(20 * SECOND)], watermark=15 * SECOND)
    assert push(engine, [at(15 * SECOND - 1)]) == []
    assert engine.stats()["late"] == 1
    assert len(push(engine, [at(15 * SECOND)])) == 1, "exactly at the watermark is in time"
    assert engine.stats()["late"] == 1
    assert engine.stats()["events"] == 3
    assert push(engine, [at(0), at(1), at(2)]) == []
    assert engine.stats()["late"] == 4


def test_a_watermark_never_goes_back() -> None:
    engine = started(PATTERNS["seq2"])
    push(engine, [at(20 * SECOND)], watermark=15 * SECOND)
    push(engine, [], watermark=3 * SECOND)
    assert engine.watermark == 15 * SECOND
    assert push(engine, [at(14 * SECOND)]) == []
    assert engine.stats()["late"] == 1
    push(engine, [], watermark=16 * SECOND)
    assert engine.watermark == 16 * SECOND


def test_an_event_without_a_time_is_never_late_and_matches_nothing_in_a_window() -> None:
    engine = started(PATTERNS["and2"])
    push(engine, [at(20 * SECOND, x=1)], watermark=15 * SECOND)
    assert push(engine, [{"ts": None, "k": 0, "x": 2}]) == []
    assert engine.stats()["late"] == 0


@pytest.mark.parametrize("name", PATTERNS)
def test_pull_sees_exactly_what_can_still_be_in_a_match(name: str) -> None:
    """Before and after compaction, before and after a restore: the same."""
    text = PATTERNS[name]
    events = stream(Random(name), 40, 60)
    engine = started(text)
    for done in range(0, len(events), 4):
        newest = events[done + 3]["ts"]
        push(engine, events[done : done + 4], newest - 2 * SECOND)
        want = naive(text, [e for e in events[: done + 4] if e["ts"] >= newest - 2 * SECOND - WINDOW])
        assert current(engine) == want
        assert engine.count() == want.total()
        again = Engine.restore(engine.plan, engine.snapshot())
        assert current(again) == want


def test_expired_rows_are_counted_once_whether_removed_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {}
    for compact_at in (4, 10**9):
        monkeypatch.setattr(runtime.compaction, "ROWS", compact_at)
        engine = Engine(compiled(PATTERNS["seq2"]))
        seen = []
        for second in range(100):
            push(engine, [at(second * SECOND)], second * SECOND)
            seen.append((engine.stats()["expired"], engine.stats()["tuples"]))
            if second % 30 == 29:
                engine = Engine.restore(engine.plan, engine.snapshot())
        counts[compact_at] = seen
    assert counts[4] == counts[10**9]
    assert counts[4][-1] == (2 * 89, {"a": 11, "b": 11}), "each event is a row of both variables"


@pytest.mark.parametrize("disorder", [0, 4])
def test_memory_is_flat_however_long_the_stream(disorder: int) -> None:
    """Also with events that come late, which need a table of equal ones; of one key, so that none gets a new number.

    Keys beyond a million: smaller ones have a table, which grows with the largest, to 8 MB at most.
    """
    engine = started(PATTERNS["seq3"])
    sizes, keys = [], []
    for first in range(0, 3000, 10):
        events = [at(s * SECOND, k=2**20 + (0 if disorder else s // 5), x=0) for s in range(first, first + 10)]
        push(engine, events[disorder:] + events[:disorder], (first + 9) * SECOND)
        stats = engine.stats()
        sizes.append(stats["bytes"])
        keys.append(sum(stats["keys"].values()))
    assert max(sizes[150:]) <= 1.05 * max(sizes[:150])
    assert max(keys) < 4 * 3 * 20, "old keys are forgotten as well, when there are four for every row"


def test_distinct_tuples_are_forgotten_with_the_window() -> None:
    engine = Engine(compiled(PATTERNS["distinct"]))
    sizes = []
    for first in range(0, 12_000, 100):
        push(engine, [at(s * SECOND, k=s // 2, x=s) for s in range(first, first + 100)], (first + 99) * SECOND)
        sizes.append(engine.stats()["distinct"])
    assert sum(sizes) > 0
    assert max(sizes) <= 2048


def test_a_tuple_that_comes_again_and_again_takes_no_more_room() -> None:
    engine = Engine(compiled(PATTERNS["distinct"]))
    sizes = []
    for first in range(0, 6000, 60):
        found = push(engine, [at(s * SECOND, k=0, x=0) for s in (first, first + 1)], (first + 1) * SECOND)
        assert len(found) == 1, "alive for a window, put out again after it"
        sizes.append(len(engine.snapshot()))
    assert max(sizes[10:]) <= max(sizes[:10]) + 64


def test_a_push_without_events_only_moves_time() -> None:
    engine = started(PATTERNS["seq2"])
    push(engine, [at(0), at(SECOND)])
    assert engine.count() == 1
    assert rows_of(engine.push({}, WINDOW).read_all()) == []
    assert engine.count() == 1, "an event at the watermark could still make a match with the first"
    assert rows_of(engine.push(batch(engine.plan, "T", []), WINDOW + 1).read_all()) == []
    assert engine.count() == 0
    assert engine.stats()["tuples"] == {"a": 1, "b": 1}


def test_start_and_end_are_the_first_and_last_event() -> None:
    engine = started(PATTERNS["and3"])
    found = push(engine, [at(3, x=1), at(1, x=2), at(2, x=0)])
    assert {(row["_start"], row["_end"]) for row in found if row["c.ts"] == 2} <= {(1, 3), (2, 3), (1, 2)}
    for row in found:
        times = [row["a.ts"], row["b.ts"], row["c.ts"]]
        assert (row["_start"], row["_end"]) == (min(times), max(times))
    assert Counter(len({row["a.ts"], row["b.ts"], row["c.ts"]}) for row in found) == {2: 6, 3: 3}


NESTED = (
    "SEQ(T a, T b, T c)",
    "SEQ(AND(T a, T b), T c)",
    "SEQ(T a, AND(T b, T c))",
    "AND(SEQ(T a, T b), T c)",
    "AND(SEQ(T a, T b), SEQ(T c, T d))",
    "SEQ(AND(T a, T b), AND(T c, T d))",
    "AND(T a, T b, T c)",
)


@pytest.mark.parametrize("bound", ["WITHIN 10 SECONDS", "UNBOUNDED"])
@pytest.mark.parametrize("body", NESTED)
def test_a_match_starts_with_its_earliest_event_and_ends_with_its_latest(body: str, bound: str) -> None:
    rng = Random(body)
    events = [at(rng.randint(0, 12) * SECOND, k=rng.randint(0, 1)) for _ in range(16)]
    for order in ("in order", "in disorder"):
        engine = started(f"{STREAM} PATTERN P {body} PARTITION BY k {bound};")
        ordered = sorted(events, key=lambda event: event["ts"]) if order == "in order" else events
        found = [row for first in range(0, 16, 4) for row in push(engine, ordered[first : first + 4])]
        times = [[value for name, value in row.items() if name.endswith(".ts")] for row in found]
        assert [(row["_start"], row["_end"]) for row in found] == [(min(some), max(some)) for some in times]
        assert fields(found) == naive(f"{STREAM} PATTERN P {body} PARTITION BY k {bound};", events)
        assert found


KEPT = "STREAM T (ts TIMESTAMP, k STRING, x INT, y STRING, z BOOLEAN) TIMESTAMP BY ts;"


@pytest.mark.parametrize("keys", [2, 1000], ids=["keys stay", "keys get new numbers"])
def test_compaction_changes_nothing_that_is_put_out(keys: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """NULLs, text, equal events: rows keep all that they have, ids included."""
    rng = Random(keys)
    events = [
        {
            "ts": second // 2 * SECOND,
            "k": f"key {rng.randint(0, keys)}" if keys < 1000 else f"key {second // 6}",
            "x": rng.choice((None, 1, 2)),
            "y": rng.choice((None, "", "text", "longer than a word")),
            "z": rng.choice((None, True, False)),
        }
        for second in range(300)
    ]
    out = []
    for compact_at in (4, 10**9):
        monkeypatch.setattr(runtime.compaction, "ROWS", compact_at)
        engine = Engine(compiled(f"{KEPT} PATTERN P SEQ(T a, T b) PARTITION BY k WITHIN 5 SECONDS;"))
        out.append([row for e in events for row in push(engine, [e], e["ts"] - 2 * SECOND)])
        stored = engine._leaves["a"].size
        assert (stored == len(events)) == (compact_at > 4)
    assert len(out[0]) > 50
    assert out[0] == out[1]

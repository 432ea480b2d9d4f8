"""Gaps whose events are looked at one by one, a chunk at a time: the chunks change nothing."""

from __future__ import annotations

from random import Random

import pytest

import runtime.search.gaps
from runtime import Engine
from tests.runtime.support import SECOND, compiled, push

STREAMS = "\n".join(f"STREAM {name} (ts TIMESTAMP, k INT, x INT, n INT) TIMESTAMP BY ts;" for name in "ABC")
MATCH = (
    "SEQ(A a, NOT B b, C c) WHERE b.x > a.x AND b.x <> c.x PARTITION BY k WITHIN 30 SECONDS RETURN a.n AS a, c.n AS c"
)
APART = "SEQ(A a, AND(NOT B x, B b), C c) WHERE x.x > 25 PARTITION BY k WITHIN 30 SECONDS RETURN a.n AS a, c.n AS c"
"""The gap lies between a and c; in the tree they may both be neighbours of b alone."""
ROW = "SEQ(A a, NOT B b) WHERE b.x > a.x PARTITION BY k WITHIN 30 SECONDS RETURN a.n AS a, a.n AS c"


def brute(events: dict[str, list[dict[str, int]]], *, closed: bool) -> set[tuple[int, int]]:
    found = set()
    for a in events["A"]:
        for c in events["C"] if closed else [None]:
            end = a["ts"] + 30 * SECOND + 1 if c is None else c["ts"]
            if c is not None and not (c["k"] == a["k"] and a["ts"] < c["ts"] <= a["ts"] + 30 * SECOND):
                continue
            inside = [b for b in events["B"] if b["k"] == a["k"] and a["ts"] < b["ts"] < end and b["x"] > a["x"]]
            if not [b for b in inside if c is None or b["x"] != c["x"]]:
                found.add((a["n"], a["n"] if c is None else c["n"]))
    return found


@pytest.mark.parametrize("chunk", [1, 2, 7, 64, 1 << 15])
@pytest.mark.parametrize("text", [MATCH, ROW])
def test_chunks_change_nothing(chunk: int, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.search.gaps, "CHUNK", chunk)
    rng = Random(chunk)
    events: dict[str, list[dict[str, int]]] = {name: [] for name in "ABC"}
    for n in range(400):
        row = {"ts": n * SECOND, "k": rng.randint(0, 1), "x": rng.randint(0, 20), "n": n}
        events[rng.choice("ABBBC")].append(row)
    engine = Engine(compiled(f"{STREAMS} PATTERN P {text};"))
    found = push(engine, {s.name: events[s.name] for s in engine.plan.streams}, 1000 * SECOND)
    want = brute(events, closed=text == MATCH)
    assert {(row["a"], row["c"]) for row in found} == want
    assert len(found) == len(want) > 5


@pytest.mark.parametrize("text", [MATCH, APART, ROW])
def test_pull_sees_the_matches_that_were_put_out(text: str) -> None:
    """At every push: what is final is there, what waits is not."""
    rng = Random(5)
    engine = Engine(compiled(f"{STREAMS} PATTERN P {text.replace('30 SECONDS', '500 SECONDS')};"))
    names = {stream.name for stream in engine.plan.streams}
    told: list[tuple[int, int]] = []
    for n in range(0, 120, 4):
        batch: dict[str, list[dict[str, int]]] = {name: [] for name in names}
        for i in range(n, n + 4):
            if (name := rng.choice("ABC")) in names:
                batch[name].append({"ts": i * SECOND, "k": 0, "x": rng.randint(0, 30), "n": i})
        told += [(row["a"], row["c"]) for row in push(engine, batch, n * SECOND)]
        assert sorted(told) == sorted((r["a"], r["c"]) for r in engine.enumerate().read_all().to_pylist())
        assert engine.count() == len(told)
        assert all(engine.contains({"a": a, "c": c}) for a, c in told[-3:])
        assert not engine.contains({"a": -1, "c": -1})
    if text != ROW:
        assert len(told) > 5
    else:
        assert told == []
        assert engine.stats()["waiting"] > 0

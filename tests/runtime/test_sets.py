"""Sets in the engine: what a push puts out, what may still change before, and what is kept of it afterwards."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from runtime import Engine, compaction
from runtime.arrays.sorted_groups import Operations, SortedGroups
from runtime.state.running import RunningSums
from tests.runtime.support import compiled

STREAMS = """STREAM A (ts TIMESTAMP, k INT, x INT) TIMESTAMP BY ts WATERMARK 5 SECONDS;
STREAM B (ts TIMESTAMP, k INT, x INT) TIMESTAMP BY ts WATERMARK 5 SECONDS;"""
LEADING = f"{STREAMS} PATTERN P SEQ(B{{2,}} b, A a) PARTITION BY k WITHIN 10 SECONDS RETURN a.x AS a, COUNT(b) AS n, "
LEADING += "SUM(b.x) AS total, LAST(b.x) AS last;"
LONE = f"{STREAMS} PATTERN P SEQ(B{{2,}} b) PARTITION BY k WITHIN 10 SECONDS RETURN COUNT(b) AS n, SUM(b.x) AS total;"
EPOCH = datetime(2024, 1, 1, tzinfo=timezone.utc)
START = int(EPOCH.timestamp()) * 1_000_000


def table(*rows: tuple[float, int], sign: int | None = None) -> pa.Table:
    """Events (second, x) of key 1."""
    columns: dict[str, Any] = {
        "ts": pa.array([EPOCH + timedelta(seconds=at) for at, _ in rows], pa.timestamp("us", tz="UTC")),
        "k": pa.array([1] * len(rows), pa.int64()),
        "x": pa.array([x for _, x in rows], pa.int64()),
    }
    if sign is not None:
        columns["_sign"] = pa.array([sign] * len(rows), pa.int8())
    return pa.table(columns)


def at(second: float) -> int:
    return START + round(second * 1_000_000)


def read(reader: Any) -> list[tuple[Any, ...]]:
    rows = reader.read_all().to_pylist()
    return [tuple(value for name, value in row.items() if not name.startswith("_")) for row in rows]


def test_a_match_comes_when_the_watermark_reaches_what_follows_the_set() -> None:
    engine = Engine(compiled(LEADING))
    assert read(engine.push({"B": table((0, 1), (1, 2)), "A": table((5, 50))}, at(4))) == []
    assert engine.due == at(5)
    assert engine.waiting == 1
    assert read(engine.push({"B": table((4.5, 7))}, at(4))) == []
    assert read(engine.advance(at(5))) == [(50, 3, 10, 7)]
    assert read(engine.finish()) == []


def test_a_lone_set_comes_when_its_moment_has_passed() -> None:
    engine = Engine(compiled(LONE))
    assert read(engine.push({"B": table((0, 1), (3, 2))}, at(3))) == []
    assert read(engine.push({"B": table((3, 4))}, at(3))) == []
    assert read(engine.advance(at(3) + 1)) == [(3, 7)]


def test_a_late_event_of_a_set_is_dropped_and_counted() -> None:
    engine = Engine(compiled(LEADING))
    read(engine.push({"B": table((0, 1), (1, 2)), "A": table((5, 50))}, at(3)))
    assert read(engine.push({"B": table((2, 4))}, at(5))) == [(50, 2, 3, 2)]
    assert engine.counters["late"] == 1


@pytest.mark.parametrize("restored", [False, True])
def test_what_a_set_holds_may_be_corrected_until_it_is_told(restored: bool) -> None:
    plan = compiled(LEADING)
    engine = Engine(plan)
    read(engine.push({"B": table((0, 1), (1, 2), (2, 4), sign=1), "A": table((5, 50), sign=1)}, at(1)))
    if restored:
        engine = Engine.restore(plan, engine.snapshot())
    read(engine.push({"B": table((2, 4), sign=-1)}, at(2)))
    read(engine.push({"B": table((3, 8), sign=1)}, at(3)))
    assert read(engine.advance(at(5))) == [(50, 3, 11, 8)]


def test_a_held_event_that_is_taken_back_never_makes_a_match() -> None:
    engine = Engine(compiled(LEADING))
    read(engine.push({"B": table((0, 1), (1, 2), sign=1), "A": table((5, 50), (6, 60), sign=1)}, at(1)))
    read(engine.push({"A": table((5, 50), sign=-1)}, at(2)))
    assert read(engine.finish()) == [(60, 2, 3, 2)]


def test_a_match_told_at_the_watermark_is_taken_back_with_its_event_as_it_was_told() -> None:
    engine = Engine(compiled(LEADING))
    told = engine.push({"B": table((0, 1), (1, 2), sign=1), "A": table((5, 50), sign=1)}, at(5)).read_all().to_pylist()
    taken = engine.push({"A": table((5, 50), sign=-1)}, at(5)).read_all().to_pylist()
    assert [row["_sign"] for row in (*told, *taken)] == [1, -1]
    assert [{**row, "_sign": 0} for row in told] == [{**row, "_sign": 0} for row in taken]


@pytest.mark.parametrize("text", [LEADING, LONE], ids=["leading", "alone"])
def test_current_matches_are_counted_listed_and_found(text: str) -> None:
    plan = compiled(text)
    engine = Engine(plan)
    events = {"B": table((0, 1), (1, 2), (2, 3)), "A": table((5, 50), (6, 60))}
    told = read(engine.push({stream.name: events[stream.name] for stream in plan.streams}, at(7)))
    for now in (engine, Engine.restore(plan, engine.snapshot())):
        assert sorted(read(now.enumerate())) == sorted(told)
        assert now.count() == len(told) == 2
        assert now.contains({"n": 3, "total": 6})
        assert not now.contains({"total": 7})


def test_a_set_between_two_events_is_found_by_what_it_adds_up_to() -> None:
    text = f"{STREAMS} PATTERN P SEQ(A a, B+ b, A c) PARTITION BY k WITHIN 10 SECONDS RETURN c.x AS c, SUM(b.x) AS s;"
    engine = Engine(compiled(text))
    assert read(engine.push({"A": table((0, 0), (5, 50)), "B": table((1, 1), (2, 2))}, at(5))) == [(50, 3)]
    assert engine.contains({"s": 3})
    assert not engine.contains({"s": 4})


@pytest.mark.parametrize("rows", [0, 8192])
@pytest.mark.parametrize("text", [LEADING, LONE], ids=["leading", "alone"])
def test_one_event_at_a_time_or_all_at_once(text: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Running sums go on over batches, compaction and snapshots."""
    monkeypatch.setattr(compaction, "ROWS", rows)
    plan = compiled(text)
    rng = np.random.default_rng(7)
    times = np.sort(rng.integers(0, 200, 300)).tolist()
    events = [("AB"[int(rng.integers(0, 5) > 0)], t, int(rng.integers(-5, 5))) for t in times]

    def told(size: int) -> list[tuple[Any, ...]]:
        engine, found = Engine(plan), []
        for first in range(0, len(events), size):
            batch = events[first : first + size]
            of = {name: [(t, x) for s, t, x in batch if s == name] for name in "AB"}
            used = {stream.name for stream in plan.streams}
            share = {name: table(*some) for name, some in of.items() if some and name in used}
            found += read(engine.push(share, at(batch[0][1])))
            if first % (7 * size) == 0:
                engine._check()
                engine = Engine.restore(plan, engine.snapshot())
        return sorted(found + read(engine.finish()))

    assert told(1) == told(37) == told(300)
    assert len(told(300)) > 20


def test_many_large_sets_are_worked_out_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    import runtime.search.folds as folds

    text = f"{STREAMS} PATTERN P SEQ(B+ b, A a) WHERE b.x < a.x PARTITION BY k WITHIN 1 HOUR "
    text += "RETURN a.x AS a, MAX(b.x) AS m;"

    def told() -> list[tuple[Any, ...]]:
        engine = Engine(compiled(text))
        read(
            engine.push(
                {"B": table(*((i, i) for i in range(50))), "A": table(*((60 + i, i) for i in range(40)))}, at(0)
            )
        )
        return sorted(read(engine.finish()))

    whole = told()
    monkeypatch.setattr(folds, "CHUNK", 64)
    assert told() == whole == [(i, i - 1) for i in range(1, 40)]


def test_running_sums_are_exact_beyond_64_bits() -> None:
    values = [2**62, 2**62, 2**62, -(2**63), None, 5, -7]
    index = SortedGroups(np.int64, Operations())
    index.insert(np.zeros(7, np.int64), np.arange(7), np.arange(7))
    column = pa.array(values, pa.int64())
    sums = RunningSums(index, lambda rows: np.zeros(len(rows), np.int64), lambda rows: column.take(pa.array(rows)))
    ranges = [(low, high) for low in range(7) for high in range(low, 8)]
    found = sums.totals(np.array([low for low, _ in ranges]), np.array([high - low for low, high in ranges]), 7)
    wanted = [[v for v in values[low:high] if v is not None] for low, high in ranges]
    assert found.exact() == [sum(some) for some in wanted]
    assert found.counts.tolist() == [len(some) for some in wanted]
    assert found.fits.tolist() == [-(2**63) <= sum(some) < 2**63 for some in wanted]
    sums._check()


def test_a_snapshot_whose_values_of_a_set_are_damaged_is_refused() -> None:
    plan = compiled(LEADING)
    other = compiled(LEADING.replace("SUM(b.x)", "MIN(b.x)"))
    engine = Engine(plan)
    read(engine.push({"B": table((0, 1), (1, 2)), "A": table((5, 50))}, at(6)))
    with pytest.raises(ValueError, match="snapshot"):
        Engine.restore(other, engine.snapshot())

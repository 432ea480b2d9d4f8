"""The log and the engines that are a cache of it, without a cluster."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from runtime.spark.layout import Layout, Member, layout
from runtime.spark.state import cache, host
from runtime.spark.state.processor import Matcher, PatternChangedError
from tests.spark.fakes import Store, matches, packed, run_batch
from tests.spark.helpers import CARD, JOB, START, compiled, cut, expected, ids, logins, shuffled, trans, tuples

SECOND = 1_000_000
HOUR = 3600 * SECOND
NOTHING = trans(0)


def made(plans: Sequence[Any], buckets: int = 2, **generations: int) -> Layout:
    streams = {stream.name: stream for plan in plans for stream in plan.streams}
    members = [Member(plan=plan, generation=generations.get(plan.pattern, 0)) for plan in plans]
    return layout(members, streams, buckets)


def place(stream: str, row: Mapping[str, Any], target: Any) -> int:
    key = row["acc"] if stream == "Trans" else row["user"]
    return int(key[1:]) % len(target.slots)


def found(rows: Sequence[Mapping[str, Any]], plans: Sequence[Any]) -> Counter[str]:
    return Counter(match["id"] for match in matches(rows, plans))


def watermark_of(batches: Sequence[Mapping[str, pa.Table]]) -> int | None:
    """As Spark has it: the least of the streams' newest times, less what they allow."""
    newest: dict[str, int] = {}
    for batch in batches:
        for name, table in batch.items():
            if table.num_rows:
                last = max(table.column(0).cast(pa.int64()).to_pylist())
                newest[name] = max(newest.get(name, 0), last)
    return min(newest.values()) // 1000 * 1000 - 10 * SECOND if len(newest) == 2 else None


@pytest.mark.parametrize("seed", range(6))
def test_matches_do_not_depend_on_batches_crashes_or_which_worker_runs_a_bucket(seed: int) -> None:
    rng = random.Random(seed)
    plans = compiled(JOB)
    events = {"Trans": trans(400, seed), "Login": logins(120, seed)}
    pieces = {
        "Trans": cut(shuffled(events["Trans"], "ts", 9 * SECOND, seed), 8, seed),
        "Login": cut(shuffled(events["Login"], "at", 9 * SECOND, seed), 8, seed + 1),
    }
    batches = [{name: pieces[name][i] for name in pieces} for i in range(8)]
    parts = made(plans, rng.choice([1, 2, 3]))
    store = Store()
    workers: list[dict[Any, Any]] = [{}, {}, {}]
    rows: list[dict[str, Any]] = []
    for number, batch in enumerate(batches):
        while True:
            # A worker that was used before, or a new one.
            cache._ENGINES = rng.choice(workers) if rng.random() < 0.9 else {}
            result = run_batch(
                Matcher(parts, "job", hosted=False),
                store,
                list(packed(parts, batch, place)),
                watermark_of(batches[:number]),
            )
            if rng.random() < 0.7:
                break
            store.roll_back()
        store.commit()
        rows += result
    assert sum(row["late"] for row in rows) == 0
    distinct = {plan.pattern for plan in plans if plan.distinct}
    everything = Counter(match["id"] for match in matches(rows, plans) if match["pattern"] not in distinct)
    bag = [plan for plan in plans if not plan.distinct]
    assert everything == ids(expected(bag, events))
    # Which combination begins a tuple's life may depend on the order of arrival, and its id with it.
    once = {match["fields"] for match in matches(rows, plans) if match["pattern"] in distinct}
    assert once == tuples(expected([plan for plan in plans if plan.distinct], events))


def one_batch(matcher: Matcher, parts: Layout, store: Store, table: pa.Table, watermark: int | None = None) -> Any:
    rows = run_batch(matcher, store, list(packed(parts, {"Trans": table}, place)), watermark)
    store.commit()
    return rows


def test_an_engine_is_kept_between_batches_and_rebuilt_only_when_the_log_says_so() -> None:
    plans = compiled(CARD)
    parts = made(plans, 1)
    store = Store()
    cache._ENGINES = {}
    first, second, third = cut(trans(90), 3, 3)
    matcher = Matcher(parts, "job", hosted=False)
    one_batch(matcher, parts, store, first)
    (stats,) = [row for row in one_batch(matcher, parts, store, second) if row["pattern"] is None]
    assert (stats["rebuilt"], stats["caught_up"]) == (0, 0)
    run_batch(matcher, store, list(packed(parts, {"Trans": third}, place)), None)
    store.roll_back()  # the batch failed after the engine had seen it
    (stats,) = [row for row in one_batch(matcher, parts, store, third) if row["pattern"] is None]
    assert (stats["rebuilt"], stats["caught_up"]) == (1, 2)


def in_pieces(table: pa.Table, count: int) -> list[pa.Table]:
    size = table.num_rows // count
    return [table.slice(number * size, size) for number in range(count)]


def logged(store: Store) -> list[int]:
    """The numbers of the entries that the log of the one slot has."""
    (state,) = store.kept.values()
    assert state["log"].keys() == state["times"].keys()
    return sorted(number for (number,) in state["log"])


def test_late_events_are_dropped_one_by_one_counted_and_not_logged() -> None:
    plans = compiled(CARD)
    parts = made(plans, 1)
    store = Store()
    cache._ENGINES = {}
    table = trans(100)
    rows = one_batch(Matcher(parts, "job", hosted=False), parts, store, table, START + 10 * SECOND)
    (stats,) = [row for row in rows if row["pattern"] is None]
    assert stats["late"] == 20
    assert stats["events"] == 80
    cache._ENGINES = {}  # what is read from the log must be the same
    again = one_batch(Matcher(parts, "job", hosted=False), parts, store, trans(1).slice(0, 0), START + 10 * SECOND)
    assert again == []
    assert found(rows, plans) == ids(expected(plans, {"Trans": table.slice(20)}))


def test_an_event_at_the_watermark_is_not_late() -> None:
    plans = compiled(CARD)
    parts = made(plans, 1)
    cache._ENGINES = {}
    rows = one_batch(Matcher(parts, "job", hosted=False), parts, Store(), trans(5), START)
    assert [row["late"] for row in rows if row["pattern"] is None] == [0]


def test_the_log_holds_a_window_and_not_more() -> None:
    plans = compiled(CARD)
    parts = made(plans, 1)
    store = Store()
    cache._ENGINES = {}
    sizes = []
    table = trans(4000)
    for number in range(40):
        batch = table.slice(number * 100, 100)  # 50 seconds of events
        watermark = START + number * 50 * SECOND - 10 * SECOND if number else None
        rows = one_batch(Matcher(parts, "job", hosted=False), parts, store, batch, watermark)
        sizes.append(next(row["entries"] for row in rows if row["pattern"] is None))
    assert max(sizes) <= 4
    (slot,) = store.kept
    assert len(store.kept[slot]["log"]) == len(store.kept[slot]["times"]) == sizes[-1]


def test_the_log_holds_what_the_longest_window_reaches() -> None:
    plans = compiled(CARD) + compiled(CARD.replace("CardTesting", "Longer").replace("1 MINUTE", "10 MINUTES"))
    parts = made(plans, 1)
    store = Store()
    cache._ENGINES = {}
    for number, batch in enumerate(in_pieces(trans(400, step=5 * SECOND), 4)):  # 500 seconds each
        one_batch(Matcher(parts, "job", hosted=False), parts, store, batch, START + number * 500 * SECOND)
    assert logged(store) == [1, 2, 3]


def test_what_an_unbounded_pattern_saw_goes_when_it_starts_anew() -> None:
    windowed = compiled(CARD)
    unbounded = compiled(CARD.replace("CardTesting", "Other").replace("WITHIN 1 MINUTE", "UNBOUNDED"))
    store = Store()
    cache._ENGINES = {}
    before = made([*windowed, *unbounded], 1)
    after = made([*windowed, *unbounded], 1, Other=1)
    pieces = in_pieces(trans(480), 4)  # a minute each
    for number, batch in enumerate(pieces[:3]):
        one_batch(Matcher(before, "job", hosted=False), before, store, batch, START + number * 60 * SECOND)
    assert logged(store) == [0, 1, 2]
    one_batch(Matcher(after, "job2", hosted=False), after, store, pieces[3], START + 170 * SECOND)
    assert logged(store) == [1, 2, 3], "what the window of the other one reaches stays"


def test_a_slot_without_events_is_rid_of_its_log_when_its_timer_fires() -> None:
    plans = compiled(CARD)
    parts = made(plans, 1)
    store = Store()
    cache._ENGINES = {}
    first, second = in_pieces(trans(120), 2)
    rows = one_batch(Matcher(parts, "job", hosted=False), parts, store, first)
    one_batch(Matcher(parts, "job", hosted=False), parts, store, NOTHING, START + 10 * SECOND)
    assert logged(store) == [0], "the window reaches it"
    rows += one_batch(Matcher(parts, "job", hosted=False), parts, store, second, START + 20 * SECOND)
    assert found(rows, plans) == ids(expected(plans, {"Trans": trans(120)}))
    one_batch(Matcher(parts, "job", hosted=False), parts, store, NOTHING, START + 2 * HOUR)
    assert logged(store) == []
    # It goes on from there, in the same engine.
    (stats,) = one_batch(Matcher(parts, "job", hosted=False), parts, store, trans(1, step=0), START)
    assert (stats["rebuilt"], logged(store)) == (0, [2])


@pytest.mark.parametrize("window", ["WITHIN 1 MINUTE", "UNBOUNDED"])
def test_a_slot_whose_patterns_are_all_gone_is_rid_of_everything_when_its_timer_fires(window: str) -> None:
    before, after = made(compiled(JOB.replace("WITHIN 20 SECONDS", window)), 2), made(compiled(CARD), 2)
    store = Store()
    cache._ENGINES = {}
    events = {"Trans": trans(120), "Login": logins(30)}
    run_batch(Matcher(before, "job", hosted=False), store, list(packed(before, events, place)), None)
    one_batch(Matcher(before, "job", hosted=False), before, store, NOTHING, START)
    assert set(store.kept) == set(before.by_slot())
    assert {len(state["timers"]) for state in store.kept.values()} == {1}
    one_batch(Matcher(after, "job2", hosted=False), after, store, NOTHING, START + HOUR)
    assert set(store.kept) == set(before.by_slot()), "the timer is not due"
    one_batch(Matcher(after, "job2", hosted=False), after, store, NOTHING, START + HOUR + SECOND)
    assert set(store.kept) == set(after.by_slot())


def test_a_pattern_that_is_added_later_sees_only_what_comes_then() -> None:
    old, new = compiled(CARD), compiled(CARD.replace("CardTesting", "Other"))
    store = Store()
    cache._ENGINES = {}
    first, second = cut(trans(120), 2, 5)
    alone, both = made(old, 1), made([*old, *new], 1)
    rows = one_batch(Matcher(alone, "job", hosted=False), alone, store, first)
    rows += one_batch(Matcher(both, "job2", hosted=False), both, store, second)
    whole = pa.concat_tables([first, second])
    assert found(rows, [*old, *new]) == ids(expected(old, {"Trans": whole})) + ids(expected(new, {"Trans": second}))


def test_removing_a_pattern_keeps_the_state_of_the_others() -> None:
    stays, goes = compiled(CARD), compiled(CARD.replace("CardTesting", "Other"))
    store = Store()
    cache._ENGINES = {}
    first, second = cut(trans(120), 2, 5)
    both, alone = made([*stays, *goes], 1), made(stays, 1)
    rows = one_batch(Matcher(both, "job", hosted=False), both, store, first)
    rows += one_batch(Matcher(alone, "job2", hosted=False), alone, store, second)
    mine = Counter(m["id"] for m in matches(rows, [*stays, *goes]) if m["pattern"] == "CardTesting")
    assert mine == ids(expected(stays, {"Trans": trans(120)}))


def test_a_changed_pattern_is_refused_or_starts_anew() -> None:
    before, after = compiled(CARD), compiled(CARD.replace("> 400", "> 300"))
    first, second = cut(trans(120), 2, 5)
    store = Store()
    cache._ENGINES = {}
    parts, changed = made(before, 1), made(after, 1)
    one_batch(Matcher(parts, "job", hosted=False), parts, store, first)
    with pytest.raises(PatternChangedError, match="`CardTesting` is not the one"):
        one_batch(Matcher(changed, "job2", hosted=False), changed, store, second)
    store.roll_back()
    rows = one_batch(Matcher(changed, "job2", "restart", hosted=False), changed, store, second)
    assert found(rows, after) == ids(expected(after, {"Trans": second}))


def test_a_new_generation_forgets_what_the_old_one_saw() -> None:
    plans = compiled(CARD)
    first, second = cut(trans(120), 2, 5)
    store = Store()
    cache._ENGINES = {}
    old, new = made(plans, 1), made(plans, 1, CardTesting=1)
    one_batch(Matcher(old, "job", hosted=False), old, store, first)
    rows = one_batch(Matcher(new, "job2", hosted=False), new, store, second)
    assert found(rows, plans) == ids(expected(plans, {"Trans": second}))


def test_engines_of_stopped_jobs_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    cache._ENGINES = {}
    now = [0.0]
    monkeypatch.setattr(cache.time, "monotonic", lambda: now[0])
    engines = cache.LocalEngines({}, lambda plan: plan)
    (plan,) = compiled(CARD)
    engines.create(("old", 1, "p", 0), plan, cache.Position(0, 0, 0))
    now[0] = cache.IDLE + 1
    engines.create(("new", 1, "p", 0), plan, cache.Position(0, 0, 0))
    assert list(cache._ENGINES) == [("new", 1, "p", 0)]


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory whose name fits a socket's."""
    with tempfile.TemporaryDirectory(prefix="c", ignore_cleanup_errors=True) as name:
        yield Path(name)


def test_engines_in_a_process_of_their_own_do_the_same(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.tempfile, "gettempdir", lambda: str(short))
    plans = compiled(CARD)
    parts = made(plans, 2)
    store = Store()
    rows: list[dict[str, Any]] = []
    for number, batch in enumerate(cut(trans(200), 4, 1)):
        matcher = Matcher(parts, "0123456789abcdef")
        if number == 2:
            run_batch(matcher, store, list(packed(parts, {"Trans": batch}, place)), None)
            store.roll_back()
        rows += one_batch(matcher, parts, store, batch)
    assert found(rows, plans) == ids(expected(plans, {"Trans": trans(200)}))
    stats = [row for row in rows if row["pattern"] is None]
    # The same host is found again in every batch: nothing is read from the log but after the failed attempt.
    assert sum(row["rebuilt"] for row in stats) == 2
    assert sum(row["caught_up"] for row in stats) == 4


def test_an_event_that_several_groups_drop_is_counted_once() -> None:
    plans = compiled(JOB)
    parts = made(plans)
    store = Store()
    cache._ENGINES = {}
    assert len({target.slots for feed in parts.feeds for target in feed.targets}) > 1
    rows = one_batch(Matcher(parts, "job", hosted=False), parts, store, trans(100), START + 10 * SECOND)
    assert sum(row["late"] for row in rows) == 20

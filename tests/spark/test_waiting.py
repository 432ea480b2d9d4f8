"""What patterns hold back, in the stateful operator: nothing is lost and nothing put out twice, without a cluster."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import runtime
from connectors.files.match_writer import match_lines
from runtime.spark.errors import JobError
from runtime.spark.job.start import Job, prepare
from runtime.spark.job.start import promised as kept
from runtime.spark.layout import Layout
from runtime.spark.state import cache
from runtime.spark.state.processor import Matcher
from tests.spark.fakes import Store, matches, packed, run_batch
from tests.spark.helpers import START, compiled, cut, ids, logins, shuffled, trans, tuples
from tests.spark.test_processor import in_pieces, made, place, watermark_of

SECOND = 1_000_000
STREAMS = """
STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE) TIMESTAMP BY ts WATERMARK 10 SECONDS;
STREAM Login (at TIMESTAMP, user STRING, ok BOOLEAN, tries INT) TIMESTAMP BY at WATERMARK 10 SECONDS;
"""
MIDDLE = "PATTERN Middle SEQ(Trans a, NOT Login b, Trans c) WHERE a.acc = b.user AND a.acc = c.acc WITHIN 20 SECONDS;"
TRAILING = "PATTERN Trailing SEQ(Trans a, NOT Login b) WHERE a.acc = b.user AND a.amnt > 250 WITHIN 15 SECONDS;"
LEADING = "PATTERN Leading SEQ(NOT Login b, Trans a) WHERE a.acc = b.user AND a.amnt > 250 WITHIN 15 SECONDS;"
BOTH = "PATTERN Neither AND(Trans a, NOT Login b) WHERE a.acc = b.user AND a.amnt > 250 WITHIN 5 SECONDS;"
ONCE = """PATTERN Once SEQ(Trans a, NOT Login b) WHERE a.acc = b.user AND a.amnt > 100 WITHIN 6 SECONDS
  RETURN DISTINCT a.acc AS acc;"""
CHAIN = """PATTERN Chain SEQ(Trans a, NOT Login b, Trans c, Trans d)
  WHERE a.acc = b.user AND a.acc = c.acc AND c.acc = d.acc AND a.amnt > 300 AND d.amnt > 300 WITHIN 12 SECONDS;"""
PLAIN = "PATTERN Plain SEQ(Login a, Trans t) WHERE a.user = t.acc AND t.amnt > 300 WITHIN 20 SECONDS;"
BURST = """PATTERN Burst SEQ(Trans{2,} b, NOT Login l, Trans c)
  WHERE b.acc = c.acc AND l.user = c.acc AND b.amnt > 100 AND SUM(b.amnt) > c.amnt WITHIN 12 SECONDS
  RETURN c.ts AS ts, c.acc AS acc, COUNT(b) AS n, MAX(b.amnt) AS most;"""
LONE = """PATTERN Lone SEQ(Trans{3,} b) WHERE b.amnt > 100 AND SUM(b.amnt) > 600 PARTITION BY acc WITHIN 12 SECONDS
  RETURN COUNT(b) AS n, SUM(b.amnt) AS total, LAST(b.ts) AS last;"""
INSIDE = """PATTERN Inside SEQ(Login a, Trans+ b, Trans c) WHERE a.user = c.acc AND b.acc = c.acc AND c.amnt > 250
  WITHIN 12 SECONDS RETURN a.at AS at, c.ts AS ts, c.acc AS acc, COUNT(b) AS n, MIN(b.amnt) AS least;"""
OPTIONAL = """PATTERN Optional SEQ(Trans a, Login? b, Trans c)
  WHERE a.acc = b.user AND a.acc = c.acc AND a.amnt > 200 AND c.amnt > 200 WITHIN 20 SECONDS;"""
TAIL = "PATTERN Tail SEQ(Trans a, Login? b) WHERE a.acc = b.user AND a.amnt > 250 WITHIN 15 SECONDS;"
EITHER = """PATTERN Either SEQ(OR(Trans a, Login b), Trans c)
  WHERE a.acc = c.acc AND b.user = c.acc AND a.amnt > 200 AND c.amnt > 300 WITHIN 10 SECONDS;"""
EITHER_ONCE = """PATTERN EitherOnce SEQ(OR(Trans a, Login b), NOT Login n, Trans c)
  WHERE a.acc = c.acc AND b.user = c.acc AND n.user = c.acc AND a.amnt > 300 AND c.amnt > 300 WITHIN 6 SECONDS
  RETURN DISTINCT c.acc AS acc, b.ok AS ok;"""
ALL = (BURST, LONE, INSIDE, MIDDLE, TRAILING, LEADING, BOTH, ONCE, CHAIN, PLAIN, OPTIONAL, TAIL, EITHER, EITHER_ONCE)
JOB = STREAMS + "\n".join(ALL)


def settled(plans: Sequence[Any], events: Mapping[str, pa.Table], watermark: int) -> Counter[str]:
    """The lines of the matches that an engine in this process has put out by a watermark."""
    found: Counter[str] = Counter()
    for plan in plans:
        engine = runtime.Engine(plan)
        used = {leaf.stream for leaf in plan.leaves}
        mine = {name: table for name, table in events.items() if name in used}
        for batch in (*engine.push(mine, None), *engine.advance(watermark)):
            found.update(match_lines(batch, plan.pattern).to_pylist())
    return found


def run(matcher: Matcher, parts: Layout, store: Store, events: Mapping[str, pa.Table], watermark: int | None) -> Any:
    rows = run_batch(matcher, store, list(packed(parts, events, place)), watermark)
    store.commit()
    return rows


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
def test_what_waits_survives_batches_crashes_and_other_workers(seed: int) -> None:
    rng = random.Random(seed)
    plans = compiled(JOB)
    events = {"Trans": trans(400, seed), "Login": logins(120, seed)}
    pieces = {
        "Trans": cut(shuffled(events["Trans"], "ts", 9 * SECOND, seed), 12, seed),
        "Login": cut(shuffled(events["Login"], "at", 9 * SECOND, seed), 12, seed + 1),
    }
    batches: list[dict[str, pa.Table]] = []
    for i in range(12):
        batches.append({name: pieces[name][i] for name in pieces})
        if rng.random() < 0.7:
            batches.append({})  # Spark runs a batch without data when the watermark has moved
    parts = made(plans, rng.choice([1, 2, 3]))
    store = Store()
    workers: list[dict[Any, Any]] = [{}, {}, {}]
    rows: list[dict[str, Any]] = []
    end = watermark_of(batches)
    assert end is not None
    marks = [*(watermark_of(batches[:number]) for number in range(len(batches))), end]
    for batch, watermark in zip([*batches, {}], marks, strict=True):
        while True:
            cache._ENGINES = rng.choice(workers) if rng.random() < 0.8 else {}
            result = run_batch(Matcher(parts, "job", hosted=False), store, list(packed(parts, batch, place)), watermark)
            if rng.random() < 0.7:
                break
            store.roll_back()
        store.commit()
        rows += result
    assert sum(row["late"] for row in rows) == 0
    bag = [plan for plan in plans if not plan.distinct]
    for plan in bag:
        got = Counter(match["id"] for match in matches(rows, plans) if match["pattern"] == plan.pattern)
        assert got == ids(settled([plan], events, end)), plan.pattern
    for plan in (plan for plan in plans if plan.distinct):
        found = {match["fields"] for match in matches(rows, plans) if match["pattern"] == plan.pattern}
        assert found == tuples(settled([plan], events, end)), plan.pattern


def replayed(plan: Any, batches: Sequence[Mapping[str, pa.Table]], marks: Sequence[int | None], *, cold: bool) -> Any:
    """What each batch puts out, the engine kept or built anew from the log each time; and the entries it leaves."""
    parts, store = made([plan], 1), Store()
    cache._ENGINES = {}
    found, entries = [], 0
    for batch, watermark in zip(batches, marks, strict=True):
        if cold:
            cache._ENGINES = {}
        rows = run(Matcher(parts, "job", hosted=False), parts, store, batch, watermark)
        found.append(Counter((match["id"], match["fields"]) for match in matches(rows, [plan])))
        entries = max([entries, *(row["entries"] for row in rows)])
    return found, entries


@pytest.mark.parametrize("pattern", ALL, ids=lambda text: text.split()[1])
def test_an_engine_that_is_built_from_the_log_puts_out_what_one_that_was_kept_does(pattern: str) -> None:
    (plan,) = compiled(STREAMS + pattern)
    pieces = {
        "Trans": in_pieces(shuffled(trans(360, 5, accounts=4), "ts", 9 * SECOND, 5), 60),
        "Login": in_pieces(shuffled(logins(120, 5, accounts=4), "at", 9 * SECOND, 5), 60),
    }
    batches = [{name: pieces[name][i] for name in pieces} for i in range(60)]
    marks = [watermark_of(batches[:number]) for number in range(60)]
    kept, entries = replayed(plan, batches, marks, cold=False)
    assert replayed(plan, batches, marks, cold=True) == (kept, entries)
    assert sum(map(len, kept)) > 0
    assert entries < 40, "the log does not grow for ever"


def at(seconds: float, account: str = "A0") -> dict[str, pa.Table]:
    return {
        "Trans": pa.table(
            {
                "ts": pa.array([START + int(seconds * SECOND)], pa.timestamp("us", "UTC")),
                "acc": [account],
                "amnt": [400.0],
            }
        )
    }


def login(seconds: float) -> dict[str, pa.Table]:
    times = pa.array([START + int(seconds * SECOND)], pa.timestamp("us", "UTC"))
    return {"Login": pa.table({"at": times, "user": ["A0"], "ok": [True], "tries": pa.array([1], pa.int64())})}


def test_events_are_logged_for_as_long_as_what_waits_may_ask_about_them() -> None:
    # AND(Trans a, NOT Login b) WITHIN 5 SECONDS: whether the login at 0 forbids the event at 4 is asked at 9.
    (plan,) = compiled(STREAMS + BOTH)
    batches = [login(0), at(4), at(20, "A1"), {}]
    marks = [None, START, START + 8 * SECOND, START + 10 * SECOND]
    found, _ = replayed(plan, batches, marks, cold=True)
    assert [sum(each.values()) for each in found] == [0, 0, 0, 0]


def test_a_tuple_that_was_put_out_is_remembered_by_what_waits() -> None:
    # Alive from 0 to 7, and so it is when the event at 5 begins, which is known at 11.
    (plan,) = compiled(STREAMS + ONCE)
    both = pa.concat_tables([at(0)["Trans"], at(1)["Trans"]])
    batches = [{"Trans": both}, at(5), {}, at(30, "A1"), {}]
    marks = [None, START, START + 8 * SECOND, START + 10 * SECOND, START + 12 * SECOND]
    for cold in (False, True):
        found, _ = replayed(plan, batches, marks, cold=cold)
        assert [sum(each.values()) for each in found] == [0, 0, 1, 0, 0]


def test_a_promise_about_silent_streams_is_refused_where_the_source_cannot_keep_it(tmp_path: Path) -> None:
    plain, waiting = compiled(STREAMS + PLAIN + TRAILING, "Plain", "Trailing")
    job = Job(
        inputs={name: str(tmp_path) for name in ("Trans", "Login")}, out=str(tmp_path / "out"), checkpoint=str(tmp_path)
    )

    def promised(plan: Any) -> Any:
        return replace(plan, streams=tuple(replace(stream, idle_after=SECOND) for stream in plan.streams))

    topics = replace(job, inputs=dict.fromkeys(job.inputs, "kafka:t"), bootstrap="127.0.0.1:1", kafka_source="jvm")
    with pytest.raises(JobError, match=r"--kafka-source jvm: stream .* Use --kafka-source python"):
        prepare(topics, [promised(waiting)])
    assert set(kept(topics, [promised(waiting)]).values()) == {SECOND}
    assert set(kept(job, [promised(waiting)]).values()) == {None}, "of files nobody knows when the next one comes"
    assert kept(topics, [promised(plain)]) == {}, "nobody waits"
    prepare(job, [promised(plain), waiting])


def timers(store: Store) -> list[int]:
    (state,) = store.kept.values()
    return sorted(state["timers"])


def test_the_timer_of_a_slot_is_at_what_is_due_next_to_the_millisecond() -> None:
    (plan,) = compiled(STREAMS + TRAILING)
    parts, store = made([plan], 1), Store()
    cache._ENGINES = {}
    matcher = Matcher(parts, "job", hosted=False)
    run(matcher, parts, store, {"Trans": at(0)["Trans"], **login(20)}, None)
    due = START // 1000 + 15_000 + 1  # a microsecond after the window, in whole milliseconds
    assert timers(store) == [due - 1, due], "Spark fires them when the watermark is there, or after it"
    assert run(matcher, parts, store, {}, (due - 1) * 1000) == []
    (match, stats) = run(matcher, parts, store, {}, due * 1000)
    assert match["matches"] == 1
    assert (stats["waiting"], stats["due"]) == (0, None)
    assert len(timers(store)) == 1
    assert run(matcher, parts, store, {}, due * 1000 + SECOND) == [], "nothing waits any more"
    assert [sorted(state["log"]) for state in store.kept.values()] == [[(0,), (1,)]]


def test_a_batch_of_late_events_settles_what_is_due() -> None:
    (plan,) = compiled(STREAMS + TRAILING)
    parts, store = made([plan], 1), Store()
    cache._ENGINES = {}
    matcher = Matcher(parts, "job", hosted=False)
    run(matcher, parts, store, at(0), None)
    rows = run(matcher, parts, store, login(3), START + 20 * SECOND)
    assert sum(row["matches"] for row in rows) == 1
    assert sum(row["late"] for row in rows) == 1
    assert sum(row["matches"] for row in run(matcher, parts, store, at(40), START + 30 * SECOND)) == 0

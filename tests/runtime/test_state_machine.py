"""Any order of pushes, corrections, watermarks, snapshots and questions: after each, the engine is what DuckDB says.

Hypothesis draws the history and shrinks it. The model is a list of the events that are in; the invariants of every
structure are checked after every step, and compaction is made to happen all the time.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import runtime.compaction
from cep.compiler.pipeline import compile_source
from cep.source import Source
from runtime import BatchError, Engine, reference
from tests.oracle.sql import Database
from tests.runtime.support import SECOND, batch, fields, ids, push, rows_of

STREAM = "STREAM T (ts TIMESTAMP, k INT, x INT) TIMESTAMP BY ts;"
TEXTS = {
    "chain": "SEQ(T a, T b, T c) PARTITION BY k WITHIN 4 SECONDS",
    "roles": "SEQ(T a, T b) WHERE a.x = 0 AND b.x > 0 PARTITION BY k WITHIN 3 SECONDS",
    "band": "AND(T a, T b) WHERE a.k = b.k AND b.ts >= a.ts AND b.ts < a.ts + 2 SECONDS UNBOUNDED",
    "values": "AND(T a, T b) WHERE a.k = b.k AND a.x < b.x WITHIN 4 SECONDS",
    "nested": "SEQ(T a, AND(T b, T c)) WHERE a.k = b.k AND b.x < c.x WITHIN 5 SECONDS",
    "path": "AND(T a, T b, T c) WHERE a.k = b.k AND b.x = c.x WITHIN 3 SECONDS",
    "cyclic": "AND(T a, T b, T c) WHERE a.k = b.x AND b.k = c.x AND c.k = a.x UNBOUNDED",
    "tuples": "SEQ(T a, T b) WHERE a.k = b.k UNBOUNDED RETURN DISTINCT b.k AS k, b.x AS x",
    "tuples alive": "SEQ(T a, T b) WHERE a.k = b.k WITHIN 3 SECONDS RETURN DISTINCT a.k AS k, b.x AS x",
    "tuples of three": "SEQ(T a, T b, T c) WHERE a.k = b.k UNBOUNDED RETURN DISTINCT a.ts AS t, b.x AS x, c.k AS k",
    "tuples mixed": "AND(T a, T b) WHERE a.k = b.k WITHIN 3 SECONDS RETURN DISTINCT a.ts AS t, b.x AS x",
    "tuples whole": "SEQ(T a, T b) WHERE a.k = b.k WITHIN 3 SECONDS "
    "RETURN DISTINCT a.k AS k, a.ts AS t, a.x AS x, b.ts AS u, b.x AS y",
}
PATTERNS = {name: compile_source(Source("test.cep", f"{STREAM} PATTERN P {text};")) for name, text in TEXTS.items()}
DATABASE = Database()

# Times advance slowly: many ties, some late, the whole history a few windows long.
EVENTS = st.builds(
    lambda t, k, x: {"ts": t * SECOND // 2, "k": k, "x": x}, st.integers(0, 24), st.integers(0, 1), st.integers(0, 2)
)
Row = dict[str, Any]


class History(RuleBasedStateMachine):
    """`alive` are the events pushed in time and not deleted, `out` everything that was put out."""

    def __init__(self) -> None:
        super().__init__()
        self.before = runtime.compaction.ROWS, runtime.compaction.KEYS
        runtime.compaction.ROWS, runtime.compaction.KEYS = 3, 6

    def teardown(self) -> None:
        runtime.compaction.ROWS, runtime.compaction.KEYS = self.before

    @initialize(name=st.sampled_from(sorted(TEXTS)))
    def start(self, name: str) -> None:
        self.pattern, self.plan = PATTERNS[name].patterns[0], PATTERNS[name].plans[0]
        self.engine = Engine(self.plan, chunk=5)
        self.alive: list[Row] = []
        self.out: list[Row] = []
        self.events = self.late = 0
        self.watermark: int | None = None
        self.deleted = False
        self.log: list[tuple[dict[str, Any], int | None]] = []
        self.known: dict[tuple[Any, ...], Counter[tuple[Any, ...]]] = {}

    def expected(self, events: list[Row]) -> Counter[tuple[Any, ...]]:
        """What both oracles say, asked once for as long as the events stay what they are."""
        key = tuple(sorted((row["ts"], row["k"], row["x"]) for row in events))
        if key not in self.known:
            want = Counter(reference.matches(self.pattern, {"T": events}))
            if sum(want.values()) < 40:  # both, while it is cheap
                assert want == Counter(DATABASE.matches(self.pattern, {"T": events}))
            self.known[key] = want
        return self.known[key]

    def in_time(self, rows: list[Row]) -> list[Row]:
        return [row for row in rows if self.watermark is None or row["ts"] >= self.watermark]

    def advance(self, watermark: int | None) -> None:
        if watermark is not None:
            self.watermark = watermark if self.watermark is None else max(watermark, self.watermark)

    @rule(rows=st.lists(EVENTS, max_size=6), behind=st.none() | st.integers(0, 6))
    def push(self, rows: list[Row], behind: int | None) -> None:
        newest = max((row["ts"] for row in rows), default=None)
        watermark = None if behind is None or newest is None else newest - behind * SECOND // 2
        kept = self.in_time(rows)
        self.out += push(self.engine, rows, watermark)
        self.log.append(({"T": batch(self.plan, "T", rows, None)}, watermark))
        self.alive += kept
        self.events += len(rows)
        self.late += len(rows) - len(kept)
        self.advance(watermark)

    @rule(time=st.integers(0, 26))
    def only_time(self, time: int) -> None:
        assert rows_of(self.engine.push({}, time * SECOND // 2).read_all()) == []
        self.log.append(({}, time * SECOND // 2))
        self.advance(time * SECOND // 2)

    @precondition(lambda self: getattr(self, "alive", None))
    @rule(data=st.data(), rows=st.lists(EVENTS, max_size=3))
    def correct(self, data: st.DataObject, rows: list[Row]) -> None:
        places = data.draw(st.lists(st.integers(0, len(self.alive) - 1), max_size=4, unique=True))
        gone = [self.alive[i] for i in places]
        signed = data.draw(st.permutations([(row, -1) for row in gone] + [(row, 1) for row in rows]))
        changed, signs = [row for row, _ in signed], [sign for _, sign in signed]
        in_time = self.in_time(gone)
        self.out += push(self.engine, changed, signs=signs)
        self.log.append(({"T": batch(self.plan, "T", changed, signs)}, None))
        for row in in_time:
            self.alive.remove(row)
        kept = self.in_time(rows)
        self.alive += kept
        self.events += len(signed)
        self.late += len(signed) - len(in_time) - len(kept)
        self.deleted |= bool(in_time)

    @rule(row=EVENTS)
    def delete_what_is_not_there(self, row: Row) -> None:
        row = {**row, "ts": row["ts"] + 1, "k": row["k"] + 7, "x": row["x"]}
        if not self.in_time([row]):
            return
        stored = any(leaf.filter and _rejects(self.plan, leaf.var, row) is False for leaf in self.plan.leaves)
        before = self.engine.snapshot(), self.engine.stats()
        if stored:
            with pytest.raises(BatchError, match="not there"):
                push(self.engine, [row], signs=[-1])
            assert (self.engine.snapshot(), self.engine.stats()) == before
        else:
            assert push(self.engine, [row], signs=[-1]) == []
            self.log.append(({"T": batch(self.plan, "T", [row], [-1])}, None))
            self.events += 1

    @rule()
    def restore(self) -> None:
        before = self.engine.stats()
        self.engine = Engine.restore(self.plan, self.engine.snapshot())
        after = self.engine.stats()
        for name in ("events", "matches", "late", "expired", "watermark", "tuples", "distinct"):
            assert before[name] == after[name], name

    @rule()
    def load(self) -> None:
        """As after a crash: a new engine is filled from the log, and goes on where the old one was."""
        before = self.engine.stats()
        self.engine = Engine(self.plan, chunk=5)
        for events, watermark in self.log:
            self.engine.load(events, watermark)
        after = self.engine.stats()
        for name in ("events", "late", "expired", "watermark"):
            assert before[name] == after[name], name

    @rule()
    def ask(self) -> None:
        ended = self.watermark is not None and self.plan.window is not None
        current = [row for row in self.alive if not ended or row["ts"] >= self.watermark - self.plan.window]
        want = self.expected(current)
        found = rows_of(self.engine.enumerate().read_all())
        assert fields(found) == want
        assert self.engine.count() == want.total()
        names = [field.name for field in self.plan.fields]
        for row in list(want)[:2]:
            assert self.engine.contains(dict(zip(names, row, strict=True)))
            other = (row[0], *(-1 for _ in row[1:]))
            assert self.engine.contains(dict(zip(names, other, strict=True))) == (other in want)
        if not self.plan.merges:
            given = ids(self.out)
            assert all(given[row["_id"]] == 1 for row in found), "what can be enumerated was put out"

    @invariant()
    def sound(self) -> None:
        if not hasattr(self, "engine"):
            return
        self.engine._check()
        stats = self.engine.stats()
        assert (stats["events"], stats["late"]) == (self.events, self.late)
        net = fields(self.out)
        want = self.expected(self.alive)
        if self.plan.merges and self.plan.window is not None:
            assert set(net) == set(want), "a tuple may be put out again once it was dead"
            return
        assert net == want
        assert set(ids(self.out).values()) <= {1}


def _rejects(plan: Any, var: str, row: Row) -> bool:
    from runtime.reference import evaluate

    return not all(evaluate(condition, {var: row}) is True for condition in plan.leaf(var).filter)


class LongHistory(History):
    """The same for longer."""


USUAL = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
History.TestCase.settings = settings(USUAL, max_examples=80, stateful_step_count=14)
LongHistory.TestCase.settings = settings(USUAL, max_examples=1500, stateful_step_count=20)
TestHistory = History.TestCase
TestLongHistory = pytest.mark.slow(LongHistory.TestCase)

"""Alternatives of every shape against DuckDB on all events at once: circles, streams without time, types, NULLs.

Push by push, with restored engines in between; `tests.oracle.either` draws chains and gaps, and these are the rest.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from cep.compiler.pipeline import compile_source
from cep.source import Source
from runtime import Engine
from tests.oracle.sql import Database
from tests.runtime.support import SECOND, current, fields, push, rows_of

COLUMNS = "k INT, x INT, s STRING, d DOUBLE, f BOOLEAN"
STREAMS = "\n".join(
    [f"STREAM {name} (ts TIMESTAMP, {COLUMNS}) TIMESTAMP BY ts;" for name in "ABC"]
    + [f"STREAM {name} ({COLUMNS});" for name in "NM"]
)
BY_K = "PARTITION BY k WITHIN 1 HOUR"
SHAPES = {
    "a circle": """AND(A a, B b, OR(C c, A e))
      WHERE a.k = b.k AND b.x = c.x AND c.s = a.s AND b.x = e.x AND e.s = a.s WITHIN 1 HOUR
      RETURN a.x AS a, c.k AS c, e.k AS e""",
    "no times": """AND(N a, OR(M b, N c)) WHERE a.k = b.k AND a.x < c.x UNBOUNDED
      RETURN a.x AS a, b.x AS b, c.s AS c""",
    "times in one of them": """AND(N a, OR(M b, A c)) WHERE a.k = b.k AND a.k = c.k UNBOUNDED
      RETURN a.x AS a, b.x AS b, c.ts AS c""",
    "one event without a time": "OR(N a, SEQ(A b, B c)) WHERE b.k = c.k UNBOUNDED RETURN a.x AS a, b.x AS b, c.ts AS c",
    "tuples without a time": "OR(N a, SEQ(A b, B c)) WHERE b.k = c.k UNBOUNDED RETURN DISTINCT a.x AS a, b.x AS b",
    "tuples of one event": "OR(N a, M a) RETURN DISTINCT a.x AS a, a.s AS s",
    "tuples with their stream": "OR(A a, B a) RETURN DISTINCT a.x AS a, STREAM_OF(a) AS s",
    "tuples of all types": f"""SEQ(A a, OR(B b, C c)) {BY_K}
      RETURN DISTINCT b.ts AS t, b.s AS s, b.d AS d, c.f AS f, c.ts - a.ts AS g""",
    "tuples of an optional event": f"""SEQ(A a, B? b, C c) {BY_K}
      RETURN DISTINCT b.ts AS t, b.s AS s, b.d AS d, b.f AS f, b.ts - a.ts AS g, STREAM_OF(b) AS z""",
    "fields of all types": f"""SEQ(A a, OR(B b, C c)) {BY_K}
      RETURN b.ts AS t, b.s AS s, b.d AS d, c.f AS f, c.ts - a.ts AS g, COALESCE(b.s, c.s, 'x') AS h, b.x + c.x AS i""",
    "what only has to exist": """AND(A a, OR(B b, AND(C c, B e)))
      WHERE a.k = b.k AND a.k = c.k AND c.x = e.x AND a.x < b.x UNBOUNDED RETURN DISTINCT a.s AS s""",
    "three choices": f"""SEQ(OR(A a, NOT B m), B? b, OR(C c, SEQ(A d, B e))) {BY_K}
      RETURN a.x AS a, b.x AS b, c.x AS c, d.x AS d, e.x AS e""",
    "a gap of what another binds": f"OR(AND(A a, NOT B b), SEQ(A a, B b)) {BY_K} RETURN a.x AS a, b.x AS b",
}
DATABASE = Database()


def events(rng: Random) -> list[tuple[str, dict[str, Any]]]:
    return [
        (
            rng.choice("ABCNM"),
            {
                "ts": i * SECOND,
                "k": rng.choice((1, 1, 2, None)),
                "x": rng.randint(0, 2),
                "s": rng.choice(("a", "bb", None)),
                "d": rng.choice((0.5, 1.5)),
                "f": rng.choice((True, None)),
            },
        )
        for i in range(26)
    ]


@pytest.mark.parametrize("name", SHAPES)
def test_the_matches_are_those_of_the_union(name: str) -> None:
    result = compile_source(Source("p.cep", f"{STREAMS} PATTERN P {SHAPES[name]};"))
    (pattern,), (plan,) = result.patterns, result.plans
    total = 0
    for seed in range(4):
        stream = events(Random(seed))
        engine, told = Engine(plan), []
        for first in range(0, len(stream), 5):
            part = [(s, row) for s, row in stream[first : first + 5] if any(s == each.name for each in plan.streams)]
            told += push(engine, {s: [row for other, row in part if other == s] for s, _ in part})
            engine = Engine.restore(plan, engine.snapshot())
            engine._check()
        got = fields(told)
        if not plan.waits:
            assert current(engine) == (Counter(set(got)) if plan.distinct else got)
        got = fields([*told, *rows_of(engine.finish().read_all())])
        want = Counter(DATABASE.matches(pattern, {s: [row for other, row in stream if other == s] for s in "ABCNM"}))
        assert (Counter(set(got)) if plan.distinct else got) == want, seed
        total += want.total()
    assert total > 2

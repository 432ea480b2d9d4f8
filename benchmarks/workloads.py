"""The workloads: patterns, seeded data, and the same meaning as SQL.

W1 is card testing (small, small, large on one account within an hour; all combinations). Q1 to Q12 are the queries of
Idris's thesis, in *time order*: values that are compared grow with arrival, as in its temporally ordered streams, or
in random order. Data is a function of its parameters: every engine gets the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

SECOND = 1_000_000

CARD_TESTING = """
STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE) TIMESTAMP BY ts WATERMARK 10 SECONDS;
PATTERN W1
  SEQ(Trans s1, Trans s2, Trans l)
  WHERE s1.acc = s2.acc AND s2.acc = l.acc AND s1.amnt < 100 AND s2.amnt < 100 AND l.amnt > 400
  WITHIN {window}
  RETURN l.acc AS acc, s1.ts AS first_ts, s2.ts AS second_ts, l.ts AS last_ts, l.amnt AS amount;
"""
CARD_TESTING_SQL = """
SELECT l.acc, s1.ts AS first_ts, s2.ts AS second_ts, l.ts AS last_ts, l.amnt FROM Trans s1, Trans s2, Trans l
WHERE s1.acc = s2.acc AND s2.acc = l.acc AND s1.amnt < 100 AND s2.amnt < 100 AND l.amnt > 400
  AND s1.ts < s2.ts AND s2.ts < l.ts AND l.ts <= s1.ts + INTERVAL {seconds} SECONDS
"""

_RELATIONS = """
STREAM R (a INT, b INT, c STRING, k INT);
STREAM S (d INT, e INT, f INT, k INT);
STREAM T (g INT, h INT, i STRING, k INT);
"""
_COLUMNS = {"R": ("a", "b", "c", "k"), "S": ("d", "e", "f", "k"), "T": ("g", "h", "i", "k")}


@dataclass(frozen=True, slots=True)
class Workload:
    """One comparison: a pattern, its data by stream, and the SQL that means the same."""

    name: str
    pattern: str
    sql: str
    data: Callable[[], dict[str, pa.Table]]
    batch: int | None = 65_536

    @property
    def events(self) -> int:
        """How many events the data has."""
        return sum(table.num_rows for table in self.data().values())


def transactions(events: int, accounts: int, *, seed: int = 7, disorder: float = 0.0) -> dict[str, pa.Table]:
    """One transaction a second: 88 % between 100 and 400, 10 % below, 2 % above.

    `disorder` is the share of events that arrive up to ten seconds late.
    """
    random = np.random.default_rng(seed)
    draw = random.random(events)
    amounts = np.where(
        draw < 0.88,
        random.uniform(100, 400, events),
        np.where(draw < 0.98, random.uniform(1, 100, events), random.uniform(400.01, 1000, events)),
    )
    names = pa.array([f"acc{i:07d}" for i in range(accounts)])
    times = np.arange(events, dtype=np.int64) * SECOND
    table = pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "acc": names.take(pa.array(random.integers(0, accounts, events))),
            "amnt": amounts,
        }
    )
    if disorder:
        arrival = np.arange(events) + np.where(random.random(events) < disorder, random.uniform(0, 10, events), 0)
        table = table.take(pa.array(np.argsort(arrival, kind="stable")))
    return {"Trans": table.combine_chunks()}


def relations(events: int, names: str, *, ordered: bool = True, seed: int = 7) -> dict[str, pa.Table]:
    """Equal shares of the thesis's relations, randomly interleaved; the first attribute of each is compared."""
    random = np.random.default_rng(seed)
    which = random.permutation(np.arange(events) % len(names))
    values = np.arange(events) if ordered else random.permutation(events)
    tables = {}
    for place, name in enumerate(names):
        at = np.flatnonzero(which == place)
        columns: dict[str, object] = {}
        for attribute in _COLUMNS[name]:
            if attribute == _COLUMNS[name][0]:
                columns[attribute] = values[at]
            elif attribute in ("c", "i"):
                columns[attribute] = [f"text{n}" for n in random.integers(0, 1000, len(at))]
            elif attribute == "k":
                columns[attribute] = random.integers(1, 201, len(at))
            else:
                columns[attribute] = random.integers(0, 1_000_000, len(at))
        columns["_arrival"] = at
        tables[name] = pa.table(columns)
    return tables


_THESIS = {
    # name: (relations, conditions, output columns or None for all, DISTINCT)
    "Q1": ("RS", "r.a < s.d", None),
    "Q2": ("RS", "r.a < s.d AND r.k = s.k", None),
    "Q3": ("RST", "r.a < s.d AND s.e < t.g", None),
    "Q4": ("RST", "r.a < s.d AND s.d < t.g", None),
    "Q5": ("RST", "r.a < s.d AND s.d < t.g AND r.k = s.k", None),
    "Q6": ("RST", "r.a < s.d AND s.d < t.g AND s.k = t.k", None),
    "Q7": ("RST", "r.a < s.d AND s.d < t.g", "r.a r.b s.d s.e s.f t.g t.h"),
    "Q8": ("RST", "r.a < s.d AND s.d < t.g AND r.k = s.k", "r.a s.d s.e s.f t.g t.h s.k"),
    "Q9": ("RST", "r.a < s.d AND s.d < t.g AND s.k = t.k", "s.d s.e s.f t.g t.h s.k"),
    "Q10": ("RST", "r.a < s.d AND s.d < t.g", "r.b r.c s.e s.f t.h t.i"),
    "Q11": ("RST", "r.a < s.d AND s.d < t.g AND r.k = s.k", "r.b r.c s.e s.f t.h t.i"),
    "Q12": ("RST", "r.a < s.d AND s.d < t.g AND s.k = t.k", "r.b r.c s.e s.f t.h t.i"),
}


def thesis(name: str, events: int, *, ordered: bool = True) -> Workload:
    """A query of the thesis over streams of `events` in all."""
    names, conditions, columns = _THESIS[name]
    keyed = "k" in conditions
    chosen = (
        columns.split()
        if columns
        else [
            f"{n.lower()}.{c}"
            for n in names
            for c in _COLUMNS[n]
            if c != "k" or (keyed and f"{n.lower()}.k" in conditions)
        ]
    )
    distinct = "DISTINCT " if columns else ""
    fields = ", ".join(f"{c} AS {c.replace('.', '_')}" for c in chosen)
    variables = ", ".join(f"{n} {n.lower()}" for n in names)
    return Workload(
        name=name + ("" if ordered else " random order"),
        pattern=f"{_RELATIONS}PATTERN {name} AND({variables}) WHERE {conditions} UNBOUNDED RETURN {distinct}{fields};",
        sql=f"SELECT {distinct}{fields} FROM {variables} WHERE {conditions}",
        data=lambda: relations(events, names, ordered=ordered),
        batch=None,
    )


def card_testing(
    name: str, events: int, accounts: int, *, seconds: int = 3600, disorder: float = 0.0, batch: int = 65_536
) -> Workload:
    """W1 with its parameters."""
    return Workload(
        name=name,
        pattern=CARD_TESTING.format(window=f"{seconds} SECONDS"),
        sql=CARD_TESTING_SQL.format(seconds=seconds),
        data=lambda: transactions(events, accounts, disorder=disorder),
        batch=batch,
    )


ENGINE = (
    card_testing("W1 sparse", 1_000_000, 1_000),
    card_testing("W1 dense", 200_000, 10),
    thesis("Q1", 12_000),
    thesis("Q2", 12_000),
    thesis("Q4", 2_700),
    thesis("Q5", 21_000),
)
"""What `benchmarks.engine` runs."""

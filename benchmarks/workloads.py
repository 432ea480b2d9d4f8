"""The workloads: patterns, seeded data, and the same meaning as SQL.

W1 is card testing (small, small, large on one account within an hour; all combinations), with relatives: amounts that
rise, five steps, four streams in any order. Q1 to Q12 are the queries of Idris's thesis, in *time order*: values that
are compared grow with arrival, as in its temporally ordered streams, or in random order. Data is a function of its
parameters: every engine gets the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SECOND = 1_000_000

_TRANS = """
STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE) TIMESTAMP BY ts WATERMARK 10 SECONDS;
"""
CARD_TESTING = (
    _TRANS
    + """PATTERN W1
  SEQ(Trans s1, Trans s2, Trans l)
  WHERE s1.acc = s2.acc AND s2.acc = l.acc AND s1.amnt < 100 AND s2.amnt < 100 AND l.amnt > 400
  WITHIN {window}
  RETURN l.acc AS acc, s1.ts AS first_ts, s2.ts AS second_ts, l.ts AS last_ts, l.amnt AS amount;
"""
)
CARD_TESTING_SQL = """
SELECT l.acc, s1.ts AS first_ts, s2.ts AS second_ts, l.ts AS last_ts, l.amnt FROM Trans s1, Trans s2, Trans l
WHERE s1.acc = s2.acc AND s2.acc = l.acc AND s1.amnt < 100 AND s2.amnt < 100 AND l.amnt > 400
  AND s1.ts < s2.ts AND s2.ts < l.ts AND l.ts <= s1.ts + INTERVAL {seconds} SECONDS
  AND s2.ts <= s1.ts + INTERVAL {seconds} SECONDS AND l.ts <= s2.ts + INTERVAL {seconds} SECONDS
"""

_RELATIONS = """
STREAM R (a INT, b INT, c STRING, k INT);
STREAM S (d INT, e INT, f INT, k INT);
STREAM T (g INT, h INT, i STRING, k INT);
"""
_COLUMNS = {"R": ("a", "b", "c", "k"), "S": ("d", "e", "f", "k"), "T": ("g", "h", "i", "k")}


@dataclass(frozen=True, slots=True)
class Workload:
    """One comparison: a pattern, its data by stream, and the SQL that means the same.

    Events arrive in the order of the column `_arrival`, or of the rows where there is none. `batch` is how many are
    pushed at once (None: all), `lateness` how many microseconds an event may be older than one before it, `check` the
    output column that listeners add up.
    """

    name: str
    pattern: str
    sql: str
    data: Callable[[], dict[str, pa.Table]]
    batch: int | None = 65_536
    lateness: int = 0
    check: str | None = None

    @property
    def events(self) -> int:
        """How many events the data has."""
        return sum(table.num_rows for table in self.data().values())

    def pushes(self, data: dict[str, pa.Table]) -> list[tuple[dict[str, pa.Table], int | None]]:
        """What an engine is given, in order: batches by stream, each with the watermark that it allows."""
        if self.batch is None:
            return [(data, None)]
        events = sum(table.num_rows for table in data.values())
        cuts = [*range(0, events, self.batch), events]
        starts = [prefix_lengths(data, cut) for cut in cuts]
        result: list[tuple[dict[str, pa.Table], int | None]] = []
        latest: int | None = None
        for begin, end in pairwise(starts):
            batch = {name: table.slice(begin[name], end[name] - begin[name]) for name, table in data.items()}
            times = [pc.max(t["ts"]).value for t in batch.values() if "ts" in t.column_names and t.num_rows]
            latest = max([*times, latest or 0]) if times else latest
            result.append((batch, None if latest is None else latest - self.lateness))
        return result


def prefix_lengths(data: dict[str, pa.Table], count: int) -> dict[str, int]:
    """How many rows of each stream are among the first `count` events."""
    return {
        name: int(np.searchsorted(table["_arrival"].to_numpy(), count))
        if "_arrival" in table.column_names
        else min(count, table.num_rows)
        for name, table in data.items()
    }


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
    """Equal shares of the thesis's relations, randomly interleaved; the first attributes, and e, are compared."""
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
            elif attribute == "e":  # Q3 compares it with T's first
                columns[attribute] = values[at] if ordered else random.integers(0, events, len(at))
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


def thesis(name: str, events: int, *, ordered: bool = True, batch: int | None = None) -> Workload:
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
        batch=batch,
        check="s_e",
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
        lateness=10 * SECOND if disorder else 0,
        check="first_ts",
    )


def steps(
    name: str, variables: str, conditions: str, events: int, accounts: int, *, seconds: int, batch: int = 65_536
) -> Workload:
    """A SEQ of transactions on one account."""
    chosen = variables.split()
    same = " AND ".join(f"{a}.acc = {b}.acc" for a, b in pairwise(chosen))
    order = " AND ".join(f"{a}.ts < {b}.ts" for a, b in pairwise(chosen))
    # Said of every pair, although first and last would do: a planner that joins pairs is then able to use it.
    near = " AND ".join(f"{b}.ts <= {a}.ts + INTERVAL {seconds} SECONDS" for a, b in combinations(chosen, 2))
    fields = ", ".join([f"{chosen[0]}.acc AS acc", *(f"{v}.ts AS {v}_ts" for v in chosen)])
    tables = ", ".join(f"Trans {v}" for v in chosen)
    return Workload(
        name=name,
        pattern=f"{_TRANS}PATTERN Steps SEQ({tables}) WHERE {same} AND {conditions} "
        f"WITHIN {seconds} SECONDS RETURN {fields};",
        sql=f"SELECT {fields} FROM {tables} WHERE {same} AND {conditions} AND {order} AND {near}",
        data=lambda: transactions(events, accounts),
        batch=batch,
        check=f"{chosen[0]}_ts",
    )


RISING = ("a b c", "a.amnt < b.amnt AND b.amnt < c.amnt")
"""Variables and conditions of a value inequality for each account."""
FIVE_STEPS = (
    "s1 s2 s3 s4 l",
    "s1.amnt < 100 AND s2.amnt < 100 AND s3.amnt < 100 AND s4.amnt < 100 AND l.amnt > 400",
)
"""Variables and conditions of a SEQ of five."""


def four_streams(name: str, events: int, keys: int, *, seconds: int, batch: int = 65_536) -> Workload:
    """An AND of four streams on one key: all of them within a window, in any order."""
    streams = "ABCD"
    variables = [s.lower() for s in streams]
    same = " AND ".join(f"{x}.k = {y}.k" for x, y in pairwise(variables))
    fields = ", ".join(["a.k AS k", *(f"{v}.ts AS {v}_ts" for v in variables)])
    tables = ", ".join(f"{s} {s.lower()}" for s in streams)
    declared = "\n".join(f"STREAM {s} (ts TIMESTAMP, k INT, x INT) TIMESTAMP BY ts;" for s in streams)
    near = " AND ".join(f"{y}.ts <= {x}.ts + INTERVAL {seconds} SECONDS" for x, y in permutations(variables, 2))

    def data() -> dict[str, pa.Table]:
        random = np.random.default_rng(7)
        which = random.permutation(np.arange(events) % len(streams))
        tables = {}
        for place, stream in enumerate(streams):
            at = np.flatnonzero(which == place)
            tables[stream] = pa.table(
                {
                    "ts": pa.array(at * SECOND, pa.timestamp("us", tz="UTC")),
                    "k": random.integers(0, keys, len(at)),
                    "x": random.integers(0, 1_000_000, len(at)),
                    "_arrival": at,
                }
            )
        return tables

    return Workload(
        name=name,
        pattern=f"{declared}\nPATTERN Four AND({tables}) WHERE {same} WITHIN {seconds} SECONDS RETURN {fields};",
        sql=f"SELECT {fields} FROM {tables} WHERE {same} AND {near}",
        data=data,
        batch=batch,
        check="a_ts",
    )


def projection(name: str, events: int, *, batch: int | None = None) -> Workload:
    """Which rows of S have a smaller R and a larger T of their key, in any order: a small part of a large join."""
    conditions = "r.a < s.d AND s.d < t.g AND s.k = t.k"
    return Workload(
        name=name,
        pattern=f"{_RELATIONS}PATTERN Projection AND(R r, S s, T t) WHERE {conditions} UNBOUNDED "
        "RETURN DISTINCT s.d AS s_d, s.e AS s_e, s.k AS s_k;",
        sql=f"SELECT DISTINCT s.d AS s_d, s.e AS s_e, s.k AS s_k FROM R r, S s, T t WHERE {conditions}",
        data=lambda: relations(events, "RST", ordered=False),
        batch=batch,
        check="s_e",
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

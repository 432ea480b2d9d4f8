"""The workloads, what each engine is given for them, and which of them are harder than which.

`suite(scale)` makes all of them, smaller where `scale` is below 1: for tests and first tries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.peers import queries
from benchmarks.workloads import (
    FIVE_STEPS,
    RISING,
    Workload,
    card_testing,
    four_streams,
    projection,
    steps,
    thesis,
)

ENGINES = (
    "cep",
    "cep-once",
    "duckdb",
    "duckdb-incremental",
    "esper",
    "esper-join",
    "flink-cep",
    "flink-sql",
    "siddhi",
    "spark-join",
)
OURS_AND_DUCKDB = ENGINES[:4]
"""They are given the workload itself: its pattern, or its SQL."""

SPARK_EQUALITY = "cannot express: a stream-stream join needs an equality on every stream"
WINDOWS = {"1 min": 60, "10 min": 600, "1 h": 3_600, "6 h": 21_600, "1 day": 86_400}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table.

    `after` is a workload that is part of this one or no harder: an engine that was stopped there is not run here.
    `group` names a curve of the plots and `size` the place on it.
    """

    workload: Workload
    queries: Mapping[str, str]
    marks: Mapping[str, str]
    after: str | None = None
    group: str | None = None
    size: float | None = None

    @property
    def name(self) -> str:
        """The workload's name."""
        return self.workload.name

    def mark(self, engine: str) -> str | None:
        """Why an engine is not run, or None where it is."""
        if engine in OURS_AND_DUCKDB or engine in self.queries:
            return None
        return self.marks[engine]


def suite(scale: float = 1.0) -> tuple[Entry, ...]:
    """Every workload, easy ones of a family before hard ones."""
    return (*_card_testing(scale), *_others(scale), *_thesis(scale))


def _sized(events: int, scale: float) -> int:
    return max(60, int(events * scale))


_SMALL_SMALL_LARGE = {"s1": "amnt < 100", "s2": "amnt < 100", "l": "amnt > 400"}
_CARD_FIELDS = {"acc": "l.acc", "first_ts": "s1.ts", "second_ts": "s2.ts", "last_ts": "l.ts", "amount": "l.amnt"}
_SEQUENCE_MARKS = {"flink-sql": queries.SQL_MATCH_RECOGNIZE}


def _card_testing(scale: float) -> tuple[Entry, ...]:
    def entry(
        name: str,
        events: int,
        accounts: int,
        after: str | None = None,
        *,
        seconds: int = 3600,
        group: str | None = None,
        size: float | None = None,
    ) -> Entry:
        count = _sized(events, scale)
        workload = card_testing(name, count, accounts, seconds=seconds, batch=min(65_536, count))
        asked = queries.sequence("s1 s2 l", _SMALL_SMALL_LARGE, "", seconds, _CARD_FIELDS, "card-testing")
        return Entry(workload, asked, _SEQUENCE_MARKS, after, group, size)

    few = entry("W1 200k, 1,000 accounts", 200_000, 1_000, group="matches")
    more = entry("W1 200k, 100 accounts", 200_000, 100, few.name, group="matches")
    dense = entry("W1 dense", 200_000, 10, more.name, group="matches")
    windows: list[Entry] = []
    for text, seconds in WINDOWS.items():
        before = windows[-1].name if windows else None
        name = f"W1 window {text}"
        windows.append(entry(name, 200_000, 20_000, before, seconds=seconds, group="window", size=seconds))
    count = _sized(200_000, scale)
    late = card_testing("W1 10 % disorder", count, 1_000, disorder=0.1, batch=min(65_536, count))
    asked = queries.sequence("s1 s2 l", _SMALL_SMALL_LARGE, "", 3600, _CARD_FIELDS, "card-testing")
    disorder = Entry(
        late,
        {
            "esper": queries.disordered_card_testing(_SMALL_SMALL_LARGE, 3600, _CARD_FIELDS),
            **{engine: asked[engine] for engine in ("flink-cep", "spark-join")},
        },
        _SEQUENCE_MARKS
        | {
            "esper-join": "not written: windows of Esper expire by arrival",
            "siddhi": "cannot express: order of arrival is its order; sorting is an extension",
        },
    )
    return (few, more, dense, entry("W1 sparse", 1_000_000, 1_000, few.name), *windows, disorder)


def _others(scale: float) -> tuple[Entry, ...]:
    events = _sized(200_000, scale)
    batch = min(65_536, events)

    def sequence(
        name: str, shape: tuple[str, str], filters: dict[str, str], between: str, accounts: int, flink: str
    ) -> Entry:
        workload = steps(name, *shape, events, accounts, seconds=3600, batch=batch)
        variables = shape[0].split()
        fields = {"acc": f"{variables[0]}.acc", **{f"{v}_ts": f"{v}.ts" for v in variables}}
        asked = queries.sequence(shape[0], filters, between, 3600, fields, flink)
        return Entry(workload, asked, _SEQUENCE_MARKS)

    small = dict.fromkeys(FIVE_STEPS[0].split()[:-1], "amnt < 100")
    four = four_streams("AND of 4 streams", events, 200, seconds=600, batch=batch)
    few = _sized(21_000, scale)
    return (
        sequence("Rising amounts", RISING, {}, RISING[1], 1_000, "rising"),
        sequence("SEQ of 5", FIVE_STEPS, small | {"l": "amnt > 400"}, "", 100, "five-steps"),
        Entry(
            four,
            queries.any_order("ABCD", 600),
            {
                "esper-join": queries.ONLY_ORDERED,
                "flink-cep": queries.ANY_ORDER + ", this would be 24 of them",
                "flink-sql": queries.SQL_MATCH_RECOGNIZE,
            },
        ),
        Entry(
            projection("Projection, DISTINCT", few, batch=max(1, few // 20)),
            {},
            {
                "esper": queries.DISTINCT + queries.AGAIN,
                "esper-join": queries.ONLY_ORDERED,
                "flink-cep": queries.ANY_ORDER + ", and no DISTINCT",
                "flink-sql": queries.SQL_MATCH_RECOGNIZE,
                "siddhi": queries.DISTINCT,
                "spark-join": SPARK_EQUALITY,
            },
        ),
    )


_SIZES = {"Q1": 12_000, "Q2": 12_000, "Q3": 2_700, "Q4": 2_700, "Q7": 2_700, "Q10": 2_700}
_SAME_JOIN = {"Q7": "Q4", "Q10": "Q4", "Q8": "Q5", "Q11": "Q5", "Q9": "Q6", "Q12": "Q6"}
_FEWER_MATCHES = {"Q3": "Q1", "Q4": "Q1", "Q5": "Q4", "Q6": "Q4"}


def _thesis(scale: float) -> tuple[Entry, ...]:
    def entry(query: str, *, ordered: bool = True, times: int = 1) -> Entry:
        events = _sized(_SIZES.get(query, 21_000) * times, scale)
        made = thesis(query, events, ordered=ordered, batch=max(1, events // 20))
        distinct = "DISTINCT" in made.sql
        asked = {} if distinct else queries.relations(made.sql, query, ordered=ordered)
        if query in _SAME_JOIN:
            easier: str | None = _SAME_JOIN[query] + ("" if ordered else " random order")
        else:
            easier = _FEWER_MATCHES.get(query) if ordered and times == 1 else query
        name = made.name + (f" ×{times}" if times > 1 else "")
        workload = Workload(name, made.pattern, made.sql, made.data, made.batch, check=made.check)
        if not ordered:
            reason = queries.ANY_ORDER
        elif query == "Q3":
            reason = queries.ANY_ORDER + ", and S and T of Q3 have none"
        else:
            reason = queries.DISTINCT
        marks = {
            "esper": queries.DISTINCT + queries.AGAIN,
            "siddhi": queries.DISTINCT,
            "esper-join": queries.ONLY_ORDERED,
            "flink-cep": reason,
            "flink-sql": queries.SQL_MATCH_RECOGNIZE,
            "spark-join": SPARK_EQUALITY,
        }
        return Entry(workload, asked, marks, easier, group="DISTINCT" if distinct else None)

    numbers = [f"Q{n}" for n in range(1, 13)]
    return (
        *(entry(q) for q in numbers),
        *(entry(q, ordered=False) for q in numbers),
        entry("Q1", times=10),
        entry("Q2", times=10),
    )

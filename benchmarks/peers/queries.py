"""What each engine is asked, in its own words, and where it has none.

All queries mean the same: every combination of events, each once. `WITHIN` includes its boundary here and in SQL; the
others leave it out, so their windows are a millisecond longer (all times are whole seconds).

`esper` is written as a pattern where the workload is a sequence, and as a join of windows where it is not;
`esper-join` is the sequence as a join of windows. In Siddhi every step has its own `every`, and the time of the whole
is said in a condition: its `within` alone lets longer matches through. `flink-cep` names a pattern of
`java/.../Patterns.java` and its window in milliseconds.
"""

from __future__ import annotations

import json
import re
from itertools import combinations, pairwise

SQL_MATCH_RECOGNIZE = "cannot express: MATCH_RECOGNIZE has no combinations, one row is in one match for each start"
ANY_ORDER = "cannot express: a pattern has an order"
DISTINCT = "cannot express: DISTINCT"
AGAIN = " holds within one delivery, a row comes again with the next"
ONLY_ORDERED = "not separate: a join already in esper"
_OUT = "@name('out') @EventRepresentation(objectarray)\n"


def sequence(
    names: str, filters: dict[str, str], between: str, seconds: int, fields: dict[str, str], flink: str
) -> dict[str, str]:
    """A sequence of transactions on one account.

    Args:
        names: the variables, parted by spaces.
        filters: what holds of one event, by variable.
        between: comparisons of two events, `a.x < b.x AND ...`.
        seconds: the window.
        fields: output columns, name to expression.
        flink: the name of the Flink pattern.
    """
    variables = names.split()
    first, last = variables[0], variables[-1]
    inside = {v: [filters[v]] if v in filters else [] for v in variables}
    for condition in between.split(" AND ") if between else []:
        left, right = condition.split(" < ")
        later, column = right.split(".")
        inside[later].append(f"{column} > {left}")
    return {
        "esper": _pattern(variables, inside, seconds, fields),
        "esper-join": _windows(variables, filters, between, seconds, fields),
        "siddhi": _siddhi_pattern(first, last, variables, inside, seconds, fields),
        "flink-cep": f"{flink} {seconds * 1000 + 1}",
        "spark-join": json.dumps(
            {
                "steps": [[v, "Trans", filters.get(v, "true")] for v in variables],
                "conditions": [f"{a}.acc = {b}.acc AND {a}.ts < {b}.ts" for a, b in pairwise(variables)]
                + [f"{b}.ts <= {a}.ts + INTERVAL {seconds} SECONDS" for a, b in combinations(variables, 2)]
                + ([between] if between else []),
                "check": f"unix_millis({first}_ts)",
            }
        ),
    }


def _selected(fields: dict[str, str]) -> str:
    return ", ".join(f"{expression} as {name}" for name, expression in fields.items())


def _pattern(
    variables: list[str], inside: dict[str, list[str]], seconds: int, fields: dict[str, str], stream: str = "Trans"
) -> str:
    first = variables[0]

    def step(v: str) -> str:
        return f"every {v}={stream}({', '.join(inside[v] if v == first else [f'acc = {first}.acc', *inside[v]])})"

    rest = " -> ".join(step(v) for v in variables[1:])
    return (
        f"{_OUT}select {_selected(fields)}\n"
        f"from pattern [{step(first)} -> ({rest}) where timer:within({seconds * 1000 + 1} msec)];\n"
    )


def _windows(variables: list[str], filters: dict[str, str], between: str, seconds: int, fields: dict[str, str]) -> str:
    """The last event of a match joins what the windows hold; the others cannot complete one."""
    window = f"#time({seconds * 1000 + 1} msec)"
    sources = [f"Trans({filters.get(v, '')}){window} as {v}".replace("()", "") for v in variables[:-1]]
    sources.append(f"Trans({filters.get(variables[-1], '')}) as {variables[-1]} unidirectional".replace("()", ""))
    same = [f"{a}.acc = {b}.acc" for a, b in pairwise(variables)]
    order = [f"{a}.ts < {b}.ts" for a, b in pairwise(variables)]
    conditions = " and ".join([*same, *order, *([between.replace(" AND ", " and ")] if between else [])])
    return f"{_OUT}select {_selected(fields)}\nfrom {', '.join(sources)}\nwhere {conditions};\n"


def _siddhi_pattern(
    first: str, last: str, variables: list[str], inside: dict[str, list[str]], seconds: int, fields: dict[str, str]
) -> str:
    chain = []
    for v in variables:
        conditions = [*inside[v], *([f"ts - {first}.ts <= {seconds * 1000}L"] if v == last else [])]
        chain.append(f"every {v}=Trans[{' and '.join(conditions)}]".replace("[]", ""))
    return (
        "partition with (acc of Trans) begin\n"
        f"from {' -> '.join(chain)} within {seconds} sec\n"
        f"select {_selected(fields)} insert into Out;\nend;\n"
    )


def disordered_card_testing(filters: dict[str, str], seconds: int, fields: dict[str, str]) -> str:
    """EPL: put in order first, ten seconds late; the window is then a comparison of the events' own times."""
    inside = {v: [condition] for v, condition in filters.items()}
    inside["l"].append(f"ts <= s1.ts + {seconds * 1000}")
    ordered = "insert rstream into Sorted select rstream * from Trans#time_order(ts, 10 sec);\n"
    return ordered + _pattern(list(filters), inside, seconds + 60, fields, "Sorted")


def any_order(streams: str, seconds: int) -> dict[str, str]:
    """An AND of streams on one key within a window."""
    variables = [s.lower() for s in streams]
    window = f"#time({seconds * 1000 + 1} msec)"
    fields = _selected({"k": "a.k", **{f"{v}_ts": f"{v}.ts" for v in variables}})
    same = " and ".join(f"{x}.k = {y}.k" for x, y in pairwise(variables))
    esper = f"{_OUT}select {fields}\nfrom {', '.join(f'{s}{window} as {s.lower()}' for s in streams)}\nwhere {same};\n"
    near = f"INTERVAL {seconds} SECONDS"
    return {
        "esper": esper,
        "siddhi": _siddhi_any_order(streams, seconds),
        "spark-join": json.dumps(
            {
                "steps": [[s.lower(), s, "true"] for s in streams],
                "conditions": [f"{x}.k = {y}.k" for x, y in pairwise(variables)]
                + [f"{y}.ts <= {x}.ts + {near} AND {x}.ts <= {y}.ts + {near}" for x, y in combinations(variables, 2)],
                "check": "unix_millis(a_ts)",
            }
        ),
    }


def _siddhi_any_order(streams: str, seconds: int) -> str:
    """Siddhi joins two streams at a time: pairs, then triples, ..., each with its earliest and latest time."""
    within = seconds * 1000
    text = ""
    left, columns = streams[0], {"k": "x.k", "a_ts": "x.ts"}
    low, high, time = "x.ts", "x.ts", "ts"
    for number, stream in enumerate(streams[1:], start=1):
        v = stream.lower()
        columns[f"{v}_ts"] = "y.ts"
        out = "Out" if number == len(streams) - 1 else f"Part{number}"
        extra = {
            "low": f"ifThenElse({low} < y.ts, {low}, y.ts)",
            "high": f"ifThenElse({high} > y.ts, {high}, y.ts)",
        }
        text += (
            f"from {left}#window.externalTime({time}, {within + 1} milliseconds) as x\n"
            f"join {stream}#window.externalTime(ts, {within + 1} milliseconds) as y\n"
            f"on x.k == y.k and y.ts - {low} <= {within}L and {high} - y.ts <= {within}L\n"
            f"select {_selected(columns if out == 'Out' else columns | extra)} insert into {out};\n"
        )
        columns = {name: f"x.{name}" for name in columns}
        left, low, high, time = out, "x.low", "x.high", "high"
    return text


def relations(sql: str, name: str, *, ordered: bool) -> dict[str, str]:
    """A query of the thesis, from its SQL, which has no DISTINCT."""
    found = re.fullmatch(r"SELECT (.*) FROM (.*) WHERE (.*)", sql)
    assert found is not None
    fields, tables, conditions = found.groups()
    sources = ", ".join(f"{table.split()[0]}#keepall as {table.split()[1]}" for table in tables.split(", "))
    where = conditions.replace(" AND ", " and ")
    queries = {
        "esper": f"{_OUT}select {fields.replace(' AS ', ' as ')}\nfrom {sources}\nwhere {where};\n",
        "siddhi": _siddhi_relations(fields.replace(" AS ", " as "), where),
    }
    if ordered and name in ("Q1", "Q2", "Q4", "Q5", "Q6"):
        queries["flink-cep"] = f"{name} 0"
    if name == "Q2":
        queries["spark-join"] = json.dumps(
            {"steps": [["r", "R", "true"], ["s", "S", "true"]], "conditions": [conditions], "check": "s_e"}
        )
    return queries


_KEEP = "#window.length(10000000)"


def _siddhi_relations(fields: str, where: str) -> str:
    conditions = [c.replace(" = ", " == ") for c in where.split(" and ")]
    if " t." not in where:
        return (
            f"from R{_KEEP} as r join S{_KEEP} as s on {' and '.join(conditions)}\nselect {fields} insert into Out;\n"
        )
    pair = [c for c in conditions if "t." not in c]
    rest = [_carried(c) for c in conditions if "t." in c]
    columns = _selected({f"{v}_{c}": f"{v}.{c}" for v, cs in (("r", "abck"), ("s", "defk")) for c in cs})
    return (
        f"from R{_KEEP} as r join S{_KEEP} as s on {' and '.join(pair)}\nselect {columns} insert into RS;\n"
        f"from RS{_KEEP} as rs join T{_KEEP} as t on {' and '.join(rest)}\nselect {_carried(fields)} insert into Out;\n"
    )


def _carried(text: str) -> str:
    return re.sub(r"\b([rs])\.(\w)\b", r"rs.\1_\2", text)

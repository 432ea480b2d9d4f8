"""The SQL of a random pattern with gap steps: that of language.md 1.2 and 3.

It is written down from the body's shape by the longest way: an event is in a gap if it is later than *all* single
events of earlier items of every SEQ around it, earlier than all of later ones, within the window of the match, and
fulfils the conditions that mention it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.oracle.gap_shapes import ANCHOR, SECOND, Case, Step, around, beside, of_sets, renamed


def sql_text(condition: str) -> str:
    words = condition.split(" + ")
    if len(words) == 2 and words[1].endswith(" SECONDS"):
        return f"{words[0]} + {int(words[1].split()[0]) * SECOND}"
    return condition


def fits(
    var: str,
    before: Sequence[str],
    after: Sequence[str],
    case: Case,
    others: Sequence[str],
    rival: tuple[str, str] | None = None,
) -> list[str]:
    """What an event needs to lie in a gap, its own conditions aside."""
    times = ", ".join(f"{name}.ts" for name in (*others, var))
    parts = [f"{var}.ts IS NOT NULL"]
    parts += [case.earlier(name, var, rival) for name in before]
    parts += [case.earlier(var, name, rival) for name in after]
    if case.window is not None:
        parts.append(f"greatest({times}) - least({times}) <= {case.window}")
    return parts


def query(case: Case) -> str:
    """Of each push in the table `marks`, its matches: of the events that came up to it, due at its watermark."""
    names = [step.var for step in case.singles]
    where = list(map(sql_text, case.conditions[""]))
    due: list[str] = []
    laterals: list[str] = []
    in_order = "ts, n" if case.ordered else "ts, k, x, n"
    where += map(of_sets, case.conditions.get("having", ()))
    for step in case.singles:
        before, after, _ = around(case.body, step.var)
        where += [case.earlier(name, step.var) for name in before]
        where += [f"{step.var}.ts IS NOT NULL"]
    times = ", ".join(f"{name}.ts" for name in names)
    where.append(f"greatest({times}) - least({times}) <= {case.window}")
    first = first_single(case)
    # What is asked about a set's values comes after the set.
    for gap in sorted(case.gaps, key=lambda gap: "set_" in " ".join(map(of_sets, case.conditions.get(gap.var, ())))):
        before, after, following = around(case.body, gap.var)
        own = [sql_text(of_sets(condition)) for condition in case.conditions.get(gap.var, ())]
        inside = [*fits(gap.var, before, after, case, names), *(case.members[gap.var] if gap.run else own)]
        inside.append(f"{gap.var}.p <= marks.p")
        source = f"{gap.stream} {gap.var} WHERE {' AND '.join(inside)}"
        if gap.run:
            source = unbroken(case, gap, source, own, in_order, at_end=bool(after) or ANCHOR in names)
        if gap.least is not None:
            laterals.append(
                "LATERAL (SELECT count(*) AS cnt, count(x) AS present, sum(x) AS total, avg(x) AS mean, min(x) AS low, "
                f"max(x) AS high, count(DISTINCT x) AS kinds, list(x ORDER BY {in_order})[1] AS head, "
                f"list(x ORDER BY {in_order})[-1] AS tail, min(ts) AS fst, max(ts) AS lst, list(n ORDER BY {in_order})"
                f"[1] AS fst_n, list(n ORDER BY {in_order})[-1] AS lst_n FROM {source}) AS set_{gap.var}"
            )
            where.append(f"set_{gap.var}.cnt >= {gap.least}")
            where += [] if gap.most is None else [f"set_{gap.var}.cnt <= {gap.most}"]
        else:
            earlier, later = beside(case.body, gap.var)
            inside += [case.past(gap.var, name, ">", "lst") for name in earlier]
            inside += [case.past(gap.var, name, "<", "fst") for name in later]
            where.append(f"NOT EXISTS (SELECT 1 FROM {gap.stream} {gap.var} WHERE {' AND '.join(inside)})")
        if ANCHOR in names and gap.least is not None:
            due.append(f"{ANCHOR}.ts + 1")
        elif following:  # with ORDER BY a moment has to pass: what is before may be of the same one
            tied = case.ordered and following[0].stream == gap.stream
            due.append(f"{following[0].var}.ts + {int(tied)}")
        elif gap.var in case.bounded:
            name, length = case.bounded[gap.var]
            due.append(f"{name}.ts + {length + 1}")
        else:
            due.append(f"{first}.ts + {(case.window or 0) + 1}")
    for step in case.singles:
        if step.select is None:
            continue
        before, after, following = around(case.body, step.var)
        rival = f"{step.var}2"
        own = [renamed(c, step.var, rival) for c in map(sql_text, case.conditions[""]) if f"{step.var}." in c]
        inside = [*fits(rival, before, after, case, names, (rival, step.var)), *own]
        pair = (rival, step.var) if step.select == "FIRST" else (step.var, rival)
        inside.append(case.earlier(*pair, (rival, step.var)))
        where.append(
            f"NOT EXISTS (SELECT 1 FROM {step.stream} {rival} WHERE {rival}.p <= marks.p AND {' AND '.join(inside)})"
        )
        if step.select == "FIRST":
            due.append(f"{step.var}.ts + {int(case.ordered)}")
        elif following:
            tied = case.ordered and following[0].stream == step.stream
            due.append(f"{following[0].var}.ts + {int(tied)}")
        elif step.var in case.bounded:
            name, length = case.bounded[step.var]
            due.append(f"{name}.ts + {length + 1}")
        else:
            due.append(f"{first}.ts + {(case.window or 0) + 1}")
    if ANCHOR in names:  # of the events of one moment and key, the last
        places = ("n",) if case.ordered else ("k", "x", "n")
        key = f"zz2.k = {ANCHOR}.k" if case.partition else "true"
        own = [renamed(sql_text(c), ANCHOR, "zz2") for c in case.conditions[""]]
        later = " OR ".join(
            "("
            + " AND ".join(
                [f"zz2.{same} IS NOT DISTINCT FROM {ANCHOR}.{same}" for same in places[:at]]
                + [f"coalesce(zz2.{name}, 1000000) > coalesce({ANCHOR}.{name}, 1000000)"]
            )
            + ")"
            for at, name in enumerate(places)
        )
        where.append(
            f"NOT EXISTS (SELECT 1 FROM {case.singles[0].stream} zz2 WHERE zz2.ts = {ANCHOR}.ts AND {key} "
            f"AND zz2.p <= marks.p AND {' AND '.join([*own, 'true'])} AND ({later}))"
        )
    arrived = [f"{name}.p <= marks.p" for name in names]
    tables = ", ".join([*(f"{step.stream} {step.var}" for step in case.singles), *laterals])
    where += [*arrived, f"greatest({', '.join(due)}) <= marks.w"]
    ends = {"least": [f"{name}.ts" for name in names], "greatest": [f"{name}.ts" for name in names]}
    for gap in case.gaps:
        if gap.least is not None:
            ends["least"].append(f"set_{gap.var}.fst")
            ends["greatest"].append(f"set_{gap.var}.lst")
    spans = [] if case.distinct else [f"{op}({', '.join(of)})" for op, of in ends.items()]
    return f"SELECT marks.p, {', '.join([*spans, *case.shown])} FROM marks, {tables} WHERE {' AND '.join(where)}"


def unbroken(case: Case, gap: Step, source: str, own: Sequence[str], in_order: str, *, at_end: bool) -> str:
    """The events of a run: those of the part, between two breaks, that the last (or first) event of the gap is in."""
    var = gap.var
    good = f"coalesce({' AND '.join(own) or 'true'}, false)"
    pairs = [
        sql_text(re.sub(rf"PREV\({var}\.(\w+)\)", rf"{var}.p\1", _seconds(pair)))
        for pair in case.conditions.get(f"pairs {var}", ())
    ]
    lagged = ", ".join(f"lag({what}) OVER o AS p{name}" for name, what in (("x", "x"), ("ts", "ts"), ("ok", good)))
    events = f"SELECT ts, k, x, n, {good} AS ok, {lagged} FROM {source} WINDOW o AS (ORDER BY {in_order})"
    linked = " AND ".join([f"{var}.ok", f"{var}.pok", *pairs])
    parts = (
        f"SELECT *, sum(CASE WHEN {linked} THEN 0 ELSE 1 END) OVER (ORDER BY {in_order} ROWS UNBOUNDED PRECEDING) "
        f"AS part FROM ({events}) AS {var}"
    )
    value = "last_value" if at_end else "first_value"
    whole = f"(ORDER BY {in_order} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    chosen = f"SELECT *, {value}(part) OVER {whole} AS chosen FROM ({parts}) AS {var}"
    return f"({chosen}) AS {var} WHERE ok AND part = chosen"


def _seconds(condition: str) -> str:
    return re.sub(r"(\d+) SECONDS$", lambda found: str(int(found[1]) * SECOND), condition)


def first_single(case: Case) -> str:
    """The first single event as written that no SEQ puts after another."""
    return next(step.var for step in case.singles if not around(case.body, step.var)[0])

"""Every query that the papers give a verdict on, written as a pattern and judged by `cep validate`.

The tables are those of idris.md (1.6 and 2.7): verdicts, connex sets, Examples 4 to 10, Q1 to Q12, FQ1 to FQ5, and the
SEQ rows. A query's variables are given by the paper's names with the attributes that each unifies; `validate` may name
a variable after any one of them.

Two things the tables list and the language cannot say as listed:

* a first-to-last bound on the event time of a SEQ is a window, not a predicate, so "SEQ3 with WITHIN is cyclic" is true
  of the thesis's query, not of the pattern. `Seq3AsWritten` and `Seq4AsWritten` say the thesis's query, over a
  TIMESTAMP that is not the event time; `Seq3Bound`, `Seq3StrictBound` and `Seq4Bound` say it of the event time and
  are acyclic;
* the tables leave the connex set of a cyclic query open (there is none). `validate` then lists the output and what the
  first stage of the reduction could not remove; only that the output is part of it is asserted.

The tables give hierarchical and q-hierarchical for equi-joins. With inequalities between atoms the design asks for the
verdict too: it is false, since the notions promise updates that touch a bounded number of partners.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
HOUR = 3_600_000
ALL = "*"


@dataclass(frozen=True)
class Listed:
    """A row of the tables: variables are the paper's names and the attributes they unify."""

    variables: dict[str, str]
    acyclic: bool = True
    free_connex: bool = True
    hierarchical: bool = False
    q_hierarchical: bool = False
    output: str = ALL
    connex: str = ALL
    partition_key: dict[str, list[str]] | None = None
    window_ms: float | None = None

    def attributes(self, names: str) -> set[frozenset[str]]:
        chosen = self.variables if names == ALL else names.split()
        return {frozenset(self.variables[name].split()) for name in chosen}


def by_name(atoms: str) -> dict[str, str]:
    """Variables of atoms in the papers' notation, joined by name: `r(x,y) s(y)` is x = r.x, y = r.y s.y."""
    found: dict[str, str] = {}
    for atom in atoms.split():
        name, _, inner = atom.rstrip(")").partition("(")
        for attr in inner.split(","):
            found[attr] = f"{found.get(attr, '')} {name}.{attr}".strip()
    return found


def steps(names: str, *own: str) -> dict[str, str]:
    """Variables of a SEQ over one stream: `acc` is shared, the attributes in `own` belong to each step alone."""
    shared = {"acc": " ".join(f"{name}.acc" for name in names.split())}
    return shared | {f"{name}.{attr}": f"{name}.{attr}" for name in names.split() for attr in own}


EXAMPLE_4 = by_name("r(x,y,z) s(x,y,u) t(y,v,w) u(y,v,p)")
EXAMPLE_4_KEY = {"R": ["y"], "S": ["y"], "T": ["y"], "U": ["y"]}
EXAMPLE_5 = by_name("r(x,y) s(y,z,w) t(u,v)")
Q4 = by_name("r(a,b,c) s(d,e,f) t(g,h,i)")
Q5 = by_name("r(a,b,c,k) s(d,e,f,k) t(g,h,i)")
Q6 = by_name("r(a,b,c) s(d,e,f,k) t(g,h,i,k)")
TPC_H = {
    "o": "orderkey custkey o",
    "l": "orderkey partkey suppkey l",
    "p": "partkey p",
    "ps": "partkey suppkey ps",
    "c": "custkey nationkey c",
    "n": "nationkey n",
    "s": "suppkey s",
}


def tpc_h(atoms: str, *joins: str) -> dict[str, str]:
    """Variables of a TPC-H query: all attributes of its tables, those in `joins` unified, the others on their own."""
    everything = [f"{table}.{attr}" for table in atoms.split() for attr in TPC_H[table].split()]
    unified = {join.split()[0]: join for join in joins}
    joined = {attr for join in joins for attr in join.split()}
    return unified | {attr: attr for attr in everything if attr not in joined}


YES = {"hierarchical": True, "q_hierarchical": True}
CYCLIC: dict[str, Any] = {"acyclic": False, "free_connex": False}
ACC = {"partition_key": {"Trans": ["acc"]}}
ACC_UNTIMED = {"partition_key": {"Untimed": ["acc"]}}
SEQ3 = steps("s1 s2 l", "ts", "amnt")
SEQ4 = steps("a b c d", "ts", "amnt")

TABLE_1_6 = {
    "Example4": Listed(EXAMPLE_4, **YES, partition_key=EXAMPLE_4_KEY),
    "Example4OnXY": Listed(EXAMPLE_4, **YES, output="x y", connex="x y", partition_key=EXAMPLE_4_KEY),
    "Example4OnU": Listed(EXAMPLE_4, hierarchical=True, output="u", connex="u", partition_key=EXAMPLE_4_KEY),
    "Figure34": Listed(
        by_name("e(x,y) r(x,y,w) s(x,y,u,v)"),
        **YES,
        output="x y u",
        connex="x y u",
        partition_key={"E3": ["x", "y"], "R3": ["x", "y"], "S3": ["x", "y"]},
    ),
    "TwoAtoms": Listed(by_name("r(x,y) s(y,z)"), **YES, partition_key={"XY": ["y"], "YZ": ["y"]}),
    "MatrixMultiplication": Listed(
        by_name("r(x,y) s(y,z)"),
        free_connex=False,
        hierarchical=True,
        output="x z",
        partition_key={"XY": ["y"], "YZ": ["y"]},
    ),
    "PathOfThree": Listed(by_name("r(a,b) s(b,c) t(c,d)")),
    "AggregateExample": Listed(
        by_name("r(x,y,z) s(y,z,v)"),
        free_connex=False,
        hierarchical=True,
        output="x y v",
        partition_key={"XYZ": ["y", "z"], "YZV": ["y", "z"]},
    ),
    "Triangle": Listed(by_name("r(x,y) s(y,z) t(x,z)"), **CYCLIC),
    "FQ1": Listed(tpc_h("o l p ps", "o.orderkey l.orderkey", "l.partkey p.partkey ps.partkey", "l.suppkey ps.suppkey")),
    "FQ2": Listed(
        tpc_h(
            "l o c p n",
            "l.orderkey o.orderkey",
            "o.custkey c.custkey",
            "l.partkey p.partkey",
            "c.nationkey n.nationkey",
        )
    ),
    "FQ3": Listed(
        tpc_h("o l ps s c", "o.orderkey l.orderkey", "l.suppkey ps.suppkey s.suppkey", "o.custkey c.custkey")
    ),
    "FQ4": Listed(
        tpc_h("l s ps", "l.suppkey s.suppkey ps.suppkey"),
        **YES,
        partition_key={"LineItem": ["suppkey"], "Supplier": ["suppkey"], "PartSupp": ["suppkey"]},
    ),
    "FQ5": Listed(by_name("dd(date_sk,d) ss(date_sk,item_sk,ss) i(item_sk,i)")),
}

TABLE_2_7 = {
    "Example5": Listed(EXAMPLE_5, output="y z w u", connex="y z w u"),
    "Example6": Listed(EXAMPLE_5),
    "Example7": Listed(EXAMPLE_5, free_connex=False, output="x u", connex="x y z w u"),
    "BernsteinGoodman": Listed(by_name("r(xr) s(xs,ys) t(xt,yt) u(yu)"), **CYCLIC),
    "ExcludedByBernsteinGoodman": Listed(by_name("r(x,y) s(x,z)"), partition_key={"XY": ["x"], "XZ": ["x"]}),
    "Example10": Listed(
        by_name("r1(s,t,u) r2(t,u) r3(u,w,x) r4(s,v) r5(w,z,y)"),
        free_connex=False,
        output="t u z w",
        connex="t u w x y z",
    ),
    "Q1": Listed(by_name("r(a,b,c) s(d,e,f)")),
    "Q2": Listed(by_name("r(a,b,c,k) s(d,e,f,k)"), partition_key={"AbcK": ["k"], "DefK": ["k"]}),
    "Q3": Listed(Q4),
    "Q4": Listed(Q4),
    "Q5": Listed(Q5),
    "Q6": Listed(Q6),
    "Q7": Listed(Q4, output="a b d e f g h", connex="a b d e f g h"),
    "Q8": Listed(Q5, output="a d e f g h k", connex="a d e f g h k"),
    "Q9": Listed(Q6, output="d e f g h k", connex="d e f g h k"),
    "Q10": Listed(Q4, free_connex=False, output="b c e f h i"),
    "Q11": Listed(Q5, free_connex=False, output="b c e f h i"),
    "Q12": Listed(Q6, free_connex=False, output="b c e f h i"),
}

WINDOWS = {
    "Seq3Within": Listed(SEQ3, **ACC, window_ms=HOUR),
    "Seq3Bound": Listed(SEQ3, **ACC, window_ms=HOUR),
    "Seq3StrictBound": Listed(SEQ3, **ACC, window_ms=HOUR - 0.001),
    "Seq3BoundAlone": Listed(SEQ3, **ACC, window_ms=HOUR),
    "Seq3BoundAndWithin": Listed(SEQ3, **ACC, window_ms=HOUR),
    "Seq3": Listed(SEQ3, **ACC),
    "Seq2Within": Listed(steps("a b", "ts", "amnt"), **ACC, window_ms=HOUR),
    "Seq2Bound": Listed(steps("a b", "ts", "amnt"), **ACC, window_ms=HOUR - 0.001),
    "Seq4Bands": Listed(SEQ4, **ACC),
    "Seq4BandsAlone": Listed(SEQ4, **ACC, window_ms=3 * HOUR - 0.003),
    "Seq4Bound": Listed(SEQ4, **ACC, window_ms=HOUR - 0.001),
    "Seq3AsWritten": Listed(steps("s1 s2 l", "t"), **CYCLIC, **ACC_UNTIMED),
    "Seq3AsWrittenWithoutBound": Listed(steps("s1 s2 l", "t"), **ACC_UNTIMED),
    "Seq2AsWritten": Listed(steps("a b", "t"), **ACC_UNTIMED),
    "Seq4BandsAsWritten": Listed(steps("a b c d", "t"), **ACC_UNTIMED),
    "Seq4AsWritten": Listed(steps("a b c d", "t"), **CYCLIC, **ACC_UNTIMED),
}

LISTED = TABLE_1_6 | TABLE_2_7 | WINDOWS


@pytest.fixture(scope="module")
def patterns() -> dict[str, dict[str, Any]]:
    """What `cep validate` says of all files of this folder, as another program would read it."""
    command = [sys.executable, "-m", "cep.cli", "validate", str(FOLDER), "--output-format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    files = json.loads(done.stdout)["files"]
    assert all(file["ok"] for file in files)
    return {pattern["name"]: pattern for file in files for pattern in file["patterns"]}


def test_the_tables_and_the_files_hold_the_same_queries(patterns: dict[str, dict[str, Any]]) -> None:
    assert set(patterns) == set(LISTED)


@pytest.mark.parametrize("name", LISTED)
def test_verdict(name: str, patterns: dict[str, dict[str, Any]]) -> None:
    found, listed = patterns[name], LISTED[name]
    for verdict in ("acyclic", "free_connex", "hierarchical", "q_hierarchical"):
        assert found[verdict] == getattr(listed, verdict), verdict


def unified(found: list[str], listed: Listed) -> set[frozenset[str]]:
    """Reported names as the variables they stand for; each variable may be named once, after any of its attributes."""
    of = {attr: frozenset(attrs.split()) for attrs in listed.variables.values() for attr in attrs.split()}
    variables = [of[name] for name in found]
    assert len(set(variables)) == len(variables), "a variable is listed twice"
    return set(variables)


@pytest.mark.parametrize("name", LISTED)
def test_output_variables(name: str, patterns: dict[str, dict[str, Any]]) -> None:
    listed = LISTED[name]
    assert unified(patterns[name]["output_variables"], listed) == listed.attributes(listed.output)


@pytest.mark.parametrize("name", LISTED)
def test_connex_variables(name: str, patterns: dict[str, dict[str, Any]]) -> None:
    listed = LISTED[name]
    found = unified(patterns[name]["connex_variables"], listed)
    if listed.acyclic:
        assert found == listed.attributes(listed.connex)
        assert (found == listed.attributes(listed.output)) == listed.free_connex
    else:
        assert found >= listed.attributes(listed.output)


@pytest.mark.parametrize("name", LISTED)
def test_partition_key_window_and_runtime(name: str, patterns: dict[str, dict[str, Any]]) -> None:
    found, listed = patterns[name], LISTED[name]
    assert found["partition_key"] == listed.partition_key
    assert found["window_ms"] == listed.window_ms
    assert found["runtime"] == ("iedyn" if listed.acyclic else "iedyn+bags")

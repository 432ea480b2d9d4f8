"""The thesis's worked update (Figures 4.6 and 4.7), step by step, and the GMR examples.

The figures are lost; the fixture is rebuilt from the text's facts. Query: r(x,y) s(y,z,w) t(u,v) with x < z and w < u,
output y, z, w, u. A multiplicity is that many equal events. The engine's tree is over the atoms (t above s above r), so
the reduct of s, counted by (y, z, w), is the thesis's node {y,z,w}; that of t, counted by u, hangs below {u}; and
the root {y,w} is found in the matches.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import cep
from runtime import Engine
from runtime.pull import reduct

STREAMS = "STREAM R (x INT, y INT); STREAM S (y INT, z INT, w INT); STREAM T (u INT, v INT);"
QUERY = "AND(R r, S s, T t) WHERE r.y = s.y AND r.x < s.z AND s.w < t.u UNBOUNDED"
RETURNS = "RETURN {} s.y AS y, s.z AS z, s.w AS w, t.u AS u;"
BAG = cep.compile(f"{STREAMS} PATTERN P {QUERY} {RETURNS.format('')}")["P"]
SET = cep.compile(f"{STREAMS} PATTERN P {QUERY} {RETURNS.format('DISTINCT')}")["P"]

COLUMNS = {"R": ("x", "y"), "S": ("y", "z", "w"), "T": ("u", "v")}
Gmr = dict[tuple[int, ...], int]

R: Gmr = {(2, 2): 2, (1, 1): 3}
S: Gmr = {(1, 3, 3): 4, (2, 4, 6): 1}
T: Gmr = {(5, 1): 2}


def table(stream: str, gmr: Gmr, *, signed: bool = False) -> pa.Table:
    """A GMR as a batch: |multiplicity| equal rows."""
    rows = [(*row, 1 if n > 0 else -1) for row, n in gmr.items() for _ in range(abs(n))]
    names = [*COLUMNS[stream], *(["_sign"] if signed else [])]
    return pa.table(
        {
            name: pa.array([row[i] for row in rows], pa.int8() if name == "_sign" else pa.int64())
            for i, name in enumerate(names)
        }
    )


def change(engine: Engine, **gmrs: Gmr) -> Gmr:
    """Push GMRs; the change of the output as a GMR over (y, z, w, u)."""
    signed = any(n < 0 for gmr in gmrs.values() for n in gmr.values())
    return delta(engine.push({name: table(name, gmr, signed=signed) for name, gmr in gmrs.items()}).read_all())


def delta(found: pa.Table) -> Gmr:
    net: Counter[Any] = Counter()
    for row in found.to_pylist():
        net[row["y"], row["z"], row["w"], row["u"]] += row.get("_sign", 1)
    return {key: n for key, n in net.items() if n}


def node(engine: Engine, var: str, *attributes: str) -> Gmr:
    """The reduct of a variable, as a GMR over some of its attributes."""
    leaf = engine._leaves[var]
    counts = reduct(engine)[var]
    net: Counter[tuple[int, ...]] = Counter()
    for row in leaf.live(None).tolist():
        net[tuple(int(leaf.columns[name].values.view()[row]) for name in attributes)] += int(counts[row])
    return {key: n for key, n in net.items() if n}


@pytest.fixture
def engine() -> Engine:
    """The database before the update."""
    engine = Engine(BAG)
    assert change(engine, R=R, S=S, T=T) == {(1, 3, 3, 5): 24}
    return engine


def test_the_tree_is_the_thesis_tree_over_its_atoms() -> None:
    assert BAG.root == "t"
    assert [(edge.parent, edge.child, [str(p) for p in edge.predicates]) for edge in BAG.edges] == [
        ("t", "s", ["s.w < t.u"]),
        ("s", "r", ["r.x < s.z"]),
    ]


def test_before_the_update(engine: Engine) -> None:
    assert node(engine, "s", "y", "z", "w") == {(1, 3, 3): 12, (2, 4, 6): 2}
    assert node(engine, "r", "x", "y") == {(2, 2): 2, (1, 1): 3}
    assert node(engine, "t", "u") == {(5,): 24}
    assert engine.count() == 24
    assert delta(engine.enumerate().read_all()) == {(1, 3, 3, 5): 24}
    assert engine.contains({"y": 1, "z": 3, "w": 3, "u": 5})
    assert not engine.contains({"y": 2})


@pytest.mark.parametrize("z", [3, 5], ids=["text", "caption"])
def test_the_update_step_by_step(engine: Engine, z: int) -> None:
    before = node(engine, "s", "y", "z", "w")
    # s+: two more (2, z, 6) meet the two (x2, y2) of r, and nothing at the root: no u is above 6.
    assert change(engine, S={(2, z, 6): 2}) == {}
    assert node(engine, "s", "y", "z", "w") == before | {(2, z, 6): 4}
    assert node(engine, "t", "u") == {(5,): 24}
    assert engine.count() == 24
    # t+: of all of s only (1, 3, 3) has w < 4: 12 partial matches, three times.
    assert change(engine, T={(4, 9): 3}) == {(1, 3, 3, 4): 36}
    assert node(engine, "t", "u") == {(5,): 24, (4,): 36}


@pytest.mark.parametrize("z", [3, 5], ids=["text", "caption"])
@pytest.mark.parametrize("together", [True, False], ids=["one batch", "two batches"])
def test_after_the_update(engine: Engine, z: int, together: bool) -> None:
    updates: list[dict[str, Gmr]] = [{"S": {(2, z, 6): 2}}, {"T": {(4, 9): 3}}]
    if together:
        assert change(engine, **updates[0], **updates[1]) == {(1, 3, 3, 4): 36}
    else:
        assert [change(engine, **update) for update in updates] == [{}, {(1, 3, 3, 4): 36}]
    assert engine.count() == 60, "the root's (y1, w3)"
    assert delta(engine.enumerate().read_all()) == {(1, 3, 3, 5): 24, (1, 3, 3, 4): 36}
    assert engine.contains({"y": 1, "w": 3, "u": 4})
    assert not engine.contains({"z": z, "w": 6}), "alive in {y,z,w}, dead at the root"
    engine._check()


@pytest.mark.parametrize("z", [3, 5], ids=["text", "caption"])
def test_undoing_the_update_leads_back(engine: Engine, z: int) -> None:
    before = engine.snapshot()
    change(engine, S={(2, z, 6): 2}, T={(4, 9): 3})
    assert change(engine, T={(4, 9): -3}) == {(1, 3, 3, 4): -36}
    assert change(engine, S={(2, z, 6): -2}) == {}
    assert node(engine, "s", "y", "z", "w") == {(1, 3, 3): 12, (2, 4, 6): 2}
    assert engine.count() == 24
    restored = Engine.restore(BAG, before)
    assert sorted(engine.enumerate().read_all()["_id"].to_pylist()) == sorted(
        restored.enumerate().read_all()["_id"].to_pylist()
    )


def test_signed_deltas(engine: Engine) -> None:
    # A third of r's (1, 1) goes: 4 (s) x 2 (t) combinations with it.
    assert change(engine, R={(1, 1): -1}) == {(1, 3, 3, 5): -8}
    # s loses one (1, 3, 3) and gains a (1, 2, 4), which takes the two remaining r and both t.
    assert change(engine, S={(1, 3, 3): -1, (1, 2, 4): 1}) == {(1, 3, 3, 5): -4, (1, 2, 4, 5): 4}
    assert node(engine, "s", "y", "z", "w") == {(1, 3, 3): 6, (2, 4, 6): 2, (1, 2, 4): 2}
    assert engine.count() == 16


def test_every_match_of_a_multiplicity_has_its_own_id(engine: Engine) -> None:
    ids = engine.enumerate().read_all()["_id"].to_pylist()
    assert len(set(ids)) == len(ids) == 24


def test_distinct_gives_each_tuple_once(engine: Engine) -> None:
    engine = Engine(SET)
    assert change(engine, R=R, S=S, T=T) == {(1, 3, 3, 5): 1}
    assert change(engine, S={(2, 3, 6): 2}) == {}
    assert change(engine, T={(4, 9): 3}) == {(1, 3, 3, 4): 1}
    assert change(engine, R={(1, 1): 1}) == {}
    assert engine.count() == 2
    assert change(engine, T={(4, 9): -2}) == {}
    assert change(engine, T={(4, 9): -1}) == {(1, 3, 3, 4): -1}
    assert delta(engine.enumerate().read_all()) == {(1, 3, 3, 5): 1}


# --- the GMR examples: what a query engine can be asked of them -------------------------------------------------------


def pairs(text: str, left: Gmr, right: Gmr, columns: dict[str, tuple[str, ...]]) -> Gmr:
    """The join of two GMRs by the engine, as a GMR over the fields of the pattern, by deltas and by pull."""
    plan = cep.compile(text)["P"]
    engine = Engine(plan)

    def batch(gmr: Gmr, names: tuple[str, ...]) -> pa.Table:
        rows = [row for row, n in gmr.items() for _ in range(n)]
        return pa.table({name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate(names)})

    (a, a_names), (b, b_names) = columns.items()
    found = engine.push({a: batch(left, a_names), b: batch(right, b_names)}).read_all()
    names = [field.name for field in plan.fields]
    net = Counter(tuple(row[name] for name in names) for row in found.to_pylist())
    assert net == Counter(tuple(row[name] for name in names) for row in engine.enumerate().read_all().to_pylist())
    assert engine.count() == net.total()
    return dict(net)


def test_figure_4_1_inequality_join_multiplies() -> None:
    r: Gmr = {(1, 2, 2): 2, (2, 4, 6): 3, (1, 2, 3): 3}
    s: Gmr = {(4, 5): 5, (2, 3): 4, (1, 4): 2}
    text = "STREAM R (x INT, y INT, z INT); STREAM S (u INT, v INT); PATTERN P AND(R r, S s) WHERE r.y < s.u UNBOUNDED;"
    found = pairs(text, r, s, {"R": ("x", "y", "z"), "S": ("u", "v")})
    assert found == {(1, 2, 2, 4, 5): 10, (1, 2, 3, 4, 5): 15}


def test_figure_4_1_projection_sums() -> None:
    plan = cep.compile("STREAM R (x INT, y INT, z INT); PATTERN P AND(R r) UNBOUNDED RETURN r.y AS y;")["P"]
    rows = [row for row, n in {(1, 2, 2): 2, (2, 4, 6): 3, (1, 2, 3): 3}.items() for _ in range(n)]
    batch = pa.table({name: [row[i] for row in rows] for i, name in enumerate("xyz")})
    found = Engine(plan).push(batch).read_all()
    assert Counter(found["y"].to_pylist()) == {2: 5, 4: 3}


def test_figure_3_1_join_by_its_definition() -> None:
    """The printed (a, b, c') has 15; by the definition it is 2 x 5 (erratum E1)."""
    text = (
        "STREAM R (a INT, b INT); STREAM T (a INT, c INT); "
        "PATTERN P AND(R r, T t) WHERE r.a = t.a UNBOUNDED RETURN r.a AS a, r.b AS b, t.c AS c;"
    )
    found = pairs(text, {(1, 1): 2, (2, 2): 3}, {(1, 1): 4, (1, 2): 5}, {"R": ("a", "b"), "T": ("a", "c")})
    assert found == {(1, 1, 1): 8, (1, 1, 2): 10}


def test_figure_4_1_sum_and_difference_of_updates() -> None:
    """S + T and S - T as one stream under updates; S - T would go negative, and that is refused."""
    s: Gmr = {(4, 5): 5, (2, 3): 4, (1, 4): 2}
    t: Gmr = {(4, 5): -4, (2, 1): 6, (1, 4): 3}
    plan = cep.compile("STREAM T (u INT, v INT); PATTERN P AND(T t) UNBOUNDED;")["P"]

    def content(engine: Engine) -> Gmr:
        return dict(Counter((row["t.u"], row["t.v"]) for row in engine.enumerate().read_all().to_pylist()))

    engine = Engine(plan)
    engine.push(table("T", s)).read_all()
    engine.push(table("T", t, signed=True)).read_all()
    assert content(engine) == {(4, 5): 1, (2, 3): 4, (1, 4): 5, (2, 1): 6}
    engine.push(table("T", {row: -n for row, n in t.items()}, signed=True)).read_all()
    assert content(engine) == s
    with pytest.raises(ValueError, match="cannot delete an event that is not there"):
        engine.push(table("T", {row: -n for row, n in t.items()}, signed=True))
    assert content(engine) == s

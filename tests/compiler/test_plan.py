"""Plans: keys, columns, indexes, the order of triggers; what DISTINCT only asks for."""

from __future__ import annotations

import pytest

from cep.ir.plan import Plan, Probe, Step
from tests.compiler.patterns import plan, texts

CARD_TESTING = "SEQ(T s1, T s2, T l) WHERE s1.p < 100 AND s2.p < 100 AND l.p > 400 PARTITION BY k WITHIN 1 HOUR"


def edges(found: Plan) -> dict[tuple[str, str], tuple[list[str], bool]]:
    return {(edge.parent, edge.child): (texts(edge.predicates), edge.chain) for edge in found.edges}


def chains(found: Plan) -> dict[tuple[str, str], bool]:
    return {(edge.parent, edge.child): edge.chain for edge in found.edges}


def steps(found: Plan, var: str) -> tuple[Step, ...]:
    return next(trigger.steps for trigger in found.triggers if trigger.var == var)


def order(found: Plan, var: str) -> list[str]:
    return [step.var for step in steps(found, var)]


def ranges(found: Plan, trigger: str, var: str) -> list[str]:
    step = next(step for step in steps(found, trigger) if step.var == var)
    return [f"{r.op} {r.bound}" for r in step.ranges]


# --- partition keys ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("SEQ(T a, T b) WHERE a.k = b.k", {"T": ("k",)}),
        ("SEQ(T a, T b, T c) PARTITION BY k, g", {"T": ("k", "g")}),
        ("SEQ(T a, V b) WHERE a.k = b.k", {"T": ("k",), "V": ("k",)}),
        ("SEQ(T a, V b, T c) WHERE a.k = b.k AND b.k = c.k AND a.g = c.g", {"T": ("k",), "V": ("k",)}),
        ("SEQ(T a, V b) WHERE a.x = b.x AND a.k = b.k", {"T": ("k", "x"), "V": ("k", "x")}),
        ("SEQ(T a, V b) WHERE a.y = b.x", {"T": ("y",), "V": ("x",)}),
        # Either attribute of `a` would do; only one of them is that of `b`.
        ("SEQ(T a, T b) WHERE a.x = b.y AND a.y = b.y", {"T": ("y",)}),
        ("SEQ(T a, T b) WHERE a.x = b.y", None),
        ("SEQ(T a, T b, T c) WHERE a.k = b.k AND b.g = c.g", None),
        ("SEQ(T a, T b) WHERE a.x < b.x", None),
        ("SEQ(T a, T b) WHERE LOWER(a.k) = LOWER(b.k)", None),
        # A hash of 1 and of 1.0 need not agree.
        ("SEQ(T a, T b) WHERE a.x = b.p", None),
        ("SEQ(T a, V b) WHERE a.p = b.q", {"T": ("p",), "V": ("q",)}),
    ],
)
def test_partition_key(text: str, key: dict[str, tuple[str, ...]] | None) -> None:
    found = plan(f"{text} WITHIN 1 HOUR").partition_key
    assert (None if found is None else dict(found)) == key


# --- leaves --------------------------------------------------------------------------------------------------------


def test_leaves_keep_what_joins_checks_and_outputs_need() -> None:
    found = plan("SEQ(T a, T b) WHERE a.k = b.k AND a.x <> b.y AND a.f AND b.g = 'x' WITHIN 1 HOUR RETURN b.p AS p")
    assert {leaf.var: [name for name, _ in leaf.columns] for leaf in found.leaves} == {
        "a": ["ts", "k", "x"],
        "b": ["ts", "k", "y", "p"],
    }
    assert [name for name, _ in found.needed_columns("T")] == ["ts", "k", "g", "x", "y", "p", "f"]


def test_joined_and_compared_values_must_not_be_null() -> None:
    found = plan("AND(W a, W b) WHERE a.k = b.k AND a.x < b.y + 1 UNBOUNDED RETURN a.x AS x")
    assert {leaf.var: texts(leaf.filter) for leaf in found.leaves} == {
        "a": ["NOT a.k IS NULL", "NOT a.x IS NULL"],
        "b": ["NOT b.k IS NULL", "NOT b.y + 1 IS NULL"],
    }


def test_a_window_asks_for_a_time() -> None:
    found = plan("AND(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR RETURN a.x AS x")
    assert all(f"NOT {leaf.var}.ts IS NULL" in texts(leaf.filter) for leaf in found.leaves)


def test_general_predicates_ask_for_nothing() -> None:
    found = plan("AND(W a, W b) WHERE a.x <> b.x UNBOUNDED RETURN a.x AS x")
    assert [leaf.filter for leaf in found.leaves] == [(), ()]


# --- indexes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "sort", "bounds", "checks"),
    [
        ("SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR", ["a.k"], "a.ts", ["< b.ts"], []),
        ("AND(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR", ["a.k"], "a.ts", [], []),
        ("SEQ(T a, T b) WHERE a.k = b.k AND a.x < b.x WITHIN 1 HOUR", ["a.k"], "a.ts", ["< b.ts"], ["a.x < b.x"]),
        (
            "AND(W a, W b) WHERE a.u < b.u AND b.u <= a.u + 5 MINUTES UNBOUNDED",
            [],
            "a.u",
            ["< b.u", ">= b.u - 5 MINUTES"],
            [],
        ),
        ("AND(W a, W b) WHERE a.x < b.y UNBOUNDED", [], "a.x", ["< b.y"], []),
        ("AND(W a, W b) WHERE a.x * 2 < b.y AND b.x <= a.x * 2 UNBOUNDED", [], "a.x * 2", ["< b.y", ">= b.x"], []),
        ("AND(W a, W b) WHERE a.x < b.y AND a.y < b.y UNBOUNDED", [], "a.x", ["< b.y"], ["a.y < b.y"]),
        ("AND(W a, W b) WHERE a.u + 1 HOUR < b.u UNBOUNDED", [], "a.u", ["< b.u - 1 HOUR"], []),
        ("AND(W a, W b) WHERE a.k = b.k AND a.x <> b.x UNBOUNDED", ["a.k"], "None", [], ["a.x <> b.x"]),
        ("AND(T a, T b) WHERE a.x < b.x UNBOUNDED", [], "a.x", ["< b.x"], []),
        ("SEQ(T a, T b) WHERE a.x < b.x UNBOUNDED", [], "a.ts", ["< b.ts"], ["a.x < b.x"]),
    ],
)
def test_how_an_earlier_event_is_found(
    text: str, key: list[str], sort: str, bounds: list[str], checks: list[str]
) -> None:
    """The index serves equalities, the window and one range; what it cannot serve is checked."""
    found = plan(text)
    (step,) = steps(found, "b")
    used = found.indexes[step.index]
    assert (list(used.key), str(used.sort)) == (key, sort)
    assert ranges(found, "b", "a") == bounds
    assert texts(step.checks) == checks


def test_triggers_share_indexes() -> None:
    found = plan(CARD_TESTING)
    assert len(set(found.indexes)) == len(found.indexes) == 3


# --- roots, order, chains ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("SEQ(T a, T b, T c) PARTITION BY k WITHIN 1 HOUR", "c"),
        ("AND(T c, T b, T a) WHERE a.ts < b.ts AND b.ts < c.ts PARTITION BY k WITHIN 1 HOUR", "c"),
        ("SEQ(T a, AND(T b, T c), T d) PARTITION BY k WITHIN 1 HOUR", "d"),
        ("AND(SEQ(T a, T b), T c) PARTITION BY k WITHIN 1 HOUR", "b"),
        # A margin does not make it any less a later event, and a band does not make it one.
        ("SEQ(T a, T b, T c) WHERE c.ts > b.ts + 5 MINUTES PARTITION BY k WITHIN 1 HOUR", "c"),
        ("SEQ(T a, T b, T c) WHERE b.ts > a.ts + 5 MINUTES PARTITION BY k WITHIN 1 HOUR", "c"),
        ("SEQ(T a, T b, T c) WHERE c.ts < b.ts + 5 MINUTES PARTITION BY k WITHIN 1 HOUR", "c"),
        ("SEQ(T a, T b, T c) WHERE c.ts = a.ts + 5 MINUTES PARTITION BY k WITHIN 1 HOUR", "c"),
        ("SEQ(T a, T b, T c) WHERE a.x > b.x AND b.x > c.x PARTITION BY k WITHIN 1 HOUR", "c"),
        # Without times, larger values are taken to come later.
        ("AND(W a, W b, W c) WHERE b.x < c.x AND c.y < a.y UNBOUNDED", "a"),
    ],
)
def test_the_root_is_the_last_event(text: str, root: str) -> None:
    found = plan(text)
    assert found.root == root
    assert found.triggers[-1].var == root


def test_a_trigger_walks_the_tree_away_from_its_event() -> None:
    found = plan("SEQ(T a, T b, T c, T d) PARTITION BY k WITHIN 1 HOUR")
    assert {t.var: order(found, t.var) for t in found.triggers} == {
        "a": ["b", "c", "d"],
        "b": ["c", "d", "a"],
        "c": ["d", "b", "a"],
        "d": ["c", "b", "a"],
    }
    assert [t.var for t in found.triggers] == ["a", "b", "c", "d"]


TIME_ONLY = {("c", "b"): True, ("b", "a"): True}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SEQ(T a, T b, T c) PARTITION BY k WITHIN 1 HOUR", TIME_ONLY),
        ("SEQ(T a, T b, T c) PARTITION BY k UNBOUNDED", TIME_ONLY),
        ("SEQ(T a, T b, T c) WITHIN 1 HOUR", TIME_ONLY),
        ("SEQ(T a, T b, T c) WHERE a.x > 5 AND c.x < 3 PARTITION BY k WITHIN 1 HOUR", TIME_ONLY),
        ("SEQ(T a, T b, T c) WHERE c.ts > b.ts + 5 MINUTES PARTITION BY k WITHIN 1 HOUR", TIME_ONLY),
        ("SEQ(T a, T b, T c) WHERE b.ts < a.ts + 2 HOURS PARTITION BY k WITHIN 1 HOUR", TIME_ONLY),
        ("AND(T a, T b, T c) WHERE a.ts <= b.ts AND b.ts <= c.ts PARTITION BY k WITHIN 1 HOUR", TIME_ONLY),
        # A band leaves rows without partners between those that have some: nothing rises.
        (
            "SEQ(T a, T b, T c) WHERE b.ts < a.ts + 5 MINUTES PARTITION BY k WITHIN 1 HOUR",
            {("c", "b"): False, ("b", "a"): False},
        ),
        # A value compared: only below it can best starts still rise.
        (
            "SEQ(T a, T b, T c) WHERE c.x > b.x PARTITION BY k WITHIN 1 HOUR",
            {("c", "b"): False, ("b", "a"): True},
        ),
        (
            "SEQ(T a, T b, T c) WHERE b.x > a.x PARTITION BY k WITHIN 1 HOUR",
            {("c", "b"): False, ("b", "a"): False},
        ),
        (
            "SEQ(T a, T b, T c) WHERE b.x <> a.x PARTITION BY k WITHIN 1 HOUR",
            {("c", "b"): False, ("b", "a"): False},
        ),
        # The rows of one group of `b` lead to different groups of `a`.
        (
            "SEQ(T a, T b, T c) WHERE a.k = b.k AND b.g = c.g WITHIN 1 HOUR",
            {("c", "b"): False, ("b", "a"): True},
        ),
        # A finer group above than below is fine.
        (
            "SEQ(T a, T b, T c) WHERE a.k = b.k AND b.k = c.k AND b.g = c.g WITHIN 1 HOUR",
            TIME_ONLY,
        ),
        ("AND(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR", {("b", "a"): False}),
        # Times that are not the event time do not count.
        ("AND(T a, T b) WHERE a.u < b.u AND a.k = b.k WITHIN 1 HOUR", {("b", "a"): False}),
        ("AND(W a, W b) WHERE a.u < b.u AND a.k = b.k UNBOUNDED", {("b", "a"): False}),
        # Said of `r`, but through r.y = p.y it lies between `q` and `p`.
        (
            "SEQ(AND(T q, T r), T p) WHERE q.k = p.k AND r.k = p.k AND r.y = p.y AND q.x < r.y WITHIN 1 HOUR",
            {("p", "q"): False, ("p", "r"): True},
        ),
    ],
)
def test_chains_are_where_only_time_orders_two_steps_of_one_key(
    text: str, expected: dict[tuple[str, str], bool]
) -> None:
    found = plan(text)
    assert chains(found) == expected
    for trigger in found.triggers:
        for step in trigger.steps:
            assert step.chain == expected.get((step.via, step.var), False)


def test_a_cyclic_plan_has_no_chains() -> None:
    found = plan("SEQ(T a, T b, T c) WHERE a.x = b.x AND b.y = c.y AND a.k = c.k WITHIN 1 HOUR")
    assert not found.verdict.acyclic
    assert not any(edge.chain for edge in found.edges)


# --- conditions on their edges -------------------------------------------------------------------------------------


def test_a_condition_is_said_of_the_two_atoms_of_its_edge() -> None:
    found = plan("SEQ(AND(T q, T r), T p) WHERE q.k = p.k AND r.k = p.k AND r.y = p.y AND q.x < r.y WITHIN 1 HOUR")
    assert edges(found) == {("p", "r"): (["r.ts < p.ts"], True), ("p", "q"): (["q.ts < p.ts", "q.x < p.y"], False)}


def test_a_predicate_of_three_variables_is_an_inequality_where_equalities_make_it_one() -> None:
    found = plan("AND(W a, W b, W c) WHERE a.y = b.y AND a.k = b.k AND b.k = c.k AND a.y + b.x < c.x UNBOUNDED")
    assert edges(found)["c", "b"] == (["b.y + b.x < c.x"], False)
    assert ranges(found, "c", "b") == ["< c.x"]
    assert not any(step.checks for trigger in found.triggers for step in trigger.steps)


def test_conditions_that_equalities_make_one_are_one() -> None:
    found = plan("AND(W a, W b, W c) WHERE a.x = b.x AND a.x < c.y AND b.x < c.y UNBOUNDED")
    assert sum(len(edge.predicates) for edge in found.edges) == 1


# --- DISTINCT ------------------------------------------------------------------------------------------------------


def exists(found: Plan, var: str) -> list[str]:
    return [step.var for step in steps(found, var) if isinstance(step, Probe)]


def test_what_distinct_does_not_return_is_only_asked_for_along_chains() -> None:
    found = plan("SEQ(T a, T b, T c) PARTITION BY k WITHIN 1 HOUR RETURN DISTINCT c.k AS k")
    assert {t.var: exists(found, t.var) for t in found.triggers} == {"a": [], "b": ["a"], "c": ["b"]}
    assert order(found, "c") == ["b"]


def test_a_returned_variable_is_bound_with_all_above_it() -> None:
    found = plan("SEQ(T a, T b, T c) PARTITION BY k WITHIN 1 HOUR RETURN DISTINCT a.x AS x")
    assert exists(found, "c") == []
    assert order(found, "c") == ["b", "a"]


def test_without_a_window_a_neighbour_with_one_range_is_only_asked_for() -> None:
    found = plan("AND(W a, W b) WHERE a.k = b.k AND a.x < b.x UNBOUNDED RETURN DISTINCT b.k AS k")
    assert (exists(found, "a"), exists(found, "b")) == ([], ["a"])


def test_what_has_to_be_checked_is_bound() -> None:
    found = plan("AND(W a, W b) WHERE a.k = b.k AND a.x <> b.x UNBOUNDED RETURN DISTINCT b.k AS k")
    assert exists(found, "b") == []


def test_existence_is_asked_last() -> None:
    found = plan(
        "SEQ(AND(T a, T b), T c) WHERE a.k = c.k AND b.k = c.k AND a.x < c.x WITHIN 1 HOUR RETURN DISTINCT c.k AS k"
    )
    assert [(step.var, isinstance(step, Probe)) for step in steps(found, "c")] == [("a", False), ("b", True)]


def test_existence_does_not_lose_a_condition_said_of_another_variable() -> None:
    """`q.x < r.y` lies between `q` and `p`; asking for `q` and for `r` apart would forget it."""
    found = plan(
        "SEQ(AND(T q, T r), T p) WHERE q.k = p.k AND r.k = p.k AND r.y = p.y AND q.x < r.y WITHIN 1 HOUR "
        "RETURN DISTINCT p.k AS k"
    )
    assert [(s.var, isinstance(s, Probe), texts(s.checks)) for s in steps(found, "p")] == [
        ("q", False, ["q.x < p.y"]),
        ("r", True, []),
    ]


@pytest.mark.parametrize(
    ("text", "merges"),
    [
        ("AND(W a, W b) WHERE a.k = b.k AND a.x < b.x UNBOUNDED RETURN DISTINCT a.k AS k, a.x AS x, b.x AS y", False),
        ("AND(W a, W b) WHERE a.k = b.k AND a.x < b.x UNBOUNDED RETURN a.k AS k", False),
        ("AND(W a, W b) WHERE a.k = b.k AND a.x < b.x UNBOUNDED RETURN DISTINCT a.x AS x, b.x AS y", True),
        (
            "AND(W a, W b) WHERE a.k = b.k AND a.x < b.x UNBOUNDED RETURN DISTINCT a.k AS k, a.x + 0 AS x, b.x AS y",
            True,
        ),
        ("SEQ(T a, T b) PARTITION BY k WITHIN 1 HOUR RETURN DISTINCT a.k AS k, a.ts AS t, b.ts AS u", False),
        ("SEQ(T a, T b) PARTITION BY k WITHIN 1 HOUR RETURN DISTINCT a.k AS k, b.ts AS u", True),
        ("AND(W a, W b) WHERE a.k = b.k UNBOUNDED RETURN DISTINCT b.k AS k, b.x AS x", True),
        ("AND(T a, T b) WHERE a.x = b.p UNBOUNDED RETURN DISTINCT a.ts AS t, b.ts AS u, b.p AS p", True),
        ("AND(T a, T b) WHERE a.x = b.p UNBOUNDED RETURN DISTINCT a.ts AS t, a.x AS x, b.ts AS u, b.p AS p", False),
    ],
)
def test_a_distinct_output_merges_what_it_leaves_out(text: str, merges: bool) -> None:
    assert plan(text).merges == merges


def test_without_distinct_nothing_is_only_asked_for() -> None:
    found = plan("SEQ(T a, T b, T c) PARTITION BY k WITHIN 1 HOUR RETURN c.k AS k")
    assert not any(isinstance(step, Probe) for trigger in found.triggers for step in trigger.steps)

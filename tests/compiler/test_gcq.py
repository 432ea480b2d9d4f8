"""From conditions to a query: what is unified, what is a filter, what stays between atoms."""

from __future__ import annotations

import pytest

from cep.ir.gcq import GCQ
from cep.ir.types import Type
from tests.compiler.patterns import query, texts


def joins(found: GCQ) -> dict[str, dict[str, str]]:
    """Join variables by name, with what each atom contributes."""
    return {v.name: {atom: str(expr) for atom, expr in v.members} for v in found.variables if v.joins}


def filters(found: GCQ) -> dict[str, list[str]]:
    return {atom.name: texts(atom.filters) for atom in found.atoms if atom.filters}


def between(found: GCQ) -> tuple[list[str], list[str]]:
    return texts(found.inequalities), texts(found.predicates)


# --- unification ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        "a.k = b.k AND b.k = c.k",
        "b.k = c.k AND a.k = b.k",
        "c.k = b.k AND c.k = a.k",
        "a.k = b.k AND b.k = c.k AND c.k = a.k",
    ],
)
def test_a_chain_of_equalities_is_one_variable(written: str) -> None:
    found = query(f"AND(W a, W b, W c) WHERE {written} UNBOUNDED")
    assert joins(found) == {"a.k": {"a": "a.k", "b": "b.k", "c": "c.k"}}
    assert filters(found) == {}
    assert between(found) == ([], [])


def test_two_chains_meet() -> None:
    found = query("AND(W a, W b, W c, W d) WHERE a.x = b.x AND c.x = d.x AND d.x = b.x UNBOUNDED")
    assert joins(found) == {"a.x": {"a": "a.x", "b": "b.x", "c": "c.x", "d": "d.x"}}


def test_partition_by_is_equality_of_all() -> None:
    found = query("AND(T a, T b, T c) PARTITION BY k, g UNBOUNDED")
    assert joins(found) == {
        "a.k": {"a": "a.k", "b": "b.k", "c": "c.k"},
        "a.g": {"a": "a.g", "b": "b.g", "c": "c.g"},
    }


def test_two_attributes_of_one_atom_in_one_class_are_a_filter_there() -> None:
    found = query("AND(W a, W b) WHERE a.x = b.x AND a.y = b.x UNBOUNDED")
    assert joins(found) == {"a.x": {"a": "a.x", "b": "b.x"}}
    assert filters(found) == {"a": ["a.x = a.y"]}
    assert found.shape.atoms[0].variables == {"a.x", "a.k", "a.p", "a.u"}


def test_a_computed_equality_is_a_join_variable_of_its_own() -> None:
    found = query("AND(W a, W b) WHERE a.x * 2 = b.x UNBOUNDED")
    assert joins(found) == {"b.x": {"a": "a.x * 2", "b": "b.x"}}
    assert {"a.x", "b.x"} <= found.shape.atoms[0].variables


def test_a_join_on_computed_sides_only_is_named_after_one_of_them() -> None:
    found = query("AND(W a, W b) WHERE LOWER(a.k) = LOWER(b.k) UNBOUNDED")
    assert joins(found) == {"LOWER(a.k)": {"a": "LOWER(a.k)", "b": "LOWER(b.k)"}}


def test_int_meets_double_as_double() -> None:
    found = query("AND(W a, W b) WHERE a.x = b.p UNBOUNDED")
    (variable,) = (v for v in found.variables if v.joins)
    assert (variable.name, variable.type) == ("b.p", Type.DOUBLE)
    assert {expr.type for _, expr in variable.members} == {Type.DOUBLE}
    # Large INTs meet as one DOUBLE, so the INT itself stays a variable of its own.
    assert {"a.x", "b.p"} <= found.shape.atoms[0].variables


def test_names_are_unique_where_a_cast_is_written_like_its_attribute() -> None:
    found = query("AND(W a, W b) WHERE a.x = b.p * 2 UNBOUNDED")
    names = [v.name for v in found.variables]
    assert len(set(names)) == len(names)
    assert joins(found) == {"b.p * 2.0": {"a": "a.x", "b": "b.p * 2.0"}}
    assert not found.shape.atoms[0].variables & found.shape.atoms[1].variables - {"b.p * 2.0"}


def test_equality_of_times_with_a_margin_is_a_join() -> None:
    found = query("AND(T a, T b) WHERE b.ts - a.ts = 5 MINUTES UNBOUNDED")
    assert joins(found) == {"b.ts": {"a": "a.ts + 5 MINUTES", "b": "b.ts"}}


@pytest.mark.parametrize(
    "condition", ["a.x = 5", "a.x = a.y", "a.k = 'x' OR b.k = 'x'", "a.x + b.x = b.y", "a.x <> b.x"]
)
def test_other_conditions_unify_nothing(condition: str) -> None:
    assert joins(query(f"AND(W a, W b) WHERE {condition} UNBOUNDED")) == {}


# --- filters -------------------------------------------------------------------------------------------------------


def test_a_filter_on_a_join_attribute_holds_for_all_that_share_it() -> None:
    found = query("AND(W a, W b, W c) WHERE a.k = b.k AND b.k = c.k AND a.k <> 'test' AND a.x > 5 UNBOUNDED")
    assert filters(found) == {
        "a": ["a.k <> 'test'", "a.x > 5"],
        "b": ["b.k <> 'test'"],
        "c": ["c.k <> 'test'"],
    }


def test_a_filter_is_copied_onto_computed_members() -> None:
    found = query("AND(W a, W b) WHERE a.x = b.x + 1 AND a.x > 5 UNBOUNDED")
    assert filters(found) == {"a": ["a.x > 5"], "b": ["b.x + 1 > 5"]}


def test_a_filter_on_an_int_is_not_copied_to_the_double_it_meets() -> None:
    found = query("AND(W a, W b) WHERE a.x = b.p AND a.x % 2 = 0 UNBOUNDED")
    assert filters(found) == {"a": ["a.x % 2 = 0"]}


def test_a_copied_filter_that_says_nothing_is_left_out() -> None:
    found = query("AND(W a, W b) WHERE a.y = b.y AND a.x = b.y UNBOUNDED")
    assert filters(found) == {"a": ["a.y = a.x"]}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.x < b.y", {"b": ["b.x < b.y"]}),
        ("a.x + b.y > 7", {"b": ["b.x + b.y > 7"]}),
        ("a.x <> b.y", {"b": ["b.x <> b.y"]}),
        ("(a.x = 1 OR b.y = 2)", {"b": ["b.x = 1 OR b.y = 2"]}),
        ("a.x < b.x + 1", {"a": ["a.x < a.x + 1"], "b": ["b.x < b.x + 1"]}),
    ],
)
def test_a_predicate_that_one_atom_can_decide_is_its_filter(condition: str, expected: dict[str, list[str]]) -> None:
    found = query(f"AND(W a, W b) WHERE a.x = b.x AND {condition} UNBOUNDED")
    assert filters(found) == expected
    assert between(found) == ([], [])


# --- inequalities and general predicates ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a.x < b.x", "a.x < b.x"),
        ("a.x > b.x", "b.x < a.x"),
        ("a.x >= b.y", "b.y <= a.x"),
        ("NOT a.x < b.x", "b.x <= a.x"),
        ("b.p > a.p * 2", "a.p * 2.0 < b.p"),
        ("a.x + a.y <= b.x * b.y", "a.x + a.y <= b.x * b.y"),
        ("b.u - a.u < 1 HOUR", "b.u < a.u + 1 HOUR"),
        ("a.k < b.k", "a.k < b.k"),
    ],
)
def test_comparisons_with_one_variable_a_side_are_inequalities(written: str, expected: str) -> None:
    assert between(query(f"AND(W a, W b) WHERE {written} UNBOUNDED")) == ([expected], [])


@pytest.mark.parametrize(
    "written",
    [
        "a.x <> b.x",
        "a.x + b.x < 5",
        "a.x = 1 OR b.x = 2",
        "a.x + b.x < c.x",
        "a.x + b.x = c.x",
        "b.x IN (a.x, a.y)",
        "ABS(a.x - b.x) < 10",
        "a.x * b.x > a.y",
    ],
)
def test_everything_else_is_a_general_predicate(written: str) -> None:
    assert between(query(f"AND(W a, W b, W c) WHERE {written} UNBOUNDED")) == ([], [written])


def test_predicates_are_named_in_the_order_of_inequalities_and_predicates() -> None:
    found = query("AND(W a, W b, W c) WHERE a.x <> b.x AND a.x < b.y AND b.y < c.y UNBOUNDED")
    assert {p.name: (str(found.theta(p.name)), p.variables) for p in found.shape.predicates} == {
        "theta0": ("a.x < b.y", {"a.x", "b.y"}),
        "theta1": ("b.y < c.y", {"b.y", "c.y"}),
        "theta2": ("a.x <> b.x", {"a.x", "b.x"}),
    }


def test_predicates_mention_unified_variables() -> None:
    """Else the query would look cyclic: a, b and c would be compared in a circle."""
    found = query("AND(W a, W b, W c) WHERE a.x = b.x AND a.x < c.y AND b.x <= c.p UNBOUNDED")
    assert [p.variables for p in found.shape.predicates] == [{"a.x", "c.y"}, {"a.x", "c.p"}]


# --- output --------------------------------------------------------------------------------------------------------


def test_the_output_is_everything_without_distinct() -> None:
    found = query("AND(W a, W b) WHERE a.k = b.k UNBOUNDED RETURN a.x AS x")
    assert set(found.output) == {v.name for v in found.variables} == found.shape.output


def test_the_output_of_distinct_is_what_its_fields_use() -> None:
    found = query("AND(W a, W b) WHERE a.k = b.k UNBOUNDED RETURN DISTINCT b.k AS k, a.x + b.y AS s")
    assert found.output == ("a.k", "a.x", "b.y")


def test_every_atom_has_all_attributes_of_its_stream() -> None:
    found = query("AND(W a, V b) WHERE a.k = b.k UNBOUNDED")
    assert {atom.name: set(atom.variables) for atom in found.shape.atoms} == {
        "a": {"a.k", "a.x", "a.y", "a.p", "a.u"},
        "b": {"a.k", "b.at", "b.x", "b.q"},
    }

"""The plans of alternatives as one: what they share, in which order it is applied, and what is said of all."""

from __future__ import annotations

import pickle

import pytest

import cep
from cep.compiler.pipeline import compile_source
from cep.ir.plan import Plan
from cep.source import Source
from runtime.spark.flow.unpack import key_fields
from runtime.spark.state import plan_codec

STREAMS = "\n".join(f"STREAM {name} (ts TIMESTAMP, k INT, j INT, x INT) TIMESTAMP BY ts;" for name in "ABCD")


def planned(body: str) -> Plan:
    (plan,) = cep.compile(f"{STREAMS} PATTERN P {body};").values()
    return plan


def leaves(body: str) -> list[str]:
    return [leaf.var for leaf in planned(body).leaves]


BY_K = "PARTITION BY k WITHIN 1 HOUR"


@pytest.mark.parametrize(
    ("body", "names"),
    [
        (f"SEQ(A a, OR(B b, C c), D d) {BY_K}", ["a", "b", "c", "d"]),
        (f"OR(SEQ(A a, B b), SEQ(B b, A a)) {BY_K}", ["a", "b"]),
        (f"SEQ(A a, OR(B x, C x)) {BY_K}", ["a", "x", "x·2"]),
        (f"SEQ(A a, B? b, C c) {BY_K}", ["a", "b", "c", "c·2"]),
        (f"SEQ(OR(A a, B b), NOT D d, C c) {BY_K}", ["a", "b", "c", "d"]),
        ("SEQ(A a, OR(B b, C c)) WHERE a.k = b.k AND a.j = c.j WITHIN 1 HOUR", ["a", "b", "a·2", "c"]),
    ],
)
def test_a_leaf_is_shared_where_name_stream_filter_and_waiting_agree(body: str, names: list[str]) -> None:
    assert leaves(body) == names


def test_a_shared_leaf_keeps_what_any_alternative_needs() -> None:
    plan = planned(f"SEQ(A a, OR(B b, C c)) WHERE b.x < a.x + a.j {BY_K} RETURN b.x AS x")
    assert [name for name, _ in plan.leaf("a").columns] == ["ts", "k", "j", "x"]
    for part in plan.branches:
        assert part.leaf("a").columns == plan.leaf("a").columns
        assert part.indexes == plan.indexes


def test_leaves_of_one_variable_and_stream_keep_the_same_for_one_id() -> None:
    plan = planned("OR(SEQ(A a, B b), SEQ(A a, NOT C c, B b)) PARTITION BY k WITHIN 1 HOUR RETURN a.x AS x")
    assert plan.leaf("b").columns == plan.leaf("b·2").columns


def test_keys_with_a_member_in_common_are_one_and_so_are_their_indexes() -> None:
    plan = planned(f"SEQ(A a, OR(B b, C c), D d) {BY_K}")
    assert [sorted(var for var, _ in key.members) for key in plan.keys] == [["a", "b", "c", "d"]]
    assert sorted(index.var for index in plan.indexes) == ["a", "b", "c", "d"]


def test_keys_of_different_attributes_stay_two() -> None:
    plan = planned("SEQ(A a, OR(B b, C c)) WHERE a.k = b.k AND a.j = c.j WITHIN 1 HOUR")
    assert [[str(expr) for _, expr in key.members] for key in plan.keys] == [["a.k", "b.k"], ["a·2.j", "c.j"]]


def test_every_alternative_is_applied_in_its_own_order() -> None:
    plan = planned(f"OR(SEQ(A a, B b, C c), SEQ(A a, D d, C c), SEQ(B b, D d)) {BY_K}")
    assert plan.order == ("a", "b", "d", "c")


def test_leaves_that_wait_keep_the_order_of_their_alternative() -> None:
    """In the first, a is before b; in the second, b before a: what waits is then not shared."""
    body = "OR(SEQ(NOT D m, A a, NOT D n, B b), SEQ(NOT D m, B b, NOT D n, A a))"
    plan = planned(f"{body} {BY_K}")
    for part in plan.branches:
        held = [leaf.var for leaf in part.leaves if leaf.hold is not None and leaf.var in part.order]
        assert len(held) == 2
        places = [plan.order.index(var) for var in part.order if var in held]
        assert places == sorted(places)


# --- what is said of all -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (f"SEQ(A a, OR(B b, C c)) {BY_K}", {"A": ("k",), "B": ("k",), "C": ("k",)}),
        ("SEQ(A a, OR(B b, C c)) WHERE a.k = b.j AND a.k = c.k WITHIN 1 HOUR", {"A": ("k",), "B": ("j",), "C": ("k",)}),
        ("SEQ(A a, OR(B b, C c)) WHERE a.k = b.k AND a.j = c.j WITHIN 1 HOUR", None),
        (
            "SEQ(A a, OR(B b, C c)) WHERE a.k = b.k AND a.j = b.j AND a.j = c.j WITHIN 1 HOUR",
            {"A": ("j",), "B": ("j",), "C": ("j",)},
        ),
        (f"OR(A a, SEQ(B b, C c)) {BY_K}", {"A": ("k",), "B": ("k",), "C": ("k",)}),
        ("OR(A a, SEQ(B b, C c)) WHERE b.k = c.k WITHIN 1 HOUR", None),
        ("OR(B a, SEQ(B b, C c)) WHERE b.k = c.k WITHIN 1 HOUR", {"B": ("k",), "C": ("k",)}),
        ("OR(A a, B b) WITHIN 1 HOUR", None),
    ],
)
def test_the_partition_key_is_one_of_every_alternative(body: str, key: dict[str, tuple[str, ...]] | None) -> None:
    found = planned(body).partition_key
    assert (None if found is None else dict(found)) == key


def test_without_a_common_key_the_finding_says_so() -> None:
    text = f"{STREAMS} PATTERN P SEQ(A a, OR(B b, C c)) WHERE a.k = b.k AND a.j = c.j WITHIN 1 HOUR;"
    assert "CEP0503" in {item.code for item in compile_source(Source("p.cep", text)).diagnostics}


def test_a_field_carries_the_key_of_matches_if_it_does_in_every_alternative() -> None:
    fields = "RETURN b.k AS b, a.k AS a, COALESCE(b.k, c.k) AS both"
    assert key_fields(planned(f"SEQ(A a, OR(B b, C c)) {BY_K} {fields}")) == ("a",)
    assert key_fields(planned(f"SEQ(OR(B x, C x), A a) {BY_K} RETURN x.k AS x")) == ("x",)
    assert key_fields(planned(f"SEQ(A a, OR(B b, C c)) {BY_K} RETURN b.k AS b")) is None


def test_each_alternative_says_what_it_costs() -> None:
    said = planned(f"SEQ(A a, B? b, C c) {BY_K}").guarantees
    assert said.emission.startswith(
        "alternative 1: when its last event arrives; alternative 2: when its last event has"
    )
    assert planned(f"SEQ(A a, OR(B b, C c)) {BY_K}").guarantees.emission == "when its last event arrives"


# --- hashes, messages ----------------------------------------------------------------------------------------------


def test_the_meaning_changes_with_any_alternative() -> None:
    texts = [
        f"SEQ(A a, OR(B b, C c)) {BY_K}",
        f"SEQ(A a, OR(C c, B b)) {BY_K}",
        f"SEQ(A a, OR(B b, D c)) {BY_K}",
        f"SEQ(A a, OR(B b, C c)) WHERE c.x > 1 {BY_K}",
        f"SEQ(A a, B b) {BY_K}",
        f"SEQ(A a, B? b) {BY_K}",
    ]
    assert len({planned(text).meaning for text in texts}) == len(texts)
    assert len({planned(text).layout for text in texts}) == len(texts)


def test_a_condition_written_in_another_order_is_the_same_meaning() -> None:
    one = planned(f"SEQ(A a, OR(B b, C c)) WHERE b.x > 1 AND c.x > 2 {BY_K}")
    other = planned(f"SEQ(A a, OR(B b, C c)) WHERE 2 < c.x AND 1 < b.x {BY_K}")
    assert one.meaning == other.meaning


def test_a_plan_with_alternatives_reaches_executors_whole() -> None:
    plan = planned(f"SEQ(A a, B? b, OR(C c, D c)) {BY_K} RETURN DISTINCT STREAM_OF(c) AS s, b.x AS x")
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert plan_codec.decode(plan_codec.encode(plan)) == plan
    assert "alternative 4" in repr(plan)

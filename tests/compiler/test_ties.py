"""`ORDER BY`: what SEQ asks for, what follows from it and what is promised. Its meaning: the oracle and the corpus."""

from __future__ import annotations

import pytest

import cep
from cep.compiler.pipeline import compile_source
from cep.ir.plan import Plan, Probe
from cep.source import Source

STREAMS = """
STREAM S (ts TIMESTAMP, k STRING, seq INT) TIMESTAMP BY ts ORDER BY seq;
STREAM T (ts TIMESTAMP, k STRING, seq INT) TIMESTAMP BY ts;
"""


def plan(text: str) -> Plan:
    (found,) = cep.compile(f"{STREAMS}PATTERN P {text};").values()
    return found


def codes(text: str) -> list[str]:
    found = compile_source(Source("t", f"{STREAMS}PATTERN P {text};")).diagnostics
    return [item.code for item in found if item.code != "CEP0212"]


def between(found: Plan) -> list[list[str]]:
    return [list(map(str, edge.predicates)) for edge in found.edges]


def test_the_order_of_one_stream_is_that_of_time_and_attribute() -> None:
    found = plan("SEQ(S a, S b) PARTITION BY k WITHIN 1 HOUR")
    assert between(found) == [["a.ts <= b.ts", "a.ts < b.ts OR a.seq < b.seq"]]
    assert "seq" in dict(found.leaves[0].columns)


@pytest.mark.parametrize("body", ["SEQ(T a, T b)", "SEQ(S a, T b)", "SEQ(T a, S b)"])
def test_elsewhere_it_is_that_of_time(body: str) -> None:
    assert between(plan(f"{body} PARTITION BY k WITHIN 1 HOUR RETURN a.k AS k")) == [["a.ts < b.ts"]]


def test_best_starts_stay_usable_and_nothing_is_promised_that_ties_can_break() -> None:
    found = plan("SEQ(S a, S b, S c) PARTITION BY k WITHIN 1 HOUR")
    assert all(edge.chain for edge in found.edges)
    assert all(step.chain and step.checks for step in found.triggers[-1].steps)
    assert found.guarantees.delay.startswith("not constant")
    assert "at any window size" not in found.guarantees.update


def test_a_tie_is_never_taken_for_a_partner_by_asking_for_existence() -> None:
    found = plan("SEQ(S a, S b, S c) PARTITION BY k WITHIN 1 HOUR RETURN DISTINCT c.k AS k")
    assert not any(isinstance(step, Probe) for step in found.steps())


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("a.ts > b.ts", ["CEP0404"]),
        ("a.ts >= b.ts", []),
        ("a.ts = b.ts", []),
        ("a.ts = b.ts AND a.seq < b.seq", []),
        ("a.ts = b.ts AND a.seq >= b.seq", ["CEP0404"]),
        ("a.ts >= b.ts AND b.seq < a.seq", ["CEP0404"]),
        ("a.seq > b.seq", []),
    ],
)
def test_what_contradicts_the_order(where: str, expected: list[str]) -> None:
    assert codes(f"SEQ(S a, S b) WHERE {where} PARTITION BY k WITHIN 1 HOUR") == expected


def test_without_the_clause_equal_times_contradict_it() -> None:
    assert codes("SEQ(T a, T b) WHERE a.ts = b.ts PARTITION BY k WITHIN 1 HOUR") == ["CEP0404"]


def test_ordered_variables_are_different_events() -> None:
    assert "CEP0502" not in codes("SEQ(S a, AND(S b, T c), S d) PARTITION BY k WITHIN 1 HOUR")
    assert "CEP0502" in codes("AND(S a, S b) PARTITION BY k WITHIN 1 HOUR")


def test_a_window_that_conditions_imply_may_be_at_one_moment() -> None:
    assert plan("SEQ(S a, S b) WHERE a.ts = b.ts PARTITION BY k").window == 1


def test_the_plan_says_where_equal_times_have_no_order() -> None:
    assert plan("SEQ(T a, T b) PARTITION BY k WITHIN 1 HOUR").unordered == ("T",)
    assert plan("SEQ(S a, S b) PARTITION BY k WITHIN 1 HOUR").unordered == ()
    assert plan("SEQ(S a, T b) PARTITION BY k WITHIN 1 HOUR RETURN a.k AS k").unordered == ()
    (note,) = plan("SEQ(T a, T b) PARTITION BY k WITHIN 1 HOUR").notes
    assert "events of `T` at one moment have no order" in note

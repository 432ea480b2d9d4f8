"""FIRST, LAST and NEXT: which of the events that fit."""

from __future__ import annotations

from passes import judge
from test_gaps import STREAMS, gaps, pattern, texts

from cep import limits
from cep.ir.body import Absent, One, Select, Seq
from cep.source import Source

TAIL = "WITHIN 1 HOUR"


def test_first_and_last_are_said_of_the_step() -> None:
    found = pattern(f"PATTERN P SEQ(LAST(A a), First(B b), C c) {TAIL};")
    assert found.body == Seq((One("a", Select.LAST), One("b", Select.FIRST), One("c")))
    assert [variable.name for variable in found.variables] == ["a", "b", "c"]
    assert found.gaps == ()


def test_next_lets_no_event_of_the_pattern_come_between() -> None:
    found = pattern(f"PATTERN P SEQ(C x, NEXT(A a, B b), NOT C c) WHERE a.x > 5 AND b.i = 3 PARTITION BY k {TAIL};")
    between = tuple(Absent(f"a→b:{stream}") for stream in "CAB")
    assert found.body == Seq((One("x"), One("a"), *between, One("b"), Absent("c")))
    assert found.order == (("x", "a"), ("a", "b"))
    # Whatever WHERE says of events of these streams elsewhere, any of the same key interrupts.
    assert gaps(found) == {
        **{f"a→b:{stream}": [f"x.k = a→b:{stream}.k"] for stream in "CAB"},
        "c": ["x.k = c.k"],
    }
    assert texts(found.conditions) == ["a.x > 5.0", "b.i = 3", "x.k = a.k", "a.k = b.k"]
    assert not [name for name, _ in found.fields if "→" in name]


def test_without_a_key_any_event_interrupts() -> None:
    found = pattern(f"PATTERN P NEXT(A a, B b, A c) WHERE a.k = b.k AND b.k = c.k {TAIL};")
    assert [(gap.name, gap.conditions) for gap in found.gaps] == [
        ("a→b:A", ()),
        ("a→b:B", ()),
        ("b→c:A", ()),
        ("b→c:B", ()),
    ]


def test_streams_of_other_alternatives_interrupt_too() -> None:
    found = pattern(f"PATTERN P OR(NEXT(A a, B b), C c) {TAIL} RETURN a.i AS i;")
    assert [[gap.name for gap in branch.gaps] for branch in found.branches] == [["a→b:A", "a→b:B", "a→b:C"], []]


def test_no_name_can_be_mistaken_for_an_event_between() -> None:
    found = pattern(f'PATTERN P SEQ(NEXT(A a, A b), A "a→b:A") {TAIL} RETURN a.i AS i;')
    assert [gap.name for gap in found.gaps] == ["a→b:A'"]


def test_events_between_count_for_the_size_of_a_pattern() -> None:
    steps = ", ".join(f"A a{i}" for i in range(limits.VARIABLES // 2 + 1))
    _, diagnostics = judge(Source("t.cep", STREAMS + f"PATTERN P NEXT({steps}) PARTITION BY k {TAIL};"))
    assert [item.code for item in diagnostics if item.code == "CEP0430"] == ["CEP0430"]

"""Where events go, and that nothing moves when a job changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import cep
from cep.ir.types import Type
from runtime.spark.layout import Layout, Member, layout, murmur3_long, slot
from tests.spark.helpers import CARD, JOB, compiled


def made(text: str, *names: str, buckets: int = 4) -> Layout:
    plans = compiled(text, *names)
    streams = {leaf.stream: plan.stream(leaf.stream) for plan in plans for leaf in plan.leaves}
    return layout([Member(plan=plan) for plan in plans], streams, buckets)


def test_patterns_with_one_partition_key_share_a_group() -> None:
    groups = made(JOB).groups
    members = sorted(tuple(member.plan.pattern for member in group.members) for group in groups)
    assert members == [("CardTesting", "Rising"), ("SameAmount",), ("Takeover",)]


def test_a_pattern_without_a_key_has_one_bucket() -> None:
    (group,) = made(JOB, "SameAmount").groups
    assert group.key is None
    assert len(group.slots) == 1


def test_each_bucket_has_a_shuffle_partition_of_its_own() -> None:
    for buckets in (1, 2, 7, 16):
        for group in made(JOB, buckets=buckets).groups:
            places = Counter(murmur3_long(number) % buckets for number in group.slots)
            assert set(places.values()) == {1}


def test_slots_do_not_depend_on_the_other_patterns_of_the_job() -> None:
    alone = {group.name: group.slots for group in made(JOB, "CardTesting").groups}
    together = {group.name: group.slots for group in made(JOB).groups}
    assert alone.items() <= together.items()


def test_slots_are_what_they_were_in_every_release() -> None:
    assert [slot("key:0123456789abcdef", number, 2, 2) for number in range(2)] == [
        -3072734586997011169,
        -8971662290119080554,
    ]


def test_a_stream_is_read_once_with_the_columns_that_its_patterns_need() -> None:
    feeds = {feed.stream.name: feed for feed in made(JOB).feeds}
    assert [name for name, _ in feeds["Trans"].columns] == ["ts", "acc", "amnt"]
    assert len(feeds["Trans"].targets) == 3
    assert [name for name, _ in feeds["Login"].columns] == ["at", "user", "ok", "tries"]
    (login,) = made(JOB, "Takeover").feeds[0].targets
    assert "tries" in login.columns  # without RETURN, every attribute is a field
    assert [name for name, _ in made(CARD).feeds[0].columns] == ["ts", "acc", "amnt"]


def test_key_parts_are_compared_in_their_common_type() -> None:
    text = """
    STREAM A (k INT, n STRING); STREAM B (n STRING, k DOUBLE);
    PATTERN P AND(A a, B b) WHERE a.k = b.k AND a.n = b.n UNBOUNDED;
    """
    plan = cep.compile(text)["P"]
    # The compiler leaves such keys out today; checkpoints and hashes must be right when it does not.
    plan = replace(plan, partition_key=(("A", ("k", "n")), ("B", ("k", "n"))))
    (group,) = layout([Member(plan=plan)], {s.name: s for s in plan.streams}, 3).groups
    assert group.types == (Type.DOUBLE, Type.STRING)

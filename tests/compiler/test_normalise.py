"""Normal forms: one spelling for each condition, windows found, implied comparisons gone."""

from __future__ import annotations

import pytest

from tests.compiler.patterns import HOUR, MICROSECOND, MINUTE, SECOND, normal, texts


def conditions(text: str) -> list[str]:
    return texts(normal(text).conditions)


# --- NOT and AND ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("NOT a.x < b.x", ["a.x >= b.x"]),
        ("NOT a.x = b.x", ["a.x <> b.x"]),
        ("NOT NOT a.x <= b.x", ["a.x <= b.x"]),
        ("NOT (a.x < b.x OR a.y > 5)", ["a.x >= b.x", "a.y <= 5"]),
        ("NOT (a.x < b.x AND a.y > 5)", ["a.x >= b.x OR a.y <= 5"]),
        ("NOT (a.x < b.x OR NOT (a.y > 5 AND b.y > 6))", ["a.x >= b.x", "a.y > 5", "b.y > 6"]),
        ("NOT a.f AND a.x = b.x", ["NOT a.f", "a.x = b.x"]),
        ("NOT a.k IS NULL AND a.x = b.x", ["NOT a.k IS NULL", "a.x = b.x"]),
        ("NOT a.k LIKE 'x%' AND a.x = b.x", ["NOT a.k LIKE 'x%'", "a.x = b.x"]),
        ("a.x NOT BETWEEN 1 AND 5 AND b.x BETWEEN 2 AND 3", ["a.x < 1 OR a.x > 5", "b.x >= 2", "b.x <= 3"]),
        ("(a.x = b.x AND (a.y = b.y AND a.k = b.k))", ["a.x = b.x", "a.y = b.y", "a.k = b.k"]),
    ],
)
def test_not_is_pushed_to_comparisons_and_conjunctions_are_split(written: str, expected: list[str]) -> None:
    assert conditions(f"AND(T a, T b) WHERE {written} UNBOUNDED") == expected


def test_a_condition_written_twice_is_one() -> None:
    assert conditions("AND(W a, W b) WHERE a.x < b.x AND a.x < b.x UNBOUNDED") == ["a.x < b.x"]


# --- difference form -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("b.u - a.u <= 1 HOUR", "b.u <= a.u + 1 HOUR"),
        ("1 HOUR >= b.u - a.u", "a.u >= b.u - 1 HOUR"),
        ("b.u - 1 HOUR < a.u", "b.u < a.u + 1 HOUR"),
        ("a.u + 5 MINUTES < b.u - 10 MINUTES", "a.u < b.u - 15 MINUTES"),
        ("a.u + 5 MINUTES - 5 MINUTES < b.u", "a.u < b.u"),
        ("b.u - a.u = 5 MINUTES", "b.u = a.u + 5 MINUTES"),
        ("b.u - a.u <> 5 MINUTES", "b.u <> a.u + 5 MINUTES"),
        # Numbers stay as they are: moving a constant could change what overflows or rounds.
        ("b.x - a.x <= 10", "b.x - a.x <= 10"),
        ("b.p < a.p + 0.1", "b.p < a.p + 0.1"),
    ],
)
def test_times_are_compared_with_one_plain_attribute_on_the_left(written: str, expected: str) -> None:
    assert conditions(f"AND(W a, W b) WHERE {written} UNBOUNDED") == [expected]


def test_differences_of_three_variables_stay() -> None:
    written = "a.u - b.u < b.u - c.u"
    assert conditions(f"AND(W a, W b, W c) WHERE {written} UNBOUNDED") == [written]


# --- the order of SEQ ----------------------------------------------------------------------------------------------


def test_seq_becomes_comparisons_of_neighbouring_steps() -> None:
    assert conditions("SEQ(T a, AND(T b, V c), T d) WITHIN 1 HOUR") == [
        "a.ts < b.ts",
        "a.ts < c.at",
        "b.ts < d.ts",
        "c.at < d.ts",
    ]


@pytest.mark.parametrize(
    "implied",
    ["a.ts < c.ts", "c.ts > a.ts", "a.ts <= b.ts", "c.ts >= a.ts", "a.ts < c.ts + 5 MINUTES", "NOT a.ts >= c.ts"],
)
def test_what_the_order_implies_is_dropped(implied: str) -> None:
    assert conditions(f"SEQ(T a, T b, T c) WHERE {implied} WITHIN 1 HOUR") == ["a.ts < b.ts", "b.ts < c.ts"]


def test_a_stricter_condition_replaces_the_order_it_implies() -> None:
    found = conditions("SEQ(T a, T b, T c) WHERE b.ts >= a.ts + 5 MINUTES WITHIN 1 HOUR")
    assert found == ["b.ts < c.ts", "b.ts >= a.ts + 5 MINUTES"]


def test_implied_comparisons_of_values_are_dropped_too() -> None:
    found = conditions("AND(W a, W b, W c) WHERE a.x < b.x AND b.x < c.x AND a.x < c.x UNBOUNDED")
    assert found == ["a.x < b.x", "b.x < c.x"]


@pytest.mark.parametrize("kept", ["a.x < c.y", "a.y < c.x", "c.x <= a.x + 10"])
def test_comparisons_that_nothing_implies_are_kept(kept: str) -> None:
    found = conditions(f"AND(W a, W b, W c) WHERE a.x < b.x AND b.x < c.x AND {kept} UNBOUNDED")
    assert found == ["a.x < b.x", "b.x < c.x", kept]


def test_of_two_bounds_on_one_pair_the_tighter_is_kept() -> None:
    found = conditions("AND(W a, W b) WHERE b.u <= a.u + 2 HOURS AND b.u < a.u + 1 HOUR UNBOUNDED")
    assert found == ["b.u < a.u + 1 HOUR"]


def test_equal_comparisons_do_not_drop_each_other() -> None:
    assert conditions("AND(W a, W b) WHERE a.x <= b.x AND b.x <= a.x UNBOUNDED") == ["a.x <= b.x", "b.x <= a.x"]


def test_an_equality_of_times_implies_their_order() -> None:
    assert conditions("SEQ(T a, T b) WHERE b.ts = a.ts + 5 MINUTES WITHIN 1 HOUR") == ["b.ts = a.ts + 5 MINUTES"]


# --- windows -------------------------------------------------------------------------------------------------------

SEQ = ["a.ts < b.ts", "b.ts < c.ts"]


@pytest.mark.parametrize(
    ("bound", "window"),
    [
        ("c.ts - a.ts <= 1 HOUR", HOUR),
        ("c.ts <= a.ts + 1 HOUR", HOUR),
        ("c.ts < a.ts + 1 HOUR", HOUR - MICROSECOND),
        ("a.ts >= c.ts - 1 HOUR", HOUR),
        ("a.ts + 1 HOUR > c.ts", HOUR - MICROSECOND),
        ("NOT c.ts - a.ts > 1 HOUR", HOUR),
        ("c.ts - a.ts BETWEEN 0 SECONDS AND 90 SECONDS", 90 * SECOND),
        ("c.ts <= a.ts + 2 HOURS AND c.ts <= a.ts + 1 HOUR", HOUR),
    ],
)
@pytest.mark.parametrize("clause", ["", "UNBOUNDED"])
def test_a_bound_from_first_to_last_is_the_window(bound: str, window: int, clause: str) -> None:
    found = normal(f"SEQ(T a, T b, T c) WHERE {bound} {clause}")
    assert found.window == window
    assert texts(found.conditions) == SEQ


@pytest.mark.parametrize(
    ("bound", "within", "window"),
    [("1 HOUR", "2 HOURS", HOUR), ("2 HOURS", "1 HOUR", HOUR), ("1 HOUR", "1 HOUR", HOUR)],
)
def test_the_tighter_of_within_and_a_bound_wins(bound: str, within: str, window: int) -> None:
    found = normal(f"SEQ(T a, T b, T c) WHERE c.ts <= a.ts + {bound} WITHIN {within}")
    assert found.window == window
    assert texts(found.conditions) == SEQ


def test_first_and_last_can_come_from_conditions() -> None:
    found = normal("AND(T a, T b) WHERE a.ts <= b.ts AND b.ts <= a.ts + 1 HOUR UNBOUNDED")
    assert found.window == HOUR
    assert texts(found.conditions) == ["a.ts <= b.ts"]


def test_several_events_at_one_time_can_be_first() -> None:
    found = normal("AND(T a, T b, T c) WHERE a.ts = b.ts AND b.ts < c.ts AND c.ts < a.ts + 1 HOUR UNBOUNDED")
    assert found.window == HOUR - MICROSECOND
    assert texts(found.conditions) == ["a.ts = b.ts", "b.ts < c.ts"]


def test_a_bound_on_neighbours_is_no_window() -> None:
    found = normal("SEQ(T a, T b, T c) WHERE b.ts <= a.ts + 5 MINUTES WITHIN 1 HOUR")
    assert found.window == HOUR
    assert texts(found.conditions) == [*SEQ, "b.ts <= a.ts + 5 MINUTES"]


def test_bounds_on_all_neighbours_make_a_window_where_none_is_written() -> None:
    bounds = "b.ts <= a.ts + 5 MINUTES AND c.ts <= b.ts + 5 MINUTES"
    assert normal(f"SEQ(T a, T b, T c) WHERE {bounds}").window == 10 * MINUTE
    assert normal(f"SEQ(T a, T b, T c) WHERE {bounds} UNBOUNDED").window is None


def test_bounds_both_ways_make_a_window_where_none_is_written() -> None:
    found = normal("AND(T a, T b) WHERE a.ts <= b.ts + 1 HOUR AND b.ts <= a.ts + 1 HOUR")
    assert (found.window, found.conditions) == (HOUR, ())


@pytest.mark.parametrize("looser", ["b.ts <= a.ts + 1 HOUR", "b.ts < a.ts + 2 HOURS", "c.ts - b.ts <= 3 HOURS"])
def test_a_bound_that_the_window_implies_is_dropped(looser: str) -> None:
    assert conditions(f"SEQ(T a, T b, T c) WHERE {looser} WITHIN 1 HOUR") == SEQ


def test_a_bound_that_window_and_margin_imply_together_is_dropped() -> None:
    found = conditions("SEQ(T a, T b, T c) WHERE b.ts > a.ts + 50 MINUTES AND c.ts < b.ts + 15 MINUTES WITHIN 1 HOUR")
    assert found == ["b.ts < c.ts", "b.ts > a.ts + 50 MINUTES"]


def test_other_times_than_the_event_time_are_no_window() -> None:
    found = normal("SEQ(T a, T b, T c) WHERE c.u <= a.u + 1 HOUR UNBOUNDED")
    assert found.window is None
    assert texts(found.conditions) == [*SEQ, "c.u <= a.u + 1 HOUR"]


def test_no_window_is_recognised_where_a_stream_has_no_event_time() -> None:
    """Events of W would never leave it, so the state would grow for ever behind a promise that it does not."""
    found = normal("AND(T a, T b, W w) WHERE a.ts < b.ts AND b.ts < a.ts + 1 HOUR AND a.k = w.k UNBOUNDED")
    assert found.window is None
    assert "b.ts < a.ts + 1 HOUR" in texts(found.conditions)


def test_a_bound_of_nothing_is_no_window() -> None:
    found = normal("AND(T a, T b) WHERE a.ts <= b.ts AND b.ts <= a.ts UNBOUNDED")
    assert found.window is None
    assert texts(found.conditions) == ["a.ts <= b.ts", "b.ts <= a.ts"]

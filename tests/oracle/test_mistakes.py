"""The harness finds mistakes: a comparison that no mistake can fail says nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from tests.oracle import gaps
from tests.oracle.cases import make, side_by_side
from tests.oracle.harness import Disagreement
from tests.oracle.many import Tally, compare
from tests.oracle.mistakes import GAP_MISTAKES, MISTAKES, mistaken
from tests.oracle.patterns import draw
from tests.oracle.sql import Database, tables_of, to_sql
from tests.oracle.verify import compiled

DATABASE = Database()
FIRST = 4000
"""Seeds from which each mistake is found in a second or two; what matters is that it is found at all."""


def agrees(seed: int, streams: int, lanes: int) -> bool:
    try:
        compare(DATABASE, seed, Tally(), streams=streams, lanes=lanes, thin=False)
    except Disagreement:
        return False
    return True


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what a mistake lets through may be no number
@pytest.mark.parametrize("name", [name for name in MISTAKES if name != "distinct"])
def test_a_mistake_in_the_engine_is_found(name: str) -> None:
    with mistaken(name):
        assert not all(agrees(seed, 8, 24) for seed in range(FIRST, FIRST + 300)), MISTAKES[name].__doc__


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("streams", "lanes"), [(12, 0), (1, 24)], ids=["alone", "side-by-side"])
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_the_engine_is_found_in_either_way(name: str, streams: int, lanes: int) -> None:
    with mistaken(name):
        found = not all(agrees(seed, streams, lanes) for seed in range(FIRST, FIRST + 300))
    assert found, f"300 patterns agree although the engine makes a mistake: {MISTAKES[name].__doc__}"


@pytest.mark.parametrize("name", GAP_MISTAKES)
def test_a_mistake_about_gaps_is_found(name: str) -> None:
    def agree(seed: int) -> bool:
        try:
            gaps.compare(seed)
        except AssertionError:
            return False
        return True

    with mistaken(name):
        first = FIRST + 300 if name == "keep" else FIRST  # the rarest
        assert not all(agree(seed) for seed in range(first, first + 500)), GAP_MISTAKES[name].__doc__


def test_without_a_mistake_the_same_seeds_agree() -> None:
    tally = Tally()
    for seed in range(FIRST, FIRST + 10):
        compare(DATABASE, seed, tally, streams=4, lanes=24)
    assert tally.alone >= 30
    assert tally.side_by_side >= 150
    assert tally.matching * 2 > tally.comparisons, "most comparisons have something to find"


def test_lanes_are_a_key_that_parser_and_checker_read_as_it_is_meant() -> None:
    for seed in range(20):
        rng = Random(seed)
        case = side_by_side(rng, draw(rng), 2)
        result = compiled(case)
        if result.plans:
            assert result.patterns[0].partition_by == case.pattern.partition_by
            assert case.pattern.partition_by[-1] == "lane"


def test_duckdb_evaluates_every_condition_itself() -> None:
    """Not pyarrow, which the engine computes with: a filter within the scan of an Arrow table would be pyarrow's."""
    filtered = 0
    for seed in range(20):
        case = make(Random(seed))
        query = f"EXPLAIN (FORMAT json) {to_sql(case.pattern)}"
        ((_, plan),) = DATABASE.over(tables_of(case.pattern, case.events), query)
        operators = list(_operators(json.loads(str(plan))))
        scans = [told for name, told in operators if "SCAN" in name]
        assert scans or any("EMPTY" in name for name, _ in operators), plan
        assert not any("Filters" in told for told in scans), plan
        filtered += any(name == "FILTER" for name, _ in operators)
    assert filtered > 5


def _operators(nodes: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for node in nodes:
        yield node["name"], node["extra_info"]
        yield from _operators(node["children"])

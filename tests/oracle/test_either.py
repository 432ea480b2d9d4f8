"""Random patterns with OR and `?` agree with DuckDB after every push (`tests.oracle.either`)."""

from __future__ import annotations

import pytest

from tests.oracle.either import compare
from tests.oracle.mistakes import BRANCH_MISTAKES, mistaken


@pytest.mark.parametrize("block", range(2))
def test_alternatives_agree_with_sql_after_every_push(block: int) -> None:
    compared = sum(compare(seed) for seed in range(100 * block, 100 * (block + 1)))
    assert compared > 400


@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_many_alternatives_agree_with_sql_after_every_push(block: int) -> None:
    for seed in range(10_000 + 500 * block, 10_000 + 500 * (block + 1)):
        compare(seed)


@pytest.mark.parametrize("name", BRANCH_MISTAKES)
def test_a_mistake_about_alternatives_is_found(name: str) -> None:
    def agree(seed: int) -> bool:
        try:
            compare(seed)
        except AssertionError:
            return False
        return True

    with mistaken(name):
        assert not all(agree(seed) for seed in range(230, 330)), BRANCH_MISTAKES[name].__doc__

"""Random patterns with NOT, sets, runs, FIRST and LAST agree with DuckDB after every push (`tests.oracle.gaps`)."""

from __future__ import annotations

import pytest

from tests.oracle.gaps import compare


@pytest.mark.parametrize("block", range(3))
def test_gaps_agree_with_sql_after_every_push(block: int) -> None:
    compared = sum(compare(seed) for seed in range(100 * block, 100 * (block + 1)))
    assert compared > 400


@pytest.mark.slow
@pytest.mark.parametrize("block", range(12))
def test_many_gaps_agree_with_sql_after_every_push(block: int) -> None:
    for seed in range(10_000 + 500 * block, 10_000 + 500 * (block + 1)):
        compare(seed)

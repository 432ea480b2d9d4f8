"""Random patterns over random events: the engine gives what DuckDB gives, however the events arrive.

The cases come from seeds, so a failure has a number: `pytest -k "agree and 17"` runs it again, and the message holds
pattern and events for tests/corpus.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

from runtime import Engine, reference
from tests.oracle.cases import Case, cases, fewer, make
from tests.oracle.harness import Disagreement, Maker, chosen
from tests.oracle.sql import Database
from tests.oracle.standin import FAULTY, ReferenceEngine, reference_maker
from tests.oracle.verify import verify

DATABASE = Database()
MOST = 600
"""No case has more matches: a thousand rows find nothing that a hundred do not."""
BLOCK = 10


MAKER = Maker(Engine, Engine.restore)


def fitted(case: Case) -> tuple[Case, int]:
    """The case, thinned until it has at most `MOST` matches, and how many it has."""
    while (found := DATABASE.count(replace(case.pattern, distinct=False), case.events)) > MOST:
        case = fewer(case)
    return case, found


def seeded(seed: int) -> Case:
    """The case of a seed: mostly one with matches, since nothing agrees with nothing easily."""
    for attempt in range(5):
        case, found = fitted(make(Random(seed * 5 + attempt)))
        if found or seed % 10 == 0:
            break
    return case


@pytest.mark.parametrize("block", range(20))
def test_engine_and_duckdb_agree(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        case = seeded(seed)
        try:
            verify(MAKER, DATABASE, case, chosen(seed, 3))
        except Disagreement as problem:
            raise Disagreement(f"seed {seed}: {problem}") from None


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_engine_and_duckdb_agree_on_two_thousand_cases(block: int) -> None:
    for seed in range(10_000 + block * 50, 10_000 + (block + 1) * 50):
        case = seeded(seed)
        try:
            verify(MAKER, DATABASE, case, chosen(seed, 4))
        except Disagreement as problem:
            raise Disagreement(f"seed {seed}: {problem}") from None


@pytest.mark.parametrize("block", range(2))
def test_engine_and_duckdb_agree_when_every_limit_is_tiny(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of three matches, compaction and pruning all the time: what large streams do, on small ones."""
    monkeypatch.setattr("runtime.compaction.ROWS", 4)
    monkeypatch.setattr("runtime.compaction.KEYS", 8)
    monkeypatch.setattr("runtime.results.distinct._PRUNE_AT", 1)
    tiny = Maker(partial(Engine, chunk=3), Engine.restore)
    for seed in range(1000 + block * BLOCK, 1000 + (block + 1) * BLOCK):
        case = seeded(seed)
        try:
            verify(tiny, DATABASE, case, chosen(seed, 4))
        except Disagreement as problem:
            raise Disagreement(f"seed {seed}: {problem}") from None


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_engine_and_duckdb_agree_on_what_hypothesis_finds(case: Case) -> None:
    case, _ = fitted(case)
    verify(MAKER, DATABASE, case, chosen(0, 2), thin=False)


@pytest.mark.parametrize("block", range(5))
def test_reference_and_duckdb_agree(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        case = seeded(seed)
        expected = Counter(DATABASE.matches(case.pattern, case.events))
        assert Counter(reference.matches(case.pattern, case.events)) == expected, str(case)


@pytest.mark.parametrize("faulty", FAULTY, ids=lambda cls: cls.__name__)
def test_the_harness_catches_a_faulty_engine(faulty: type[ReferenceEngine]) -> None:
    for seed in range(100, 160):
        case = seeded(seed)
        treatments = chosen(seed, 5)
        try:
            verify(reference_maker(case.pattern, faulty), DATABASE, case, treatments, thin=False)
        except Disagreement:
            # For the fault and nothing else: the same engine without it passes.
            verify(reference_maker(case.pattern), DATABASE, case, treatments, thin=False)
            return
    pytest.fail(f"60 cases passed with an engine that {(faulty.__doc__ or '').lower()}")

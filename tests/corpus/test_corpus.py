"""Every folder of the corpus, under every treatment.

`<feature>/<case>/` holds `pattern.cep` with one pattern and either `events.jsonl` and `expected.jsonl`, or
`expected.err`. Where the pattern has several streams, each event names its own in the key `stream`. `expected.jsonl`
holds matches as the commands write them, in any order; `id` is compared where it is given. `expected.err` holds one
line for each error: code, line, column and message.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cep.compiler.pipeline import Result, compile_source
from cep.diagnostics import Diagnostics, Severity
from cep.ir.types import Type
from cep.source import Source
from cep.syntax.fmt import fmt
from runtime import Engine
from runtime.testing import compare, load_case, run_case
from tests.oracle.harness import Maker, Match, Treatment, run
from tests.oracle.judge import dated, one_order_of_ids
from tests.oracle.sql import Database

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cep.ir.model import Stream
    from cep.ir.plan import Plan

HERE = Path(__file__).parent
CASES = sorted(str(path.parent.relative_to(HERE)) for path in HERE.glob("*/*/pattern.cep"))
MATCHING = [case for case in CASES if (HERE / case / "expected.jsonl").exists()]
FAILING = [case for case in CASES if (HERE / case / "expected.err").exists()]
TREATMENTS = [
    Treatment(order, batches, restore=restore, seed=seed)
    for seed, (order, batches, restore) in enumerate(
        product(("time", "disorder", "streams"), ("single", "whole", "random"), (False, True))
    )
]
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
DATABASE = Database()


def micros(value: Any) -> int | None:
    """A TIMESTAMP of a JSON record: ISO-8601, or integer milliseconds."""
    if value is None:
        return None
    if isinstance(value, int):
        return value * 1000
    return (datetime.fromisoformat(value.replace("Z", "+00:00")) - EPOCH) // timedelta(microseconds=1)


def parse_events(path: Path, streams: Sequence[Stream]) -> dict[str, list[dict[str, Any]]]:
    """The events of a case by stream, in the order of the lines."""
    known = {stream.name: stream for stream in streams}
    events: dict[str, list[dict[str, Any]]] = {name: [] for name in known}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        stream = known[record["stream"]] if len(known) > 1 else next(iter(known.values()))
        row = {
            name: micros(record.get(name)) if type_ is Type.TIMESTAMP else record.get(name)
            for name, type_ in stream.columns
        }
        events[stream.name].append(row)
    return events


def errors_text(result: Result) -> str:
    errors = [d for d in result.diagnostics if d.severity is Severity.ERROR]
    return "".join(f"{d.code} {d.span.line}:{d.span.column} {d.message}\n" for d in errors)


def compiled(case: str) -> Result:
    return compile_source(Source("pattern.cep", (HERE / case / "pattern.cep").read_text()))


def expected(case: str, plan: Plan) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in (HERE / case / "expected.jsonl").read_text().splitlines()]
    for record in records:
        assert record["pattern"] == plan.pattern
        assert list(record["fields"]) == [field.name for field in plan.fields]
    return records


def _key(record: dict[str, Any], plan: Plan) -> tuple[Any, ...]:
    values = [
        micros(v) if f.type is Type.TIMESTAMP else v
        for f, v in zip(plan.fields, record["fields"].values(), strict=True)
    ]
    return (micros(record["start"]), micros(record["end"]), *values)


def _matches(found: Sequence[Match]) -> Counter[Any]:
    net: Counter[Any] = Counter()
    for match in found:
        net[(match.start, match.end, *match.fields)] += match.sign
    return Counter({key: n for key, n in net.items() if n})


@pytest.mark.parametrize("case", MATCHING)
def test_expected_matches_are_what_the_query_gives(case: str) -> None:
    result = compiled(case)
    assert errors_text(result) == ""
    (pattern,), (plan,) = result.patterns, result.plans
    events = parse_events(HERE / case / "events.jsonl", plan.streams)
    records = expected(case, plan)
    if plan.distinct:
        keys = Counter(DATABASE.matches(pattern, events))
        assert keys == Counter(dict.fromkeys((_key(record, plan)[2:] for record in records), 1))
        bag = {*DATABASE.matches(replace(pattern, distinct=False), events, with_times=True)}
        assert not dated(plan) or {_key(record, plan) for record in records} <= bag, "times of combinations"
        return
    assert Counter(DATABASE.matches(pattern, events, with_times=True)) == Counter(_key(r, plan) for r in records)


@pytest.mark.parametrize("case", MATCHING)
def test_every_treatment_gives_the_expected_matches(case: str) -> None:
    result = compiled(case)
    (plan,) = result.plans
    events = parse_events(HERE / case / "events.jsonl", plan.streams)
    records = expected(case, plan)
    want = Counter(_key(record, plan) for record in records)
    maker = Maker(Engine, Engine.restore)
    ids: set[bytes] | None = None
    for how in TREATMENTS:
        found = run(maker, plan, plan.streams, events, how).matches
        if one_order_of_ids(plan) or how.order == "time":
            got = _matches(found)
            assert got == want, f"{how}: missing {want - got}, extra {got - want}"
        else:
            assert {match.fields for match in found} == {key[2:] for key in want}, how
            continue
        these = {match.id for match in found}
        assert plan.distinct or len(these) == len(found), f"{how}: two matches with one id"
        assert ids is None or these == ids, f"{how}: other ids than under {TREATMENTS[0]}"
        ids = these
    given = {bytes.fromhex(record["id"]) for record in records if "id" in record}
    assert given <= (ids or set())


@pytest.mark.parametrize("case", CASES)
def test_cep_test_agrees(case: str) -> None:
    loaded = load_case(HERE / case)
    assert not (difference := compare(loaded, run_case(loaded))), difference


@pytest.mark.parametrize("case", MATCHING)
def test_formatting_keeps_the_plan(case: str) -> None:
    source = Source("pattern.cep", (HERE / case / "pattern.cep").read_text())
    diagnostics = Diagnostics()
    formatted = fmt(source, diagnostics)
    assert not diagnostics.has_errors
    assert fmt(Source("pattern.cep", formatted), diagnostics) == formatted
    keys = [plan.meaning for plan in compile_source(Source("pattern.cep", formatted)).plans]
    assert keys == [plan.meaning for plan in compile_source(source).plans]


def test_the_corpus_is_found() -> None:
    assert len(MATCHING) >= 40
    assert sorted(MATCHING + FAILING) == CASES

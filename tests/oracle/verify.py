"""Runs cases and compares: a pattern is compiled once, DuckDB answers once for all sets of events, each set arrives in
the ways it is to arrive in, and each outcome is judged.

`verify` and `verify_each` raise `Disagreement` with the pattern, the events and the treatment in the corpus's format,
after the events have been thinned to those that the failure needs.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cep.compiler.pipeline import Result, compile_source
from cep.diagnostics import Severity
from cep.source import Source
from tests.oracle.cases import Case
from tests.oracle.events import Events, jsonl
from tests.oracle.harness import Disagreement, Maker, Treatment, arrivals, run
from tests.oracle.judge import Judge, difference
from tests.oracle.sql import combinations_sql

if TYPE_CHECKING:
    from cep.ir.plan import Plan
    from tests.oracle.sql import Database
    from tests.oracle.truth import Truth

NEVER = frozenset({"CEP0403", "CEP0404", "CEP0405"})
"""Errors that say: no events can match. The oracle holds the compiler to it."""
Trial = tuple[Events, Sequence[Treatment]]
"""A set of events, and the ways in which it arrives."""


def compiled(case: Case) -> Result:
    return compile_source(Source("generated.cep", case.text))


def _errors(result: Result) -> set[str]:
    return {d.code for d in result.diagnostics if d.severity is Severity.ERROR}


def _unbounded(text: str) -> str:
    body, returns, rest = text.rstrip().removesuffix(";").partition("\n  RETURN ")
    return f"{body}\n  UNBOUNDED{returns}{rest};\n"


def verify(
    maker: Maker,
    database: Database,
    case: Case,
    treatments: Sequence[Treatment],
    *,
    others: Sequence[Events] = (),
    thin: bool = True,
    probes: int = 5,
) -> None:
    """Every treatment of the case's events, and of other events for its pattern, gives what DuckDB gives."""
    trials = [(events, treatments) for events in (case.events, *others)]
    truths = database.truths(case.pattern, [events for events, _ in trials])
    verify_each(maker, database, case, trials, truths, thin=thin, probes=probes)


def verify_each(
    maker: Maker,
    database: Database,
    case: Case,
    trials: Sequence[Trial],
    truths: Sequence[Truth],
    *,
    thin: bool = True,
    probes: int = 5,
) -> bool:
    """Each set of events, in each way it arrives, gives what DuckDB gives for the case's pattern: its `truths`.

    False where no engine was needed: the compiler knows that nothing can match, and so does DuckDB. On failure, the
    smallest case found is in the message.
    """
    sets = [events for events, _ in trials]
    result = compiled(case)
    if errors := _rejected(result, case):
        for events, truth in zip(sets, truths, strict=True):
            if found := truth.matches(events):
                text = str(replace(case, events=dict(events)))
                raise Disagreement(f"{errors} says that nothing can match, DuckDB finds {found[:3]}\n{text}")
        return False
    _check_reading(database, case, result, sets, truths)
    for (events, treatments), truth in zip(trials, truths, strict=True):
        _compare(maker, database, replace(case, events=dict(events)), treatments, Judge(truth, result, probes), thin)
    return True


def _rejected(result: Result, case: Case) -> set[str]:
    """The errors by which the compiler says that nothing can match; any other is a disagreement."""
    errors = _errors(result)
    if errors == {"CEP0401"} and "UNBOUNDED" not in case.text:  # the window cannot be seen in contradicting conditions
        errors = _errors(compiled(replace(case, text=_unbounded(case.text)))) or errors
    if not errors <= NEVER:
        listed = "\n".join(f"  {d.code} {d.span.line}:{d.span.column} {d.message}" for d in result.diagnostics)
        raise Disagreement(f"a valid pattern is rejected:\n{listed}\n{case.text}")
    return errors


def _check_reading(
    database: Database, case: Case, result: Result, sets: Sequence[Events], truths: Sequence[Truth]
) -> None:
    """The pattern that parser and checker read in the text finds what the pattern finds that the text was made of."""
    read = result.patterns[0]
    if combinations_sql(read) == combinations_sql(case.pattern) and read.distinct == case.pattern.distinct:
        return  # the same query has the same answer
    for events, understood, truth in zip(sets, database.truths(read, sets), truths, strict=True):
        said, wanted = Counter(understood.matches(events)), Counter(truth.matches(events))
        if said != wanted:
            text = str(replace(case, events=dict(events)))
            raise Disagreement(f"the checker reads another pattern: {difference(said, wanted)}\n{text}")


def _compare(
    maker: Maker, database: Database, case: Case, treatments: Sequence[Treatment], judge: Judge, thin: bool
) -> None:
    for i, how in enumerate(treatments):
        problem = _attempt(maker, judge, case, how)
        if problem is None:
            continue
        used = [treatments[0], how] if i else [how]

        def still(smaller: Case, used: Sequence[Treatment] = used) -> str | None:
            (truth,) = database.truths(smaller.pattern, [smaller.events])
            fresh = Judge(truth, judge.result)
            return next((p for t in used if (p := _attempt(maker, fresh, smaller, t)) is not None), None)

        smallest = thinned(case, still) if thin else case
        raise Disagreement(report(smallest, still(smallest) or problem, how, judge.plan))


def _attempt(maker: Maker, judge: Judge, case: Case, how: Treatment) -> str | None:
    try:
        judge.check(run(maker, judge.plan, case.streams, case.events, how), how)
    except Disagreement as problem:
        return str(problem)
    except Exception as problem:
        return "".join(traceback.format_exception(problem)[-6:])
    return None


def thinned(case: Case, still: Callable[[Case], str | None], budget: int = 150) -> Case:
    """The case without the events that the failure does not need: halves, then quarters, ... then single ones."""
    flat = [(name, row) for name, rows in case.events.items() for row in rows]
    size = max(1, len(flat) // 2)
    while budget > 0:
        at, changed = 0, False
        while at < len(flat) and budget > 0:
            kept = flat[:at] + flat[at + size :]
            smaller = replace(case, events={n: [row for name, row in kept if name == n] for n in case.events})
            budget -= 1
            if still(smaller) is not None:
                flat, changed = kept, True
            else:
                at += size
        if size == 1 and not changed:
            break
        size = max(1, size // 2)
    return replace(case, events={n: [row for name, row in flat if name == n] for n in case.events})


def report(case: Case, problem: str, how: Treatment, plan: Plan) -> str:
    """Everything needed to make a corpus case of a failure."""
    order = arrivals(case.streams, case.events, how)
    stream = {s.name: s for s in case.streams}
    came = "\n".join(f"  {sign:+d} {name} {jsonl([stream[name]], {name: [row]})}" for sign, name, row in order)
    return (
        f"{problem}\n\n--- treatment: {how}\n--- pattern.cep\n{case.text}\n--- events.jsonl\n"
        f"{jsonl(case.streams, case.events)}\n--- arrival\n{came}\n--- plan {plan.layout[:12]}"
    )

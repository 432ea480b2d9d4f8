"""Judges what an engine gave out by what DuckDB says of the same events.

`verify` raises `Disagreement` with the pattern, the events and the treatment in the corpus's format, after the events
have been thinned to those that the failure needs.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from cep.compiler.pipeline import Result, compile_source
from cep.diagnostics import Severity
from cep.source import Source
from tests.oracle.generate import Case, jsonl
from tests.oracle.harness import (
    Disagreement,
    Events,
    Fields,
    Maker,
    Match,
    Outcome,
    Treatment,
    arrivals,
    read,
    remaining,
    run,
)

if TYPE_CHECKING:
    from cep.plan import Plan
    from tests.oracle.sql import Database

NEVER = frozenset({"CEP0403", "CEP0404", "CEP0405"})
"""Errors that say: no events can match. The oracle holds the compiler to it."""


def _difference(got: Counter[Any], want: Counter[Any]) -> str:
    missing, extra = want - got, got - want
    shown = [f"  missing {n} x {row}" for row, n in list(missing.items())[:5]]
    shown += [f"  extra   {n} x {row}" for row, n in list(extra.items())[:5]]
    return f"{missing.total()} missing, {extra.total()} extra\n" + "\n".join(shown)


def _net(matches: Sequence[Match], key: Callable[[Match], Any]) -> Counter[Any]:
    net: Counter[Any] = Counter()
    for match in matches:
        net[key(match)] += match.sign
    return Counter({k: n for k, n in net.items() if n})


def _with_times(match: Match) -> Fields:
    return (match.start, match.end, *match.fields)


class Judge:
    """Compares outcomes of one case with the oracle and with each other."""

    def __init__(self, database: Database, case: Case, result: Result) -> None:
        self.database = database
        self.case = case
        self.plan = result.plans[0]
        self._ids: dict[bytes, Fields] | None = None

    def check(self, outcome: Outcome, how: Treatment) -> None:
        """Raises `Disagreement` at the first thing that is wrong."""
        pushes = len(outcome.pushed)
        stops = {pushes}
        if pushes > 1:
            stops.add(Random(how.seed).randint(1, pushes - 1))
        for stop in sorted(stops):
            self._matches(outcome, stop, how)
        if (late := outcome.engine.stats()["late"]) != outcome.late:
            raise Disagreement(f"{late} events counted as late, {outcome.late} are")
        self._ids_of(outcome, how)
        if not how.watermark or self.plan.window is None:
            self._pull(outcome)

    def _expected(self, events: Events, *, with_times: bool) -> Counter[Any]:
        return Counter(self.database.matches(self.case.pattern, events, with_times=with_times))

    def _matches(self, outcome: Outcome, stop: int, how: Treatment) -> None:
        found = [match for match in outcome.matches if match.push < stop]
        events = remaining(outcome.pushed[:stop])
        after = "" if stop == len(outcome.pushed) else f" after {stop} of {len(outcome.pushed)} pushes"
        if not self.plan.distinct:
            want, got = self._expected(events, with_times=True), _net(found, _with_times)
            if got != want:
                raise Disagreement(f"matches (start, end, fields){after}: {_difference(got, want)}")
            return
        want, got = self._expected(events, with_times=False), _net(found, lambda match: match.fields)
        if any(match.start is not None or match.end is not None for match in found):
            raise Disagreement("start and end of a DISTINCT match are not null")
        if any(n < 0 for n in got.values()):
            raise Disagreement(f"DISTINCT tuples taken back more often than given out{after}: {got}")
        if self.plan.window is not None:
            got = Counter(dict.fromkeys(got, 1))  # a tuple may come again once nothing behind it is alive
        if got != want:
            raise Disagreement(f"DISTINCT tuples{after}: {_difference(got, want)}")
        if self.plan.window is not None and how.order == "time" and not how.retract:
            self._emitted_once(found, events, self.plan.window)

    def _emitted_once(self, found: Sequence[Match], events: Events, window: int) -> None:
        """With events in order, a tuple is given out when it comes alive and not again before it has died.

        A combination makes its tuple alive from its last event until its first one leaves the window.
        """
        bag = replace(self.case.pattern, distinct=False)
        until: dict[Fields, int] = {}
        want: Counter[Fields] = Counter()
        by_end = sorted(
            self.database.matches(bag, events, with_times=True), key=lambda row: (row[1], -int(row[0] or 0))
        )
        for start, end, *values in by_end:
            fields = tuple(values)
            if int(end or 0) > until.get(fields, -1):
                want[fields] += 1
            until[fields] = max(until.get(fields, -1), int(start or 0) + window)
        got = Counter(match.fields for match in found)
        if got != want:
            raise Disagreement(f"DISTINCT tuples given out as they come alive: {_difference(got, want)}")

    def _ids_of(self, outcome: Outcome, how: Treatment) -> None:
        net = _net(outcome.matches, lambda match: match.id)
        again = self.plan.distinct and self.plan.window is not None
        if not again and any(n != 1 for n in net.values()):
            raise Disagreement(f"ids are not distinct: {[(i.hex(), n) for i, n in net.items() if n != 1][:5]}")
        fields: dict[bytes, Fields] = {}
        for match in outcome.matches:
            what = match.fields if self.plan.distinct else _with_times(match)
            if fields.setdefault(match.id, what) != what:
                raise Disagreement(f"id {match.id.hex()} stands for {fields[match.id]} and for {what}")
        if how.retract or how.order == "late":
            return
        if self._ids is None:
            self._ids = fields
        elif self._ids != fields:
            gone, new = self._ids.keys() - fields.keys(), fields.keys() - self._ids.keys()
            raise Disagreement(
                f"ids differ from those of the first treatment: {len(gone)} gone, {len(new)} new; "
                f"gone {[(i.hex(), self._ids[i]) for i in list(gone)[:3]]}, "
                f"new {[(i.hex(), fields[i]) for i in list(new)[:3]]}"
            )

    def _pull(self, outcome: Outcome) -> None:
        want = self._expected(remaining(outcome.pushed), with_times=False)
        if (count := outcome.engine.count()) != want.total():
            raise Disagreement(f"count() is {count}, the query has {want.total()} rows")
        got = _net(read(outcome.engine.enumerate(), self.plan), lambda match: match.fields)
        if got != want:
            raise Disagreement(f"enumerate(): {_difference(got, want)}")
        names = [f.name for f in self.plan.fields]
        rng = Random(1)
        members = list(want)
        for row in rng.sample(members, min(5, len(members))):
            if not outcome.engine.contains(dict(zip(names, row, strict=True))):
                raise Disagreement(f"contains() is false for the member {row}")
        for _ in range(5 if members else 0):
            row = tuple(rng.choice(members)[i] for i in range(len(names)))
            if outcome.engine.contains(dict(zip(names, row, strict=True))) != (row in want):
                raise Disagreement(f"contains() is {row not in want} for {row}")


# --- entry ---------------------------------------------------------------------------------------------------------


def compiled(case: Case) -> Result:
    return compile_source(Source("generated.cep", case.text))


def _errors(result: Result) -> set[str]:
    return {d.code for d in result.diagnostics if d.severity is Severity.ERROR}


def _unbounded(text: str) -> str:
    body, returns, rest = text.rstrip().removesuffix(";").partition("\n  RETURN ")
    return f"{body}\n  UNBOUNDED{returns}{rest};\n"


def verify(maker: Maker, database: Database, case: Case, treatments: Sequence[Treatment], *, thin: bool = True) -> None:
    """Every treatment gives what DuckDB gives. On failure, the smallest case found is in the message."""
    result = compiled(case)
    errors = _errors(result)
    if errors == {"CEP0401"} and "UNBOUNDED" not in case.text:  # the window cannot be seen in contradicting conditions
        errors = _errors(compiled(replace(case, text=_unbounded(case.text)))) or errors
    if errors:
        if not errors <= NEVER:
            listed = "\n".join(f"  {d.code} {d.span.line}:{d.span.column} {d.message}" for d in result.diagnostics)
            raise Disagreement(f"a valid pattern is rejected:\n{listed}\n{case.text}")
        if found := database.matches(case.pattern, case.events):
            raise Disagreement(f"{errors} says that nothing can match, DuckDB finds {found[:3]}\n{case}")
        return
    checked = Counter(database.matches(result.patterns[0], case.events))
    meant = Counter(database.matches(case.pattern, case.events))
    if checked != meant:
        raise Disagreement(f"the checker reads another pattern: {_difference(checked, meant)}\n{case}")
    judge = Judge(database, case, result)
    for i, how in enumerate(treatments):
        problem = _attempt(maker, judge, case, how)
        if problem is None:
            continue
        used = [treatments[0], how] if i else [how]

        def still(smaller: Case, used: Sequence[Treatment] = used) -> str | None:
            fresh = Judge(database, smaller, result)
            return next((p for t in used if (p := _attempt(maker, fresh, smaller, t)) is not None), None)

        smallest = thinned(case, still) if thin else case
        raise Disagreement(report(smallest, still(smallest) or problem, how, result.plans[0]))


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
        f"{jsonl(case.streams, case.events)}\n--- arrival\n{came}\n--- plan key {plan.key[:12]}"
    )

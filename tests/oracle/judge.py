"""Judges what an engine gave out by what DuckDB says of the same events (`tests.oracle.truth`).

After *every* push the matches given out so far, less those taken back, are those of the events pushed so far. Of a
DISTINCT output also the times of a tuple, and when it is given out again. At the end: ids, late events counted, and
`enumerate`, `count` and `contains`, which see the events from the horizon on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from cep.ir.plan import Probe
from tests.oracle.harness import Disagreement, Fields, Match, Outcome, Treatment, read

if TYPE_CHECKING:
    from cep.compiler.pipeline import Result
    from cep.ir.plan import Plan
    from tests.oracle.truth import Presence, Truth


def difference(got: Counter[Any], want: Counter[Any]) -> str:
    """What is missing and what is too much, the first few of each."""
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


def dated(plan: Plan) -> bool:
    """Whether the tuples of a DISTINCT output have the times of the combination that brings them to life."""
    timed = any(leaf.time is not None for leaf in plan.leaves)
    return (
        not plan.merges
        or plan.window is not None
        or (timed and not any(isinstance(step, Probe) for step in plan.steps()))
    )


def one_order_of_ids(plan: Plan) -> bool:
    """Whether ids depend on nothing but the events; else the order of arrival may choose what a tuple begins with."""
    return not plan.merges or not dated(plan)


class Judge:
    """Compares outcomes of one set of events with the oracle and with each other."""

    def __init__(self, truth: Truth, result: Result, probes: int = 5) -> None:
        self.truth = truth
        self.result = result
        self.plan = result.plans[0]
        self.probes = probes
        self._ids: dict[bytes, Fields] | None = None

    def check(self, outcome: Outcome, how: Treatment) -> None:
        """Raises `Disagreement` at the first thing that is wrong."""
        presences = self.truth.presences(outcome.pushed)
        self._every_push(outcome, presences)
        if self.plan.distinct:
            self._times_of_tuples(outcome, presences)
            if self.plan.window is not None and not how.retract:
                self._emitted_once(outcome, presences, self.plan.window)
        if (late := outcome.engine.stats()["late"]) != outcome.late:
            raise Disagreement(f"{late} events counted as late, {outcome.late} are")
        self._ids_of(outcome, how)
        if how.ask:
            self._pull(outcome, presences)

    # --- matches ---------------------------------------------------------------------------------------------------

    def _every_push(self, outcome: Outcome, presences: Sequence[Presence]) -> None:
        """After each push: what is out is what the query gives for the events so far."""
        distinct, window = self.plan.distinct, self.plan.window
        changes: defaultdict[int, list[tuple[bool, int, Fields]]] = defaultdict(list)
        for since, until, values in presences:
            key = values[2:] if distinct else values
            changes[since].append((True, 1, key))
            changes[until].append((True, -1, key))
        for match in outcome.matches:
            changes[match.push].append((False, match.sign, match.fields if distinct else _with_times(match)))
        want: Counter[Fields] = Counter()
        got: Counter[Fields] = Counter()
        for push in range(len(outcome.pushed)):
            wrong = []
            for is_wanted, sign, key in changes[push]:
                (want if is_wanted else got)[key] += sign
            for _, _, key in changes[push]:
                out, there = got[key], min(want[key], 1) if distinct else want[key]
                if out != there and not (distinct and window is not None and out > 1 and there):
                    wrong.append(key)
            if wrong:
                what = "DISTINCT tuples" if distinct else "matches (start, end, fields)"
                after = "" if push == len(outcome.pushed) - 1 else f" after {push + 1} of {len(outcome.pushed)} pushes"
                some = Counter({key: got[key] for key in wrong})
                meant = Counter({key: min(want[key], 1) if distinct else want[key] for key in wrong})
                raise Disagreement(f"{what}{after}: {difference(some, meant)}")

    def _times_of_tuples(self, outcome: Outcome, presences: Sequence[Presence]) -> None:
        """The times of a tuple are those of a combination that makes it, and it is taken back as it was given out."""
        if not dated(self.plan):
            if any(match.start is not None or match.end is not None for match in outcome.matches):
                raise Disagreement("start and end of a DISTINCT match that has no times are not null")
            return
        first: dict[Fields, int] = {}
        for since, _, values in presences:
            first[values] = min(since, first.get(values, since))
        out: Counter[Any] = Counter()
        for match in outcome.matches:
            what = (match.id, *_with_times(match))
            if match.sign > 0 and first.get(_with_times(match), match.push + 1) > match.push:
                raise Disagreement(f"no combination makes the DISTINCT tuple {_with_times(match)}")
            out[what] += match.sign
            if out[what] < 0:
                raise Disagreement(f"DISTINCT tuple {what} is taken back and was not given out so")

    def _emitted_once(self, outcome: Outcome, presences: Sequence[Presence], window: int) -> None:
        """A tuple is given out when it comes alive, and not again before it has died.

        A combination makes its tuple alive from its last event until its first one leaves the window. One that ends
        when its tuple is not alive begins a life; of those that one push brings, the one that ends first, and of
        several that one that starts last.
        """
        until: dict[Fields, int] = {}
        want: Counter[Fields] = Counter()
        for since, _, (start, end, *values) in sorted(presences, key=_as_they_come):
            fields = tuple(values)
            if int(end or 0) > until.get(fields, -1):
                want[(since, start, end, *fields)] += 1
            until[fields] = max(until.get(fields, -1), int(start or 0) + window)
        got = Counter((match.push, *_with_times(match)) for match in outcome.matches)
        if got != want:
            raise Disagreement(f"DISTINCT tuples as they come alive (push, start, end, ...): {difference(got, want)}")

    # --- ids -------------------------------------------------------------------------------------------------------

    def _ids_of(self, outcome: Outcome, how: Treatment) -> None:
        net = _net(outcome.matches, lambda match: match.id)
        # A tuple is taken back when its last combination goes. If one goes that began a life, and another that ends at
        # the same time comes, that life is told again, with the same id (docs/semantics.md, corrections).
        most = len(outcome.matches) if how.retract and self.plan.merges and self.plan.window is not None else 1
        if any(not 1 <= n <= most for n in net.values()):
            raise Disagreement(f"ids are not distinct: {[(i.hex(), n) for i, n in net.items() if n != 1][:5]}")
        fields: dict[bytes, Fields] = {}
        for match in outcome.matches:
            # Two combinations of one tuple that end at one time make one id.
            what = (match.end, *match.fields) if self.plan.distinct else _with_times(match)
            if fields.setdefault(match.id, what) != what:
                raise Disagreement(f"id {match.id.hex()} stands for {fields[match.id]} and for {what}")
        if how.retract or how.order == "late" or (how.order != "time" and not one_order_of_ids(self.plan)):
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

    # --- pull ------------------------------------------------------------------------------------------------------

    def _current(self, outcome: Outcome, presences: Sequence[Presence]) -> Iterator[Fields]:
        """What is a match at the end, of events that are at or after the horizon."""
        window, watermark = self.plan.window, outcome.watermark
        horizon = None if window is None or watermark is None else watermark - window
        for _, until, (start, _, *fields) in presences:
            if until >= len(outcome.pushed) and (horizon is None or int(start or 0) >= horizon):
                yield tuple(fields)

    def _pull(self, outcome: Outcome, presences: Sequence[Presence]) -> None:
        found = self._current(outcome, presences)
        want = Counter(set(found) if self.plan.distinct else found)
        if (count := outcome.engine.count()) != want.total():
            raise Disagreement(f"count() is {count}, the query has {want.total()} rows")
        got = _net(read(outcome.engine.enumerate(), self.plan), lambda match: match.fields)
        if got != want:
            raise Disagreement(f"enumerate(): {difference(got, want)}")
        names = [f.name for f in self.plan.fields]
        rng = Random(1)
        members = list(want)
        for row in rng.sample(members, min(self.probes, len(members))):
            if not outcome.engine.contains(dict(zip(names, row, strict=True))):
                raise Disagreement(f"contains() is false for the member {row}")
        for _ in range(self.probes if members else 0):
            row = tuple(rng.choice(members)[i] for i in range(len(names)))
            if outcome.engine.contains(dict(zip(names, row, strict=True))) != (row in want):
                raise Disagreement(f"contains() is {row not in want} for {row}")


def _as_they_come(presence: Presence) -> tuple[int, int, int]:
    start, end, *_ = presence.values
    return presence.since, int(end or 0), -int(start or 0)

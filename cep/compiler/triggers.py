"""Triggers: for each variable, in which order and through which index a new event of it finds the rest of its matches.

For an acyclic query the order walks the join tree away from the trigger, so that every condition of a step speaks of
the step's variable and its tree neighbour. For a cyclic query the next variable is the one with most conditions towards
those already bound. Either way each condition is used exactly once per trigger: as a key or range of an index where
that is possible, as a check where it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from cep.compiler.gaps import Gap, Way, set_of
from cep.compiler.gcq import as_inequality
from cep.compiler.shared.ranges import own_range
from cep.ir.body import Absent
from cep.ir.expr import Col, Expr, variables
from cep.ir.gcq import GCQ
from cep.ir.plan import Bind, Edge, Fold, Folded, Index, Lookup, Probe, Range, Step, Trigger
from cep.ir.types import Type


@dataclass(slots=True)
class Triggers:
    """The triggers of a plan and the indexes they share."""

    triggers: list[Trigger] = field(default_factory=list)
    indexes: list[Index] = field(default_factory=list)
    asks: dict[str, Probe | Fold] = field(default_factory=dict)
    """By gap variable, what is asked of a held row as it is applied."""


def triggers(
    gcq: GCQ,
    edges: tuple[Edge, ...],
    rank: Mapping[str, int],
    gaps: tuple[Gap, ...] = (),
    having: tuple[Expr, ...] = (),
    *,
    acyclic: bool,
) -> Triggers:
    """All triggers, earliest events first (the order in which a batch is applied), and what held leaves ask.

    `having` are conditions on what sets add up to.

    O(n^2) steps; a cyclic query, which has several orders a trigger, has at most `MOST_STEPS` more.
    """
    between = [gap.bound for gap in gaps if gap.way is Way.SINCE]
    sets = {set_of(gap.name) for gap in gaps}
    of_rows = [condition for condition in having if not variables(condition) & sets]
    between += [inequality for condition in of_rows if (inequality := as_inequality(condition)) is not None]
    others = [condition for condition in of_rows if as_inequality(condition) is None]
    added = replace(gcq, inequalities=(*gcq.inequalities, *between), predicates=(*gcq.predicates, *others))
    search = _Search(added, edges, rank, gaps, acyclic=acyclic)
    of_sets = [(condition, names) for condition in having if (names := variables(condition)) & sets]
    search.having = of_sets
    search.asked |= {name for _, names in of_sets for name in names}
    search.waiting = [(gap, search.needs(gap)) for gap in search.gaps]
    found = [search.trigger(var) for var in sorted(rank, key=lambda name: rank[name])]
    asks = {gap.variable.name: search.ask(gap) for gap in gaps if gap.way is not Way.MATCH}
    return Triggers(found, list(search.indexes), asks)


MOST_STEPS = 15_000
"""Steps and conditions of alternative orders in one plan: twelve variables with conditions between all have fewer."""


class _Search:
    """What all triggers of a query have in common, looked up once."""

    def __init__(
        self, gcq: GCQ, edges: tuple[Edge, ...], rank: Mapping[str, int], gaps: tuple[Gap, ...], *, acyclic: bool
    ) -> None:
        self.gcq = gcq
        self.gaps = [gap for gap in gaps if gap.way is Way.MATCH]
        self.having: list[tuple[Expr, frozenset[str]]] = []
        """Conditions on sets that are worked out of combinations, with their variables."""
        self.waiting: list[tuple[Gap, frozenset[str]]] = []
        """Gaps with what must be bound before each is asked for."""
        self.asked = {name for gap in gaps for name in (*gap.needs, gap.held)}
        self.edges = edges
        self.rank = rank
        self.acyclic = acyclic
        self.indexes: dict[Index, int] = {}
        conditions = (*gcq.inequalities, *gcq.predicates)
        self.uses = {id(c): variables(c) for c in conditions}
        self.of: dict[str, list[Expr]] = {name: [] for name in rank}
        for condition in conditions:
            for name in self.uses[id(condition)]:
                self.of[name].append(condition)
        self.members = [(v.name, frozenset(name for name, _ in v.members)) for v in gcq.variables]
        self.keys = {name: [(v, members) for v, members in self.members if name in members] for name in rank}
        self.time = {atom.name: atom.stream.time for atom in gcq.atoms}
        self.inequalities: dict[str, list[Expr]] = {name: [] for name in rank}
        for inequality in gcq.inequalities:
            for name in self.uses[id(inequality)]:
                self.inequalities[name].append(inequality)
        self.parents: dict[str, list[str]] = {name: [] for name in rank}
        self.children: dict[str, list[str]] = {name: [] for name in rank}
        for edge in edges:
            self.children[edge.parent].append(edge.child)
            self.parents[edge.child].append(edge.parent)
        self.near = {name: self.children[name] + self.parents[name] for name in rank}
        self.chains = {(edge.parent, edge.child) for edge in edges if edge.chain}
        self.outputs = {name for _, expr in gcq.pattern.fields for name in variables(expr)}
        self.alternative_steps = 0
        self.ranges: dict[tuple[int, str], tuple[Expr, str, Expr] | None] = {}

    def trigger(self, start: str) -> Trigger:
        steps = self.order(start, None)
        others: list[tuple[Step, ...]] = []
        if not self.acyclic:
            # The smallest list is joined first: any neighbour of the trigger may be the one that has it.
            firsts = [name for name in self.rank if name not in (start, steps[0].var) and self.connected(start, name)]
            for first in firsts:
                self.alternative_steps += len(steps) + len(self.uses)
                if self.alternative_steps > MOST_STEPS:
                    break
                others.append(self.order(start, first))
        return Trigger(var=start, steps=steps, alternatives=tuple(others))

    def connected(self, left: str, right: str) -> bool:
        """Whether an equality or inequality joins two variables."""
        if any(right in members for _, members in self.keys[left]):
            return True
        return any(self.uses[id(c)] == {left, right} for c in self.gcq.inequalities)

    def order(self, start: str, first: str | None) -> tuple[Step, ...]:
        """The steps from a trigger, beginning with `first` where it is given."""
        bound: dict[str, None] = {}
        strength = _Strength(self)
        steps: list[Step] = []
        skipped: set[str] = set()
        used: set[int] = set()

        def bind(name: str) -> None:
            bound[name] = None
            if not self.acyclic:
                strength.bind(name, bound)

        bind(start)
        while len(bound) + len(skipped) < len(self.rank):
            if first and not steps:
                var, via = first, start
            elif self.acyclic:
                var, via = self.next(bound, skipped)
            else:
                var, via = strength.next(bound)
            usable = [c for c in self.of[var] if all(name == var or name in bound for name in self.uses[id(c)])]
            step: Step = self.step(var, via, bound, usable)
            if self.acyclic and self.gcq.pattern.distinct:
                below = self.below(via, var)
                if self.only_asked_for(step, below, used):
                    step = Probe(**{part.name: getattr(step, part.name) for part in fields(Lookup)})
                    skipped |= below
            used.update(map(id, usable))
            steps.append(step)
            if isinstance(step, Bind):
                bind(var)
        # What only asks for existence is asked last: then the match's own time span is known.
        steps.sort(key=lambda step: isinstance(step, Probe))
        return self.with_gaps(start, steps)

    def with_gaps(self, start: str, steps: list[Step]) -> tuple[Step, ...]:
        """The steps with each gap asked for as soon as what decides it, and conditions on it, is bound."""
        found: list[Step] = []
        bound: set[str] = set()
        waiting = list(self.waiting)
        asked = self.having
        for name, step in ((start, None), *((step.var, step) for step in steps)):
            if step is not None:
                found.append(step)
            if step is None or isinstance(step, Bind):
                bound.add(name)
            while ready := next(((gap, needs) for gap, needs in waiting if needs <= bound), None):
                waiting.remove(ready)
                gap, _ = ready
                if gap.is_set:
                    bound.add(set_of(gap.name))
                decided = tuple(condition for condition, names in asked if names <= bound)
                asked = [(condition, names) for condition, names in asked if not names <= bound]
                found.append(self.lookup(gap, gap.neighbour or start, decided))
        assert not waiting, "what decides a gap is always bound"
        assert not asked, "what a condition on sets needs is always bound"
        return tuple(found)

    def needs(self, gap: Gap) -> frozenset[str]:
        """What must be bound before a gap is asked for: single events, and sets that it lies beside."""
        sets = {set_of(other.name) for other in self.gaps}
        of_it = [names for _, names in self.having if set_of(gap.name) in names]
        return gap.needs | frozenset(name for names in of_it for name in names if name not in sets)

    def ask(self, gap: Gap) -> Probe | Fold:
        """What is asked of a held row as it is applied."""
        if gap.way is Way.ROW:
            return self.lookup(gap, gap.held)
        lookup = self.parts(gap, gap.held)
        lookup["ranges"] = tuple(r for r in lookup["ranges"] if r.op in ("<", "<="))
        since = Folded(name=gap.since.attr, op="last", arg=gap.time, type=Type.TIMESTAMP)
        return Fold(**lookup, folded=(since,))

    def lookup(self, gap: Gap, via: str, having: tuple[Expr, ...] = ()) -> Probe | Fold:
        step = gap.place.step
        if isinstance(step, Absent):
            return Probe(**self.parts(gap, via), absent=True)
        into = "" if gap.way is Way.ROW else set_of(gap.name)
        return Fold(
            **self.parts(gap, via),
            folded=gap.folded,
            least=step.least,
            most=step.most,
            into=into,
            having=having,
            run=gap.run,
        )

    def parts(self, gap: Gap, via: str) -> dict[str, Any]:
        """The fields of a lookup of a gap's events."""
        index = Index(var=gap.name, key=tuple(key.name for key in gap.keys), sort=gap.time)
        return {
            "var": gap.name,
            "via": via,
            "index": self.indexes.setdefault(index, len(self.indexes)),
            "key": tuple(key.supplier for key in gap.keys),
            "ranges": tuple(Range(op=op, bound=bound) for op, bound in gap.ranges),
            "checks": gap.checks,
        }

    def next(self, bound: dict[str, None], skipped: set[str]) -> tuple[str, str]:
        """The variable of a tree to bind next and its bound neighbour: towards the root, where a late event fails."""
        near = [(v, via) for via in bound for v in self.near[via] if v not in bound and v not in skipped]
        return max(near, key=lambda pair: (self.rank[pair[0]], self.rank[pair[1]]))

    def step(self, var: str, via: str, bound: dict[str, None], usable: list[Expr]) -> Bind:
        keys: list[tuple[str, str]] = []
        for name, members in self.keys[var]:
            supplier = via if via in members and via in bound else next((b for b in bound if b in members), None)
            if supplier is not None:
                keys.append((name, supplier))
        candidates = [(c, self.own_range(c, var)) for c in usable]
        sort = self.sort(var, [found[0] for _, found in candidates if found is not None])
        ranges: list[Range] = []
        checks: list[Expr] = []
        for condition, found in candidates:
            if found is not None and found[0] == sort:
                ranges.append(Range(op=found[1], bound=found[2]))
            else:
                checks.append(condition)
        wanted = Index(var=var, key=tuple(name for name, _ in keys), sort=sort)
        return Bind(
            var=var,
            via=via,
            index=self.indexes.setdefault(wanted, len(self.indexes)),
            key=tuple(supplier for _, supplier in keys),
            ranges=tuple(ranges),
            checks=tuple(checks),
            # What an edge of a chain has beside its time only breaks ties; from elsewhere comes nothing in order.
            chain=(via, var) in self.chains and all(self.uses[id(check)] == {via, var} for check in checks),
        )

    def own_range(self, condition: Expr, var: str) -> tuple[Expr, str, Expr] | None:
        """`own_range`, asked once for each condition and variable."""
        place = (id(condition), var)
        if place not in self.ranges:
            self.ranges[place] = own_range(condition, var)
        return self.ranges[place]

    def sort(self, var: str, candidates: list[Expr]) -> Expr | None:
        """What the index is sorted by: the event time if window or order can use it, else the first inequality."""
        time = self.time[var]
        if time is not None and (self.gcq.window is not None or Col(var, time, Type.TIMESTAMP) in candidates):
            return Col(var, time, Type.TIMESTAMP)
        return candidates[0] if candidates else None

    def below(self, via: str, var: str) -> set[str]:
        """The variables on the far side of the edge between `via` and `var`, `var` included."""
        side = {var}
        pending = [var]
        while pending:
            here = pending.pop()
            for name in self.near[here]:
                if name not in side and {here, name} != {via, var}:
                    side.add(name)
                    pending.append(name)
        return side

    def only_asked_for(self, step: Step, below: set[str], used: set[int]) -> bool:
        """Whether nothing of the far side is put out, and one index probe decides whether a partner exists.

        A chain carries its best start, so one probe speaks for the whole chain and its window. Without a window, a
        single variable whose conditions are all one range can be asked for as well.
        """
        if below & self.outputs or step.checks or below & self.asked:
            return False
        if any(names & below and names - below - {step.via} for c, names in self.uses.items() if c not in used):
            return False
        if step.chain:
            inner = [edge for edge in self.edges if {edge.parent, edge.child} <= below]
            return all(edge.chain and len(edge.predicates) < 2 for edge in inner)  # a tie would be taken for a partner
        return self.gcq.window is None and below == {step.var}


class _Strength:
    """In a cyclic query: how many keys and ranges lead from what is bound to each variable."""

    def __init__(self, search: _Search) -> None:
        self.search = search
        self.keys = dict.fromkeys(search.rank, 0)
        self.ranges = dict.fromkeys(search.rank, 0)
        self.known: set[str] = set()

    def bind(self, name: str, bound: dict[str, None]) -> None:
        """`name` is bound from now on."""
        for key, members in self.search.keys[name]:
            if key not in self.known:
                self.known.add(key)
                for member in members:
                    self.keys[member] += 1
        for condition in self.search.inequalities[name]:
            for other in self.search.uses[id(condition)]:
                if other not in bound:
                    self.ranges[other] += 1

    def next(self, bound: dict[str, None]) -> tuple[str, str]:
        """The variable with most conditions towards those bound, and its bound neighbour."""
        rank = self.search.rank
        var = max((v for v in rank if v not in bound), key=lambda v: (self.keys[v], self.ranges[v], rank[v]))
        neighbours = [via for via in self.search.parents[var] if via in bound]
        neighbours += [via for via in self.search.children[var] if via in bound]
        return var, neighbours[0] if neighbours else next(reversed(bound))

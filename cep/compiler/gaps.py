"""Gaps: where the events of each gap step lie, which leaf waits until they cannot change, and how they are asked for.

A gap step (`NOT B b`; `FIRST(B b)` is a NOT of an earlier candidate) speaks of all events that could stand in its
place. Whether there is one is asked once, when the watermark has passed the end of the gap: then no event and no
correction can change the answer. No match waits for that. One *leaf* is held back instead, and its rows are applied
when they are due: that of an event that follows the gap; else one whose time bounds it in `WHERE`; else the first of
the pattern, for a window. A match is found when the last of its events is applied, as ever.

Three ways, the cheapest that is possible:

* `ROW`: one held row decides which events are in the gap. It is asked as it is applied, and dropped for good.
* `SINCE`: the gap lies between two neighbours and the later one has its keys. The later row gets a column, the time of
  the last event of the gap's kind before it, and its partners must not be older: one more bound on a range of an index.
* `MATCH`: anything else. It is asked of every combination, as soon as what it needs is bound.

Which events are in a run (`RUN(B{2,} b)`) its gap and `PARTITION BY` say; what else is said of them breaks it.

What a set adds up to (`COUNT(b)`, `SUM(b.x)`) is a column: of the held row where that decides, and so an attribute like
any other; else of a row that stands for the set in its combination.

Gap variables are no atoms of the query: verdicts and join trees are those of the single events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from cep.compiler.check_aggregate import aggregate_of
from cep.compiler.normalise import normal_form
from cep.compiler.shared.ranges import own_range
from cep.compiler.shared.ties import before as in_order
from cep.compiler.shared.ties import ordered_at_ties
from cep.ir.body import Absent, Many, One, Place, Select, places, steps
from cep.ir.expr import Call, Col, Expr, rewrite, split_shift, variables
from cep.ir.gcq import GCQ
from cep.ir.model import Aggregate, Condition, GapVariable, Pattern, Stream, Variable
from cep.ir.plan import Folded, Unbroken
from cep.ir.types import Type


class Way(Enum):
    """How a gap is asked for."""

    ROW = "by one row"
    SINCE = "between neighbours"
    MATCH = "of every combination"


@dataclass(frozen=True, slots=True, kw_only=True)
class GapKey:
    """An equality of the gap's events with a single event: `own = other`, under the name of a join variable."""

    name: str
    own: Expr
    other: Expr

    @property
    def supplier(self) -> str:
        """The variable that the key is taken from."""
        return next(iter(variables(self.other)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A gap, decided.

    `ranges` bound the event time of the gap's events, each by an expression over one single event. `needs` are the
    single events that decide what is in the gap. The leaf of `held` waits until `shift` microseconds after its time.
    """

    variable: Variable
    place: Place
    filters: tuple[Expr, ...]
    keys: tuple[GapKey, ...]
    ranges: tuple[tuple[str, Expr], ...]
    checks: tuple[Expr, ...]
    needs: frozenset[str]
    held: str
    shift: int
    way: Way
    aggregates: tuple[Aggregate, ...] = ()
    run: Unbroken | None = None

    @property
    def name(self) -> str:
        """The gap's variable."""
        return self.variable.name

    @property
    def is_set(self) -> bool:
        """Whether it is a set, and not absent."""
        return isinstance(self.place.step, Many)

    def value(self, name: str, type_: Type) -> Col:
        """The column that an aggregate is, or `first` or `last`, the times of the set's first and last event."""
        aggregate = next((a for a in self.aggregates if a.name == name), None)
        attr = f"{name} {self.name}" if aggregate is None else aggregate.text(self.name)
        return Col(self.held if self.way is Way.ROW else set_of(self.name), attr, type_)

    @property
    def folded(self) -> tuple[Folded, ...]:
        """What is worked out of a set's events."""
        times = [
            Folded(name=self.value(end, Type.TIMESTAMP).attr, op=end, arg=self.time, type=Type.TIMESTAMP)
            for end in ("first", "last")
        ]
        values = [
            Folded(name=self.value(a.name, a.type).attr, op=a.op, arg=a.arg, type=a.type, distinct=a.distinct)
            for a in self.aggregates
        ]
        return (*times, *values)

    @property
    def time(self) -> Col:
        """The event time of the gap's events."""
        return time_of(self.variable)

    @property
    def neighbour(self) -> str | None:
        """A single event whose time bounds the gap; None where only the window does."""
        return next((name for _, bound in self.ranges for name in variables(bound)), None)

    @property
    def since(self) -> Col:
        """The column that `Way.SINCE` adds to the later neighbour."""
        return Col(self.held, f"since {self.variable.name}", Type.TIMESTAMP)

    @property
    def bound(self) -> Call:
        """What `Way.SINCE` asks of the earlier neighbour."""
        (earlier,) = (base for op, base in self.ranges if op in (">", ">="))
        return Call("<=", (self.since, earlier), Type.BOOLEAN)


def gaps(query: GCQ) -> tuple[Gap, ...]:
    """The gaps of a query's pattern, those of `FIRST` and `LAST` among them."""
    pattern = query.pattern
    named = {gap.name: gap for gap in pattern.gaps}
    written = [(place, named[place.step.var]) for place in places(pattern.body)]
    found: dict[str, Gap] = {}
    for place, gap in (*_needed_first(written), *_selections(pattern)):
        found[gap.name] = _decided(query, place, gap, found)
    return tuple(found.values())


def _needed_first(written: Sequence[tuple[Place, GapVariable]]) -> list[tuple[Place, GapVariable]]:
    """The gaps with each set before those that are asked about it: they lie beside it or speak of its values.

    Where `ORDER BY` decides what is beside a set, the place of its first or last event is one of its values.
    """
    streams = {gap.name: gap.stream for _, gap in written}
    edges: dict[str, list[Aggregate]] = {}
    needs: dict[str, set[str]] = {}
    for place, gap in written:
        own = _variable(gap)
        mentioned = {name for condition in gap.conditions for name in variables(condition.expr)}
        needs[gap.name] = ({name for _, name in place.beside} | mentioned) & set(streams) - {gap.name}
        for side, name in place.beside:
            if ordered_at_ties(own, Variable(name=name, stream=streams[name], span=gap.span)):
                edges.setdefault(name, []).append(_edge_of(name, streams[name], side))
    waiting = [
        (
            place,
            replace(gap, aggregates=tuple({a.name: a for a in (*gap.aggregates, *edges.get(gap.name, ()))}.values())),
        )
        for place, gap in written
    ]
    ordered: list[tuple[Place, GapVariable]] = []
    while waiting:
        missing = {gap.name for _, gap in waiting}
        ready = next(item for item in waiting if not needs[item[1].name] & missing)  # checked: there is no circle
        waiting.remove(ready)
        ordered.append(ready)
    return ordered


def _edge_of(name: str, stream: Stream, side: int) -> Aggregate:
    """The `ORDER BY` attribute of a set's last event (before what lies at side -1), or of its first."""
    assert stream.order is not None
    type_ = stream.type_of(stream.order)
    assert type_ is not None
    return aggregate_of("LAST" if side < 0 else "FIRST", Col(name, stream.order, type_))


def _variable(gap: GapVariable) -> Variable:
    return Variable(name=gap.name, stream=gap.stream, span=gap.span)


def set_of(var: str) -> str:
    """The variable that stands for a set in a combination; no name that can be written."""
    return f"set {var}"


def valued(expr: Expr, gaps: Iterable[Gap]) -> Expr:
    """An expression with each aggregate as the column that it is."""
    named = {gap.name: gap for gap in gaps}

    def value(node: Expr) -> Expr:
        gap = named.get(node.var) if isinstance(node, Col) else None
        if not isinstance(node, Col) or gap is None or all(a.name != node.attr for a in gap.aggregates):
            return node
        return gap.value(node.attr, node.type)

    return rewrite(expr, value)


def time_of(variable: Variable) -> Col:
    """The event time of a variable."""
    assert variable.stream.time is not None
    return Col(variable.name, variable.stream.time, Type.TIMESTAMP)


# --- FIRST and LAST ------------------------------------------------------------------------------------------------


def _selections(pattern: Pattern) -> Iterable[tuple[Place, GapVariable]]:
    """For each `FIRST(B b)` or `LAST(B b)` the gap of its better candidates."""
    named = {variable.name: variable for variable in pattern.variables}
    for step in steps(pattern.body):
        if not isinstance(step, One) or step.select is None:
            continue
        own = named[step.var]
        other = f"{step.select.value} {step.var}"  # no name that can be written
        earlier = tuple(a for a, b in pattern.order if b == step.var)
        later = tuple(b for a, b in pattern.order if a == step.var)
        if step.select is Select.FIRST:
            place = Place(step=Absent(other), after=earlier, before=(step.var,))
        else:
            place = Place(step=Absent(other), after=(step.var,), before=later)
        conditions = tuple(
            Condition(expr=_renamed(condition.expr, step.var, other), span=condition.span)
            for condition in pattern.conditions
            if step.var in variables(condition.expr)
        )
        yield place, GapVariable(name=other, stream=own.stream, span=own.span, conditions=conditions)


def _renamed(expr: Expr, old: str, new: str) -> Expr:
    return rewrite(expr, lambda node: replace(node, var=new) if isinstance(node, Col) and node.var == old else node)


# --- decisions -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Sorted:
    """The conditions on a gap's events, by kind."""

    filters: list[Expr] = field(default_factory=list)
    equalities: list[tuple[Expr, Expr]] = field(default_factory=list)
    ranges: list[tuple[str, Expr]] = field(default_factory=list)
    checks: list[Expr] = field(default_factory=list)


def _decided(query: GCQ, place: Place, gap: GapVariable, sets: Mapping[str, Gap]) -> Gap:
    own = _variable(gap)
    singles = {variable.name: variable for variable in query.pattern.variables}
    neighbours = [part for name in place.after for part in in_order(singles[name], own)]
    neighbours += [part for name in place.before for part in in_order(own, singles[name])]
    for side, name in place.beside:
        neighbours += _beside(own, sets[name], side)
    conditions = [c for written in gap.conditions for c in normal_form(written.expr)]
    of_sets = {valued(c, sets.values()) for c in conditions} - set(conditions)
    conditions = [valued(c, sets.values()) for c in conditions]
    run = _run(query, place, gap, conditions, sets.values())
    if run is not None:
        conditions = [c for c in conditions if c not in run.holds]
    found = _sorted(own, [*neighbours, *conditions], of_sets)
    held, shift = _held(query, place, own, found)
    decide = frozenset({name for _, bound in found.ranges for name in variables(bound)})
    breaking = () if run is None else (*run.holds, *run.pairs)
    decide |= {name for check in (*found.checks, *breaking) for name in variables(check)} - {gap.name}
    decide |= _window_needs(query, place)
    of_held = [(own_side, _on(query, other, held)) for own_side, other in found.equalities]
    keyed_by_held = all(other is not None for _, other in of_held)
    if keyed_by_held and decide <= {held}:
        way = Way.ROW
    elif (
        keyed_by_held
        and isinstance(place.step, Absent)
        and not place.beside
        and len(place.after) == 1
        and place.before == (held,)
        and not found.checks
        and len(found.ranges) == len(neighbours)
    ):
        way = Way.SINCE
    else:
        way = Way.MATCH
    equalities = (
        found.equalities if way is Way.MATCH else [(mine, other) for mine, other in of_held if other is not None]
    )
    keys, doubled = _keys(query, equalities)
    return Gap(
        variable=own,
        place=place,
        filters=tuple(found.filters),
        keys=keys,
        ranges=tuple(found.ranges),
        checks=(*found.checks, *doubled),
        needs=decide | {key.supplier for key in keys} | {n for c in doubled for n in variables(c)} - {gap.name},
        held=held,
        shift=shift,
        way=way,
        aggregates=gap.aggregates,
        run=run,
    )


def _run(
    query: GCQ, place: Place, gap: GapVariable, conditions: Iterable[Expr], sets: Iterable[Gap]
) -> Unbroken | None:
    """What breaks a run: all that is said of its events but their key, and that they are not after the anchor."""
    if not (isinstance(place.step, Many) and place.step.run):
        return None
    anchor = query.pattern.anchor
    holds = []
    for condition in conditions:
        others = variables(condition) - {gap.name}
        is_key = isinstance(condition, Call) and condition.op == "=" and bool(others)  # checked: PARTITION BY
        if not is_key and not (anchor is not None and others == {anchor}):
            holds.append(condition)
    pairs = [valued(part, sets) for written in gap.pairs for part in normal_form(written.expr)]
    return Unbroken(holds=tuple(holds), pairs=tuple(pairs), at_end=bool(place.before) or anchor is not None)


def _beside(own: Variable, other: Gap, side: int) -> Iterable[Expr]:
    """That an event is later than a set's last one (side -1), or earlier than its first; of an empty set it is both."""
    edge = other.value("last" if side < 0 else "first", Type.TIMESTAMP)
    times = (edge, time_of(own)) if side < 0 else (time_of(own), edge)
    if not ordered_at_ties(own, other.variable):
        return [Call("<", times, Type.BOOLEAN)]
    aggregate = _edge_of(other.name, own.stream, side)
    mine = Col(own.name, own.stream.order or "", aggregate.type)
    place = other.value(aggregate.name, aggregate.type)
    tied = Call("<", (place, mine) if side < 0 else (mine, place), Type.BOOLEAN)
    return [
        Call("<=", times, Type.BOOLEAN),
        Call("or", (Call("<", times, Type.BOOLEAN), tied), Type.BOOLEAN),
    ]


def _sorted(own: Variable, conditions: Iterable[Expr], of_sets: Collection[Expr]) -> _Sorted:
    """By kind; what speaks of a set's values is always checked: they can be NULL, which no range can end at."""
    found = _Sorted()
    for condition in dict.fromkeys(conditions):
        used = variables(condition)
        if condition in of_sets:
            found.checks.append(condition)
            continue
        if used <= {own.name}:
            found.filters.append(condition)
            continue
        if isinstance(condition, Call) and condition.op == "=":
            sides = sorted(condition.args, key=lambda side: variables(side) != {own.name})
            if variables(sides[0]) == {own.name} and len(variables(sides[1])) == 1:
                found.equalities.append((sides[0], sides[1]))
                continue
        bound = own_range(condition, own.name)
        if bound is not None and bound[0] == time_of(own):
            found.ranges.append((bound[1], bound[2]))
        else:
            found.checks.append(condition)
    return found


def _held(query: GCQ, place: Place, own: Variable, found: _Sorted) -> tuple[str, int]:
    """The leaf that waits, and for how long after its rows' time.

    With `ORDER BY` an event of the gap can be of the later neighbour's moment: that has to pass too.
    """
    if place.before:
        follower = next(v for v in query.pattern.variables if v.name == place.before[0])
        return follower.name, int(ordered_at_ties(own, follower))
    times = {time_of(v): v.name for v in query.pattern.variables if v.stream.time is not None}
    for op, bound in found.ranges:
        base, micros = split_shift(bound)
        if op in ("<", "<=") and isinstance(base, Col) and base in times:
            return times[base], max(0, micros + (op == "<="))
    later = {b for _, b in query.pattern.order}
    first = next(v.name for v in query.pattern.variables if v.name not in later)
    assert query.window is not None, "checked: nothing would ever say that it does not come"
    return first, query.window + 1


def _window_needs(query: GCQ, place: Place) -> frozenset[str]:
    """The single events whose times say whether an event of the gap would still fit the window."""
    if query.window is None or (place.after and place.before):
        return frozenset()
    names = [variable.name for variable in query.pattern.variables]
    first = _extreme(names, query.pattern.order)
    last = _extreme(names, [(b, a) for a, b in query.pattern.order])
    needed = frozenset[str]()
    if not place.after:  # how far back it reaches depends on the latest event
        needed |= last
    if not place.before:
        needed |= first
    return needed


def _extreme(names: Sequence[str], order: Sequence[tuple[str, str]]) -> frozenset[str]:
    """The one variable that the order puts before all others; all of them where there is none."""
    reach = later_than(names, order)
    first = [name for name in names if len(reach[name]) == len(names) - 1]
    return frozenset(first or names)


def later_than(names: Iterable[str], order: Sequence[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    """For each variable those that the order puts after it, directly or through others."""
    direct: dict[str, set[str]] = {name: set() for name in names}
    for earlier, later in order:
        direct[earlier].add(later)
    found: dict[str, frozenset[str]] = {}
    for name in direct:
        seen: set[str] = set()
        pending = list(direct[name])
        while pending:
            here = pending.pop()
            if here not in seen:
                seen.add(here)
                pending += direct[here]
        found[name] = frozenset(seen)
    return found


def keeps(query: GCQ, gaps: Sequence[Gap]) -> dict[str, int]:
    """How long rows must be kept where that is longer than the window.

    A held row is asked `shift` after its time, of events that lie up to a window before it. A DISTINCT tuple lives for
    a window after it was told, and what waits may still belong to it. Who asks for the current matches asks about gaps
    again, and those that lie before all events of a match reach a window further back than these.
    """
    window = query.window
    if window is None or not gaps:
        return {}
    names = [variable.name for variable in query.pattern.variables]
    later = later_than(names, query.pattern.order)
    found: dict[str, int] = {}
    for name, after in (*((n, (n,)) for n in names), *((gap.variable.name, gap.place.after) for gap in gaps)):
        kept = window
        for gap in gaps:
            never_earlier = any(gap.held == other or other in later[gap.held] for other in after)
            kept = max(kept, gap.shift + (0 if never_earlier and not query.pattern.distinct else window))
        found[name] = kept
    longest = max(found[name] for name in names)
    for gap in gaps:
        if gap.way is Way.MATCH:
            found[gap.variable.name] = max(found[gap.variable.name], longest + (0 if gap.place.after else window))
    return {name: kept for name, kept in found.items() if kept > window}


def _on(query: GCQ, other: Expr, var: str) -> Expr | None:
    """What equals an expression of a single event on another one; None where nothing does."""
    (name,) = variables(other)
    if name == var:
        return other
    for variable in query.variables:
        members = dict(variable.members)
        if members.get(name) == other and var in members:
            return members[var]
    return None


def _keys(query: GCQ, equalities: Sequence[tuple[Expr, Expr]]) -> tuple[tuple[GapKey, ...], list[Expr]]:
    """Each equality under the name of its join variable; a second one of the same is left as a check."""
    found: dict[str, GapKey] = {}
    doubled: list[Expr] = []
    for own, other in equalities:
        (name,) = variables(other)
        joined = next((v.name for v in query.variables if dict(v.members).get(name) == other), str(other))
        if joined in found:
            doubled.append(Call("=", (own, other), Type.BOOLEAN))
        else:
            found[joined] = GapKey(name=joined, own=own, other=other)
    return tuple(found.values()), doubled

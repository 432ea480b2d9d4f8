"""The plan: everything a runtime needs to know of a pattern, and nothing of how it was written.

Frozen, picklable, versioned, hashed. Executors get a plan; they never parse.

How to read it: each *leaf* is a pattern variable with the attributes and filters it needs. The *tree* is the
generalized join tree (for `explain`; the runtime walks *triggers*). A *trigger* says how to find all matches that
contain a new event of one variable: a list of *steps*, each of which looks rows of one more variable up in an *index*
(rows grouped by `key`, sorted by `sort` within a group), as one contiguous range per group, and then applies what
remains as `checks`. A step that *binds* makes a longer partial match of each row; one that *probes* only asks for any.

Two hashes. `Plan.meaning` says what the user wrote (`cep.compiler.meaning`): checkpoints and snapshots compare it.
`Plan.layout` says how it is run, roots, indexes, steps: caches compare it. Both leave out what has its default, so that
a new field changes no old hash. What was stored before there was a hash of the meaning has one of the layout instead,
which is worked out where it is asked for (`Plan.is_of`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, cast

from cep.ir.expr import Call, Col, Const, Expr, columns, duration_text
from cep.ir.hypergraph import TreeNode, Verdict
from cep.ir.model import Stream
from cep.ir.types import Type

PLAN_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A pattern variable: which events can bind it, and what is kept of them.

    `columns` are the attributes to keep: what joins, checks and outputs need, and the event time. `filter` conjuncts
    mention this variable alone and may use more; they include the non-NULL tests that the joins imply.

    A leaf with `hold` is *held back*: its rows wait until the watermark has reached their time plus so many
    microseconds, and are applied then. As they are, `asks` is asked of them, in order: a probe drops the rows whose gap
    it finds wanting, a fold adds columns (`Leaf.derived`); what fails `having` is dropped too. `keep` says how far
    behind the watermark rows are kept, in microseconds; None where that is the plan's window. With `once`, of the rows
    of one moment that agree in these attributes only the last one, by its columns, is applied.

    `stands_for` is the pattern's variable where that has another name: alternatives may need several leaves of one.
    """

    var: str
    stream: str
    columns: tuple[tuple[str, Type], ...]
    time: str | None
    filter: tuple[Expr, ...]
    hold: int | None = None
    keep: int | None = None
    asks: tuple[Probe | Fold, ...] = ()
    having: tuple[Expr, ...] = ()
    once: tuple[str, ...] | None = None
    stands_for: str = ""

    @property
    def variable(self) -> str:
        """The variable as the pattern names it."""
        return self.stands_for or self.var

    @property
    def derived(self) -> tuple[tuple[str, Type], ...]:
        """The columns that are worked out when a row is applied."""
        return tuple((each.name, each.type) for ask in self.asks if isinstance(ask, Fold) for each in ask.folded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A join variable: what each pattern variable contributes to an equality that two or more of them share."""

    name: str
    type: Type
    members: tuple[tuple[str, Expr], ...]

    def of(self, var: str) -> Expr:
        """The expression that stands for this key on a pattern variable."""
        return dict(self.members)[var]


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Rows of a leaf grouped by the keys named in `key` (of `Plan.keys`; one group where empty).

    Within a group rows are sorted by `sort`, or stand in order of arrival where that is None.
    """

    var: str
    key: tuple[str, ...]
    sort: Expr | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """`index.sort op bound`, where `bound` is an expression over one variable bound before."""

    op: str
    bound: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """Find rows of `var`, a neighbour of `via`, through `plan.indexes[index]`.

    `key` names, for each key of the index, the bound variable that supplies it. `ranges` bound the index's sort key;
    where that is the event time, the window bounds it too. `checks` are conditions that become decidable here.
    `chain` says that the rows that can still be completed below are a suffix of the group in time (best starts rise
    with time), so no dead end is visited.
    """

    var: str
    via: str
    index: int
    key: tuple[str, ...]
    ranges: tuple[Range, ...]
    checks: tuple[Expr, ...]
    chain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind(Lookup):
    """Bind `var` to each row that is found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe(Lookup):
    """Ask whether there is a row, and bind nothing: there must be one (DISTINCT over something else).

    With `absent` there must be none (NOT).
    """

    absent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """A value of all rows that a fold finds, e.g. their number; NULL where SQL's aggregate is."""

    name: str
    op: str
    arg: Expr | None
    type: Type
    distinct: bool = False

    @property
    def runs(self) -> bool:
        """Whether a range's value is a difference of two running sums, if the events of the range are all."""
        if self.arg is None or self.distinct:
            return False
        return self.op == "COUNT" or (self.op in ("SUM", "AVG") and self.arg.type is Type.INT)

    @property
    def reads(self) -> bool:
        """Whether the rows have to be looked at: their number, their ends and running sums do not tell."""
        return not (self.runs or self.arg is None or self.op.upper() in ("FIRST", "LAST"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbroken:
    """What makes a run of the rows that a fold finds: the longest part of them at one end that nothing breaks.

    Rows are in order of time, those of one moment in that of `ORDER BY` and their columns. `holds` is asked of every
    row, `pairs` of each but the first together with the one before, whose value of `x` is the column `PREV(x)`. With
    `at_end` the run ends with the last row, else it begins with the first.
    """

    holds: tuple[Expr, ...] = ()
    pairs: tuple[Expr, ...] = ()
    at_end: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold(Lookup):
    """Look at all rows at once: how many there are, from `least` to `most`, and what they add up to.

    With `run` only the rows of a run count.

    Asked of a held row, the values become columns of its leaf. In a trigger, they are bound as the columns of one row
    of `into`, and `having` is asked of what is bound then.
    """

    folded: tuple[Folded, ...]
    least: int = 0
    most: int | None = None
    into: str = ""
    having: tuple[Expr, ...] = ()
    run: Unbroken | None = None


def previous(col: Col) -> str | None:
    """The attribute of the event before that a column of a run's pair is, None where it is its own.

    >>> previous(Col("b", "PREV(x)", Type.INT)), previous(Col("b", "x", Type.INT))
    ('x', None)
    """
    return col.attr.removeprefix("PREV(")[:-1] if col.attr.startswith("PREV(") else None


Step = Bind | Probe | Fold


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """How a new event of `var` finds its matches.

    In a cyclic plan `alternatives` are other orders that find the same; each partial match takes the one whose first
    step has the fewest partners for it.
    """

    var: str
    steps: tuple[Step, ...]
    alternatives: tuple[tuple[Step, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An edge of the join tree over the pattern's variables: `child` hangs below `parent`.

    `predicates` are all inequality and general conditions on the edge. With `chain`, rows of `child` have best starts
    that rise with time within a group (design, section 5).
    """

    parent: str
    child: str
    predicates: tuple[Expr, ...]
    chain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of the composite event."""

    name: str
    type: Type
    expr: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantees:
    """What an event, a match and the state cost, in plain words; each is backed by a test that counts."""

    update: str
    delay: str
    space: str
    emission: str = "when its last event arrives"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """See the module's text. `window` is in microseconds, None where unbounded.

    `partition_key` gives for each stream the attributes whose hash says where an event goes; None where there is no
    such key. `unordered` names the streams whose events `SEQ` compares with each other without an `ORDER BY`.
    `runtime` is `iedyn` for acyclic plans and `iedyn+bags` for cyclic ones. `repr` is for people.

    The plan of a pattern with alternatives has `branches`, a plan each, numbered by `branch`. They share what it has of
    leaves (single events first, in the order in which they are applied), keys and indexes; root, tree, edges, triggers
    and the expressions of fields are theirs (`Plan.parts`).
    """

    version: int = PLAN_VERSION
    pattern: str
    streams: tuple[Stream, ...]
    leaves: tuple[Leaf, ...]
    window: int | None
    distinct: bool
    fields: tuple[Field, ...]
    partition_key: tuple[tuple[str, tuple[str, ...]], ...] | None
    keys: tuple[Key, ...]
    root: str
    edges: tuple[Edge, ...]
    indexes: tuple[Index, ...]
    triggers: tuple[Trigger, ...]
    runtime: str
    tree: TreeNode | None
    bags: tuple[tuple[str, ...], ...]
    verdict: Verdict
    output_variables: tuple[str, ...]
    connex_variables: tuple[str, ...]
    guarantees: Guarantees
    notes: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()
    meaning: str = ""
    branches: tuple[Plan, ...] = ()
    branch: int = 0
    _layout: str | None = field(init=False, compare=False, default=None)

    @property
    def layout(self) -> str:
        """The hash of how it is run; worked out when first asked for: that takes as long as half of the compiler."""
        if self._layout is None:
            object.__setattr__(self, "_layout", hashlib.sha256(canonical(self).encode()).hexdigest())
        return str(self._layout)

    def __repr__(self) -> str:
        return "\n".join(_described(self))

    def is_of(self, stored: str) -> bool:
        """Whether a checkpoint or snapshot that was stored under this hash is of this pattern."""
        return (
            stored == self.meaning or stored == hashlib.sha256(canonical(self, _NOT_HASHED_ONCE).encode()).hexdigest()
        )

    def leaf(self, var: str) -> Leaf:
        """The leaf of a variable."""
        return next(leaf for leaf in self.leaves if leaf.var == var)

    def stream(self, name: str) -> Stream:
        """A stream by name."""
        return next(stream for stream in self.streams if stream.name == name)

    @property
    def parts(self) -> tuple[Plan, ...]:
        """The plans of the alternatives; this one where there are none."""
        return self.branches or (self,)

    @property
    def singles(self) -> tuple[Leaf, ...]:
        """The leaves of the variables that bind single events; the others are those of gaps."""
        bound = {trigger.var for part in self.parts for trigger in part.triggers}
        return tuple(leaf for leaf in self.leaves if leaf.var in bound)

    @property
    def order(self) -> tuple[str, ...]:
        """The variables that bind single events, in the order in which their events are applied."""
        return tuple(leaf.var for leaf in self.singles) if self.branches else tuple(t.var for t in self.triggers)

    @property
    def hold(self) -> int | None:
        """How long after its time a row may wait, in microseconds; None where none ever waits."""
        return max((leaf.hold for leaf in self.leaves if leaf.hold is not None), default=None)

    @property
    def waits(self) -> bool:
        """Whether some of its matches wait for the watermark."""
        return self.hold is not None

    @property
    def merges(self) -> bool:
        """Whether several combinations of (different) events can make one tuple of a DISTINCT output."""
        if self.branches:  # what one alternative makes, another can make too
            return self.distinct
        return self.distinct and merges(self.fields, self.singles, self.keys, self.steps())

    @property
    def shows_all(self) -> bool:
        """Whether an output tuple shows something of each of its events."""
        return not self.branches and shows_all(self.fields, self.singles)

    def keep(self, var: str) -> int | None:
        """How far behind the watermark rows of a variable are kept, in microseconds; None for ever."""
        kept = self.leaf(var).keep
        return self.window if kept is None else kept

    def steps(self) -> tuple[Step, ...]:
        """All steps of all triggers, in every order."""
        triggers = [trigger for part in self.parts for trigger in part.triggers]
        return tuple(s for t in triggers for order in (t.steps, *t.alternatives) for s in order)

    def spans(self) -> tuple[tuple[Col, Col], ...]:
        """For each set the columns with the times of its first and last event."""
        of_rows = [(leaf.var, ask) for leaf in self.leaves for ask in leaf.asks if isinstance(ask, Fold)]
        first = next(iter(self.triggers), None)
        of_matches = [(step.into, step) for step in first.steps if isinstance(step, Fold)] if first else []
        found = []
        for var, fold in (*of_rows, *of_matches):
            ends = {each.op: Col(var, each.name, each.type) for each in fold.folded if each.op in ("first", "last")}
            if len(ends) == 2:
                found.append((ends["first"], ends["last"]))
        return tuple(found)

    def lookups(self) -> tuple[Step, ...]:
        """All steps, and what held leaves ask of their rows."""
        return (*self.steps(), *(ask for leaf in self.leaves for ask in leaf.asks))

    def needed_columns(self, stream: str) -> tuple[tuple[str, Type], ...]:
        """The attributes of a stream that some leaf keeps or filters by, in declared order, the event time included."""
        leaves = [leaf for leaf in self.leaves if leaf.stream == stream]
        wanted = {name for leaf in leaves for name, _ in leaf.columns}
        wanted |= {col.attr for leaf in leaves for expr in leaf.filter for col in columns(expr)}
        declared = self.stream(stream)
        if declared.time is not None:
            wanted.add(declared.time)
        return tuple((name, type_) for name, type_ in declared.columns if name in wanted)


def merges(fields: Iterable[Field], leaves: Iterable[Leaf], keys: Iterable[Key], steps: Iterable[Step]) -> bool:
    """Whether an output leaves something open: some attribute that is kept but not returned, itself or as its equal.

    Where it does not, a tuple is one combination of events that differ, and DISTINCT needs no memory of tuples.
    """
    returned = {field.expr for field in fields if isinstance(field.expr, Col)}
    for key in keys:
        members = [expr for _, expr in key.members if isinstance(expr, Col)]
        known = {expr.type for expr in members if expr in returned}  # equal values of two types can look different
        returned |= {expr for expr in members if expr.type in known}
    kept = {Col(leaf.var, name, type_) for leaf in leaves for name, type_ in leaf.columns}
    return not kept <= returned or any(isinstance(step, Probe) for step in steps)


def shows_all(fields: Iterable[Field], leaves: Iterable[Leaf]) -> bool:
    """Whether an output returns an attribute of each variable, so that its tuples can tell events apart."""
    return {leaf.var for leaf in leaves} <= {field.expr.var for field in fields if isinstance(field.expr, Col)}


def _described(plan: Plan) -> Iterator[str]:
    """The plan for a debugger or a test's failure: `cep explain` says more."""
    yield f"Plan {plan.pattern} ({plan.runtime}, key {plan.meaning[:12]})"
    yield f"  window     {'unbounded' if plan.window is None else duration_text(plan.window)}"
    partition = ", ".join(f"{stream} by {', '.join(names)}" for stream, names in plan.partition_key or ())
    yield f"  partition  {partition or 'none'}"
    yield f"  returns    {'distinct ' if plan.distinct else ''}{', '.join(f.name for f in plan.fields)}"
    for part in plan.parts:
        if plan.branches:
            yield f"  alternative {part.branch + 1}"
        yield f"  {_leaf_text(part, part.root)}"
        yield from _below_text(part, part.root, "  ")
        for bag in part.bags:
            if len(bag) > 1:
                yield f"  bag        {', '.join(bag)}"
    yield f"  update     {plan.guarantees.update}"
    yield f"  delay      {plan.guarantees.delay}"
    yield f"  space      {plan.guarantees.space}"


def _leaf_text(plan: Plan, var: str) -> str:
    leaf = plan.leaf(var)
    return f"{var}: {leaf.stream}({', '.join(name for name, _ in leaf.columns)})"


def _below_text(plan: Plan, var: str, indent: str) -> Iterator[str]:
    steps = {(step.via, step.var): step for trigger in plan.triggers for step in trigger.steps}
    edges = [edge for edge in plan.edges if edge.parent == var]
    for edge in edges:
        parts = [_leaf_text(plan, edge.child), *map(str, edge.predicates)]
        if (step := steps.get((edge.parent, edge.child))) is not None:
            index = plan.indexes[step.index]
            parts.append(f"index ({', '.join(index.key)}; {index.sort or 'arrival'})")
        if edge.chain:
            parts.append("chain")
        last = edge is edges[-1]
        yield f"{indent}{'└─' if last else '├─'} {' | '.join(parts)}"
        yield from _below_text(plan, edge.child, f"{indent}{'   ' if last else '│  '}")


_NOT_LAYOUT = frozenset(
    {
        "tree",
        "guarantees",
        "notes",
        "verdict",
        "output_variables",
        "connex_variables",
        "_layout",
        "meaning",
        "max_ahead",
        "idle_after",
        "unordered",
    }
)
"""Fields that tell a reader about the plan but do not change what it does: left out of the hash.

What `max_ahead` refuses is no event: `--max-ahead` may change from one start of a job to the next, and so may it.
`idle_after` moves the watermark of a stream that is silent, not what matches.
"""
_NOT_HASHED_ONCE = _NOT_LAYOUT | {"key"}
"""What was left out of the first release's hash: also the keys of indexes and steps (those of `Plan.keys` told)."""
_NEWER: dict[str, object] = {
    "order": None,
    "formats": (),
    "hold": None,
    "keep": None,
    "asks": (),
    "having": (),
    "once": None,
    "absent": False,
    "into": "",
    "run": None,
    "stands_for": "",
    "branches": (),
    "branch": 0,
}
"""Fields that plans did not have from the start, with their defaults: left out of the hash where they have those."""


class _Written(str):
    """Text that `canonical` has made: not a value that it is still to write."""

    __slots__ = ()


@cache
def _names(kind: Any, without: frozenset[str]) -> tuple[str, ...]:
    """The fields of a dataclass that change what a plan does."""
    return tuple(f.name for f in fields(kind) if f.name not in without)


def canonical(value: object, without: frozenset[str] = _NOT_LAYOUT) -> str:
    """A text that is equal exactly for plans that do the same, in every process and Python version. No recursion."""
    return _canonical(value, without, {})


def _canonical(value: object, without: frozenset[str], known: dict[int, str] | None) -> str:
    """`known` has the texts of expressions, which many steps share, by identity; None inside of an expression."""
    written: list[str] = []
    pending: list[object] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, _Written):
            written.append(item)
        elif known is not None and isinstance(item, (Col, Call)):
            text = known.get(id(item))
            if text is None:
                text = known[id(item)] = _canonical(item, without, None)
            written.append(text)
        elif isinstance(item, Const):  # as any dataclass, but there can be very many
            written.append(f"Const(value={item.value!r},type={item.type.value})")
        elif isinstance(item, Enum):
            written.append(str(item.value))
        elif isinstance(item, (tuple, list)):
            written.append("[")
            pending.append(_Written("]"))
            for place in range(len(item) - 1, -1, -1):
                pending.append(item[place])
                if place:
                    pending.append(_Written(","))
        elif isinstance(item, (frozenset, set)):
            written.append("{" + ",".join(sorted(canonical(each, without) for each in item)) + "}")
        elif isinstance(item, (Bind, Probe)):
            written.append("Step(")
            pending += [_Written(f",exists={isinstance(item, Probe)})"), *_fields_of(item, without)]
        elif is_dataclass(item) and not isinstance(item, type):
            written.append(f"{type(item).__name__}(")
            pending += [_Written(")"), *_fields_of(item, without)]
        else:
            written.append(repr(item))
    return "".join(written)


def _fields_of(item: object, without: frozenset[str]) -> Iterator[object]:
    """Names and values of a dataclass's fields, last first."""
    names = [n for n in _names(cast("Any", type(item)), without) if n not in _NEWER or getattr(item, n) != _NEWER[n]]
    for place in range(len(names) - 1, -1, -1):
        yield getattr(item, names[place])
        yield _Written(f"{',' if place else ''}{names[place]}=")

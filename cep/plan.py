"""The plan: everything a runtime needs to know of a pattern, and nothing of how it was written.

Frozen, picklable, versioned, hashed. `Plan.key` is the SHA-256 of its canonical text, so that two files that differ in
layout, comments or clause order have one key, and a checkpoint knows whether it still fits. Executors get a plan; they
never parse.

How to read it: each *leaf* is a pattern variable with the attributes and filters it needs. The *tree* is the
generalized join tree (for `explain`; the runtime walks *triggers*). A *trigger* says how to find all matches that
contain a new event of one variable: a list of *steps*, each of which binds one more variable through an *index* (rows
grouped by `key`, sorted by `sort` within a group), as one contiguous range per group, and then applies what remains as
`checks`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum

from cep.expr import Col, Expr, columns, duration_text
from cep.hypergraph import TreeNode, Verdict
from cep.model import Stream
from cep.types import Type

PLAN_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A pattern variable: which events can bind it, and what is kept of them.

    `columns` are the attributes to keep: what joins, checks and outputs need, and the event time. `filter` conjuncts
    mention this variable alone and may use more; they include the non-NULL tests that the joins imply.
    """

    var: str
    stream: str
    columns: tuple[tuple[str, Type], ...]
    time: str | None
    filter: tuple[Expr, ...]


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
class Step:
    """Bind `var`, a neighbour of `via`, through `plan.indexes[index]`.

    `key` names, for each key of the index, the bound variable that supplies it. `ranges` bound the index's sort key;
    where that is the event time, the window bounds it too. `checks` are conditions that become decidable here.
    `chain` says that the rows that can still be completed below
    are a suffix of the group in time (best starts rise with time), so no dead end is visited; `exists` that the step
    only asks whether there is a partner (DISTINCT over something else).
    """

    var: str
    via: str
    index: int
    key: tuple[str, ...]
    ranges: tuple[Range, ...]
    checks: tuple[Expr, ...]
    chain: bool = False
    exists: bool = False


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """See the module's text. `window` is in microseconds, None where unbounded.

    `partition_key` gives for each stream the attributes whose hash says where an event goes; None where there is no
    such key. `runtime` is `iedyn` for acyclic plans and `iedyn+bags` for cyclic ones. `repr` is for people.
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
    key: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", hashlib.sha256(canonical(self).encode()).hexdigest())

    def __repr__(self) -> str:
        return "\n".join(_described(self))

    def leaf(self, var: str) -> Leaf:
        """The leaf of a variable."""
        return next(leaf for leaf in self.leaves if leaf.var == var)

    def stream(self, name: str) -> Stream:
        """A stream by name."""
        return next(stream for stream in self.streams if stream.name == name)

    @property
    def merges(self) -> bool:
        """Whether several combinations of (different) events can make one tuple of a DISTINCT output."""
        return self.distinct and merges(self.fields, self.leaves, self.keys, self.steps())

    @property
    def shows_all(self) -> bool:
        """Whether an output tuple shows something of each of its events."""
        return shows_all(self.fields, self.leaves)

    def steps(self) -> tuple[Step, ...]:
        """All steps of all triggers, in every order."""
        return tuple(s for t in self.triggers for order in (t.steps, *t.alternatives) for s in order)

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
    return not kept <= returned or any(step.exists for step in steps)


def shows_all(fields: Iterable[Field], leaves: Iterable[Leaf]) -> bool:
    """Whether an output returns an attribute of each variable, so that its tuples can tell events apart."""
    return {leaf.var for leaf in leaves} <= {field.expr.var for field in fields if isinstance(field.expr, Col)}


def _described(plan: Plan) -> Iterator[str]:
    """The plan for a debugger or a test's failure: `cep explain` says more."""
    yield f"Plan {plan.pattern} ({plan.runtime}, key {plan.key[:12]})"
    yield f"  window     {'unbounded' if plan.window is None else duration_text(plan.window)}"
    partition = ", ".join(f"{stream} by {', '.join(names)}" for stream, names in plan.partition_key or ())
    yield f"  partition  {partition or 'none'}"
    yield f"  returns    {'distinct ' if plan.distinct else ''}{', '.join(f.name for f in plan.fields)}"
    yield f"  {_leaf_text(plan, plan.root)}"
    yield from _below_text(plan, plan.root, "  ")
    for bag in plan.bags:
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


_NOT_MEANING = frozenset({"tree", "guarantees", "notes", "verdict", "output_variables", "connex_variables", "key"})
"""Fields that tell a reader about the plan but do not change what it does: left out of the hash."""


def canonical(value: object) -> str:
    """A text that is equal exactly for plans that do the same, in every process and Python version."""
    if is_dataclass(value):
        inner = ",".join(
            f"{f.name}={canonical(getattr(value, f.name))}" for f in fields(value) if f.name not in _NOT_MEANING
        )
        return f"{type(value).__name__}({inner})"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, (tuple, list)):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    if isinstance(value, (frozenset, set)):
        return "{" + ",".join(sorted(canonical(item) for item in value)) + "}"
    return repr(value)

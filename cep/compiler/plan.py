"""Plan: put leaves, indexes, triggers, outputs and promises together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from cep.compiler.atom_tree import AtomTree
from cep.compiler.guarantees import Merging, guarantees
from cep.compiler.skeleton import skeleton
from cep.compiler.triggers import triggers
from cep.expr import Call, Col, Expr, columns, split_shift, variables
from cep.gcq import GCQ
from cep.hypergraph import Bag, TreeNode, Verdict
from cep.plan import Edge, Field, Index, Key, Leaf, Plan, Step, merges, shows_all
from cep.types import Type


def plan(
    gcq: GCQ,
    verdict: Verdict,
    rank: Mapping[str, int],
    tree: TreeNode | None,
    atoms: AtomTree | None,
    bags: tuple[Bag, ...],
) -> Plan:
    """The plan of a query. `tree` and `atoms` are None, and `bags` given, exactly where the query is cyclic."""
    if atoms is not None:
        root, links = atoms.root, tuple((parent, child) for parent, child, _ in atoms.edges)
    else:
        root, links = skeleton(gcq.shape, rank)
    edges = _edges(gcq, root, links, acyclic=verdict.acyclic)
    found = triggers(gcq, edges, rank, acyclic=verdict.acyclic)
    keys = _keys(gcq, found.indexes)
    steps = [step for t in found.triggers for order in (t.steps, *t.alternatives) for step in order]
    leaves = _leaves(gcq, keys, found.indexes, steps)
    fields = tuple(Field(name=name, type=expr.type, expr=expr) for name, expr in gcq.pattern.fields)
    merging = Merging.NONE
    if gcq.pattern.distinct and merges(fields, leaves, keys, steps):
        merging = Merging.TWINS if shows_all(fields, leaves) else Merging.ALL
    return Plan(
        pattern=gcq.pattern.name,
        streams=tuple({atom.stream.name: atom.stream for atom in gcq.atoms}.values()),
        leaves=leaves,
        window=gcq.window,
        distinct=gcq.pattern.distinct,
        fields=fields,
        partition_key=_partition_key(gcq),
        keys=keys,
        root=root,
        edges=edges,
        indexes=tuple(found.indexes),
        triggers=tuple(found.triggers),
        runtime="iedyn" if verdict.acyclic else "iedyn+bags",
        tree=None if tree is None else _spelled_out(gcq, tree),
        bags=tuple(bag.atoms for bag in bags),
        verdict=verdict,
        output_variables=gcq.output,
        connex_variables=tuple(v.name for v in gcq.variables if v.name in verdict.connex),
        guarantees=guarantees(gcq, edges, tuple(found.triggers), acyclic=verdict.acyclic, merging=merging),
    )


def _spelled_out(gcq: GCQ, node: TreeNode) -> TreeNode:
    """The tree with each predicate as a user would write it: `theta0` means nothing outside the reduction."""
    return replace(
        node,
        predicates=tuple(str(gcq.theta(name)) for name in node.predicates),
        children=tuple(_spelled_out(gcq, child) for child in node.children),
    )


def _edges(gcq: GCQ, root: str, links: tuple[tuple[str, str], ...], *, acyclic: bool) -> tuple[Edge, ...]:
    """The tree's edges, parents before children, with their predicates and whether best starts rise along them."""
    ordered: list[tuple[str, str]] = []
    reached = {root}
    while len(ordered) < len(links):
        for parent, child in links:
            if parent in reached and child not in reached:
                ordered.append((parent, child))
                reached.add(child)
    conditions: list[Expr] = [*gcq.inequalities, *gcq.predicates]
    chains: dict[tuple[str, str], bool] = {}
    for parent, child in reversed(ordered):
        below = [link for link in ordered if link[0] == child]
        chains[parent, child] = (
            acyclic
            and _is_time_step(gcq, parent, child)
            and all(chains[link] and _shared(gcq, *link) <= _shared(gcq, parent, child) for link in below)
        )
    return tuple(
        Edge(
            parent=parent,
            child=child,
            predicates=tuple(c for c in conditions if variables(c) == {parent, child}),
            chain=chains[parent, child],
        )
        for parent, child in ordered
    )


def _shared(gcq: GCQ, left: str, right: str) -> set[str]:
    """The join variables of both atoms."""
    return {v.name for v in gcq.variables if {left, right} <= {name for name, _ in v.members}}


def _is_time_step(gcq: GCQ, parent: str, child: str) -> bool:
    """Whether, besides equalities, only `child.time < parent.time` (perhaps by a margin) lies between the two."""
    between = [c for c in (*gcq.inequalities, *gcq.predicates) if {parent, child} <= variables(c)]
    if len(between) != 1 or between[0] not in gcq.inequalities:
        return False
    times = {atom.name: atom.stream.time for atom in gcq.atoms}
    assert isinstance(between[0], Call)
    (left, a), (right, b) = (split_shift(side) for side in between[0].args)
    return (
        left == Col(child, times[child] or "", Type.TIMESTAMP)
        and right == Col(parent, times[parent] or "", Type.TIMESTAMP)
        and b - a <= 0
    )


def _keys(gcq: GCQ, indexes: Iterable[Index]) -> tuple[Key, ...]:
    """The join variables that some index groups by."""
    used = {name for index in indexes for name in index.key}
    return tuple(Key(name=v.name, type=v.type, members=v.members) for v in gcq.variables if v.name in used)


def _leaves(gcq: GCQ, keys: tuple[Key, ...], indexes: Iterable[Index], steps: Iterable[Step]) -> tuple[Leaf, ...]:
    """What each atom keeps, and its filter with the non-NULL tests that joins and comparisons imply."""
    joined = [expr for key in keys for _, expr in key.members]
    compared = [r.bound for step in steps for r in step.ranges]
    compared += [index.sort for index in indexes if index.sort is not None]
    checked = [check for step in steps for check in step.checks]
    output = [expr for _, expr in gcq.pattern.fields]
    needed = {col for expr in (*joined, *compared, *checked, *output) for col in columns(expr)}
    leaves = []
    for atom in gcq.atoms:
        present = dict.fromkeys(e for e in (*joined, *compared) if variables(e) == {atom.name})
        tests = [Call("not", (Call("isnull", (e,), Type.BOOLEAN),), Type.BOOLEAN) for e in present]
        kept = {col.attr for col in needed if col.var == atom.name} | {atom.stream.time}
        leaves.append(
            Leaf(
                var=atom.name,
                stream=atom.stream.name,
                columns=tuple((name, type_) for name, type_ in atom.stream.columns if name in kept),
                time=atom.stream.time,
                filter=(*atom.filters, *tests),
            )
        )
    return tuple(leaves)


def _partition_key(gcq: GCQ) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    """For each stream the attributes of the join variables that all atoms share, where a stream has one of each."""
    attributes: dict[str, list[str]] = {atom.stream.name: [] for atom in gcq.atoms}
    for variable in gcq.variables:
        members = dict(variable.members)
        if len(members) < len(gcq.atoms) or len(gcq.atoms) < 2:
            continue
        by_stream: dict[str, set[str]] = {}
        for atom in gcq.atoms:
            member = members[atom.name]
            if isinstance(member, Col):
                by_stream.setdefault(atom.stream.name, set()).add(member.attr)
        if set(by_stream) == set(attributes) and all(len(names) == 1 for names in by_stream.values()):
            if any(not isinstance(members[atom.name], Col) for atom in gcq.atoms):
                continue
            for stream, names in by_stream.items():
                attributes[stream].append(next(iter(names)))
    if not all(attributes.values()):
        return None
    return tuple((stream, tuple(names)) for stream, names in attributes.items())

"""Plan: put leaves, indexes, triggers, outputs and promises together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from cep.compiler.atom_tree import AtomTree
from cep.compiler.gaps import Gap, Way, keeps, valued
from cep.compiler.guarantees import Merging, guarantees
from cep.compiler.normalise import normal_form
from cep.compiler.shared.ties import ordered_at_ties, tie_break, without_order
from cep.compiler.skeleton import skeleton
from cep.compiler.triggers import Triggers, triggers
from cep.ir.expr import Call, Col, Expr, columns, split_shift, variables
from cep.ir.gcq import GCQ
from cep.ir.hypergraph import Bag, TreeNode, Verdict
from cep.ir.model import Aggregate
from cep.ir.plan import Edge, Field, Fold, Index, Key, Leaf, Plan, Step, merges, previous, shows_all
from cep.ir.types import Type


def plan(
    gcq: GCQ,
    verdict: Verdict,
    rank: Mapping[str, int],
    tree: TreeNode | None,
    atoms: AtomTree | None,
    bags: tuple[Bag, ...],
    gaps: tuple[Gap, ...],
    meaning: str,
) -> Plan:
    """The plan of a query. `tree` and `atoms` are None, and `bags` given, exactly where the query is cyclic."""
    if atoms is not None:
        root, links = atoms.root, tuple((parent, child) for parent, child, _ in atoms.edges)
    else:
        root, links = skeleton(gcq.shape, rank)
    edges = _rising(_edges(gcq, root, links, acyclic=verdict.acyclic), gaps)
    having = [part for c in gcq.pattern.having for part in normal_form(valued(c.expr, gaps))]
    of_rows = {name: _of_row(having, name) for name in {gap.held for gap in gaps}}
    rest = tuple(c for c in having if not any(c in some for some in of_rows.values()))
    found = triggers(gcq, edges, rank, gaps, rest, acyclic=verdict.acyclic)
    keys = _keys(gcq, found.indexes, gaps)
    steps = [step for t in found.triggers for order in (t.steps, *t.alternatives) for step in order]
    fields = tuple(Field(name=name, type=expr.type, expr=valued(expr, gaps)) for name, expr in gcq.pattern.fields)
    leaves = _leaves(gcq, keys, found, gaps, steps, fields, of_rows)
    unordered = without_order(gcq.pattern)
    merging = Merging.NONE
    singles = leaves[: len(gcq.atoms)]
    if gcq.pattern.distinct and merges(fields, singles, keys, steps):
        merging = Merging.TWINS if shows_all(fields, singles) else Merging.ALL
    return Plan(
        pattern=gcq.pattern.name,
        streams=tuple(
            {v.stream.name: v.stream for v in (*gcq.pattern.variables, *(gap.variable for gap in gaps))}.values()
        ),
        leaves=leaves,
        window=gcq.window,
        distinct=gcq.pattern.distinct,
        fields=fields,
        partition_key=_partition_key(gcq, gaps),
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
        notes=tuple(
            f"events of `{name}` at one moment have no order, so SEQ takes no two of them; ORDER BY would give them one"
            for name in unordered
        ),
        unordered=unordered,
        meaning=meaning,
        guarantees=guarantees(gcq, edges, tuple(found.triggers), gaps, acyclic=verdict.acyclic, merging=merging),
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
    between: dict[frozenset[str], list[Expr]] = {}
    spanning: dict[str, list[tuple[Expr, frozenset[str]]]] = {}
    for condition in (*gcq.inequalities, *gcq.predicates):
        used = variables(condition)
        between.setdefault(used, []).append(condition)
        for name in used:
            spanning.setdefault(name, []).append((condition, used))
    shared = {link: _shared(gcq, *link) for link in ordered}
    children: dict[str, list[tuple[str, str]]] = {}
    for link in ordered:
        children.setdefault(link[0], []).append(link)
    chains: dict[tuple[str, str], bool] = {}
    for parent, child in reversed(ordered):
        conditions = [condition for condition, used in spanning.get(child, ()) if parent in used]
        chains[parent, child] = (
            acyclic
            and _is_time_step(gcq, parent, child, conditions)
            and all(chains[link] and shared[link] <= shared[parent, child] for link in children.get(child, ()))
        )
    return tuple(
        Edge(
            parent=parent,
            child=child,
            predicates=tuple(between.get(frozenset((parent, child)), ())),
            chain=chains[parent, child],
        )
        for parent, child in ordered
    )


def _rising(edges: tuple[Edge, ...], gaps: tuple[Gap, ...]) -> tuple[Edge, ...]:
    """The edges with those no chain that lead to rows with a gap below them and perhaps nobody on its other side.

    Best starts rise along a chain because such a row is dropped when it is applied: what is before it is final. It is
    not where something below waits for longer, and where the order leaves a margin or the moment open.
    """
    holds: dict[str, int] = {}
    for gap in gaps:
        holds[gap.held] = max(gap.shift, holds.get(gap.held, 0))
    between = {gap.held for gap in gaps if gap.way is Way.SINCE}
    waits: dict[str, int] = {}
    final: dict[str, bool] = {}
    broken: set[str] = set()
    made: list[Edge] = []
    for edge in reversed(edges):
        parent, child = edge.parent, edge.child
        if child in between and (waits.get(child, 0) > holds[child] or not final.get(child, True)):
            broken.add(child)
        if child in broken:
            broken.add(parent)
        waits[parent] = max(waits.get(parent, 0), waits.get(child, 0), holds.get(child, 0))
        times = [c for c in edge.predicates if isinstance(c, Call) and c.op in ("<", "<=")]
        exact = all(isinstance(side, Col) for c in times for side in c.args)
        passed = all(c.op == "<" for c in times) or holds.get(parent, 0) > 0
        final[parent] = final.get(parent, True) and final.get(child, True) and exact and passed
        made.append(replace(edge, chain=edge.chain and child not in broken))
    return tuple(reversed(made))


def _shared(gcq: GCQ, left: str, right: str) -> set[str]:
    """The join variables of both atoms."""
    return {v.name for v in gcq.variables if {left, right} <= {name for name, _ in v.members}}


def _is_time_step(gcq: GCQ, parent: str, child: str, between: list[Expr]) -> bool:
    """Whether, besides equalities, only `child.time < parent.time` (perhaps by a margin) lies between the two.

    What breaks ties (`ORDER BY`) may stand beside it: best starts are then those of `<=`, never too early.
    """
    named = {variable.name: variable for variable in gcq.pattern.variables}
    if ordered_at_ties(named[child], named[parent]):
        between = [condition for condition in between if condition != tie_break(named[child], named[parent])]
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


def _keys(gcq: GCQ, indexes: Iterable[Index], gaps: tuple[Gap, ...]) -> tuple[Key, ...]:
    """The join variables that some index groups by."""
    used = {name for index in indexes for name in index.key}
    found = {v.name: Key(name=v.name, type=v.type, members=v.members) for v in gcq.variables if v.name in used}
    for gap in gaps:
        for key in gap.keys:
            known = found.get(key.name) or Key(name=key.name, type=key.other.type, members=())
            joined = dict(known.members) | {key.supplier: key.other, gap.variable.name: key.own}
            found[key.name] = replace(known, members=tuple(joined.items()))
    return tuple(found.values())


def _leaves(
    gcq: GCQ,
    keys: tuple[Key, ...],
    found: Triggers,
    gaps: tuple[Gap, ...],
    steps: Iterable[Step],
    fields: Iterable[Field],
    having: Mapping[str, tuple[Expr, ...]],
) -> tuple[Leaf, ...]:
    """What each variable keeps, single events first, and its filter with the non-NULL tests that joins imply."""
    lookups = (*steps, *found.asks.values())
    joined = [expr for key in keys for _, expr in key.members]
    compared = [r.bound for step in lookups for r in step.ranges]
    compared += [index.sort for index in found.indexes if index.sort is not None]
    checked = [check for step in lookups for check in step.checks]
    checked += [check for step in lookups if isinstance(step, Fold) for check in step.having]
    runs = [step.run for step in lookups if isinstance(step, Fold) and step.run is not None]
    checked += [condition for run in runs for condition in (*run.holds, *run.pairs)]
    checked += [each.arg for step in lookups if isinstance(step, Fold) for each in step.folded if each.arg is not None]
    checked += [condition for some in having.values() for condition in some]
    output = [field.expr for field in fields]
    needed: dict[str, set[str]] = {}
    for expr in {id(expr): expr for expr in (*joined, *compared, *checked, *output)}.values():
        for col in columns(expr):
            needed.setdefault(col.var, set()).add(previous(col) or col.attr)
    present: dict[frozenset[str], list[Expr]] = {}
    for expr in dict.fromkeys((*joined, *compared)):
        present.setdefault(variables(expr), []).append(expr)
    for name, exprs in _only_for_gaps(gcq, keys, gaps, compared).items():
        present[frozenset((name,))] = [e for e in present.get(frozenset((name,)), ()) if e not in exprs]
    leaves = []
    filters = {atom.name: atom.filters for atom in gcq.atoms} | {gap.variable.name: gap.filters for gap in gaps}
    kept = keeps(gcq, gaps)
    times = {gap.since for gap in gaps} | {gap.value(end, Type.TIMESTAMP) for gap in gaps for end in ("first", "last")}
    by_columns = {
        gap.name
        for gap in gaps
        if gap.run is not None or any(_ordered_by_columns(gap, each) for each in gap.aggregates)
    }
    for variable in (*gcq.pattern.variables, *(gap.variable for gap in gaps)):
        name = variable.name
        tests: dict[bool, list[Expr]] = {False: [], True: []}  # of what is worked out when a row is applied: True
        for e in present.get(frozenset((name,)), ()):
            worked_out = any(variable.stream.type_of(col.attr) is None for col in columns(e))
            if not (worked_out and e in times):
                tests[worked_out].append(Call("not", (Call("isnull", (e,), Type.BOOLEAN),), Type.BOOLEAN))
        wanted = needed.get(name, set()) | {variable.stream.time}
        wanted |= {attr for attr, _ in variable.stream.columns} if name in by_columns else set()
        if name == gcq.pattern.anchor:
            wanted |= set(gcq.pattern.partition_by)
        leaves.append(
            Leaf(
                var=name,
                stream=variable.stream.name,
                columns=tuple((attr, type_) for attr, type_ in variable.stream.columns if attr in wanted),
                time=variable.stream.time,
                filter=(*filters[name], *tests[False]),
                hold=max((gap.shift for gap in gaps if gap.held == name), default=None),
                keep=kept.get(name),
                asks=tuple(
                    found.asks[gap.variable.name] for gap in gaps if gap.held == name and gap.way is not Way.MATCH
                ),
                having=(*having.get(name, ()), *tests[True]),
                once=gcq.pattern.partition_by if name == gcq.pattern.anchor else None,
            )
        )
    return tuple(leaves)


def _ordered_by_columns(gap: Gap, aggregate: Aggregate) -> bool:
    """Whether events of one moment have to be told apart: it is the value of the first or last of them."""
    ordered = (gap.time, Col(gap.name, gap.variable.stream.order or "", aggregate.type))
    return aggregate.op in ("FIRST", "LAST") and aggregate.arg not in ordered


def _of_row(having: Iterable[Expr], var: str) -> tuple[Expr, ...]:
    """The conditions on sets that one held row decides: they are filters of it."""
    return tuple(condition for condition in having if variables(condition) == {var})


def _only_for_gaps(
    gcq: GCQ, keys: tuple[Key, ...], gaps: tuple[Gap, ...], compared: Iterable[Expr]
) -> dict[str, set[Expr]]:
    """Single events' keys that only gaps ask for: without a value no event is in the gap, and that is an answer."""
    joins = {expr for v in gcq.variables if v.joins for _, expr in v.members}
    own = {gap.variable.name for gap in gaps}
    bounds = set(compared)
    found: dict[str, set[Expr]] = {}
    for key in keys:
        for name, expr in key.members:
            if name not in own and expr not in joins and expr not in bounds:
                found.setdefault(name, set()).add(expr)
    return found


def _partition_key(gcq: GCQ, gaps: tuple[Gap, ...]) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    """For each stream the attributes of the join variables that all variables share, where a stream has one of each."""
    streams = {
        variable.name: variable.stream.name for variable in (*gcq.pattern.variables, *(gap.variable for gap in gaps))
    }
    classes = {v.name: dict(v.members) for v in gcq.variables}
    for gap in gaps:
        for key in gap.keys:
            members = classes.setdefault(key.name, {})
            members |= {key.supplier: key.other, gap.variable.name: key.own}
    attributes: dict[str, list[str]] = {name: [] for name in streams.values()}
    for members in classes.values():
        if len(members) < len(streams) or len(streams) < 2:
            continue
        by_stream: dict[str, set[str]] = {}
        for name, stream in streams.items():
            member = members[name]
            if isinstance(member, Col):
                by_stream.setdefault(stream, set()).add(member.attr)
        if set(by_stream) == set(attributes) and all(len(names) == 1 for names in by_stream.values()):
            if any(not isinstance(members[name], Col) for name in streams):
                continue
            for stream, names in by_stream.items():
                attributes[stream].append(next(iter(names)))
    if not all(attributes.values()):
        return None
    return tuple((stream, tuple(names)) for stream, names in attributes.items())

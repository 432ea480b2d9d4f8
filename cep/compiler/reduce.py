"""Extended GYO: reduce the shape of a query, decide whether it is acyclic and free-connex, and build its join forest.

The idea (Idris, chapter 5). A query is a triplet: hyperedges (a *set* of variable sets), output, predicates. Three
steps make it smaller:

- ISO drops variables of one hyperedge that no other hyperedge, no predicate and no output needs;
- CSE drops a hyperedge e whose joins and predicates all go to one other hyperedge f, and the predicates it settles;
- FLT drops predicates that lie within one hyperedge.

Stage one keeps the output, stage two forgets it. Each step also adds nodes to a forest whose leaves are the atoms
(Algorithm 8), so that an empty triplet leaves a generalized join tree behind. The roots of the forest between the two
stages, with their ancestors, are the connex set. (The thesis's listing empties the predicates between the stages; its
text and Theorem 6 need the output emptied, and so it is done here.)

Guaranteed: the verdict and `connex` do not depend on the order of steps (Proposition 21). The tree does, and the order
is chosen: filters first, then projections, then the earliest event is absorbed by the latest one that can take it, so
that later events end up nearer the root, trees stay low, and equal inputs give equal trees.

Not guaranteed: predicates are opaque, so nothing follows from transitivity; a query whose predicates form a cycle is
cyclic even where one of them is implied by the others.

Cost: O(n^2 * p) set operations per step and O(n + v + p) steps, for n atoms, v variables and p predicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from cep.ir.hypergraph import Atom, Predicate, Query, TreeNode

Hyperedge: TypeAlias = frozenset[str]


@dataclass(frozen=True, slots=True)
class Iso:
    """`removed`, isolated variables of `edge`, were dropped. `atoms` stand for the edge's roots, here and below."""

    edge: Hyperedge
    removed: frozenset[str]
    atoms: tuple[str, ...]

    @property
    def text(self) -> str:
        """What happened, in one line of English."""
        left = self.edge - self.removed
        rest = f"{braces(left)} is left" if left else "nothing is left of it"
        return f"project {names(self.atoms)} {braces(self.edge)}: nothing else needs {names(self.removed)}, {rest}"


@dataclass(frozen=True, slots=True)
class Cse:
    """`edge` was a conditional subset of `into` and was dropped with the `predicates` between the two."""

    edge: Hyperedge
    into: Hyperedge
    predicates: tuple[str, ...]
    atoms: tuple[str, ...]
    into_atoms: tuple[str, ...]

    @property
    def text(self) -> str:
        """What happened, in one line of English."""
        shared = self.edge & self.into
        on = f"on {names(shared)}" if shared else "without a common variable"
        settled = f", with {' and '.join(self.predicates)}" if self.predicates else ""
        edge = f"{names(self.atoms)} {braces(self.edge)}"
        into = f"{names(self.into_atoms)} {braces(self.into)}"
        return f"absorb {edge} into {into} {on}{settled}"


@dataclass(frozen=True, slots=True)
class Flt:
    """`predicates` lie within `edge` and were dropped."""

    edge: Hyperedge
    predicates: tuple[str, ...]
    atoms: tuple[str, ...]

    @property
    def text(self) -> str:
        """What happened, in one line of English."""
        return f"filter {names(self.atoms)} {braces(self.edge)} by {' and '.join(self.predicates)}"


Step: TypeAlias = Iso | Cse | Flt
Choose: TypeAlias = Callable[[Sequence[Step]], Step]


@dataclass(frozen=True, slots=True)
class Triplet:
    """What the steps work on: hyp(Q), a set without the empty hyperedge; the output; the predicates."""

    edges: frozenset[Hyperedge]
    output: frozenset[str]
    predicates: tuple[Predicate, ...]

    @property
    def empty(self) -> bool:
        """Whether nothing is left."""
        return not (self.edges or self.output or self.predicates)

    @property
    def variables(self) -> frozenset[str]:
        """All variables of the hyperedges."""
        return frozenset().union(*self.edges)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """The steps of both stages, the forest they built, and what was left.

    `after_stage_one` is the normal form I of Theorem 6, or a triplet before it that has the same variables because
    only output was left; `remaining` is the normal form J of its residual, empty iff the query is acyclic. `roots` is
    the forest at the end; its `connex` flags are set already.
    """

    query: Query
    stage_one: tuple[Step, ...]
    stage_two: tuple[Step, ...]
    after_stage_one: Triplet
    roots_after_stage_one: tuple[TreeNode, ...]
    remaining: Triplet
    roots: tuple[TreeNode, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps in the order in which they were taken."""
        return self.stage_one + self.stage_two

    @property
    def acyclic(self) -> bool:
        """Whether everything could be reduced."""
        return self.remaining.empty

    @property
    def connex(self) -> frozenset[str]:
        """var(hyp(I)): for an acyclic query the smallest output that contains its own and is free-connex."""
        return self.after_stage_one.variables

    @property
    def free_connex(self) -> bool:
        """Whether the query is acyclic and has a join tree whose connex set covers the output exactly."""
        return self.acyclic and self.connex == self.query.output


def reduce(query: Query, rank: Mapping[str, int] | None = None, *, choose: Choose | None = None) -> Reduction:
    """Reduce `query` as far as it goes.

    `rank` maps an atom to its place in time (0 is earliest, missing atoms are 0): earlier atoms are absorbed by later
    ones where there is a choice. `choose` picks each step itself, out of all applicable ones in order of preference.

    Raises ValueError where `query` is no query: no atoms, a name used twice, a predicate or an output over variables
    that no atom has.

    >>> chain = Query(
    ...     (Atom("a", frozenset("kx")), Atom("b", frozenset("ky"))),
    ...     frozenset("kxy"),
    ...     (Predicate("x < y", frozenset("xy")),),
    ... )
    >>> done = reduce(chain, {"a": 0, "b": 1})
    >>> done.acyclic, done.free_connex
    (True, True)
    >>> for step in done.steps:
    ...     print(step.text)
    absorb a {k, x} into b {k, y} on k, with x < y
    project b {k, y}: nothing else needs k and y, nothing is left of it
    """
    _check_query(query)
    forest = _Forest(query, rank or {})
    stage_one = forest.exhaust(choose)
    after_stage_one = forest.triplet
    roots_after_stage_one = forest.begin_stage_two()
    stage_two = forest.exhaust(choose)
    return Reduction(
        query=query,
        stage_one=stage_one,
        stage_two=stage_two,
        after_stage_one=after_stage_one,
        roots_after_stage_one=roots_after_stage_one,
        remaining=forest.triplet,
        roots=tuple(root.node for root in sorted(forest.roots, key=_Root.order)),
    )


def names(variables: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`: sorted."""
    ordered = sorted(variables)
    return " and ".join(filter(None, (", ".join(ordered[:-1]), *ordered[-1:])))


def braces(variables: Iterable[str]) -> str:
    """`{a, b}`: sorted; the empty set is `{}`."""
    return "{" + ", ".join(sorted(variables)) + "}"


def _check_query(query: Query) -> None:
    if not query.atoms:
        raise ValueError("a query needs at least one atom")
    for kind, items in (("atom", query.atoms), ("predicate", query.predicates)):
        known: set[str] = set()
        for item in items:
            if item.name in known:
                raise ValueError(f"two {kind}s are named {item.name!r}; names must be unique")
            known.add(item.name)
    for predicate in query.predicates:
        if not predicate.variables:
            raise ValueError(f"predicate {predicate.name!r} mentions no variable; fold it before reducing")
        if unknown := predicate.variables - query.variables:
            raise ValueError(f"predicate {predicate.name!r} mentions {names(unknown)}, which no atom has")
    if unknown := query.output - query.variables:
        raise ValueError(f"the output mentions {names(unknown)}, which no atom has")


@dataclass(frozen=True, slots=True)
class _Root:
    """A root of the forest, and the atom below it that stands for it: one whose variables include the label.

    `height` is that of the join tree over atoms that this root stands for.
    """

    node: TreeNode
    atom: str
    rank: int
    height: int

    def order(self) -> tuple[int, int, str]:
        """Earlier first, then lower, then by name. Distinct roots have distinct atoms, so this is total."""
        return (self.rank, self.height, self.atom)


@dataclass(slots=True)
class _Forest:
    """The triplet and the forest of Algorithm 8. Every hyperedge is the label of at least one root."""

    query: Query
    rank: Mapping[str, int]
    triplet: Triplet = field(init=False)
    roots: list[_Root] = field(init=False)
    stage_two: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        atoms = self.query.atoms
        edges = frozenset(atom.variables for atom in atoms if atom.variables)
        self.triplet = Triplet(edges, self.query.output, self.query.predicates)
        self.roots = [_leaf(atom, self.rank) for atom in atoms]

    def exhaust(self, choose: Choose | None) -> tuple[Step, ...]:
        """Take steps until none applies."""
        taken: list[Step] = []
        while True:
            if choose is None:
                step = next(self.steps(first=True), None)
            else:
                applicable = [*self.steps(), *self.partial_steps()]
                step = choose(applicable) if applicable else None
            if step is None or (choose is None and isinstance(step, Cse) and self.output_is_exact):
                return tuple(taken)
            self.take(step)
            taken.append(step)

    @property
    def output_is_exact(self) -> bool:
        """Whether stage one has nothing to gain: only output is left, and no step can make it less.

        Absorbing further would be correct, but stage two first projects, which gives simple trees (all labels grow
        downwards) where an early absorption would put a small label below a large one.
        """
        return not self.stage_two and self.triplet.variables == self.triplet.output

    def begin_stage_two(self) -> tuple[TreeNode, ...]:
        """Forget the output. From here on each root, and all that is built above one, is in the connex set."""
        self.roots = [replace(root, node=replace(root.node, connex=True)) for root in self.roots]
        self.triplet = replace(self.triplet, output=frozenset())
        self.stage_two = True
        return tuple(root.node for root in sorted(self.roots, key=_Root.order))

    def steps(self, *, first: bool = False) -> Iterator[Step]:
        """Applicable steps, each as large as can be, in order of preference; with `first`, one absorption at most."""
        roots: dict[Hyperedge, list[_Root]] = {edge: [] for edge in self.triplet.edges}
        for root in sorted(self.roots, key=_Root.order):
            if root.node.label in roots:
                roots[root.node.label].append(root)
        heads = {edge: _head(same) for edge, same in roots.items()}
        atoms = {edge: tuple(root.atom for root in same) for edge, same in roots.items()}
        ordered = sorted(heads, key=lambda edge: heads[edge].order())
        for edge in ordered:
            if within := tuple(p.name for p in self.triplet.predicates if p.variables <= edge):
                yield Flt(edge, within, atoms[edge])
        joins, isolated = self.join_and_isolated()
        for edge in ordered:
            if edge & isolated:
                yield Iso(edge, edge & isolated, atoms[edge])
        absorptions = self.absorptions(ordered, joins)

        def preference(pair: tuple[Hyperedge, Hyperedge]) -> tuple[bool, int, int, int, int, str, str]:
            return _preference(heads[pair[0]], heads[pair[1]])

        if first:
            best = min(absorptions, key=preference, default=None)
            wanted = [] if best is None else [best]
        else:
            wanted = sorted(absorptions, key=preference)
        for edge, into in wanted:
            settled = tuple(p.name for p in self.triplet.predicates if p.variables & (edge - into))
            yield Cse(edge, into, settled, atoms[edge], atoms[into])

    def partial_steps(self) -> Iterator[Step]:
        """ISO and FLT of one variable or predicate at a time: more freedom for `choose`."""
        for step in self.steps():
            if isinstance(step, Iso) and len(step.removed) > 1:
                yield from (replace(step, removed=frozenset((variable,))) for variable in sorted(step.removed))
            elif isinstance(step, Flt) and len(step.predicates) > 1:
                yield from (replace(step, predicates=(predicate,)) for predicate in step.predicates)

    def join_and_isolated(self) -> tuple[frozenset[str], frozenset[str]]:
        """Variables of the output or of two hyperedges (jv); of the rest, those that no predicate mentions (isol)."""
        once: set[str] = set()
        joins = set(self.triplet.output)
        for edge in self.triplet.edges:
            joins |= once & edge
            once |= edge
        mentioned = frozenset().union(*(p.variables for p in self.triplet.predicates))
        return frozenset(joins), frozenset(once - joins - mentioned)

    def absorptions(self, ordered: Sequence[Hyperedge], joins: frozenset[str]) -> Iterator[tuple[Hyperedge, Hyperedge]]:
        """Pairs (edge, into) where the first is a conditional subset of the second."""
        mentioning: dict[str, list[Predicate]] = {}
        for predicate in self.triplet.predicates:
            for variable in predicate.variables:
                mentioning.setdefault(variable, []).append(predicate)
        for edge in ordered:
            shared = edge & joins
            near = {id(p): p for variable in edge for p in mentioning.get(variable, ())}.values()
            reaching = [(p.variables & edge, p.variables - edge) for p in near]
            for into in ordered:
                if shared <= into and into != edge and all(there <= into or here <= into for here, there in reaching):
                    yield edge, into

    def labelled(self, edge: Hyperedge) -> list[_Root]:
        """The roots with label `edge`, earlier ones first."""
        return sorted((root for root in self.roots if root.node.label == edge), key=_Root.order)

    def take(self, step: Step) -> None:
        """Apply `step` to the triplet and enact it on the forest."""
        edges = set(self.triplet.edges)
        gone: tuple[str, ...] = ()
        if isinstance(step, Flt):
            self.filter(step)
            gone = step.predicates
        elif isinstance(step, Iso):
            edges.discard(step.edge)
            left = step.edge - step.removed
            if left:
                edges.add(left)
            below = self.merge(step.edge)
            self.roots.append(replace(below, node=self.node(left, (below.node,))))
        else:
            edges.discard(step.edge)
            gone = step.predicates
            below, guard = self.merge(step.edge), self.merge(step.into)
            node = self.node(step.into, (guard.node, replace(below.node, predicates=step.predicates)))
            self.roots.append(replace(guard, node=node, height=max(guard.height, below.height + 1)))
        predicates = tuple(p for p in self.triplet.predicates if p.name not in gone)
        self.triplet = replace(self.triplet, edges=frozenset(edges), predicates=predicates)

    def filter(self, step: Flt) -> None:
        """One new node over all roots of the edge; it filters on one of its edges, since all see the same tuple."""
        first, *others = self.labelled(step.edge)
        filtered = replace(first.node, predicates=step.predicates)
        head = _head([first, *others])
        self.roots = [root for root in self.roots if root.node.label != step.edge]
        self.roots.append(replace(head, node=self.node(step.edge, (filtered, *(other.node for other in others)))))

    def merge(self, edge: Hyperedge) -> _Root:
        """Take the roots with label `edge` out of the forest, as one root."""
        roots = self.labelled(edge)
        self.roots = [root for root in self.roots if root.node.label != edge]
        if len(roots) == 1:
            return roots[0]
        return replace(_head(roots), node=self.node(edge, tuple(root.node for root in roots)))

    def node(self, label: Hyperedge, children: tuple[TreeNode, ...]) -> TreeNode:
        return TreeNode(label=label, children=children, connex=self.stage_two)


def _leaf(atom: Atom, rank: Mapping[str, int]) -> _Root:
    return _Root(TreeNode(label=atom.variables, atom=atom.name), atom.name, rank.get(atom.name, 0), 0)


def _head(roots: Sequence[_Root]) -> _Root:
    """The root that stands for several of one label: the latest, of these the highest. The others hang below it."""
    head = min(roots, key=lambda root: (-root.rank, -root.height, root.atom))
    below = [root.height + 1 for root in roots if root is not head]
    return replace(head, height=max([head.height, *below]))


def _preference(edge: _Root, into: _Root) -> tuple[bool, int, int, int, int, str, str]:
    """Which absorption first: into a later event, of the earliest and lowest, into the latest and highest."""
    backwards = edge.rank > into.rank
    return (backwards, edge.rank, edge.height, -into.rank, -into.height, edge.atom, into.atom)

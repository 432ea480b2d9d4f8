"""A join tree over the atoms themselves, out of a generalized join tree.

Each interior node of a generalized join tree has a leaf below it that contains its variables. Contracting every node
into such a leaf keeps what makes a join tree: the atoms of a variable stay connected, and a predicate's variables lie
in the two ends of its edge (or in one atom: a *local* predicate). These conditions do not depend on which atom is the
root, and they still hold when a subtree moves up to its grandparent, provided that the grandparent contains what the
subtree shares with its parent. So the tree is contracted, rooted at the latest atom, and then flattened: atoms that
share one key become a star, and only predicates and keys of their own make a path.

Guaranteed (and asserted by `check_atom_tree`): the above; the root is an atom of the highest rank, and among these one
that gives the lowest tree, ties by name. Not guaranteed: the lowest tree of all join trees of the query.

Cost: O(n^3) set operations for n atoms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from cep.compiler.reduce import braces, names
from cep.ir.hypergraph import Query, TreeNode


@dataclass(frozen=True, slots=True)
class AtomTree:
    """`edges` are (parent, child, predicates), parents first; `local` are (atom, predicates within it)."""

    root: str
    edges: tuple[tuple[str, str, tuple[str, ...]], ...]
    local: tuple[tuple[str, tuple[str, ...]], ...] = ()


def atom_tree(query: Query, tree: TreeNode, rank: Mapping[str, int] | None = None) -> AtomTree:
    """Contract `tree`, a generalized join tree for `query`, to a tree over the atoms.

    `rank` is the place of an atom in time (0 is earliest, missing atoms are 0); later atoms are nearer the root.
    """
    ranks = {atom.name: (rank or {}).get(atom.name, 0) for atom in query.atoms}
    variables = {atom.name: atom.variables for atom in query.atoms}
    of_predicate = {predicate.name: predicate.variables for predicate in query.predicates}

    contraction = _Contraction(ranks, variables, of_predicate)
    contraction.contract(tree)
    latest = max(ranks.values())
    shapes = []
    for root in sorted(name for name, place in ranks.items() if place == latest):
        shape = _Shape(variables, of_predicate, contraction.links)
        shape.hang(root)
        shape.lift()
        shapes.append(shape)
    shape = min(shapes, key=lambda candidate: candidate.height())
    return shape.freeze(query, ranks, contraction.within)


class _Contraction:
    """Undirected links between atoms with the predicates on them, and predicates that ended up within one atom."""

    def __init__(
        self,
        ranks: Mapping[str, int],
        variables: Mapping[str, frozenset[str]],
        of_predicate: Mapping[str, frozenset[str]],
    ) -> None:
        self.ranks = ranks
        self.variables = variables
        self.of_predicate = of_predicate
        self.links: dict[frozenset[str], list[str]] = {}
        self.within: dict[str, str] = {}

    def contract(self, node: TreeNode) -> tuple[str, int]:
        """The atom that stands for `node`, and the height of what hangs below it."""
        if node.atom is not None:
            return node.atom, 0
        below = [(child, *self.contract(child)) for child in node.children]
        guards = [(atom, height) for child, atom, height in below if node.label <= child.label]
        chosen, height = min(guards, key=lambda guard: (-self.ranks[guard[0]], -guard[1], guard[0]))
        for child, atom, child_height in below:
            spanning = [name for name in child.predicates if not self.settle(name, (atom, chosen))]
            if atom != chosen:
                self.links[frozenset((chosen, atom))] = spanning
                height = max(height, child_height + 1)
        return chosen, height

    def settle(self, predicate: str, atoms: tuple[str, str]) -> bool:
        """Whether one of `atoms` has all that `predicate` mentions; if so, it is local there."""
        for atom in atoms:
            if self.of_predicate[predicate] <= self.variables[atom]:
                self.within[predicate] = atom
                return True
        return False


class _Shape:
    """A rooted tree over atoms that can be made lower."""

    def __init__(
        self,
        variables: Mapping[str, frozenset[str]],
        of_predicate: Mapping[str, frozenset[str]],
        links: Mapping[frozenset[str], list[str]],
    ) -> None:
        self.variables = variables
        self.of_predicate = of_predicate
        self.links = links
        self.root = ""
        self.parent: dict[str, str] = {}
        self.predicates: dict[str, list[str]] = {}

    def hang(self, root: str) -> None:
        """Direct all links away from `root`."""
        self.root = root
        stack = [root]
        while stack:
            atom = stack.pop()
            for link, predicates in self.links.items():
                if atom not in link:
                    continue
                (other,) = link - {atom}
                if other != self.parent.get(atom):
                    self.parent[other] = atom
                    self.predicates[other] = predicates
                    stack.append(other)

    def lift(self) -> None:
        """Move subtrees up while it keeps a join tree. Each move lowers the sum of depths, so this ends."""
        moved = True
        while moved:
            moved = False
            for atom in sorted(self.parent):
                while self.parent[atom] != self.root and self._fits(atom, self.parent[self.parent[atom]]):
                    self.parent[atom] = self.parent[self.parent[atom]]
                    moved = True

    def _fits(self, atom: str, above: str) -> bool:
        own, new = self.variables[atom], self.variables[above]
        shared = own & self.variables[self.parent[atom]]
        return shared <= new and all(self.of_predicate[name] <= own | new for name in self.predicates[atom])

    def depth(self, atom: str) -> int:
        """Edges between `atom` and the root."""
        depth = 0
        while atom != self.root:
            atom = self.parent[atom]
            depth += 1
        return depth

    def height(self) -> int:
        """The largest depth."""
        return max(map(self.depth, self.variables))

    def freeze(self, query: Query, ranks: Mapping[str, int], within: Mapping[str, str]) -> AtomTree:
        """The tree as a value, its predicates in the query's order; later siblings first, then by name."""
        local = dict(within)
        for child, predicates in self.predicates.items():
            for name in predicates:
                for atom in (child, self.parent[child]):
                    if self.of_predicate[name] <= self.variables[atom]:
                        local.setdefault(name, atom)
        place = {predicate.name: position for position, predicate in enumerate(query.predicates)}
        edges: list[tuple[str, str, tuple[str, ...]]] = []

        def walk(atom: str) -> None:
            below = (child for child, parent in self.parent.items() if parent == atom)
            for child in sorted(below, key=lambda name: (-ranks[name], name)):
                spanning = (name for name in self.predicates[child] if name not in local)
                edges.append((atom, child, tuple(sorted(spanning, key=place.__getitem__))))
                walk(child)

        walk(self.root)
        by_atom = ((atom.name, tuple(name for name in place if local.get(name) == atom.name)) for atom in query.atoms)
        return AtomTree(self.root, tuple(edges), tuple((atom, filters) for atom, filters in by_atom if filters))


def check_atom_tree(query: Query, tree: AtomTree) -> None:
    """Raise AssertionError, saying where and why, unless `tree` is a join tree over the atoms of `query`."""
    variables = {atom.name: atom.variables for atom in query.atoms}
    reached = {tree.root}
    for parent, child, _ in tree.edges:
        assert parent in reached, f"edge {parent} -> {child} comes before its parent is reached"
        assert child not in reached, f"{child} is reached twice"
        reached.add(child)
    assert reached == set(variables), f"the tree has {braces(reached)}, the query {braces(variables)}"

    for variable in sorted(query.variables):
        having = sum(variable in own for own in variables.values())
        linked = sum(variable in variables[parent] & variables[child] for parent, child, _ in tree.edges)
        assert linked == having - 1, f"the atoms of {variable} are not connected"

    placed = Counter(name for *_, predicates in tree.edges for name in predicates)
    placed.update(name for _, predicates in tree.local for name in predicates)
    expected = Counter(predicate.name for predicate in query.predicates)
    assert placed == expected, f"the tree has predicates {dict(placed)}, the query {dict(expected)}"

    of_predicate = {predicate.name: predicate.variables for predicate in query.predicates}
    for parent, child, predicates in tree.edges:
        for name in predicates:
            beyond = of_predicate[name] - variables[parent] - variables[child]
            assert not beyond, f"{name} on {parent} -> {child} mentions {names(beyond)}"
            alone = [atom for atom in (parent, child) if of_predicate[name] <= variables[atom]]
            assert not alone, f"{name} on {parent} -> {child} is local to {names(alone)}"
    for atom, predicates in tree.local:
        for name in predicates:
            beyond = of_predicate[name] - variables[atom]
            assert not beyond, f"{name}, local to {atom}, mentions {names(beyond)}"

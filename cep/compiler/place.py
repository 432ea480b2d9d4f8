"""Place: say each condition of the two atoms of its edge of the join tree.

The reduction sees variables, not attributes: `q.x < r.y` may lie on the edge between `q` and `p` because `p.y = r.y`
holds. The runtime binds atoms, so the condition is rewritten to `q.x < p.y` there; then every condition speaks of two
neighbours, is decided as soon as both are bound, and is part of what the edge costs. A side that used two atoms may use
one afterwards, which turns a general predicate into an inequality that an index can serve.

Guaranteed: the same matches, since only equals are put for equals. Not done for cyclic queries: they have no edges.
"""

from __future__ import annotations

from dataclasses import replace

from cep.compiler.atom_tree import AtomTree
from cep.compiler.gcq import as_inequality
from cep.ir.expr import COMPARISONS, Call, Col, Expr, rewrite, variables
from cep.ir.gcq import GCQ
from cep.ir.hypergraph import Predicate, TreeNode


def place(gcq: GCQ, tree: TreeNode, atoms: AtomTree) -> tuple[GCQ, TreeNode]:
    """The query with its conditions rewritten, and the tree with their new names. Linear in edges times conditions."""
    swaps = _Swaps(gcq)
    placed = {
        name: swaps.onto(gcq.theta(name), parent, child)
        for parent, child, predicates in atoms.edges
        for name in predicates
    }
    conditions = [placed.get(predicate.name, gcq.theta(predicate.name)) for predicate in gcq.shape.predicates]
    ways = [(condition, as_inequality(condition)) for condition in conditions]
    inequalities = tuple(dict.fromkeys(way for _, way in ways if way is not None))
    predicates = tuple(dict.fromkeys(condition for condition, way in ways if way is None))
    names = {condition: f"theta{i}" for i, condition in enumerate([*inequalities, *predicates])}
    renamed = {
        predicate.name: names[condition if way is None else way]
        for predicate, (condition, way) in zip(gcq.shape.predicates, ways, strict=True)
    }
    mentioned = {renamed[predicate.name]: predicate.variables for predicate in gcq.shape.predicates}
    shape = replace(gcq.shape, predicates=tuple(Predicate(name, mentioned[name]) for name in names.values()))
    return replace(gcq, inequalities=inequalities, predicates=predicates, shape=shape), _renamed(tree, renamed)


def _renamed(node: TreeNode, names: dict[str, str]) -> TreeNode:
    return replace(
        node,
        predicates=tuple(dict.fromkeys(names[name] for name in node.predicates)),
        children=tuple(_renamed(child, names) for child in node.children),
    )


class _Swaps:
    """Puts equals for equals."""

    def __init__(self, gcq: GCQ) -> None:
        members = {variable.name: dict(variable.members) for variable in gcq.variables}
        self._equal = {col: members[name] for col, name in gcq.attributes}

    def onto(self, condition: Expr, parent: str, child: str) -> Expr:
        """The condition over `parent` and `child` alone; each side of a comparison over one of them where possible."""
        if isinstance(condition, Call) and condition.op in COMPARISONS:
            left, right = condition.args
            ways = [
                (self._side(left, parent, child), self._side(right, child, parent)),
                (self._side(left, child, parent), self._side(right, parent, child)),
            ]
            # The rewriting that leaves the sides on different atoms, the one that changes less first.
            ways.sort(key=lambda way: (variables(way[0]) == variables(way[1]), way != (left, right)))
            return replace(condition, args=ways[0])
        return self._side(condition, parent, child)

    def _side(self, expr: Expr, first: str, second: str) -> Expr:
        """The expression over one of the two atoms, as it is if it is so already; over both where neither has all."""
        if variables(expr) <= {first} or variables(expr) <= {second}:
            return expr
        for atoms in ((first,), (second,)):
            if (swapped := self._on(expr, atoms)) is not None:
                return swapped
        swapped = self._on(expr, (first, second))
        assert swapped is not None, f"{expr} is on an edge whose atoms lack some of its variables"
        return swapped

    def _on(self, expr: Expr, atoms: tuple[str, ...]) -> Expr | None:
        missing = False

        def swap(node: Expr) -> Expr:
            nonlocal missing
            if not isinstance(node, Col) or node.var in atoms:
                return node
            equals = [self._equal[node][atom] for atom in atoms if atom in self._equal[node]]
            missing = missing or not equals
            return equals[0] if equals else node

        swapped = rewrite(expr, swap)
        return None if missing else swapped

"""The drawing behind every picture: boxes with text, a tree of them, and words on the edges.

The generalized join tree where the plan has one: leaves are the pattern's variables, inner nodes the variables of the
query that they share. A cyclic plan has none; its drawing is the tree over the pattern's variables, with what is
joined in one bag in one box.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cep.explain import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cep.hypergraph import TreeNode
    from cep.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A node: `title` names it, `details` say what it stores, `edge` what holds between it and its parent."""

    title: str
    details: tuple[str, ...] = ()
    edge: tuple[str, ...] = ()
    leaf: bool = False
    connex: bool = False
    children: tuple[Box, ...] = ()


def boxes(plan: Plan) -> Box:
    """The root of the drawing."""
    return _from_tree(plan, plan.tree) if plan.tree is not None else _from_edges(plan)


def walk(box: Box) -> Iterator[Box]:
    """A box and all below it, parents first."""
    yield box
    for child in box.children:
        yield from walk(child)


def _from_tree(plan: Plan, node: TreeNode) -> Box:
    if _only_projects(node):
        # One box instead of two: the leaf says itself what it shows its neighbours.
        leaf = _from_tree(plan, node.children[0])
        shares = f"shares {', '.join(sorted(node.label))}" if node.label else "shares that it happened"
        return replace(leaf, details=(*leaf.details, shares), edge=node.predicates)
    children = tuple(_from_tree(plan, child) for child in node.children)
    if node.atom is not None:
        title, details = _leaf(plan, node.atom)
    else:
        title, details = "{" + ", ".join(sorted(node.label)) + "}", ()
    return Box(
        title=title,
        details=details,
        edge=node.predicates,
        leaf=node.atom is not None,
        connex=node.connex,
        children=children,
    )


def _only_projects(node: TreeNode) -> bool:
    """Whether a node does nothing but hide attributes of one leaf, and stands on the same side of the connex set."""
    if node.atom is not None or len(node.children) != 1:
        return False
    (child,) = node.children
    return child.atom is not None and not child.predicates and child.connex == node.connex


def _from_edges(plan: Plan) -> Box:
    group_of = {var: bag for bag in plan.bags for var in bag}
    group_of |= {leaf.var: (leaf.var,) for leaf in plan.leaves if leaf.var not in group_of}
    placed: set[tuple[str, ...]] = set()

    def box(group: tuple[str, ...], edge: tuple[str, ...]) -> Box:
        placed.add(group)
        children = []
        inner: list[str] = []
        for link in plan.edges:
            if group_of[link.parent] != group:
                continue
            below = group_of[link.child]
            if below == group:
                inner += map(str, link.predicates)
            elif below not in placed:
                children.append(box(below, tuple(map(str, link.predicates))))
        parts = [_leaf(plan, var) for var in group]
        if len(parts) == 1:
            title, details = parts[0]
        else:
            title = "bag of " + ", ".join(group)
            details = (*(f"{name} {' '.join(lines)}" for name, lines in parts), *inner)
        return Box(title=title, details=details, edge=edge, leaf=not children, children=tuple(children))

    return box(group_of[plan.root], ())


def _leaf(plan: Plan, var: str) -> tuple[str, tuple[str, ...]]:
    leaf = plan.leaf(var)
    details = [f"keeps {words.keeps(leaf)}"]
    if shown := words.visible_filter(leaf):
        details.append(f"if {words.conditions(shown)}")
    return f"{leaf.var}: {leaf.stream}", tuple(details)

"""The drawing behind every picture: boxes with text, a tree of them, and words on the edges.

The generalized join tree where the plan has one: leaves are the pattern's variables, inner nodes the variables of the
query that they share. A cyclic plan has none; its drawing is the tree over the pattern's variables, with what is
joined in one bag in one box.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cep.explain import gaps, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cep.ir.hypergraph import TreeNode
    from cep.ir.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A node: `title` names it, `details` say what it stores, `edge` what holds between it and its parent.

    A `gap` stands below the leaf that it is asked of; it is no part of the tree and binds nothing.
    """

    title: str
    details: tuple[str, ...] = ()
    edge: tuple[str, ...] = ()
    leaf: bool = False
    connex: bool = False
    gap: bool = False
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
        children = (*children, *_gaps(plan, (node.atom,)))
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
        leaf = not children
        return Box(title=title, details=details, edge=edge, leaf=leaf, children=(*children, *_gaps(plan, group)))

    return box(group_of[plan.root], ())


def _leaf(plan: Plan, var: str) -> tuple[str, tuple[str, ...]]:
    leaf = plan.leaf(var)
    details = [f"keeps {words.keeps(leaf)}"]
    if shown := words.visible_filter(leaf):
        details.append(f"if {words.conditions(shown)}")
    if leaf.once is not None:
        details.append("the last of its moment" + (f" and {', '.join(leaf.once)}" if leaf.once else ""))
    if asked := words.visible(leaf.having):
        details.append(f"stays if {words.conditions(tuple(map(gaps.shown, asked)))}")
    if (until := gaps.waits(leaf)) is not None:
        details.append(f"waits {until}")
    return f"{leaf.var}: {leaf.stream}", tuple(details)


def _gaps(plan: Plan, variables: tuple[str, ...]) -> Iterator[Box]:
    """The gaps that are asked of some variables."""
    for gap in gaps.gaps(plan):
        if gap.below in variables:
            yield Box(title=gap.title, details=gaps.details(gap), gap=True)

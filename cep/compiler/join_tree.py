"""From the forest of a reduction to one generalized join tree with its connex set, sibling-closed and binary.

A generalized join tree has the atoms as leaves; an interior node is labelled by a set of variables that one of its
children (a *guard*) contains; the nodes of a variable are connected; and an edge carries predicates over the
variables of its two ends only. A *connex set* N contains the root and is connected. The runtime needs two more
properties (Proposition 16): N is *sibling-closed*, so that output is read off the lowest nodes of N, and the tree is
*binary*, so that a node joins two relations at a time. `check_tree` asserts all of it.

Not guaranteed: canonical trees (Definition 32). Nodes may share a label where a projection or a filter needs one.

Cost: linear in the size of the tree times its height; `check_tree` reduces the query once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from cep.compiler.reduce import Reduction, braces, names, reduce
from cep.ir.hypergraph import Query, TreeNode


def join_tree(query: Query, reduction: Reduction) -> TreeNode:
    """The join tree of an acyclic `query`, sibling-closed and binary, with the flags of the connex set.

    Raises ValueError where `reduction` is of another query or found a cycle.
    """
    if reduction.query != query:
        raise ValueError("the reduction belongs to another query")
    if not reduction.acyclic:
        stuck = ", ".join(sorted(braces(edge) for edge in reduction.remaining.edges))
        raise ValueError(f"a cyclic query has no join tree; left over: {stuck}")
    if len(reduction.roots) == 1:
        tree = reduction.roots[0]
    else:
        tree = TreeNode(label=frozenset(), children=reduction.roots, connex=True)
    return _without_idle_root(binary(sibling_closed(collapse(tree))))


def collapse(tree: TreeNode) -> TreeNode:
    """Without nodes that repeat the label of an only child and filter nothing."""
    children = tuple(collapse(child) for child in tree.children)
    if len(children) == 1 and children[0].label == tree.label and not children[0].predicates:
        return replace(children[0], predicates=tree.predicates, connex=tree.connex)
    return replace(tree, children=children)


def _without_idle_root(tree: TreeNode) -> TreeNode:
    """The root exists to join components; over a single one that is in the connex set itself it does nothing."""
    while not tree.label and len(tree.children) == 1:
        (child,) = tree.children
        if child.predicates or not child.connex:
            break
        tree = child
    return tree


def sibling_closed(tree: TreeNode) -> TreeNode:
    """An equivalent tree in which a node is in the connex set only together with its siblings.

    var(N) stays the same. A *violator* is a node of N with children inside and outside N. If one of those inside is
    a guard (type 1), those outside move down to a leaf below it that contains everything they join with. If none is
    (type 2), those outside move below a copy of the violator, which joins N.
    """
    inside = [child for child in tree.children if child.connex]
    outside = [child for child in tree.children if not child.connex]
    if inside and outside:
        guard = next((child for child in inside if tree.label <= child.label), None)
        if guard is None:
            copy = TreeNode(label=tree.label, children=tuple(outside), connex=True)
            tree = replace(tree, children=(copy, *inside))
        else:
            lowered = _lower(guard, tuple(outside))
            tree = replace(tree, children=tuple(lowered if child is guard else child for child in inside))
    return replace(tree, children=tuple(sibling_closed(child) for child in tree.children))


def _lower(node: TreeNode, subtrees: tuple[TreeNode, ...]) -> TreeNode:
    """`node` with `subtrees` moved beside a leaf that guards it, below a new node with the leaf's label."""
    if not node.children:
        leaf = replace(node, predicates=(), connex=False)
        return replace(node, atom=None, children=(leaf, *subtrees))
    guard = _guard(node)
    lowered = _lower(guard, subtrees)
    return replace(node, children=tuple(lowered if child is guard else child for child in node.children))


def binary(tree: TreeNode) -> TreeNode:
    """An equivalent tree with at most two children per node: a chain of copies, a guard at its lower end.

    Raises ValueError where the tree is not sibling-closed: then no copy could be put inside or outside N.
    """
    children = tuple(binary(child) for child in tree.children)
    if len({child.connex for child in children}) > 1:
        raise ValueError(f"node {braces(tree.label)} has children inside and outside of the connex set")
    if len(children) > 2:
        chain = next(child for child in children if tree.label <= child.label)
        others = [child for child in children if child is not chain]
        for other in others[:-1]:
            chain = TreeNode(label=tree.label, children=(chain, other), connex=other.connex)
        children = (chain, others[-1])
    return replace(tree, children=children)


def _guard(node: TreeNode) -> TreeNode:
    return next(child for child in node.children if node.label <= child.label)


def nodes(tree: TreeNode) -> Iterator[TreeNode]:
    """All nodes, parents first."""
    yield tree
    for child in tree.children:
        yield from nodes(child)


def connex_variables(tree: TreeNode) -> frozenset[str]:
    """var(N)."""
    return frozenset().union(*(node.label for node in nodes(tree) if node.connex))


def check_tree(query: Query, tree: TreeNode) -> None:
    """Raise AssertionError, saying where and why, unless `tree` is a binary, sibling-closed join tree for `query`.

    Its connex set must cover exactly the variables that the reduction calls for.
    """
    _check_leaves(query, tree)
    _check_nodes(tree)
    _check_connectedness(tree)
    _check_predicates(query, tree)
    _check_connex(query, tree)


def _check_leaves(query: Query, tree: TreeNode) -> None:
    leaves = Counter(node.atom for node in nodes(tree) if not node.children)
    expected = Counter(atom.name for atom in query.atoms)
    assert leaves == expected, f"the leaves are {dict(leaves)}, the atoms {dict(expected)}"
    variables = {atom.name: atom.variables for atom in query.atoms}
    for node in nodes(tree):
        if node.children:
            assert node.atom is None, f"interior node {braces(node.label)} claims to be atom {node.atom}"
        elif node.atom is not None:
            own = variables[node.atom]
            assert node.label == own, f"leaf {node.atom} is labelled {braces(node.label)}, its atom has {braces(own)}"


def _check_nodes(tree: TreeNode) -> None:
    for node in nodes(tree):
        where = f"node {braces(node.label)}"
        if node.children:
            guarded = any(node.label <= child.label for child in node.children)
            assert guarded, f"{where} has no child that contains its variables"
        assert len(node.children) <= 2, f"{where} has {len(node.children)} children, at most two are allowed"
        flags = {child.connex for child in node.children}
        assert len(flags) <= 1, f"{where} has children inside and outside of the connex set"
        if not node.connex:
            assert flags <= {False}, f"{where} is outside of the connex set, a child is inside"


def _check_connectedness(tree: TreeNode) -> None:
    tops: Counter[str] = Counter(tree.label)
    for node in nodes(tree):
        for child in node.children:
            tops.update(child.label - node.label)
    split = [variable for variable, count in tops.items() if count > 1]
    assert not split, f"the nodes of {names(split)} are not connected"


def _check_predicates(query: Query, tree: TreeNode) -> None:
    assert not tree.predicates, f"the root has no edge that could carry {tree.predicates}"
    variables = {predicate.name: predicate.variables for predicate in query.predicates}
    placed = Counter(name for node in nodes(tree) for name in node.predicates)
    expected = Counter(variables.keys())
    assert placed == expected, f"the edges carry {dict(placed)}, the query has {dict(expected)}"
    for node in nodes(tree):
        for child in node.children:
            for name in child.predicates:
                beyond = variables[name] - node.label - child.label
                edge = f"{braces(node.label)} -> {braces(child.label)}"
                assert not beyond, f"{name} on {edge} mentions {names(beyond)}"


def _check_connex(query: Query, tree: TreeNode) -> None:
    assert tree.connex, "the root is not in the connex set"
    covered, expected = connex_variables(tree), reduce(query).connex
    assert covered == expected, f"the connex set covers {braces(covered)}, it should cover {braces(expected)}"

"""Join trees: their form on known queries, Proposition 16, and a checker that can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cep.compiler.join_tree import binary, check_tree, collapse, connex_variables, join_tree, nodes, sibling_closed
from cep.compiler.reduce import reduce
from cep.ir.hypergraph import TreeNode


def node(label, *children, n=False, on=()):
    """An interior node; `n` puts it in the connex set, `on` labels the edge from its parent."""
    return TreeNode(label=frozenset(label), children=children, connex=n, predicates=tuple(on))


def leaf(atom, label, n=False, on=()):
    return TreeNode(label=frozenset(label), atom=atom, connex=n, predicates=tuple(on))


def tree_of(query, rank=None):
    tree = join_tree(query, reduce(query, rank))
    check_tree(query, tree)
    return tree


def is_simple(tree):
    return all(parent.label <= child.label for parent in nodes(tree) for child in parent.children)


def test_a_sequence_has_its_last_event_at_the_root(gcq):
    query = gcq("* <- s1(k,a) s2(k,b) s3(k,c) | a<b, b<c")
    assert tree_of(query, {"s1": 0, "s2": 1, "s3": 2}) == node(
        "kc",
        leaf("s3", "kc", n=True),
        node("kb", leaf("s2", "kb", n=True), leaf("s1", "ka", n=True, on=["a<b"]), n=True, on=["b<c"]),
        n=True,
    )


def test_the_tree_of_example_5_projects_before_it_joins(gcq):
    tree = tree_of(gcq("y,z,w,u <- r(x,y) s(y,z,w) t(u,v) | x<z, w<u"))
    assert connex_variables(tree) == frozenset("yzwu")
    assert not any(part.connex for part in nodes(tree) if part.atom)


@pytest.mark.parametrize(
    "text",
    [
        "* <- R(x,y,z) S(x,y,u) T(y,v,w) U(y,v,p)",  # Proposition 15: needs partial hyperedges
        "x,y <- R(x,y,z) S(x,y,u) T(y,v,w) U(y,v,p)",
        "x,y,u <- E(x,y) R(x,y,w) S(x,y,u,v)",
        "* <- l(sk,l1) s(sk,s1) ps(sk,p1)",
    ],
)
def test_a_q_hierarchical_query_gets_a_simple_tree(gcq, text):
    assert is_simple(tree_of(gcq(text)))


@pytest.mark.parametrize(
    "text",
    [
        "* <- a(x)",
        "<- a(x)",
        "<- a()",
        "* <- a(x,y) | x<y",
        "x <- a(x,y) | x<y",
        "* <- a(x) b(x)",
        "<- a(x) b(x) c(x)",
        "* <- a(x) b(y)",
        "<- a(x) b(y) c(z)",
        "x <- a(x) b(y) c()",
        "* <- a() b() c()",
        "* <- a(x,y) b(x,y) c(x,y) | x<y",
        "<- a(x,y) b(x,y) c(x) | x<y, y<x",
        "* <- a(x) b(y) | x<y, x<y+1",
        "* <- a(x,y) b(y,z) c(z,w) d(p) e(p,q) | x<z, w<q",
    ],
)
def test_special_queries_have_trees(gcq, text):
    tree_of(gcq(text))


def test_a_single_atom_is_its_own_tree(gcq):
    assert tree_of(gcq("* <- a(x,y)")) == leaf("a", "xy", n=True)
    assert tree_of(gcq("<- a(x,y)")) == node("", leaf("a", "xy"), n=True)


def test_a_node_that_repeats_its_only_child_is_collapsed_unless_it_filters():
    idle = node("x", node("x", leaf("a", "x"), n=True, on=["p"]), leaf("b", "xy"), n=True)
    assert collapse(idle) == node("x", leaf("a", "x", n=True, on=["p"]), leaf("b", "xy"), n=True)
    filters = node("x", leaf("a", "x", on=["p"]), n=True)
    assert collapse(filters) == filters


def test_example_8_moves_a_sibling_below_the_guards_leaf():
    before = node("yz", node("yzw", leaf("h", "yzwt"), n=True), leaf("s", "yzm", on=["m<z"]), n=True)
    assert sibling_closed(before) == node(
        "yz", node("yzw", node("yzwt", leaf("h", "yzwt"), leaf("s", "yzm", on=["m<z"])), n=True), n=True
    )


def test_example_8_when_the_guard_is_a_leaf():
    before = node("yz", leaf("h", "yzwt", n=True, on=["t<y"]), leaf("s", "yzm"), n=True)
    assert sibling_closed(before) == node(
        "yz", node("yzwt", leaf("h", "yzwt"), leaf("s", "yzm"), n=True, on=["t<y"]), n=True
    )


def test_example_9_puts_the_other_siblings_below_a_copy():
    before = node("yz", node("y", leaf("s", "ym"), n=True), leaf("h", "yzwt"), leaf("r", "zk", on=["k<y"]), n=True)
    assert sibling_closed(before) == node(
        "yz",
        node("yz", leaf("h", "yzwt"), leaf("r", "zk", on=["k<y"]), n=True),
        node("y", leaf("s", "ym"), n=True),
        n=True,
    )


def test_binary_keeps_a_guard_at_the_lower_end_of_the_chain():
    before = node("k", leaf("a", "x"), leaf("b", "k"), leaf("c", "y", on=["y<k"]), leaf("d", "z"))
    copy = node("k", node("k", leaf("b", "k"), leaf("a", "x")), leaf("c", "y", on=["y<k"]))
    assert binary(before) == node("k", copy, leaf("d", "z"))


def test_binary_refuses_what_is_not_sibling_closed():
    with pytest.raises(ValueError, match="inside and outside"):
        binary(node("x", leaf("a", "x", n=True), leaf("b", "x"), leaf("c", "x"), n=True))


def chain(*, root="y", left="xy", right="yz", predicate="x<z"):
    return node(
        root,
        node("y", node("y", leaf("a", left, n=True), n=True), leaf("c", "y", n=True), n=True),
        leaf("b", right, n=True, on=[predicate] if predicate else ()),
        n=True,
    )


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        (lambda tree: replace(tree, children=tree.children[:1]), "the leaves are"),
        (lambda tree: node("y", tree, leaf("b", "yz", n=True), n=True), "the leaves are"),
        (lambda tree: replace(tree, label=frozenset("yq")), "no child that contains"),
        (lambda tree: replace(tree, label=frozenset()), "not connected"),
        (lambda tree: replace(tree, connex=False), "outside of the connex set, a child is inside"),
        (lambda tree: replace(tree, predicates=("x<y",)), "root has no edge"),
        (lambda tree: replace(tree, atom="a"), "claims to be atom a"),
        (lambda tree: swap(tree, 1, predicates=()), "the edges carry"),
        (lambda tree: swap(tree, 0, predicates=("y<z",)), "the edges carry"),
        (lambda tree: swap(swap(tree, 1, predicates=()), 0, predicates=("y<z",)), "mentions z"),
        (lambda tree: swap(tree, 1, label=frozenset("yzq")), "leaf b is labelled"),
        (lambda tree: swap(tree, 1, connex=False), "inside and outside"),
        (lambda tree: unmark(tree), "covers"),
    ],
)
def test_the_checker_finds_what_is_wrong(gcq, broken, complaint):
    query = gcq("* <- a(x,y) b(y,z) c(y) | y<z")
    tree = chain(predicate="y<z")
    check_tree(query, tree)
    with pytest.raises(AssertionError, match=complaint):
        check_tree(query, broken(tree))


def swap(tree, position, **changes):
    children = list(tree.children)
    children[position] = replace(children[position], **changes)
    return replace(tree, children=tuple(children))


def unmark(tree, depth=0):
    below = tuple(unmark(child, depth + 1) for child in tree.children)
    return replace(tree, children=below, connex=depth == 0)


def test_the_checker_counts_children(gcq):
    query = gcq("* <- a(x) b(x) c(x)")
    with pytest.raises(AssertionError, match="3 children"):
        check_tree(query, node("x", leaf("a", "x", n=True), leaf("b", "x", n=True), leaf("c", "x", n=True), n=True))

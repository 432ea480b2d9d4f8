"""Join trees over the atoms: sequences are paths, conjunctions are stars, the latest event is the root."""

from __future__ import annotations

import pytest

from cep.compiler.atom_tree import AtomTree, atom_tree, check_atom_tree
from cep.compiler.join_tree import join_tree
from cep.compiler.reduce import reduce


def tree_of(query, rank=None):
    tree = atom_tree(query, join_tree(query, reduce(query, rank)), rank)
    check_atom_tree(query, tree)
    return tree


def in_order(query):
    return {atom.name: place for place, atom in enumerate(query.atoms)}


def test_a_sequence_is_a_path_from_its_last_event(gcq):
    query = gcq("* <- s1(k,a) s2(k,b) s3(k,c) | a<b, b<c")
    assert tree_of(query, in_order(query)) == AtomTree("s3", (("s3", "s2", ("b<c",)), ("s2", "s1", ("a<b",))))


@pytest.mark.parametrize("output", ["*", "", "k", "k,a", "a,c"])
def test_the_path_does_not_depend_on_the_output(gcq, output):
    query = gcq(f"{output} <- s1(k,a,x) s2(k,b,y) s3(k,c,z) s4(k,d) | a<b, b<c, c<d, a<b+1")
    tree = tree_of(query, in_order(query))
    assert [(parent, child) for parent, child, _ in tree.edges] == [("s4", "s3"), ("s3", "s2"), ("s2", "s1")]


@pytest.mark.parametrize(
    "text", ["* <- a(k,x) b(k,y) c(k,z) d(k,w)", "* <- a(k) b(k) c(k) d(k)", "<- a(k) b(k) c(k) d(k)"]
)
def test_an_unordered_conjunction_on_one_key_is_a_star(gcq, text):
    query = gcq(text)
    assert tree_of(query) == AtomTree("a", (("a", "b", ()), ("a", "c", ()), ("a", "d", ())))
    assert tree_of(query, in_order(query)) == AtomTree("d", (("d", "c", ()), ("d", "b", ()), ("d", "a", ())))


def test_a_conjunction_before_an_event_hangs_below_it(gcq):
    query = gcq("* <- a(k,x) b(k,y) c(k,z) | x<z, y<z")
    assert tree_of(query, {"a": 0, "b": 0, "c": 1}) == AtomTree("c", (("c", "a", ("x<z",)), ("c", "b", ("y<z",))))


def test_a_conjunction_after_an_event_is_rooted_at_its_latest(gcq):
    query = gcq("* <- c(k,z) a(k,x) b(k,y) | z<x, z<y")
    assert tree_of(query, in_order(query)) == AtomTree("b", (("b", "c", ("z<y",)), ("c", "a", ("z<x",))))


def test_a_filter_is_local_to_its_atom_and_not_in_the_way(gcq):
    query = gcq("* <- a(k,x,y) b(k,z) c(k,w) | x<y, z<w, k<w")
    tree = tree_of(query, in_order(query))
    assert tree.root == "c"
    assert dict(tree.local) == {"a": ("x<y",), "c": ("k<w",)}
    assert tree.edges == (("c", "b", ("z<w",)), ("c", "a", ()))


def test_components_hang_from_the_root(gcq):
    query = gcq("* <- a(x) b(y) c(z) d()")
    assert tree_of(query, in_order(query)) == AtomTree("d", (("d", "c", ()), ("d", "b", ()), ("d", "a", ())))


def test_a_key_of_their_own_keeps_two_atoms_together(gcq):
    query = gcq("* <- a(k,x) b(k,x,y) c(y,z)")
    assert tree_of(query, in_order(query)) == AtomTree("c", (("c", "b", ()), ("b", "a", ())))


@pytest.mark.parametrize(
    ("tree", "complaint"),
    [
        (AtomTree("a", (("a", "b", ("x<y",)),)), "the query"),
        (AtomTree("a", (("b", "c", ()), ("a", "b", ("x<y",)))), "before its parent"),
        (AtomTree("a", (("a", "b", ("x<y",)), ("a", "c", ()), ("b", "c", ()))), "reached twice"),
        (AtomTree("a", (("a", "c", ()), ("c", "b", ("x<y",)))), "atoms of k are not connected"),
        (AtomTree("a", (("a", "b", ()), ("b", "c", ("x<y",)))), "mentions x"),
        (AtomTree("a", (("a", "b", ()), ("b", "c", ()))), "predicates"),
        (AtomTree("a", (("a", "b", ("x<y", "y<k")), ("b", "c", ()))), "local to b"),
        (AtomTree("a", (("a", "b", ("x<y",)), ("b", "c", ())), (("a", ("y<k",)),)), "local to a, mentions y"),
    ],
)
def test_the_checker_finds_what_is_wrong(gcq, tree, complaint):
    local = any("y<k" in names for _, names in tree.local) or any("y<k" in names for *_, names in tree.edges)
    query = gcq("* <- a(k,x) b(k,y) c(y) | x<y" + (", y<k" if local else ""))
    with pytest.raises(AssertionError, match=complaint):
        check_atom_tree(query, tree)

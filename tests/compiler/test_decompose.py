"""Bags of cyclic queries: acyclic over the bags, narrow, connected, deterministic."""

from __future__ import annotations

import pytest

from cep.compiler.decompose import bag_query, decompose
from cep.compiler.reduce import reduce


def cycle(length):
    edges = (f"e{place:02}(v{place:02},v{(place + 1) % length:02})" for place in range(length))
    return "* <- " + " ".join(edges)


def groups(query):
    bags = decompose(query)
    assert reduce(bag_query(query, bags)).acyclic
    return [" ".join(bag.atoms) for bag in bags]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* <- r(x,y) s(y,z) t(x,z)", ["r s t"]),
        ("* <- r(x,y) s(y,z) t(x,z) ear(x,w) tip(w,v)", ["r s t", "ear", "tip"]),
        ("* <- ear(w,x) r(x,y) s(y,z) t(x,z) twin(x,y)", ["ear", "r s t", "twin"]),
        ("* <- r(x,y) s(y,z) t(x,z) p(u,v) q(v,w) o(w,u)", ["r s t", "p q o"]),
        ("* <- r(a,b) s(b,c) t(c,a) u(c,d) v(d,b)", ["r s t", "u v"]),
        ("* <- s1(k,t1) s2(k,t2) l(k,t3) | t1<t2, t2<t3, t3<t1+1", ["s1 s2", "l"]),
        ("* <- a(k,t) b(k,u) c(k,v) d(k,w) | t<u, u<v, v<w, w<t+1", ["a b", "c d"]),
        ("* <- a(x) b(y) c(z)", ["a", "b", "c"]),
        ("* <- a(x) b(y) c(z) | x<y+z", ["a b", "c"]),
    ],
)
def test_bags(gcq, text, expected):
    assert sorted(groups(gcq(text))) == sorted(expected)


@pytest.mark.parametrize(("length", "width"), [(3, 3), (4, 2), (5, 3), (6, 3), (7, 4), (8, 4)])
def test_a_cycle_is_cut_in_the_middle(gcq, length, width):
    assert max(len(group.split()) for group in groups(gcq(cycle(length)))) == width


@pytest.mark.parametrize("length", [9, 12])
def test_beyond_the_limit_bags_are_still_sound(gcq, length):
    found = groups(gcq(cycle(length)))
    assert len(found) > 1
    assert sorted(" ".join(found).split()) == [atom.name for atom in gcq(cycle(length)).atoms]


@pytest.mark.parametrize("corners", ["abcd", "abcde"])
def test_a_clique_is_one_bag_or_two(gcq, corners):
    edges = " ".join(f"{x}{y}({x},{y})" for x in corners for y in corners if x < y)
    assert len(groups(gcq(f"* <- {edges}"))) <= 2


def test_a_bag_exposes_what_others_need(gcq):
    query = gcq("d <- r(a,b) s(b,c) t(c,a) u(a,d) v(e,f) | b<e, c<b")
    bags = {bag.atoms: bag.variables for bag in decompose(query)}
    assert bags == {("r", "s", "t"): frozenset("ab"), ("u",): frozenset("ad"), ("v",): frozenset("e")}
    assert [predicate.name for predicate in bag_query(query, decompose(query)).predicates] == ["b<e"]

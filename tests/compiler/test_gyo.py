"""Extended GYO on every query that the thesis and the paper give a verdict for."""

from __future__ import annotations

import random

import pytest

from cep.compiler.classify import classify
from cep.compiler.join_tree import check_tree, join_tree
from cep.compiler.reduce import Cse, Flt, Iso, reduce
from cep.ir.hypergraph import Atom, Predicate, Query

Q4 = "R(a,b,c) S(d,e,f) T(g,h,i) | a<d, d<g"
Q5 = "R(a,b,c,k) S(d,e,f,k) T(g,h,i) | a<d, d<g"
Q6 = "R(a,b,c) S(d,e,f,k) T(g,h,i,k) | a<d, d<g"
EXAMPLE_4 = "R(x,y,z) S(x,y,u) T(y,v,w) U(y,v,p)"
EXAMPLE_5 = "r(x,y) s(y,z,w) t(u,v) | x<z, w<u"
EXAMPLE_10 = "t,u,z,w <- r1(s,t,u) r2(t,u) r3(u,w,x) r4(s,v) r5(w,z,y) | t<v, x<y"

# id: query, acyclic, free-connex, var(N); None where there is no connex set, "*" for all variables.
VERDICTS = {
    "example 5": (f"y,z,w,u <- {EXAMPLE_5}", True, True, "y z w u"),
    "example 6": (f"* <- {EXAMPLE_5}", True, True, "*"),
    "example 7": (f"x,u <- {EXAMPLE_5}", True, False, "x y z w u"),
    "triangle": ("* <- r(x,y) s(y,z) t(x,z)", False, False, None),
    "Bernstein and Goodman": (
        "* <- r(xr) s(xs,ys) t(xt,yt) u(yu) | xs<=xr, xt<=xr, ys<=yu, yt<=yu",
        False,
        False,
        None,
    ),
    "excluded by Bernstein and Goodman": ("* <- r(x,y) s(x,z) | y<z", True, True, "*"),
    "example 10": (EXAMPLE_10, True, False, "t u w x y z"),
    "Q1": ("* <- R(a,b,c) S(d,e,f) | a<d", True, True, "*"),
    "Q2": ("* <- R(a,b,c,k) S(d,e,f,k) | a<d", True, True, "*"),
    "Q3": ("* <- R(a,b,c) S(d,e,f) T(g,h,i) | a<d, e<g", True, True, "*"),
    "Q4": (f"* <- {Q4}", True, True, "*"),
    "Q5": (f"* <- {Q5}", True, True, "*"),
    "Q6": (f"* <- {Q6}", True, True, "*"),
    "Q7": (f"a,b,d,e,f,g,h <- {Q4}", True, True, "a b d e f g h"),
    "Q8": (f"a,d,e,f,g,h,k <- {Q5}", True, True, "a d e f g h k"),
    "Q9": (f"d,e,f,g,h,k <- {Q6}", True, True, "d e f g h k"),
    "Q10": (f"b,c,e,f,h,i <- {Q4}", True, False, "*"),
    "Q11": (f"b,c,e,f,h,i <- {Q5}", True, False, "*"),
    "Q12": (f"b,c,e,f,h,i <- {Q6}", True, False, "*"),
    "SEQ of 3": ("* <- s1(k,t1) s2(k,t2) l(k,t3) | t1<t2, t2<t3", True, True, "*"),
    "SEQ of 3 within": ("* <- s1(k,t1) s2(k,t2) l(k,t3) | t1<t2, t2<t3, t3<t1+1", False, False, None),
    "SEQ of 2 within": ("* <- a(k,t1) b(k,t2) | t1<t2, t2<t1+1", True, True, "*"),
    "SEQ of 4 with bands": (
        "* <- a(k,t1) b(k,t2) c(k,t3) d(k,t4) | t1<t2, t2<t1+1, t2<t3, t3<t2+1, t3<t4, t4<t3+1",
        True,
        True,
        "*",
    ),
    "SEQ of 4 within": ("* <- a(k,t1) b(k,t2) c(k,t3) d(k,t4) | t1<t2, t2<t3, t3<t4, t4<t1+1", False, False, None),
}

# id: query, acyclic, free-connex, hierarchical, q-hierarchical, var(N).
EQUI_JOINS = {
    "example 4": (f"* <- {EXAMPLE_4}", True, True, True, True, "*"),
    "example 4 on x, y": (f"x,y <- {EXAMPLE_4}", True, True, True, True, "x y"),
    "example 4 on u": (f"u <- {EXAMPLE_4}", True, True, True, False, "u"),
    "figure 3.4": ("x,y,u <- E(x,y) R(x,y,w) S(x,y,u,v)", True, True, True, True, "x y u"),
    "two atoms": ("* <- R(x,y) S(y,z)", True, True, True, True, "*"),
    "matrix multiplication": ("x,z <- R(x,y) S(y,z)", True, False, True, False, "*"),
    "path of three": ("* <- R(a,b) S(b,c) T(c,d)", True, True, False, False, "*"),
    "aggregate example": ("x,y,v <- R(x,y,z) S(y,z,v)", True, False, True, False, "*"),
    "triangle": ("* <- R(x,y) S(y,z) T(x,z)", False, False, False, False, None),
    "FQ1": ("* <- o(ok,o1) l(ok,pk,sk,l1) p(pk,p1) ps(pk,sk,ps1)", True, True, False, False, "*"),
    "FQ2": ("* <- l(ok,pk,l1) o(ok,ck,o1) c(ck,nk,c1) p(pk,p1) n(nk,n1)", True, True, False, False, "*"),
    "FQ3": ("* <- o(ok,ck,o1) l(ok,sk,l1) ps(sk,ps1) s(sk,s1) c(ck,c1)", True, True, False, False, "*"),
    "FQ4": ("* <- l(sk,l1) s(sk,s1) ps(sk,p1)", True, True, True, True, "*"),
    "FQ5": ("* <- dd(d,d1) ss(d,i,s1) item(i,i1)", True, True, False, False, "*"),
}


def expected_connex(query, text):
    if text is None:
        return None
    return query.variables if text == "*" else frozenset(text.split())


@pytest.mark.parametrize(("text", "acyclic", "free_connex", "connex"), VERDICTS.values(), ids=VERDICTS.keys())
def test_verdict_of_the_thesis_under_many_orders(gcq, text, acyclic, free_connex, connex):
    query = gcq(text)
    expected = expected_connex(query, connex)
    rank = {atom.name: place for place, atom in enumerate(query.atoms)}
    reductions = [reduce(query), reduce(query, rank), reduce(query, {name: -place for name, place in rank.items()})]
    reductions += [reduce(query, choose=random.Random(seed).choice) for seed in range(20)]
    for reduction in reductions:
        assert reduction.acyclic == acyclic
        assert reduction.free_connex == free_connex
        if expected is not None:
            assert reduction.connex == expected
            check_tree(query, join_tree(query, reduction))
    verdict = classify(query)
    assert (verdict.acyclic, verdict.free_connex) == (acyclic, free_connex)


@pytest.mark.parametrize(
    ("text", "acyclic", "free_connex", "hierarchical", "q_hierarchical", "connex"),
    EQUI_JOINS.values(),
    ids=EQUI_JOINS.keys(),
)
def test_class_of_an_equi_join(gcq, text, acyclic, free_connex, hierarchical, q_hierarchical, connex):
    query = gcq(text)
    verdict = classify(query)
    assert verdict.acyclic == acyclic
    assert verdict.free_connex == free_connex
    assert verdict.hierarchical == hierarchical
    assert verdict.q_hierarchical == q_hierarchical
    if connex is not None:
        assert verdict.connex == expected_connex(query, connex)
        check_tree(query, join_tree(query, reduce(query)))


def test_a_predicate_between_atoms_is_not_hierarchical_but_a_filter_may_be(gcq):
    assert not classify(gcq("* <- a(k,x) b(k,y) | x<y")).hierarchical
    assert classify(gcq("* <- a(k,x,z) b(k,y) | x<z")).q_hierarchical


def test_a_cyclic_query_reports_the_variables_that_stage_one_leaves(gcq):
    verdict = classify(gcq("d <- r(a,b) s(b,c) t(a,c) u(a,d) v(d,e)"))
    assert not verdict.acyclic
    assert verdict.connex == frozenset("abcd")


def test_example_10_gets_stuck_where_the_thesis_says(gcq):
    reduction = reduce(gcq(EXAMPLE_10))
    middle = reduction.after_stage_one
    assert middle.edges == {frozenset("tu"), frozenset("uwx"), frozenset("wzy")}
    assert [predicate.name for predicate in middle.predicates] == ["x<y"]
    assert middle.output == frozenset("tuzw")
    assert reduction.remaining.empty
    assert {type(step) for step in reduction.stage_one} == {Cse, Iso}


def test_stage_two_forgets_the_output_and_not_the_predicates(gcq):
    # Erratum of Algorithm 8: with the predicates emptied instead, this cyclic query would pass.
    assert not reduce(gcq("* <- a(x) b(y) c(z) | x<y, y<z, z<x")).acyclic
    # And with the output kept, this acyclic one would get stuck.
    assert reduce(gcq("* <- R(a,b) S(b,c)")).remaining.empty


def test_equal_hyperedges_are_merged_not_absorbed(gcq):
    reduction = reduce(gcq("* <- a(k) b(k) c(k)"))
    assert [type(step) for step in reduction.steps] == [Iso]
    assert [leaf.atom for leaf in reduction.roots[0].children[0].children] == ["a", "b", "c"]


def test_a_triangle_is_left_as_it_is(gcq):
    reduction = reduce(gcq("<- r(x,y) s(y,z) t(x,z) u(x,w) | x<y"))
    assert reduction.remaining.edges == {frozenset("xy"), frozenset("yz"), frozenset("xz")}
    assert reduction.remaining.predicates == ()
    with pytest.raises(ValueError, match=r"left over: \{x, y\}, \{x, z\}, \{y, z\}"):
        join_tree(reduction.query, reduction)


def test_earlier_events_are_absorbed_by_later_ones_whatever_they_are_called(gcq):
    query = gcq("* <- s1(k,x) s2(k,y) s3(k,z) | x<y, y<z")

    def absorbed(**rank):
        return [(*step.atoms, *step.into_atoms) for step in reduce(query, rank).steps if isinstance(step, Cse)]

    assert absorbed(s1=0, s2=1, s3=2) == [("s1", "s2"), ("s2", "s3")]
    assert absorbed(s3=0, s2=1, s1=2) == [("s3", "s2"), ("s2", "s1")]


def test_steps_say_what_they_did(gcq):
    reduction = reduce(gcq("k,t1,t2 <- a(k,t1,x,y) b(k,t2,z) | x<y, t1<t2"), {"a": 0, "b": 1})
    assert [step.text for step in reduction.steps] == [
        "filter a {k, t1, x, y} by x<y",
        "project a {k, t1, x, y}: nothing else needs x and y, {k, t1} is left",
        "project b {k, t2, z}: nothing else needs z, {k, t2} is left",
        "absorb a {k, t1} into b {k, t2} on k, with t1<t2",
        "project b {k, t2}: nothing else needs k and t2, nothing is left of it",
    ]
    assert isinstance(reduction.steps[0], Flt)
    assert len(reduction.stage_one) == 3


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Query((), frozenset(), ()), "at least one atom"),
        (Query((Atom("a", frozenset("x")), Atom("a", frozenset("y"))), frozenset(), ()), "two atoms are named 'a'"),
        (Query((Atom("a", frozenset("x")),), frozenset("y"), ()), "output mentions y"),
        (Query((Atom("a", frozenset("x")),), frozenset(), (Predicate("p", frozenset("xz")),)), "'p' mentions z"),
        (Query((Atom("a", frozenset("x")),), frozenset(), (Predicate("p", frozenset()),)), "mentions no variable"),
    ],
)
def test_what_is_no_query_is_refused(query, message):
    with pytest.raises(ValueError, match=message):
        reduce(query)

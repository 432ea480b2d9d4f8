"""Random queries: the reduction against brute force over all trees, and join trees against brute-force joins."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import reduce as fold
from itertools import combinations, pairwise, product

from hypothesis import given, settings
from hypothesis import strategies as st

from cep.compiler.atom_tree import atom_tree, check_atom_tree
from cep.compiler.classify import classify
from cep.compiler.decompose import bag_query, decompose
from cep.compiler.join_tree import binary, check_tree, connex_variables, join_tree, nodes, sibling_closed
from cep.compiler.reduce import reduce
from cep.ir.hypergraph import Atom, Predicate, Query, TreeNode

ALPHABET = "uvwxyz"


@st.composite
def queries(draw, max_atoms=5, max_predicates=4):
    """Queries that are cyclic and acyclic, connected and not, with twins, empty atoms and filters."""
    sets = st.frozensets(st.sampled_from(ALPHABET), max_size=3)
    atoms = tuple(
        Atom(f"r{place}", own) for place, own in enumerate(draw(st.lists(sets, min_size=1, max_size=max_atoms)))
    )
    variables = sorted(frozenset().union(*(atom.variables for atom in atoms)))
    if not variables:
        return Query(atoms, frozenset(), ())
    some = st.frozensets(st.sampled_from(variables), max_size=len(variables))
    output = draw(st.one_of(st.just(frozenset(variables)), some))
    mentioned = st.frozensets(st.sampled_from(variables), min_size=1, max_size=3)
    predicates = draw(st.lists(mentioned, max_size=max_predicates))
    return Query(atoms, output, tuple(Predicate(f"p{place}", own) for place, own in enumerate(predicates)))


ranks = st.dictionaries(st.sampled_from([f"r{place}" for place in range(5)]), st.integers(0, 4))
seeds = st.integers(0, 2**32)


# --- Acyclic: an independent definition. A query is acyclic iff some tree over its atoms is a join tree.


def all_trees(size):
    """The edges of every labelled tree, from Prüfer sequences."""
    if size == 1:
        yield []
        return
    for sequence in product(range(size), repeat=size - 2):
        degree = Counter(sequence)
        left, edges = set(range(size)), []
        for node in sequence:
            tip = min(other for other in left if not degree[other])
            edges.append((tip, node))
            left.remove(tip)
            degree[node] -= 1
        edges.append(tuple(left))
        yield edges


def is_join_tree(query, edges):
    own = [atom.variables for atom in query.atoms]
    connected = all(
        sum(variable in own[one] & own[other] for one, other in edges) == sum(variable in each for each in own) - 1
        for variable in query.variables
    )
    spans = [*own, *(own[one] | own[other] for one, other in edges)]
    return connected and all(any(p.variables <= span for span in spans) for p in query.predicates)


def acyclic_by_brute_force(query):
    return any(is_join_tree(query, edges) for edges in all_trees(len(query.atoms)))


def test_there_are_as_many_trees_as_cayley_says():
    for size in (2, 3, 4, 5):
        trees = {frozenset(map(frozenset, edges)) for edges in all_trees(size)}
        assert len(trees) == size ** (size - 2)


@settings(deadline=None, max_examples=400)
@given(query=queries())
def test_acyclic_means_that_some_tree_over_the_atoms_is_a_join_tree(query):
    assert reduce(query).acyclic == acyclic_by_brute_force(query)


@settings(deadline=None, max_examples=200)
@given(query=queries(max_atoms=4, max_predicates=0))
def test_without_predicates_free_connex_means_acyclic_with_and_without_an_atom_for_the_output(query):
    with_head = replace(query, atoms=(*query.atoms, Atom("head", query.output)))
    expected = acyclic_by_brute_force(query) and acyclic_by_brute_force(with_head)
    assert classify(query).free_connex == expected


# --- The order of steps changes trees, never verdicts.


@settings(deadline=None, max_examples=300)
@given(query=queries(), seed=seeds, rank=ranks)
def test_neither_verdict_nor_connex_depends_on_the_order(query, seed, rank):
    plain, ranked = reduce(query), reduce(query, rank)
    shuffled = reduce(query, rank, choose=random.Random(seed).choice)
    assert plain.acyclic == ranked.acyclic == shuffled.acyclic
    assert plain.connex == ranked.connex == shuffled.connex
    assert plain.remaining == ranked.remaining == shuffled.remaining
    if plain.acyclic:
        for reduction in (plain, ranked, shuffled):
            check_tree(query, join_tree(query, reduction))


@settings(deadline=None, max_examples=100)
@given(query=queries(), rank=ranks, seed=seeds)
def test_equal_inputs_give_equal_results_whatever_the_order_of_atoms(query, rank, seed):
    atoms = list(query.atoms)
    random.Random(seed).shuffle(atoms)
    shuffled = replace(query, atoms=tuple(atoms))
    assert reduce(query, rank).roots == reduce(shuffled, rank).roots
    assert reduce(query, rank).steps == reduce(shuffled, rank).steps


@settings(deadline=None, max_examples=200)
@given(query=queries())
def test_the_connex_set_contains_the_output_and_is_its_own_free_connex_extension(query):
    connex = reduce(query).connex
    assert query.output <= connex
    extended = replace(query, output=connex)
    assert reduce(extended).connex == connex
    assert reduce(extended).free_connex == reduce(query).acyclic


@settings(deadline=None, max_examples=200)
@given(query=queries(max_predicates=0))
def test_hierarchical_joins_get_simple_trees(query):
    full = replace(query, output=query.variables)
    verdict = classify(full)
    assert verdict.hierarchical == verdict.q_hierarchical
    if verdict.hierarchical:
        tree = join_tree(full, reduce(full))
        assert all(parent.label <= child.label for parent in nodes(tree) for child in parent.children)


# --- Join trees compute what the query asks for (T-reduct and ENUM, naively).


def relation(atom, randomness):
    rows = [tuple(randomness.randrange(3) for _ in atom.variables) for _ in range(randomness.randrange(6))]
    return Counter(frozenset(zip(sorted(atom.variables), row, strict=True)) for row in rows)


def holds(query, name, row):
    """An arbitrary predicate: a pseudo-random function of its name and the values it sees."""
    mentioned = next(p.variables for p in query.predicates if p.name == name)
    seen = sorted((variable, value) for variable, value in row if variable in mentioned)
    assert len(seen) == len(mentioned)
    return random.Random(repr((name, seen))).random() < 0.7


def joined(left, right):
    result = Counter()
    for (one, times), (other, more) in product(left.items(), right.items()):
        row = dict(one)
        if all(row.get(variable, value) == value for variable, value in other):
            result[one | other] += times * more
    return result


def filtered(query, rows, names):
    return Counter({row: times for row, times in rows.items() if all(holds(query, name, row) for name in names)})


def projected(rows, variables):
    result = Counter()
    for row, times in rows.items():
        result[frozenset(cell for cell in row if cell[0] in variables)] += times
    return result


UNIT = Counter({frozenset(): 1})


def answer(query, database, variables):
    """Join everything, filter, project."""
    everything = fold(joined, (database[atom.name] for atom in query.atoms), UNIT)
    return projected(filtered(query, everything, [p.name for p in query.predicates]), variables)


def t_reduct(query, database, node):
    if node.atom is not None:
        return database[node.atom]
    rows = fold(joined, (t_reduct(query, database, child) for child in node.children), UNIT)
    return projected(filtered(query, rows, [name for child in node.children for name in child.predicates]), node.label)


def enumerate_below(query, database, node, row, times):
    """Algorithm 6 from one tuple of `node`: frontier tuples below it that fit, with multiplicities."""
    inside = [child for child in node.children if child.connex]
    if not inside:
        return Counter({row: times})
    result = UNIT
    for child in inside:
        partners = filtered(query, joined(Counter({row: 1}), t_reduct(query, database, child)), child.predicates)
        below = Counter()
        for partner in partners:
            own = frozenset(cell for cell in partner if cell[0] in child.label)
            below += enumerate_below(query, database, child, own, t_reduct(query, database, child)[own])
        result = joined(result, below)
    return result


def enumerated(query, database, tree):
    result = Counter()
    for row, times in t_reduct(query, database, tree).items():
        result += enumerate_below(query, database, tree, row, times)
    return result


@settings(deadline=None, max_examples=150)
@given(query=queries(max_atoms=4), seed=seeds, rank=ranks, shuffle=st.booleans())
def test_the_join_tree_enumerates_the_query(query, seed, rank, shuffle):
    randomness = random.Random(seed)
    reduction = reduce(query, rank, choose=randomness.choice if shuffle else None)
    if not reduction.acyclic:
        return
    database = {atom.name: relation(atom, randomness) for atom in query.atoms}
    tree = join_tree(query, reduction)
    assert enumerated(query, database, tree) == answer(query, database, reduction.connex)


# --- Normal forms of pairs that the reduction itself never makes.


def with_connex(tree: TreeNode, randomness: random.Random, inside: bool = True) -> TreeNode:
    """Any connected set that contains the root."""
    children = tuple(with_connex(child, randomness, inside and randomness.random() < 0.6) for child in tree.children)
    return replace(tree, children=children, connex=inside)


@settings(deadline=None, max_examples=150)
@given(query=queries(), seed=seeds)
def test_any_pair_can_be_made_sibling_closed_and_binary(query, seed):
    randomness = random.Random(seed)
    reduction = reduce(query, choose=randomness.choice)
    if not reduction.acyclic:
        return
    wide = TreeNode(label=frozenset(), children=reduction.roots)
    pair = with_connex(wide, randomness)
    closed = sibling_closed(pair)
    assert connex_variables(closed) == connex_variables(pair)
    tree = binary(closed)
    # Its connex set is the least one for an output of exactly these variables.
    check_tree(replace(query, output=connex_variables(pair)), tree)


# --- Trees over atoms.


@settings(deadline=None, max_examples=300)
@given(query=queries(), rank=ranks, seed=seeds, shuffle=st.booleans())
def test_an_acyclic_query_has_a_join_tree_over_its_atoms_rooted_at_the_latest(query, rank, seed, shuffle):
    reduction = reduce(query, rank, choose=random.Random(seed).choice if shuffle else None)
    if not reduction.acyclic:
        return
    tree = atom_tree(query, join_tree(query, reduction), rank)
    check_atom_tree(query, tree)
    place = {atom.name: number for number, atom in enumerate(query.atoms)}
    assert is_join_tree(query, [(place[parent], place[child]) for parent, child, _ in tree.edges])
    assert rank.get(tree.root, 0) == max(rank.get(name, 0) for name in place)


@settings(deadline=None, max_examples=100)
@given(order=st.permutations(["s1", "s2", "s3", "s4", "s5"]), output=st.sampled_from(["", "k", "kt"]))
def test_a_sequence_is_a_path_whatever_its_events_are_called(order, output):
    atoms = tuple(Atom(name, frozenset(("k", f"t{name}", f"v{name}"))) for name in sorted(order))
    steps = list(pairwise(order))
    predicates = tuple(Predicate(f"{one}<{other}", frozenset((f"t{one}", f"t{other}"))) for one, other in steps)
    shown = frozenset(variable for atom in atoms for variable in atom.variables if variable[0] in output)
    query = Query(atoms, shown, predicates)
    rank = {name: number for number, name in enumerate(order)}
    tree = atom_tree(query, join_tree(query, reduce(query, rank)), rank)
    assert [(parent, child) for parent, child, _ in tree.edges] == [(other, one) for one, other in reversed(steps)]


# --- Bags.


@settings(deadline=None, max_examples=200)
@given(query=queries(max_atoms=6), seed=seeds)
def test_bags_are_sound(query, seed):
    bags = decompose(query)
    assert sorted(name for bag in bags for name in bag.atoms) == sorted(atom.name for atom in query.atoms)
    outer = bag_query(query, bags)
    assert reduce(outer).acyclic
    if reduce(query).acyclic:
        assert all(len(bag.atoms) == 1 for bag in bags)

    randomness = random.Random(seed)
    database = {atom.name: relation(atom, randomness) for atom in query.atoms}
    left_over = {predicate.name for predicate in outer.predicates}
    inner = [p for p in query.predicates if p.name not in left_over]
    held = {}
    for bag, atom in zip(bags, outer.atoms, strict=True):
        parts = tuple(part for part in query.atoms if part.name in bag.atoms)
        own = frozenset().union(*(part.variables for part in parts))
        within = Query(parts, bag.variables, tuple(p for p in inner if p.variables <= own))
        held[atom.name] = answer(within, database, bag.variables)
    assert answer(outer, held, query.output) == answer(query, database, query.output)


@settings(deadline=None, max_examples=100)
@given(edges=st.sets(st.sampled_from(list(combinations("abcde", 2))), min_size=3, max_size=6))
def test_no_partition_of_a_cyclic_graph_into_connected_bags_is_narrower(edges):
    query = Query(tuple(Atom("".join(edge), frozenset(edge)) for edge in sorted(edges)), frozenset(), ())
    reduction = reduce(query)
    if reduction.acyclic:
        return
    core = [atom for atom in query.atoms if atom.variables in reduction.remaining.edges]
    narrowest = min(
        max(map(len, groups)) for groups in partitions(core) if all(map(connected, groups)) and coarse_acyclic(groups)
    )
    # Atoms that a bag covers join it afterwards, so compare what is needed to cover the bag.
    for bag in decompose(query):
        members = [atom for atom in core if atom.name in bag.atoms]
        assert cover_size(members) <= narrowest


def partitions(items):
    if not items:
        yield []
        return
    for groups in partitions(items[1:]):
        yield [[items[0]], *groups]
        for place, group in enumerate(groups):
            yield [*groups[:place], [items[0], *group], *groups[place + 1 :]]


def connected(group):
    reached, grew = set(group[0].variables), True
    while grew:
        grew = any(atom.variables & reached and not atom.variables <= reached for atom in group)
        reached |= {v for atom in group if atom.variables & reached for v in atom.variables}
    return all(atom.variables <= reached for atom in group)


def coarse_acyclic(groups):
    atoms = tuple(
        Atom(str(place), frozenset().union(*(atom.variables for atom in group))) for place, group in enumerate(groups)
    )
    return reduce(Query(atoms, frozenset(), ())).acyclic


def cover_size(members):
    everything = frozenset().union(*(atom.variables for atom in members))
    sizes = range(len(members) + 1)
    return next(
        size
        for size in sizes
        for some in combinations(members, size)
        if frozenset().union(*(atom.variables for atom in some)) == everything
    )


PRINT_ALL = """
import random
from cep.compiler.atom_tree import atom_tree
from cep.compiler.decompose import decompose
from cep.compiler.join_tree import join_tree, nodes
from cep.compiler.reduce import reduce
from cep.ir.hypergraph import Atom, Predicate, Query

randomness = random.Random(7)
for _ in range(40):
    sets = [frozenset(randomness.sample("uvwxyz", randomness.randint(1, 3))) for _ in range(6)]
    atoms = tuple(Atom(f"r{place}", own) for place, own in enumerate(sets))
    some = sorted(frozenset().union(*sets))
    predicates = tuple(Predicate(f"p{place}", frozenset(randomness.sample(some, 2))) for place in range(2))
    query = Query(atoms, frozenset(randomness.sample(some, 2)), predicates)
    reduction = reduce(query)
    print([step.text for step in reduction.steps], [bag.atoms for bag in decompose(query)])
    if reduction.acyclic:
        tree = join_tree(query, reduction)
        print([(sorted(node.label), node.atom, node.predicates, node.connex) for node in nodes(tree)])
        print(atom_tree(query, tree))
"""


def test_results_do_not_depend_on_how_strings_are_hashed():
    outputs = set()
    for hash_seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        outputs.add(
            subprocess.run([sys.executable, "-c", PRINT_ALL], env=environment, check=True, capture_output=True).stdout
        )
    assert len(outputs) == 1
    assert b"AtomTree" in outputs.pop()

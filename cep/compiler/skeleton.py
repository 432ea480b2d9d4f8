"""Skeleton: a spanning tree over the atoms of a cyclic query.

A cyclic query has no join tree. The runtime still binds one atom after another; the skeleton says which atoms are
neighbours (the strongest connections: most shared variables, then inequalities), and everything that the tree does not
cover is looked up or checked as soon as its atoms are bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import combinations

from cep.ir.hypergraph import Query


def skeleton(query: Query, rank: Mapping[str, int]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The root (highest rank) and (parent, child) edges, parents first. Cubic in the number of atoms."""
    atoms = {atom.name: atom.variables for atom in query.atoms}
    root = max(atoms, key=lambda name: rank[name])
    bound = [root]
    edges: list[tuple[str, str]] = []

    mentioned: dict[frozenset[str], int] = {}
    for predicate in query.predicates:
        touched = [name for name, own in atoms.items() if predicate.variables & own]
        for one, other in combinations(touched, 2):
            if predicate.variables <= atoms[one] | atoms[other]:
                pair = frozenset((one, other))
                mentioned[pair] = mentioned.get(pair, 0) + 1

    @cache
    def strength(parent: str, child: str) -> tuple[int, int, int, int]:
        shared = len(atoms[parent] & atoms[child])
        return shared, mentioned.get(frozenset((parent, child)), 0), rank[child], rank[parent]

    while len(bound) < len(atoms):
        candidates = [(p, c) for p in bound for c in atoms if c not in bound]
        parent, child = max(candidates, key=lambda edge: strength(*edge))
        edges.append((parent, child))
        bound.append(child)
    return root, tuple(edges)

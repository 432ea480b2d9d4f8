"""The shape of a query: hyperedges, output, predicates. All that the extended GYO reduction looks at.

Names follow Idris's thesis: an atom is a relation occurrence with its variables, a predicate is opaque but for the
variables it mentions. Values, types and windows are not here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Atom:
    """One occurrence of a relation; `name` is unique in the query (the pattern variable)."""

    name: str
    variables: frozenset[str]


@dataclass(frozen=True, slots=True)
class Predicate:
    """An inequality or general predicate, opaque but for the variables it mentions; `name` is unique."""

    name: str
    variables: frozenset[str]


@dataclass(frozen=True, slots=True)
class Query:
    """π_output(atoms | predicates)."""

    atoms: tuple[Atom, ...]
    output: frozenset[str]
    predicates: tuple[Predicate, ...]

    @property
    def variables(self) -> frozenset[str]:
        """All variables of all atoms."""
        return frozenset().union(*(atom.variables for atom in self.atoms))


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A node of a generalized join tree. A leaf has an `atom`; `predicates` label the edge from its parent."""

    label: frozenset[str]
    atom: str | None = None
    children: tuple[TreeNode, ...] = ()
    predicates: tuple[str, ...] = ()
    connex: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the shape of a query promises. `connex` is var(N) of the connex set that extended GYO finds."""

    acyclic: bool
    free_connex: bool
    hierarchical: bool
    q_hierarchical: bool
    connex: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bag:
    """A bag of a decomposition of a cyclic query: the atoms joined in it and the variables it exposes."""

    atoms: tuple[str, ...]
    variables: frozenset[str]

"""What the shape of a query promises: acyclic, free-connex, hierarchical, q-hierarchical.

Acyclic and free-connex take predicates into account; the two others are notions of equi-joins. They are judged on the
hyperedges, and a predicate over more than one atom makes both False: an update may then touch many partners however
the hyperedges lie. Predicates within one atom are filters and change nothing.

For a cyclic query there is no connex set. `connex` is then the output with whatever stage one could not remove: the
variables that a result of the cyclic part has to carry. `free_connex` is False.
"""

from __future__ import annotations

from cep.compiler.reduce import reduce
from cep.ir.hypergraph import Query, Verdict


def classify(query: Query) -> Verdict:
    """The verdict on `query`. Cost: one reduction, and O(v^2) set comparisons for v variables.

    >>> from cep.ir.hypergraph import Atom
    >>> path = tuple(Atom(name, frozenset(name)) for name in ("ab", "bc", "cd"))
    >>> verdict = classify(Query(path, frozenset("abcd"), ()))
    >>> verdict.free_connex, verdict.hierarchical
    (True, False)
    """
    reduction = reduce(query)
    within_atoms = all(any(p.variables <= atom.variables for atom in query.atoms) for p in query.predicates)
    hierarchical = within_atoms and _hierarchical(query)
    return Verdict(
        acyclic=reduction.acyclic,
        free_connex=reduction.free_connex,
        hierarchical=hierarchical,
        q_hierarchical=hierarchical and _output_upwards_closed(query),
        connex=reduction.connex | query.output,
    )


def _atoms_of(query: Query) -> dict[str, frozenset[str]]:
    return {x: frozenset(atom.name for atom in query.atoms if x in atom.variables) for x in query.variables}


def _hierarchical(query: Query) -> bool:
    """Whether the atoms of any two variables are disjoint or one set contains the other."""
    sets = set(_atoms_of(query).values())
    return all(x <= y or y <= x or not x & y for x in sets for y in sets)


def _output_upwards_closed(query: Query) -> bool:
    """Whether a variable in strictly more atoms than an output variable's, among them all of its, is output too."""
    atoms_of = _atoms_of(query)
    return all(y in query.output for x in query.output for y in atoms_of if atoms_of[x] < atoms_of[y])

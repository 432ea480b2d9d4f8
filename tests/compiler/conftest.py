"""A notation for queries: `y,z <- r(x,y) s(y,z) | x<z, w<u`; the output `*` is all variables, an empty one none."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from cep.ir.hypergraph import Atom, Predicate, Query


def _gcq(text: str) -> Query:
    output, _, body = text.partition("<-")
    joined, _, conditions = body.partition("|")
    atoms = tuple(
        Atom(name, frozenset(re.findall(r"\w+", variables)))
        for name, variables in re.findall(r"(\w+)\(([^)]*)\)", joined)
    )
    predicates = tuple(
        Predicate(condition.strip(), frozenset(re.findall(r"[a-z]\w*", condition)))
        for condition in conditions.split(",")
        if condition.strip()
    )
    everything = frozenset().union(*(atom.variables for atom in atoms))
    return Query(atoms, everything if output.strip() == "*" else frozenset(re.findall(r"\w+", output)), predicates)


@pytest.fixture(scope="session")
def gcq() -> Callable[[str], Query]:
    return _gcq

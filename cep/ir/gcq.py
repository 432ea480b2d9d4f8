"""Generalized conjunctive queries: π_output(r1(x̄1) ⋈ … ⋈ rn(x̄n) | θ1 ∧ … ∧ θm), with values and types.

Atoms are the pattern's variables. A join variable (`GcqVariable`) is a class of expressions that equalities have
unified; an attribute that is in no equality is a class of its own. Filters sit on atoms; inequalities and general
predicates are what is left between them.
"""

from __future__ import annotations

from dataclasses import dataclass

from cep.ir.expr import Call, Col, Expr
from cep.ir.hypergraph import Query
from cep.ir.model import Pattern, Stream
from cep.ir.types import Type


@dataclass(frozen=True, slots=True, kw_only=True)
class GcqVariable:
    """A class of equal expressions, at most one per atom; named after its first attribute."""

    name: str
    type: Type
    members: tuple[tuple[str, Expr], ...]

    @property
    def joins(self) -> bool:
        """Whether it connects two or more atoms."""
        return len(self.members) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GcqAtom:
    """A pattern variable with its filter conjuncts."""

    name: str
    stream: Stream
    filters: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GCQ:
    """A pattern as a query. `inequalities` are written with `<` or `<=`, each side over one atom.

    `shape` is what the GYO reduction sees: predicate names are `theta0`, `theta1`, … in the order of
    `inequalities + predicates`. `attributes` gives the variable of every attribute.
    """

    pattern: Pattern
    atoms: tuple[GcqAtom, ...]
    variables: tuple[GcqVariable, ...]
    inequalities: tuple[Call, ...]
    predicates: tuple[Expr, ...]
    output: tuple[str, ...]
    window: int | None
    attributes: tuple[tuple[Col, str], ...]
    shape: Query

    def theta(self, name: str) -> Expr:
        """The condition behind a predicate's name."""
        return (*self.inequalities, *self.predicates)[int(name.removeprefix("theta"))]

"""GCQ: unify equalities into variables and sort the other conditions into filters, inequalities and predicates.

Unification comes before anything else: an equality left as a predicate would make queries needlessly cyclic. What
can be said of one atom alone is said there: a predicate between `a` and `b` that only uses attributes of `a` which `b`
shares becomes a filter of `b`, and a filter on a join attribute is copied to every atom that shares it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from cep.compiler.normalise import Normal, oriented
from cep.ir.expr import INEQUALITIES, Call, Col, Expr, columns, rewrite, size, variables
from cep.ir.gcq import GCQ, GcqAtom, GcqVariable
from cep.ir.hypergraph import Atom, Predicate, Query
from cep.ir.types import Type


def gcq(normal: Normal) -> GCQ:
    """The query a pattern corresponds to, its window apart."""
    pattern = normal.pattern
    names = [variable.name for variable in pattern.variables]
    classes = _Classes()
    rest: list[Expr] = []
    for expr in normal.conditions:
        if _is_join(expr):
            classes.unify(expr.args[0], expr.args[1])  # type: ignore[union-attr] # _is_join says it is a Call
        else:
            rest.append(expr)

    filters: dict[str, list[Expr]] = {name: [] for name in names}
    for expr in classes.filters():
        filters[next(iter(variables(expr)))].append(expr)
    inequalities: list[Call] = []
    predicates: list[Expr] = []
    for expr in rest:
        reduced = _onto_fewer_atoms(expr, classes, names)
        used = variables(reduced)
        if len(used) <= 1:
            filters[next(iter(used), names[0])].append(reduced)
        elif (inequality := as_inequality(reduced)) is not None:
            inequalities.append(inequality)
        else:
            predicates.append(reduced)
    _copy_filters(filters, classes, names)

    gcq_variables, name_of = _variables(normal, classes)
    inequalities = list(dict.fromkeys(inequalities))
    predicates = list(dict.fromkeys(predicates))
    if pattern.distinct:
        returned = (col for _, expr in pattern.fields for col in columns(expr))
        used_columns = dict.fromkeys(col for col in returned if col in name_of)  # what sets add up to is no attribute
        output = tuple(dict.fromkeys(name_of[col] for col in used_columns))
    else:
        output = tuple(variable.name for variable in gcq_variables)
    of_atom: dict[str, set[str]] = {name: set() for name in names}
    for variable in gcq_variables:
        for member, _ in variable.members:
            of_atom[member].add(variable.name)
    shape = Query(
        atoms=tuple(Atom(name, frozenset(of_atom[name])) for name in names),
        output=frozenset(output),
        predicates=tuple(
            Predicate(f"theta{i}", frozenset(name_of[col] for col in columns(expr)))
            for i, expr in enumerate([*inequalities, *predicates])
        ),
    )
    return GCQ(
        pattern=pattern,
        atoms=tuple(
            GcqAtom(name=v.name, stream=v.stream, filters=tuple(dict.fromkeys(filters[v.name])))
            for v in pattern.variables
        ),
        variables=gcq_variables,
        inequalities=tuple(inequalities),
        predicates=tuple(predicates),
        output=output,
        window=normal.window,
        attributes=tuple((col, name) for col, name in name_of.items() if isinstance(col, Col)),
        shape=shape,
    )


def _is_join(expr: Expr) -> bool:
    """An equality whose sides use one variable each, and not the same."""
    if not (isinstance(expr, Call) and expr.op == "="):
        return False
    left, right = map(variables, expr.args)
    return len(left) == len(right) == 1 and left != right


def as_inequality(expr: Expr) -> Call | None:
    """A comparison whose sides use one variable each, and not the same, written with `<` or `<=`; else None."""
    if not (isinstance(expr, Call) and expr.op in INEQUALITIES):
        return None
    left, right = map(variables, expr.args)
    return oriented(expr) if len(left) == len(right) == 1 and left != right else None


@dataclass(slots=True)
class _Classes:
    """Union-find over expressions; a class is a list in order of first appearance.

    All of `unify` comes before the first question: answers are remembered.
    """

    of: dict[Expr, list[Expr]] = field(default_factory=dict)
    _stands_for: dict[int, dict[str, Expr]] = field(default_factory=dict)

    def unify(self, left: Expr, right: Expr) -> None:
        a = self.of.setdefault(left, [left])
        b = self.of.setdefault(right, [right])
        if a is not b:
            a.extend(b)
            for expr in b:
                self.of[expr] = a

    def all(self) -> list[list[Expr]]:
        """Each class once."""
        return list({id(members): members for members in self.of.values()}.values())

    def representative(self, members: list[Expr], var: str) -> Expr | None:
        """The member of a class (the list itself, no copy) that stands for it on an atom: a plain attribute if any.

        Among several, the one that most atoms have under the same name: that makes partition keys. Then by name.
        """
        known = self._stands_for.get(id(members))
        if known is None:
            known = self._stands_for[id(members)] = _representatives(members)
        return known.get(var)

    def filters(self) -> Iterable[Expr]:
        """Where a class has two members on one atom, they must be equal there."""
        for members in self.all():
            by_var: dict[str, list[Expr]] = {}
            for expr in members:
                for var in sorted(variables(expr)):
                    by_var.setdefault(var, []).append(expr)
            for var in by_var:
                first = self.representative(members, var)
                assert first is not None
                for other in by_var[var]:
                    if other != first:
                        yield Call("=", (first, other), Type.BOOLEAN)

    def on(self, expr: Expr, var: str) -> Expr | None:
        """The expression with every attribute replaced by what equals it on `var`; None where nothing does."""
        equal: dict[Expr, Expr] = {}
        for col in columns(expr):
            if col.var != var:
                member = self.representative(self.of[col], var) if col in self.of else None
                if member is None:
                    return None
                equal[col] = member
        return rewrite(expr, lambda node: equal.get(node, node) if isinstance(node, Col) else node)


def _representatives(members: list[Expr]) -> dict[str, Expr]:
    same = Counter(expr.attr for expr in members if isinstance(expr, Col))
    best: dict[str, tuple[tuple[bool, int, str], Expr]] = {}
    for expr in members:
        order = (not isinstance(expr, Col), -same[expr.attr] if isinstance(expr, Col) else 0, str(expr))
        for var in variables(expr):
            if var not in best or order < best[var][0]:
                best[var] = (order, expr)
    return {var: expr for var, (_, expr) in best.items()}


MOST_COPIED = 100_000
"""Nodes of filters that are copied to other atoms, in all: a copy saves work, it is not needed."""


def _onto_fewer_atoms(expr: Expr, classes: _Classes, names: list[str]) -> Expr:
    """Say a condition of one atom alone where the equalities allow it."""
    if len(variables(expr)) < 2:
        return expr
    for name in names:
        if (swapped := classes.on(expr, name)) is not None:
            return swapped
    return expr


def _copy_filters(filters: dict[str, list[Expr]], classes: _Classes, names: list[str]) -> None:
    """A filter that only looks at join attributes holds for all atoms that share them."""
    originals = [(var, expr) for var, exprs in filters.items() for expr in exprs]
    there = {name: set(exprs) for name, exprs in filters.items()}
    room = MOST_COPIED
    for var, expr in originals:
        if not variables(expr):
            continue
        for name in names:
            copied = classes.on(expr, name) if name != var and size(expr) <= room else None
            if copied is not None and copied not in there[name] and not _says_nothing(copied):
                room -= size(copied)
                filters[name].append(copied)
                there[name].add(copied)


def _says_nothing(expr: Expr) -> bool:
    """Whether a copied filter asks that something equals itself: joins ask for non-NULL anyway."""
    return isinstance(expr, Call) and expr.op == "=" and expr.args[0] == expr.args[1]


def _variables(normal: Normal, classes: _Classes) -> tuple[tuple[GcqVariable, ...], dict[Expr, str]]:
    """All variables of the query, and the variable of each attribute."""
    result: list[GcqVariable] = []
    name_of: dict[Expr, str] = {}
    taken = {f"{variable.name}.{attr}" for variable in normal.pattern.variables for attr, _ in variable.stream.columns}
    done: set[int] = set()

    def add(members: list[Expr], type_: Type) -> None:
        name = next((str(expr) for expr in members if isinstance(expr, Col)), None)
        if name is None:
            # Only computed members: their texts can be those of attributes (a cast is not written), names must not be.
            texts = [str(expr) for expr in members]
            name = next((text for text in texts if text not in taken), " = ".join(texts))
        taken.add(name)
        by_atom = {}
        representatives = _representatives(members)
        for variable in normal.pattern.variables:
            own = representatives.get(variable.name)
            if own is not None:
                by_atom[variable.name] = own
        result.append(GcqVariable(name=name, type=type_, members=tuple(by_atom.items())))
        for expr in members:
            name_of[expr] = name

    for variable in normal.pattern.variables:
        for attr, type_ in variable.stream.columns:
            col = Col(variable.name, attr, type_)
            members = classes.of.get(col)
            if members is None:
                add([col], type_)
            elif id(members) not in done:
                done.add(id(members))
                add(sorted(members, key=lambda e: _place(e, normal)), members[0].type)
    for members in classes.all():
        if id(members) not in done:
            done.add(id(members))
            add(sorted(members, key=lambda e: _place(e, normal)), members[0].type)
    return tuple(result), name_of


def _place(expr: Expr, normal: Normal) -> tuple[int, int, str]:
    """Order of members: by pattern variable, plain attributes before computed ones."""
    order = [variable.name for variable in normal.pattern.variables]
    return order.index(next(iter(variables(expr)))), not isinstance(expr, Col), str(expr)

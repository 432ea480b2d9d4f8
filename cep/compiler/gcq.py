"""GCQ: unify equalities into variables and sort the other conditions into filters, inequalities and predicates.

Unification comes before anything else: an equality left as a predicate would make queries needlessly cyclic. What
can be said of one atom alone is said there: a predicate between `a` and `b` that only uses attributes of `a` which `b`
shares becomes a filter of `b`, and a filter on a join attribute is copied to every atom that shares it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cep.compiler.normalise import Normal, oriented
from cep.expr import INEQUALITIES, Call, Col, Expr, columns, rewrite, variables
from cep.gcq import GCQ, GcqAtom, GcqVariable
from cep.hypergraph import Atom, Predicate, Query
from cep.types import Type


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
        used_columns = dict.fromkeys(col for _, expr in pattern.fields for col in columns(expr))
        output = tuple(dict.fromkeys(name_of[col] for col in used_columns))
    else:
        output = tuple(variable.name for variable in gcq_variables)
    shape = Query(
        atoms=tuple(
            Atom(name, frozenset(v.name for v in gcq_variables if any(member == name for member, _ in v.members)))
            for name in names
        ),
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
    """Union-find over expressions; a class is a list in order of first appearance."""

    of: dict[Expr, list[Expr]] = field(default_factory=dict)

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
        """The member that stands for the class on an atom: a plain attribute where there is one.

        Among several, the one that most atoms have under the same name: that makes partition keys. Then by name.
        """

        def order(expr: Expr) -> tuple[bool, int, str]:
            same = sum(isinstance(e, Col) and isinstance(expr, Col) and e.attr == expr.attr for e in members)
            return not isinstance(expr, Col), -same, str(expr)

        return min((expr for expr in members if var in variables(expr)), key=order, default=None)

    def filters(self) -> Iterable[Expr]:
        """Where a class has two members on one atom, they must be equal there."""
        for members in self.all():
            for var in dict.fromkeys(v for expr in members for v in sorted(variables(expr))):
                first = self.representative(members, var)
                assert first is not None
                for other in members:
                    if var in variables(other) and other != first:
                        yield Call("=", (first, other), Type.BOOLEAN)

    def on(self, expr: Expr, var: str) -> Expr | None:
        """The expression with every attribute replaced by what equals it on `var`; None where nothing does."""
        missing = False

        def swap(node: Expr) -> Expr:
            nonlocal missing
            if isinstance(node, Col) and node.var != var:
                member = self.representative(self.of.get(node, []), var)
                missing = missing or member is None
                return node if member is None else member
            return node

        swapped = rewrite(expr, swap)
        return None if missing else swapped


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
    for var, expr in originals:
        if not variables(expr):
            continue
        for name in names:
            copied = classes.on(expr, name) if name != var else None
            if copied is not None and copied not in filters[name] and not _says_nothing(copied):
                filters[name].append(copied)


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
        for variable in normal.pattern.variables:
            own = classes.representative(members, variable.name)
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

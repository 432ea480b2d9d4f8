"""Random conditions between the variables of a pattern.

Joins of every kind the engine has a way for: equality of attributes and of computed values, inequalities, bands,
disjunctions, predicates over three variables, cycles; and *chains*: `<` and `<=` between event times, with and without
a margin, mixed with keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random as Rng

from cep.ir.expr import FLIPPED, INEQUALITIES, Call, Col, Const, Expr, columns
from cep.ir.model import Variable
from cep.ir.types import Type
from tests.oracle.expressions import SECOND, between, condition

BOOLEAN = Type.BOOLEAN


def compare(op: str, left: Expr, right: Expr) -> Call:
    """A comparison, with the INT side of a mixed one made DOUBLE."""
    if left.type is not right.type and {left.type, right.type} == {Type.INT, Type.DOUBLE}:
        left, right = (Call("cast", (side,), Type.DOUBLE) if side.type is Type.INT else side for side in (left, right))
    return Call(op, (left, right), BOOLEAN)


def columns_of(variable: Variable, *types: Type) -> list[Col]:
    wanted = types or tuple(Type)
    return [Col(variable.name, name, type_) for name, type_ in variable.stream.columns if type_ in wanted]


def _pair(rng: Rng, left: Variable, right: Variable, *types: Type) -> tuple[Col, Col] | None:
    """Two attributes of one type (or both numbers), one a side; the same name on both sides is more likely."""
    pairs = [
        (a, b)
        for a in columns_of(left, *types)
        for b in columns_of(right, *types)
        if a.type is b.type or (a.type.is_number and b.type.is_number)
        for _ in range(3 if a.attr == b.attr else 1)
    ]
    return rng.choice(pairs) if pairs else None


_KEYS = (Type.STRING, Type.INT, Type.DOUBLE, Type.BOOLEAN, Type.TIMESTAMP)
_JOINS = ("equal",) * 8 + ("computed",) * 3 + ("inequality",) * 5 + ("band",) * 2 + ("unequal", "or", "any")
_ORDERED = (Type.INT, Type.DOUBLE, Type.TIMESTAMP, Type.STRING)


def _moved(rng: Rng, col: Expr) -> Expr:
    """The column, or arithmetic on it."""
    choice = rng.random()
    if col.type.is_number:
        whole = col.type is Type.INT
        factor = Const(rng.choice((2, 3) if whole else (0.5, 2.0)), col.type)
        shift = Const(rng.choice((-1, 1, 2) if whole else (-0.5, 0.5, 1.0)), col.type)
        if choice < 0.3:
            return Call("+", (col, shift), col.type)
        if choice < 0.5:
            return Call("*", (col, factor), col.type)
        if choice < 0.6:
            return Call("-", (shift, col), col.type)
        if choice < 0.7:
            return Call("abs", (col,), col.type)
    if col.type is Type.TIMESTAMP and choice < 0.6:
        return Call(rng.choice("+-"), (col, Const(rng.choice((1, 2, 5)) * SECOND, Type.DURATION)), col.type)
    if col.type is Type.STRING and choice < 0.6:
        return Call(rng.choice(("lower", "upper")), (col,), col.type)
    return col


def join(rng: Rng, left: Variable, right: Variable) -> Expr | None:
    """A condition between two variables."""
    kind = rng.choice(_JOINS)
    if kind in ("equal", "unequal", "computed"):
        if (pair := _pair(rng, left, right, *_KEYS)) is None:
            return None
        sides = [_moved(rng, side) for side in pair] if kind == "computed" else list(pair)
        return compare("<>" if kind == "unequal" else "=", *sides)
    if kind == "inequality":
        if (pair := _pair(rng, left, right, *_ORDERED)) is None:
            return None
        return compare(rng.choice(INEQUALITIES), _moved(rng, pair[0]), _moved(rng, pair[1]))
    if kind == "band":
        if (pair := _pair(rng, left, right, Type.INT, Type.TIMESTAMP)) is None:
            return None
        low, high = pair[1], pair[1]
        width = Const(2, Type.INT) if low.type is Type.INT else Const(2 * SECOND, Type.DURATION)
        if rng.random() < 0.5:
            return between(pair[0], low, Call("+", (high, width), high.type))
        return between(pair[0], Call("-", (low, width), low.type), Call("+", (high, width), high.type))
    if kind == "or":
        alternatives = [join(rng, left, right), condition_on(rng, rng.choice((left, right)))]
        return Call("or", tuple(a for a in alternatives if a is not None), BOOLEAN) if alternatives[0] else None
    mixed = condition(rng, columns_of(left) + columns_of(right), 1)
    return mixed if {c.var for c in used(mixed)} == {left.name, right.name} else None


def used(expr: Expr) -> set[Col]:
    return set(columns(expr))


def condition_on(rng: Rng, variable: Variable) -> Expr:
    """A condition on one variable that mentions it."""
    for _ in range(5):
        made = condition(rng, columns_of(variable), rng.choice((0, 0, 1, 2)))
        if used(made):
            return made
    return Call("not", (Call("isnull", (columns_of(variable)[0],), BOOLEAN),), BOOLEAN)


def _three(rng: Rng, variables: Sequence[Variable]) -> Expr | None:
    """A predicate over three variables."""
    chosen = rng.sample(list(variables), 3)
    numbers = [columns_of(v, Type.INT) for v in chosen]
    if not all(numbers):
        return None
    a, b, c = (rng.choice(known) for known in numbers)
    total = Call("+", (a, b), Type.INT)
    return compare(rng.choice(("<", "<=", ">", "=", "<>")), total, c)


def _triangle(rng: Rng, variables: Sequence[Variable]) -> list[Expr]:
    """a.x = b.y, b.x = c.y, c.x = a.y: a cycle that no unification removes."""
    ring = rng.sample(list(variables), rng.randint(3, len(variables)))
    out: list[Expr] = []
    for here, there in zip(ring, [*ring[1:], ring[0]], strict=True):
        ours, theirs = columns_of(here, Type.INT), columns_of(there, Type.INT)
        if not ours or not theirs:
            return []
        out.append(compare("=", ours[0], theirs[-1]))
    return out


def _time(variable: Variable) -> Col:
    return Col(variable.name, variable.stream.time or "", Type.TIMESTAMP)


def _in_time(rng: Rng, before: Variable, after: Variable) -> Expr:
    """`before` is not later than `after`, or strictly earlier, now and then by a margin; written either way round."""
    left: Expr = _time(before)
    right: Expr = _time(after)
    if (chance := rng.random()) < 0.15:
        margin = Const(rng.choice((SECOND // 2, SECOND, SECOND, 2 * SECOND)), Type.DURATION)
        if chance < 0.06:
            left = Call("+", (left, margin), Type.TIMESTAMP)
        elif chance < 0.1:
            right = Call("-", (right, margin), Type.TIMESTAMP)
        else:  # no chain: the child may be later
            right = Call("+", (right, margin), Type.TIMESTAMP)
    op = rng.choice(("<", "<=", "<="))
    return Call(FLIPPED[op], (right, left), BOOLEAN) if rng.random() < 0.4 else Call(op, (left, right), BOOLEAN)


def chain(rng: Rng, variables: Sequence[Variable], *, any_order: bool) -> list[Expr]:
    """Comparisons of event times that link all variables: a line mostly, else a tree; then a key, an extra order."""
    line = list(variables)
    if any_order:
        rng.shuffle(line)
    straight = rng.random() < 0.85
    keyed = rng.choice((0, 0, 0, 1, 1, 0.4))  # a key along the whole chain, or here and there
    found: list[Expr | None] = []
    for i in range(1, len(line)):
        before = line[i - 1] if straight else line[rng.randrange(i)]
        found.append(_in_time(rng, before, line[i]) if rng.random() < 0.95 else None)
        if rng.random() < keyed:
            pair = (Col(before.name, "x", Type.INT), Col(line[i].name, "x", Type.INT))
            other = _pair(rng, before, line[i], Type.STRING, Type.INT, BOOLEAN) if keyed < 1 else None
            found.append(compare("=", *(other or pair)))
    if rng.random() < 0.15:
        found.append(_in_time(rng, line[0], line[-1]))
    if rng.random() < 0.1:
        found.append(join(rng, *rng.sample(line, 2)))
    found += [condition_on(rng, variable) for variable in variables if rng.random() < 0.1]
    made = [expr for expr in found if expr is not None]
    rng.shuffle(made)
    return made


def conditions(rng: Rng, variables: Sequence[Variable]) -> list[Expr]:
    linked = [i for i in range(1, len(variables)) if rng.random() < 0.85]
    found: list[Expr | None] = [join(rng, variables[rng.randrange(i)], variables[i]) for i in linked]
    if rng.random() < 0.25:
        found.append(join(rng, *rng.sample(list(variables), 2)))
    if len(variables) > 2:
        if rng.random() < 0.12:
            found += _triangle(rng, variables)
        if rng.random() < 0.15:
            found.append(_three(rng, variables))
    found += [condition_on(rng, variable) for variable in variables if rng.random() < 0.18]
    made = [expr for expr in found if expr is not None]
    rng.shuffle(made)
    return made

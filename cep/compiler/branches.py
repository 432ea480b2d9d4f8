"""Alternatives: every way to choose one item of each `OR`, each a body of its own.

`OR` is a union: a match of one branch is a match of the pattern. `B? b` is `OR(B b, NOT B b)`. Branches may bind the
same name; what a branch does not bind is NULL in its outputs.

A conjunct of `WHERE` is asked of a branch that binds at least one variable of each `OR` on its way that the conjunct
speaks of; what is then unbound is NULL. So in `OR(B b, C c)` the condition `b.x > 5` restricts the first branch only,
`COALESCE(b.x, c.x) > 5` both, and `b.x < c.x` can hold in none (CEP0414). A NOT of a branch counts as bound: what is
said of its variable says which event must not come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from cep import limits
from cep.compiler.check_body import Bindings, Kind, Known, bound_steps
from cep.compiler.check_names import STREAM_OF
from cep.compiler.shared.bounds import alternatives
from cep.compiler.shared.fold import fold
from cep.diagnostics import Diagnostics
from cep.ir import ast
from cep.ir.expr import COMPARISONS, TRUE, Call, Col, Const, Expr, columns, rewrite, variables
from cep.ir.model import Condition
from cep.ir.types import Type


@dataclass(frozen=True, slots=True)
class Branch:
    """A body without alternatives. `ors` has the variables of each `OR` that an item was chosen of."""

    body: ast.Body
    ors: tuple[frozenset[str], ...] = ()


def branches(body: ast.Body, diagnostics: Diagnostics) -> tuple[Branch, ...] | None:
    """All ways to choose; None, and CEP0506, where there are too many."""
    count = count_branches(body)
    if count <= limits.BRANCHES:
        return tuple(_expanded(body))
    diagnostics.error(
        "CEP0506",
        body.span,
        f"{count:,} ways to choose one item of each OR; {limits.BRANCHES} are the most",
        hint="split the pattern, or leave out alternatives: each way is a plan of its own (`B? b` counts for two)",
    )
    return None


def count_branches(body: ast.Body) -> int:
    """How many ways there are to choose one item of each OR. O(size)."""
    if isinstance(body, ast.Optional):
        return 2
    if isinstance(body, ast.Or):
        return sum(map(count_branches, body.items))
    return prod(map(count_branches, body.items)) if isinstance(body, (ast.Seq, ast.And)) else 1


def _expanded(body: ast.Body) -> list[Branch]:
    if isinstance(body, ast.Optional):
        step = ast.Step(stream=body.stream, var=body.var, span=body.span)
        own = (frozenset({body.var.text}),)
        return [Branch(step, own), Branch(ast.Not(item=step, span=body.span), own)]
    if isinstance(body, ast.Or):
        own = (frozenset(step.var.text for step in bound_steps(body)),)
        return [Branch(each.body, own + each.ors) for item in body.items for each in _expanded(item)]
    if isinstance(body, (ast.Seq, ast.And)):
        return [
            Branch(replace(body, items=tuple(each.body for each in chosen)), sum((each.ors for each in chosen), ()))
            for chosen in product(*map(_expanded, body.items))
        ]
    return [Branch(body)]


# --- what each branch is asked ---------------------------------------------------------------------------------------


def asked(
    conditions: Sequence[Condition],
    ways: Sequence[Branch],
    bindings: Sequence[Bindings],
    names: dict[str, Known],
    diagnostics: Diagnostics,
) -> list[list[Condition]]:
    """The conditions of each branch, over what it binds; those that it fulfils anyway are left out."""
    shares: list[list[Condition]] = [[] for _ in ways]
    for condition in conditions:
        used = variables(condition.expr)
        count, never, in_gap = 0, 0, False
        for way, bound, share in zip(ways, bindings, shares, strict=True):
            if not _is_asked(used, way, bound, names):
                continue
            expr = in_branch(condition.expr, bound)
            count += 1
            if len(ways) > 1 and expr != condition.expr:
                if expr == TRUE:
                    continue
                if not alternatives(expr):
                    never += 1
                    in_gap |= any(name in bound.steps and bound.steps[name].kind is not Kind.ONE for name in used)
            share.append(replace(condition, expr=expr))
        if never:
            unbound = not all(used.issubset(bound.steps) for bound in bindings)
            every = in_gap or never == count
            _never(condition, used if unbound else frozenset(), every=every, diagnostics=diagnostics)
    return shares


def alive(found: Sequence[Condition]) -> bool:
    """Whether no condition of a branch is a constant that is not true."""
    return not any(isinstance(condition.expr, Const) and condition.expr.value is not True for condition in found)


def _is_asked(used: frozenset[str], way: Branch, bound: Bindings, names: dict[str, Known]) -> bool:
    if any(used & variables_ and not used & variables_ & bound.steps.keys() for variables_ in way.ors):
        return False
    absent = [name for name in used if name in bound.steps and bound.steps[name].kind is Kind.ABSENT]
    # Two events that need not come, and neither does: what is said of both together says nothing of either.
    return len(absent) < 2 or not all(Kind.ONE in names[name].kinds for name in absent)


def in_branch(expr: Expr, bound: Bindings) -> Expr:
    """An expression with NULL for what a branch does not bind, and with the names of streams that it asks for."""
    if all(col.var in bound.steps and col.attr != STREAM_OF for col in columns(expr)):
        return expr

    def known(node: Expr) -> Expr:
        if isinstance(node, Col):
            step = bound.steps.get(node.var)
            if step is None:
                return Const(None, node.type)
            if node.attr == STREAM_OF:
                return Const(None if step.stream is None else step.stream.name, Type.STRING)
        if isinstance(node, Call) and node.op in _STRICT and any(_is_null(arg) for arg in node.args):
            return Const(None, node.type)
        return fold(_without_constants(node))

    return rewrite(expr, known)


def _without_constants(node: Expr) -> Expr:
    """AND and OR without operands that decide nothing; one that decides all alone is what is left."""
    if not (isinstance(node, Call) and node.op in ("and", "or")):
        return node
    decisive = Const(node.op == "or", Type.BOOLEAN)
    if decisive in node.args:
        return decisive
    left = tuple(arg for arg in node.args if not (isinstance(arg, Const) and arg.value is not None))
    return left[0] if len(left) == 1 else replace(node, args=left) if left else node


def output_in_branch(expr: Expr, bound: Bindings) -> Expr:
    """The expression of a field: an event that does not come is NULL in it."""
    absent = [name for name, step in bound.steps.items() if step.kind is Kind.ABSENT]
    present = replace(bound, steps={name: step for name, step in bound.steps.items() if name not in absent})
    return in_branch(expr, present)


_STRICT = frozenset(
    {*COMPARISONS, "+", "-", "*", "/", "%", "neg", "not", "abs", "round", "lower", "upper", "length"}
) | {
    "cast",
    "like",
}
"""Operations that are NULL where an operand is."""


def _is_null(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value is None


def _never(condition: Condition, unbound: frozenset[str], *, every: bool, diagnostics: Diagnostics) -> None:
    named = " and ".join(f"`{name}`" for name in sorted(unbound))
    hint = "ask each of its own alternative, or of both with COALESCE(b.x, c.x)" if unbound else "correct the condition"
    if every:
        message = "condition can never hold: " + (
            f"no match binds {named} together" if unbound else "in no alternative"
        )
        diagnostics.error("CEP0414", condition.span, message, hint=hint)
    else:
        where = f"where not all of {named} are bound" if unbound else "in one of the alternatives"
        message = f"condition never holds {where}: that alternative never matches"
        diagnostics.warning("CEP0414", condition.span, message, hint=hint)

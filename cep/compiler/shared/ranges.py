"""Inequalities as ranges of one variable's index."""

from __future__ import annotations

from cep.ir.expr import FLIPPED, Call, Expr, shift, split_shift, variables


def own_range(condition: Expr, var: str) -> tuple[Expr, str, Expr] | None:
    """Read an inequality as `own op bound` with `own` over `var` and without a constant shift."""
    if not (isinstance(condition, Call) and condition.op in ("<", "<=", ">", ">=")):
        return None
    left, right = condition.args
    op = condition.op
    if variables(left) != {var}:
        left, right, op = right, left, FLIPPED[op]
    if variables(left) != {var} or len(variables(right)) != 1 or variables(right) == {var}:
        return None
    own, micros = split_shift(left)
    return own, op, shift(right, -micros)

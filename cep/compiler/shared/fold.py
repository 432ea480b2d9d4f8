"""Work out operations on constants at compile time.

Only operations whose result every engine must agree on are folded (`cep.ir.expr` fixes them): integer arithmetic that
leaves 64 bits gives NULL, division by zero gives NULL, NULL goes through. Anything inexact that engines could round
differently (a duration times a fraction) is left as it is. Folding happens after type checks, so it hides no error.
"""

from __future__ import annotations

import math

from cep.ir.expr import COMPARISONS, Call, Const, Expr, Value
from cep.ir.types import Type

MIN_INT, MAX_INT = -(2**63), 2**63 - 1


def fold(expr: Expr) -> Expr:
    """The constant an operation on constants comes to, or the operation itself.

    >>> one = Const(1, Type.INT)
    >>> str(fold(Call("+", (one, one), Type.INT))), str(fold(Call("/", (one, Const(0, Type.INT)), Type.DOUBLE)))
    ('2', 'NULL')
    """
    if not isinstance(expr, Call):
        return expr
    values: list[Value] = []
    for arg in expr.args:
        if not isinstance(arg, Const):
            return expr
        values.append(arg.value)
    op = expr.op
    if op in ("and", "or"):
        return Const(_logic(op, values), Type.BOOLEAN)
    if op == "isnull":
        return Const(values[0] is None, Type.BOOLEAN)
    if op not in _FOLDABLE:
        return expr
    if None in values:
        return Const(None, expr.type)
    if op in COMPARISONS:
        return Const(_compare(op, values[0], values[1]), Type.BOOLEAN)
    if op == "not":
        return Const(not values[0], Type.BOOLEAN)
    return _arithmetic(expr, [value for value in values if isinstance(value, (int, float))])


_FOLDABLE = frozenset({*COMPARISONS, "+", "-", "*", "/", "%", "neg", "abs", "cast", "not"})


def _logic(op: str, values: list[Value]) -> bool | None:
    decisive = op == "or"
    if any(value is decisive for value in values):
        return decisive
    return None if None in values else not decisive


def _compare(op: str, left: Value, right: Value) -> bool:
    if op == "=":
        return left == right
    if op == "<>":
        return left != right
    if isinstance(left, str) and isinstance(right, str):
        below, equal = left < right, left == right
    else:
        assert isinstance(left, (int, float))
        assert isinstance(right, (int, float))
        below, equal = left < right, left == right
    return {"<": below, "<=": below or equal, ">": not below and not equal, ">=": not below}[op]


def _arithmetic(expr: Call, values: list[int | float]) -> Expr:
    op, first, second = expr.op, values[0], values[-1]
    result: int | float
    if op in ("/", "%") and second == 0:
        return Const(None, expr.type)
    try:
        if op == "+":
            result = first + second
        elif op == "-":
            result = first - second
        elif op == "*":
            result = first * second
        elif op == "/":
            result = first / second
        elif op == "%":
            result = math.fmod(first, second) if expr.type is Type.DOUBLE else abs(first) % abs(second)
            if expr.type is not Type.DOUBLE and first < 0:
                result = -result
        elif op == "neg":
            result = -first
        elif op == "abs":
            result = abs(first)
        else:
            result = float(first)
    except (OverflowError, ValueError):
        return expr
    if expr.type is Type.DOUBLE:
        result = float(result)
        return Const(None, Type.DOUBLE) if math.isnan(result) else Const(result, Type.DOUBLE)
    if isinstance(result, float):
        if not result.is_integer():
            return expr
        result = int(result)
    return Const(result if MIN_INT <= result <= MAX_INT else None, expr.type)

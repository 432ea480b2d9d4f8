"""What to say when two types do not go together: whom to blame, and what was probably meant."""

from __future__ import annotations

from cep.diagnostics import Diagnostics, Label
from cep.ir import ast
from cep.ir.expr import Const, Expr
from cep.ir.types import Type

LITERALS = (
    ast.NumberLiteral,
    ast.StringLiteral,
    ast.BooleanLiteral,
    ast.NullLiteral,
    ast.TimestampLiteral,
    ast.DurationLiteral,
)


def a_type(type_: Type) -> str:
    """The type with its article."""
    return f"{'an' if type_ is Type.INT else 'a'} {type_}"


def incomparable(left_node: ast.Expr, left: Expr, right_node: ast.Expr, right: Expr, diagnostics: Diagnostics) -> None:
    """CEP0302, or CEP0303 where a time meets a number. The literal is blamed where one side is one."""
    blamed, other = (right_node, right), (left_node, left)
    if isinstance(left_node, LITERALS) and not isinstance(right_node, LITERALS):
        blamed, other = other, blamed
    times = (Type.TIMESTAMP, Type.DURATION)
    types = (left.type, right.type)
    label = Label(other[0].span, f"this is {a_type(other[1].type)}")
    if any(type_ in times for type_ in types) and any(type_.is_number for type_ in types):
        timed, number = (left, right) if left.type in times else (right, left)
        number_node = right_node if number is right else left_node
        other_node = left_node if number is right else right_node
        diagnostics.error(
            "CEP0303",
            number_node.span,
            f"{timed.type} compared with {a_type(number.type)}",
            hint="write a duration such as " + (f"`{number} SECONDS`" if isinstance(number, Const) else "`10 SECONDS`")
            if timed.type is Type.DURATION
            else "write a timestamp such as `TIMESTAMP '2024-01-01T00:00:00Z'`, or subtract two timestamps and "
            "compare with a duration such as `10 SECONDS`",
            labels=[Label(other_node.span, f"this is {a_type(timed.type)}")],
        )
        return
    hint = None
    if set(types) == {Type.TIMESTAMP, Type.STRING}:
        hint = "write a timestamp such as `TIMESTAMP '2024-01-01T00:00:00Z'`"
    elif set(types) == {Type.TIMESTAMP, Type.DURATION}:
        hint = "subtract another timestamp first: `b.ts - a.ts < 10 SECONDS`"
    elif Type.STRING in types and isinstance(blamed[0], ast.NumberLiteral):
        hint = f"write it as text: `'{blamed[1]}'`"
    elif Type.STRING in types and isinstance(blamed[0], ast.StringLiteral):
        hint = f"the other side is {other[1].type}: write it without quotes"
    diagnostics.error(
        "CEP0302",
        blamed[0].span,
        f"{left.type} and {right.type} cannot be compared",
        hint=hint,
        labels=[label],
    )


def bad_arithmetic(op: str, node: ast.Binary, left: Expr, right: Expr, diagnostics: Diagnostics) -> None:
    """CEP0301 at the operand that does not fit: the number beside a time, else the one that is neither."""
    times = (Type.TIMESTAMP, Type.DURATION)
    if left.type in times and right.type.is_number:
        blamed, expr, other_node, other = node.right, right, node.left, left
    elif right.type in times and left.type.is_number:
        blamed, expr, other_node, other = node.left, left, node.right, right
    elif left.type.is_number or left.type in times:
        blamed, expr, other_node, other = node.right, right, node.left, left
    else:
        blamed, expr, other_node, other = node.left, left, node.right, right
    hint = None
    if expr.type.is_number and other.type in times and op in ("+", "-"):
        shown = str(expr) if isinstance(expr, Const) else "10"
        hint = f"add or subtract a duration such as `{shown} SECONDS`"
    elif Type.STRING in (left.type, right.type):
        hint = "there is no arithmetic on text"
    elif op in ("/", "%") and Type.DURATION in (left.type, right.type):
        hint = "multiply the other side by a number instead"
    elif (left.type, right.type) == (Type.TIMESTAMP, Type.TIMESTAMP):
        hint = "two timestamps can be subtracted: the result is a duration"
    diagnostics.error(
        "CEP0301",
        blamed.span,
        f"`{op}` cannot take {left.type} and {right.type}",
        hint=hint,
        labels=[Label(other_node.span, f"this is {a_type(other.type)}")],
    )

"""Types of expressions: from what was written to `cep.ir.expr`, with every mistake reported where it stands.

`ExprChecker.expr` gives a typed expression, or None after it has reported why there is none. None is silent from then
on: an operation on it is None without a word, so that one unknown name makes one finding. All operands are looked at
before that, so one run finds every mistake.

What the tree has that `cep.ir.expr` has not is written out: `BETWEEN`, `NOT IN`, `NOT LIKE`, `IS NOT NULL`, `CASE x
WHEN`. An INT that meets a DOUBLE gets a `cast`; so do both sides of `/`, which always gives DOUBLE. Duration comes
second in `TIMESTAMP + DURATION` and first in `DURATION * number`, whatever was written. A bare NULL takes the type of
what it meets.
"""

from __future__ import annotations

import math

from cep.compiler.check_aggregate import AggregateChecker
from cep.compiler.check_names import NameChecker, Where
from cep.compiler.resolve import duration_micros
from cep.compiler.shared.fold import MAX_INT, MIN_INT, fold
from cep.compiler.shared.functions import AGGREGATES, EVERY_FUNCTION, FUNCTIONS, Function
from cep.compiler.shared.mismatch import LITERALS, a_type, bad_arithmetic, incomparable
from cep.diagnostics import Diagnostics, Label, did_you_mean
from cep.ir import ast
from cep.ir.expr import INEQUALITIES, Call, Const, Expr
from cep.ir.types import Type, common_type
from cep.syntax import habits

_LONGEST_CHAIN = 200


class ExprChecker:
    """Checks the expressions of one pattern; `aggregates` are those that were found in them, by variable and name."""

    def __init__(self, names: NameChecker, diagnostics: Diagnostics) -> None:
        self._names = names
        self._diagnostics = diagnostics
        self._aggregates = AggregateChecker(names, self.expr, diagnostics)
        self.aggregates = self._aggregates.found

    # --- entry points ----------------------------------------------------------------------------------------------

    def condition(self, node: ast.Expr) -> Expr | None:
        """A boolean expression; CEP0306 where it is something else."""
        expr = self.expr(node)
        if expr is None or expr.type is Type.BOOLEAN:
            return expr
        if expr.type is Type.NULL:
            return Const(None, Type.BOOLEAN)
        self._diagnostics.error(
            "CEP0306",
            node.span,
            f"condition is {a_type(expr.type)}, not BOOLEAN",
            hint="compare it with something" if not isinstance(node, LITERALS) else "a condition compares two values",
        )
        return None

    def output(self, node: ast.Expr) -> Expr | None:
        """The expression of an output field: what it says of a gap, it says of all its events together."""
        with self._names.within(Where.RETURN):
            return self.expr(node)

    def expr(self, node: ast.Expr) -> Expr | None:
        """The typed expression; None where something in it is wrong. O(size)."""
        if isinstance(node, ast.NumberLiteral):
            return self._number(node, node.value)
        if isinstance(node, ast.StringLiteral):
            return Const(node.value, Type.STRING)
        if isinstance(node, ast.BooleanLiteral):
            return Const(node.value, Type.BOOLEAN)
        if isinstance(node, ast.NullLiteral):
            return Const(None, Type.NULL)
        if isinstance(node, ast.TimestampLiteral):
            return Const(node.micros, Type.TIMESTAMP)
        if isinstance(node, ast.DurationLiteral):
            micros = duration_micros(node, self._diagnostics)
            return None if micros is None else Const(micros, Type.DURATION)
        if isinstance(node, ast.Attribute):
            return self._names.attribute(node)
        if isinstance(node, ast.Unary):
            return self._unary(node)
        if isinstance(node, ast.Binary):
            return self._binary(node)
        return self._other(node)

    def _other(self, node: ast.Expr) -> Expr | None:
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Bare):
            self._names.no_value(node)
            return None
        if isinstance(node, ast.InList):
            return self._in_list(node)
        if isinstance(node, ast.Between):
            return self._between(node)
        if isinstance(node, ast.Like):
            return self._like(node)
        if isinstance(node, ast.IsNull):
            operand = self.expr(node.operand)
            if operand is None:
                return None
            test = fold(Call("isnull", (operand,), Type.BOOLEAN))
            return _not(test) if node.negated else test
        assert isinstance(node, ast.Case), f"no rule for {type(node).__name__}"
        return self._case(node)

    # --- names and literals ----------------------------------------------------------------------------------------

    def _number(self, node: ast.NumberLiteral, value: float) -> Expr | None:
        if isinstance(value, int) and MIN_INT <= value <= MAX_INT:
            return Const(value, Type.INT)
        if isinstance(value, float) and math.isfinite(value):
            return Const(value, Type.DOUBLE)
        self._diagnostics.error(
            "CEP0104", node.span, "number out of range", hint="INT holds 64 bits, DOUBLE up to about 1.8e308"
        )
        return None

    # --- operators -------------------------------------------------------------------------------------------------

    def _unary(self, node: ast.Unary) -> Expr | None:
        if node.op.upper() == "NOT":
            operand = self.condition(node.operand)
            return None if operand is None else _not(operand)
        if isinstance(node.operand, ast.NumberLiteral):
            # The smallest INT has no positive counterpart, so the sign belongs to the literal.
            return self._number(node.operand, -node.operand.value)
        operand = self.expr(node.operand)
        if operand is None:
            return None
        if operand.type.is_number or operand.type in (Type.DURATION, Type.NULL):
            return fold(Call("neg", (operand,), operand.type))
        self._wrong_type(node.operand, operand, "`-` needs a number or a duration")
        return None

    def _binary(self, node: ast.Binary) -> Expr | None:
        op = node.op.upper()
        if op in ("AND", "OR"):
            return self._logic(node, op)
        if self._too_long(node):
            return None
        self._aggregates.compared(op, node)
        left, right = self.expr(node.left), self.expr(node.right)
        if left is None or right is None:
            return None
        if op in ("=", "<>", *INEQUALITIES):
            return self.comparison(op, node.left, left, node.right, right)
        return self._arithmetic(op, node, left, right)

    def _too_long(self, node: ast.Binary) -> bool:
        """Report a chain like `a + b + c + ...` that is deeper than later passes can follow."""
        length, inner = 0, node
        while isinstance(inner.left, ast.Binary) and length <= _LONGEST_CHAIN:
            inner = inner.left
            length += 1
        if length > _LONGEST_CHAIN:
            self._diagnostics.error(
                "CEP0107", node.span, f"more than {_LONGEST_CHAIN} operators in a row", hint="split the expression"
            )
        return length > _LONGEST_CHAIN

    def _logic(self, node: ast.Binary, op: str) -> Expr | None:
        # A chain of ANDs or ORs leans to the left and can be thousands long: walk it, do not recurse into it.
        operands: list[ast.Expr] = [node.right]
        inner: ast.Expr = node.left
        while isinstance(inner, ast.Binary) and inner.op.upper() == op:
            operands.append(inner.right)
            inner = inner.left
        operands.append(inner)
        checked = [self.condition(operand) for operand in reversed(operands)]
        parts = [part for part in checked if part is not None]
        if len(parts) < len(checked):
            return None
        return fold(Call(op.lower(), tuple(parts), Type.BOOLEAN))

    def comparison(self, op: str, left_node: ast.Expr, left: Expr, right_node: ast.Expr, right: Expr) -> Expr | None:
        """`left op right` on one type; None, and a finding, where there is none."""
        for node, expr, other in ((left_node, left, right_node), (right_node, right, left_node)):
            if expr.type is Type.NULL:
                # `a.x = NULL`: which test was meant depends on the operator.
                test = "IS NOT NULL" if op == "<>" else "IS NULL"
                self._diagnostics.error(
                    "CEP0308",
                    node.span,
                    "comparison with NULL is never true",
                    hint=f"write `{test}`",
                    labels=[] if isinstance(other, ast.NullLiteral) else [Label(other.span, "compared with this")],
                )
                return None
        type_ = common_type(left.type, right.type)
        if type_ is None:
            incomparable(left_node, left, right_node, right, self._diagnostics)
            return None
        if type_ is Type.BOOLEAN and op in INEQUALITIES:
            self._wrong_type(left_node, left, f"BOOLEAN values have no order: `{op}` cannot compare them")
            return None
        return fold(Call(op, (converted(left, type_), converted(right, type_)), Type.BOOLEAN))

    def _arithmetic(self, op: str, node: ast.Binary, left: Expr, right: Expr) -> Expr | None:
        if left.type is Type.NULL:
            left = Const(None, right.type)
        if right.type is Type.NULL:
            right = Const(None, Type.DURATION if left.type is Type.TIMESTAMP else left.type)
        pair = (left.type, right.type)
        if all(type_.is_number for type_ in pair):
            type_ = Type.DOUBLE if op == "/" or Type.DOUBLE in pair else Type.INT
            return fold(Call(op, (converted(left, type_), converted(right, type_)), type_))
        if pair == (Type.NULL, Type.NULL):
            return left
        rule = _TIME_ARITHMETIC.get((op, *pair))
        if rule is not None:
            type_, swap = rule
            return fold(Call(op, (right, left) if swap else (left, right), type_))
        bad_arithmetic(op, node, left, right, self._diagnostics)
        return None

    # --- predicates with their own syntax ---------------------------------------------------------------------------

    def _in_list(self, node: ast.InList) -> Expr | None:
        operand = self.expr(node.operand)
        items = [self.expr(item) for item in node.items]
        if operand is None:
            return None
        type_, good = operand.type, True
        for item_node, item in zip(node.items, items, strict=True):
            if item is None or self.comparison("=", node.operand, operand, item_node, item) is None:
                good = False
                continue
            type_ = common_type(type_, item.type) or type_
        if not good:
            return None
        args = (operand, *(item for item in items if item is not None))
        test = fold(Call("in", tuple(converted(arg, type_) for arg in args), Type.BOOLEAN))
        return _not(test) if node.negated else test

    def _between(self, node: ast.Between) -> Expr | None:
        operand, low, high = self.expr(node.operand), self.expr(node.low), self.expr(node.high)
        if operand is None:
            return None
        ops = ("<", ">") if node.negated else (">=", "<=")
        ends = [
            None if end is None else self.comparison(op, node.operand, operand, end_node, end)
            for op, end_node, end in ((ops[0], node.low, low), (ops[1], node.high, high))
        ]
        if ends[0] is None or ends[1] is None:
            return None
        return fold(Call("or" if node.negated else "and", (ends[0], ends[1]), Type.BOOLEAN))

    def _like(self, node: ast.Like) -> Expr | None:
        operand, pattern = self.expr(node.operand), self.expr(node.pattern)
        good = operand is not None and pattern is not None
        if operand is not None and operand.type is not Type.STRING:
            self._wrong_type(node.operand, operand, "LIKE needs text")
            good = False
        if pattern is not None and not (isinstance(pattern, Const) and isinstance(pattern.value, str)):
            self._diagnostics.error(
                "CEP0301",
                node.pattern.span,
                "the pattern of LIKE is not a text literal",
                hint="write it in quotes, e.g. `LIKE 'abc%'`",
            )
            good = False
        if not good or operand is None or pattern is None:
            return None
        test = Call("like", (operand, pattern), Type.BOOLEAN)
        return _not(test) if node.negated else test

    def _case(self, node: ast.Case) -> Expr | None:
        operand = self.expr(node.operand) if node.operand is not None else None
        good = node.operand is None or operand is not None
        conditions: list[Expr | None] = []
        results: list[tuple[ast.Expr, Expr | None]] = []
        for when in node.whens:
            if node.operand is None:
                conditions.append(self.condition(when.condition))
            else:
                value = self.expr(when.condition)
                both = operand is not None and value is not None
                conditions.append(
                    self.comparison("=", node.operand, operand, when.condition, value)
                    if both and operand is not None and value is not None
                    else None
                )
            results.append((when.result, self.expr(when.result)))
        if node.otherwise is not None:
            results.append((node.otherwise, self.expr(node.otherwise)))
        type_, merged = self._merge(results, "branches of CASE")
        if not good or not merged or None in conditions:
            return None
        args: list[Expr] = []
        values = [result for _, result in results if result is not None]
        for condition, value in zip(conditions, values, strict=False):
            assert condition is not None
            args += [condition, converted(value, type_)]
        args.append(converted(values[-1], type_) if node.otherwise is not None else Const(None, type_))
        return fold(Call("case", tuple(args), type_))

    def _merge(self, operands: list[tuple[ast.Expr, Expr | None]], what: str) -> tuple[Type, bool]:
        """The common type of operands; False where one is unknown or does not fit (reported)."""
        type_, good = Type.NULL, True
        first: ast.Expr | None = None
        for node, expr in operands:
            if expr is None:
                good = False
                continue
            common = common_type(type_, expr.type)
            if common is None:
                assert first is not None
                self._diagnostics.error(
                    "CEP0301",
                    node.span,
                    f"{what} are {type_} and {expr.type}",
                    hint=f"make all of them {type_}",
                    labels=[Label(first.span, f"this is {a_type(type_)}")],
                )
                good = False
                continue
            if type_ is Type.NULL and common is not Type.NULL:
                first = node
            type_ = common
        return type_, good

    # --- functions ---------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Expr | None:
        name = node.func.text.upper()
        if name in AGGREGATES:
            return self._aggregates.aggregate(node)
        if name == "PREV":
            return self._aggregates.prev(node)
        if name == "STREAM_OF":
            return self._names.stream_of(node)
        args = [self.expr(arg) for arg in node.args]
        function = FUNCTIONS.get(name)
        if function is None:
            self._diagnostics.error(
                "CEP0204",
                node.func.span,
                f"unknown function `{node.func.text}`",
                hint=habits.FUNCTIONS.get(name) or did_you_mean(name, EVERY_FUNCTION),
                notes=["the functions are " + ", ".join(EVERY_FUNCTION)],
            )
            return None
        if node.distinct:
            self._diagnostics.error(
                "CEP0305", node.span, f"`{name}` takes no DISTINCT", hint="only COUNT does: `COUNT(DISTINCT b.x)`"
            )
            return None
        if node.star or not function.takes(len(args)):
            self._diagnostics.error(
                "CEP0304",
                node.span,
                f"`{name}` takes {function.arity_text}, not {'*' if node.star else len(args)}",
                hint=f"write `{function.usage}`",
            )
            return None
        return self._apply(function, node, args)

    def _apply(self, function: Function, node: ast.Call, args: list[Expr | None]) -> Expr | None:
        good = True
        for arg_node, arg in zip(node.args, args, strict=True):
            if arg is None:
                good = False
            elif arg.type is not Type.NULL and arg.type not in function.accepts:
                self._wrong_type(arg_node, arg, f"`{function.name}` needs {function.accepts_text}")
                good = False
        if not good:
            return None
        type_, merged = self._merge(list(zip(node.args, args, strict=True)), f"arguments of `{function.name}`")
        if not merged:
            return None
        if type_ is Type.NULL and len(function.accepts) == 1:
            (type_,) = function.accepts
        typed = tuple(converted(arg, type_) for arg in args if arg is not None)
        if function.name == "ROUND" and type_ is Type.INT:
            return typed[0]
        return fold(Call(function.name.lower(), typed, function.result or type_))

    def _wrong_type(self, node: ast.Expr, expr: Expr, message: str) -> None:
        self._diagnostics.error("CEP0301", node.span, f"{message}; this is {a_type(expr.type)}")


_TIME_ARITHMETIC: dict[tuple[str, Type, Type], tuple[Type, bool]] = {
    ("-", Type.TIMESTAMP, Type.TIMESTAMP): (Type.DURATION, False),
    ("+", Type.TIMESTAMP, Type.DURATION): (Type.TIMESTAMP, False),
    ("+", Type.DURATION, Type.TIMESTAMP): (Type.TIMESTAMP, True),
    ("-", Type.TIMESTAMP, Type.DURATION): (Type.TIMESTAMP, False),
    ("+", Type.DURATION, Type.DURATION): (Type.DURATION, False),
    ("-", Type.DURATION, Type.DURATION): (Type.DURATION, False),
    ("*", Type.DURATION, Type.INT): (Type.DURATION, False),
    ("*", Type.DURATION, Type.DOUBLE): (Type.DURATION, False),
    ("*", Type.INT, Type.DURATION): (Type.DURATION, True),
    ("*", Type.DOUBLE, Type.DURATION): (Type.DURATION, True),
}
"""Result type, and whether the operands change places."""


def converted(expr: Expr, type_: Type) -> Expr:
    """`expr` as `type_`: a NULL takes it, an INT is cast to DOUBLE, anything else has it already."""
    if expr.type is type_:
        return expr
    if expr.type is Type.NULL:
        return Const(None, type_)
    if (expr.type, type_) == (Type.INT, Type.DOUBLE):
        return fold(Call("cast", (expr,), Type.DOUBLE))
    return expr


def _not(expr: Expr) -> Expr:
    return fold(Call("not", (expr,), Type.BOOLEAN))

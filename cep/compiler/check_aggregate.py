"""Values of a set as a whole: `COUNT(b)`, `SUM(b.x)`, `FIRST(b.ts)`, and `PREV(b.x)` inside of a run.

An aggregate is of one set and of nothing else: `SUM(b.x * 2)`, not `SUM(b.x * a.y)`. In a typed expression it is a
column of the variable, called by its canonical text. What was used is kept in `found`: the plan computes no others.
"""

from __future__ import annotations

from collections.abc import Callable

from cep.compiler.check_body import Kind, Known
from cep.compiler.check_names import NameChecker, Where
from cep.compiler.shared.functions import AGGREGATES, OF_ONE_MATCH, Function
from cep.compiler.shared.mismatch import a_type
from cep.diagnostics import Diagnostics
from cep.ir import ast
from cep.ir.expr import FLIPPED, Col, Expr, rewrite, variables
from cep.ir.model import Aggregate
from cep.ir.types import Type
from cep.syntax.unparse import unparse_name

Found = dict[tuple[str, str], Aggregate]
"""Aggregates by variable and name."""

_SETS = frozenset({Kind.SET, Kind.RUN})


class _Own(Col):
    """An attribute that is written without its variable."""

    __slots__ = ()

    def __str__(self) -> str:
        return unparse_name(self.attr)


def aggregate_of(op: str, arg: Expr | None, distinct: bool = False) -> Aggregate:
    """An aggregate with its name and type.

    >>> aggregate_of("SUM", Col("b", "x", Type.INT)).name
    'SUM(x)'
    """
    name = "*" if arg is None else str(rewrite(arg, lambda e: _Own(e.var, e.attr, e.type) if isinstance(e, Col) else e))
    type_ = AGGREGATES[op].result or (Type.NULL if arg is None else arg.type)
    return Aggregate(
        name=f"{op}({'DISTINCT ' if distinct else ''}{name})", op=op, arg=arg, distinct=distinct, type=type_
    )


class AggregateChecker:
    """Checks the aggregates of one pattern; `expr` checks what stands inside of them."""

    def __init__(self, names: NameChecker, expr: Callable[[ast.Expr], Expr | None], diagnostics: Diagnostics) -> None:
        self._names = names
        self._expr = expr
        self._diagnostics = diagnostics
        self._wanted: dict[int, str] = {}
        self.found: Found = {}

    def compared(self, op: str, node: ast.Binary) -> None:
        """Remember what a count is compared with: `COUNT(f) >= 5` of a single event asks for `Login{5,} f`."""
        for side, other, sign in ((node.left, node.right, op), (node.right, node.left, FLIPPED.get(op, op))):
            if isinstance(side, ast.Call) and isinstance(other, ast.NumberLiteral) and isinstance(other.value, int):
                n = other.value
                quantifier = {">=": f"{{{n},}}", ">": f"{{{n + 1},}}", "=": f"{{{n}}}", "<=": f"{{0,{n}}}"}
                quantifier["<"] = f"{{0,{n - 1}}}"
                if sign in quantifier and n > 0:
                    self._wanted[id(side)] = quantifier[sign]

    def aggregate(self, node: ast.Call) -> Expr | None:
        """The column that stands for an aggregate; None after it has been reported why there is none."""
        function = AGGREGATES[node.func.text.upper()]
        if self._names.where is Where.AGGREGATE:
            return self._refuse(
                node, f"`{function.name}` stands inside of an aggregate", "aggregate attributes of the set"
            )
        if node.star:
            sets = [variable.name for variable in self._names.variables.values() if variable.kinds & _SETS]
            hint = f"write `COUNT({sets[0]})`" if sets else "count the events of a set: `Login{5,} f`, `COUNT(f)`"
            return self._refuse(node, f"`{function.name}(*)` does not say which events", hint)
        if len(node.args) != 1:
            return self._several(node, function)
        if node.distinct and function.name != "COUNT":
            return self._refuse(node, f"`{function.name}` takes no DISTINCT", f"write `{function.usage}`")
        (arg,) = node.args
        if isinstance(arg, ast.Bare):
            return self._of_events(node, function, arg)
        with self._names.within(Where.AGGREGATE):
            expr = self._expr(arg)
        return None if expr is None else self._of_values(node, function, arg, expr)

    def _of_events(self, node: ast.Call, function: Function, arg: ast.Bare) -> Expr | None:
        variable = self._names.variable(arg.name)
        if variable is None or not variable.streams:
            return None
        if not self._is_set(node, function, variable):
            return None
        if function.name != "COUNT" or node.distinct:
            usage = f"{function.name}({'DISTINCT ' if node.distinct else ''}{variable.name}.x)"
            return self._refuse(node, f"`{function.name}` is of an attribute", f"name one: `{usage}`")
        return self._column(variable.name, aggregate_of("COUNT", None))

    def _of_values(self, node: ast.Call, function: Function, arg: ast.Expr, expr: Expr) -> Expr | None:
        used = sorted(variables(expr))
        if not used:
            return self._refuse(node, f"`{function.name}` of no set", f"write `{function.usage}`")
        others = [name for name in used if not self._names.variables[name].kinds & _SETS]
        if len(used) > 1 and len(others) < len(used):
            named = ", ".join(f"`{name}`" for name in used)
            return self._refuse(node, f"`{function.name}` of several variables: {named}", "aggregate values of one set")
        if not self._is_set(node, function, self._names.variables[used[0]]):
            return None
        if expr.type not in function.accepts:
            self._diagnostics.error(
                "CEP0301", arg.span, f"`{function.name}` needs {function.accepts_text}; this is {a_type(expr.type)}"
            )
            return None
        return self._column(used[0], aggregate_of(function.name, expr, node.distinct))

    def _is_set(self, node: ast.Call, function: Function, variable: Known) -> bool:
        """CEP0305 where a variable has no set of events, with what to write instead."""
        name, stream = variable.name, variable.streams[0].name
        if variable.kinds & _SETS:
            return True
        if variable.kinds == {Kind.ABSENT}:
            if self._names.where is Where.RETURN:
                self._names.absent(node, variable)
            else:
                self._refuse(
                    node, f"`{name}` is an event that does not come: there is nothing to aggregate", "leave it out"
                )
            return False
        quantifier = self._wanted.get(id(node), "{2,}") if function.name == "COUNT" else "+"
        self._refuse(
            node,
            f"`{function.name}` is of a set of events, and `{name}` is one event",
            f"for a set write `{stream}{quantifier} {name}` in the body: it stands for all events that fit",
        )
        return False

    def _several(self, node: ast.Call, function: Function) -> Expr | None:
        instead = OF_ONE_MATCH.get(function.name)
        if instead is not None and len(node.args) > 1:
            return self._refuse(
                node, f"`{function.name}` is of a set of events", f"for several values use `{instead}(x, y)`"
            )
        self._diagnostics.error(
            "CEP0304",
            node.span,
            f"`{function.name}` takes {function.arity_text}, not {len(node.args)}",
            hint=f"write `{function.usage}`",
        )
        return None

    def _refuse(self, node: ast.Call, message: str, hint: str) -> Expr | None:
        self._diagnostics.error("CEP0305", node.func.span, message, hint=hint)
        return None

    def _column(self, name: str, aggregate: Aggregate) -> Col:
        self.found[name, aggregate.name] = aggregate
        return Col(name, aggregate.name, aggregate.type)

    # --- runs --------------------------------------------------------------------------------------------------------

    def prev(self, node: ast.Call) -> Expr | None:
        """`PREV(b.x)`: the attribute of the event before, in a run; CEP0413 anywhere else."""
        arg = node.args[0] if len(node.args) == 1 and not node.distinct else None
        if not isinstance(arg, ast.Attribute):
            return self._no_prev(node, "`PREV` takes an attribute of a run", "write `PREV(b.x)`")
        with self._names.within(Where.AGGREGATE):
            col = self._names.attribute(arg)
        if col is None:
            return None
        variable = self._names.variables[col.var]
        if variable.kinds != {Kind.RUN}:
            stream = variable.streams[0].name
            return self._no_prev(
                node,
                f"`PREV` needs a run, and `{col.var}` is none",
                f"write `RUN({stream}{{2,}} {col.var})` in the body: its events follow each other without a break",
            )
        if self._names.where is not Where.WHERE:
            return self._no_prev(
                node, "`PREV` compares neighbours: it stands in WHERE, outside of aggregates", f"write `FIRST({col})`"
            )
        return Col(col.var, f"PREV({col.attr})", col.type)

    def _no_prev(self, node: ast.Call, message: str, hint: str) -> Expr | None:
        self._diagnostics.error("CEP0413", node.span, message, hint=hint)
        return None

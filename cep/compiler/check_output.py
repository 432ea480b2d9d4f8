"""The output of a pattern: the fields of `RETURN`, or everything where there is none."""

from __future__ import annotations

from cep.compiler.check_aggregate import Found, aggregate_of
from cep.compiler.check_body import Kind, Known
from cep.compiler.check_expr import ExprChecker
from cep.diagnostics import Diagnostics, Label
from cep.ir import ast
from cep.ir.expr import Col, Expr
from cep.ir.types import Type
from cep.source import Span

Fields = list[tuple[str, Expr]]


def check_output(
    returns: ast.Return | None, variables: dict[str, Known], checker: ExprChecker, diagnostics: Diagnostics
) -> tuple[Fields, bool]:
    """The fields in order, and whether all of them are right."""
    if returns is None:
        return [field for variable in variables.values() for field in _everything(variable, checker.aggregates)], True
    output = _Output(checker, diagnostics)
    return [field for item in returns.items for field in output.item(item)], output.good


def _everything(variable: Known, aggregates: Found) -> Fields:
    """All attributes of an event; of a set how many events it has, the first and the last."""
    name, streams = variable.name, variable.streams
    if not streams or variable.kinds == {Kind.ABSENT}:
        return []
    if Kind.ONE in variable.kinds:
        return [(f"{name}.{attr}", Col(name, attr, type_)) for attr, type_ in variable.columns]
    shown = {"count": aggregate_of("COUNT", None)}
    if len(times := {stream.time for stream in streams}) == 1 and (time := times.pop()) is not None:
        ends = {"first_ts": "FIRST", "last_ts": "LAST"}
        shown |= {field: aggregate_of(op, Col(name, time, Type.TIMESTAMP)) for field, op in ends.items()}
    aggregates.update({(name, each.name): each for each in shown.values()})
    return [(f"{name}.{field}", Col(name, each.name, each.type)) for field, each in shown.items()]


class _Output:
    def __init__(self, checker: ExprChecker, diagnostics: Diagnostics) -> None:
        self._checker = checker
        self._diagnostics = diagnostics
        self._first: dict[str, Span] = {}
        self.good = True

    def _error(self, code: str, span: Span, message: str, hint: str, labels: tuple[Label, ...] = ()) -> None:
        self.good = False
        self._diagnostics.error(code, span, message, hint=hint, labels=labels)

    def item(self, item: ast.ReturnItem) -> Fields:
        expr = self._checker.output(item.expr)
        name = self._name(item)
        if expr is None:
            self.good = False
        elif expr.type is Type.NULL:
            self._error(
                "CEP0301",
                item.expr.span,
                "an output field cannot be NULL alone",
                "NULL has no type of its own: leave the field out",
            )
        if name is None:
            return []
        span = item.alias.span if item.alias is not None else item.expr.span
        if name in self._first:
            self._error(
                "CEP0209",
                span,
                f"output field `{name}` is named twice",
                "give one of them another name with AS",
                labels=(Label(self._first[name], "first named here"),),
            )
        self._first.setdefault(name, span)
        return [] if expr is None else [(name, expr)]

    def _name(self, item: ast.ReturnItem) -> str | None:
        if item.alias is not None:
            name = item.alias.text
            if name.startswith("_"):
                self._error(
                    "CEP0210",
                    item.alias.span,
                    f"output field name `{name}` is reserved",
                    f"names that start with `_` belong to the engine: call it `{name.lstrip('_') or 'value'}`",
                )
            return name
        if isinstance(item.expr, ast.Attribute):
            return f"{item.expr.var.text}.{item.expr.attr.text}"
        self._error("CEP0214", item.expr.span, "output field needs a name", "add `AS name`")
        return None

"""What names mean in the expressions of a pattern: variables, their attributes, and where each may stand.

A variable that binds one event has its attributes everywhere. One of a gap has them in `WHERE`, where they say which
events lie in the gap; in `RETURN` it has values of all its events together (`cep.compiler.check_aggregate`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from cep.compiler.check_body import Kind, Known
from cep.compiler.resolve import Scope
from cep.diagnostics import Diagnostics, did_you_mean
from cep.ir import ast
from cep.ir.expr import Col
from cep.ir.types import Type
from cep.syntax import habits

STREAM_OF = "STREAM_OF()"
"""The attribute that stands for the name of a variable's stream until its branch is known."""

_VALUE_OF_A_GAP = re.compile(r"(COUNT|SUM|AVG|MIN|MAX|FIRST|LAST|PREV)\(.*\)", re.DOTALL)


class Where(Enum):
    """Where an expression stands."""

    WHERE = "WHERE"
    RETURN = "RETURN"
    AGGREGATE = "an aggregate"


class NameChecker:
    """Looks up the names of one pattern. `variables` maps each variable to what it stands for."""

    def __init__(self, variables: dict[str, Known], scope: Scope, diagnostics: Diagnostics) -> None:
        self.variables = variables
        self.where = Where.WHERE
        self._scope = scope
        self._diagnostics = diagnostics

    @contextmanager
    def within(self, where: Where) -> Iterator[None]:
        """Judge what is inside by where it stands."""
        outside, self.where = self.where, where
        try:
            yield
        finally:
            self.where = outside

    def attribute(self, node: ast.Attribute) -> Col | None:
        """`var.attr`; None after it has been reported why there is none."""
        name, attr = node.var.text, node.attr.text
        if name not in self.variables:
            self._unknown_variable(node.var)
            return None
        variable = self.variables[name]
        if not variable.streams or any((stream.name, attr) in self._scope.untyped for stream in variable.streams):
            return None
        type_ = variable.type_of(attr)
        if type_ is None:
            self._unknown_attribute(node, variable)
            return None
        if attr == STREAM_OF or (variable.is_gap and _VALUE_OF_A_GAP.fullmatch(attr)):
            self._diagnostics.error(
                "CEP0210",
                node.attr.span,
                f"an attribute called `{attr}` cannot be used here",
                hint="the name stands for a value of a variable: give the attribute another one",
            )
            return None
        if self.where is Where.RETURN and not self.returnable(node, variable):
            return None
        return Col(name, attr, type_)

    def stream_of(self, node: ast.Call) -> Col | None:
        """`STREAM_OF(x)`: the name of the stream of a variable."""
        (arg, *more) = node.args or (None,)
        if not isinstance(arg, ast.Bare) or more:
            self._diagnostics.error(
                "CEP0304",
                node.span,
                "`STREAM_OF` takes a variable",
                hint="write `STREAM_OF(x)`: the name of its stream",
            )
            return None
        variable = self.variable(arg.name)
        if variable is None or not variable.streams:
            return None
        if self.where is Where.RETURN and variable.kinds == {Kind.ABSENT}:
            self.absent(node, variable)
            return None
        return Col(variable.name, STREAM_OF, Type.STRING)

    def variable(self, name: ast.Name) -> Known | None:
        """What a variable stands for; None, and a finding, where there is none of this name."""
        if name.text not in self.variables:
            self._unknown_variable(name)
            return None
        return self.variables[name.text]

    def no_value(self, node: ast.Bare) -> None:
        """Report a name that stands alone: neither an event nor an attribute without its variable is a value."""
        name = node.name.text
        variable = self.variables.get(name)
        if variable is None:
            self._unknown_variable(node.name)
            return
        if not variable.streams:
            return
        known = [column for column, _ in variable.columns]
        if variable.kinds & {Kind.SET, Kind.RUN}:
            what, hint = "a set of events", f"write `COUNT({name})`, or an aggregate of its attributes: `SUM({name}.x)`"
        else:
            what = "an event"
            hint = f"write one of its attributes, e.g. `{name}.{known[0]}`" if known else f"`{name}` has no attributes"
        self._diagnostics.error("CEP0301", node.span, f"`{name}` is {what}, not a value", hint=hint)

    def returnable(self, node: ast.Attribute, variable: Known) -> bool:
        """Whether an output can show an attribute; CEP0215 of an event that is not there, CEP0309 of many."""
        name, attr = node.var.text, node.attr.text
        if variable.kinds == {Kind.ABSENT}:
            self.absent(node, variable)
            return False
        if variable.kinds & {Kind.SET, Kind.RUN}:
            self._diagnostics.error(
                "CEP0309",
                node.span,
                f"`{name}` is a set of events: which `{attr}`?",
                hint=f"write `FIRST({name}.{attr})`, `MAX({name}.{attr})` or another aggregate",
            )
            return False
        return True

    def absent(self, node: ast.Expr, variable: Known) -> None:
        """CEP0215."""
        self._diagnostics.error(
            "CEP0215",
            node.span,
            f"`{variable.name}` is an event that does not come: there is nothing of it to show",
            hint="leave the field out, or name the event that it would have followed",
        )

    # --- unknown names -----------------------------------------------------------------------------------------------

    def _unknown_attribute(self, node: ast.Attribute, variable: Known) -> None:
        attr, streams = node.attr.text, variable.streams
        known = [column for column, _ in variable.columns]
        elsewhere = [other.name for other in self.variables.values() if other.streams and other.type_of(attr)]
        on = " and ".join(f"`{stream.name}`" for stream in streams)
        several = len(streams) > 1 and all(stream.type_of(attr) for stream in streams)
        self._diagnostics.error(
            "CEP0203",
            node.attr.span,
            f"`{attr}` has not one type on the streams {on} of `{variable.name}`"
            if several
            else f"unknown attribute `{attr}` on stream{'s' if len(streams) > 1 else ''} {on}",
            hint=habits.member(variable.name, attr, streams[0].name, is_set=bool(variable.kinds & {Kind.SET, Kind.RUN}))
            or did_you_mean(attr, known)
            or (f"`{attr}` is an attribute of " + ", ".join(f"`{var}`" for var in elsewhere) if elsewhere else None),
            notes=[
                f"{stream.name} has " + ", ".join(column for column, _ in stream.columns)
                if stream.columns
                else f"{stream.name} has no attributes"
                for stream in streams
            ],
        )

    def _unknown_variable(self, name: ast.Name) -> None:
        bound = [v.name for v in self.variables.values() if name.text in [stream.name for stream in v.streams]]
        having = [v.name for v in self.variables.values() if v.streams and v.type_of(name.text)]
        hint = did_you_mean(name.text, self.variables)
        if bound:
            hint = f"`{name.text}` is a stream: use its variable " + " or ".join(f"`{var}`" for var in bound)
        elif having:
            hint = f"an attribute is written with its variable, e.g. `{having[0]}.{name.text}`"
        elif name.span.end - name.span.start > len(name.text):
            hint = f"text stands in single quotes: '{name.text}'"
        self._diagnostics.error(
            "CEP0202",
            name.span,
            f"unknown variable `{name.text}`",
            hint=hint,
            notes=["the variables are " + ", ".join(self.variables)] if self.variables else [],
        )

"""Check patterns: names, types, clauses. The result is `cep.model.Pattern`, with nothing left to doubt.

Every problem of every pattern is reported in one run; what follows from a problem that was reported is not. A pattern
with an error is not returned, and neither is one that stands on something broken (a stream whose attribute has no known
type). A statement with a syntax error in it is left alone: half a pattern would only earn findings that vanish with it.

The window: a pattern may leave out `WITHIN` and `UNBOUNDED` where its conditions and its order bound the distance of
any two of its events (`cep.compiler.bounds`); the bound is then its window.
"""

from __future__ import annotations

from itertools import pairwise, product

from cep.compiler.bounds import Bound, alternatives, largest_gap
from cep.compiler.check_expr import ExprChecker, converted
from cep.compiler.load import Unit
from cep.compiler.resolve import HIDING, Scope, duration_micros
from cep.compiler.tree import nodes
from cep.diagnostics import Diagnostics, Label, Severity, did_you_mean
from cep.expr import Call, Col, Expr, conjuncts
from cep.model import Condition, Pattern, Variable
from cep.source import Span
from cep.syntax import ast
from cep.types import Type, common_type


def check(unit: Unit, scope: Scope, diagnostics: Diagnostics) -> tuple[Pattern, ...]:
    """The patterns of the unit's main file that have no error, in order."""
    broken = [item.span for item in diagnostics if item.code in HIDING]
    misread = [item.span for item in diagnostics if item.code in ("CEP0104", "CEP0105", "CEP0106")]
    found: dict[str, Pattern] = {}
    seen: set[str] = set()
    for statement in unit.file.statements:
        if not isinstance(statement, ast.PatternDecl):
            continue
        name = statement.name.text
        repeated = name in seen
        seen.add(name)
        if any(_within(span, statement.span) for span in broken):
            continue
        pattern = _PatternChecker(statement, scope, diagnostics).check()
        # A literal that could not be read has some value in the tree: good enough for types, not for a model.
        if pattern is not None and not repeated and not any(_within(span, statement.span) for span in misread):
            found[name] = pattern
    return tuple(found.values())


def _within(inner: Span, outer: Span) -> bool:
    return inner.file == outer.file and outer.start <= inner.start < max(outer.end, outer.start + 1)


class _PatternChecker:
    """Checks one pattern; `_good` turns false with the first thing that cannot be part of a model."""

    def __init__(self, decl: ast.PatternDecl, scope: Scope, diagnostics: Diagnostics) -> None:
        self._decl = decl
        self._scope = scope
        self._diagnostics = diagnostics
        self._variables: dict[str, Variable | None] = {}
        self._steps: dict[str, ast.Step | ast.Repeat] = {}
        self._order: list[tuple[str, str]] = []
        self._failed: list[ast.Expr] = []
        self._good = True

    def check(self) -> Pattern | None:
        errors = self._errors()
        decl = self._decl
        self._body(decl.body)
        checker = ExprChecker(self._variables, self._scope, self._diagnostics)
        conditions = self._where(checker)
        partition, equalities = self._partition()
        conditions += equalities
        window = self._window(conditions)
        self._event_times()
        fields = self._fields(checker)
        if not self._good or self._errors() > errors:
            return None
        return Pattern(
            name=decl.name.text,
            variables=tuple(variable for variable in self._variables.values() if variable is not None),
            order=tuple(self._order),
            conditions=tuple(conditions),
            partition_by=partition,
            window=window,
            distinct=decl.returns is not None and decl.returns.distinct,
            fields=tuple(fields),
            span=decl.span,
        )

    def _errors(self) -> int:
        return sum(item.severity is Severity.ERROR for item in self._diagnostics)

    def _error(
        self, code: str, span: Span, message: str, hint: str | None = None, notes: tuple[str, ...] = (),
        labels: tuple[Label, ...] = (),
    ) -> None:  # fmt: skip
        self._good = False
        self._diagnostics.error(code, span, message, hint=hint, notes=notes, labels=labels)

    # --- body --------------------------------------------------------------------------------------------------------

    def _body(self, body: ast.Body) -> list[str]:
        """Bind the variables below `body`, collect the order, and give the variables' names."""
        if isinstance(body, ast.Step):
            return self._bind(body)
        if isinstance(body, ast.Repeat):
            self._error(
                "CEP0903",
                body.span,
                "repetition is not supported yet",
                "write the events out, one variable each: " + _written_out(body),
            )
            return self._bind(body)
        if isinstance(body, ast.Not):
            self._error(
                "CEP0902",
                body.span,
                "NOT is not supported yet",
                "match what does happen, and look for what is absent where the matches are consumed",
            )
            return self._body(body.item)
        assert isinstance(body, (ast.Seq, ast.And, ast.Or)), f"no rule for {type(body).__name__}"
        if isinstance(body, ast.Or):
            self._error("CEP0901", body.span, "OR is not supported yet", "write one pattern for each alternative")
        items = [self._body(item) for item in body.items]
        if isinstance(body, ast.Seq):
            for earlier, later in pairwise(items):
                self._order += product(earlier, later)
        return [name for item in items for name in item]

    def _bind(self, step: ast.Step | ast.Repeat) -> list[str]:
        name, stream = step.var.text, self._scope.streams.get(step.stream.text)
        if stream is None:
            self._good = False
            if self._scope.complete:
                self._unknown_stream(step.stream)
        if name in self._variables:
            self._error(
                "CEP0208",
                step.var.span,
                f"variable `{name}` is bound twice",
                "give each event a variable of its own",
                labels=(Label(self._steps[name].var.span, "first bound here"),),
            )
            return []
        self._steps[name] = step
        self._variables[name] = None if stream is None else Variable(name=name, stream=stream, span=step.var.span)
        return [name]

    def _unknown_stream(self, name: ast.Name) -> None:
        known = list(self._scope.streams)
        self._error(
            "CEP0201",
            name.span,
            f"unknown stream `{name.text}`",
            did_you_mean(name.text, known)
            or ("declare it with `STREAM`, or `IMPORT` the file that does" if not known else None),
            notes=("the streams are " + ", ".join(known),) if known else (),
        )

    def _event_times(self) -> None:
        """Every stream that order or a window speaks of needs an event time."""
        ordered = {name for pair in self._order for name in pair}
        windowed = isinstance(self._decl.window, ast.Within)
        for name, variable in self._variables.items():
            if variable is None or variable.stream.time is not None:
                continue
            if not windowed and name not in ordered:
                continue
            stream = variable.stream
            self._good = False
            if stream.name in self._scope.timeless:
                continue
            clause = "SEQ" if name in ordered else "WITHIN"
            candidates = [attr for attr, type_ in stream.columns if type_ is Type.TIMESTAMP]
            declared = self._scope.declared[stream.name]
            self._error(
                "CEP0402",
                self._steps[name].stream.span,
                f"{clause} needs an event time, and stream `{stream.name}` has none",
                f"add `TIMESTAMP BY {candidates[0]}` to the stream"
                if candidates
                else "give the stream a TIMESTAMP attribute and `TIMESTAMP BY`, or use AND(...) with UNBOUNDED",
                labels=(Label(declared.name.span, "declared here"),),
            )

    # --- clauses -----------------------------------------------------------------------------------------------------

    def _where(self, checker: ExprChecker) -> list[Condition]:
        conditions: list[Condition] = []
        for node in _ast_conjuncts(self._decl.where):
            expr = checker.condition(node)
            if expr is None:
                self._good = False
                self._failed.append(node)
                continue
            conditions += [Condition(expr=part, span=node.span) for part in conjuncts(expr)]
        return conditions

    def _partition(self) -> tuple[tuple[str, ...], list[Condition]]:
        names: list[str] = []
        equalities: list[Condition] = []
        bound = [variable for variable in self._variables.values() if variable is not None]
        for attr in self._decl.partition_by:
            if attr.text in names:
                continue
            names.append(attr.text)
            columns = self._partition_columns(attr, bound)
            for left, right in pairwise(columns):
                type_ = common_type(left.type, right.type)
                if type_ is None:
                    self._error(
                        "CEP0302",
                        attr.span,
                        f"`{left}` is {left.type} and `{right}` is {right.type}: they cannot be compared",
                        "use an equality in WHERE between attributes of one type",
                    )
                    break
                sides = (converted(left, type_), converted(right, type_))
                equalities.append(Condition(expr=Call("=", sides, Type.BOOLEAN), span=attr.span))
        return tuple(names), equalities

    def _partition_columns(self, attr: ast.Name, bound: list[Variable]) -> list[Col]:
        columns: list[Col] = []
        missing: dict[str, list[str]] = {}
        for variable in bound:
            stream = variable.stream
            type_ = stream.type_of(attr.text)
            if type_ is not None:
                columns.append(Col(variable.name, attr.text, type_))
            elif (stream.name, attr.text) in self._scope.untyped:
                self._good = False
            else:
                missing[stream.name] = [name for name, _ in stream.columns]
        if missing:
            streams = {variable.stream.name: variable.stream for variable in bound}
            shared = set.intersection(*({name for name, _ in stream.columns} for stream in streams.values()))
            on = " and ".join(f"`{name}`" for name in missing)
            self._error(
                "CEP0203",
                attr.span,
                f"unknown attribute `{attr.text}` on stream{'s' if len(missing) > 1 else ''} {on}",
                did_you_mean(attr.text, sorted(shared))
                or "PARTITION BY needs an attribute that every stream of the pattern has; "
                "join differently named ones with `=` in WHERE",
                notes=tuple(f"{name} has " + ", ".join(known) for name, known in missing.items()),
            )
        return columns

    def _window(self, conditions: list[Condition]) -> int | None:
        window = self._decl.window
        if isinstance(window, ast.Unbounded):
            return None
        if isinstance(window, ast.Within):
            micros = duration_micros(window.duration, self._diagnostics)
            if micros is None:
                self._good = False
            elif micros <= 0:
                self._error(
                    "CEP0406", window.duration.span, "window is not positive", "write a duration such as `1 HOUR`"
                )
            return micros
        implied = self._implied_window(conditions)
        if implied is None and not any(self._compares_times(node) for node in self._failed):
            self._error(
                "CEP0401",
                self._decl.name.span,
                f"pattern `{self._decl.name.text}` has neither WITHIN nor UNBOUNDED",
                "add `WITHIN 1 HOUR` (or another duration), or `UNBOUNDED` if its state may grow for ever",
            )
        return implied

    def _compares_times(self, node: ast.Expr) -> bool:
        """Whether a conjunct that could not be typed may have been meant as a window."""
        compared = {
            part.var.text
            for part in nodes(node)
            if isinstance(part, ast.Attribute)
            and (variable := self._variables.get(part.var.text)) is not None
            and variable.stream.time == part.attr.text
        }
        return len(compared) > 1

    def _implied_window(self, conditions: list[Condition]) -> int | None:
        times: dict[str, Col] = {}
        for name, variable in self._variables.items():
            if variable is None or variable.stream.time is None:
                return None
            times[name] = Col(name, variable.stream.time, Type.TIMESTAMP)
        if len(times) < 2:
            return None
        bounds = [Bound(times[earlier], times[later], -1) for earlier, later in self._order]
        for condition in conditions:
            ways = alternatives(condition.expr)
            if len(ways) == 1:
                bounds += ways[0]
        gap = largest_gap(bounds, list(times.values()))
        return None if gap is None else max(gap, 1)  # events of one moment still need a window that is one

    # --- output ------------------------------------------------------------------------------------------------------

    def _fields(self, checker: ExprChecker) -> list[tuple[str, Expr]]:
        returns = self._decl.returns
        if returns is None:
            return [
                (f"{variable.name}.{attr}", Col(variable.name, attr, type_))
                for variable in self._variables.values()
                if variable is not None
                for attr, type_ in variable.stream.columns
            ]
        fields: list[tuple[str, Expr]] = []
        first: dict[str, Span] = {}
        for item in returns.items:
            expr = checker.expr(item.expr)
            name = self._field_name(item)
            if expr is None:
                self._good = False
            elif expr.type is Type.NULL:
                self._error(
                    "CEP0301",
                    item.expr.span,
                    "an output field cannot be NULL alone",
                    "NULL has no type of its own: leave the field out",
                )
            if name is None:
                continue
            span = item.alias.span if item.alias is not None else item.expr.span
            if name in first:
                self._error(
                    "CEP0209",
                    span,
                    f"output field `{name}` is named twice",
                    "give one of them another name with AS",
                    labels=(Label(first[name], "first named here"),),
                )
            first.setdefault(name, span)
            if expr is not None:
                fields.append((name, expr))
        return fields

    def _field_name(self, item: ast.ReturnItem) -> str | None:
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


def _ast_conjuncts(node: ast.Expr | None) -> list[ast.Expr]:
    """The operands of the outermost ANDs, left to right; no recursion, a chain can be long."""
    found: list[ast.Expr] = []
    pending = [node] if node is not None else []
    while pending:
        top = pending.pop()
        if isinstance(top, ast.Binary) and top.op.upper() == "AND":
            pending += [top.right, top.left]
        else:
            found.append(top)
    return found


def _written_out(repeat: ast.Repeat) -> str:
    count = max(2, min(repeat.most or repeat.least, 3))
    return "`SEQ(" + ", ".join(f"{repeat.stream.text} {repeat.var.text}{i + 1}" for i in range(count)) + ")`"

"""Check patterns: names, types, clauses. The result is `cep.ir.model.Pattern`, with nothing left to doubt.

Every problem of every pattern is reported in one run; what follows from a problem that was reported is not. A pattern
with an error is not returned, and neither is one that stands on something broken (a stream whose attribute has no known
type). A statement with a syntax error in it is left alone: half a pattern would only earn findings that vanish with it.

The parts: the ways to match (`branches`), the body and its variables (`check_body`), types of expressions
(`check_expr`), who each condition speaks of (`share_out`), times and windows (`check_window`), fields (`check_output`).
"""

from __future__ import annotations

from dataclasses import replace

from cep import limits
from cep.compiler.branches import alive, asked, branches, count_branches, output_in_branch
from cep.compiler.check_aggregate import Found
from cep.compiler.check_body import Bindings, Kind, Known, bound_steps, check_body, known, written_body
from cep.compiler.check_expr import ExprChecker
from cep.compiler.check_names import NameChecker
from cep.compiler.check_output import Fields, check_output
from cep.compiler.check_window import check_event_times, check_trailing, implied_window, written_window
from cep.compiler.load import Unit
from cep.compiler.resolve import HIDING, Scope
from cep.compiler.share_out import Shares, share_keys, share_out, share_runs
from cep.compiler.shared.tree import nodes
from cep.diagnostics import Diagnostics, Label, did_you_mean
from cep.ir import ast
from cep.ir.body import Body
from cep.ir.expr import Expr, columns, conjuncts, size
from cep.ir.model import Condition, GapVariable, Pattern, Stream, Variable
from cep.source import Span


def check(unit: Unit, scope: Scope, diagnostics: Diagnostics) -> tuple[Pattern, ...]:
    """The patterns of the unit's main file that have no error, in order."""
    broken = [item.span for item in diagnostics if item.code in HIDING]
    misread = [item.span for item in diagnostics if item.code in ("CEP0104", "CEP0105", "CEP0106")]
    found: dict[str, Pattern] = {}
    seen: set[str] = set()
    sizes = _Sizes()
    for statement in unit.file.statements:
        if not isinstance(statement, ast.PatternDecl):
            continue
        name = statement.name.text
        repeated = name in seen
        seen.add(name)
        if any(_within(span, statement.span) for span in broken):
            continue
        if sizes.too_large(statement, scope, diagnostics):
            continue
        pattern = _PatternChecker(statement, scope, diagnostics).check()
        # A literal that could not be read has some value in the tree: good enough for types, not for a model.
        if pattern is not None and not repeated and not any(_within(span, statement.span) for span in misread):
            found[name] = pattern
    return tuple(found.values())


def _within(inner: Span, outer: Span) -> bool:
    return inner.file == outer.file and outer.start <= inner.start <= outer.end


class _Sizes:
    """Whether patterns are larger than the compiler takes on, each alone and those of a file together."""

    def __init__(self) -> None:
        self._cubes = 0
        self._attributes = 0

    def too_large(self, decl: ast.PatternDecl, scope: Scope, diagnostics: Diagnostics) -> bool:
        """Report a pattern that is (CEP0430)."""
        streams = [step.stream.text for step in bound_steps(decl.body)]
        attributes = sum(len(scope.streams[name].columns) for name in streams if name in scope.streams)
        events = len(streams) + _between(decl.body, len(set(streams)))
        self._cubes += events**3 * min(count_branches(decl.body), limits.BRANCHES)
        self._attributes += attributes
        hint = "split it into several patterns"
        if events > limits.VARIABLES:
            counted = "" if events == len(streams) else ", counting those that may not lie between the events of a NEXT"
            what = f"has {events:,} events{counted}; {limits.VARIABLES} are the most"
        elif attributes > limits.ATTRIBUTES:
            what = f"has events with {attributes:,} attributes together; {limits.ATTRIBUTES:,} are the most"
            hint = "leave attributes that no pattern uses out of the streams"
        elif self._cubes > limits.FILE_VARIABLES or self._attributes > limits.FILE_ATTRIBUTES:
            what = "is one too many for one file"
            hint = "put some of the patterns into a file of their own"
        else:
            return False
        diagnostics.error("CEP0430", decl.name.span, f"pattern `{decl.name.text}` {what}", hint=hint)
        return True


def _between(body: ast.Body, streams: int) -> int:
    """How many events are asked not to lie between the events of `NEXT`s."""
    found = [node for node in nodes(body) if isinstance(node, ast.Selected) and node.op == "NEXT"]
    return sum(len(node.items) - 1 for node in found) * streams


class _PatternChecker:
    """Checks one pattern; `_good` turns false with the first thing that cannot be part of a model."""

    def __init__(self, decl: ast.PatternDecl, scope: Scope, diagnostics: Diagnostics) -> None:
        self._decl = decl
        self._scope = scope
        self._diagnostics = diagnostics
        self._failed: list[ast.Expr] = []
        self._good = True

    def check(self) -> Pattern | None:
        decl, errors = self._decl, self._diagnostics.errors
        ways = branches(decl.body, self._diagnostics)
        if ways is None:
            return None
        bindings = [check_body(way.body, decl.body, self._scope, self._diagnostics) for way in ways]
        names = known(bindings)
        self._good = all(binding.good for binding in bindings) and self._one_kind(bindings, names)
        checker = ExprChecker(NameChecker(names, self._scope, self._diagnostics), self._diagnostics)
        conditions = self._where(checker)
        keys = self._keys(names)
        fields, good = check_output(decl.returns, names, checker, self._diagnostics)
        self._good &= good
        if self._too_large(conditions, fields, len(ways)):
            return None
        shares = asked(conditions, ways, bindings, names, self._diagnostics)
        patterns = [
            self._pattern(binding, share, keys, fields, checker.aggregates, alternative=len(ways) > 1)
            for binding, share in zip(bindings, shares, strict=True)
        ]
        if not self._good or self._diagnostics.errors > errors:
            return None
        made = [pattern for pattern in patterns if pattern is not None]
        found = [pattern for pattern in made if alive(pattern.conditions)] or made
        if len(found) == 1:
            return found[0]
        return together(found, written_body(decl.body, self._scope), conditions, fields)

    def _one_kind(self, bindings: list[Bindings], names: dict[str, Known]) -> bool:
        """CEP0208 where alternatives bind one name to different kinds of things; not to come is one of them."""
        good = True
        for name, variable in names.items():
            if len(variable.kinds) == 1 or variable.kinds == {Kind.ONE, Kind.ABSENT}:
                continue
            good = False
            first, *others = (binding.steps[name] for binding in bindings if name in binding.steps)
            other = next(step for step in others if step.kind is not first.kind)
            self._diagnostics.error(
                "CEP0208",
                other.var,
                f"variable `{name}` stands for {other.kind.value} here and for {first.kind.value} elsewhere",
                hint="give each a variable of its own",
                labels=[Label(first.var, "the other")],
            )
        return good

    def _pattern(
        self,
        bindings: Bindings,
        conditions: list[Condition],
        keys: list[tuple[str, Span]],
        fields: Fields,
        aggregates: Found,
        *,
        alternative: bool,
    ) -> Pattern | None:
        """The pattern of one branch, an alternative to others or the only one; None where it would be none."""
        decl = self._decl
        fields = [(name, output_in_branch(expr, bindings)) for name, expr in fields]
        shares = share_out(conditions, bindings.steps, aggregates, self._diagnostics)
        if not keys:
            share_runs(bindings.steps, shares, self._diagnostics)
        share_keys(keys, bindings, shares, self._diagnostics, alternative=alternative)
        if (count := sum(1 for _ in shares.all())) > limits.CONDITIONS:
            self._size_error(f"{count:,} conditions; {limits.CONDITIONS:,} are the most")
            return None
        self._good &= check_event_times(decl, bindings, self._scope, self._diagnostics)
        self._good &= shares.good
        variables, gaps = _variables(bindings, shares, [expr for _, expr in fields], aggregates)
        window = self._window(bindings, variables, shares.single)
        if not self._good:
            return None
        pattern = Pattern(
            name=decl.name.text,
            variables=variables,
            body=bindings.body,
            conditions=tuple(shares.single),
            partition_by=tuple(name for name, _ in keys),
            window=window,
            distinct=decl.returns is not None and decl.returns.distinct,
            fields=tuple(fields),
            span=decl.span,
            gaps=gaps,
            having=tuple(shares.having),
        )
        self._good &= check_trailing(pattern, self._diagnostics)
        return pattern

    def _too_large(self, conditions: list[Condition], fields: Fields, ways: int) -> bool:
        """CEP0430, before anything walks through the expressions: shared parts make them larger than they look."""
        nodes_ = sum(size(condition.expr) for condition in conditions) + sum(size(expr) for _, expr in fields)
        if len(conditions) > limits.CONDITIONS:
            self._size_error(f"{len(conditions):,} conditions; {limits.CONDITIONS:,} are the most")
        elif nodes_ * ways > limits.NODES:
            each = f" in {ways} alternatives" if ways > 1 else ""
            self._size_error(f"more than {limits.NODES:,} operands and operators, written out{each}")
        else:
            return False
        return True

    def _size_error(self, what: str) -> None:
        self._error("CEP0430", self._decl.name.span, f"pattern `{self._decl.name.text}` has {what}", "split it")

    def _error(self, code: str, span: Span, message: str, hint: str | None = None, notes: tuple[str, ...] = ()) -> None:
        self._good = False
        self._diagnostics.error(code, span, message, hint=hint, notes=notes)

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

    def _keys(self, names: dict[str, Known]) -> list[tuple[str, Span]]:
        """The attributes of PARTITION BY, each once; CEP0203 where a stream does not have one."""
        keys: dict[str, Span] = {}
        for attr in self._decl.partition_by:
            if attr.text not in keys:
                keys[attr.text] = attr.span
                self._key(attr, names)
        return list(keys.items())

    def _key(self, attr: ast.Name, names: dict[str, Known]) -> None:
        streams = {stream.name: stream for variable in names.values() for stream in variable.streams}
        missing: dict[str, Stream] = {}
        for name, stream in streams.items():
            if (name, attr.text) in self._scope.untyped:
                self._good = False
            elif stream.type_of(attr.text) is None:
                missing[name] = stream
        if not missing:
            return
        shared = set.intersection(*({name for name, _ in stream.columns} for stream in streams.values()))
        on = " and ".join(f"`{name}`" for name in missing)
        self._error(
            "CEP0203",
            attr.span,
            f"unknown attribute `{attr.text}` on stream{'s' if len(missing) > 1 else ''} {on}",
            did_you_mean(attr.text, sorted(shared))
            or "PARTITION BY needs an attribute that every stream of the pattern has; "
            "join differently named ones with `=` in WHERE",
            notes=tuple(f"{name} has " + ", ".join(n for n, _ in stream.columns) for name, stream in missing.items()),
        )

    def _window(self, bindings: Bindings, variables: tuple[Variable, ...], conditions: list[Condition]) -> int | None:
        """What is written, what the conditions say, or none; CEP0401 where there has to be one."""
        window, good = written_window(self._decl, self._diagnostics)
        self._good &= good
        if self._decl.window is not None:
            return window
        if len(bindings.steps) == 1 and variables:
            return None  # a match is one event: nothing is kept
        if len(variables) == sum(step.kind is Kind.ONE for step in bindings.steps.values()):
            window = implied_window(bindings.body, variables, conditions)
        if window is None and not any(self._compares_times(node, bindings) for node in self._failed):
            self._error(
                "CEP0401",
                self._decl.name.span,
                f"pattern `{self._decl.name.text}` has neither WITHIN nor UNBOUNDED",
                "add `WITHIN 1 HOUR` (or another duration), or `UNBOUNDED` if its state may grow for ever",
            )
        return window

    def _compares_times(self, node: ast.Expr, bindings: Bindings) -> bool:
        """Whether a conjunct that could not be typed may have been meant as a window."""
        compared = {
            part.var.text
            for part in nodes(node)
            if isinstance(part, ast.Attribute)
            and (step := bindings.steps.get(part.var.text)) is not None
            and step.stream is not None
            and step.stream.time == part.attr.text
        }
        return len(compared) > 1


def _variables(
    bindings: Bindings, shares: Shares, outputs: list[Expr], aggregates: Found
) -> tuple[tuple[Variable, ...], tuple[GapVariable, ...]]:
    """The single events, and the gaps with what is said of them."""
    exprs = [*(condition.expr for condition in shares.all()), *outputs]
    mentioned = {(col.var, col.attr) for expr in exprs for col in columns(expr)}
    variables: list[Variable] = []
    gaps: list[GapVariable] = []
    for name, step in bindings.steps.items():
        if step.stream is None:
            continue
        if step.kind is Kind.ONE:
            variables.append(Variable(name=name, stream=step.stream, span=step.var))
            continue
        gap = GapVariable(
            name=name,
            stream=step.stream,
            span=step.var,
            conditions=tuple(shares.gaps.get(name, ())),
            pairs=tuple(shares.pairs.get(name, ())),
            aggregates=tuple(aggregates[key] for key in sorted(aggregates) if key[0] == name and key in mentioned),
        )
        gaps.append(gap)
    return tuple(variables), tuple(gaps)


def together(found: list[Pattern], body: Body, conditions: list[Condition], fields: Fields) -> Pattern:
    """The pattern that branches make, as it was written; only the branches are to run."""
    variables = {(each.name, each.stream.name): each for pattern in found for each in pattern.variables}
    gaps = {(each.name, each.stream.name): each for pattern in found for each in pattern.gaps}
    windows = [pattern.window for pattern in found]
    return replace(
        found[0],
        variables=tuple(variables.values()),
        body=body,
        conditions=tuple(conditions),
        window=None if None in windows else max(window for window in windows if window is not None),
        fields=tuple(fields),
        gaps=tuple(GapVariable(name=gap.name, stream=gap.stream, span=gap.span) for gap in gaps.values()),
        having=(),
        branches=tuple(found),
    )


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

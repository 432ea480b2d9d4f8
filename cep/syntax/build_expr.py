"""Expressions from parse tree to syntax tree: nests flat operator lists, reads literals.

Precedence: `OR` < `AND` < `NOT` < comparison < `+ -` < `* / %` < sign, binary operators left-associative. Values of
literals are judged here (CEP0104, CEP0105), and the height of a tree (CEP0107).

Guarantee: no tree is higher than `MAX_HEIGHT` nodes, so later passes may recurse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cep.ir import ast
from cep.ir.types import MICROS
from cep.syntax import literals
from cep.syntax._generated.CepParser import CepParser as P

if TYPE_CHECKING:
    from cep.diagnostics import Diagnostics
    from cep.source import Source, Span

MAX_HEIGHT = 200
"""Recursion limits default to 1000 frames and the greediest of later passes (pickling) takes four a level."""

_UNITS = {getattr(P, unit): unit for unit in MICROS}
_COMPARISONS = {P.EQ: "=", P.NE: "<>", P.LT: "<", P.LE: "<=", P.GT: ">", P.GE: ">="}
_SUMS = {P.PLUS: "+", P.MINUS: "-"}
_PRODUCTS = {P.STAR: "*", P.SLASH: "/", P.PERCENT: "%"}


class ExpressionBuilder:
    """Builds expressions, and what everything else is built with: places, names, literals."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self._source = source
        self._text = source.text
        self._diagnostics = diagnostics
        self._primaries: dict[type, Callable[[Any], ast.Expr]] = {
            P.NegativeContext: self._negative,
            P.ParenthesisContext: lambda ctx: replace(self.expression(ctx.inner), span=self._span(ctx)),
            P.NumberContext: self._number,
            P.StringContext: lambda ctx: ast.StringLiteral(value=self._string(ctx.string), span=self._span(ctx)),
            P.TrueLiteralContext: lambda ctx: ast.BooleanLiteral(value=True, span=self._span(ctx)),
            P.FalseLiteralContext: lambda ctx: ast.BooleanLiteral(value=False, span=self._span(ctx)),
            P.NullLiteralContext: lambda ctx: ast.NullLiteral(span=self._span(ctx)),
            P.CaseExpressionContext: self._case,
            P.TimestampContext: self._timestamp,
            P.NamedContext: lambda ctx: self._reference(ctx.name, ctx.use),
        }

    # --- places and names -------------------------------------------------------------------------------------------

    def _span(self, ctx: Any) -> Span:
        return self._source.span(ctx.start.start, ctx.stop.stop + 1)

    def _at(self, token: Any) -> Span:
        return self._source.span(token.start, token.stop + 1)

    def _name(self, token: Any) -> ast.Name:
        text = self._text[token.start : token.stop + 1]
        if token.type == P.QUOTED:
            text = text[1 : -1 if len(text) > 1 and text.endswith('"') else None].replace('""', '"')
        return ast.Name(text=text, span=self._at(token))

    def _string(self, token: Any) -> str:
        text = self._text[token.start : token.stop + 1]
        closed = len(text) > 1 and not (text[0] == "'" and text[-1] != "'")
        return text[1 : -1 if closed else None].replace("''", "'")

    # --- expressions ------------------------------------------------------------------------------------------------

    def expression(self, ctx: Any) -> ast.Expr:
        """A condition or value: `AND` binds tighter than `OR`."""
        terms = [self._condition(term) for term in ctx.terms]
        if len(terms) == 1:
            return terms[0]
        alternatives: list[ast.Expr] = [terms[0]]
        for operator, term in zip(ctx.operators, terms[1:], strict=True):
            if operator.type == P.AND:
                alternatives[-1] = _binary("AND", alternatives[-1], term)
            else:
                alternatives.append(term)
        node = alternatives[0]
        for term in alternatives[1:]:
            node = _binary("OR", node, term)
        return self._bounded(node, ctx)

    def _condition(self, ctx: Any) -> ast.Expr:
        node = self._value(ctx.operand)
        if ctx.test_ is not None:
            node = self._test(node, ctx.test_, self._source.span(node.span.start, ctx.stop.stop + 1))
        for negation in reversed(ctx.negations):
            node = ast.Unary(op="NOT", operand=node, span=self._at(negation).to(node.span))
        return self._bounded(node, ctx) if ctx.negations else node

    def _test(self, operand: ast.Expr, ctx: Any, span: Span) -> ast.Expr:
        if isinstance(ctx, P.ComparisonContext):
            return ast.Binary(op=_COMPARISONS[ctx.operator.type], left=operand, right=self._value(ctx.right), span=span)
        if isinstance(ctx, P.NullTestContext):
            return ast.IsNull(operand=operand, negated=ctx.negated is not None, span=span)
        negated = isinstance(ctx, P.NegatedTestContext)
        test = ctx.positive
        if isinstance(test, P.InListContext):
            items = tuple(self.expression(item) for item in test.items)
            return ast.InList(operand=operand, items=items, negated=negated, span=span)
        if isinstance(test, P.BetweenContext):
            low, high = self._value(test.low), self._value(test.high)
            return ast.Between(operand=operand, low=low, high=high, negated=negated, span=span)
        return ast.Like(operand=operand, pattern=self._value(test.like), negated=negated, span=span)

    def _value(self, ctx: Any) -> ast.Expr:
        operands = ctx.operands
        node = self._primary(operands[0])
        if len(operands) == 1:
            return node
        terms: list[ast.Expr] = [node]
        signs: list[str] = []
        for operator, operand in zip(ctx.operators, operands[1:], strict=True):
            term = self._primary(operand)
            if operator.type in _PRODUCTS:
                terms[-1] = _binary(_PRODUCTS[operator.type], terms[-1], term)
            else:
                signs.append(_SUMS[operator.type])
                terms.append(term)
        node = terms[0]
        for sign, term in zip(signs, terms[1:], strict=True):
            node = _binary(sign, node, term)
        return self._bounded(node, ctx)

    def _primary(self, ctx: Any) -> ast.Expr:
        return self._primaries[type(ctx)](ctx)

    def _negative(self, ctx: Any) -> ast.Expr:
        operand = ctx.operand
        if isinstance(operand, P.NumberContext) and operand.unit is None and operand.number.type == P.INTEGER:
            text = self._text[operand.number.start : operand.number.stop + 1]
            if literals.integer(text, 2**63) == 2**63:  # the one number whose positive twin does not fit
                return ast.NumberLiteral(value=-(2**63), span=self._span(ctx))
        return ast.Unary(op="-", operand=self._primary(operand), span=self._span(ctx))

    def _number(self, ctx: Any) -> ast.Expr:
        if ctx.unit is not None:
            return self._duration(ctx)
        return ast.NumberLiteral(value=self._literal(ctx.number), span=self._span(ctx))

    def _literal(self, token: Any) -> int | float:
        text = self._text[token.start : token.stop + 1]
        value = literals.integer(text) if token.type == P.INTEGER else literals.decimal(text)
        if value is not None:
            return value
        limits = "whole numbers go up to 9223372036854775807" if token.type == P.INTEGER else "doubles end at 1.8e308"
        self._diagnostics.error("CEP0104", self._at(token), "number out of range", hint=limits)
        return 1

    def _duration(self, ctx: Any) -> ast.DurationLiteral:
        count = self._literal(ctx.number)
        node = ast.DurationLiteral(count=count, unit=_UNITS[ctx.unit.type], span=self._span(ctx))
        if count * MICROS[node.unit] <= literals.LARGEST:
            return node
        self._diagnostics.error(
            "CEP0104", node.span, "duration out of range", hint="durations go up to 106751991 DAYS (292,000 years)"
        )
        return ast.DurationLiteral(count=1, unit=node.unit, span=node.span)

    def _timestamp(self, ctx: Any) -> ast.Expr:
        if ctx.string is None:
            return self._reference(ctx.keyword, ctx.use)
        text = self._string(ctx.string)
        micros = literals.timestamp(text)
        if micros is None:
            self._diagnostics.error(
                "CEP0105",
                self._at(ctx.string),
                f"`{text}` is not a date or time",
                hint="write it in ISO-8601, e.g. TIMESTAMP '2024-01-31T23:59:59.5Z' or TIMESTAMP '2024-01-31'",
            )
            micros = 0
        return ast.TimestampLiteral(micros=micros, text=text, span=self._span(ctx))

    def _case(self, ctx: Any) -> ast.Expr:
        whens = tuple(
            ast.When(condition=self.expression(w.condition_), result=self.expression(w.result), span=self._span(w))
            for w in ctx.whens
        )
        return ast.Case(
            operand=self.expression(ctx.operand_) if ctx.operand_ else None,
            whens=whens,
            otherwise=self.expression(ctx.otherwise) if ctx.otherwise else None,
            span=self._span(ctx),
        )

    def _reference(self, token: Any, use: Any) -> ast.Expr:
        name = self._name(token)
        if use is None:
            return ast.Bare(name=name, span=name.span)
        span = self._source.span(token.start, use.stop.stop + 1)
        if isinstance(use, P.AttributeContext):
            return ast.Attribute(var=name, attr=self._name(use.attribute_.token), span=span)
        if use.args_ is None:
            return ast.Call(func=name, args=(), span=span)
        if isinstance(use.args_, P.StarContext):
            return ast.Call(func=name, args=(), star=True, span=span)
        items = tuple(self.expression(item) for item in use.args_.items)
        return ast.Call(func=name, args=items, distinct=use.args_.distinct is not None, span=span)

    # --- height -----------------------------------------------------------------------------------------------------

    def _bounded(self, node: ast.Expr, ctx: Any) -> ast.Expr:
        """The node, or a stand-in with a finding where it is too high."""
        if ctx.stop.tokenIndex - ctx.start.tokenIndex <= MAX_HEIGHT or height(node) <= MAX_HEIGHT:
            return node
        self._diagnostics.error(
            "CEP0107",
            self._at(ctx.start),
            f"this expression is more than {MAX_HEIGHT} levels high",
            hint="split it with parentheses into groups, or use `IN (...)` for a long list of alternatives",
        )
        return ast.BooleanLiteral(value=True, span=node.span)


def _binary(op: str, left: ast.Expr, right: ast.Expr) -> ast.Expr:
    return ast.Binary(op=op, left=left, right=right, span=left.span.to(right.span))


def height(node: ast.Node) -> int:
    """The number of nodes on the longest way down; without recursion. Linear in the tree."""
    highest = 0
    stack = [(node, 1)]
    while stack:
        here, depth = stack.pop()
        highest = max(highest, depth)
        stack.extend((child, depth + 1) for child in children(here))
    return highest


def children(node: ast.Node) -> Iterator[ast.Node]:
    """The nodes right below a node."""
    for name in type(node).__dataclass_fields__:
        part = getattr(node, name)
        if isinstance(part, ast.Node):
            yield part
        elif isinstance(part, tuple):
            yield from (item for item in part if isinstance(item, ast.Node))

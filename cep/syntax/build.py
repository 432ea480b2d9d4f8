"""Parse tree to syntax tree: orders clauses, tells what each step of a body is.

What the grammar leaves open is settled here and in `cep.syntax.build_expr`: the order of clauses (CEP0106), which words
before a bracket are operators of a body. A finding never stops the build: a bad literal becomes a harmless one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cep.diagnostics import Label, did_you_mean
from cep.ir import ast
from cep.ir.types import COLUMN_TYPES, EPOCH_UNITS
from cep.syntax import habits
from cep.syntax._generated.CepParser import CepParser as P
from cep.syntax.build_expr import ExpressionBuilder

if TYPE_CHECKING:
    from cep.source import Span

TYPE_NAMES = frozenset(kind.value for kind in COLUMN_TYPES)
SELECTIONS = frozenset({"FIRST", "LAST", "NEXT", "RUN"})
"""Operators of a body that are names elsewhere."""

_EPOCH_UNITS = {getattr(P, unit): unit for unit in EPOCH_UNITS}
_STREAM_CLAUSES: dict[type, int] = {
    P.TimestampClauseContext: 0,
    P.WatermarkClauseContext: 1,
    P.IdleClauseContext: 2,
    P.AheadClauseContext: 3,
    P.OrderClauseContext: 4,
}
_TWO_WORDS = {
    "TIMESTAMP": "TIMESTAMP BY",
    "PARTITION": "PARTITION BY",
    "ORDER": "ORDER BY",
    "MAX": "MAX AHEAD",
    "IDLE": "IDLE AFTER",
}
_GROUPS: dict[int, type[ast.Seq | ast.And | ast.Or]] = {P.SEQ: ast.Seq, P.AND: ast.And, P.OR: ast.Or}

STREAM_ORDER = "`TIMESTAMP BY`, `WATERMARK`, `IDLE AFTER`, `MAX AHEAD`, `ORDER BY`"
PATTERN_ORDER = "body, `WHERE`, `PARTITION BY`, `WITHIN` or `UNBOUNDED`, `RETURN`"


class Builder(ExpressionBuilder):
    """Builds the nodes of one file; findings go to `diagnostics`."""

    def _type(self, token: Any) -> ast.Name:
        """A type's name; the language's own types are keywords, hence in upper case however they were written."""
        name = self._name(token)
        return replace(name, text=name.text.upper()) if name.text.upper() in TYPE_NAMES else name

    # --- statements -------------------------------------------------------------------------------------------------

    def file(self, statements: Iterable[ast.Statement]) -> ast.File:
        """The whole file."""
        return ast.File(statements=tuple(statements), span=self._source.span(0, len(self._text)))

    def statement(self, ctx: Any) -> ast.Statement:
        """One complete statement."""
        span = self._span(ctx)
        if isinstance(ctx, P.StreamStatementContext):
            return self.stream(ctx.head, ctx.columns, ctx.clauses, span)
        if isinstance(ctx, P.PatternStatementContext):
            return self.pattern(ctx.head, ctx.clauses, span)
        return self.import_(ctx.path, span)

    def import_(self, path: Any, span: Span) -> ast.Import:
        """An import of the file that the token `path` names."""
        return ast.Import(path=ast.StringLiteral(value=self._string(path), span=self._at(path)), span=span)

    def stream(self, head: Any, columns: Iterable[Any], clauses: Iterable[Any], span: Span) -> ast.StreamDecl:
        """A stream from its parts."""
        slots = self._slots(clauses, _STREAM_CLAUSES, STREAM_ORDER)
        by, watermark, idle, ahead, order = (slots.get(slot) for slot in range(5))
        return ast.StreamDecl(
            name=self._name(head.name.token),
            columns=tuple(map(self._column, columns)),
            timestamp_by=self._name(by.key.token) if by else None,
            watermark=self._duration(watermark.length) if watermark else None,
            idle_after=self._duration(idle.length) if idle else None,
            max_ahead=self._duration(ahead.length) if ahead else None,
            order_by=self._name(order.key.token) if order else None,
            span=span,
        )

    def _column(self, ctx: Any) -> ast.ColumnDecl:
        return ast.ColumnDecl(
            name=self._name(ctx.name.token),
            type=self._type(ctx.type_.token),
            format=self._format(ctx.written) if ctx.written is not None else None,
            span=self._span(ctx),
        )

    def _format(self, ctx: Any) -> ast.EpochFormat | ast.TextFormat:
        if isinstance(ctx, P.EpochFormatContext):
            return ast.EpochFormat(unit=_EPOCH_UNITS[ctx.unit.type], span=self._span(ctx))
        text = ast.StringLiteral(value=self._string(ctx.text), span=self._at(ctx.text))
        return ast.TextFormat(text=text, span=self._span(ctx))

    def pattern(self, head: Any, clauses: Iterable[Any], span: Span) -> ast.PatternDecl:
        """A pattern from its parts."""
        order = {
            P.WhereClauseContext: 0,
            P.PartitionClauseContext: 1,
            P.WithinClauseContext: 2,
            P.UnboundedClauseContext: 2,
            P.ReturnClauseContext: 3,
        }
        slots = self._slots(clauses, order, PATTERN_ORDER)
        where, keys, window, returns = (slots.get(slot) for slot in range(4))
        return ast.PatternDecl(
            name=self._name(head.name.token),
            body=self._body(head.what),
            where=self.expression(where.condition_) if where else None,
            partition_by=tuple(self._name(key.token) for key in keys.keys) if keys else (),
            window=self._window(window) if window else None,
            returns=self._return(returns) if returns else None,
            span=span,
        )

    def _slots(self, clauses: Iterable[Any], order: dict[type, int], expected: str) -> dict[int, Any]:
        """The first clause of each kind; repeated and misplaced ones are reported."""
        slots: dict[int, Any] = {}
        latest: Any = None
        for clause in clauses:
            slot = order[type(clause)]
            keyword = self._clause_name(clause)
            first = slots.setdefault(slot, clause)
            if first is not clause:
                other = self._clause_name(first)
                self._diagnostics.error(
                    "CEP0106",
                    self._at(clause.start),
                    f"`{keyword}` is given twice" if keyword == other else f"`{keyword}` contradicts `{other}`",
                    hint="join the two conditions with `AND`" if keyword == "WHERE" else "keep one of the two",
                    labels=[Label(self._at(first.start), f"first `{other}`")],
                )
                self.discard([clause])
            elif latest is not None and slot < order[type(latest)]:
                self._diagnostics.error(
                    "CEP0106",
                    self._at(clause.start),
                    f"`{keyword}` must come before `{self._clause_name(latest)}`",
                    hint=f"the order is: {expected}",
                    labels=[Label(self._at(latest.start), "comes too early")],
                )
            else:
                latest = clause
        return slots

    def discard(self, clauses: Iterable[Any]) -> None:
        """Report what is wrong inside clauses that have no place in the tree."""
        for clause in clauses:
            if isinstance(clause, P.WhereClauseContext):
                self.expression(clause.condition_)
            elif isinstance(clause, P.ReturnClauseContext):
                self._return(clause)
            elif isinstance(
                clause, (P.WithinClauseContext, P.WatermarkClauseContext, P.IdleClauseContext, P.AheadClauseContext)
            ):
                self._duration(clause.length)

    def _clause_name(self, clause: Any) -> str:
        keyword = self._text[clause.start.start : clause.start.stop + 1].upper()
        return _TWO_WORDS.get(keyword, keyword)

    def _window(self, ctx: Any) -> ast.Within | ast.Unbounded:
        if isinstance(ctx, P.UnboundedClauseContext):
            return ast.Unbounded(span=self._span(ctx))
        return ast.Within(duration=self._duration(ctx.length), span=self._span(ctx))

    def _return(self, ctx: Any) -> ast.Return:
        items = tuple(
            ast.ReturnItem(
                expr=self.expression(item.what),
                alias=self._name(item.alias.token) if item.alias else None,
                span=self._span(item),
            )
            for item in ctx.items
        )
        return ast.Return(distinct=ctx.distinct is not None, items=items, span=self._span(ctx))

    # --- bodies -----------------------------------------------------------------------------------------------------

    def _body(self, ctx: Any) -> ast.Body:
        span = self._span(ctx)
        if isinstance(ctx, P.GroupContext):
            return _GROUPS[ctx.operator.type](items=tuple(self._body(item) for item in ctx.items), span=span)
        if isinstance(ctx, P.AbsenceContext):
            return ast.Not(item=self._body(ctx.item), span=span)
        name, rest = self._name(ctx.name.token), ctx.rest
        if isinstance(rest, P.SelectedContext):
            return self._selected(name, ctx.name.token.type == P.QUOTED, tuple(map(self._body, rest.items)), span)
        var = self._name(rest.var.token)
        if rest.repeat is None:
            return ast.Step(stream=name, var=var, span=span)
        if isinstance(rest.repeat, P.ZeroOrOneContext):
            return ast.Optional(stream=name, var=var, span=span)
        least, most = self._quantifier(rest.repeat)
        return ast.Repeat(stream=name, var=var, least=least, most=most, span=span)

    def _selected(self, name: ast.Name, quoted: bool, items: tuple[ast.Body, ...], span: Span) -> ast.Body:
        word = name.text.upper()
        if word in SELECTIONS and not quoted:
            return ast.Selected(op=word, items=items, span=span)
        self._diagnostics.error(
            "CEP0101",
            name.span,
            f"`{name.text}` is no operator of a body",
            hint=habits.BODY_OPERATORS.get(word)
            or did_you_mean(word, [*SELECTIONS, "SEQ", "AND", "OR", "NOT"])
            or f"the operators are {habits.OPERATORS}; an event is `Stream var`",
        )
        return ast.Seq(items=items, span=span)

    def _quantifier(self, ctx: Any) -> tuple[int, int | None]:
        if isinstance(ctx, P.OneOrMoreContext):
            return 1, None
        if isinstance(ctx, P.ZeroOrMoreContext):
            return 0, None
        least = int(self._literal(ctx.least))
        if ctx.upTo is None:
            return least, least
        return least, int(self._literal(ctx.most)) if ctx.most else None

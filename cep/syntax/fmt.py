"""Lay out a file in the one style, keeping every comment.

The formatter works on tokens, so parentheses, quotes and spellings of names stay; the parse tree says where lines
break. Style: a statement starts a line; columns and clauses have a line each, by two; types are aligned; keywords are
upper case; `AND`, list items and `WHEN` go to the next line, by four, where the writer put them there or a line would
be longer than `WIDTH`. Up to one blank line between statements is kept. A comment stays on its own line, at the end of
its line or inside it, as it was; one that stands before a `,` or `;` goes after it.

Guarantee: the tree of the result equals the tree of the text, and formatting again changes nothing. A file with syntax
errors is returned as it is, the diagnostics saying why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cep.diagnostics import Diagnostics
from cep.syntax._generated.CepParser import CepParser as P
from cep.syntax.build import TYPE_NAMES
from cep.syntax.lex import Lexed, lex
from cep.syntax.parse import parse_tokens, parse_tree

if TYPE_CHECKING:
    from cep.source import Source

WIDTH = 100
"""Lines longer than this are broken where the style allows it."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line break before a token: always (`hard`), or where the writer had one or the line is full."""

    indent: int
    hard: bool


@dataclass(frozen=True, slots=True)
class _Comment:
    text: str
    own_line: bool
    ends_line: bool
    blank_before: bool

    @property
    def to_line_end(self) -> bool:
        return self.text.startswith("--")


@dataclass(slots=True)
class _Layout:
    """For each token: its text, what stands before it, and how far a line that starts with it is indented."""

    texts: list[str]
    before: list[str | _Line]
    indents: list[int]
    comments: list[list[_Comment]] = field(default_factory=list)
    breaks: list[bool] = field(default_factory=list)
    blanks: list[bool] = field(default_factory=list)


def fmt(source: Source, diagnostics: Diagnostics) -> str:
    """The text in the one style; unchanged where the file has syntax errors. Linear in the text."""
    found = Diagnostics()
    lexed = lex(source, found)
    parse_tokens(source, lexed, found)
    diagnostics.extend(found)
    if found.has_errors:
        return source.text
    layout = _Tree(source, lexed).layout
    _place_comments(source, lexed, layout)
    return _write(layout)


class _Tree:
    """Walks the parse tree and decides the layout of each token."""

    def __init__(self, source: Source, lexed: Lexed) -> None:
        tokens = lexed.tokens
        self._tokens = tokens
        tree = parse_tree(lexed)
        texts = [self._spelling(source, token) for token in tokens]
        self.layout = _Layout(texts, [self._gap(at) for at in range(len(tokens))], [4] * len(tokens))
        self._written = [source.text[token.start : token.stop + 1] for token in tokens]
        for statement in tree.statements:
            self._line(statement.start, 0)
            if isinstance(statement, P.StreamStatementContext):
                self._stream(statement)
            elif isinstance(statement, P.PatternStatementContext):
                self._pattern(statement)
        self._line(tokens[-1], 0)

    @staticmethod
    def _spelling(source: Source, token: Any) -> str:
        text = source.text[token.start : token.stop + 1]
        if P.STREAM <= token.type <= P.DAY:
            return text.upper()
        return {P.NE: "<>", P.EQ: "="}.get(token.type, text)

    def _gap(self, at: int) -> str:
        """What stands before a token as far as its neighbour tells."""
        kind = self._tokens[at].type
        before = self._tokens[at - 1].type if at else P.EOF
        tight = kind in (P.RPAREN, P.COMMA, P.SEMI, P.DOT, P.RBRACE) or before in (P.LPAREN, P.DOT, P.LBRACE)
        return "" if tight else " "

    def _line(self, token: Any, indent: int, *, hard: bool = True) -> None:
        self.layout.before[token.tokenIndex] = _Line(indent, hard)
        self.layout.indents[token.tokenIndex] = indent

    def _tight(self, token: Any) -> None:
        self.layout.before[token.tokenIndex] = ""

    def _stream(self, ctx: Any) -> None:
        self._name(ctx.head.name)
        width = max(column.name.token.stop - column.name.token.start for column in ctx.columns)
        for column in ctx.columns:
            self._line(column.start, 2)
            self._name(column.name)
            self._type(column.type_)
            name = column.name.token
            self.layout.before[column.type_.token.tokenIndex] = " " * (1 + width - (name.stop - name.start))
        closing = next(
            child.symbol
            for child in ctx.children
            if getattr(child, "symbol", None) is not None and child.symbol.type == P.RPAREN
        )
        self._line(closing, 0)
        self.layout.indents[closing.tokenIndex] = 2  # a comment before it belongs to the columns
        for clause in ctx.clauses:
            if isinstance(clause, (P.TimestampClauseContext, P.OrderClauseContext)):
                self._name(clause.key)

    def _name(self, ctx: Any) -> None:
        self._keep(ctx.token)

    def _keep(self, token: Any) -> None:
        self.layout.texts[token.tokenIndex] = self._written[token.tokenIndex]

    def _type(self, ctx: Any) -> None:
        at = ctx.token.tokenIndex
        text = self._written[at]
        self.layout.texts[at] = text.upper() if text.upper() in TYPE_NAMES else text

    def _pattern(self, ctx: Any) -> None:
        self._name(ctx.head.name)
        for part in (ctx.head.what, *ctx.clauses):
            self._walk(part, 0)
            self._line(part.start, 2)

    def _walk(self, ctx: Any, depth: int) -> None:
        """Lay out what is below a node; `depth` counts the brackets around it."""
        inner = depth
        for child in ctx.children or ():
            token = getattr(child, "symbol", None)
            if token is None:
                self._walk(child, inner)
                continue
            self.layout.indents[token.tokenIndex] = 4 + 2 * inner
            if token.type in (P.LPAREN, P.CASE):
                inner += 1
            elif token.type in (P.RPAREN, P.END):
                inner -= 1
            elif token.type == P.COMMA and not isinstance(ctx, P.CountedContext):
                self._line(self._tokens[token.tokenIndex + 1], 4 + 2 * inner, hard=False)
        self._special(ctx, depth)

    def _special(self, ctx: Any, depth: int) -> None:
        if isinstance(ctx, (P.IdentifierContext, P.WordContext)):
            self._name(ctx)
        elif isinstance(ctx, P.NamedContext):
            self._keep(ctx.name)
        elif isinstance(ctx, P.TimestampContext) and ctx.string is None:
            self._keep(ctx.keyword)
        elif isinstance(ctx, P.ExpressionContext):
            for operator in ctx.operators:
                self._line(operator, 4 + 2 * depth, hard=False)
        elif isinstance(ctx, P.CaseExpressionContext):
            for part in [when.start for when in ctx.whens] + [ctx.stop]:
                self._line(part, 6 + 2 * depth - 2 * (part is ctx.stop), hard=False)
            if ctx.otherwise is not None:
                self._line(self._tokens[ctx.otherwise.start.tokenIndex - 1], 6 + 2 * depth, hard=False)
        elif isinstance(ctx, P.GroupContext):
            self._tight(self._tokens[ctx.start.tokenIndex + 1])
        elif isinstance(ctx, (P.StarContext, P.CallContext)):
            self._tight(ctx.start)
        elif isinstance(ctx, P.StepContext) and isinstance(ctx.rest, P.SelectedContext):
            self._tight(ctx.rest.start)
            name = ctx.name.token
            if name.type != P.QUOTED:  # an operator, though a name elsewhere
                self.layout.texts[name.tokenIndex] = self._written[name.tokenIndex].upper()
        elif isinstance(ctx, P.BoundContext) and ctx.repeat is not None:
            for at in range(ctx.repeat.start.tokenIndex, ctx.repeat.stop.tokenIndex + 1):
                self._tight(self._tokens[at])
        elif isinstance(ctx, P.NegativeContext) and not isinstance(ctx.operand, P.NegativeContext):
            self._tight(self._tokens[ctx.start.tokenIndex + 1])  # `- -a` keeps its space: `--` is a comment


def _place_comments(source: Source, lexed: Lexed, layout: _Layout) -> None:
    """Attach each comment to the token after it, with how it stood in its line."""
    text = source.text
    waiting = list(lexed.comments)
    end = at = 0
    for token in lexed.tokens:
        here: list[_Comment] = []
        while at < len(waiting) and waiting[at].start < token.start:
            comment = waiting[at]
            at += 1
            following = min(token.start, waiting[at].start) if at < len(waiting) else token.start
            breaks = _breaks(text[end : comment.start])
            here.append(
                _Comment(
                    text=_clean(text[comment.start : comment.stop + 1]),
                    own_line=breaks > 0 or end == 0,
                    ends_line=_breaks(text[comment.stop + 1 : following]) > 0,
                    blank_before=breaks > 1,
                )
            )
            end = comment.stop + 1
        breaks = _breaks(text[end : token.start])
        layout.comments.append(here)
        layout.breaks.append(breaks > 0)
        layout.blanks.append(breaks > 1)
        end = token.stop + 1
    for index, token in enumerate(lexed.tokens[:-1]):
        if token.type in (P.COMMA, P.SEMI):
            layout.comments[index + 1][:0] = layout.comments[index]
            layout.comments[index] = []


def _breaks(gap: str) -> int:
    return gap.replace("\r\n", "\n").replace("\r", "\n").count("\n")


def _clean(comment: str) -> str:
    text = comment.replace("\r\n", "\n").replace("\r", "\n")
    return text.rstrip() if text.startswith("--") else text


def _write(layout: _Layout) -> str:
    out = _Writer()
    last = len(layout.texts) - 1
    for at, gap in enumerate(layout.before):
        top = isinstance(gap, _Line) and gap.hard and gap.indent == 0 and layout.indents[at] == 0
        for comment in layout.comments[at]:
            out.comment(comment, layout.indents[at], blank=top and comment.blank_before)
        if at == last:
            break
        if isinstance(gap, _Line):
            full = out.column + 1 + _segment(layout, at) > WIDTH
            if gap.hard or out.must_break or layout.breaks[at] or (full and not out.at_line_start):
                out.newline(gap.indent, blank=top and layout.blanks[at])
                out.put("", layout.texts[at])
            else:
                out.put(" ", layout.texts[at])
        elif out.must_break:
            out.newline(layout.indents[at])
            out.put("", layout.texts[at])
        else:
            out.put(gap, layout.texts[at])
    return out.text()


def _segment(layout: _Layout, at: int) -> int:
    """The width from a token to the next place where a line can break."""
    width = len(layout.texts[at])
    for after in range(at + 1, len(layout.texts)):
        gap = layout.before[after]
        if isinstance(gap, _Line):
            break
        width += len(gap) + len(layout.texts[after])
    return width


class _Writer:
    """Collects text and knows where in the line it is."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.column = 0
        self.at_line_start = True
        self.must_break = False

    def newline(self, indent: int, *, blank: bool = False) -> None:
        if self._parts:
            self._parts.append("\n\n" if blank else "\n")
        self._parts.append(" " * indent)
        self.column, self.at_line_start, self.must_break = indent, True, False

    def put(self, gap: str, text: str) -> None:
        if not self.at_line_start:
            text = gap + text
        self._parts.append(text)
        self.column = len(text) - text.rfind("\n") - 1 if "\n" in text else self.column + len(text)
        self.at_line_start = False

    def comment(self, comment: _Comment, indent: int, *, blank: bool) -> None:
        if comment.own_line or self.must_break:
            self.newline(indent, blank=blank)
        self.put("  " if comment.to_line_end else " ", comment.text)
        self.must_break = comment.to_line_end or (comment.own_line and comment.ends_line)

    def text(self) -> str:
        joined = "".join(self._parts)
        return joined + "\n" if joined else ""

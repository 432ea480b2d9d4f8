"""The second stage: parse a file with mistakes piece by piece and report one mistake a piece.

A file falls into statements at `;` (or where the next statement evidently starts), a pattern into clauses at their
keywords, which are reserved and so cannot be anything else, a stream into columns at commas. A mistake is reported
where its piece stops making sense; the next piece starts afresh. A misspelt keyword is taken for the right one.

Guarantee: at least one error is reported, never two at one place; the statements returned are whole or lack only the
pieces that were reported. Not guaranteed: that two mistakes inside one piece are both found in one run.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, Any

from antlr4.atn.PredictionMode import PredictionMode

from cep.ir import ast
from cep.syntax import wording
from cep.syntax._generated.CepParser import CepParser as P
from cep.syntax.habits import habit
from cep.syntax.tokens import Fast, Strict, SyntaxMistake, expected, parser_over
from cep.syntax.wording import CLAUSES, END, NAMES, STATEMENTS, STREAM_CLAUSES

if TYPE_CHECKING:
    from cep.diagnostics import Diagnostics
    from cep.source import Source
    from cep.syntax.build import Builder
    from cep.syntax.lex import Lexed

_CLAUSE_OR_END = ("a clause", "`;`")
_STREAM_CLAUSE_OR_END = ("`TIMESTAMP BY`", "`WATERMARK`", "`IDLE AFTER`", "`MAX AHEAD`", "`ORDER BY`", "`;`")

_CLAUSE_STARTS = {
    (P.TIMESTAMP, P.BY),
    (P.WATERMARK, P.INTEGER),
    (P.IDLE, P.AFTER),
    (P.MAX, P.AHEAD),
    (P.ORDER, P.BY),
}


def recover(source: Source, lexed: Lexed, builder: Builder, diagnostics: Diagnostics) -> list[ast.Statement]:
    """Report what is wrong and return the statements that could be understood."""
    return list(_Recovery(source, lexed, builder, diagnostics).statements())


class _Recovery:
    def __init__(self, source: Source, lexed: Lexed, builder: Builder, diagnostics: Diagnostics) -> None:
        self._source = source
        self._tokens = lexed.tokens
        self._cut = lexed.cut
        self._builder = builder
        self._diagnostics = diagnostics

    # --- statements -------------------------------------------------------------------------------------------------

    def statements(self) -> Iterator[ast.Statement]:
        at = 0
        while (kind := self._tokens[at].type) != END:
            if kind not in STATEMENTS:
                at = self._stray(at)
                continue
            end = self._statement_end(at + 1)
            closed = self._tokens[end].type == P.SEMI
            whole = self._attempt("statement", at, end + 1) if closed else None
            if whole is not None:
                yield self._builder.statement(whole)
            else:
                statement = (
                    self._stream(at, end)
                    if kind == P.STREAM
                    else self._pattern(at, end)
                    if kind == P.PATTERN
                    else self._import(at, end)
                )
                if statement is not None:
                    yield statement
            at = end + closed

    def _statement_end(self, at: int) -> int:
        """The `;`, the evident start of another statement, or EOF, whichever comes first."""
        while (kind := self._tokens[at].type) not in (END, P.SEMI):
            if kind in STATEMENTS and self._starts_statement(at):
                return at
            at += 1
        return at

    def _starts_statement(self, at: int) -> bool:
        kind, before = self._tokens[at].type, self._tokens[at - 1].type
        if before in (P.DOT, P.AS):
            return False
        one = self._tokens[at + 1].type
        two = self._tokens[at + 2].type if one != END else END
        if kind == P.IMPORT:
            return bool(one == P.STRING)
        if kind == P.STREAM:
            return one in NAMES and bool(two == P.LPAREN)
        return one in NAMES and (two in NAMES or two in (P.SEQ, P.AND, P.OR, P.NOT))

    def _stray(self, at: int) -> int:
        """Report what is not the start of a statement; the place to go on from."""
        token = self._tokens[at]
        text = self._written(at)
        near = wording.near_keyword(text, STATEMENTS) if token.type == P.IDENTIFIER else None
        if near is not None:
            self._error(at, "expected a statement", f"did you mean `{wording.spelling(near)}`?")
            token.type = near
            return at
        if token.type == P.SEMI:
            hint = "take it out: a statement ends with one `;`" if at else "a file starts with a statement"
        elif token.type in CLAUSES:
            hint = "is there a `;` too early? A clause belongs to the pattern before it"
        elif self._tokens[at].type == self._tokens[min(at + 1, len(self._tokens) - 1)].type == P.SLASH:
            hint = "a comment starts with `--`"
        else:
            hint = habit(text, (), "", in_body=False) or "a statement starts with `STREAM`, `PATTERN` or `IMPORT`"
        self._error(at, "expected `STREAM`, `PATTERN` or `IMPORT`", hint)
        at += 1
        if token.type == P.SEMI:
            return at
        while (kind := self._tokens[at].type) not in (END, *STATEMENTS):
            at += 1
            if kind == P.SEMI:
                break
        return at

    def _close(self, end: int, what: str) -> None:
        if self._tokens[end].type != P.SEMI:
            self._error(end, f"expected `;` after the {what}", None)

    # --- imports ----------------------------------------------------------------------------------------------------

    def _import(self, start: int, end: int) -> ast.Statement | None:
        if self._tokens[start + 1].type != P.STRING or start + 1 >= end:
            hint = "write IMPORT 'streams.cep';"
            if self._tokens[start + 1].type == P.QUOTED:
                hint = f"text stands in single quotes: '{self._written(start + 1)[1:-1]}'"
            self._error(start + 1, "expected the name of a file in single quotes after `IMPORT`", hint)
            return None
        if start + 2 < end:
            self._error(start + 2, "expected `;` after the import", None)
        else:
            self._close(end, "import")
        return self._builder.import_(self._tokens[start + 1], self._span(start, start + 2))

    # --- streams ----------------------------------------------------------------------------------------------------

    def _stream(self, start: int, end: int) -> ast.Statement | None:
        opening = next((at for at in range(start, end) if self._tokens[at].type == P.LPAREN), end)
        head = self._piece("streamHead", start, opening, ("`(`",), "stream")
        if opening == end:
            if head is not None:
                self._error(end, f"expected `(` and the columns of `{self._written(start + 1)}`", None)
            return None
        closing = self._closing(opening, end)
        columns = list(self._columns(opening + 1, closing))
        clauses: list[Any] = []
        if self._tokens[closing].type == P.RPAREN and closing < end:
            clauses = list(self._stream_clauses(closing + 1, end))
        else:
            self._error(closing, "expected `,` or `)` after the columns", None)
            clauses = list(self._stream_clauses(closing, end))
        self._close(end, "stream declaration")
        if head is None or not columns:
            return None
        return self._builder.stream(head, columns, clauses, self._span(start, end))

    def _closing(self, opening: int, end: int) -> int:
        """The bracket that closes the columns, or where they evidently end without one."""
        depth = 0
        for at in range(opening, end):
            kind = self._tokens[at].type
            depth += (kind == P.LPAREN) - (kind == P.RPAREN)
            if depth == 0:
                return at
            after = self._tokens[at + 1].type
            if (kind, after) in _CLAUSE_STARTS:
                return at
        return end

    def _columns(self, start: int, end: int) -> Iterator[Any]:
        for first, stop in self._split(start, end):
            at = first
            while True:
                if at == stop:
                    hint = "take out the comma before it" if at > start else "a stream has at least one column"
                    self._error(at, "expected a column (`name TYPE`)", hint)
                    break
                parser = self._parser(at, stop)
                try:
                    yield parser.column()
                except SyntaxMistake as mistake:
                    if self._diagnostics.full:  # one finding for each column is enough to count
                        self._error(at, "", None)
                        break
                    whole = self._attempt("column", at, at + int(parser.getTokenStream().index))
                    if whole is None:
                        self._mistake(mistake, at, ("`,`", "`)`"), "column")
                        break
                    yield whole  # a name and a type are a column: what follows is what is wrong
                at += int(parser.getTokenStream().index)
                if at >= stop:
                    break
                kinds = frozenset((P.COMMA, P.RPAREN))
                self._unexpected(at, kinds, (), "column")
                if self._tokens[at].type not in NAMES or self._diagnostics.full:
                    break

    def _stream_clauses(self, start: int, end: int) -> Iterator[Any]:
        def begins(at: int) -> bool:
            kind, before = self._tokens[at].type, self._tokens[at - 1].type
            return bool(kind == P.WATERMARK or (kind in STREAM_CLAUSES and before != P.BY))

        at = start
        while at < end:
            token = self._tokens[at]
            near = wording.near_keyword(self._written(at), STREAM_CLAUSES)
            if token.type == P.IDENTIFIER and near is not None:
                self._unexpected(at, frozenset((*STREAM_CLAUSES, P.SEMI)), (), "stream")
                token.type = near
            stop = next((after for after in range(at + 1, end) if begins(after)), end)
            clause = self._piece("streamClause", at, stop, _STREAM_CLAUSE_OR_END, "stream")
            if clause is not None:
                yield clause
            at = stop

    # --- patterns ---------------------------------------------------------------------------------------------------

    def _pattern(self, start: int, end: int) -> ast.Statement | None:
        head: Any = None
        clauses: list[Any] = []
        at, rule = start, "patternHead"
        while at < end:
            stop = next((after for after in range(at + 1, end) if self._tokens[after].type in CLAUSES), end)
            parser = self._parser(at, stop)
            part = None
            piece = "body" if rule == "patternHead" else "pattern"
            try:
                part = getattr(parser, rule)()
                wrong = at + int(parser.getTokenStream().index)
                if wrong < stop:
                    self._unexpected(wrong, frozenset((END,)), _CLAUSE_OR_END, piece)
            except SyntaxMistake as mistake:
                item = rule == "patternClause" and self._tokens[at].type == P.RETURN
                wrong = self._mistake(mistake, at, _CLAUSE_OR_END, "item" if item else piece)
            if wrong < stop:
                if not self._misspelt_clause(wrong):
                    self._further(at, wrong, stop)
                stop = next((after for after in range(at + 1, stop) if self._tokens[after].type in CLAUSES), stop)
                part = self._attempt(rule, at, stop)
            if part is None and self._diagnostics.full:  # one finding for each pattern is enough to count
                break
            if rule == "patternHead":
                head, rule = part, "patternClause"
            elif part is not None:
                clauses.append(part)
            at = stop
        self._close(end, "pattern")
        if head is None:
            self._builder.discard(clauses)
            return None
        return self._builder.pattern(head, clauses, self._span(start, end))

    def _misspelt_clause(self, at: int) -> bool:
        """Whether the token is a clause's keyword with a slip; it is that keyword from now on."""
        token = self._tokens[at]
        if token.type != P.IDENTIFIER:
            return False
        near = wording.near_keyword(self._written(at), CLAUSES)
        if near is not None:
            token.type = near
        return near is not None

    def _further(self, start: int, wrong: int, stop: int) -> None:
        """Look for more mistakes in the rest of a clause that has one."""
        if self._tokens[start].type == P.WHERE:
            at = self._next_term(start, wrong, stop)
            if at is not None:
                self._piece("expression", at, stop, _CLAUSE_OR_END, "pattern", more=(start, at))
        elif self._tokens[start].type == P.RETURN:
            for first, last in self._split(start, stop):
                if first > wrong and first < last:
                    self._piece("returnItem", first, last, ("`,`", "`;`"), "item")

    def _next_term(self, start: int, wrong: int, stop: int) -> int | None:
        """The operand after the next AND or OR outside brackets; None where brackets or a BETWEEN make that unsure."""
        depth = 0
        for at in range(start, stop):
            kind = self._tokens[at].type
            depth += (kind in (P.LPAREN, P.CASE)) - (kind in (P.RPAREN, P.END))
            if at >= wrong and kind == P.BETWEEN:
                return None
            if at >= wrong and depth == 0 and kind in (P.AND, P.OR):
                return at + 1
        return None

    # --- pieces -----------------------------------------------------------------------------------------------------

    def _split(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The ranges between the commas outside brackets."""
        depth, first = 0, start
        for at in range(start, end):
            kind = self._tokens[at].type
            depth += (kind == P.LPAREN) - (kind == P.RPAREN)
            if kind == P.COMMA and depth == 0:
                yield first, at
                first = at + 1
        yield first, end

    def _parser(self, start: int, end: int, strategy: Any = None) -> Any:
        """A parser over a range of tokens; whatever comes after it looks like the end of the file."""
        last = copy(self._tokens[end])
        last.type = END
        return parser_over([*self._tokens[start:end], last], strategy or Strict(), PredictionMode.LL)

    def _attempt(self, rule: str, start: int, end: int) -> Any:
        """The tree of a range that is right; None, with nothing reported, where it is not."""
        parser = self._parser(start, min(end, len(self._tokens) - 1), Fast())
        try:
            tree = getattr(parser, rule)()
        except SyntaxMistake:
            return None
        return tree if parser.getTokenStream().index == end - start else None

    def _piece(
        self, rule: str, start: int, end: int, after: tuple[str, ...], piece: str, more: tuple[int, int] | None = None
    ) -> Any:
        """The tree of a range; None where a mistake was reported. `more`: a clause to look through further."""
        parser = self._parser(start, end)
        try:
            tree = getattr(parser, rule)()
        except SyntaxMistake as mistake:
            wrong = self._mistake(mistake, start, after, piece)
        else:
            wrong = start + int(parser.getTokenStream().index)
            if wrong >= end:
                return tree
            self._unexpected(wrong, frozenset((END,)), after, piece)
        if more is not None and wrong < end and not self._misspelt_clause(wrong):
            self._further(more[0], wrong, end)
        return None

    def _mistake(self, mistake: Any, start: int, after: tuple[str, ...], piece: str) -> int:
        """Report what the parser stumbled over; the index of the token."""
        at = start + int(mistake.recognizer.getTokenStream().index)
        self._unexpected(at, expected(mistake), after, piece)
        return at

    # --- reports ----------------------------------------------------------------------------------------------------

    def _unexpected(self, at: int, kinds: frozenset[int], after: tuple[str, ...], piece: str) -> None:
        if self._diagnostics.full:  # it is counted and not read: no need to look for words
            self._error(at, "", None)
            return
        before = self._tokens[at - 1] if at else None
        message = f"expected {wording.describe(kinds, after)}"
        if before is not None and before.type != P.SEMI:
            message += f" after `{_short(self._written(at - 1))}`"
        token = self._tokens[at]
        hint = wording.hint(
            kinds=kinds,
            found=token.type,
            text=self._written(at),
            before=before.type if before else None,
            recent=[_short(self._written(place)) for place in range(max(at - 6, 0), at)],
            piece=piece,
            following=self._tokens[min(at + 1, len(self._tokens) - 1)].type,
            following_text=_short(self._written(min(at + 1, len(self._tokens) - 1))),
        )
        self._error(at, message, hint)

    def _error(self, at: int, message: str, hint: str | None) -> None:
        token = self._tokens[at]
        if token.type == END:
            if self._cut:
                return  # the text breaks off inside a comment or string, which has been reported
            end = len(self._source.text.rstrip())
            span = self._source.span(max(end, 0), max(end, 0) + 1)
            found = "the end of the file"
        else:
            span = self._source.span(token.start, token.stop + 1)
            found = f"`{_short(self._written(at))}`"
        self._diagnostics.error("CEP0101", span, f"{message}, found {found}", hint=hint)

    def _written(self, at: int) -> str:
        token = self._tokens[at]
        return self._source.text[token.start : token.stop + 1]

    def _span(self, start: int, end: int) -> Any:
        return self._source.span(self._tokens[start].start, self._tokens[min(end, len(self._tokens) - 1) - 1].stop + 1)


def _short(text: str) -> str:
    return text if len(text) <= 30 else text[:27] + "..."

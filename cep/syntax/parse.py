"""Text to syntax tree.

Two stages. The first parses the whole file in one go (SLL prediction, stop at the first mistake): all that a file
without mistakes needs. Where it stops, `cep.syntax.recover` parses the file again piece by piece (LL prediction) and
reports a mistake per piece, so that one run finds all of them.

Guarantee: `parse` never raises, whatever the text; where it reports no error, the tree is complete. Cost: linear in the
text, which has an end (`cep.limits`); files nested deeper than `MAX_NESTING` brackets are reported (CEP0107) instead of
exhausting the stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from antlr4.atn.PredictionMode import PredictionMode

from cep.syntax._generated.CepParser import CepParser
from cep.syntax.build import Builder
from cep.syntax.lex import Lexed, TokenRoom, lex
from cep.syntax.recover import recover
from cep.syntax.tokens import Fast, SyntaxMistake, parser_over

if TYPE_CHECKING:
    from cep.diagnostics import Diagnostics
    from cep.ir import ast
    from cep.source import Source

MAX_NESTING = 64
"""Brackets, CASEs and prefix operators inside each other. A level takes up to six frames of Python's 1000."""

_OPENING = (CepParser.LPAREN, CepParser.CASE)
_CLOSING = (CepParser.RPAREN, CepParser.END)
_PREFIX = (CepParser.NOT, CepParser.MINUS)
_NAMING = (CepParser.DOT, CepParser.AS)


def parse(source: Source, diagnostics: Diagnostics, room: TokenRoom | None = None) -> ast.File:
    """The syntax tree of a file. On errors, reported in `diagnostics`, it holds what could be understood.

    `room` is how many tokens this file and others may have together.
    """
    return parse_tokens(source, lex(source, diagnostics, room), diagnostics)


def parse_tokens(source: Source, lexed: Lexed, diagnostics: Diagnostics) -> ast.File:
    """The syntax tree of a file whose tokens are known."""
    builder = Builder(source, diagnostics)
    lexed = _without_deep(source, lexed, diagnostics)
    try:
        try:
            tree = parse_tree(lexed)
        except SyntaxMistake as mistake:
            statements = recover(source, lexed, builder, diagnostics)
            if not diagnostics.has_errors:  # the stages disagree: never call a broken file good
                wrong = mistake.offendingToken
                diagnostics.error("CEP0101", source.span(wrong.start, wrong.stop + 1), "this does not fit here")
            return builder.file(statements)
        return builder.file(builder.statement(statement) for statement in tree.statements)
    except RecursionError:  # the caller's own stack was nearly full
        diagnostics.error("CEP0107", source.span(0, 0), "nested too deeply for the stack that is left")
        return builder.file(())


def parse_tree(lexed: Lexed) -> Any:
    """ANTLR's tree of a file without mistakes; raises `SyntaxMistake` at the first one."""
    for index, token in enumerate(lexed.tokens):
        token.tokenIndex = index
    return parser_over(lexed.tokens, Fast(), PredictionMode.SLL).cepFile()


def _without_deep(source: Source, lexed: Lexed, diagnostics: Diagnostics) -> Lexed:
    """The tokens without the statements that are nested too deeply; those are reported."""
    kept: list[Any] = []
    statement: list[Any] = []
    depth = prefixes = before = 0
    deep: Any = None
    for token in lexed.tokens:
        kind = token.type
        statement.append(token)
        prefixes = prefixes + 1 if kind in _PREFIX else 0
        if before in _NAMING:
            pass  # `a.end` and `AS case` are names
        elif kind in _OPENING:
            depth += 1
        elif kind in _CLOSING:
            depth = max(0, depth - 1)
        before = kind
        if deep is None and depth + prefixes > MAX_NESTING:
            deep = token
        if kind in (CepParser.SEMI, CepParser.EOF):
            if deep is None:
                kept += statement
            else:
                diagnostics.error(
                    "CEP0107",
                    source.span(deep.start, deep.stop + 1),
                    f"nested more than {MAX_NESTING} levels deep",
                    hint="take out parentheses that are not needed, or split the pattern",
                )
            statement, depth, deep = [], 0, None
    if not kept or kept[-1].type != CepParser.EOF:
        kept.append(lexed.tokens[-1])
    return Lexed(kept, lexed.comments, lexed.cut)

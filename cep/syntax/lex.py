"""Text to tokens, with everything that is wrong at the level of characters reported and repaired.

The generated lexer accepts any text. Here its error tokens (an unknown character, a string without an end, `&&`) become
diagnostics, and each is repaired to what was most likely meant, so that one slip does not hide or cause others.

Guarantee: never raises; the tokens end with one EOF token; comments are kept apart, in order. Cost: linear.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from antlr4 import InputStream
from antlr4.Token import CommonToken, Token

from cep import limits
from cep.syntax._generated.CepLexer import CepLexer
from cep.syntax.quick import Quick

if TYPE_CHECKING:
    from cep.diagnostics import Diagnostics
    from cep.source import Source

_SLIPS = {
    "&&": (CepLexer.AND, "write `AND`"),
    "&": (CepLexer.AND, "write `AND`"),
    "||": (CepLexer.OR, "write `OR` between conditions; texts cannot be joined yet"),
    "|": (CepLexer.OR, "write `OR`"),
    "!": (CepLexer.NOT, "write `NOT`"),
    "=>": (CepLexer.GE, "write `>=`"),
    "=<": (CepLexer.LE, "write `<=`"),
    ":=": (CepLexer.EQ, "write `=`"),
    "->": (None, "a sequence of events is written `SEQ(A a, B b)`"),
}
_SIGNS = {
    "~": "regular expressions are not supported yet: LIKE knows `%` (any text) and `_` (one character)",
    "#": "a comment starts with `--`",
    "^": "there is no power yet: write `x * x`",
    "$": "a name has letters, digits and `_`; others stand in double quotes",
    "@": "annotations are not supported yet",
    "[": "a list stands in parentheses: `a.x IN (1, 2, 3)`",
    "]": "a list stands in parentheses: `a.x IN (1, 2, 3)`",
    ":": "durations have units, not colons: `5 MINUTES`; conversions are not written",
}
_QUOTES = "\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\uff07\uff02\u00b4\u0060\u00ab\u00bb\u2032\u2033"
_LOOKALIKES = {
    "\uff08": "(",
    "\uff09": ")",
    "\uff0c": ",",
    "\uff1b": ";",
    "\uff1d": "=",
    "\uff1c": "<",
    "\uff1e": ">",
    "\u2013": "-",
    "\u2014": "-",
    "\u2212": "-",
    "\u2264": "<=",
    "\u2265": ">=",
    "\u2260": "<>",
    "\u00d7": "*",
    "\uff0e": ".",
    "\u037e": ";",
}
_LOOKALIKE_TYPES = {
    char: getattr(CepLexer, name)
    for chars, name in [
        ("\uff08", "LPAREN"), ("\uff09", "RPAREN"), ("\uff0c", "COMMA"), ("\uff1b\u037e", "SEMI"), ("\uff1d", "EQ"),
        ("\uff1c", "LT"), ("\uff1e", "GT"), ("\u2013\u2014\u2212", "MINUS"), ("\u2264", "LE"), ("\u2265", "GE"),
        ("\u2260", "NE"), ("\u00d7", "STAR"), ("\uff0e", "DOT"),
    ]
    for char in chars
}  # fmt: skip


class TokenRoom:
    """How many tokens may still come, of all files that are read together."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = limits.TOKENS


@dataclass(frozen=True, slots=True)
class Lexed:
    """The tokens that the parser sees, the comments, and whether the text breaks off inside a comment or string."""

    tokens: list[Any]
    comments: list[Any]
    cut: bool


def lex(source: Source, diagnostics: Diagnostics, room: TokenRoom | None = None) -> Lexed:
    """The tokens of a file; what is wrong with its characters goes to `diagnostics`.

    Of a file that is too long, or has more tokens than there is `room` for, there are none: half a file would only earn
    findings that vanish with it.
    """
    room = TokenRoom() if room is None else room
    if len(source.text) > limits.FILE_BYTES:
        message = f"`{source.name}` is longer than {limits.FILE_BYTES:,} characters"
        diagnostics.error("CEP0108", source.span(0, 1), message, hint="split it into several files")
        return _nothing(source)
    lexer = CepLexer(InputStream(source.text))
    lexer.removeErrorListeners()
    Quick.install(lexer)
    tokens: list[Any] = []
    comments: list[Any] = []
    cut = False
    covered = 0
    wrong_until = -1
    while True:
        token = lexer.nextToken()
        kind = token.type
        room.left -= 1
        if room.left < 0:
            _too_many(source, diagnostics, token)
            return _nothing(source)
        if kind == Token.EOF:
            token.start, token.stop = len(source.text), len(source.text) - 1
            tokens.append(token)
            return Lexed(tokens, comments, cut)
        if token.start < covered:
            continue
        if token.channel != Token.DEFAULT_CHANNEL:
            comments.append(token)
        elif kind < CepLexer.WRONG_OPERATOR:
            if token.stop - token.start >= limits.NAME:
                _long(source, diagnostics, token)
            tokens.append(token)
        elif kind == CepLexer.WRONG_OPERATOR:
            _slip(source, diagnostics, token)
            tokens.append(token)
        elif kind == CepLexer.UNTERMINATED_COMMENT:
            span = source.span(token.start, token.start + 2)
            diagnostics.error("CEP0103", span, "this comment never ends", hint="close it with `*/`")
            cut = True
        elif kind in (CepLexer.UNTERMINATED_STRING, CepLexer.UNTERMINATED_QUOTED):
            tokens += _unterminated(source, diagnostics, token)
            cut = cut or token.stop + 1 == len(source.text.rstrip())
        elif (stop := _quoted(source, token.start)) is not None:
            span = source.span(token.start, stop)
            diagnostics.error(
                "CEP0102",
                span,
                f"unknown quotation mark `{source.text[token.start]}`",
                hint=f"text stands between straight quotes: '{source.text[token.start + 1 : stop - 1]}'",
            )
            token.type, token.stop, covered = CepLexer.STRING, stop - 1, stop
            tokens.append(token)
        elif token.start > wrong_until:
            wrong_until = _unknown(source, diagnostics, token.start)
            char = source.text[token.start]
            if char in _LOOKALIKES:
                token.type = _LOOKALIKE_TYPES[char]
                tokens.append(token)
            elif char.isalpha():
                covered = _word(source, tokens, token)
    raise AssertionError


def _nothing(source: Source) -> Lexed:
    end = CommonToken(type=Token.EOF, start=len(source.text), stop=len(source.text) - 1)
    return Lexed([end], [], False)


def _too_many(source: Source, diagnostics: Diagnostics, token: Any) -> None:
    diagnostics.error(
        "CEP0108",
        source.span(token.start, token.stop + 1),
        f"more than {limits.TOKENS:,} words and signs, with what is imported",
        hint="split the file: up to here it is as large as it can be",
    )


def _long(source: Source, diagnostics: Diagnostics, token: Any) -> None:
    """Report a literal or a name that is too long; it keeps its place, and is short from here on."""
    length = token.stop + 1 - token.start
    most = limits.TEXT + 2 if token.type == CepLexer.STRING else limits.NAME
    if length > most:
        what = "text" if token.type == CepLexer.STRING else "name or number"
        diagnostics.error(
            "CEP0109",
            source.span(token.start, token.stop + 1),
            f"{what} of {length:,} characters",
            hint=f"the longest has {limits.TEXT if what == 'text' else limits.NAME:,}",
        )


def _slip(source: Source, diagnostics: Diagnostics, token: Any) -> None:
    text = source.text[token.start : token.stop + 1]
    kind, hint = _SLIPS[text]
    diagnostics.error("CEP0101", source.span(token.start, token.stop + 1), f"unknown operator `{text}`", hint=hint)
    if kind is not None:
        token.type = kind


def _unterminated(source: Source, diagnostics: Diagnostics, token: Any) -> list[Any]:
    """The rest of the line as a string; a `;` that closes the line is taken for the end of the statement."""
    text = source.text[token.start : token.stop + 1]
    quote = text[0]
    what = "string" if quote == "'" else "quoted name"
    diagnostics.error(
        "CEP0103",
        source.span(token.start, token.stop + 1),
        f"this {what} never ends",
        hint=f"close it with {quote} on the same line (a {quote} inside is written {quote}{quote})",
    )
    token.type = CepLexer.STRING if quote == "'" else CepLexer.QUOTED
    kept = text.rstrip()
    if not kept.endswith(";"):
        return [token]
    token.stop = token.start + len(kept) - 2
    return [token, _token(token, CepLexer.SEMI, token.stop + 1)]


def _word(source: Source, tokens: list[Any], token: Any) -> int:
    """Make one name of the letters around an unknown one; the offset after it."""
    text = source.text
    stop = int(token.start) + 1
    while stop < len(text) and (text[stop].isalnum() or text[stop] == "_"):
        stop += 1
    if tokens and tokens[-1].type <= CepLexer.IDENTIFIER and tokens[-1].stop + 1 == token.start:
        token = tokens[-1]
    else:
        tokens.append(token)
    token.type, token.stop = CepLexer.IDENTIFIER, stop - 1
    return stop


def _token(near: Any, kind: int, at: int) -> Any:
    made = CommonToken(near.source, kind, Token.DEFAULT_CHANNEL, at, at)
    made.line, made.column = near.line, near.column + at - near.start
    return made


def _quoted(source: Source, start: int) -> int | None:
    """Where text between typographic quotes that starts here ends; None where it does not."""
    text = source.text
    if text[start] not in _QUOTES:
        return None
    line_end = text.find("\n", start)
    for at in range(start + 1, len(text) if line_end < 0 else line_end):
        if text[at] in _QUOTES:
            return at + 1
    return None


def _unknown(source: Source, diagnostics: Diagnostics, start: int) -> int:
    """Report a run of unknown characters as one finding; the offset of its last character."""
    text = source.text
    stop = start + 1
    while stop < len(text) and not text[stop].isspace() and not (" " < text[stop] <= "~") and text[stop] not in _QUOTES:
        stop += 1
    run = text[start:stop]
    hint = None
    if run[0] in _LOOKALIKES:
        hint = f"write `{_LOOKALIKES[run[0]]}`"
    elif run[0] in _QUOTES:
        hint = "text stands between straight quotes: 'text'"
    elif run[0] == "[" and start and (text[start - 1].isalnum() or text[start - 1] == "_"):
        hint = "the ends of a set `B+ b` are `FIRST(b.x)` and `LAST(b.x)`; a quantifier is written `B{5,} b`"
    elif run[0] in _SIGNS:
        hint = _SIGNS[run[0]]
    elif run[0].isalpha():
        hint = 'a name with other letters than a-z stands in double quotes: "größe"'
    names = ", ".join(f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip() for char in run[:3])
    shown = run[:10] if run.isprintable() else ""
    message = f"unknown character{'s' if len(run) > 1 else ''}" + (f" `{shown}`" if shown else "") + f" ({names})"
    diagnostics.error("CEP0102", source.span(start, stop), message, hint=hint)
    return stop - 1

"""Colours for pattern files: a Pygments lexer, found by its name `cep` or the ending `.cep`.

Sphinx, MkDocs, Jupyter and `rich` colour with Pygments. It only colours: what is wrong, `cep validate` says.
"""

from __future__ import annotations

import re
from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from cep.compiler.shared.functions import EVERY_FUNCTION
from cep.lsp.keywords import BODY_HELP, KEYWORD_HELP, TYPE_HELP

_NAME = r'(?:[A-Za-z_][A-Za-z0-9_]*|"(?:[^"\r\n]|"")+")'


class CepLexer(RegexLexer):  # type: ignore[misc]  # pygments has no types
    """Tokens of the pattern language.

    >>> from pygments import lex
    >>> [(str(kind), text) for kind, text in lex("WHERE a.end", CepLexer()) if text.strip()]
    [('Token.Keyword', 'WHERE'), ('Token.Name', 'a'), ('Token.Punctuation', '.'), ('Token.Name.Attribute', 'end')]
    """

    name = "CEP"
    aliases: ClassVar[list[str]] = ["cep"]
    filenames: ClassVar[list[str]] = ["*.cep"]
    flags = re.IGNORECASE
    tokens: ClassVar = {
        "root": [
            (r"\s+", Text),
            (r"--[^\r\n]*", Comment.Single),
            (r"/\*(?:[^*]|\*(?!/))*\*/", Comment.Multiline),
            (r"'(?:[^'\r\n]|'')*'?", String),
            (rf"(\.)(\s*)({_NAME})", bygroups(Punctuation, Text, Name.Attribute)),
            (rf"(STREAM|PATTERN)(\s+)({_NAME})", bygroups(Keyword, Text, Name.Class)),
            (r"\d+(?:\.\d+)?(?:E[+-]?\d+)?|\.\d+(?:E[+-]?\d+)?", Number),
            (words(tuple(EVERY_FUNCTION), prefix=r"\b", suffix=r"\b(?=\s*\()"), Name.Function),
            (words(tuple(BODY_HELP), prefix=r"\b", suffix=r"\b(?=\s*\()"), Keyword),
            (r"\b(?:NULL|TRUE|FALSE)\b", Keyword.Constant),
            (r"\bTIMESTAMP(?=\s+BY\b)", Keyword),
            (words(tuple(TYPE_HELP), prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (words(tuple(KEYWORD_HELP), prefix=r"\b", suffix=r"\b"), Keyword),
            (_NAME, Name),
            (r"<>|!=|<=|>=|==|[=<>+\-*/%?]", Operator),
            (r"[(){},;.]", Punctuation),
        ]
    }

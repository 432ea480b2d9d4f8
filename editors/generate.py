"""Write what editors need to know of the language: `python editors/generate.py [--check]`, or `make editors`.

Keywords come from grammar/CepLexer.g4, types and functions from the compiler, so that highlighting cannot fall behind
the language: a keyword that nobody has put into a group below is coloured as a keyword all the same.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from cep.compiler.shared.functions import EVERY_FUNCTION  # noqa: E402 - needs the path above
from cep.ir.types import COLUMN_TYPES  # noqa: E402 - needs the path above

LEXER = ROOT / "grammar" / "CepLexer.g4"
TARGET = ROOT / "editors" / "vscode" / "syntaxes" / "cep.tmLanguage.json"

_RULE = re.compile(r"^(?P<name>[A-Z]+)\s*:\s*'(?P<word>[A-Z]+)'(?P<plural>\s*'S'\?)?\s*;", re.MULTILINE)
_CONSTANTS = ("NULL", "TRUE", "FALSE")
_OPERATORS = ("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS")
_BODY = ("NEXT", "RUN")
"""Operators of a body that are names elsewhere; `FIRST` and `LAST` are functions too, and coloured like those."""
_UNITS = ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "MICROSECOND", "NANOSECOND")
_NAME = r"(?:[A-Za-z_][A-Za-z0-9_]*|\"(?:[^\"\r\n]|\"\")+\")"


def keywords(grammar: str) -> dict[str, str]:
    r"""Each keyword of the lexer with a regular expression for its spellings.

    >>> keywords("AND : 'AND' ;\nHOUR : 'HOUR' 'S'? ;\nLT : '<' ;")
    {'AND': 'AND', 'HOUR': 'HOURS?'}
    """
    return {rule["word"]: rule["word"] + ("S?" if rule["plural"] else "") for rule in _RULE.finditer(grammar)}


def text_mate(grammar: str) -> dict[str, Any]:
    """The TextMate grammar. Earlier patterns win: names after a dot are attributes, whatever they are called."""
    words = keywords(grammar)
    grouped = {*_CONSTANTS, *_OPERATORS, *_UNITS}
    rest = [spelling for word, spelling in words.items() if word not in grouped]
    types = [type_.value for type_ in COLUMN_TYPES]
    units = _any(words[word] for word in _UNITS)
    return {
        "name": "CEP",
        "scopeName": "source.cep",
        "patterns": [
            {"name": "comment.line.double-dash.cep", "match": r"--.*$"},
            {"name": "comment.block.cep", "begin": r"/\*", "end": r"\*/"},
            {"name": "string.quoted.single.cep", "match": r"'(?:[^'\r\n]|'')*'?"},
            {
                "match": rf"(\.)\s*({_NAME})",
                "captures": {"1": {"name": "punctuation.accessor.cep"}, "2": {"name": "variable.other.property.cep"}},
            },
            {
                "match": rf"(?i)\b(STREAM|PATTERN)\s+({_NAME})",
                "captures": {"1": {"name": "keyword.control.cep"}, "2": {"name": "entity.name.type.cep"}},
            },
            {
                "match": rf"(?i)(\d+(?:\.\d+)?)\s+({units})\b",
                "captures": {"1": {"name": "constant.numeric.cep"}, "2": {"name": "keyword.other.unit.cep"}},
            },
            {"name": "constant.numeric.cep", "match": r"(?i)\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b|\.\d+(?:e[+-]?\d+)?\b"},
            {"name": "support.function.cep", "match": rf"(?i)\b{_any(EVERY_FUNCTION)}\b(?=\s*\()"},
            {"name": "keyword.operator.word.cep", "match": rf"(?i)\b{_any(_BODY)}\b(?=\s*\()"},
            {"name": "constant.language.cep", "match": rf"(?i)\b{_any(words[word] for word in _CONSTANTS)}\b"},
            {"name": "keyword.operator.word.cep", "match": rf"(?i)\b{_any(words[word] for word in _OPERATORS)}\b"},
            {"name": "keyword.control.cep", "match": r"(?i)\bTIMESTAMP(?=\s+BY\b)"},
            {"name": "storage.type.cep", "match": rf"(?i)\b{_any(types)}\b"},
            {"name": "keyword.control.cep", "match": rf"(?i)\b{_any(rest)}\b"},
            {"name": "keyword.other.unit.cep", "match": rf"(?i)\b{units}\b"},
            {"name": "keyword.operator.quantifier.cep", "match": r"\{\s*\d+\s*(?:,\s*\d*\s*)?\}"},
            {"name": "keyword.operator.cep", "match": r"<>|!=|<=|>=|==|[=<>+\-*/%?]"},
            {"name": "variable.other.cep", "match": _NAME},
        ],
    }


def _any(words: Any) -> str:
    return "(?:" + "|".join(words) + ")"


def rendered() -> str:
    """The text of the grammar file."""
    return json.dumps(text_mate(LEXER.read_text(encoding="utf-8")), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the file; with `--check`, say whether that would change it (status 1)."""
    options = argparse.ArgumentParser(description="Generate editor support from the grammar.")
    options.add_argument("--check", action="store_true", help="write nothing; leave with 1 where the file is stale")
    check: bool = options.parse_args().check
    text = rendered()
    stale = not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text
    if stale and not check:
        TARGET.write_text(text, encoding="utf-8")
    if stale:
        print(f"{'stale' if check else 'written'}: {TARGET.relative_to(ROOT)}", file=sys.stderr)  # noqa: T201 - a command
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())

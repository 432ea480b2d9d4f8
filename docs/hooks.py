"""For MkDocs: colours for JSON Lines, which Pygments knows under the name of JSON only."""

from __future__ import annotations

from typing import Any

from pygments import lexers
from pygments.lexers import data


def on_startup(**_: Any) -> None:
    """Make `jsonl` a name of the JSON lexer."""
    module, name, aliases, files, kinds = lexers.LEXERS["JsonLexer"]
    lexers.LEXERS["JsonLexer"] = (module, name, tuple({*aliases, "jsonl"}), files, kinds)
    data.JsonLexer.aliases = [*data.JsonLexer.aliases, "jsonl"]

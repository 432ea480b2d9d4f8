"""The quick way through the lexer's automaton gives the tokens that ANTLR's own gives."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from antlr4 import InputStream

from cep.syntax._generated.CepLexer import CepLexer
from cep.syntax.quick import Quick

ROOT = Path(__file__).parents[2]
PIECES = (
    *("a", "SEQ", "WITHIN", " ", "\n", "\t", "\r\n", "'", '"', "--", "/*", "*/", "*", ";", ":=", "=<", "&&", "!", "%"),
    *("$", "@", "#", "\\", ".", ",", "(", ")", "0", "12", "1.5e3", "1e", "_", "\u00a0", "\ufeff", "\u00a1", "\u009f"),
    *("\u0080", "é", "日本", "\U0001f600", "\uffff", "\ufefe", "\uff00", "\u200b", "\u2019", "\x00", "\x7f"),
)


def tokens(text: str, *, quick: bool) -> list[tuple[int, ...]]:
    lexer: Any = CepLexer(InputStream(text))
    lexer.removeErrorListeners()
    if quick:
        Quick.install(lexer)
    found = []
    while not found or found[-1][0] != -1:
        token = lexer.nextToken()
        found.append((token.type, token.start, token.stop, token.line, token.column, token.channel))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_any_text_has_the_same_tokens(seed: int) -> None:
    rng = Random(seed)
    for _ in range(100):
        text = "".join(rng.choices(PIECES, k=rng.randint(0, 40)))
        assert tokens(text, quick=True) == tokens(text, quick=False), repr(text)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.cep")), ids=lambda path: path.stem)
def test_examples_have_the_same_tokens(path: Path) -> None:
    text = path.read_text()
    assert tokens(text, quick=True) == tokens(text, quick=False)


def test_every_character_beyond_ascii_is_of_the_class_it_is_taken_for() -> None:
    """One after the other, twice: the second time from what the first has taught."""
    text = "a".join(map(chr, [*range(0x80, 0x250), 0x2018, 0x3000, 0xFEFE, 0xFEFF, 0xFF00, 0xFFFF, 0x10000, 0x10FFFF]))
    for _ in range(2):
        assert tokens(text, quick=True) == tokens(text, quick=False)

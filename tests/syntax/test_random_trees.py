"""What holds for every tree and every text."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cep.diagnostics import Diagnostics
from cep.ir import ast
from cep.source import Source
from cep.syntax.fmt import fmt
from cep.syntax.lex import lex
from cep.syntax.unparse import unparse
from tests.syntax.helpers import formatted, parsed, parsed_well, pattern_files, read
from tests.syntax.strategies import files

FILES = [text for text in (read(path) for path in pattern_files()) if not parsed(text)[1]]
quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def words(text: str) -> list[str]:
    """The tokens without case, comments and layout."""
    source = Source("t", text)
    return [text[t.start : t.stop + 1].upper() for t in lex(source, Diagnostics()).tokens]


def comments(text: str) -> list[str]:
    source = Source("t", text)
    found = (text[t.start : t.stop + 1] for t in lex(source, Diagnostics()).comments)
    return [comment.replace("\r\n", "\n").replace("\r", "\n").rstrip() for comment in found]


@given(files)
@quick
def test_a_tree_survives_being_written_and_read(file: ast.File) -> None:
    assert parsed_well(unparse(file)) == file


@given(files)
@quick
def test_formatting_changes_neither_the_tree_nor_a_formatted_text(file: ast.File) -> None:
    once = formatted(unparse(file))
    assert parsed_well(once) == file
    assert formatted(once) == once


COMMENTS = [
    "-- c\n",
    "--\n",
    "/* c */",
    "/* two\n   lines */",
    "\n-- own line\n",
    "\n\n-- apart\n\n",
    " /* own */\n",
    "\n/**/",
]


@given(st.sampled_from(FILES), st.randoms(use_true_random=False), st.sampled_from([0.02, 0.2, 0.6]))
@quick
def test_formatting_keeps_every_comment_wherever_it_stands(text: str, rng: random.Random, share: float) -> None:
    tokens = lex(Source("t", text), Diagnostics()).tokens
    end, parts = 0, []
    for token in tokens:
        parts.append(text[end : token.start])
        if rng.random() < share:
            minus = bool(parts) and "".join(parts[-2:]).endswith("-")  # `-` before `--` would be part of the comment
            parts.append(" " * minus + rng.choice(COMMENTS).replace("c", f"c{len(parts)}"))
        parts.append(text[token.start : token.stop + 1])
        if rng.random() < 0.1:
            parts.append(rng.choice([" ", "\n", "\t", "\r\n"]))
        end = token.stop + 1
    commented = "".join(parts)
    once = formatted(commented)
    assert sorted(comments(once)) == sorted(comments(commented))
    assert parsed_well(once) == parsed_well(text)
    assert formatted(once) == once


@pytest.mark.parametrize("path", pattern_files(), ids=lambda path: path.stem)
def test_every_file_of_the_repository_formats_to_the_same_tree(path: object) -> None:
    text = read(path)  # type: ignore[arg-type]
    tree, found = parsed(text)
    once = formatted(text)
    if found:
        assert once == text
    else:
        assert parsed_well(once) == tree == parsed_well(unparse(tree))
        assert formatted(once) == once
        assert words(once.replace("<>", "!=")) == words(text.replace("<>", "!=").replace("==", "="))


@given(st.binary(max_size=200))
@quick
def test_random_bytes_never_raise(data: bytes) -> None:
    for text in (
        data.decode("latin-1"),
        data.decode("utf-8", errors="surrogateescape"),
        data.decode("utf-16", "replace"),
    ):
        _whatever(text)


@given(
    st.lists(
        st.sampled_from(
            [
                "STREAM",
                "PATTERN",
                "IMPORT",
                "SEQ",
                "(",
                ")",
                ",",
                ";",
                ".",
                "a",
                "b",
                "'x'",
                "1",
                "WHERE",
                "AND",
                "NOT",
                "CASE",
                "END",
                "RETURN",
                "+",
                "{",
                "}",
                "WITHIN",
                "HOUR",
                '"',
                "'",
                "/*",
                "--",
                "TIMESTAMP",
                "BY",
                "IN",
                "BETWEEN",
                "::",
                "\x00",
                "\ud800",
                "DISTINCT",
                "AS",
            ]
        ),
        max_size=40,
    )
)
@quick
def test_random_words_never_raise(chosen: list[str]) -> None:
    _whatever(" ".join(chosen))


@given(st.sampled_from(FILES), st.randoms(use_true_random=False))
@quick
def test_mutilated_files_never_raise(text: str, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        cut = rng.choice([0, 1, 1, 3, 20])
        text = (
            text[:at]
            + rng.choice(["", "(", ")", "'", ";", ",", " WHERE ", " PATTERN ", "\0", "/*", '"'])
            + text[at + cut :]
        )
    _whatever(text)


def _whatever(text: str) -> None:
    file, found = parsed(text)
    diagnostics = Diagnostics()
    once = fmt(Source("t", text), diagnostics)
    assert bool(found) == diagnostics.has_errors
    for item in found:
        assert 0 <= item.span.start <= item.span.end <= len(text)
    if found:
        assert once == text
    else:
        assert parsed_well(once) == file
        assert formatted(once) == once

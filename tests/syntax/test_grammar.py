"""The grammar and what is generated from it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cep.syntax import regenerate
from cep.syntax._generated.CepLexer import CepLexer
from cep.syntax._generated.CepParser import CepParser
from cep.syntax.unparse import RESERVED
from tests.syntax.helpers import parsed, parsed_well


def test_the_committed_parser_is_what_the_grammar_gives(tmp_path: Path) -> None:
    try:
        modules = regenerate.generate(tmp_path)
    except regenerate.ToolMissingError as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI must be able to regenerate the parser: {error}")
        pytest.skip(str(error))
    for name, text in modules.items():
        assert (regenerate.GENERATED / name).read_text(encoding="utf-8") == text, f"{name} is stale: run make grammar"


def test_generated_files_depend_on_the_grammar_alone() -> None:
    for name in regenerate.MODULES:
        head = (regenerate.GENERATED / name).read_text(encoding="utf-8").splitlines()[0]
        assert re.fullmatch(rf"# Generated from Cep(Lexer|Parser)\.g4 by ANTLR {regenerate.VERSION}", head)


def test_tool_and_runtime_are_the_same_version() -> None:
    from importlib.metadata import version

    assert version("antlr4-python3-runtime") == regenerate.VERSION


def test_one_token_of_lookahead_is_always_enough() -> None:
    text = (regenerate.GENERATED / "CepParser.py").read_text(encoding="utf-8")
    assert "adaptivePredict" not in text


def test_the_grammar_has_no_actions_and_labels_every_alternative() -> None:
    for name in regenerate.GRAMMARS:
        text = re.sub(r"//.*", "", (regenerate.GRAMMAR / name).read_text(encoding="utf-8"))
        text = re.sub(r"options \{[^}]*\}", "", text)
        assert "{" not in re.sub(r"\[(?:\\.|[^]])*]|'(?:\\.|[^'])*'", "", text)
    rules = re.findall(r"^\w+\s*:.*?;\s*$|^\w+\n.*?^    ;", text, flags=re.MULTILINE | re.DOTALL)
    assert len(rules) > 15
    for rule in rules:
        flat = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", rule))
        alternatives = flat.split("|")
        if len(alternatives) > 1:
            assert all("#" in alternative for alternative in alternatives), rule


def test_reserved_words_are_those_of_the_lexer() -> None:
    assert set(CepLexer.symbolicNames[CepLexer.STREAM : CepLexer.END + 1]) == RESERVED


@pytest.mark.parametrize("word", CepParser.symbolicNames[CepParser.TIMESTAMP : CepParser.DAY + 1])
def test_words_that_are_not_reserved_name_anything(word: str) -> None:
    low = word.lower()
    text = f"STREAM {low} ({low} INT); PATTERN {low} {low} {low} WHERE {low}.{low} > {low}({low}.{low}) UNBOUNDED;"
    assert len(parsed_well(text).statements) == 2


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_reserved_words_name_nothing_unless_quoted(word: str) -> None:
    assert parsed(f"PATTERN {word} A a UNBOUNDED;")[1]
    assert parsed_well(f'PATTERN "{word}" A a UNBOUNDED;').statements


@pytest.mark.parametrize("word", ["stream", "pattern", "end", "case", "null", "as", "seq", "distinct"])
def test_most_reserved_words_name_columns_attributes_and_fields(word: str) -> None:
    parsed_well(f"STREAM S ({word} INT); PATTERN P S s WHERE s.{word} = 1 UNBOUNDED RETURN s.{word} AS {word};")


def test_nobody_who_does_not_parse_loads_antlr() -> None:
    code = "import sys, cep.ir.ast, cep.syntax.unparse, cep.syntax.regenerate; print('antlr4' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=regenerate.GRAMMAR.parent
    )
    assert run.stdout.strip() == "False"

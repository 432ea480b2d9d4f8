"""Shared by the syntax tests: where the repository's files are, and short ways to parse and format."""

from __future__ import annotations

from pathlib import Path

from cep.diagnostics import Diagnostic, Diagnostics
from cep.ir import ast
from cep.source import Source
from cep.syntax.fmt import fmt
from cep.syntax.parse import parse

ROOT = Path(__file__).resolve().parents[2]


def pattern_files() -> list[Path]:
    """Every .cep file of the repository."""
    found = [path for folder in ("examples", "tests", "docs", "benchmarks") for path in (ROOT / folder).rglob("*.cep")]
    return sorted(found)


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", errors="replace")


def parsed(text: str) -> tuple[ast.File, tuple[Diagnostic, ...]]:
    diagnostics = Diagnostics()
    file = parse(Source("test.cep", text), diagnostics)
    return file, diagnostics.sorted()


def parsed_well(text: str) -> ast.File:
    file, found = parsed(text)
    assert not found, [f"{d.span.line}:{d.span.column} {d.message}" for d in found] + [text]
    return file


def formatted(text: str) -> str:
    return fmt(Source("test.cep", text), Diagnostics())


def report(text: str) -> list[str]:
    """The findings of a text, one line each: place, code, message, hint."""
    _, found = parsed(text)
    return [
        f"{d.span.line}:{d.span.column}-{d.span.end_line}:{d.span.end_column} {d.code} {d.message}"
        + (f" | {d.hint}" if d.hint else "")
        for d in found
    ]

"""docs/diagnostics.md speaks of every code, and its examples are true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from cep.compiler.pipeline import compile_source
from cep.diagnostics import CODES, Diagnostic, Severity
from cep.source import Source

NOT_YET = ("CEP0901",)
"""What is judged in full and refused at the end, because it does not run yet."""

PAGE = (Path(__file__).parents[2] / "docs" / "diagnostics.md").read_text(encoding="utf-8")


class Entry(NamedTuple):
    code: str
    title: str
    wrong: str
    fixed: str


def blocks(text: str) -> list[str]:
    return re.findall(r"^```cep\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def entries() -> list[Entry]:
    found = []
    for section in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]:
        code, title = section.partition("\n")[0].split(": ", 1)
        wrong, fixed = blocks(section)
        found.append(Entry(code, title, wrong, fixed))
    return found


ENTRIES = entries()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that the examples import."""
    (tmp_path / "streams.cep").write_text(blocks(PAGE)[0], encoding="utf-8")
    (tmp_path / "loop.cep").write_text("IMPORT 'example.cep';\n", encoding="utf-8")
    (tmp_path / "latin1.cep").write_bytes("-- Zürich\n".encode("latin-1"))
    (tmp_path / "huge.cep").write_text("-- much\n" * 200_000, encoding="utf-8")
    (tmp_path / "long.cep").write_text(f"STREAM {'x' * 1000} (n INT);\n", encoding="utf-8")
    (tmp_path / "broken.cep").write_text("STREAM ;\n" * 1000, encoding="utf-8")
    return tmp_path


def findings(folder: Path, text: str) -> tuple[Diagnostic, ...]:
    path = folder / "example.cep"
    path.write_text(text, encoding="utf-8")
    return compile_source(Source(str(path), text)).diagnostics


def test_the_page_has_every_code_with_its_title_in_order() -> None:
    assert [(entry.code, entry.title) for entry in ENTRIES] == sorted(CODES.items())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.code)
def test_the_example_earns_the_code(entry: Entry, folder: Path) -> None:
    assert entry.code in [item.code for item in findings(folder, entry.wrong)]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.code)
def test_the_fixed_example_has_no_error_and_not_this_warning(entry: Entry, folder: Path) -> None:
    found = [item for item in findings(folder, entry.fixed) if item.code not in NOT_YET or item.code == entry.code]
    assert [item for item in found if item.severity is Severity.ERROR or item.code == entry.code] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.code)
def test_the_page_says_which_codes_are_warnings(entry: Entry, folder: Path) -> None:
    (severity,) = {item.severity for item in findings(folder, entry.wrong) if item.code == entry.code}
    section = PAGE.partition(f"### {entry.code}:")[2].partition("\n### ")[0]
    assert (severity is Severity.WARNING) is ("\n\nWarning. " in section)

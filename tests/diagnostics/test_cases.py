"""Broken files, each with every finding it must earn: `code line:column`, no more and no less."""

from __future__ import annotations

from pathlib import Path

import pytest
from passes import judge

from cep.source import Source

CASES = sorted((Path(__file__).parent / "cases").glob("*.cep"))


def test_there_are_many_cases() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_a_broken_file_earns_exactly_these_findings(path: Path) -> None:
    expected = path.with_suffix(".expected").read_text(encoding="utf-8").splitlines()
    _, diagnostics = judge(Source(str(path), path.read_text(encoding="utf-8")))
    found = [f"{item.code} {item.span.line}:{item.span.column}" for item in diagnostics.sorted()]
    assert found == expected, "\n".join(f"{item.code} {item.message} ({item.hint})" for item in diagnostics.sorted())


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_every_finding_says_what_to_do_or_what_exists(path: Path) -> None:
    _, diagnostics = judge(Source(str(path), path.read_text(encoding="utf-8")))
    for item in diagnostics:
        assert item.hint or item.notes or item.labels or "; this is " in item.message, item
        assert not item.message.endswith("."), item
        assert item.span.end > item.span.start, item

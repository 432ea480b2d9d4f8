"""Malformed files and what is said about them: tests/syntax/mistakes/*.txt with its report beside it.

Run with CEP_UPDATE=1 to write the reports again after a deliberate change.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.syntax.helpers import read, report

FOLDER = Path(__file__).with_name("mistakes")
CASES = sorted(FOLDER.glob("*.txt"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_report(case: Path) -> None:
    golden = case.with_suffix(".report")
    lines = "\n".join(report(read(case))) + "\n"
    if os.environ.get("CEP_UPDATE"):
        golden.write_text(lines, encoding="utf-8")
    assert lines == golden.read_text(encoding="utf-8")


def test_there_are_cases() -> None:
    assert len(CASES) > 15

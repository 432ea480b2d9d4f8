"""What `cep explain` prints of real patterns, kept as files: `CEP_UPDATE_GOLDEN=1` writes them anew."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import pytest

import cep
from cep.explain import FORMATS

GOLDEN = Path(__file__).parent / "golden"
CARD_TESTING = Path(__file__).parents[2] / "examples" / "card_testing" / "pattern.cep"
ENDINGS = {"text": "txt", "json": "json", "mermaid": "mmd", "dot": "dot", "svg": "svg"}


@pytest.mark.parametrize("output_format", FORMATS)
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("card_testing", CARD_TESTING),
        ("patterns", GOLDEN / "patterns.cep"),
        ("absence", GOLDEN / "absence.cep"),
        ("sets", GOLDEN / "sets.cep"),
        ("alternatives", GOLDEN / "alternatives.cep"),
    ],
)
def test_explain_prints_what_it_printed_before(name, path, output_format):
    plans = tuple(cep.compile(path.read_text(encoding="utf-8"), filename=path.name).values())
    text = import_module(f"cep.explain.{output_format}").render(plans)
    kept = GOLDEN / f"{name}.{ENDINGS[output_format]}"
    if os.environ.get("CEP_UPDATE_GOLDEN"):
        kept.write_text(text, encoding="utf-8")
    assert text == kept.read_text(encoding="utf-8"), f"{kept.name} differs; CEP_UPDATE_GOLDEN=1 writes it anew"

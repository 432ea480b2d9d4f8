"""The documentation builds with every link checked, and its pictures and numbers are those of the program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest

import cep
import runtime
from cep.explain import svg
from runtime.state.leaf import DEAD

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLE = ROOT / "examples" / "card_testing" / "pattern.cep"


def build(config, target):
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config), "--site-dir", str(target)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_site_builds_and_every_link_leads_somewhere(tmp_path):
    done = build(ROOT / "mkdocs.yml", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "how-it-works.html").read_text(encoding="utf-8")
    assert '<span class="k">WITHIN</span>' in page, "pattern files are coloured by cep.highlight"


@pytest.mark.slow
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path):
    """The check above can fail: the same settings refuse a dead link and a dead anchor."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("[dead](gone.md) [dead too](#gone)\n", encoding="utf-8")
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    text = text[: text.index("nav:\n  - Start")]
    text = re.sub(r"hooks:\n  - .*\n|extra_css:\n  - .*\n", "", text)
    (tmp_path / "mkdocs.yml").write_text(text, encoding="utf-8")
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode == 1
    assert "gone.md" in done.stderr
    assert "#gone" in done.stderr


def test_the_drawn_tree_is_what_explain_draws():
    drawn = (DOCS / "assets" / "card_testing.svg").read_text(encoding="utf-8")
    again = svg.render((cep.compile_file(str(EXAMPLE))["CardTesting"],))
    assert drawn == again, (
        "run: cep explain --format svg examples/card_testing/pattern.cep > docs/assets/card_testing.svg"
    )


def test_the_page_is_about_the_pattern_of_the_example():
    shown = re.search(r"PATTERN CardTesting\n.*?;\n", (DOCS / "how-it-works.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    assert shown[0] in EXAMPLE.read_text(encoding="utf-8")


def test_the_best_starts_of_the_page_are_those_of_the_engine():
    """10:00, 10:05 and 10:50 small, 11:02 large: one match, found without a dead end."""
    times = [
        datetime(2024, 1, 1, hour, minute, tzinfo=timezone.utc)
        for hour, minute in ((10, 0), (10, 5), (10, 50), (11, 2))
    ]
    plan = cep.compile_file(str(EXAMPLE))["CardTesting"]
    engine = runtime.Engine(plan)
    matches = []
    for time, amount in zip(times, (5.0, 9.0, 20.0, 900.0), strict=True):
        columns = {"ts": pa.array([time], pa.timestamp("us", "UTC")), "acc": ["alice"], "amnt": [amount]}
        matches += engine.push(pa.RecordBatch.from_pydict(columns)).read_all().to_pylist()
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    best = [
        None if value == DEAD else epoch + timedelta(microseconds=int(value))
        for value in engine._leaves["s2"].best_starts()
    ]
    assert best == [None, times[0], times[1]]
    assert [(match["first_ts"], match["last_ts"]) for match in matches] == [(times[1], times[3])]
    assert engine.stats()["operations"]["dead_ends"] == 0


def test_the_indexes_of_the_page_are_those_of_the_plan():
    from cep.explain import text

    printed = text.render((cep.compile_file(str(EXAMPLE))["CardTesting"],))
    page = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\d on .*$", page, re.MULTILINE)
    assert len(shown) == 3
    assert all(line in printed for line in shown)

"""What README.md shows is what the commands print: `CEP_UPDATE_GOLDEN=1` writes the output anew."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
BLOCK = re.compile(r"```console\n\$ (?P<command>[^\n]*)\n(?P<output>.*?)```", re.DOTALL)


def run(command, tmp_path, cwd=ROOT, check=False):
    """The output of a shell command, both streams as a terminal shows them, with `cep` from this tree."""
    script = tmp_path / "cep"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cep.cli "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=cwd,
        env={**os.environ, "PATH": path, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=check,
    )
    return done.stdout


def blocks():
    return [match["command"] for match in BLOCK.finditer(README.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("command", blocks())
def test_the_output_shown_is_the_output_printed(command, tmp_path):
    text = README.read_text(encoding="utf-8")
    (match,) = [found for found in BLOCK.finditer(text) if found["command"] == command]
    output = run(command, tmp_path)
    if os.environ.get("CEP_UPDATE_GOLDEN"):
        README.write_text(text[: match.start("output")] + output + text[match.end("output") :], encoding="utf-8")
    else:
        assert match["output"] == output


def test_there_is_output_to_check():
    assert len(blocks()) >= 2


def test_the_pattern_shown_is_the_example():
    assert (ROOT / "examples/card_testing/pattern.cep").read_text(encoding="utf-8") in README.read_text(
        encoding="utf-8"
    )


def test_the_commands_over_files_work_as_they_stand(tmp_path):
    (commands,) = re.findall(r"```sh\n(cep replay .*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    output = run(f"set -e\n{commands}", tmp_path, tmp_path, check=True)
    assert ", 0 failed" in output
    assert (tmp_path / "matches.jsonl").read_text(encoding="utf-8").count("CardTesting") == 8


def test_every_command_and_every_page_is_named():
    text = README.read_text(encoding="utf-8")
    from cep.cli import COMMANDS

    assert [name for name in COMMANDS if f"`cep {name}" not in text] == []
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in text] == ["index.md"]
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / target).exists(), target

"""Whoever follows the tutorial, or the page about files, literally gets what it shows.

`CEP_UPDATE_GOLDEN=1` writes the output anew.

The blocks of the page are one shell session. `sh` blocks are run; in `console` blocks each line that begins with `$ `
is, and what it prints must be what follows. Directives, as in test_docs.py, in a comment in the line before:

* `in: clone`: run at the top of a clone. Here that is a copy of the Makefile beside an environment that is up to date,
  so that `make venv` has nothing to fetch; CI begins with the real thing.
* `status: N`: the last command of the block ends with this status, not with 0.
* `spark`: starts Spark; the second test.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
FILES = ROOT / "docs" / "files.md"
BLOCK = re.compile(
    r"^(?:<!-- (?P<directives>[^\n]*) -->\n)?```(?P<language>sh|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
CUT = "@@ cut @@"
SPEED = re.compile(r"\d+\.\d s, [\d,]+ events/s")


@dataclass
class Command:
    """Something to run; `shown` is where the page shows what it prints, None where it shows nothing."""

    text: str
    line: int
    spark: bool
    status: int
    shown: tuple[int, int] | None


def commands(page: str) -> list[Command]:
    found = []
    for block in BLOCK.finditer(page):
        pairs = [part.partition(":") for part in (block["directives"] or "").split(";") if part.strip()]
        directives = {key.strip(): value.strip() for key, _, value in pairs}
        line = page.count("\n", 0, block.start()) + 1
        spark = "spark" in directives
        if block["language"] == "sh":
            found.append(Command(block["text"], line, spark, 0, None))
            continue
        prompts = list(re.finditer(r"^\$ ([^\n]*)\n", block["text"], re.MULTILINE))
        assert prompts, f"{line}: a console block without a command"
        assert prompts[0].start() == 0, f"{line}: output before the first command"
        ends = [prompt.start() for prompt in prompts[1:]] + [len(block["text"])]
        base = block.start("text")
        for prompt, end in zip(prompts, ends, strict=True):
            found.append(Command(prompt[1], line, spark, 0, (base + prompt.end(), base + end)))
        found[-1].status = int(directives.get("status", "0"))
    return found


def session(chosen: list[Command], directory: Path) -> list[tuple[str, int]]:
    """Run everything in one shell: what each command printed, both streams as a terminal shows them, and its status."""
    clone = directory / "clone"
    programs = clone / ".venv" / "bin"
    programs.mkdir(parents=True)
    shutil.copy2(ROOT / "Makefile", clone)
    shutil.copy2(ROOT / "pyproject.toml", clone)
    for name, module in (("python", ""), ("cep", "-m cep.cli ")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module}"$@"\n', encoding="utf-8")
        program.chmod(0o755)
    (programs / "activate").write_text(f"export PATH={shlex.quote(str(programs))}:$PATH\n", encoding="utf-8")
    (clone / ".venv" / ".installed").touch()
    script = "".join(f"{{ {command.text}\n}} 2>&1\necho '{CUT}' $?\n" for command in chosen)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=clone,
        env={
            **os.environ,
            "NO_COLOR": "1",
            "TMPDIR": str(directory),
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    parts = re.split(rf"{CUT} (\d+)\n", done.stdout)
    return [(parts[i], int(parts[i + 1])) for i in range(0, len(parts) - 1, 2)]


def check(chosen: list[Command], path: Path = PAGE) -> None:
    page = path.read_text(encoding="utf-8")
    # Not pytest's directory: sockets lie in this one, and their names may not be long.
    with tempfile.TemporaryDirectory(prefix="cep-", ignore_cleanup_errors=True) as directory:
        results = session(chosen, Path(directory))
    changes = []
    for command, (output, status) in zip(chosen, results, strict=True):
        place = f"{path.name}:{command.line}: {command.text}\n{output}"
        assert status == command.status, place
        if command.shown is None:
            continue
        shown = page[slice(*command.shown)]
        if SPEED.sub("", output) != SPEED.sub("", shown):
            changes.append((command.shown, output))
            assert os.environ.get("CEP_UPDATE_GOLDEN"), f"{place}\nthe page shows\n{shown}"
    for (start, end), output in reversed(changes):
        page = page[:start] + output + page[end:]
    if changes:
        path.write_text(page, encoding="utf-8")


def test_the_tutorial_works_as_it_is_written():
    chosen = [command for command in commands(PAGE.read_text(encoding="utf-8")) if not command.spark]
    assert {"init", "validate", "explain", "replay", "test"} <= set(
        re.findall(r"^cep (\w+)", "\n".join(command.text for command in chosen), re.MULTILINE)
    )
    check(chosen)


def test_the_page_about_files_shows_what_the_commands_print():
    begin = Command(". .venv/bin/activate && mkdir play && cd play", 0, spark=False, status=0, shown=None)
    check([begin, *commands(FILES.read_text(encoding="utf-8"))], FILES)


@pytest.mark.spark
@pytest.mark.slow
def test_the_streaming_job_of_the_tutorial_works_as_it_is_written():
    chosen = commands(PAGE.read_text(encoding="utf-8"))
    assert sum("cep run" in command.text for command in chosen) == 2
    check(chosen)


def test_nothing_on_the_page_escapes_the_test():
    """A fence of another kind would not be run; the one of the Kafka job says so by being plain text."""
    page = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"^```(\w+)$", page, re.MULTILINE)) == {"sh", "console", "text"}
    assert page.count("```text\n") == 1
    assert len(BLOCK.findall(page)) == len(re.findall(r"^```(?:sh|console)$", page, re.MULTILINE))

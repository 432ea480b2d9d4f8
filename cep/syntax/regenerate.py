"""Regenerate the parser: `python -m cep.syntax.regenerate [--check]`.

The ANTLR tool is fetched once by its Maven coordinates into the user's cache: with `mvn` where it is installed (so that
mirrors and proxies of its settings are honoured), else from the repository that `MAVEN_REPOSITORY_URL` names. Tool and
runtime must be the same version, so the version is written down here and checked against the installed runtime.

Generated code is committed, hence nobody needs Java to use the package; the output depends on the grammar alone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

VERSION = "4.13.2"
GENERATED = Path(__file__).with_name("_generated")
GRAMMAR = Path(__file__).resolve().parents[2] / "grammar"
GRAMMARS = ("CepLexer.g4", "CepParser.g4")
MODULES = ("CepLexer.py", "CepParser.py")
_JAR = f"antlr4-{VERSION}-complete.jar"
_HEADER = f'"""Generated from grammar/ by ANTLR {VERSION}; do not edit: python -m cep.syntax.regenerate."""\n'


class ToolMissingError(Exception):
    """The generator cannot run here; the message says what is missing."""


def cache_folder() -> Path:
    """Where the tool is kept: `$XDG_CACHE_HOME/cep`, by default `~/.cache/cep`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "cep"


def antlr_jar() -> Path:
    """The ANTLR tool, fetched on first use; raises `ToolMissingError` where it cannot be had."""
    jar = cache_folder() / _JAR
    if jar.is_file():
        return jar
    jar.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=jar.parent) as folder:
        fetched = Path(folder) / _JAR
        reasons = [
            reason
            for fetch in (_fetch_with_maven, _fetch_by_url)
            if not fetched.is_file()
            for reason in (fetch(fetched),)
            if reason
        ]
        if not fetched.is_file():
            raise ToolMissingError(f"cannot fetch org.antlr:antlr4:{VERSION}:complete: " + "; ".join(reasons))
        fetched.replace(jar)
    return jar


def _fetch_with_maven(jar: Path) -> str | None:
    maven = shutil.which("mvn")
    if maven is None:
        return "mvn is not installed"
    run = subprocess.run(  # noqa: S603 - fixed arguments
        [
            maven,
            "-q",
            "-B",
            "dependency:copy",
            f"-Dartifact=org.antlr:antlr4:{VERSION}:jar:complete",
            f"-DoutputDirectory={jar.parent}",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=jar.parent,
    )
    return None if run.returncode == 0 else f"mvn failed: {(run.stdout + run.stderr).strip()[-300:]}"


def _fetch_by_url(jar: Path) -> str | None:
    base = os.environ.get("MAVEN_REPOSITORY_URL")
    if not base:
        return "MAVEN_REPOSITORY_URL names no repository"
    url = f"{base.rstrip('/')}/org/antlr/antlr4/{VERSION}/{_JAR}"
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 - the scheme is the user's choice
            data = answer.read()
    except (urllib.error.URLError, OSError, ValueError) as error:
        return f"{url}: {error}"
    jar.write_bytes(data)
    return None


def generate(folder: Path) -> dict[str, str]:
    """Run ANTLR with `folder` for scratch space; the text of every generated module by its name."""
    java = shutil.which("java")
    if java is None:
        raise ToolMissingError("java is not installed (ANTLR is a Java program; version 11 or newer)")
    if not GRAMMAR.is_dir():
        raise ToolMissingError(f"there is no {GRAMMAR}: regenerating needs a checkout of the repository")
    jar = antlr_jar()
    for name in GRAMMARS:
        shutil.copy(GRAMMAR / name, folder / name)
    run = subprocess.run(  # noqa: S603 - fixed arguments
        [java, "-jar", str(jar), "-Dlanguage=Python3", "-no-listener", "-no-visitor", "-Werror", *GRAMMARS],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    if run.returncode != 0:
        raise SystemExit(f"the grammar is not valid:\n{run.stdout}{run.stderr}")
    modules = {name: (folder / name).read_text(encoding="utf-8") for name in MODULES}
    modules["__init__.py"] = _HEADER
    return modules


def main(arguments: list[str] | None = None) -> int:
    """The command: 0 good, 1 the committed files differ from the grammar (`--check`), 2 the tool cannot be had."""
    options = argparse.ArgumentParser(prog="python -m cep.syntax.regenerate", description="Regenerate the parser.")
    options.add_argument("--check", action="store_true", help="change nothing; exit 1 where the files are stale")
    check: bool = options.parse_args(arguments).check
    try:
        with tempfile.TemporaryDirectory() as scratch:
            modules = generate(Path(scratch))
    except ToolMissingError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command
        return 2
    stale = [name for name, text in modules.items() if _committed(name) != text]
    if not check:
        GENERATED.mkdir(exist_ok=True)
        for name in stale:
            (GENERATED / name).write_text(modules[name], encoding="utf-8")
    for name in stale:
        print(f"{'stale' if check else 'written'}: cep/syntax/_generated/{name}", file=sys.stderr)  # noqa: T201 - a command
    return 1 if check and stale else 0


def _committed(name: str) -> str | None:
    path = GENERATED / name
    return path.read_text(encoding="utf-8") if path.is_file() else None


if __name__ == "__main__":
    raise SystemExit(main())

"""From what the user typed to compiled files: paths, directories, `-`, and what cannot be read.

`compile_file` is what every command that takes a pattern file begins with: it compiles, and leaves with the findings on
stderr where there are errors.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cep.cli.status import FAILED, FINDINGS
from cep.cli.terminal import wants_color, width
from cep.diagnostics import Diagnostic, Diagnostics
from cep.render.report import Report
from cep.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from cep.compiler.pipeline import Result

STDIN = "-"

_Command = TypeVar("_Command", bound="Callable[..., Any]")


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be read, with the finding that says why."""

    name: str
    finding: Diagnostic


def read(path: str, stdin_filename: str = "<stdin>") -> Source | Unreadable:
    """The text of a file, or of stdin for `-`. A byte order mark is dropped."""
    from cep.compiler.load import read_source

    diagnostics = Diagnostics()
    name = stdin_filename if path == STDIN else path
    source = read_source(path, diagnostics, name)
    return source if source is not None else Unreadable(name, next(iter(diagnostics)))


@contextmanager
def few_collections() -> Iterator[None]:
    """While this lasts, garbage is looked for less often: what compiling makes lives, and is walked through in vain."""
    before = gc.get_threshold()
    gc.set_threshold(100_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def import_root_option(command: _Command) -> _Command:
    """`--import-root DIR`, for commands that follow imports."""
    return click.option(
        "--import-root",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False),
        help="The folder that imports stay in; default: the project of FILE (nearest .git, cep.toml, job.toml or "
        "pyproject.toml upwards), else its folder.",
    )(command)


def root_for(file: str, given: Iterable[str], import_root: str | None) -> str | None:
    """The folder that imports of `file` stay in; None leaves it to the compiler.

    A file outside of any project that was found through a folder may import what is in that folder.
    """
    from cep.compiler.load import marked_root

    if import_root is not None or marked_root(file) is not None:
        return import_root
    return next((folder for folder in given if folder != file and Path(file).is_relative_to(folder)), None)


def expand(paths: Sequence[str]) -> list[str]:
    """The files to look at: a directory stands for every `*.cep` below it, in order of name; each file once."""
    return list(dict.fromkeys(file for path in paths for file in _expand(path)))


def _expand(path: str) -> Iterator[str]:
    if path == STDIN or not Path(path).is_dir():
        yield path
        return
    # Hidden directories hold other tools' files (.git, .venv).
    found = sorted(
        file
        for file in Path(path).rglob("*.cep")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not found:
        raise click.UsageError(f"no *.cep file below directory `{path}`")
    yield from map(os.fspath, found)


def compile_report(path: str, stdin_filename: str = "<stdin>", import_root: str | None = None) -> tuple[Report, bool]:
    """Compile a file; also whether it could be read."""
    from cep.compiler.pipeline import compile_source

    source = read(path, stdin_filename)
    if isinstance(source, Unreadable):
        return Report(file=source.name, ok=False, diagnostics=(source.finding,)), False
    with few_collections():
        result = compile_source(source, import_root)
    report = Report(
        file=source.name,
        ok=result.ok,
        diagnostics=result.diagnostics,
        plans=result.plans,
        sources={source.name: source, **result.sources},
    )
    return report, True


def compile_file(path: str, stdin_filename: str = "<stdin>", import_root: str | None = None) -> Result:
    """Compile a file; findings go to stderr, errors end the command (1 for the pattern, 2 for an unreadable file)."""
    from cep.compiler.pipeline import compile_source

    source = read(path, stdin_filename)
    if isinstance(source, Unreadable):
        print_findings([Report(file=source.name, ok=False, diagnostics=(source.finding,))])
        raise click.exceptions.Exit(FAILED)
    with few_collections():
        result = compile_source(source, import_root)
    sources = {source.name: source, **result.sources}
    print_findings([Report(file=source.name, ok=result.ok, diagnostics=result.diagnostics, sources=sources)])
    if not result.ok:
        raise click.exceptions.Exit(FINDINGS)
    return result


def print_findings(reports: Iterable[Report]) -> None:
    """Findings in the layout for people, on stderr."""
    from cep.render.full import render

    text = render(tuple(reports), color=wants_color(sys.stderr), width=width(sys.stderr))
    if text:
        click.echo(text, err=True, color=True)

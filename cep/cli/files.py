"""From what the user typed to compiled files: paths, directories, `-`, and what cannot be read.

`compile_file` is what every command that takes a pattern file begins with: it compiles, and leaves with the findings on
stderr where there are errors.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cep.cli.status import FAILED, FINDINGS
from cep.cli.terminal import wants_color, width
from cep.diagnostics import Diagnostic, Severity
from cep.render.report import Report
from cep.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cep.compiler.pipeline import Result

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be read, with the finding that says why."""

    name: str
    finding: Diagnostic


def read(path: str, stdin_filename: str = "<stdin>") -> Source | Unreadable:
    """The text of a file, or of stdin for `-`. A byte order mark is dropped."""
    name = stdin_filename if path == STDIN else path
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        return _unreadable(name, "CEP0001", f"cannot read `{name}`: {(error.strerror or str(error)).lower()}")
    try:
        return Source(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        message = f"`{name}` is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}"
        return _unreadable(name, "CEP0002", message)


def _unreadable(name: str, code: str, message: str) -> Unreadable:
    start = Source(name, "").span(0, 0)
    return Unreadable(name, Diagnostic(code=code, severity=Severity.ERROR, span=start, message=message))


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


def compile_report(path: str, stdin_filename: str = "<stdin>") -> tuple[Report, bool]:
    """Compile a file; also whether it could be read."""
    from cep.compiler.pipeline import compile_source

    source = read(path, stdin_filename)
    if isinstance(source, Unreadable):
        return Report(file=source.name, ok=False, diagnostics=(source.finding,)), False
    result = compile_source(source)
    report = Report(
        file=source.name,
        ok=result.ok,
        diagnostics=result.diagnostics,
        plans=result.plans,
        sources={source.name: source, **result.sources},
    )
    return report, True


def compile_file(path: str, stdin_filename: str = "<stdin>") -> Result:
    """Compile a file; findings go to stderr, errors end the command (1 for the pattern, 2 for an unreadable file)."""
    from cep.compiler.pipeline import compile_source

    source = read(path, stdin_filename)
    if isinstance(source, Unreadable):
        print_findings([Report(file=source.name, ok=False, diagnostics=(source.finding,))])
        raise click.exceptions.Exit(FAILED)
    result = compile_source(source)
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

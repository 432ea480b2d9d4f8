"""`cep fmt`: one layout for all pattern files."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path

import click

from cep.cli.files import STDIN, Unreadable, expand, few_collections, print_findings, read
from cep.cli.status import FAILED, FINDINGS, GOOD
from cep.cli.terminal import wants_color
from cep.diagnostics import Diagnostics
from cep.render.report import Report, count
from cep.source import Source

_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@click.option("--check", "mode", flag_value="check", help="Write nothing; leave with 1 where a file would change.")
@click.option("--diff", "mode", flag_value="diff", help="Write nothing; print what would change, leave with 1 if any.")
@click.option("--stdin-filename", default="<stdin>", metavar="NAME", help="What to call the file read from `-`.")
@click.pass_context
def fmt(ctx: click.Context, files: tuple[str, ...], mode: str | None, stdin_filename: str) -> None:
    """Rewrite pattern files in the standard layout.

    FILE may be a directory (all *.cep files below it) or `-` (stdin to stdout). A file with syntax errors is left
    alone: its findings are printed and the command leaves with 1.
    """
    paths = expand(files)
    changed = 0
    worst = GOOD
    for path in paths:
        source = read(path, stdin_filename)
        if isinstance(source, Unreadable):
            print_findings([Report(file=source.name, ok=False, diagnostics=(source.finding,))])
            worst = FAILED
            continue
        formatted = _format(source)
        if formatted is None:
            worst = max(worst, FINDINGS)
            continue
        if path == STDIN and mode is None:
            click.echo(formatted, nl=False)
            continue
        if formatted == source.text:
            continue
        changed += 1
        if mode == "diff":
            _print_diff(source, formatted)
        elif mode == "check":
            click.echo(f"would change {source.name}", err=True)
        else:
            _write(Path(path), formatted)
    if mode is None:
        click.echo(f"{count(changed, 'file')} changed, {len(paths) - changed} left as they are", err=True)
    ctx.exit(max(worst, FINDINGS) if changed and mode else worst)


def _format(source: Source) -> str | None:
    from cep.syntax.fmt import fmt as layout

    diagnostics = Diagnostics()
    with few_collections():
        text = layout(source, diagnostics)
    if not diagnostics.has_errors:
        return text
    print_findings(
        [Report(file=source.name, ok=False, diagnostics=diagnostics.sorted(), sources={source.name: source})]
    )
    return None


def _print_diff(source: Source, formatted: str) -> None:
    color = wants_color(sys.stdout)
    before, after = source.text.splitlines(keepends=True), formatted.splitlines(keepends=True)
    for line in unified_diff(before, after, source.name, source.name):
        text = line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        paint = _DIFF_COLOURS.get(line[0]) if color else None
        click.echo(click.style(text, fg=paint) if paint else text, nl=False, color=True)


def _write(path: Path, text: str) -> None:
    """Replace a file in one step: a crash leaves the old text or the new one. Links and permissions stay."""
    target = path.resolve()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
        shutil.copymode(target, temporary)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

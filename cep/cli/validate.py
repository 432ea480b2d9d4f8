"""`cep validate`: are these patterns valid, and what will they cost?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cep.cli.files import compile_report, expand, import_root_option, root_for
from cep.cli.status import FAILED, FINDINGS, GOOD
from cep.cli.terminal import wants_color, width
from cep.render import FORMATS
from cep.render.report import summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cep.render.report import Report

_FOR_PEOPLE = ("full", "concise")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@click.option(
    "--output-format", type=click.Choice(FORMATS), default="full", show_default=True, help="How to print findings."
)
@click.option("--stdin-filename", default="<stdin>", metavar="NAME", help="What to call the file read from `-`.")
@click.option("--exit-zero", is_flag=True, help="Leave with 0 also where patterns are invalid.")
@import_root_option
@click.pass_context
def validate(
    ctx: click.Context,
    files: tuple[str, ...],
    output_format: str,
    stdin_filename: str,
    exit_zero: bool,
    import_root: str | None,
) -> None:
    """Check pattern files and report every finding of every file.

    FILE may be a directory (all *.cep files below it) or `-` (stdin). Warnings alone leave with 0.
    """
    compiled = [compile_report(path, stdin_filename, root_for(path, files, import_root)) for path in expand(files)]
    reports = [report for report, _ in compiled]
    click.echo(_render(reports, output_format), nl=False, color=True)
    if output_format in _FOR_PEOPLE:
        click.echo(summary(reports), err=True)
    if not all(readable for _, readable in compiled):
        ctx.exit(FAILED)
    ctx.exit(GOOD if exit_zero or all(report.ok for report in reports) else FINDINGS)


def _render(reports: Sequence[Report], output_format: str) -> str:
    # Each renderer is imported on use: most runs need one of them.
    if output_format == "full":
        from cep.render import full

        text = full.render(reports, color=wants_color(sys.stdout), width=width(sys.stdout))
        return text + "\n" if text else ""
    if output_format == "concise":
        from cep.render import concise

        return concise.render(reports)
    if output_format == "json":
        from cep.render import json

        return json.render(reports)
    if output_format == "github":
        from cep.render import github

        return github.render(reports)
    from cep.cli.version import version
    from cep.render import sarif

    return sarif.render(reports, version=version())

"""`cep init`: a small project that validates and passes its tests as it stands.

The files are those below `templates/project`, copied byte for byte; `dot_x` there is `.x` here, so that no tool takes a
template for its own configuration. Nothing is written unless everything can be: files in the way are listed first.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from cep.cli.status import FAILED

TEMPLATES = Path(__file__).with_name("templates") / "project"


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite files that are in the way.")
@click.pass_context
def init(ctx: click.Context, directory: Path, force: bool) -> None:
    """Create a small project in DIR: streams, two patterns with their tests, a job configuration, checks for CI.

    DIR is created where it is missing. Files that are there already are never overwritten without --force: they are
    listed, nothing is written, and the command leaves with 2.
    """
    files = project_files()
    taken = [name for name in files if os.path.lexists(directory / name)]
    if taken and not force:
        click.echo(f"error: nothing written, {directory} already has", err=True)
        for name in taken:
            click.echo(f"  {name}", err=True)
        click.echo("choose another directory, or overwrite them with --force", err=True)
        ctx.exit(FAILED)
    for name in files:
        for parent in (directory / name).parents:
            if os.path.lexists(parent) and not parent.is_dir():
                raise click.UsageError(f"{parent} is in the way: expected a directory")
    for name, data in files.items():
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        click.echo(f"created {target}")
    click.echo(_next_steps(directory), err=True)


def project_files() -> dict[str, bytes]:
    """What a new project consists of: the content of each file by its path within the project."""
    found = sorted(path for path in TEMPLATES.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {"/".join(_undotted(path.relative_to(TEMPLATES))): path.read_bytes() for path in found}


def _undotted(path: Path) -> list[str]:
    return ["." + part[4:] if part.startswith("dot_") else part for part in path.parts]


def _next_steps(directory: Path) -> str:
    enter = [] if directory.resolve() == Path.cwd() else [(f"cd {shlex.quote(str(directory))}", "")]
    steps = [
        *enter,
        ("cep validate .", "every mistake in every pattern"),
        ("cep test .", "each pattern over its own events"),
        ("cep explain patterns/card_testing/pattern.cep", "how it will run, and what it will cost"),
    ]
    width = max(len(command) for command, _ in steps)
    return "\nNext:\n" + "\n".join(f"  {command:<{width}}   {why}".rstrip() for command, why in steps)

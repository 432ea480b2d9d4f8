"""`cep explain`: how a pattern will run, as text or as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cep.cli.files import compile_file, import_root_option
from cep.diagnostics import did_you_mean
from cep.explain import FORMATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cep.ir.plan import Plan


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option("--pattern", metavar="NAME", help="Only this pattern of the file.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How to draw it.",
)
@click.option("--stdin-filename", default="<stdin>", metavar="NAME", help="What to call the file read from `-`.")
@import_root_option
def explain(file: str, pattern: str | None, output_format: str, stdin_filename: str, import_root: str | None) -> None:
    """Draw the plan of each pattern in FILE: its join tree, what is kept, and what events and matches cost.

    Findings go to stderr; with errors there is nothing to draw and the command leaves with 1.
    """
    plans = compile_file(file, stdin_filename, import_root).plans
    if pattern is not None:
        plans = _named(plans, pattern, file)
    click.echo(_render(plans, output_format), nl=False)


def _named(plans: tuple[Plan, ...], name: str, file: str) -> tuple[Plan, ...]:
    found = tuple(plan for plan in plans if plan.pattern == name)
    if not found:
        names = [plan.pattern for plan in plans]
        known = f"it has {', '.join(names)}" if names else "it has no patterns"
        hint = did_you_mean(name, names)
        raise click.UsageError(f"no pattern `{name}` in {file}: {known}" + (f"; {hint}" if hint else ""))
    return found


def _render(plans: Sequence[Plan], output_format: str) -> str:
    # Each format is imported on use: a run needs one of them.
    if output_format == "text":
        from cep.explain import text

        return text.render(plans)
    if output_format == "json":
        from cep.explain import json

        return json.render(plans)
    if output_format == "mermaid":
        from cep.explain import mermaid

        return mermaid.render(plans)
    if output_format == "dot":
        from cep.explain import dot

        return dot.render(plans)
    from cep.explain import svg

    return svg.render(plans)

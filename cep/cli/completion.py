"""`cep completion SHELL`: the script that teaches a shell to complete `cep`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(epilog='Put `eval "$(cep completion bash)"` into your ~/.bashrc, or the like for your shell.')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL."""
    kind = get_completion_class(shell)
    assert kind is not None, "click knows all shells on offer"
    click.echo(kind(ctx.find_root().command, {}, "cep", "_CEP_COMPLETE").source())

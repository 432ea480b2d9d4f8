"""A command group that imports a subcommand when it is used.

Names and short help texts are in a table, so listing and completing commands imports none of them. Everything that goes
wrong in a command ends here: a missing optional dependency becomes one line that names what to install, an unexpected
failure one line that says how to see the traceback. Neither leaves with the status of a finding.
"""

from __future__ import annotations

import os
import sys
import traceback
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from cep.cli.status import BROKEN_PIPE, FAILED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from click.shell_completion import CompletionItem

EXTRAS = {
    "pyspark": "spark",
    "pandas": "spark",
    "grpc": "spark",
    "google.protobuf": "spark",
    "confluent_kafka": "kafka",
    "prometheus_client": "metrics",
    "pygls": "lsp",
    "lsprotocol": "lsp",
}
"""The extra of this package that brings a module."""


class Entry(NamedTuple):
    """A subcommand: `module:attribute`, and its line in the list of commands."""

    target: str
    help: str


class LazyGroup(click.Group):
    """A group over a table of entries; commands that are added in the usual way work as well."""

    def __init__(self, *args: Any, entries: Mapping[str, Entry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the table."""
        return [*self.entries, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None where there is no such name."""
        entry = self.entries.get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = entry.target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command), f"{entry.target} is not a command"
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with; a usage error names the nearest one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0].casefold(), self.entries, n=1, cutoff=0.5)
            if not near or "did you mean" in error.message.casefold():
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the table alone."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.entries.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names that begin with `incomplete`, from the table alone."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=entry.help) for name, entry in self.entries.items() if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command; see the module's text for what becomes of failures."""
        try:
            status = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader has seen enough. Later flushes, also the interpreter's own, must not complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(BROKEN_PIPE)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:  # a user gets a line, not a stack trace, whatever went wrong; --debug shows it
            if ctx.params.get("debug"):
                traceback.print_exc()
            click.echo(f"error: {describe(error)}", err=True)
            ctx.exit(FAILED)
        return status


def describe(error: Exception) -> str:
    """One line for a failure.

    >>> describe(ModuleNotFoundError("No module named 'pyspark'", name="pyspark"))
    "this command needs pyspark, which is not installed: pip install 'cep-engine[spark]'"
    >>> describe(FileNotFoundError(2, "No such file or directory", "events.jsonl"))
    'events.jsonl: No such file or directory'
    """
    if isinstance(error, ModuleNotFoundError) and (extra := extra_of(error.name or "")):
        return f"this command needs {error.name}, which is not installed: pip install 'cep-engine[{extra}]'"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    kind = type(error).__name__
    return f"internal failure: {kind}: {text} (`cep --debug ...` or CEP_DEBUG=1 shows the traceback)"


def extra_of(module: str) -> str | None:
    """The extra that brings `module` or a package it is in; None for everything else."""
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((EXTRAS[name] for name in names if name in EXTRAS), None)

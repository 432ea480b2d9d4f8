"""The command line: `cep COMMAND ...`.

Each subcommand is a line in `COMMANDS` and is imported when it is used, so `cep --help` loads neither Arrow nor Spark.
Exit status, the same for all commands: 0 good, 1 findings, 2 bad usage, unreadable input or a failed run, 130 after
Ctrl-C. Results go to stdout, everything about the run to stderr.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cep.cli.lazy import Entry, LazyGroup
from cep.cli.status import FAILED, INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS: dict[str, Entry] = {
    "init": Entry("cep.cli.init:init", "Create a project with patterns, tests and a job configuration."),
    "validate": Entry("cep.cli.validate:validate", "Check pattern files and say what each pattern will cost."),
    "explain": Entry("cep.cli.explain:explain", "Draw the plan of a pattern."),
    "fmt": Entry("cep.cli.fmt:fmt", "Put pattern files into the standard layout."),
    "replay": Entry("runtime.cli.replay:replay", "Run patterns over files of events, in this process."),
    "test": Entry("runtime.cli.test:test", "Run your own pattern tests."),
    "run": Entry("runtime.spark.cli:run", "Run patterns as a Spark Structured Streaming job."),
    "tail": Entry("connectors.cli.tail:tail", "Print the matches that arrive on a Kafka topic."),
    "produce": Entry("connectors.cli.produce:produce", "Send a file of events to a Kafka topic."),
    "broker": Entry("connectors.cli.broker:broker", "Start a throw-away Kafka broker for trying things out."),
    "lsp": Entry("cep.cli.lsp:lsp", "Serve editors: diagnostics, hover, completion, formatting."),
    "completion": Entry("cep.cli.completion:completion", "Print the completion script of a shell."),
}
"""Every subcommand: where it lives, and its line in `cep --help`."""


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from cep.cli.version import version

        click.echo(f"cep {version()}")
        ctx.exit()


@click.group(cls=LazyGroup, entries=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Print the version."
)
@click.option("--debug", is_flag=True, envvar="CEP_DEBUG", help="Show tracebacks of failures (also CEP_DEBUG=1).")
def cli(debug: bool) -> None:
    """Find patterns of events: SEQ ... WHERE ... WITHIN, over files, Kafka and Spark."""
    _ = debug  # read by LazyGroup.invoke, which also serves commands that fail while they are imported


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status; this is what the `cep` script calls."""
    for stream in (sys.stdout, sys.stderr):
        # An ASCII locale must not turn a finding into an encoding failure.
        if (stream.encoding or "").lower().replace("-", "") != "utf8" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = cli.main(args=argv, prog_name="cep", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return FAILED
    except click.Abort as abort:
        return INTERRUPTED if isinstance(abort.__cause__, KeyboardInterrupt) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return status if isinstance(status, int) else 0

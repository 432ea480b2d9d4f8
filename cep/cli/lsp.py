"""`cep lsp`: the language server, for editors to start."""

from __future__ import annotations

import click

from cep.cli.files import import_root_option


@click.command(epilog="docs/editors.md tells how to set up an editor. Needs the extra `lsp`.")
@click.option("--stdio", is_flag=True, hidden=True, help="What is done anyway; some editors insist on passing it.")
@import_root_option
def lsp(stdio: bool, import_root: str | None) -> None:
    """Serve an editor over stdin and stdout (Language Server Protocol)."""
    del stdio
    from cep.lsp.server import serve

    serve(import_root)

"""`cep lsp`: the language server, for editors to start."""

from __future__ import annotations

import click


@click.command(epilog="docs/editors.md tells how to set up an editor. Needs the extra `lsp`.")
@click.option("--stdio", is_flag=True, hidden=True, help="What is done anyway; some editors insist on passing it.")
def lsp(stdio: bool) -> None:
    """Serve an editor over stdin and stdout (Language Server Protocol)."""
    del stdio
    from cep.lsp.server import serve

    serve()

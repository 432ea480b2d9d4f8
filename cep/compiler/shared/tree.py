"""Walk the syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from cep.ir import ast


def nodes(node: ast.Node) -> Iterator[ast.Node]:
    """A node and everything below it, in no particular order. No recursion: an expression can be a long chain."""
    pending: list[object] = [node]
    while pending:
        top = pending.pop()
        if isinstance(top, tuple):
            pending += top
        elif isinstance(top, ast.Node):
            yield top
            pending += [getattr(top, field.name) for field in fields(top)]

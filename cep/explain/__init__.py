"""A plan that explains itself: sibling modules turn plans into text, JSON, Mermaid, DOT and SVG.

Every module has a function `render(plans) -> str` that is pure and deterministic: the same plan gives the same bytes.
`words` holds the sentences and `boxes` the shape of the drawing that they share.
"""

from __future__ import annotations

__all__ = ["FORMATS"]

FORMATS = ("text", "json", "mermaid", "dot", "svg")
"""The names `cep explain --format` takes; each is a module of this package with a function `render`."""

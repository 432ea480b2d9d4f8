"""The join tree as a Mermaid flowchart: what Markdown pages on code hosts draw by themselves."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from cep.explain import words
from cep.explain.boxes import Box, boxes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cep.ir.plan import Plan


def render(plans: Sequence[Plan]) -> str:
    """One flowchart with a frame a plan."""
    numbers = count()
    lines = ["flowchart TD"]
    for position, (title, plan) in enumerate(words.pictures(plans)):
        lines.append(f'  subgraph p{position}["{_escape(f"{title} ({words.classes(plan.verdict)})")}"]')
        lines += (f"    {line}" for line in _draw(boxes(plan), f"n{next(numbers)}", numbers))
        lines.append("  end")
    lines.append("  classDef connex stroke-width:3px")
    return "\n".join(lines) + "\n"


def _draw(box: Box, name: str, numbers: Iterator[int]) -> Iterator[str]:
    text = "<br>".join(_escape(line) for line in (box.title, *box.details))
    opening, closing = ("{{", "}}") if box.gap else ("[", "]") if box.leaf else ("([", "])")
    yield f'{name}{opening}"{text}"{closing}' + (":::connex" if box.connex else "")
    for child in box.children:
        below = f"n{next(numbers)}"
        yield from _draw(child, below, numbers)
        label = "<br>".join(_escape(line) for line in child.edge)
        line = "-.-" if child.gap else "---"
        yield f'{name} {line}|"{label}"| {below}' if label else f"{name} {line} {below}"


def _escape(text: str) -> str:
    """Entities for what Mermaid reads as its own: quotes, markup, Markdown and the entity sign."""
    return "".join(f"#{ord(char)};" if char in '"#<>&`*_|;\\' else char for char in text)

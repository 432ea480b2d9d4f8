"""The join tree in the language of Graphviz."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from cep.explain import words
from cep.explain.boxes import Box, boxes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cep.ir.plan import Plan


def render(plans: Sequence[Plan]) -> str:
    """One graph with a cluster a plan."""
    numbers = count()
    lines = [
        "graph plans {",
        '  node [fontname="monospace", fontsize=11, shape=box];',
        '  edge [fontname="monospace", fontsize=10];',
    ]
    for position, (title, plan) in enumerate(words.pictures(plans)):
        lines.append(f"  subgraph cluster_{position} {{")
        lines.append(f"    label={_quoted(f'{title} ({words.classes(plan.verdict)})')};")
        lines += (f"    {line}" for line in _draw(boxes(plan), f"n{next(numbers)}", numbers))
        lines.append("  }")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _draw(box: Box, name: str, numbers: Iterator[int]) -> Iterator[str]:
    styles = ["dashed"] if box.gap else [*([] if box.leaf else ["rounded"]), *(["bold"] if box.connex else [])]
    style = f', style="{",".join(styles)}"' if styles else ""
    yield f"{name} [label={_quoted(*(box.title, *box.details))}{style}];"
    for child in box.children:
        below = f"n{next(numbers)}"
        yield from _draw(child, below, numbers)
        traits = [f"label={_quoted(*child.edge)}"] if child.edge else []
        traits += ["style=dashed"] if child.gap else []
        yield f"{name} -- {below}" + (f" [{', '.join(traits)}]" if traits else "") + ";"


def _quoted(*lines: str) -> str:
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for line in lines]
    return '"' + "\\n".join(escaped) + '"'

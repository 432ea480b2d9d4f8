"""The join tree as a picture that needs no other program: one SVG, a panel a plan.

The layout is a plain tidy tree: a subtree is as wide as its box, the words on its edge, or its children side by side,
and a parent stands over the middle of its children. Text is in a monospace font, so that widths are known without
measuring. Colours are style classes with a second set for dark mode; nothing is said by colour alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from rich.cells import cell_len

from cep.explain import words
from cep.explain.boxes import Box, boxes, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cep.ir.plan import Plan

CELL = 7.3
LINE = 17
PADDING = 10
GAP = 26
MARGIN = 24
READABLE = 96
LONGEST = 44
"""Lines in a box are wrapped at this many cells."""

STYLE = """
  .back { fill: #ffffff } .box { fill: #f6f8fa; stroke: #8c959f }
  .leaf { fill: #ddf4ff; stroke: #0969da } .connex { stroke-width: 3 }
  .edge { stroke: #8c959f; fill: none } .label { fill: #ffffff } .dashed { stroke-dasharray: 5 4 }
  text { fill: #1f2328; font: 12px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }
  .title { font-size: 17px; font-weight: bold } .name { font-weight: bold } .quiet { fill: #59636e }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 } .box { fill: #151b23; stroke: #656c76 }
    .leaf { fill: #0c2d4d; stroke: #4493f8 } .edge { stroke: #656c76 } .label { fill: #0d1117 }
    text { fill: #f0f6fc } .quiet { fill: #9198a1 }
  }
"""


def render(plans: Sequence[Plan]) -> str:
    """One SVG document."""
    panels = [_Panel(title, plan) for title, plan in words.pictures(plans)]
    width = max((panel.width for panel in panels), default=0) + 2 * MARGIN
    body: list[str] = []
    top: float = MARGIN
    for panel in panels:
        body += panel.draw(MARGIN, width / 2, top)
        top += panel.height + MARGIN
    height = top
    names = ", ".join(plan.pattern for plan in plans)
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
                f'viewBox="0 0 {_n(width)} {_n(height)}" xml:space="preserve" role="img">'
            ),
            f"<title>{_text(f'Join tree of {names}')}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="back" width="{_n(width)}" height="{_n(height)}"/>',
            *body,
            "</svg>",
            "",
        ]
    )


@dataclass(slots=True)
class _Placed:
    """A box with its lines, its size and the width that its subtree takes."""

    box: Box
    lines: list[str]
    edge: list[str]
    width: float
    height: float
    span: float
    children: list[_Placed]


class _Panel:
    """The picture of one plan: a heading, the tree, a legend and the cost."""

    def __init__(self, title: str, plan: Plan) -> None:
        self.title = title
        self.root = _place(boxes(plan))
        facts = (words.classes(plan.verdict), words.window(plan), words.partition(plan))
        self.head = [
            line
            for name, text in zip(("class", "window", "partition"), facts, strict=True)
            for line in _wrap(f"{name}: {text}", READABLE, indent=" " * (len(name) + 2))
        ]
        self.foot = [
            line
            for name, text in words.costs(plan.guarantees)
            for line in _wrap(f"{name}: {text}", READABLE, indent=" " * (len(name) + 2))
        ]
        if any(box.connex for box in walk(self.root.box)):
            self.foot.insert(0, "thick frame: in the connex set, which holds what is returned")
        if any(box.gap for box in walk(self.root.box)):
            self.foot.insert(0, "dashed: a gap, asked about and never bound")
        self.depths = _depths(self.root)
        self.tree_height = sum(self.depths) + sum(_gaps(self.root))
        texts = [title * 2, *self.head, *self.foot]
        self.width = max(self.root.span, *(cell_len(text) * CELL for text in texts))
        self.height = 30 + LINE * len(self.head) + GAP + self.tree_height + GAP + LINE * len(self.foot)

    def draw(self, left: float, middle: float, top: float) -> Iterator[str]:
        y = top + 18
        yield f'<text class="title" x="{_n(left)}" y="{_n(y)}">{_text(self.title)}</text>'
        y += 6
        for line in self.head:
            y += LINE
            yield f'<text class="quiet" x="{_n(left)}" y="{_n(y)}">{_text(line)}</text>'
        y += GAP
        # Edges first: boxes and labels lie over them.
        placed = list(_positions(self.root, middle, y, self.depths, _gaps(self.root)))
        for item in placed:
            yield from _draw_edge(*item)
        for item in placed:
            yield from _draw_box(item[0], item[1], item[2])
        y += self.tree_height + 1.5 * GAP
        for line in self.foot:
            yield f'<text class="quiet" x="{_n(left)}" y="{_n(y)}">{_text(line)}</text>'
            y += LINE


def _place(box: Box) -> _Placed:
    children = [_place(child) for child in box.children]
    lines = [line for text in (box.title, *box.details) for line in _wrap(text, LONGEST)]
    edge = [line for text in box.edge for line in _wrap(text, LONGEST)]
    width = max(cell_len(line) for line in lines) * CELL + 2 * PADDING
    words_width = max((cell_len(line) for line in edge), default=0) * CELL + PADDING
    below = sum(child.span for child in children) + GAP * max(len(children) - 1, 0)
    return _Placed(
        box=box,
        lines=lines,
        edge=edge,
        width=width,
        height=len(lines) * LINE + 2 * PADDING,
        span=max(width, words_width, below),
        children=children,
    )


def _depths(root: _Placed) -> list[float]:
    """The height of each level: its tallest box."""
    return [max(item.height for item in level) for level in _levels(root)]


def _gaps(root: _Placed) -> list[float]:
    """The space above each level but the first: room for the longest words on an edge."""
    return [2 * GAP + LINE * max(len(item.edge) for item in level) for level in list(_levels(root))[1:]]


def _levels(root: _Placed) -> Iterator[list[_Placed]]:
    level = [root]
    while level:
        yield level
        level = [child for item in level for child in item.children]


_Position = tuple[_Placed, float, float, "tuple[float, float] | None", float]


def _positions(item: _Placed, middle: float, top: float, depths: list[float], gaps: list[float]) -> Iterator[_Position]:
    """Every box with its middle, its top, the foot of its parent and the space above it."""

    def visit(
        item: _Placed, middle: float, top: float, level: int, parent: tuple[float, float] | None
    ) -> Iterator[_Position]:
        yield item, middle, top, parent, gaps[level - 1] if level else 0
        if not item.children:
            return
        total = sum(child.span for child in item.children) + GAP * (len(item.children) - 1)
        left = middle - total / 2
        below = top + depths[level] + gaps[level]
        for child in item.children:
            yield from visit(child, left + child.span / 2, below, level + 1, (middle, top + item.height))
            left += child.span + GAP

    yield from visit(item, middle, top, 0, None)


def _draw_edge(
    item: _Placed, middle: float, top: float, parent: tuple[float, float] | None, gap: float
) -> Iterator[str]:
    if parent is None:
        return
    x, y = parent
    bend = top - gap + GAP / 2
    style = "edge dashed" if item.box.gap else "edge"
    yield f'<path class="{style}" d="M{_n(x)} {_n(y)} V{_n(bend)} H{_n(middle)} V{_n(top)}"/>'
    if not item.edge:
        return
    width = max(cell_len(line) for line in item.edge) * CELL + PADDING
    height = len(item.edge) * LINE + 4
    begin = top - GAP / 2 - height
    yield (
        f'<rect class="label" x="{_n(middle - width / 2)}" y="{_n(begin)}" width="{_n(width)}" height="{_n(height)}"/>'
    )
    for number, line in enumerate(item.edge, start=1):
        yield f'<text x="{_n(middle)}" y="{_n(begin + number * LINE - 3)}" text-anchor="middle">{_text(line)}</text>'


def _draw_box(item: _Placed, middle: float, top: float) -> Iterator[str]:
    kinds = {"leaf": item.box.leaf, "connex": item.box.connex, "dashed": item.box.gap}
    style = " ".join(["box", *(name for name, has in kinds.items() if has)])
    left = middle - item.width / 2
    yield (
        f'<rect class="{style}" x="{_n(left)}" y="{_n(top)}" width="{_n(item.width)}" height="{_n(item.height)}" '
        f'rx="{4 if item.box.leaf or item.box.gap else 14}"/>'
    )
    for number, line in enumerate(item.lines):
        name = ' class="name"' if number == 0 else ""
        y = top + PADDING + (number + 1) * LINE - 4
        yield f'<text{name} x="{_n(left + PADDING)}" y="{_n(y)}">{_text(line)}</text>'


def _wrap(text: str, width: int, indent: str = "  ") -> list[str]:
    """Break at blanks; a longer word stands on a line of its own."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word if not lines else indent + word)
    return lines


def _text(text: str) -> str:
    """Escaped, with characters that XML does not allow replaced."""
    allowed = (char if char >= " " and char not in "\ufffe\uffff" else "\N{REPLACEMENT CHARACTER}" for char in text)
    return escape("".join(allowed))


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")

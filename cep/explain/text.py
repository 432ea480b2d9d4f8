"""A plan as a page of text: what the pattern is, the tree, what is kept, how each event finds its matches, the cost."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rich.cells import cell_len

from cep.explain import gaps, words
from cep.explain.boxes import Box, boxes, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cep.ir.plan import Plan, Trigger

WIDTH = 100
_MARK = "\N{BLACK CIRCLE}"


def render(plans: Sequence[Plan]) -> str:
    """One page a plan, a blank line between them."""
    return "\n".join("".join(line.rstrip() + "\n" for line in page(plan)) for plan in plans)


def page(plan: Plan) -> Iterator[str]:
    """The lines of one plan."""
    yield plan.pattern
    yield "=" * cell_len(plan.pattern)
    facts = [
        ("class", f"{words.classes(plan.verdict)}: {words.meaning(plan.verdict)}"),
        ("window", words.window(plan)),
        ("partition", words.partition(plan)),
        ("returns", words.output(plan)),
        ("runtime", plan.runtime),
    ]
    if plan.branches:
        facts.append(("alternatives", words.alternatives(plan)))
    yield from _table(facts)
    yield ""
    for part in plan.parts:
        root = boxes(part)
        connex = any(box.connex for box in walk(root))
        legend = [f"{_MARK} connex set: together these hold what is returned"] if connex else []
        legend += ["╌╌ a gap: asked about, never bound"] if any(box.gap for box in walk(root)) else []
        yield _headed("Join tree", part, plan) + (f"   ({'; '.join(legend)})" if legend else "")
        yield from _tree(root, "  ", "  ")
        yield ""
    yield "Indexes"
    yield from _table(
        (f"{number} on {item.var}", f"{words.index(plan, item)}; {_used(words.users(plan, number))}")
        for number, item in enumerate(plan.indexes)
    )
    if not plan.indexes:
        yield "  none needed"
    yield ""
    for part in plan.parts:
        yield _headed("When an event arrives", part, plan)
        for trigger in part.triggers:
            yield from _trigger(part, trigger)
        yield ""
    yield "Cost"
    costs = plan.guarantees
    yield from _table(words.costs(costs))
    if plan.notes:
        yield ""
        yield "Notes"
        for note in plan.notes:
            yield from _wrapped(note, "  - ", "    ")


def _headed(heading: str, part: Plan, plan: Plan) -> str:
    return f"{heading}, alternative {part.branch + 1}" if plan.branches else heading


def _used(variables: tuple[str, ...]) -> str:
    return f"used by a new {' or '.join(variables)}" if variables else "not used by any trigger"


def _trigger(plan: Plan, trigger: Trigger) -> Iterator[str]:
    leaf = plan.leaf(trigger.var)
    until = gaps.waits(leaf)
    yield from _wrapped(f"a new {trigger.var}" + (f", which waits {until}" if until is not None else ""), "  ", "    ")
    for number, step in enumerate((*leaf.asks, *trigger.steps), start=1):
        parts = [f"{words.lookup(plan, step)} (index {step.index})", *words.extras(step)]
        yield from _wrapped("; ".join(parts), f"    {number}. ", "       ")
    if trigger.alternatives:
        firsts = " or ".join(steps[0].var for steps in trigger.alternatives)
        yield from _wrapped(f"begins with {firsts} instead where that has fewer partners", "    or ", "       ")
    yield "    => a match for each combination" if trigger.steps else "    => a match"


def _tree(box: Box, first: str, rest: str) -> Iterator[str]:
    mark = f"{_MARK} " if box.connex else ""
    yield f"{first}{mark}{box.title}"
    stem = rest + ("│   " if box.children else "    ")
    for detail in box.details:
        yield from _wrapped(detail, stem, stem)
    for number, child in enumerate(box.children):
        last = number == len(box.children) - 1
        if child.edge:
            yield from _wrapped(", ".join(child.edge), f"{rest}│ [", f"{rest}│  ", end="]")
        line = "╌╌ " if child.gap else "── "
        yield from _tree(child, rest + ("└" if last else "├") + line, rest + ("    " if last else "│   "))


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    listed = list(rows)
    size = max((cell_len(name) for name, _ in listed), default=0)
    for name, text in listed:
        head = f"  {name}{' ' * (size - cell_len(name))}   "
        yield from _wrapped(text, head, " " * cell_len(head))


def _wrapped(text: str, first: str, rest: str, end: str = "") -> Iterator[str]:
    lines = textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    *before, last = lines or [first]
    yield from before
    yield last + end

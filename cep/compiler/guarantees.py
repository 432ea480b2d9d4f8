"""Guarantees: what an event, a match and the state cost, in plain words, and never more than the indexes give.

Every sentence printed here has a test in tests/costs that counts index operations as the input grows.
"""

from __future__ import annotations

from cep.expr import duration_text
from cep.gcq import GCQ
from cep.plan import Edge, Guarantees, Step, Trigger


def guarantees(gcq: GCQ, edges: tuple[Edge, ...], triggers: tuple[Trigger, ...], *, acyclic: bool) -> Guarantees:
    """State the costs of a plan."""
    return Guarantees(
        update=_update(gcq, edges, acyclic=acyclic),
        delay=_delay(gcq, triggers, acyclic=acyclic),
        space=_space(gcq),
    )


def _update(gcq: GCQ, edges: tuple[Edge, ...], *, acyclic: bool) -> str:
    if not edges:
        return "O(1) per event"
    if not acyclic:
        return "O(1) per event to store it; finding its matches costs one index seek per partial match of the bag"
    if all(edge.chain for edge in edges):
        steps = len(edges)
        return (
            f"O(1) per event in time order, at any window size; the event that completes a match costs {steps} index "
            f"seek{'s' if steps > 1 else ''} of O(log n); a late event also costs the rows it precedes in its group"
        )
    if gcq.window is None:
        return "O(log n) per event that arrives in the order of its indexes, else also the rows it displaces in its group"
    return "O(log n) per event in time order, plus one index seek per neighbour in the window that it could extend"


def _delay(gcq: GCQ, triggers: tuple[Trigger, ...], *, acyclic: bool) -> str:
    last = triggers[-1]
    if not last.steps:
        return "constant"
    if not acyclic:
        return "not constant: a cyclic bag is joined variable by variable, partial matches can fail to close"
    checked = [step for trigger in triggers for step in trigger.steps if step.checks]
    if checked:
        return f"not constant: {_why(checked[0])} is checked on every partner in range"
    if gcq.pattern.distinct and not all(step.exists for step in last.steps):
        return "not constant: combinations that agree on the output are merged as they are found"
    if all(step.chain for step in last.steps) and all(len(t.steps) <= 1 for t in triggers[:-1]):
        return "constant"
    if all(step.chain for step in last.steps):
        return "constant when events arrive in time order; a late event can visit partners that do not complete"
    if len({step.via for step in last.steps}) == 1 and gcq.window is None:
        return "constant"
    return "not constant: a partner in range can fail to find partners of its own"


def _why(step: Step) -> str:
    return f"`{step.checks[0]}`"


def _space(gcq: GCQ) -> str:
    if gcq.window is None:
        return "linear in the events that pass the filters, for ever (UNBOUNDED)"
    return f"linear in the events of the last {duration_text(gcq.window)} that pass the filters, however many matches"

"""Guarantees: what an event, a match and the state cost, in plain words, and never more than the indexes give.

Every sentence printed here has a test in tests/costs that counts index operations as the input grows.
"""

from __future__ import annotations

from enum import Enum

from cep.expr import duration_text, variables
from cep.gcq import GCQ
from cep.plan import Edge, Guarantees, Step, Trigger


class Merging(Enum):
    """Which combinations of events can make the tuple of another, and so have to be remembered (DISTINCT)."""

    NONE = "none"
    TWINS = "those of events that look like others in the output"
    ALL = "all"


def guarantees(
    gcq: GCQ, edges: tuple[Edge, ...], triggers: tuple[Trigger, ...], *, acyclic: bool, merging: Merging
) -> Guarantees:
    """State the costs of a plan."""
    return Guarantees(
        update=_update(gcq, edges, acyclic=acyclic),
        delay=_delay(gcq, triggers, acyclic=acyclic, merging=merging),
        space=_space(gcq, merging=merging),
    )


_STORE = "O(log n) per event that arrives in the order of its indexes, else also the rows it displaces in its group"


def _update(gcq: GCQ, edges: tuple[Edge, ...], *, acyclic: bool) -> str:
    if not edges:
        return "O(1) per event"
    if not acyclic:
        return f"{_STORE}; finding its matches costs one index seek per partial match"
    if all(edge.chain for edge in edges):
        steps = len(edges)
        return (
            f"O(1) per event in time order, at any window size; the event that completes a match costs {steps} index "
            f"seek{'s' if steps > 1 else ''} of O(log n); a late event also costs the rows it precedes in its group"
        )
    if gcq.window is None:
        return _STORE + ("; one index seek more per neighbour that it could extend" if len(edges) > 1 else "")
    return "O(log n) per event in time order, plus one index seek per neighbour in the window that it could extend"


def _delay(gcq: GCQ, triggers: tuple[Trigger, ...], *, acyclic: bool, merging: Merging) -> str:
    last = triggers[-1]
    if not last.steps:
        return "constant"
    if not acyclic:
        return "not constant: a cyclic bag is joined variable by variable, partial matches can fail to close"
    checked = [step for trigger in triggers for step in trigger.steps if step.checks]
    if checked:
        return f"not constant: {_why(checked[0])} is checked on every partner in range"
    if merging is Merging.TWINS:
        return "not constant: where events look alike in the output, combinations that agree on it are merged"
    if merging is Merging.ALL and not all(step.exists for step in last.steps):
        return "not constant: combinations that agree on the output are merged as they are found"
    if merging is Merging.ALL and not all(step.exists for trigger in triggers for step in trigger.steps):
        return f"constant for a new `{last.var}`; a new event of another variable can merge what agrees on the output"
    if all(len(trigger.steps) <= 1 for trigger in triggers):
        return "constant"
    if all(step.chain for step in last.steps):
        return "constant when events arrive in time order; a late event can visit partners that do not complete"
    if len({step.via for step in last.steps}) == 1 and gcq.window is None:
        return (
            f"constant for a new `{last.var}`; a new event of another variable can visit partners that do not complete"
        )
    return "not constant: a partner in range can fail to find partners of its own"


def _why(step: Step) -> str:
    return f"`{step.checks[0]}`"


def _space(gcq: GCQ, *, merging: Merging) -> str:
    # A tuple made of one event is paid for by the event; of several, there can be more tuples than events.
    returned = {name for _, expr in gcq.pattern.fields for name in variables(expr)}
    alive = "" if gcq.window is None else " alive"
    tuples = ""
    if merging is not Merging.NONE and len(returned) > 1:
        tuples = f" and in the distinct tuples{alive}"
        tuples += " that another combination could make" if merging is Merging.TWINS else ""
    if gcq.window is None:
        return f"linear in the events that pass the filters{tuples}, for ever (UNBOUNDED)"
    kept = f"events of the last {duration_text(gcq.window)} that pass the filters"
    return f"linear in the {kept}{tuples or ', however many matches'}"

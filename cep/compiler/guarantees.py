"""Guarantees: what an event, a match and the state cost, in plain words, and never more than the indexes give.

Every sentence printed here has a test in tests/costs that counts index operations as the input grows.
"""

from __future__ import annotations

from enum import Enum

from cep.compiler.gaps import Gap, Way, keeps, later_than, time_of
from cep.ir.expr import duration_text, variables
from cep.ir.gcq import GCQ
from cep.ir.plan import Edge, Guarantees, Probe, Step, Trigger


class Merging(Enum):
    """Which combinations of events can make the tuple of another, and so have to be remembered (DISTINCT)."""

    NONE = "none"
    TWINS = "those of events that look like others in the output"
    ALL = "all"


def guarantees(
    gcq: GCQ,
    edges: tuple[Edge, ...],
    triggers: tuple[Trigger, ...],
    gaps: tuple[Gap, ...],
    *,
    acyclic: bool,
    merging: Merging,
) -> Guarantees:
    """State the costs of a plan."""
    return Guarantees(
        emission=_emission(gcq, gaps),
        update=_update(gcq, edges, acyclic=acyclic)
        if not gaps
        else _settled(_update(gcq, edges, acyclic=acyclic), gaps),
        delay=_delay(gcq, triggers, gaps, acyclic=acyclic, merging=merging),
        space=_space(gcq, gaps, merging=merging),
    )


_STORED = "O(1) per event"
_STORE = "O(log n) per event that arrives in the order of its indexes, else also the rows it displaces in its group"


def _update(gcq: GCQ, edges: tuple[Edge, ...], *, acyclic: bool) -> str:
    if not edges:
        return _STORED
    if not acyclic:
        return f"{_STORE}; finding its matches costs one index seek per partial match"
    if all(edge.chain and len(edge.predicates) < 2 for edge in edges):
        steps = len(edges)
        return (
            f"O(1) per event in time order, at any window size; the event that completes a match costs {steps} index "
            f"seek{'s' if steps > 1 else ''} of O(log n); a late event also costs the rows it precedes in its group"
        )
    if gcq.window is None:
        return _STORE + ("; one index seek more per neighbour that it could extend" if len(edges) > 1 else "")
    return "O(log n) per event in time order, plus one index seek per neighbour in the window that it could extend"


def _settled(update: str, gaps: tuple[Gap, ...]) -> str:
    """What gaps add: an index for their events, and a question to it for what is held back."""
    if update == _STORED:
        update = "O(1) per event in time order; a late event also costs the rows it precedes in its group"
    update = f"{update}; an event that is held back costs an index seek of O(log n) for each gap when it is due"
    slow = [text for gap in gaps if gap.way is Way.ROW for text in _read(gap)]
    return f"{update}, and {' and '.join(slow)} every event of the set" if slow else update


def _read(gap: Gap) -> list[str]:
    """What of a set is worked out of its events one by one; the rest is read off its range."""
    if not gap.is_set:
        return []
    if gap.run is not None:
        return [f"where the run {gap.name} breaks is asked of"]
    if gap.checks:
        return [f"`{gap.checks[0]}` is checked on"]
    names = [f"`{each.name}`" for each in gap.folded if each.reads]
    return [f"{', '.join(names)} {'read' if len(names) > 1 else 'reads'}"] if names else []


def _delay(gcq: GCQ, triggers: tuple[Trigger, ...], gaps: tuple[Gap, ...], *, acyclic: bool, merging: Merging) -> str:
    last = triggers[-1]
    if not last.steps:
        return "constant"
    if not acyclic:
        return "not constant: a cyclic bag is joined variable by variable, partial matches can fail to close"
    asked = next((s for t in triggers for s in t.steps if isinstance(s, Probe) and s.absent), None)
    if asked is not None:
        return f"not constant: NOT {asked.var} is asked of every combination"
    worked_out = next((gap for gap in gaps if gap.is_set and gap.way is Way.MATCH), None)
    if worked_out is not None:
        slow = f", and {_read(worked_out)[0]} every event of it" if _read(worked_out) else ""
        return f"not constant: the set {worked_out.name} is worked out for every combination{slow}"
    bounds = {gap.bound for gap in gaps if gap.way is Way.SINCE}  # an event before the gap comes too late to ask
    checked = [step for trigger in triggers for step in trigger.steps if set(step.checks) - bounds]
    if checked:
        return f"not constant: {_why(checked[0])} is checked on every partner in range"
    if merging is Merging.TWINS:
        return "not constant: where events look alike in the output, combinations that agree on it are merged"
    if merging is Merging.ALL and not all(isinstance(step, Probe) for step in last.steps):
        return "not constant: combinations that agree on the output are merged as they are found"
    if merging is Merging.ALL and not all(isinstance(step, Probe) for trigger in triggers for step in trigger.steps):
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


def _emission(gcq: GCQ, gaps: tuple[Gap, ...]) -> str:
    """When a match comes, and what it waits for."""
    waits: dict[str, int] = {}
    for gap in gaps:
        waits[gap.held] = max(gap.shift, waits.get(gap.held, 0))
    times = {variable.name: time_of(variable) for variable in gcq.pattern.variables if variable.name in waits}
    later = later_than([variable.name for variable in gcq.pattern.variables], gcq.pattern.order)
    reached, passed = [], []
    for name, micros in waits.items():
        if any(other in later[name] and waits[other] >= micros for other in waits):
            continue  # what waits for a later event has waited for this one
        if name == gcq.pattern.anchor:
            passed.append("that moment")
        elif not micros:
            reached.append(f"`{times[name]}`")
        elif micros == 1:
            passed.append(f"`{times[name]}`")
        else:
            passed.append(f"`{times[name]} + {duration_text(micros - 1)}`")
    parts = [f"{verb} {' and '.join(some)}" for verb, some in (("reached", reached), ("passed", passed)) if some]
    if not parts:
        return "when its last event arrives"
    return f"when its last event has arrived and the watermark has {' and '.join(parts)}; it is final then"


def _why(step: Step) -> str:
    return f"`{step.checks[0]}`"


def _space(gcq: GCQ, gaps: tuple[Gap, ...], *, merging: Merging) -> str:
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
    longer = {name: micros for name, micros in keeps(gcq, gaps).items() if micros > gcq.window + 1}
    if longer:  # what a row waits for, to be asked about what lies before it
        names = " and ".join(f"`{name}`" for name in dict.fromkeys(name.split()[-1] for name in longer))
        kept += f" (of {names}: the last {duration_text(max(longer.values()) - 1)})"
    return f"linear in the {kept}{tuples or ', however many matches'}"

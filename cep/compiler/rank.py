"""Rank: guess which event of a match comes last.

The join tree is rooted at the event that completes a match, so that every other insertion finds nothing to do
(idris.md, trap 6.9). `SEQ` and comparisons of event times say which one that is; where no time does, larger values are
taken to come later, as they do in streams of counters and prices that the thesis calls temporally ordered. A wrong
guess costs time, never matches.
"""

from __future__ import annotations

from cep.ir.expr import Col, split_shift, variables
from cep.ir.gcq import GCQ
from cep.ir.types import Type


def rank(gcq: GCQ) -> dict[str, int]:
    """Atom names to their places in time, 0 earliest; all different. Linear in inequalities times atoms."""
    names = [atom.name for atom in gcq.atoms]
    times = {atom.name: atom.stream.time for atom in gcq.atoms}

    def is_time(expr: object, var: str) -> bool:
        return expr == Col(var, times[var] or "", Type.TIMESTAMP)

    by_time = list(gcq.pattern.order)
    by_value: list[tuple[str, str]] = []
    for inequality in gcq.inequalities:
        (earlier,), (later,) = (variables(side) for side in inequality.args)
        (left, a), (right, b) = (split_shift(side) for side in inequality.args)
        if not (is_time(left, earlier) and is_time(right, later)):
            by_value.append((earlier, later))
        elif b - a <= 0:
            by_time.append((earlier, later))
        # Else it says how far apart the two may be, not which comes first.
    time_depth = _depths(names, by_time)
    value_depth = _depths(names, by_value)
    ordered = sorted(names, key=lambda name: (time_depth[name], value_depth[name], names.index(name)))
    return {name: place for place, name in enumerate(ordered)}


def _depths(names: list[str], pairs: list[tuple[str, str]]) -> dict[str, int]:
    """Longest chain of pairs that leads to each name; rounds are capped, so that a cycle of values does no harm."""
    depth = dict.fromkeys(names, 0)
    for _ in names:
        for earlier, later in pairs:
            depth[later] = max(depth[later], min(depth[earlier] + 1, len(names)))
    return depth

"""Refuse what is checked and cannot be run yet: sets beside alternatives.

For patterns without errors, as the last of the passes that judge.
"""

from __future__ import annotations

from cep.diagnostics import Diagnostics
from cep.ir.body import Many, steps
from cep.ir.model import Pattern


def unsupported(pattern: Pattern, diagnostics: Diagnostics) -> bool:
    """Whether a pattern has something that does not run yet (CEP0901, each where it stands)."""
    if not pattern.branches:
        return False
    spans = {gap.name: gap.span for gap in pattern.gaps}
    sets = [step for step in steps(pattern.body) if isinstance(step, Many)]
    for step in sets:
        diagnostics.error(
            "CEP0901",
            spans[step.var],
            "a set in a pattern with alternatives is not supported yet",
            hint="write one pattern for each alternative",
        )
    return bool(sets)

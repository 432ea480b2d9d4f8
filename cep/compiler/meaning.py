"""Meaning: a hash of what the user wrote, in normal form, and of nothing that the compiler decided about running it.

Checkpoints and snapshots are kept under it. Layout, the order of conditions, which side of a comparison stands left,
which of several equal attributes are compared and conditions that say nothing new do not change it. Neither does a
better plan for the same pattern: the engine is rebuilt from its events.

Guaranteed: patterns with one meaning have the same matches. Not guaranteed: that other words for the same matches have
the same meaning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from cep.compiler.normalise import Normal, normal_form
from cep.ir.body import One, steps
from cep.ir.expr import FLIPPED, Call, Expr
from cep.ir.model import Condition, GapVariable
from cep.ir.plan import canonical


def meaning(normal: Normal) -> str:
    """The hash of a normalised pattern, the same in every process and release."""
    pattern = normal.pattern
    streams = {variable.stream.name: variable.stream for variable in pattern.variables}
    equalities = [c for c in normal.conditions if isinstance(c, Call) and c.op == "="]
    others = [c for c in normal.conditions if not (isinstance(c, Call) and c.op == "=")]
    streams |= {gap.stream.name: gap.stream for gap in pattern.gaps}
    parts: tuple[object, ...] = (
        pattern.name,
        tuple(streams[name] for name in sorted(streams)),
        tuple((variable.name, variable.stream.name) for variable in pattern.variables),
        _classes(equalities),
        tuple(sorted(canonical(_oriented(condition)) for condition in others)),
        normal.window,
        pattern.distinct,
        pattern.fields,
    )
    if pattern.gaps or any(isinstance(step, One) and step.select is not None for step in steps(pattern.body)):
        parts += (pattern.body, *(_gap(gap) for gap in pattern.gaps), _texts(pattern.having))
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def meaning_of_any(name: str, meanings: Sequence[str]) -> str:
    """The hash of a pattern that matches where one of several does, in the order in which they are written."""
    return hashlib.sha256(canonical((name, "OR", tuple(meanings))).encode()).hexdigest()


def _classes(equalities: Iterable[Call]) -> tuple[tuple[str, ...], ...]:
    """What is equal to each other, as texts: `a.k = b.k AND b.k = c.k` and `a.k = c.k AND a.k = b.k` are one class."""
    of: dict[str, set[str]] = {}
    for equality in equalities:
        left, right = map(canonical, equality.args)
        joined = of.get(left, {left}) | of.get(right, {right})
        for text in joined:
            of[text] = joined
    return tuple(sorted({tuple(sorted(each)) for each in of.values()}))


def _gap(gap: GapVariable) -> tuple[object, ...]:
    return gap.name, gap.stream.name, _texts(gap.conditions), _texts(gap.pairs)


def _texts(conditions: Iterable[Condition]) -> tuple[str, ...]:
    return tuple(sorted({canonical(_oriented(part)) for c in conditions for part in normal_form(c.expr)}))


def _oriented(expr: Expr) -> Expr:
    """`b > a` as `a < b`."""
    if not isinstance(expr, Call) or expr.op not in FLIPPED:
        return expr
    left, right = expr.args
    return expr if canonical(left) <= canonical(right) else Call(FLIPPED[expr.op], (right, left), expr.type)

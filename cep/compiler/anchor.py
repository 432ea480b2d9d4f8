"""Anchor: a set that stands alone gets a single event to stand beside, its last one.

`SEQ(B{5,} b) WITHIN w` has a match for each moment at which a `b` happens: the set is what lies within `w` up to and
including that moment. So the moment's event is a single event like others, the *anchor*, and the set is its gap. Of
several events at one moment (and with one `PARTITION BY` key) the last by its columns is the anchor, and the only one.
"""

from __future__ import annotations

from dataclasses import replace

from cep.ir.body import All, Body, Many, One, Seq, steps
from cep.ir.expr import Call, Col, Expr, rewrite, variables
from cep.ir.model import Condition, GapVariable, Pattern, Variable
from cep.ir.types import Type


def anchor(pattern: Pattern) -> Pattern:
    """The pattern with an anchor for its lone set; the pattern itself where it has single events."""
    lone = [step for step in steps(pattern.body) if isinstance(step, Many)]
    if pattern.variables or len(lone) != 1:
        return pattern
    gap = next(gap for gap in pattern.gaps if gap.name == lone[0].var)
    last = Variable(name=f"last {gap.name}", stream=gap.stream, span=gap.span)  # no name that can be written
    own = [c for c in gap.conditions if variables(c.expr) == {gap.name}]
    conditions = [Condition(expr=_of(c.expr, gap.name, last.name), span=c.span) for c in own]
    conditions += [_present(last, attr) for attr in pattern.partition_by]
    gaps = tuple(_beside(each, last, pattern.partition_by, is_set=each is gap) for each in pattern.gaps)
    return replace(
        pattern,
        variables=(last,),
        body=_anchored(pattern.body, gap.name, last.name),
        conditions=(*pattern.conditions, *conditions),
        gaps=gaps,
        anchor=last.name,
    )


def _anchored(body: Body, gap: str, last: str) -> Body:
    if isinstance(body, Many) and body.var == gap:
        return All((One(last), body))
    if isinstance(body, (Seq, All)):
        return replace(body, items=tuple(_anchored(item, gap, last) for item in body.items))
    return body


def _beside(gap: GapVariable, last: Variable, keys: tuple[str, ...], *, is_set: bool) -> GapVariable:
    """A gap whose events have the anchor's key; those of the set are not later than it."""
    added = [
        Call(
            "=",
            (_column(gap.name, gap.stream.type_of(key), key), _column(last.name, last.stream.type_of(key), key)),
            Type.BOOLEAN,
        )
        for key in keys
    ]
    if is_set:
        time = gap.stream.time
        added.append(
            Call(
                "<=", (_column(gap.name, Type.TIMESTAMP, time), _column(last.name, Type.TIMESTAMP, time)), Type.BOOLEAN
            )
        )
    return replace(gap, conditions=(*gap.conditions, *(Condition(expr=expr, span=gap.span) for expr in added)))


def _present(variable: Variable, attr: str) -> Condition:
    missing = Call("isnull", (_column(variable.name, variable.stream.type_of(attr), attr),), Type.BOOLEAN)
    return Condition(expr=Call("not", (missing,), Type.BOOLEAN), span=variable.span)


def _column(var: str, type_: Type | None, attr: str | None) -> Col:
    assert type_ is not None
    assert attr is not None
    return Col(var, attr, type_)


def _of(expr: Expr, old: str, new: str) -> Expr:
    return rewrite(expr, lambda node: replace(node, var=new) if isinstance(node, Col) and node.var == old else node)

"""What `SEQ` asks for between two events, where the stream has an `ORDER BY` and where it has none.

Between different streams, and without `ORDER BY`, `a` before `b` is `a.ts < b.ts`. Between two variables of one stream
with `ORDER BY seq` it is the order of (time, seq): `a.ts <= b.ts AND (a.ts < b.ts OR a.seq < b.seq)`. It is written
that way because the first half is a range of an index, a step of a chain and a difference bound, and the second a check
that only decides at equal times. A NULL in `seq` is before and after nothing of its moment.
"""

from __future__ import annotations

from cep.compiler.shared.differences import Bound
from cep.ir.expr import Call, Col, Expr
from cep.ir.model import Pattern, Variable
from cep.ir.types import Type


def ordered_at_ties(earlier: Variable, later: Variable) -> bool:
    """Whether events of the two variables have an order at equal times."""
    return earlier.stream.name == later.stream.name and earlier.stream.order is not None


def before(earlier: Variable, later: Variable) -> tuple[Expr, ...]:
    """The conditions that one variable's event is before the other's; both streams have an event time."""
    first, second = _time(earlier), _time(later)
    if not ordered_at_ties(earlier, later):
        return (Call("<", (first, second), Type.BOOLEAN),)
    return Call("<=", (first, second), Type.BOOLEAN), tie_break(earlier, later)


def tie_break(earlier: Variable, later: Variable) -> Expr:
    """What decides at equal times."""
    times = (_time(earlier), _time(later))
    return Call(
        "or",
        (Call("<", times, Type.BOOLEAN), Call("<", (_place(earlier), _place(later)), Type.BOOLEAN)),
        Type.BOOLEAN,
    )


def without_order(pattern: Pattern) -> tuple[str, ...]:
    """The streams whose events `SEQ` compares with each other and that say nothing of events at one moment."""
    named = {variable.name: variable for variable in pattern.variables}
    found = [named[a].stream for a, b in pattern.order if named[a].stream.name == named[b].stream.name]
    return tuple(dict.fromkeys(stream.name for stream in found if stream.order is None))


def time_bound(earlier: Variable, later: Variable, reason: object = None) -> Bound:
    """What the order says about the two event times alone."""
    return Bound(_time(earlier), _time(later), 0 if ordered_at_ties(earlier, later) else -1, reason=reason)


def _time(variable: Variable) -> Col:
    assert variable.stream.time is not None
    return Col(variable.name, variable.stream.time, Type.TIMESTAMP)


def _place(variable: Variable) -> Col:
    attr = variable.stream.order
    assert attr is not None
    type_ = variable.stream.type_of(attr)
    assert type_ is not None
    return Col(variable.name, attr, type_)

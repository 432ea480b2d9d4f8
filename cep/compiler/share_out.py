"""Share out the conditions of a pattern among those they speak of: single events, gaps, values of sets.

A conjunct that mentions a gap variable by element (`b.x > a.x`) says which events lie in the gap: it belongs to that
variable, whoever else it mentions. With `PREV` it is about neighbours of a run. A conjunct that mentions sets through
aggregates alone (`COUNT(b) > a.n`) is asked of the match. Everything else is a condition on the single events.

The equalities of `PARTITION BY` are written out here: the single events in a chain, and each gap with the first of
them. Equalities through a gap would say nothing of the single events on both of its sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from cep.compiler.check_aggregate import Found
from cep.compiler.check_body import Bindings, Bound, Kind
from cep.compiler.check_expr import converted
from cep.diagnostics import Diagnostics, Label
from cep.ir.body import One, steps
from cep.ir.expr import Call, Col, columns, variables
from cep.ir.model import Condition
from cep.ir.types import Type, common_type
from cep.source import Span


@dataclass(slots=True)
class Shares:
    """`single` are over single events, `gaps` and `pairs` by gap variable, `having` over aggregates too."""

    single: list[Condition] = field(default_factory=list)
    gaps: dict[str, list[Condition]] = field(default_factory=dict)
    pairs: dict[str, list[Condition]] = field(default_factory=dict)
    having: list[Condition] = field(default_factory=list)
    good: bool = True

    def all(self) -> Iterator[Condition]:
        """Every condition."""
        yield from self.single
        for share in (*self.gaps.values(), *self.pairs.values()):
            yield from share
        yield from self.having


def share_out(
    conditions: Sequence[Condition], bound: dict[str, Bound], aggregates: Found, diagnostics: Diagnostics
) -> Shares:
    """Give each conjunct to whom it speaks of; CEP0410 where that would be two gaps."""
    shares = Shares()
    for condition in conditions:
        used = [col for col in columns(condition.expr) if bound[col.var].kind is not Kind.ONE]
        whole = {col.var for col in used if (col.var, col.attr) in aggregates}
        gaps = list(dict.fromkeys(col.var for col in used if (col.var, col.attr) not in aggregates))
        if len(gaps) > 1 or whole.intersection(gaps):
            shares.good = False
            _unclear(condition, gaps, diagnostics)
        elif not gaps:
            (shares.having if whole else shares.single).append(condition)
        elif any(is_prev(col) for col in used):
            shares.pairs.setdefault(gaps[0], []).append(condition)
        else:
            shares.gaps.setdefault(gaps[0], []).append(condition)
    shares.good = _no_circle(shares, diagnostics) and shares.good
    return shares


def is_prev(col: Col) -> bool:
    """Whether a column of a run is that of the event before."""
    return col.attr.startswith("PREV(")


def _unclear(condition: Condition, gaps: list[str], diagnostics: Diagnostics) -> None:
    if len(gaps) > 1:
        named = " and ".join(f"`{name}`" for name in gaps)
        diagnostics.error(
            "CEP0410",
            condition.span,
            f"condition compares events of the gaps {named}",
            hint="compare each of them with a single event, or with an aggregate of the other (`MAX(b.x)`)",
        )
        return
    diagnostics.error(
        "CEP0410",
        condition.span,
        f"which events are in `{gaps[0]}` would depend on `{gaps[0]}` itself",
        hint="compare an aggregate with single events or constants, and attributes in a condition of their own",
    )


def _no_circle(shares: Shares, diagnostics: Diagnostics) -> bool:
    """CEP0410 where sets need each other's aggregates to be known."""
    needs: dict[str, dict[str, Condition]] = {}
    for name in (*shares.gaps, *shares.pairs):
        for condition in (*shares.gaps.get(name, ()), *shares.pairs.get(name, ())):
            for col in columns(condition.expr):
                if col.var != name:
                    needs.setdefault(name, {}).setdefault(col.var, condition)
    for start in needs:
        way = _way_back(start, needs)
        if way is not None:
            first, *others = (needs[one][two] for one, two in pairwise(way))
            diagnostics.error(
                "CEP0410",
                first.span,
                "which events are in one set depends on the other, and back: "
                + ", ".join(f"`{name}`" for name in way[:-1]),
                hint="compare with single events or constants instead",
                labels=[Label(other.span, "and this") for other in others],
            )
            return False
    return True


def _way_back(start: str, needs: dict[str, dict[str, Condition]]) -> list[str] | None:
    """The names from `start` back to itself, along what needs what; None where there is no way."""
    pending, seen = [[start]], {start}
    while pending:
        way = pending.pop()
        for name in needs.get(way[-1], ()):
            if name == start:
                return [*way, name]
            if name not in seen:
                seen.add(name)
                pending.append([*way, name])
    return None


def share_keys(
    keys: Sequence[tuple[str, Span]],
    bindings: Bindings,
    shares: Shares,
    diagnostics: Diagnostics,
    *,
    alternative: bool,
) -> None:
    """Add what `PARTITION BY` stands for; every stream has the keys. `alternative`: there are others beside it."""
    bound = bindings.steps
    selects = any(isinstance(step, One) and step.select is not None for step in steps(bindings.body))
    for attr, span in keys:
        columns = {
            step.name: Col(step.name, attr, type_)
            for step in bound.values()
            if step.stream is not None and (type_ := step.stream.type_of(attr)) is not None
        }
        single = [col for name, col in columns.items() if bound[name].kind is Kind.ONE]
        gaps = [col for name, col in columns.items() if bound[name].kind is not Kind.ONE]
        for left, right in pairwise(single):
            shares.single += _equal(left, right, span, shares, diagnostics)
        if (gaps or selects or alternative) and len(single) == 1:  # nothing else says that a NULL is no key
            (alone,) = single
            null = Call("isnull", (alone,), Type.BOOLEAN)
            shares.single.append(Condition(expr=Call("not", (null,), Type.BOOLEAN), span=span))
        anchor = (single or gaps or [Col("", attr, Type.NULL)])[0]
        for col in gaps:
            if col is not anchor:
                found = _equal(anchor, col, span, shares, diagnostics)
                if single:
                    shares.gaps.setdefault(col.var, []).extend(found)


def share_runs(bound: dict[str, Bound], shares: Shares, diagnostics: Diagnostics) -> None:
    """CEP0417: the key of a run as an equality. Events of other keys would break the run instead of staying outside."""
    for name, step in bound.items():
        for condition in shares.gaps.get(name, ()) if step.kind is Kind.RUN else ():
            expr = condition.expr
            if not (isinstance(expr, Call) and expr.op == "="):
                continue
            sides = [variables(side) for side in expr.args]
            if {name} in sides and any(side and name not in side for side in sides):
                shares.good = False
                diagnostics.error(
                    "CEP0417",
                    condition.span,
                    f"every event of another key would break the run `{name}`",
                    hint="write the key with PARTITION BY: a run is of the events of one key",
                )


def _equal(left: Col, right: Col, span: Span, shares: Shares, diagnostics: Diagnostics) -> list[Condition]:
    type_ = common_type(left.type, right.type)
    if type_ is not None:
        sides = (converted(left, type_), converted(right, type_))
        return [Condition(expr=Call("=", sides, Type.BOOLEAN), span=span)]
    shares.good = False
    diagnostics.error(
        "CEP0302",
        span,
        f"`{left}` is {left.type} and `{right}` is {right.type}: they cannot be compared",
        hint="use an equality in WHERE between attributes of one type",
    )
    return []

"""The gaps of a plan, as all formats show them: what must not lie where, who is asked, and who waits until when.

A gap is drawn below the leaf that it is asked of, with a dashed line: it binds no event. That of a set says what its
events add up to. What the compiler invents has names that cannot be written (`since r`, `FIRST b`, `set f`): here they
become words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cep.ir.expr import FLIPPED, Call, Col, Expr, duration_text, rewrite, variables
from cep.ir.plan import Fold, Folded, Probe, Range, Unbroken, previous

if TYPE_CHECKING:
    from cep.ir.plan import Leaf, Plan, Step

BY_ONE_ROW = "by one row"
BETWEEN = "between neighbours"
EVERY = "of every combination"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A gap in words. `below` is the variable that it is asked through, `held` the one that waits for it."""

    var: str
    title: str
    stream: str
    bounds: tuple[str, ...]
    keys: tuple[str, ...]
    filter: tuple[Expr, ...]
    checks: tuple[Expr, ...]
    asked: str
    how: str
    below: str
    held: str
    index: int
    least: int = 0
    most: int | None = 0
    values: tuple[Folded, ...] = ()
    having: tuple[Expr, ...] = ()
    run: Unbroken | None = None

    @property
    def is_set(self) -> bool:
        """Whether it is a set of events, and not their absence."""
        return self.most != 0


def gaps(plan: Plan) -> tuple[Gap, ...]:
    """The gaps of a plan, as written; of a plan with alternatives, those of each."""
    return tuple(_gap(part, leaf) for part in plan.parts for leaf in part.leaves if is_gap(part, leaf))


def is_gap(plan: Plan, leaf: Leaf) -> bool:
    """Whether a leaf is asked about and never bound."""
    return any(step.var == leaf.var for step in plan.lookups() if absent(step) or isinstance(step, Fold))


def is_set(step: Step) -> bool:
    """Whether a step works out what a set adds up to."""
    return isinstance(step, Fold) and not any(each.name.startswith("since ") for each in step.folded)


def name(var: str) -> str:
    """A variable as it is shown: the rival of `FIRST(B b)` is b'; a lone set has its last event beside it."""
    if " " not in var or var.startswith("last "):
        return var
    return var.removeprefix("set ") if var.startswith("set ") else f"{var.split()[-1]}'"


class _Words(Col):
    """A column in words of its own."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.attr


def shown(expr: Expr) -> Expr:
    """An expression without names that cannot be written."""

    def plainly(node: Expr) -> Expr:
        if not isinstance(node, Col):
            return node
        if node.attr.startswith("since "):
            return _Words("", f"the last {name(node.attr.removeprefix('since '))} before {node.var}", node.type)
        if node.attr.startswith(("first ", "last ")):
            return _Words("", f"the {node.attr}", node.type)
        if (earlier := previous(node)) is not None:
            return _Words("", f"PREV({node.var}.{earlier})", node.type)
        if "(" in node.attr and node.attr != "STREAM_OF()":  # what a set adds up to
            return _Words("", node.attr, node.type)
        return replace(node, var=name(node.var))

    return rewrite(expr, plainly)


def text(expr: Expr) -> str:
    """An expression as it is shown."""
    return str(shown(expr))


def is_between(expr: Expr) -> bool:
    """Whether a value is the time of the last event of a gap, which `Way.SINCE` asks about."""
    return isinstance(expr, Col) and expr.attr.startswith("since ")


def between(bound: Expr, earlier: str) -> str:
    """What it asks: that none lies between two events."""
    assert isinstance(bound, Col)
    return f"no {name(bound.attr.removeprefix('since '))} between {earlier} and {bound.var}"


def waits(leaf: Leaf) -> str | None:
    """Until when rows of a leaf are held back; None where they are not."""
    if leaf.hold is None:
        return None
    if leaf.hold == 0:
        return f"until the watermark has reached {leaf.var}.{leaf.time}"
    later = f" + {duration_text(leaf.hold - 1)}" if leaf.hold > 1 else ""
    return f"until the watermark has passed {leaf.var}.{leaf.time}{later}"


def details(gap: Gap) -> tuple[str, ...]:
    """What a box says of a gap."""
    found = [", ".join(gap.bounds) or "anywhere in the window"]
    if gap.keys:
        found.append(", ".join(gap.keys))
    conditions = [text(expr) for expr in (*gap.filter, *gap.checks)]
    if conditions:
        found.append(f"{'in it if' if gap.is_set else 'counts if'} {' AND '.join(conditions)}")
    if gap.run is not None:
        found.append(unbroken(gap.run))
    if gap.values:
        found.append(f"adds up to {', '.join(each.name for each in gap.values)}")
    if gap.having:
        found.append(f"fits if {' AND '.join(map(text, gap.having))}")
    return (*found, f"asked {gap.asked}: {gap.how}")


def unbroken(run: Unbroken) -> str:
    """Which part of the events in its gap a run is."""
    where = "the last ones" if run.at_end else "the first ones"
    conditions = [text(expr) for expr in (*run.holds, *run.pairs)]
    return f"{where} in a row" + (f" with {' AND '.join(conditions)}" if conditions else "")


def values(fold: Fold) -> tuple[Folded, ...]:
    """What a set adds up to, the times of its ends aside."""
    return tuple(each for each in fold.folded if each.op not in ("first", "last"))


def read_costs(fold: Fold) -> str:
    """Why the events of a set are looked at one by one; "" where they are not."""
    if fold.checks or fold.run is not None:
        return "event by event"
    slow = [each.name for each in fold.folded if each.reads]
    return f"{', '.join(slow)} event by event" if slow else ""


def _gap(plan: Plan, leaf: Leaf) -> Gap:
    owner, step = _asked(plan, leaf.var)
    index = plan.indexes[step.index]
    sort = index.sort
    assert sort is not None
    ranges = list(step.ranges)
    if isinstance(step, Fold) and not is_set(step):
        earlier = _earlier(plan, owner, leaf.variable)
        ranges.insert(0, Range(op=">", bound=earlier))
        assert isinstance(earlier, Col)
        how = f"each {owner} knows the last {name(leaf.var)} before it, and takes no {earlier.var} from before that"
        asked = BETWEEN
    elif owner:
        how, asked = _of_row(owner, step), BY_ONE_ROW
    else:
        how, asked = _of_combination(plan, step), EVERY
    keys = [
        f"{text(_of(plan, key, leaf.var))} = {text(_of(plan, key, by))}"
        for key, by in zip(index.key, step.key, strict=True)
    ]
    made = Gap(
        var=leaf.var,
        title=_title(leaf),
        stream=leaf.stream,
        bounds=(*_bounds(sort, ranges), *_end(plan, ranges)),
        keys=tuple(keys),
        filter=tuple(expr for expr in leaf.filter if not _says_not_null(expr)),
        checks=step.checks,
        asked=asked,
        how=how,
        below=owner or step.via,
        held=owner or _held(plan, step),
        index=step.index,
    )
    if not isinstance(step, Fold) or not is_set(step):
        return made
    title = f"{'set' if step.run is None else 'run'} {leaf.var}: {leaf.stream}{_quantifier(step)}"
    return replace(
        made,
        title=title,
        least=step.least,
        most=step.most,
        values=values(step),
        having=step.having,
        run=step.run,
    )


def _quantifier(fold: Fold) -> str:
    if fold.most is None and fold.least < 2:
        return "+" if fold.least else "*"
    if fold.most == fold.least:
        return f"{{{fold.least}}}"
    return f"{{{fold.least},{'' if fold.most is None else fold.most}}}"


def _of_row(owner: str, step: Step) -> str:
    """How a gap is asked about that one row decides."""
    if not isinstance(step, Fold):
        return f"{owner} is dropped where there is one"
    wrong = [f"are fewer than {step.least}" if step.least > 1 else "is none"] if step.least else []
    wrong += [f"are more than {step.most}"] if step.most is not None else []
    found = [f"{owner} is dropped where there {' or '.join(wrong)}"] if wrong else []
    found += ["what they add up to are columns of it"] if values(step) else []
    slow = read_costs(step)
    return "; ".join([*found, *([f"works out {slow}"] if slow else [])]) or "there may be any number"


def _of_combination(plan: Plan, step: Step) -> str:
    """How a gap is asked about that depends on several events."""
    order = [single.var for single in plan.singles]
    named = {each for expr in _parts(step) for each in variables(expr)} - {step.var} | {step.via, *step.key}
    sets = sorted(f"the set {name(each)}" for each in named if each.startswith("set "))
    needs = [*sorted((each for each in named if not each.startswith("set ")), key=order.index), *sets]
    how = f"once {', '.join(needs)} {'are' if len(needs) > 1 else 'is'} known"
    if isinstance(step, Fold):
        slow = read_costs(step)
        return f"{how}, {slow}" if slow else how
    return f"{how}, event by event" if step.checks else how


def _asked(plan: Plan, var: str) -> tuple[str, Step]:
    """The lookup that asks about a gap, and the held variable that asks it; "" where every combination does."""
    for leaf in plan.leaves:
        for ask in leaf.asks:
            if ask.var == var:
                return leaf.var, ask
    return "", next(step for trigger in reversed(plan.triggers) for step in trigger.steps if step.var == var)


def _earlier(plan: Plan, later: str, var: str) -> Expr:
    """The time of the earlier neighbour of a gap that a column of the later one stands for."""
    column = (later, f"since {var}")
    for step in plan.steps():
        for bound in step.ranges:
            if isinstance(bound.bound, Col) and (bound.bound.var, bound.bound.attr) == column:
                sort = plan.indexes[step.index].sort
                assert sort is not None
                return sort
        for check in step.checks:
            since = check.args[0] if isinstance(check, Call) else None
            if isinstance(check, Call) and isinstance(since, Col) and (since.var, since.attr) == column:
                return check.args[1]
    raise AssertionError(f"nothing asks about {column}")


def _held(plan: Plan, step: Step) -> str:
    """Who waits for a gap that every combination is asked about: what bounds it from above, else the longest."""
    held = {leaf.var: leaf.hold for leaf in plan.leaves if leaf.hold is not None}
    above = [each for bound in step.ranges if bound.op in ("<", "<=") for each in variables(bound.bound)]
    return next((each for each in above if each in held), max(held, key=lambda each: held[each]))


def _title(leaf: Leaf) -> str:
    if " " not in leaf.var:
        return f"NOT {leaf.var}: {leaf.stream}"
    select, own = leaf.var.split()
    return f"{select} {own}: no {'earlier' if select == 'FIRST' else 'later'} {own}' of {leaf.stream}"


def _bounds(sort: Expr, ranges: Iterable[Range]) -> Iterable[str]:
    lower = [r for r in ranges if r.op in (">", ">=")]
    upper = [r for r in ranges if r.op in ("<", "<=")]
    if len(lower) == len(upper) == 1:
        yield f"{text(lower[0].bound)} {FLIPPED[lower[0].op]} {text(sort)} {upper[0].op} {text(upper[0].bound)}"
        return
    yield from (f"{text(sort)} {r.op} {text(r.bound)}" for r in (*lower, *upper))


def _end(plan: Plan, ranges: list[Range]) -> tuple[str, ...]:
    """The window, where that is what ends a gap."""
    sides = {r.op[0] for r in ranges}
    return () if plan.window is None or len(sides) == 2 else (f"within {duration_text(plan.window)}",)


def _parts(step: Step) -> tuple[Expr, ...]:
    return (*(r.bound for r in step.ranges), *step.checks)


def _of(plan: Plan, key: str, var: str) -> Expr:
    return next(each for each in plan.keys if each.name == key).of(var)


def _says_not_null(expr: Expr) -> bool:
    inner = expr.args[0] if isinstance(expr, Call) and expr.op == "not" else None
    return isinstance(inner, Call) and inner.op == "isnull"


def absent(step: Step) -> bool:
    """Whether a step asks that there be none."""
    return isinstance(step, Probe) and step.absent

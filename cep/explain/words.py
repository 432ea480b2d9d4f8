"""What a plan says, in words: the sentences that all formats share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cep.explain import gaps
from cep.ir.expr import FLIPPED, Call, Col, Expr, duration_text
from cep.ir.plan import Fold, Probe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cep.ir.hypergraph import Verdict
    from cep.ir.plan import Guarantees, Index, Leaf, Plan, Range, Step


def classes(verdict: Verdict) -> str:
    """The classes a query is in, the strongest last."""
    if not verdict.acyclic:
        return "cyclic"
    names = ["acyclic"]
    if verdict.free_connex:
        names.append("free-connex")
    if verdict.hierarchical:
        names.append("hierarchical")
    if verdict.q_hierarchical:
        names.append("q-hierarchical")
    return ", ".join(names)


def meaning(verdict: Verdict) -> str:
    """What the class means to someone who has not read the theory."""
    if not verdict.acyclic:
        return "its joins close a circle: that part is joined variable by variable, the rest as a tree"
    if verdict.free_connex:
        return "one join tree finds every match, and all that is returned sits together at its top"
    return "one join tree finds every match, but what is returned is spread over it"


def window(plan: Plan) -> str:
    """The window."""
    if plan.window is None:
        return "unbounded: nothing is ever forgotten"
    return f"{duration_text(plan.window)} from the first event of a match to its last"


def partition(plan: Plan) -> str:
    """Where events are sent."""
    if not plan.partition_key:
        return "none: all events meet in one bucket"
    return ", ".join(f"{stream} by {', '.join(attributes)}" for stream, attributes in plan.partition_key)


def output(plan: Plan) -> str:
    """The fields of a match, each with where it comes from unless the name says it."""
    fields = [f.name if f.name == written(f.expr) else f"{f.name} = {written(f.expr)}" for f in plan.fields]
    return ("each distinct " if plan.distinct else "") + ", ".join(fields)


def written(expr: Expr) -> str:
    """The expression of a field as a user writes it."""
    return re.sub(r"(\w+)\.STREAM_OF\(\)", r"STREAM_OF(\1)", gaps.text(expr))


def alternatives(plan: Plan) -> str:
    """How many there are, and what they share."""
    shared = [
        leaf.var
        for leaf in plan.leaves
        if sum(leaf.var in {each.var for each in part.leaves} for part in plan.parts) > 1
    ]
    said = [f"{len(plan.parts)}: what one of them matches is a match"]
    if shared:
        said.append(f"events of {', '.join(map(gaps.name, shared))} are kept once for all that look at them")
    for leaf in plan.leaves:
        if leaf.stands_for:
            (first, *_) = (part.branch + 1 for part in plan.parts if leaf.var in {each.var for each in part.leaves})
            said.append(f"{gaps.name(leaf.var)} is the {gaps.name(leaf.stands_for)} of alternative {first}")
    return "; ".join(said)


def pictures(plans: Sequence[Plan]) -> list[tuple[str, Plan]]:
    """What is drawn, each under its title: a plan, or each of its alternatives."""
    return [
        (f"{plan.pattern}, alternative {part.branch + 1}" if plan.branches else plan.pattern, part)
        for plan in plans
        for part in plan.parts
    ]


def costs(said: Guarantees) -> tuple[tuple[str, str], ...]:
    """What is promised, each under its name."""
    return ("update", said.update), ("delay", said.delay), ("space", said.space), ("emission", said.emission)


def keeps(leaf: Leaf) -> str:
    """The attributes that are kept of an event."""
    return ", ".join(name for name, _ in leaf.columns) or "that it happened"


def conditions(exprs: tuple[Expr, ...]) -> str:
    """Conjuncts as one condition; an OR among several is put into parentheses."""
    several = len(exprs) > 1
    return " AND ".join(
        f"({expr})" if several and isinstance(expr, Call) and expr.op == "or" else str(expr) for expr in exprs
    )


def visible_filter(leaf: Leaf) -> tuple[Expr, ...]:
    """The filter without the tests for NULL that joins imply: they are in the plan, not in the user's mind."""
    return visible(leaf.filter)


def visible(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Conditions without the tests for NULL that joins imply."""
    return tuple(expr for expr in exprs if not _is_not_null(expr))


def _is_not_null(expr: Expr) -> bool:
    if not (isinstance(expr, Call) and expr.op == "not"):
        return False
    inner = expr.args[0]
    return isinstance(inner, Call) and inner.op == "isnull"


def key_of(plan: Plan, name: str, var: str) -> Expr:
    """What a pattern variable contributes to a join."""
    return next(key for key in plan.keys if key.name == name).of(var)


def index(plan: Plan, item: Index) -> str:
    """How an index is laid out."""
    keys = ", ".join(gaps.text(key_of(plan, name, item.var)) for name in item.key)
    group = f"grouped by {keys}" if keys else "one group"
    return f"{group}, sorted by {gaps.text(item.sort) if item.sort is not None else 'arrival'}"


def users(plan: Plan, number: int) -> tuple[str, ...]:
    """The variables whose new events use an index, in the order of the triggers."""
    asked = {leaf.var for leaf in plan.leaves if any(ask.index == number for ask in leaf.asks)}
    triggers = [trigger for part in plan.parts for trigger in part.triggers]
    using = {t.var for t in triggers if t.var in asked or any(step.index == number for step in t.steps)}
    return tuple(var for var in plan.order if var in using)


def lookup(plan: Plan, step: Step) -> str:
    """What a step looks for: the key, the range and the window."""
    used = plan.indexes[step.index]
    parts = [
        f"{gaps.text(key_of(plan, name, step.var))} = {gaps.text(key_of(plan, name, bound))}"
        for name, bound in zip(used.key, step.key, strict=True)
    ]
    ranges = tuple(each for each in step.ranges if not gaps.is_between(each.bound))
    if used.sort is not None and ranges:
        parts.append(range_text(used.sort, ranges))
    parts += [gaps.between(each.bound, step.var) for each in step.ranges if gaps.is_between(each.bound)]
    if (
        plan.window is not None
        and plan.leaf(step.var).time is not None
        and (gaps.is_set(step) or not isinstance(step, Fold))
    ):
        parts.append(f"within {duration_text(plan.window)}")
    if gaps.absent(step):
        return f"asks for {gaps.name(step.var)} by {', '.join(parts)}"
    if gaps.is_set(step):
        return f"takes all {gaps.name(step.var)} by {', '.join(parts)}"
    if isinstance(step, Fold):
        return f"looks for the last {gaps.name(step.var)} by {', '.join(parts)}"
    return f"finds {step.var} by {', '.join(parts)}" if parts else f"tries every {step.var}"


def range_text(sort: Expr, ranges: tuple[Range, ...]) -> str:
    """One or two bounds on a sort key, two as `low < x <= high`."""
    lower = [r for r in ranges if r.op in (">", ">=")]
    upper = [r for r in ranges if r.op in ("<", "<=")]
    if len(lower) == len(upper) == 1 and len(ranges) == 2:
        low, high = gaps.text(lower[0].bound), gaps.text(upper[0].bound)
        return f"{low} {FLIPPED[lower[0].op]} {gaps.text(sort)} {upper[0].op} {high}"
    return ", ".join(f"{gaps.text(sort)} {r.op} {gaps.text(r.bound)}" for r in ranges)


def extras(step: Step) -> tuple[str, ...]:
    """What else happens at a step."""
    said = []
    plain = tuple(gaps.shown(check) for check in step.checks if not _asks_between(check))
    if plain:
        said.append(f"{'counts' if gaps.absent(step) else 'keep'} those with {conditions(plain)}")
    for check in step.checks:
        if isinstance(check, Call) and _asks_between(check):
            earlier = check.args[1]
            assert isinstance(earlier, Col)
            said.append(f"keep those with {gaps.between(check.args[0], earlier.var)}")
    if isinstance(step, Fold) and gaps.is_set(step):
        said += _of_set(step)
    elif gaps.absent(step):
        said.append("there must be none")
    elif isinstance(step, Probe):
        said.append("one is enough")
    if step.chain and not step.checks:
        said.append("no dead ends")
    return tuple(said)


def _of_set(step: Fold) -> list[str]:
    """How many events of a set there must be, and what is asked of their values."""
    run = [] if step.run is None else [f"keep {gaps.unbroken(step.run)}"]
    most = "" if step.most is None else f"at most {step.most}"
    least = f"at least {step.least}" if step.least else ""
    said = []
    if step.least == step.most:
        said.append(f"there must be {step.least}")
    elif least or most:
        said.append(f"there must be {' and '.join(part for part in (least, most) if part)}")
    if names := [each.name for each in gaps.values(step)]:
        said.append(f"works out {', '.join(names)}")
    if step.having:
        said.append(f"keep those with {conditions(tuple(map(gaps.shown, step.having)))}")
    return run + said


def _asks_between(check: Expr) -> bool:
    return isinstance(check, Call) and check.op == "<=" and gaps.is_between(check.args[0])

"""What a plan says, in words: the sentences that all formats share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cep.expr import FLIPPED, Call, Expr, duration_text

if TYPE_CHECKING:
    from cep.hypergraph import Verdict
    from cep.plan import Index, Leaf, Plan, Range, Step


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
    fields = [f.name if f.name == str(f.expr) else f"{f.name} = {f.expr}" for f in plan.fields]
    return ("each distinct " if plan.distinct else "") + ", ".join(fields)


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
    return tuple(expr for expr in leaf.filter if not _is_not_null(expr))


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
    keys = ", ".join(str(key_of(plan, name, item.var)) for name in item.key)
    group = f"grouped by {keys}" if keys else "one group"
    return f"{group}, sorted by {item.sort if item.sort is not None else 'arrival'}"


def users(plan: Plan, number: int) -> tuple[str, ...]:
    """The variables whose new events use an index, in the order of the triggers."""
    return tuple(trigger.var for trigger in plan.triggers if any(step.index == number for step in trigger.steps))


def lookup(plan: Plan, step: Step) -> str:
    """What a step looks for: the key, the range and the window."""
    used = plan.indexes[step.index]
    parts = [
        f"{key_of(plan, name, step.var)} = {key_of(plan, name, bound)}"
        for name, bound in zip(used.key, step.key, strict=True)
    ]
    if used.sort is not None and step.ranges:
        parts.append(range_text(used.sort, step.ranges))
    if plan.window is not None and plan.leaf(step.var).time is not None:
        parts.append(f"within {duration_text(plan.window)}")
    return f"finds {step.var} by {', '.join(parts)}" if parts else f"tries every {step.var}"


def range_text(sort: Expr, ranges: tuple[Range, ...]) -> str:
    """One or two bounds on a sort key, two as `low < x <= high`."""
    lower = [r for r in ranges if r.op in (">", ">=")]
    upper = [r for r in ranges if r.op in ("<", "<=")]
    if len(lower) == len(upper) == 1 and len(ranges) == 2:
        return f"{lower[0].bound} {FLIPPED[lower[0].op]} {sort} {upper[0].op} {upper[0].bound}"
    return ", ".join(f"{sort} {r.op} {r.bound}" for r in ranges)


def extras(step: Step) -> tuple[str, ...]:
    """What else happens at a step."""
    said = []
    if step.checks:
        said.append(f"keep those with {conditions(step.checks)}")
    if step.exists:
        said.append("one is enough")
    if step.chain:
        said.append("no dead ends")
    return tuple(said)

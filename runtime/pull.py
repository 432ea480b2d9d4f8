"""Pull mode: ask for the current matches instead of waiting for new ones.

A current match has all its events at or after the horizon (watermark minus window), so it does not matter what has
physically expired. Counting walks the join tree bottom-up once: each row's count is the product over its child edges
of the sum over its partners, and a sum over a range of a sorted group is a difference of two prefix sums. That is the
T-reduct with its multiplicities; `reduct` shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.expr import Col, variables
from cep.ir.plan import Bind, Fold, Probe, Step
from runtime.arrays.columnar import without_nulls
from runtime.search.partial import Partial

if TYPE_CHECKING:
    from runtime.branch import Branch
    from runtime.engine import Engine


def all_matches(engine: Engine) -> Iterator[Partial]:
    """Every current match, found from the roots of the trees."""
    for branch in engine._branches:
        yield from _all_of(engine, branch)


def _all_of(engine: Engine, branch: Branch) -> Iterator[Partial]:
    return _current(engine, branch, branch.plan.root, _live(engine, branch, branch.plan.root))


def _live(engine: Engine, branch: Branch, var: str) -> np.ndarray:
    """The rows of a variable that a current match of a branch can have."""
    return branch.leaves[var].live(branch.floor(var, engine.watermark))


def _current(engine: Engine, branch: Branch, var: str, rows: np.ndarray) -> Iterator[Partial]:
    """The current matches of some rows: no event of them before the time that its branch needs it."""
    floors = {name: branch.floor(name, engine.watermark) for name in branch.singles}
    differ = len(set(floors.values())) > 1
    for partial in branch.matchers[var].matches(rows, branch.horizon(engine.watermark)):
        if not differ:
            yield partial
            continue
        flat = partial.flat()
        kept = np.ones(flat.size, dtype=np.bool_)
        for name, floor in floors.items():
            time = engine._leaves[name].time
            if floor is not None and time is not None and name in flat.rows:
                kept &= time.at(flat.rows[name]) >= floor
        if kept.any():
            yield flat.take(kept)


def enumerate_matches(engine: Engine) -> Iterator[Any]:
    """Record batches of the current matches, tuples once each for DISTINCT."""
    if engine._alive is not None:
        yield from engine._alive.batches(all_matches(engine))
        return
    for partial in all_matches(engine):
        batch = engine._emit(partial, None)
        if batch is not None:
            yield batch


def count_matches(engine: Engine) -> int:
    """The number of current matches."""
    if engine._alive is not None and not all(_countable(engine, branch) for branch in engine._branches):
        return engine._alive.count(all_matches(engine))
    return sum(_count(engine, branch) for branch in engine._branches)


def _count(engine: Engine, branch: Branch) -> int:
    if _countable(engine, branch):
        return int(sum(reduct(engine, branch)[branch.plan.root].tolist()))
    return sum(engine._once(partial).size for partial in _all_of(engine, branch))


def _countable(engine: Engine, branch: Branch) -> bool:
    """Whether the tree alone decides: no checks, and no two stored events further apart than the window.

    A range that ends at another event than the parent (NOT between events that are no neighbours in the tree) is no
    part of the tree either.
    """
    plan = branch.plan
    steps = next(trigger.steps for trigger in plan.triggers if trigger.var == plan.root)
    if not plan.verdict.acyclic or any(
        step.checks
        or (isinstance(step, (Probe, Fold)) and step.var not in branch.singles)
        or any(not variables(each.bound) <= {step.via} for each in step.ranges)
        for step in steps
    ):
        return False
    leaves = branch.singles.values()
    if engine._alive is not None:
        if any(leaf.twins is None or leaf.twins.shared for leaf in leaves):
            return False
    elif plan.distinct and any(leaf.prints.has_twins for leaf in leaves):
        return False
    if plan.window is None:
        return True
    times = [
        leaf.time.view()[rows]
        for var, leaf in branch.singles.items()
        if leaf.time is not None and len(rows := _live(engine, branch, var))
    ]
    return not times or int(max(t.max() for t in times)) - int(min(t.min() for t in times)) <= plan.window


def reduct(engine: Engine, branch: Branch | None = None) -> dict[str, np.ndarray]:
    """For each variable, how many partial matches of its subtree each of its rows is in (0 where it is dead).

    Exact: Python integers where 64 bits could overflow. Of an alternative; by default the first.
    """
    branch = branch or engine._branches[0]
    plan = branch.plan
    sizes = [max(1, leaf.size) for leaf in branch.leaves.values()]
    exact = float(np.prod([float(size) for size in sizes])) < 2.0**62
    down = sorted(plan.triggers, key=lambda trigger: trigger.var != plan.root)  # the root's own way down first
    steps = [step for trigger in down for step in trigger.steps]
    counts: dict[str, np.ndarray] = {}
    for var in _bottom_up(branch):
        own = np.zeros(branch.leaves[var].size, dtype=np.int64 if exact else object)
        rows = _live(engine, branch, var)
        own[rows] = 1
        for edge in plan.edges:
            if edge.parent == var:
                step = next(s for s in steps if (s.via, s.var) == (var, edge.child))
                own[rows] *= _sums(branch, step, rows, counts[edge.child])
        counts[var] = own
    return counts


def _bottom_up(branch: Branch) -> list[str]:
    return [*(edge.child for edge in reversed(branch.plan.edges)), branch.plan.root]


def _sums(branch: Branch, step: Step, rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """For each row, the sum of the counts of its partners."""
    plan = branch.plan
    leaf, child = branch.leaves[step.via], branch.leaves[step.var]
    index = child.indexes[step.index]
    low, high = index.bounds(leaf.group(plan.indexes[step.index].key, rows))
    for bound in step.ranges:
        values = leaf.compared(bound.bound, rows)
        if bound.op in ("<", "<="):
            high = index.bisect(low, high, values, "left" if bound.op == "<" else "right")
        else:
            low = index.bisect(low, high, values, "right" if bound.op == ">" else "left")
    prefix = index.prefix_sums(counts)
    return np.where(high > low, prefix[np.maximum(high, low)] - prefix[low], 0)


def contains_match(engine: Engine, match: Mapping[str, Any]) -> bool:
    """Whether some current match has the given field values. O(state) to find where to start, then by index."""
    plan = engine.plan
    fields = {field.name: field for field in plan.fields}
    if unknown := [name for name in match if name not in fields]:
        raise KeyError(f"{unknown[0]}: pattern {plan.pattern} returns {', '.join(fields)}")
    return any(_contains(engine, branch, match) for branch in engine._branches)


def _contains(engine: Engine, branch: Branch, match: Mapping[str, Any]) -> bool:
    plan = branch.plan
    fields = {field.name: field for field in plan.fields}
    starts: dict[str, np.ndarray] = {}
    for name, value in match.items():
        expr = fields[name].expr
        if isinstance(expr, Col) and expr.var in branch.singles:
            leaf = branch.leaves[expr.var]
            rows = starts.get(expr.var)
            rows = _live(engine, branch, expr.var) if rows is None else rows
            starts[expr.var] = rows[_equal(leaf.columns[expr.attr].take(rows), value)]
    bound = {step.var for trigger in plan.triggers for step in trigger.steps if isinstance(step, Bind)}
    usable = [var for var in starts if var in bound or var == plan.root]
    var = min(usable, key=lambda name: len(starts[name]), default=plan.root)
    rows = starts.get(var)
    rows = _live(engine, branch, var) if rows is None else rows
    for partial in _current(engine, branch, var, rows):
        columns = dict(zip(fields, engine._output.fields(partial), strict=True))
        found = np.ones(partial.size, dtype=np.bool_)
        for name, value in match.items():
            found &= _equal(columns[name], value)
        if found.any():
            return True
    return False


def _equal(array: Any, value: Any) -> np.ndarray:
    """Which values are `value`; None stands for NULL. Times are datetimes or integer microseconds."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(pa.string())
    if value is None:
        return np.asarray(array.is_null().to_numpy(zero_copy_only=False))
    if pa.types.is_timestamp(array.type) and isinstance(value, int):
        array = array.cast(pa.int64())
    try:
        wanted = pa.scalar(value).cast(array.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError):
        # A value that the column's type cannot hold is in no match.
        return np.zeros(len(array), dtype=np.bool_)
    mask = pc.equal(array, wanted)
    return np.asarray(without_nulls(mask, False).to_numpy(zero_copy_only=False))

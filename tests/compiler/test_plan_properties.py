"""Random patterns: every trigger of a plan uses every condition once, and no plan refers to what it does not keep."""

from __future__ import annotations

import pickle
from collections import Counter

from hypothesis import HealthCheck, given, settings

from cep.compiler.gcq import as_inequality, gcq
from cep.compiler.normalise import normalise
from cep.compiler.pipeline import plan_query
from cep.ir.expr import FLIPPED, INEQUALITIES, Call, Col, Expr, columns, rewrite, split_shift, variables
from cep.ir.gcq import GCQ
from cep.ir.plan import Bind, Plan, Probe, Step
from cep.ir.types import Type
from tests.oracle.cases import Case, cases

Said = tuple[object, ...]


def said(condition: Expr) -> Said:
    """A condition in a form that does not depend on which side an index served."""
    if isinstance(condition, Call) and condition.op in INEQUALITIES:
        op, (left, right) = condition.op, condition.args
        if op in (">", ">="):
            op, left, right = FLIPPED[op], right, left
        (left, a), (right, b) = split_shift(left), split_shift(right)
        return op, left, right, b - a
    return (condition,)


def used(found: Plan, path: tuple[Step, ...]) -> Counter[Said]:
    conditions: Counter[Said] = Counter()
    for step in path:
        sort = found.indexes[step.index].sort
        for bound in step.ranges:
            assert sort is not None
            conditions[said(Call(bound.op, (sort, bound.bound), Type.BOOLEAN))] += 1
        conditions.update(said(check) for check in step.checks)
    return conditions


def skipped(found: Plan, start: str, path: tuple[Step, ...]) -> set[str]:
    """What lies behind the steps that only ask for existence."""
    bound = {start, *(step.var for step in path if isinstance(step, Bind))}
    return {leaf.var for leaf in found.leaves} - bound


def check_conditions(found: Plan, conditions: list[Expr]) -> None:
    for trigger in found.triggers:
        for path in (trigger.steps, *trigger.alternatives):
            unseen = skipped(found, trigger.var, path)
            probed = {step.var for step in path if isinstance(step, Probe)}
            # Of the variables behind a probe, only the one that is probed is compared with what is bound.
            near = [c for c in conditions if variables(c) & unseen <= probed and not variables(c) <= unseen]
            assert used(found, path) == Counter(map(said, near)), f"trigger {trigger.var}"
            bound = {trigger.var}
            for step in path:
                assert step.via in bound
                assert set(step.key) <= bound
                assert all(variables(r.bound) <= bound for r in step.ranges)
                assert all(variables(c) <= bound | {step.var} for c in step.checks)
                if isinstance(step, Bind):
                    bound.add(step.var)


def check_keys(found: Plan) -> None:
    """Each step looks up every join variable that it shares with what is bound."""
    for trigger in found.triggers:
        for path in (trigger.steps, *trigger.alternatives):
            bound = {trigger.var}
            for step in path:
                names = found.indexes[step.index].key
                assert len(names) == len(step.key)
                for key in found.keys:
                    members = {var for var, _ in key.members}
                    shared = step.var in members and bool(members & bound)
                    assert (key.name in names) == shared
                for name, supplier in zip(names, step.key, strict=True):
                    assert supplier in {var for var, _ in next(k for k in found.keys if k.name == name).members}
                if isinstance(step, Bind):
                    bound.add(step.var)


def over_variables(query: GCQ, condition: Expr) -> Said:
    """A condition over the query's variables instead of attributes."""
    names = dict(query.attributes)
    way = as_inequality(condition) or condition
    return said(rewrite(way, lambda node: Col("", names[node], node.type) if isinstance(node, Col) else node))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_every_condition_is_used_exactly_once_per_trigger(case: Case) -> None:
    query = gcq(normalise(case.pattern))
    found = plan_query(query)
    conditions: list[Expr] = [*query.inequalities, *query.predicates]
    if found.verdict.acyclic:
        # Each is said of the two atoms of its edge: equals are put for equals, and two may become one.
        on_edges = [c for edge in found.edges for c in edge.predicates]
        if all(isinstance(expr, Col) for key in found.keys for _, expr in key.members):
            assert {over_variables(query, c) for c in on_edges} == {over_variables(query, c) for c in conditions}
        conditions = on_edges
    check_conditions(found, conditions)
    check_keys(found)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_plans_are_well_formed(case: Case) -> None:
    found = plan_query(gcq(normalise(case.pattern)))
    names = [leaf.var for leaf in found.leaves]
    assert [variable.name for variable in case.pattern.variables] == names
    assert sorted(t.var for t in found.triggers) == sorted(names)
    assert len(found.edges) == len(names) - 1
    reached = {found.root}
    for edge in found.edges:
        assert edge.parent in reached
        reached.add(edge.child)
    kept = {(leaf.var, name) for leaf in found.leaves for name, _ in leaf.columns}
    wanted = [f.expr for f in found.fields] + [e for key in found.keys for _, e in key.members]
    assert all((col.var, col.attr) in kept for expr in wanted for col in columns(expr))
    assert len({key.name for key in found.keys}) == len(found.keys)
    assert set(found.output_variables) <= set(found.connex_variables)
    assert pickle.loads(pickle.dumps(found)) == found

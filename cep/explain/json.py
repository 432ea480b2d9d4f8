"""A plan as JSON, for other tools: the keys of `cep validate --output-format json`, and the plan itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cep.explain.words import key_of
from cep.render.json import pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cep.hypergraph import TreeNode
    from cep.plan import Plan, Step


def render(plans: Sequence[Plan]) -> str:
    """One JSON document, `{"patterns": [...]}`."""
    return json.dumps({"patterns": [_plan(plan) for plan in plans]}, indent=2, ensure_ascii=False) + "\n"


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        **pattern(plan),
        "key": plan.key,
        "distinct": plan.distinct,
        "fields": [{"name": f.name, "type": f.type.value, "expression": str(f.expr)} for f in plan.fields],
        "leaves": [
            {
                "variable": leaf.var,
                "stream": leaf.stream,
                "columns": {name: type_.value for name, type_ in leaf.columns},
                "time": leaf.time,
                "filter": [str(expr) for expr in leaf.filter],
            }
            for leaf in plan.leaves
        ],
        "tree": None if plan.tree is None else _node(plan.tree),
        "bags": [list(bag) for bag in plan.bags],
        "root": plan.root,
        "edges": [
            {
                "parent": edge.parent,
                "child": edge.child,
                "predicates": [str(expr) for expr in edge.predicates],
                "chain": edge.chain,
            }
            for edge in plan.edges
        ],
        "indexes": [
            {
                "variable": index.var,
                "group_by": [str(key_of(plan, name, index.var)) for name in index.key],
                "sort_by": None if index.sort is None else str(index.sort),
            }
            for index in plan.indexes
        ],
        "triggers": [
            {
                "variable": trigger.var,
                "steps": [_step(plan, step) for step in trigger.steps],
                "alternatives": [[_step(plan, step) for step in steps] for steps in trigger.alternatives],
            }
            for trigger in plan.triggers
        ],
        "notes": list(plan.notes),
    }


def _node(node: TreeNode) -> dict[str, Any]:
    return {
        "variables": sorted(node.label),
        "atom": node.atom,
        "connex": node.connex,
        "predicates": list(node.predicates),
        "children": [_node(child) for child in node.children],
    }


def _step(plan: Plan, step: Step) -> dict[str, Any]:
    names = plan.indexes[step.index].key
    return {
        "variable": step.var,
        "via": step.via,
        "index": step.index,
        "key": [str(key_of(plan, name, bound)) for name, bound in zip(names, step.key, strict=True)],
        "ranges": [{"op": r.op, "bound": str(r.bound)} for r in step.ranges],
        "checks": [str(expr) for expr in step.checks],
        "chain": step.chain,
        "exists": step.exists,
    }

"""A plan as JSON, for other tools: the keys of `cep validate --output-format json`, and the plan itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cep.explain import gaps
from cep.explain.words import key_of, written
from cep.ir.plan import Probe
from cep.render.json import pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cep.ir.hypergraph import TreeNode
    from cep.ir.plan import Plan, Step


def render(plans: Sequence[Plan]) -> str:
    """One JSON document, `{"patterns": [...]}`."""
    return json.dumps({"patterns": [_plan(plan) for plan in plans]}, indent=2, ensure_ascii=False) + "\n"


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        **pattern(plan),
        "key": plan.meaning,
        "layout": plan.layout,
        "distinct": plan.distinct,
        "fields": [{"name": f.name, "type": f.type.value, "expression": written(f.expr)} for f in plan.fields],
        "leaves": [
            {
                "variable": leaf.var,
                "stream": leaf.stream,
                "columns": {name: type_.value for name, type_ in leaf.columns},
                "time": leaf.time,
                "filter": [gaps.text(expr) for expr in leaf.filter],
                "held_back_us": leaf.hold,
                "keep_us": plan.keep(leaf.var),
                **({"having": [gaps.text(expr) for expr in leaf.having]} if leaf.having else {}),
                **({} if leaf.once is None else {"once_per": [leaf.time, *leaf.once]}),
            }
            for leaf in plan.leaves
            if leaf in plan.singles
        ],
        **({} if plan.branches else _tree(plan)),
        "indexes": [
            {
                "variable": gaps.name(index.var),
                "group_by": [gaps.text(key_of(plan, name, index.var)) for name in index.key],
                "sort_by": None if index.sort is None else gaps.text(index.sort),
            }
            for index in plan.indexes
        ],
        **({} if plan.branches else {"triggers": _triggers(plan)}),
        **({"alternatives": [_alternative(part) for part in plan.branches]} if plan.branches else {}),
        "notes": list(plan.notes),
    }


def _alternative(part: Plan) -> dict[str, Any]:
    """How one alternative finds its matches, through the leaves and indexes of all."""
    fields = [{"name": f.name, "expression": str(f.expr)} for f in part.fields]
    return {
        **pattern(part),
        "alternative": part.branch + 1,
        "fields": fields,
        **_tree(part),
        "triggers": _triggers(part),
    }


def _tree(plan: Plan) -> dict[str, Any]:
    return {
        "gaps": [_gap(plan, gap) for gap in gaps.gaps(plan)],
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
    }


def _triggers(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "variable": trigger.var,
            "asks": [_step(plan, ask) for ask in plan.leaf(trigger.var).asks],
            "steps": [_step(plan, step) for step in trigger.steps],
            "alternatives": [[_step(plan, step) for step in steps] for steps in trigger.alternatives],
        }
        for trigger in plan.triggers
    ]


def _gap(plan: Plan, gap: gaps.Gap) -> dict[str, Any]:
    leaf = plan.leaf(gap.var)
    return {
        "variable": gaps.name(gap.var),
        "title": gap.title,
        "stream": gap.stream,
        "columns": {name: type_.value for name, type_ in leaf.columns},
        "bounds": list(gap.bounds),
        "keys": list(gap.keys),
        "filter": [gaps.text(expr) for expr in gap.filter],
        "checks": [gaps.text(expr) for expr in gap.checks],
        "asked": gap.asked,
        "of": gap.below,
        "index": gap.index,
        "held": gap.held,
        "until": (gaps.waits(plan.leaf(gap.held)) or "").removeprefix("until "),
        "keep_us": plan.keep(gap.var),
        **(_set(gap) if gap.is_set else {}),
    }


def _set(gap: gaps.Gap) -> dict[str, Any]:
    """What a gap has that is a set."""
    return {
        "least": gap.least,
        "most": gap.most,
        "values": [
            {"name": each.name, "type": each.type.value, "event_by_event": each.reads or bool(gap.checks or gap.run)}
            for each in gap.values
        ],
        "having": [gaps.text(expr) for expr in gap.having],
        **({} if gap.run is None else {"run": gaps.unbroken(gap.run)}),
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
        "variable": gaps.name(step.var),
        "via": step.via,
        "index": step.index,
        "key": [gaps.text(key_of(plan, name, bound)) for name, bound in zip(names, step.key, strict=True)],
        "ranges": [{"op": r.op, "bound": gaps.text(r.bound)} for r in step.ranges],
        "checks": [gaps.text(expr) for expr in step.checks],
        "chain": step.chain,
        "exists": isinstance(step, Probe) and not step.absent,
        "absent": gaps.absent(step),
        **({"set": True} if gaps.is_set(step) else {}),
    }

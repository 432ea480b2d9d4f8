"""A plan as JSON and back, for processes that must not unpickle what they are sent.

The text is a list of nodes in which each refers to earlier ones by their numbers, so that deep expressions need no
deep recursion. A node is `[kind, value, ...]`: the fields of a dataclass in their order, the items of a tuple or a
set, the value of an enum. Only the classes that a plan is made of are built; anything else is refused.

Both ends run the same version of this program: the text is for messages, not for files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from cep.ir import expr, hypergraph, model, plan, types
from cep.ir.plan import Plan

_ATOMS = (type(None), bool, int, float, str)
_COLLECTIONS: dict[str, Any] = {"tuple": tuple, "frozenset": frozenset}
_CLASSES = {
    name: value
    for module in (types, expr, model, hypergraph, plan)
    for name, value in vars(module).items()
    if isinstance(value, type)
    and value.__module__ == module.__name__
    and (is_dataclass(value) or issubclass(value, Enum))
}


def encode(value: Plan) -> list[list[Any]]:
    """The nodes of a plan, the plan itself last."""
    nodes: list[list[Any]] = []
    results: list[Any] = []
    waiting: list[tuple[Any, str | None, int]] = [(value, None, 0)]
    while waiting:
        item, kind, count = waiting.pop()
        if kind is not None:  # all parts of the node are there
            parts = results[len(results) - count :]
            del results[len(results) - count :]
            nodes.append([kind, *parts])
            results.append([len(nodes) - 1])
        elif isinstance(item, _ATOMS) and not isinstance(item, Enum):
            results.append(item)
        else:
            kind, inner = _parts(item)
            waiting.append((None, kind, len(inner)))
            waiting.extend((part, None, 0) for part in reversed(inner))
    return nodes


def _parts(item: Any) -> tuple[str, Sequence[Any]]:
    name = type(item).__name__
    if _CLASSES.get(name) is type(item):
        if isinstance(item, Enum):
            return name, [item.value]
        return name, [getattr(item, field.name) for field in fields(item) if field.init]
    if _COLLECTIONS.get(name) is type(item):
        return name, sorted(item) if name == "frozenset" else item
    raise TypeError(f"expected what a plan is made of, found {type(item).__qualname__}")


def decode(nodes: Sequence[Sequence[Any]]) -> Plan:
    """The plan of which these are the nodes; `ValueError` where they are not those of a plan."""
    built: list[Any] = []
    try:
        for kind, *parts in nodes:
            values = [built[part[0]] if isinstance(part, list) else part for part in parts]
            if kind in _COLLECTIONS:
                built.append(_COLLECTIONS[kind](values))
                continue
            made = _CLASSES[kind]
            if issubclass(made, Enum):
                built.append(made(*values))
            else:
                names = [field.name for field in fields(made) if field.init]
                built.append(made(**dict(zip(names, values, strict=True))))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"expected the nodes of a plan: {error}") from error
    if not built or not isinstance(built[-1], Plan):
        raise ValueError("expected the nodes of a plan, found something else")
    return built[-1]

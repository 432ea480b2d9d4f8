"""Union: the plans of a pattern's alternatives made one, over shared leaves, keys and indexes.

A leaf is shared where alternatives bind the same name to the same stream under the same filter, are held back equally
and ask the same; it keeps what any of them needs, for as long as any of them does. What differs gets a leaf of its own,
with a name that cannot be written (`c·2`). Keys are numbers of values and nothing else, so those of different
alternatives are one where they have a member in common; indexes that are equal then are one. Trees, triggers and
verdicts stay those of each alternative.

One order of application serves all: "a match is found when the last of its variables is applied" holds in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from cep.ir.expr import Call, Col, Const, Expr, rewrite
from cep.ir.hypergraph import TreeNode, Verdict
from cep.ir.model import Pattern, Stream
from cep.ir.plan import Field, Guarantees, Index, Key, Leaf, Lookup, Plan
from cep.ir.types import Type

_VARIABLES = frozenset({"var", "via", "parent", "child", "root"})
"""The fields of a plan's parts that name a variable."""


def union(pattern: Pattern, plans: Sequence[Plan], meant: str) -> Plan:
    """One plan of the plans of a pattern's branches; `meant` is the hash of the pattern's meaning."""
    plans = [_alone(plan) for plan in plans]
    for share_held in (True, False):
        merged = _Merged(share_held=share_held)
        branches = tuple(merged.take(number, plan) for number, plan in enumerate(plans))
        order = _order(branches)
        if order is not None:
            break
    assert order is not None, "without shared held leaves each branch has its own order"
    streams = {stream.name: stream for plan in plans for stream in plan.streams}
    leaves = merged.finished(order, streams)
    shared = {leaf.var: leaf for leaf in leaves}
    windows = [plan.window for plan in plans]
    keys, indexes = tuple(merged.keys), tuple(merged.indexes)
    return Plan(
        pattern=pattern.name,
        streams=tuple(streams.values()),
        leaves=leaves,
        window=None if None in windows else max(window for window in windows if window is not None),
        distinct=pattern.distinct,
        fields=tuple(Field(name=name, type=expr.type, expr=expr) for name, expr in pattern.fields),
        partition_key=_partition_key(pattern, plans),
        keys=keys,
        root="",
        edges=(),
        indexes=indexes,
        triggers=(),
        runtime=max((plan.runtime for plan in plans), key=len),
        tree=None,
        bags=(),
        verdict=_verdict(plans),
        output_variables=tuple(dict.fromkeys(name for plan in plans for name in plan.output_variables)),
        connex_variables=tuple(dict.fromkeys(name for plan in plans for name in plan.connex_variables)),
        guarantees=_guarantees(pattern, plans),
        notes=tuple(dict.fromkeys(note for plan in plans for note in plan.notes)),
        unordered=tuple(dict.fromkeys(name for plan in plans for name in plan.unordered)),
        meaning=meant,
        branches=tuple(
            replace(
                branch,
                # How long an alternative itself needs a row says what its current matches are.
                leaves=tuple(replace(shared[leaf.var], keep=leaf.keep) for leaf in branch.leaves),
                keys=keys,
                indexes=indexes,
            )
            for branch in branches
        ),
    )


def _alone(plan: Plan) -> Plan:
    """A branch of one event, with what joins say elsewhere: what has no time is in no window."""
    leaf = plan.leaves[0]
    if len(plan.leaves) > 1 or leaf.time is None or plan.window is None:
        return plan
    missing = Call("isnull", (Col(leaf.var, leaf.time, Type.TIMESTAMP),), Type.BOOLEAN)
    present = Call("not", (missing,), Type.BOOLEAN)
    return replace(plan, leaves=(replace(leaf, filter=tuple(dict.fromkeys((*leaf.filter, present)))),))


# --- leaves, keys, indexes -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Names:
    """What the variables, keys and indexes of one plan are called in the union."""

    variables: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    indexes: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Merged:
    """What the plans taken so far share."""

    share_held: bool
    leaves: dict[str, Leaf] = field(default_factory=dict)
    keeps: dict[str, list[int | None]] = field(default_factory=dict)
    known: dict[object, str] = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)
    indexes: dict[Index, int] = field(default_factory=dict)

    def take(self, number: int, plan: Plan) -> Plan:
        """A plan in the words of the union, its leaves, keys and indexes among the others."""
        names = _Names()
        asking = [leaf for leaf in plan.leaves if leaf.asks]
        for leaf in (leaf for leaf in plan.leaves if not leaf.asks):
            self._leaf(plan, number, leaf, names)
        # What asks is equal where that is which it asks: keys and indexes have to be known, under the name it may get.
        for leaf in asking:
            names.variables[leaf.var] = leaf.var
        taken: set[str] = set()
        waiting = {leaf.var for leaf in asking}
        for key in plan.keys:
            self._key(key, names, taken, without=waiting)
        for place, index in enumerate(plan.indexes):
            if index.var not in waiting:
                self._index(place, index, names)
        for leaf in asking:
            self._leaf(plan, number, leaf, names)
        for key in plan.keys:
            self._join(key, names)
        for place, index in enumerate(plan.indexes):
            if index.var in waiting:
                self._index(place, index, names)
        renamed = names.variables
        return replace(
            plan,
            leaves=tuple(_renamed(leaf, names) for leaf in plan.leaves),
            root=renamed[plan.root],
            edges=_renamed(plan.edges, names),
            triggers=_renamed(plan.triggers, names),
            bags=tuple(tuple(renamed[name] for name in bag) for bag in plan.bags),
            tree=None if plan.tree is None else _tree(plan.tree, names),
            fields=_renamed(plan.fields, names),
            meaning="",
            branch=number,
        )

    def _leaf(self, plan: Plan, number: int, leaf: Leaf, names: _Names) -> None:
        """Give a leaf its name in the union: that of an equal one, or a new one."""
        same: tuple[object, ...] = (leaf.var, leaf.stream, leaf.filter, leaf.hold, leaf.having)
        if leaf.hold is not None:
            same += (plan.window, _renamed(leaf.asks, names), None if self.share_held else number)
        known = self.known.get(same)
        if known is None:
            known, count = leaf.var, 1
            while known in self.leaves:
                count += 1
                known = f"{leaf.var}·{count}"
            self.known[same] = known
        names.variables[leaf.var] = known
        mine = _renamed(leaf, names)
        before = self.leaves.get(known)
        columns = (
            mine.columns if before is None else _declared(plan.stream(leaf.stream), (*before.columns, *mine.columns))
        )
        self.leaves[known] = replace(mine, columns=columns, stands_for="" if known == leaf.var else leaf.var)
        self.keeps.setdefault(known, []).append(plan.keep(leaf.var))

    def _key(self, key: Key, names: _Names, taken: set[str], without: set[str]) -> None:
        """Find the key that a key is one with, or add it; its members `without` names come later (`_join`)."""
        members = {names.variables[var]: _renamed(expr, names) for var, expr in key.members if var not in without}
        for place, known in enumerate(self.keys):
            have = dict(known.members)
            common = have.keys() & members.keys()
            if known.type is not key.type or not common or known.name in taken:
                continue
            later = {var: expr for var, expr in key.members if var in without}
            if all(have[var] == members[var] for var in common) and self._agree(known, later):
                self.keys[place] = replace(known, members=tuple((have | members).items()))
                names.keys[key.name] = known.name
                taken.add(known.name)
                return
        name, count = key.name, 1
        while any(known.name == name for known in self.keys):
            count += 1
            name = f"{key.name}·{count}"
        self.keys.append(Key(name=name, type=key.type, members=tuple(members.items())))
        names.keys[key.name] = name
        taken.add(name)

    def _agree(self, known: Key, later: Mapping[str, Expr]) -> bool:
        """Whether variables that may get the name of any leaf of theirs mean the same by a key as those leaves."""
        for name, expr in known.members:
            own = later.get(self.leaves[name].variable)
            if own is not None and _expression(own, _Names({self.leaves[name].variable: name})) != expr:
                return False
        return True

    def _join(self, key: Key, names: _Names) -> None:
        """Add the members of a key that had no name when it was found."""
        place = next(n for n, known in enumerate(self.keys) if known.name == names.keys[key.name])
        have = dict(self.keys[place].members)
        have |= {names.variables[var]: _renamed(expr, names) for var, expr in key.members}
        self.keys[place] = replace(self.keys[place], members=tuple(have.items()))

    def _index(self, place: int, index: Index, names: _Names) -> None:
        names.indexes[place] = self.indexes.setdefault(_renamed(index, names), len(self.indexes))

    def finished(self, order: Iterable[str], streams: Mapping[str, Stream]) -> tuple[Leaf, ...]:
        """All leaves, single events in order of application first.

        An event's id is made of what is kept of it, so leaves of one variable and stream keep the same.
        """
        singles = list(order)
        kept: dict[tuple[str, str], set[tuple[str, Type]]] = {}
        for name in singles:
            leaf = self.leaves[name]
            kept.setdefault((leaf.variable, leaf.stream), set()).update(leaf.columns)
        done = []
        for name in (*singles, *(name for name in self.leaves if name not in singles)):
            leaf = self.leaves[name]
            keeps = self.keeps[name]
            longest = None if None in keeps else max(each for each in keeps if each is not None)
            done.append(replace(leaf, keep=longest))
            if name in singles:
                done[-1] = replace(done[-1], columns=_declared(streams[leaf.stream], kept[leaf.variable, leaf.stream]))
        return tuple(done)


def _declared(stream: Stream, columns: Iterable[tuple[str, Type]]) -> tuple[tuple[str, Type], ...]:
    """Columns in the order of their declaration, each once."""
    wanted = set(columns)
    return tuple(column for column in stream.columns if column in wanted)


def _renamed(item: Any, names: _Names) -> Any:
    """A part of a plan in the words of the union."""
    if isinstance(item, (Col, Call, Const)):
        return _expression(item, names)
    if isinstance(item, tuple):
        return tuple(_renamed(each, names) for each in item)
    if not is_dataclass(item) or isinstance(item, type):
        return item
    changed: dict[str, Any] = {}
    for each in fields(item):
        value = getattr(item, each.name)
        if each.name in _VARIABLES:
            changed[each.name] = names.variables[value]
        elif isinstance(item, Lookup) and each.name == "key":
            changed["key"] = tuple(names.variables[var] for var in value)
        elif isinstance(item, Lookup) and each.name == "index":
            changed["index"] = names.indexes[value]
        elif isinstance(item, Index) and each.name == "key":
            changed["key"] = tuple(names.keys[name] for name in value)
        else:
            changed[each.name] = _renamed(value, names)
    return replace(item, **changed)


def _expression(expr: Expr, names: _Names) -> Expr:
    def renamed(node: Expr) -> Expr:
        if isinstance(node, Col) and names.variables.get(node.var, node.var) != node.var:
            return replace(node, var=names.variables[node.var])
        return node

    return rewrite(expr, renamed)


def _tree(node: TreeNode, names: _Names) -> TreeNode:
    return replace(
        node,
        atom=None if node.atom is None else names.variables[node.atom],
        children=tuple(_tree(child, names) for child in node.children),
    )


# --- the order of application --------------------------------------------------------------------------------------


def _order(branches: Sequence[Plan]) -> tuple[str, ...] | None:
    """All variables of single events, each after those before it in every branch, as far as that can be.

    Of leaves that are held back it must be so: what is due at one moment is applied in that order, and a row that has
    no partner among those before it is dropped. None where it cannot.
    """
    names = list(dict.fromkeys(name for branch in branches for name in branch.order))
    held = {leaf.var for branch in branches for leaf in branch.leaves if leaf.hold is not None}
    before: dict[str, set[str]] = {name: set() for name in names}
    for branch in branches:
        for place, name in enumerate(branch.order):
            before[name].update(branch.order[:place])
    placed: list[str] = []
    while before:
        free = next((name for name, some in before.items() if not some), None)
        if free is None:
            free = next((name for name, some in before.items() if name not in held or not some & held), None)
        if free is None:
            return None
        placed.append(free)
        del before[free]
        for some in before.values():
            some.discard(free)
    return tuple(placed)


# --- what is said of all -------------------------------------------------------------------------------------------


def _partition_key(pattern: Pattern, plans: Sequence[Plan]) -> tuple[tuple[str, tuple[str, ...]], ...] | None:
    """For each stream the attributes that are a key of every branch; None where there is no such key.

    A branch of one event alone goes with any key that its stream has in others; else it has that of PARTITION BY.
    """
    found: list[dict[str, str]] | None = None
    for plan in sorted(plans, key=lambda plan: len(plan.leaves) == 1):
        if found and len(plan.leaves) == 1 and plan.leaves[0].stream in found[0]:
            continue
        of_plan = _classes(pattern, plan)
        if found is None:
            found = of_plan
            continue
        joined = []
        for known in found:
            fits = [each for each in of_plan if all(known.get(s, attr) == attr for s, attr in each.items())]
            if fits:
                joined.append(known | fits[0])
        found = joined
    if not found:
        return None
    return tuple((stream, tuple(key[stream] for key in found)) for stream in found[0])


def _classes(pattern: Pattern, plan: Plan) -> list[dict[str, str]]:
    """Each part of a plan's partition key: by stream its attribute."""
    if plan.partition_key is not None:
        size = len(plan.partition_key[0][1])
        return [{stream: names[place] for stream, names in plan.partition_key} for place in range(size)]
    if len(plan.leaves) == 1:
        return [{plan.leaves[0].stream: attribute} for attribute in pattern.partition_by]
    return []


def _verdict(plans: Sequence[Plan]) -> Verdict:
    """What holds of every branch."""
    verdicts = [plan.verdict for plan in plans]
    return Verdict(
        acyclic=all(each.acyclic for each in verdicts),
        free_connex=all(each.free_connex for each in verdicts),
        hierarchical=all(each.hierarchical for each in verdicts),
        q_hierarchical=all(each.q_hierarchical for each in verdicts),
        connex=frozenset().union(*(each.connex for each in verdicts)),
    )


def _guarantees(pattern: Pattern, plans: Sequence[Plan]) -> Guarantees:
    """The costs of all branches, each sentence once, with the alternatives that it is of."""
    said = {
        name: _sentence([str(getattr(plan.guarantees, name)) for plan in plans])
        for name in ("update", "delay", "space", "emission")
    }
    if pattern.distinct:
        said["delay"] = "not constant: combinations that agree on the output are merged as they are found"
    return Guarantees(**said)


def _sentence(texts: Sequence[str]) -> str:
    of: dict[str, list[str]] = {}
    for number, text in enumerate(texts, start=1):
        of.setdefault(text, []).append(str(number))
    if len(of) == 1:
        return texts[0]
    return "; ".join(f"{_alternatives(numbers)}: {text}" for text, numbers in of.items())


def _alternatives(numbers: Sequence[str]) -> str:
    *first, last = numbers
    return f"alternatives {', '.join(first)} and {last}" if first else f"alternative {last}"

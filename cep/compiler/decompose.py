"""Bags for a cyclic query: groups of atoms such that the query over the groups is acyclic.

The reduction of a cyclic query gets stuck with a *core*: hyperedges none of which goes into another. Atoms outside the
core are ears; they hang from it as in any join tree and keep a bag of their own. The core is partitioned: each
component of it (connected by variables or predicates) into bags that are connected themselves, so that no bag is a
cross product. Up to eight atoms per component, all such partitions are tried, those with the smallest largest bag
(the *width*) first, then those with the most predicates within bags, then those with the most bags. Beyond, the two
bags whose union is smallest are merged until the component is acyclic. At last, a core atom left alone whose variables
a bag has joins that bag: it adds no variable there, and a triangle is one bag that holds triangles, not all paths of
length two.

Each atom is in exactly one bag, so a match is one tuple per bag and multiplicities need no care. The price: a
hypertree decomposition that may use an atom in several bags can be narrower (cycles of five and more).

Guaranteed: `bag_query(query, bags)` is acyclic, and has the results of `query` once each bag holds the join of its
atoms under the predicates within it. Not guaranteed: the least width among all decompositions.

Cost: at most Bell(8) = 4140 acyclicity tests per component; fewer than n for the greedy search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from cep.compiler.reduce import Reduction, reduce
from cep.ir.hypergraph import Atom, Bag, Predicate, Query, TreeNode

SEARCH_LIMIT = 8


def decompose(query: Query) -> tuple[Bag, ...]:
    """The bags of `query`, in the order of their first atoms; one per atom where the query is acyclic.

    >>> square = tuple(Atom(name, frozenset(name)) for name in ("ab", "bc", "cd", "da"))
    >>> [bag.atoms for bag in decompose(Query(square, frozenset("abcd"), ()))]
    [('ab', 'bc'), ('cd', 'da')]
    """
    groups: list[frozenset[str]] = []
    for component in _components(_core(query)):
        find = _narrowest if len(component.atoms) <= SEARCH_LIMIT else _greedy
        groups.extend(_with_covered(component, find(component)))
    grouped = frozenset().union(*groups)
    groups.extend(frozenset((atom.name,)) for atom in query.atoms if atom.name not in grouped)
    return _bags(query, groups)


def bag_query(query: Query, bags: Sequence[Bag]) -> Query:
    """The query over `bags`: an atom per bag, named after its atoms, and the predicates that no bag decides."""
    atoms = tuple(Atom("+".join(bag.atoms), bag.variables) for bag in bags)
    inner = [frozenset(bag.atoms) for bag in bags]
    return Query(atoms, query.output, _between(query, inner))


def _bags(query: Query, groups: Iterable[frozenset[str]]) -> tuple[Bag, ...]:
    """What a bag exposes: variables that the output, another bag or a predicate between bags needs."""
    place = {atom.name: position for position, atom in enumerate(query.atoms)}
    ordered = sorted(groups, key=lambda group: min(map(place.__getitem__, group)))
    own = [_union(query, group) for group in ordered]
    needed = query.output.union(*(p.variables for p in _between(query, ordered)))
    shared = frozenset().union(*(a & b for a, b in combinations(own, 2)))
    return tuple(
        Bag(atoms=tuple(sorted(group, key=place.__getitem__)), variables=variables & (needed | shared))
        for group, variables in zip(ordered, own, strict=True)
    )


def _between(query: Query, groups: Sequence[frozenset[str]]) -> tuple[Predicate, ...]:
    unions = [_union(query, group) for group in groups]
    return tuple(p for p in query.predicates if not any(p.variables <= union for union in unions))


def _union(query: Query, group: frozenset[str]) -> frozenset[str]:
    return frozenset().union(*(atom.variables for atom in query.atoms if atom.name in group))


def _core(query: Query) -> Query:
    """What the reduction leaves: one atom per hyperedge, with the variables and predicates that are still there."""
    reduction = reduce(query)
    return Query(_core_atoms(reduction), frozenset(), reduction.remaining.predicates)


def _core_atoms(reduction: Reduction) -> tuple[Atom, ...]:
    guards: dict[frozenset[str], str] = {}
    for root in reduction.roots:
        if root.label in reduction.remaining.edges:
            guards.setdefault(root.label, _guard_atom(root))
    place = {atom.name: position for position, atom in enumerate(reduction.query.atoms)}
    return tuple(Atom(name, label) for label, name in sorted(guards.items(), key=lambda item: place[item[1]]))


def _guard_atom(node: TreeNode) -> str:
    while node.atom is None:
        node = next(child for child in node.children if node.label <= child.label)
    return node.atom


def _components(core: Query) -> Iterator[Query]:
    """Parts of the core that share no variable and no predicate."""
    left = list(core.atoms)
    while left:
        inside = [left.pop(0)]
        for atom in inside:
            near = [other for other in left if _linked(core, atom.variables, other.variables)]
            inside.extend(near)
            left = [other for other in left if other not in near]
        variables = frozenset().union(*(atom.variables for atom in inside))
        ordered = tuple(atom for atom in core.atoms if atom in inside)
        yield Query(ordered, frozenset(), tuple(p for p in core.predicates if p.variables & variables))


def _linked(query: Query, one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one & other) or any(p.variables & one and p.variables & other for p in query.predicates)


def _narrowest(component: Query) -> list[frozenset[str]]:
    """The first acyclic partition: by width, then with the most predicates within bags, then with the most bags."""
    atoms = [atom.name for atom in component.atoms]
    partitions = sorted(
        _partitions(atoms),
        key=lambda groups: (max(map(len, groups)), len(_between(component, groups)), -len(groups)),
    )
    connected: dict[frozenset[str], bool] = {}

    def is_connected(group: frozenset[str]) -> bool:
        if group not in connected:
            part = tuple(atom for atom in component.atoms if atom.name in group)
            connected[group] = len(list(_components(Query(part, frozenset(), component.predicates)))) == 1
        return connected[group]

    return next(
        groups
        for groups in partitions
        if all(map(is_connected, groups)) and _acyclic_over(component, [_union(component, g) for g in groups])
    )


def _partitions(items: Sequence[str]) -> Iterator[list[frozenset[str]]]:
    """All partitions; of two, the one that puts the first item on which they differ into the earlier group first."""
    if not items:
        yield []
        return
    *rest, last = items
    for groups in _partitions(rest):
        for position, group in enumerate(groups):
            yield [*groups[:position], group | {last}, *groups[position + 1 :]]
        yield [*groups, frozenset((last,))]


def _with_covered(component: Query, groups: list[frozenset[str]]) -> list[frozenset[str]]:
    """Single atoms join the first bag that has all their variables."""
    bags = [group for group in groups if len(group) > 1]
    for single in (group for group in groups if len(group) == 1):
        own = _union(component, single)
        home = next((place for place, bag in enumerate(bags) if own <= _union(component, bag)), None)
        if home is None:
            bags.append(single)
        else:
            bags[home] |= single
    return bags


def _greedy(component: Query) -> list[frozenset[str]]:
    """Merge the two linked bags with the smallest union until the component is acyclic."""
    groups = [frozenset((atom.name,)) for atom in component.atoms]
    own = [_union(component, group) for group in groups]
    linked = {
        frozenset((i, j)) for (i, one), (j, other) in combinations(enumerate(own), 2) if _linked(component, one, other)
    }
    order = list(range(len(groups)))
    while not _acyclic_over(component, [own[i] for i in order]):
        one, other = min(
            (pair for pair in combinations(order, 2) if frozenset(pair) in linked),
            key=lambda pair: (len(groups[pair[0]]) + len(groups[pair[1]]), len(own[pair[0]] | own[pair[1]])),
        )
        groups[one] |= groups[other]
        own[one] |= own[other]
        linked |= {frozenset((one, i)) for i in order if i not in (one, other) and frozenset((other, i)) in linked}
        order.remove(other)
    return [groups[i] for i in order]


def _acyclic_over(component: Query, bags: Sequence[frozenset[str]]) -> bool:
    """Whether the component over bags of these variables is acyclic: bare reduction, no forest."""
    edges = dict(enumerate(dict.fromkeys(bags)))
    having: dict[str, set[int]] = {}
    for number, edge in edges.items():
        for variable in edge:
            having.setdefault(variable, set()).add(number)
    predicates = {number: p.variables for number, p in enumerate(component.predicates)}
    mentioning: dict[str, set[int]] = {}
    for number, variables in predicates.items():
        for variable in variables:
            mentioning.setdefault(variable, set()).add(number)

    def forget(number: int) -> None:
        for variable in predicates.pop(number):
            mentioning[variable].discard(number)

    def shrink(number: int, gone: frozenset[str]) -> None:
        for variable in gone:
            having[variable].discard(number)
        edges[number] -= gone
        if not edges[number]:
            del edges[number]

    def target(edge: frozenset[str], number: int) -> int | None:
        joins = [having[v] for v in edge if len(having[v]) > 1]
        near = [predicates[p] for p in {p for v in edge for p in mentioning.get(v, ())}]
        for other in set.intersection(*joins) if joins else edges:
            if other != number and all(p - edge <= edges[other] or p & edge <= edges[other] for p in near):
                return other
        return None

    changed = True
    while changed and edges:
        changed = False
        for number in list(predicates):
            if set.intersection(*(having.get(v, set()) for v in predicates[number])):
                forget(number)
                changed = True
        for number in list(edges):
            edge = edges[number]
            alone = frozenset(v for v in edge if len(having[v]) == 1 and not mentioning.get(v))
            if alone:
                shrink(number, alone)
                changed = True
            elif (into := target(edge, number)) is not None:
                for p in {p for v in edge - edges[into] for p in mentioning.get(v, ())}:
                    forget(p)
                shrink(number, edge)
                changed = True
    return not edges and not predicates

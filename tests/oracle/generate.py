"""Random patterns with random events that hit them.

A `Case` holds the text of a `.cep` file with one pattern, the `cep.model.Pattern` that the text means (made here, not
by the checker), and the events per stream. Everything is drawn from a `random.Random`-like source: `random_case(seed)`
is quick, `cases()` puts hypothesis behind the same code so that failures shrink.

Domains are small so that joins meet; times tie; values are NULL, duplicated or on the edge of their type now and then;
a stream can be empty.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random as Rng
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from cep.expr import FLIPPED, INEQUALITIES, Call, Col, Const, Expr, columns, timestamp_text
from cep.model import Condition, Pattern, Stream, Variable
from cep.source import Span
from cep.types import Type
from tests.oracle.expressions import EPOCH, SECOND, between, condition, duration, random_value, text, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cep.expr import Value

NOWHERE = Span("generated.cep", 0, 0, 1, 1, 1, 1)
BOOLEAN = Type.BOOLEAN
ATTRIBUTES = (
    ("k", Type.STRING),
    ("x", Type.INT),
    ("y", Type.INT),
    ("p", Type.DOUBLE),
    ("q", Type.DOUBLE),
    ("s", Type.STRING),
    ("f", Type.BOOLEAN),
    ("t", Type.TIMESTAMP),
)
WINDOWS = (SECOND // 2, SECOND, 2 * SECOND, 3 * SECOND, 5 * SECOND, 3600 * SECOND)
EVENTS = {1: 40, 2: 36, 3: 24, 4: 14, 5: 10}
"""At most so many events a stream, by the number of variables: combinations grow with the power."""

Row = dict[str, "Value"]


@dataclass(frozen=True, slots=True)
class Case:
    """A pattern as text and as meaning, with events per stream."""

    text: str
    pattern: Pattern
    events: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def streams(self) -> tuple[Stream, ...]:
        return tuple({v.stream.name: v.stream for v in self.pattern.variables}.values())

    def __str__(self) -> str:
        return self.text + "\n" + jsonl(self.streams, self.events)


def jsonl(streams: Sequence[Stream], events: dict[str, list[Row]]) -> str:
    """Events as the corpus holds them: one object a line, `stream` first where there are several."""
    lines = []
    for stream in streams:
        for row in events.get(stream.name, ()):
            named = {"stream": stream.name} if len(streams) > 1 else {}
            lines.append(json.dumps(named | readable(stream, row), ensure_ascii=False))
    return "\n".join(lines)


def readable(stream: Stream, row: Row) -> dict[str, Value]:
    """A row with its timestamps as ISO-8601 and without its NULLs."""
    types = dict(stream.columns)
    return {
        name: timestamp_text(int(v)) if types[name] is Type.TIMESTAMP else v for name, v in row.items() if v is not None
    }


# --- conditions ----------------------------------------------------------------------------------------------------


def _compare(op: str, left: Expr, right: Expr) -> Call:
    """A comparison, with the INT side of a mixed one made DOUBLE."""
    if left.type is not right.type and {left.type, right.type} == {Type.INT, Type.DOUBLE}:
        left, right = (Call("cast", (side,), Type.DOUBLE) if side.type is Type.INT else side for side in (left, right))
    return Call(op, (left, right), BOOLEAN)


def _columns(variable: Variable, *types: Type) -> list[Col]:
    wanted = types or tuple(Type)
    return [Col(variable.name, name, type_) for name, type_ in variable.stream.columns if type_ in wanted]


def _pair(rng: Rng, left: Variable, right: Variable, *types: Type) -> tuple[Col, Col] | None:
    """Two attributes of one type (or both numbers), one a side; the same name on both sides is more likely."""
    pairs = [
        (a, b)
        for a in _columns(left, *types)
        for b in _columns(right, *types)
        if a.type is b.type or (a.type.is_number and b.type.is_number)
        for _ in range(3 if a.attr == b.attr else 1)
    ]
    return rng.choice(pairs) if pairs else None


_KEYS = (Type.STRING, Type.INT, Type.DOUBLE, Type.BOOLEAN, Type.TIMESTAMP)
_JOINS = ("equal",) * 8 + ("computed",) * 3 + ("inequality",) * 5 + ("band",) * 2 + ("unequal", "or", "any")
_ORDERED = (Type.INT, Type.DOUBLE, Type.TIMESTAMP, Type.STRING)


def _moved(rng: Rng, col: Expr) -> Expr:
    """The column, or arithmetic on it."""
    choice = rng.random()
    if col.type.is_number:
        whole = col.type is Type.INT
        factor = Const(rng.choice((2, 3) if whole else (0.5, 2.0)), col.type)
        shift = Const(rng.choice((-1, 1, 2) if whole else (-0.5, 0.5, 1.0)), col.type)
        if choice < 0.3:
            return Call("+", (col, shift), col.type)
        if choice < 0.5:
            return Call("*", (col, factor), col.type)
        if choice < 0.6:
            return Call("-", (shift, col), col.type)
        if choice < 0.7:
            return Call("abs", (col,), col.type)
    if col.type is Type.TIMESTAMP and choice < 0.6:
        return Call(rng.choice("+-"), (col, Const(rng.choice((1, 2, 5)) * SECOND, Type.DURATION)), col.type)
    if col.type is Type.STRING and choice < 0.6:
        return Call(rng.choice(("lower", "upper")), (col,), col.type)
    return col


def _join(rng: Rng, left: Variable, right: Variable) -> Expr | None:
    """A condition between two variables."""
    kind = rng.choice(_JOINS)
    if kind in ("equal", "unequal", "computed"):
        if (pair := _pair(rng, left, right, *_KEYS)) is None:
            return None
        sides = [_moved(rng, side) for side in pair] if kind == "computed" else list(pair)
        return _compare("<>" if kind == "unequal" else "=", *sides)
    if kind == "inequality":
        if (pair := _pair(rng, left, right, *_ORDERED)) is None:
            return None
        return _compare(rng.choice(INEQUALITIES), _moved(rng, pair[0]), _moved(rng, pair[1]))
    if kind == "band":
        if (pair := _pair(rng, left, right, Type.INT, Type.TIMESTAMP)) is None:
            return None
        low, high = pair[1], pair[1]
        width = Const(2, Type.INT) if low.type is Type.INT else Const(2 * SECOND, Type.DURATION)
        if rng.random() < 0.5:
            return between(pair[0], low, Call("+", (high, width), high.type))
        return between(pair[0], Call("-", (low, width), low.type), Call("+", (high, width), high.type))
    if kind == "or":
        alternatives = [_join(rng, left, right), _filter(rng, rng.choice((left, right)))]
        return Call("or", tuple(a for a in alternatives if a is not None), BOOLEAN) if alternatives[0] else None
    mixed = condition(rng, _columns(left) + _columns(right), 1)
    return mixed if {c.var for c in _used(mixed)} == {left.name, right.name} else None


def _used(expr: Expr) -> set[Col]:
    return set(columns(expr))


def _filter(rng: Rng, variable: Variable) -> Expr:
    """A condition on one variable that mentions it."""
    for _ in range(5):
        made = condition(rng, _columns(variable), rng.choice((0, 0, 1, 2)))
        if _used(made):
            return made
    return Call("not", (Call("isnull", (_columns(variable)[0],), BOOLEAN),), BOOLEAN)


def _three(rng: Rng, variables: Sequence[Variable]) -> Expr | None:
    """A predicate over three variables."""
    chosen = rng.sample(list(variables), 3)
    numbers = [_columns(v, Type.INT) for v in chosen]
    if not all(numbers):
        return None
    a, b, c = (rng.choice(known) for known in numbers)
    total = Call("+", (a, b), Type.INT)
    return _compare(rng.choice(("<", "<=", ">", "=", "<>")), total, c)


def _triangle(rng: Rng, variables: Sequence[Variable]) -> list[Expr]:
    """a.x = b.y, b.x = c.y, c.x = a.y: a cycle that no unification removes."""
    ring = rng.sample(list(variables), rng.randint(3, len(variables)))
    out: list[Expr] = []
    for here, there in zip(ring, [*ring[1:], ring[0]], strict=True):
        ours, theirs = _columns(here, Type.INT), _columns(there, Type.INT)
        if not ours or not theirs:
            return []
        out.append(_compare("=", ours[0], theirs[-1]))
    return out


# --- bodies --------------------------------------------------------------------------------------------------------

Tree = Variable | tuple[str, list["Tree"]]


def _body(rng: Rng, variables: list[Variable], has_time: bool, depth: int = 0) -> Tree:
    if len(variables) == 1:
        return variables[0]
    operator = "SEQ" if has_time and rng.random() < (0.7 if depth == 0 else 0.4) else "AND"
    cuts = sorted(rng.sample(range(1, len(variables)), rng.randint(1, len(variables) - 1)))
    if rng.random() < (0.6 if depth == 0 else 1):
        cuts = list(range(1, len(variables)))  # flat
    parts = [variables[i:j] for i, j in zip([0, *cuts], [*cuts, len(variables)], strict=True)]
    return operator, [_body(rng, part, has_time, depth + 1) for part in parts]


def _leaves(tree: Tree) -> list[Variable]:
    return [tree] if isinstance(tree, Variable) else [leaf for part in tree[1] for leaf in _leaves(part)]


def _order(tree: Tree) -> list[tuple[str, str]]:
    if isinstance(tree, Variable):
        return []
    operator, parts = tree
    pairs = [pair for part in parts for pair in _order(part)]
    if operator == "SEQ":
        for before, after in pairwise(parts):
            pairs += [(b.name, a.name) for b in _leaves(before) for a in _leaves(after)]
    return pairs


def _body_text(tree: Tree) -> str:
    if isinstance(tree, Variable):
        return f"{tree.stream.name} {tree.name}"
    return f"{tree[0]}({', '.join(_body_text(part) for part in tree[1])})"


# --- cases ---------------------------------------------------------------------------------------------------------


def _streams(rng: Rng) -> list[Stream]:
    has_time = rng.random() < 0.9
    out = []
    for name in ("A", "B", "C")[: rng.choice((1, 1, 2, 2, 3))]:
        kept = [a for a in ATTRIBUTES if a[0] in ("k", "x", "y") or rng.random() < 0.6]
        if rng.random() < 0.2:
            kept = [a for a in kept if a[0] != "k"] + [("k", Type.INT)]
        timed = [("ts", Type.TIMESTAMP)] if has_time else []
        disorder = rng.choice((0, 0, SECOND, 4 * SECOND)) if has_time else 0
        declared = tuple(timed + kept if rng.random() < 0.8 else kept + timed)
        out.append(Stream(name=name, columns=declared, time="ts" if has_time else None, watermark=disorder))
    return out


def _stream_text(stream: Stream) -> str:
    declared = f"STREAM {stream.name} ({', '.join(f'{name} {type_}' for name, type_ in stream.columns)})"
    if stream.time is not None:
        declared += f" TIMESTAMP BY {stream.time}"
    if stream.watermark:
        declared += f" WATERMARK {duration(stream.watermark)}"
    return declared + ";"


def _conditions(rng: Rng, variables: Sequence[Variable]) -> list[Expr]:
    linked = [i for i in range(1, len(variables)) if rng.random() < 0.85]
    found: list[Expr | None] = [_join(rng, variables[rng.randrange(i)], variables[i]) for i in linked]
    if rng.random() < 0.25:
        found.append(_join(rng, *rng.sample(list(variables), 2)))
    if len(variables) > 2:
        if rng.random() < 0.12:
            found += _triangle(rng, variables)
        if rng.random() < 0.15:
            found.append(_three(rng, variables))
    found += [_filter(rng, variable) for variable in variables if rng.random() < 0.18]
    made = [expr for expr in found if expr is not None]
    rng.shuffle(made)
    return made


def _window_predicate(rng: Rng, tree: Tree) -> Expr | None:
    """The window of a SEQ with single first and last steps, written as a condition."""
    if isinstance(tree, Variable) or tree[0] != "SEQ":
        return None
    first, last = tree[1][0], tree[1][-1]
    if not (isinstance(first, Variable) and isinstance(last, Variable)):
        return None
    width = Const(rng.choice(WINDOWS), Type.DURATION)
    begin, end = Col(first.name, "ts", Type.TIMESTAMP), Col(last.name, "ts", Type.TIMESTAMP)
    made = rng.choice(
        (
            Call("<=", (Call("-", (end, begin), Type.DURATION), width), BOOLEAN),
            Call("<=", (end, Call("+", (begin, width), Type.TIMESTAMP)), BOOLEAN),
            Call("<", (end, Call("+", (begin, width), Type.TIMESTAMP)), BOOLEAN),
            Call("<=", (Call("-", (end, width), Type.TIMESTAMP), begin), BOOLEAN),
        )
    )
    return Call(FLIPPED[made.op], made.args[::-1], BOOLEAN) if rng.random() < 0.3 else made


def _fields(rng: Rng, variables: Sequence[Variable]) -> tuple[list[tuple[str, Expr]], str]:
    """The outputs and the RETURN clause's text without DISTINCT; empty where there is no clause."""
    everything = [col for variable in dict.fromkeys(variables) for col in _columns(variable)]
    if (chance := rng.random()) < 0.22:  # a DISTINCT that leaves nothing out is a case of its own
        return [(str(col), col) for col in everything], "" if chance < 0.12 else ", ".join(map(str, everything))
    items: list[tuple[str, Expr]] = []
    spelled = []
    some = rng.sample(list(variables), rng.randint(1, len(variables)))  # a field of every variable is the exception
    for i in range(rng.randint(1, 4)):
        cols = _columns(rng.choice(some))
        if rng.random() < 0.25:
            cols += _columns(rng.choice(some))
            type_ = rng.choice((Type.INT, Type.DOUBLE, Type.STRING, Type.TIMESTAMP, BOOLEAN))
            expr = value(rng, type_, cols, rng.randint(1, 2))
            if not _used(expr):
                continue
        else:
            expr = rng.choice(cols)
        if isinstance(expr, Col) and str(expr) not in dict(items) and rng.random() < 0.3:
            items.append((str(expr), expr))
            spelled.append(str(expr))
        else:
            items.append((f"f{i}", expr))
            spelled.append(f"{text(expr, rng)} AS f{i}")
    if not items:
        items, spelled = [("f", everything[0])], [f"{everything[0]} AS f"]
    return items, ", ".join(spelled)


def _rows(rng: Rng, stream: Stream, count: int) -> list[Row]:
    nulls = rng.choice((0.0, 0.05, 0.25))
    edges = rng.choice((0.0, 0.0, 0.05))
    length = rng.choice((4, 8, 15, 60))
    step = rng.choice((SECOND, SECOND, SECOND // 2))
    timed = rng.choice((1.0, 1.0, 0.95))
    rows: list[Row] = []
    for _ in range(count):
        if rows and rng.random() < 0.1:
            rows.append(dict(rng.choice(rows)))
            continue
        row: Row = {name: random_value(rng, type_, nulls=nulls, edges=edges) for name, type_ in stream.columns}
        if stream.time is not None:
            row[stream.time] = EPOCH + rng.randint(0, length) * step if rng.random() < timed else None
        rows.append(row)
    return rows


def make(rng: Rng) -> Case:
    """A case from a source of randomness."""
    streams = _streams(rng)
    has_time = streams[0].time is not None
    count = rng.choice((2, 2, 2, 3, 3, 3, 4, 4, 5))
    variables = [Variable(name=name, stream=rng.choice(streams), span=NOWHERE) for name in "abcde"[:count]]
    # What users write most: a plain sequence on one key, the fields of an end or two.
    classic = has_time and rng.random() < 0.25
    tree: Tree = ("SEQ", list(variables)) if classic else _body(rng, variables, has_time)
    written = _conditions(rng, variables) if not classic else [_filter(rng, v) for v in variables if rng.random() < 0.2]

    shared = sorted(set.intersection(*({n for n, t in v.stream.columns if n != "ts"} for v in variables)))
    types = {name: {v.stream.type_of(name) for v in variables} for name in shared}
    usable = [name for name in shared if len(types[name]) == 1]
    partition = (rng.choice(usable),) if usable and rng.random() < (0.8 if classic else 0.2) else ()
    if partition and len(usable) > 1 and rng.random() < 0.2:
        partition = tuple(rng.sample(usable, 2))
    implied = [
        _compare("=", Col(v.name, name, kind), Col(w.name, name, kind))
        for name in partition
        for v, w in pairwise(variables)
        if (kind := v.stream.type_of(name)) is not None
    ]

    window: int | None = None
    clause = "UNBOUNDED"
    chosen = rng.random() if has_time else 1.0
    if chosen < 0.12 and (predicate := _window_predicate(rng, tree)) is not None:
        written.insert(rng.randint(0, len(written)), predicate)
        clause = rng.choice(("", "UNBOUNDED"))
    elif chosen < 0.75:
        window = rng.choice(WINDOWS)
        clause = f"WITHIN {duration(window)}"

    ends = [rng.choice(variables), *rng.sample(variables, 1)] if classic else variables
    fields, returned = _fields(rng, variables if rng.random() < 0.1 else ends)
    fields = fields if returned else [(str(col), col) for variable in variables for col in _columns(variable)]
    distinct = bool(returned) and rng.random() < (0.6 if classic else 0.35)
    lines = [*map(_stream_text, streams), "", f"PATTERN P {_body_text(tree)}"]
    if written:
        lines.append("  WHERE " + "\n    AND ".join(_conjunct(expr, rng) for expr in written))
    if partition:
        lines.append(f"  PARTITION BY {', '.join(partition)}")
    if clause:
        lines.append(f"  {clause}")
    if returned:
        lines.append(f"  RETURN {'DISTINCT ' if distinct else ''}{returned}")
    pattern = Pattern(
        name="P",
        variables=tuple(variables),
        order=tuple(_order(tree)),
        conditions=tuple(Condition(expr=expr, span=NOWHERE) for expr in (*written, *implied)),
        partition_by=partition,
        window=window,
        distinct=distinct,
        fields=tuple(fields),
        span=NOWHERE,
    )
    most = EVENTS[count]
    used = {v.stream.name: v.stream for v in variables}
    events = {name: _rows(rng, stream, rng.choice((0, most // 2, most, most, most))) for name, stream in used.items()}
    return Case("\n".join(lines) + ";\n", pattern, events)


def _conjunct(expr: Expr, rng: Rng) -> str:
    spelled = text(expr, rng)
    return f"({spelled})" if isinstance(expr, Call) and expr.op == "or" else spelled


def random_case(seed: int) -> Case:
    """The same case for the same seed, in every process."""
    return make(Rng(seed))


def cases() -> st.SearchStrategy[Case]:
    """The same cases, drawn by hypothesis."""
    return st.randoms(use_true_random=False).map(make)


def fewer(case: Case) -> Case:
    """The case with every second event."""
    return replace(case, events={name: rows[::2] for name, rows in case.events.items()})

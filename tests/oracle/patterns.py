"""Random patterns: streams, body, conditions, window and what is returned.

`draw` gives a `Draft`: what the pattern means, piece by piece, from which its text (`Draft.text`) and its
`cep.ir.model.Pattern` (`Draft.pattern`) are derived independently. A parser or checker that reads the text as something
else is found by the comparison of both.

Three kinds of patterns are drawn: anything; what users write most, a SEQ on one key; and *chains*: variables ordered by
`<` and `<=` between event times, mixed with SEQ, over events of a few moments only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random as Rng
from typing import TYPE_CHECKING

from cep.ir.body import All, Body, One, Seq
from cep.ir.expr import FLIPPED, Call, Col, Const, Expr
from cep.ir.model import Condition, Pattern, Stream, Variable
from cep.ir.types import Type
from cep.source import Span
from tests.oracle.conditions import BOOLEAN, chain, columns_of, compare, condition_on, conditions, used
from tests.oracle.expressions import SECOND, duration, text, value

if TYPE_CHECKING:
    from collections.abc import Sequence

NOWHERE = Span("generated.cep", 0, 0, 1, 1, 1, 1)
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


def _model(tree: Tree) -> Body:
    if isinstance(tree, Variable):
        return One(tree.name)
    items = tuple(_model(part) for part in tree[1])
    return Seq(items) if tree[0] == "SEQ" else All(items)


def _body_text(tree: Tree) -> str:
    if isinstance(tree, Variable):
        return f"{tree.stream.name} {tree.name}"
    return f"{tree[0]}({', '.join(_body_text(part) for part in tree[1])})"


# --- clauses -------------------------------------------------------------------------------------------------------


def _streams(rng: Rng, *, has_time: bool) -> list[Stream]:
    out = []
    for name in ("A", "B", "C")[: rng.choice((1, 1, 2, 2, 3))]:
        kept = [a for a in ATTRIBUTES if a[0] in ("k", "x", "y") or rng.random() < 0.6]
        if rng.random() < 0.2:
            kept = [a for a in kept if a[0] != "k"] + [("k", Type.INT)]
        timed = [("ts", Type.TIMESTAMP)] if has_time else []
        disorder = rng.choice((0, 0, SECOND, 4 * SECOND)) if has_time else 0
        declared = tuple(timed + kept if rng.random() < 0.8 else kept + timed)
        order = _tie_breaker(rng, kept) if has_time else None
        out.append(
            Stream(name=name, columns=declared, time="ts" if has_time else None, watermark=disorder, order=order)
        )
    return out


def _tie_breaker(rng: Rng, columns: Sequence[tuple[str, Type]]) -> str | None:
    """For a third of the streams, what orders events of one moment."""
    able = [name for name, type_ in columns if type_ is not Type.BOOLEAN]
    return rng.choice(able) if able and rng.random() < 0.33 else None


def _stream_text(stream: Stream) -> str:
    declared = f"STREAM {stream.name} ({', '.join(f'{name} {type_}' for name, type_ in stream.columns)})"
    if stream.time is not None:
        declared += f" TIMESTAMP BY {stream.time}"
    if stream.watermark:
        declared += f" WATERMARK {duration(stream.watermark)}"
    if stream.order is not None:
        declared += f" ORDER BY {stream.order}"
    return declared + ";"


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
    everything = _everything(list(dict.fromkeys(variables)))
    if (chance := rng.random()) < 0.22:  # a DISTINCT that leaves nothing out is a case of its own
        return everything, "" if chance < 0.12 else ", ".join(name for name, _ in everything)
    items: list[tuple[str, Expr]] = []
    spelled = []
    some = rng.sample(list(variables), rng.randint(1, len(variables)))  # a field of every variable is the exception
    for i in range(rng.randint(1, 4)):
        cols = columns_of(rng.choice(some))
        if rng.random() < 0.25:
            cols += columns_of(rng.choice(some))
            type_ = rng.choice((Type.INT, Type.DOUBLE, Type.STRING, Type.TIMESTAMP, BOOLEAN))
            expr = value(rng, type_, cols, rng.randint(1, 2))
            if not used(expr):
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
        items, spelled = [("f", everything[0][1])], [f"{everything[0][0]} AS f"]
    return items, ", ".join(spelled)


def _shape(rng: Rng, kind: str, variables: list[Variable], has_time: bool) -> tuple[Tree, list[Expr]]:
    """The body and the conditions of a pattern of a kind."""
    if kind == "classic":  # what users write most: a plain sequence on one key, the fields of an end or two
        return ("SEQ", list(variables)), [condition_on(rng, v) for v in variables if rng.random() < 0.2]
    if kind == "chain":
        tree: Tree = ("AND", list(variables)) if rng.random() < 0.65 else _body(rng, variables, has_time)
        # Against the order of a SEQ nothing matches: a case, but one in ten.
        free = tree[0] == "AND" if isinstance(tree, tuple) else True
        return tree, chain(rng, variables, any_order=free or rng.random() < 0.1)
    return _body(rng, variables, has_time), conditions(rng, variables)


def _partition(rng: Rng, variables: Sequence[Variable], chance: float) -> tuple[str, ...]:
    """Attributes that all variables have, of one type."""
    shared = sorted(set.intersection(*({n for n, t in v.stream.columns if n != "ts"} for v in variables)))
    usable = [name for name in shared if len({v.stream.type_of(name) for v in variables}) == 1]
    partition = (rng.choice(usable),) if usable and rng.random() < chance else ()
    if partition and len(usable) > 1 and rng.random() < 0.2:
        partition = tuple(rng.sample(usable, 2))
    return partition


# --- drafts --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Draft:
    """What a pattern says, clause by clause."""

    kind: str
    streams: tuple[Stream, ...]
    tree: Tree
    written: tuple[Expr, ...]
    """The conditions of WHERE."""
    partition: tuple[str, ...]
    window: int | None
    clause: str
    """The window's clause, which may be none at all."""
    fields: tuple[tuple[str, Expr], ...]
    returned: str
    """RETURN's items as they are written; empty where there is no such clause."""
    distinct: bool

    @property
    def variables(self) -> list[Variable]:
        return _leaves(self.tree)

    def text(self, rng: Rng) -> str:
        """The `.cep` file; `rng` chooses among spellings that mean the same."""
        lines = [*map(_stream_text, self.streams), "", f"PATTERN P {_body_text(self.tree)}"]
        if self.written:
            lines.append("  WHERE " + "\n    AND ".join(_conjunct(expr, rng) for expr in self.written))
        if self.partition:
            lines.append(f"  PARTITION BY {', '.join(self.partition)}")
        if self.clause:
            lines.append(f"  {self.clause}")
        if self.returned:
            lines.append(f"  RETURN {'DISTINCT ' if self.distinct else ''}{self.returned}")
        return "\n".join(lines) + ";\n"

    @property
    def pattern(self) -> Pattern:
        """What the text means."""
        variables = self.variables
        implied = [
            compare("=", Col(v.name, name, type_), Col(w.name, name, type_))
            for name in self.partition
            for v, w in pairwise(variables)
            if (type_ := v.stream.type_of(name)) is not None
        ]
        return Pattern(
            name="P",
            variables=tuple(variables),
            body=_model(self.tree),
            conditions=tuple(Condition(expr=expr, span=NOWHERE) for expr in (*self.written, *implied)),
            partition_by=self.partition,
            window=self.window,
            distinct=self.distinct,
            fields=self.fields,
            span=NOWHERE,
        )


def _conjunct(expr: Expr, rng: Rng) -> str:
    spelled = text(expr, rng)
    return f"({spelled})" if isinstance(expr, Call) and expr.op == "or" else spelled


def draw(rng: Rng, kind: str | None = None) -> Draft:
    """A pattern from a source of randomness; `kind` is any, classic or chain, drawn where it is not given."""
    kind = kind or rng.choice(("any",) * 10 + ("classic",) * 4 + ("chain",) * 6)
    classic = kind == "classic"
    has_time = kind != "any" or rng.random() < 0.85
    streams = _streams(rng, has_time=has_time)
    count = rng.choice((2, 2, 2, 3, 3, 3, 4, 4, 5) if kind != "chain" else (2, 3, 3, 3, 3, 4, 4, 5))
    variables = [Variable(name=name, stream=rng.choice(streams), span=NOWHERE) for name in "abcde"[:count]]
    tree, written = _shape(rng, kind, variables, has_time)
    partition = _partition(rng, variables, 0.8 if classic else 0.2)

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
    fields = fields if returned else _everything(variables)
    distinct = bool(returned) and rng.random() < (0.6 if classic else 0.35)
    return Draft(
        kind, tuple(streams), tree, tuple(written), partition, window, clause, tuple(fields), returned, distinct
    )


def _everything(variables: Sequence[Variable]) -> list[tuple[str, Expr]]:
    """What a pattern without RETURN gives."""
    return [(str(col), col) for variable in variables for col in columns_of(variable)]


# --- lanes ---------------------------------------------------------------------------------------------------------


def with_lanes(draft: Draft, type_: Type) -> Draft:
    """The pattern over streams with one more column, `lane`, which all events of a match share and which it returns."""
    streams = {s.name: replace(s, columns=(*s.columns, ("lane", type_))) for s in draft.streams}

    def moved(tree: Tree) -> Tree:
        if isinstance(tree, Variable):
            return replace(tree, stream=streams[tree.stream.name])
        return tree[0], [moved(part) for part in tree[1]]

    tree = moved(draft.tree)
    fields: Sequence[tuple[str, Expr]] = _everything(_leaves(tree))
    returned = draft.returned
    if returned:  # of a variable that returns something anyhow: those that return nothing are planned another way
        shown = next(col.var for _, expr in draft.fields for col in sorted(used(expr), key=str))
        fields = (*draft.fields, ("lane", Col(shown, "lane", type_)))
        returned += f", {shown}.lane AS lane"
    return replace(
        draft,
        streams=tuple(streams.values()),
        tree=tree,
        partition=(*draft.partition, "lane"),
        fields=tuple(fields),
        returned=returned,
    )

"""The body of a pattern: from what was written to `cep.ir.body`, with every variable bound to its stream.

A plain step binds one event. The other steps are *gap steps*: `NOT B b` speaks of an event that is not there, a
quantifier (`B+ b`, `B{2,5} b`) of all events that fit. `NEXT(A a, B b)` is short for a `SEQ` with a NOT of every stream
of the pattern between its events; those have names that are not in scope.

What cannot be meant is reported here: quantifiers that hold for nothing (CEP0411), operators of something that they do
not take (CEP0904), two sets with nothing between them (CEP0412), bodies without an event to start from (CEP0409).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from cep.compiler.resolve import Scope
from cep.diagnostics import Diagnostics, Label, did_you_mean
from cep.ir import ast
from cep.ir.body import Absent, All, Any, Body, Many, One, Select, Seq, places, singles, steps
from cep.ir.model import Stream
from cep.ir.types import Type
from cep.source import Span
from cep.syntax.unparse import unparse_body


class Kind(Enum):
    """What a variable stands for."""

    ONE = "one event"
    ABSENT = "no event"
    SET = "all events of a gap"
    RUN = "the unbroken events of a gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A variable with its stream; None where the stream is unknown (and reported). `hidden`: nobody has written it."""

    name: str
    kind: Kind
    stream: Stream | None
    var: Span
    source: Span
    hidden: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What a name stands for in expressions. `streams` is empty where the stream is unknown (and reported)."""

    name: str
    kinds: frozenset[Kind]
    streams: tuple[Stream, ...]

    @property
    def columns(self) -> tuple[tuple[str, Type], ...]:
        """The attributes that all streams have in one type, in the order of the first."""
        first, *others = self.streams
        return tuple(
            (attr, type_) for attr, type_ in first.columns if all(other.type_of(attr) is type_ for other in others)
        )

    def type_of(self, attr: str) -> Type | None:
        """The type of an attribute; None where not all streams have it, or not in one type."""
        types = {stream.type_of(attr) for stream in self.streams}
        return types.pop() if len(types) == 1 else None

    @property
    def is_gap(self) -> bool:
        """Whether it stands for a gap in some way to match."""
        return self.kinds != {Kind.ONE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bindings:
    """A body with its variables, in the order they are written. `good` is false where something was reported."""

    body: Body
    steps: dict[str, Bound]
    good: bool


def check_body(body: ast.Body, whole: ast.Body, scope: Scope, diagnostics: Diagnostics) -> Bindings:
    """Bind the variables of a body without alternatives, a branch of `whole`, and judge its shape. O(size)."""
    binder = _Binder(whole, scope, diagnostics)
    made = binder.body(body)
    good = binder.good and _starts(made, body, diagnostics) and _apart(made, binder.steps, diagnostics)
    good = good and _runs(made, binder.steps, diagnostics)
    return Bindings(body=made, steps=binder.steps, good=good)


def written_body(body: ast.Body, scope: Scope) -> Body:
    """A body with its alternatives, as it was written."""
    return _Binder(body, scope, Diagnostics()).body(body)


def bound_steps(body: ast.Body) -> Iterator[ast.Step | ast.Repeat | ast.Optional]:
    """The steps that name a stream and a variable, as written."""
    if isinstance(body, (ast.Step, ast.Repeat, ast.Optional)):
        yield body
    else:
        assert isinstance(body, (ast.Seq, ast.And, ast.Or, ast.Not, ast.Selected))
        for item in (body.item,) if isinstance(body, ast.Not) else body.items:
            yield from bound_steps(item)


def known(bindings: Iterable[Bindings]) -> dict[str, Known]:
    """What the names stand for over all ways to match, in the order they are written."""
    found: dict[str, list[Bound]] = {}
    for binding in bindings:
        for bound in (bound for bound in binding.steps.values() if not bound.hidden):
            found.setdefault(bound.name, []).append(bound)
    return {
        name: Known(
            name=name,
            kinds=frozenset(bound.kind for bound in each),
            streams=()
            if any(bound.stream is None for bound in each)
            else tuple({bound.stream.name: bound.stream for bound in each if bound.stream is not None}.values()),
        )
        for name, each in found.items()
    }


class _Binder:
    """Binds the variables of a body, with all streams and names of the whole pattern in sight."""

    def __init__(self, whole: ast.Body, scope: Scope, diagnostics: Diagnostics) -> None:
        names = dict.fromkeys(step.stream.text for step in bound_steps(whole))
        self._streams = [scope.streams[name] for name in names if name in scope.streams]
        self._written = {step.var.text for step in bound_steps(whole)}
        self._scope = scope
        self._diagnostics = diagnostics
        self.steps: dict[str, Bound] = {}
        self.good = True

    def _error(
        self, code: str, span: Span, message: str, hint: str | None,
        notes: tuple[str, ...] = (), labels: tuple[Label, ...] = (),
    ) -> None:  # fmt: skip
        self.good = False
        self._diagnostics.error(code, span, message, hint=hint, notes=notes, labels=labels)

    def body(self, node: ast.Body) -> Body:
        if isinstance(node, ast.Step):
            return self._bind(node, One(node.var.text), Kind.ONE)
        if isinstance(node, ast.Repeat):
            return self._repeat(node)
        if isinstance(node, ast.Not):
            return self._not(node.item, node)
        if isinstance(node, ast.Selected):
            return {"RUN": self._run, "NEXT": self._next}.get(node.op, self._select)(node)
        if isinstance(node, ast.Optional):
            return Any((self._bind(node, One(node.var.text), Kind.ONE), Absent(node.var.text)))
        assert isinstance(node, (ast.Seq, ast.And, ast.Or)), f"no rule for {type(node).__name__}"
        if isinstance(node, ast.Or):
            return Any(tuple(self.body(item) for item in node.items))
        if isinstance(node, ast.Seq):
            return Seq(tuple(made for item in node.items for made in self._items(item)))
        return All(tuple(self.body(item) for item in node.items))

    def _items(self, node: ast.Body) -> tuple[Body, ...]:
        """An item of a SEQ; the events of a NEXT are items themselves."""
        made = self.body(node)
        return made.items if isinstance(node, ast.Selected) and isinstance(made, Seq) else (made,)

    # --- operators -------------------------------------------------------------------------------------------------

    def _select(self, node: ast.Selected) -> Body:
        """`FIRST(B b)`, `LAST(B b)`."""
        (item, *others) = node.items
        if others or not isinstance(item, ast.Step):
            hint = f"`{node.op}` takes one event: `{node.op}(B b)`"
            if isinstance(item, (ast.Repeat, ast.Optional)):
                plain = unparse_body(ast.Step(stream=item.stream, var=item.var, span=item.span))
                hint = f"write `{node.op}({plain})`"
            if isinstance(item, ast.Repeat):
                hint += f", or the value of that event of the set: `{node.op}({item.var.text}.x)`"
            return self._cannot(node, hint)
        return self._bind(item, One(item.var.text, Select(node.op)), Kind.ONE)

    def _run(self, node: ast.Selected) -> Body:
        """`RUN(B{2,} b)`."""
        (item, *others) = node.items
        if others or not isinstance(item, ast.Repeat):
            hint = "a run is of one set: `RUN(B{2,} b)`"
            if isinstance(item, (ast.Step, ast.Optional)) and not others:
                hint = f"say how long it is: `RUN({item.stream.text}{{2,}} {item.var.text})`"
            return self._cannot(node, hint)
        made = self._repeat(item, Kind.RUN)
        return Many(made.var, made.least, made.most, run=True) if isinstance(made, Many) else made

    def _next(self, node: ast.Selected) -> Body:
        """`NEXT(A a, B b)`: a SEQ, and no event of any stream of the pattern between."""
        if len(node.items) < 2 or not all(isinstance(item, ast.Step) for item in node.items):
            return self._cannot(node, "`NEXT` takes two or more events that follow each other: `NEXT(A a, B b)`")
        events = [item for item in node.items if isinstance(item, ast.Step)]
        items = [self.body(events[0])]
        for earlier, later in pairwise(events):
            items += [self._between(earlier, later, stream) for stream in self._streams]
            items.append(self.body(later))
        return Seq(tuple(items))

    def _between(self, earlier: ast.Step, later: ast.Step, stream: Stream) -> Body:
        name = f"{earlier.var.text}→{later.var.text}:{stream.name}"
        while name in self._written:  # a quoted name can be anything
            name += "'"
        self.steps[name] = Bound(
            name=name,
            kind=Kind.ABSENT,
            stream=stream,
            var=later.var.span,
            source=later.stream.span,
            hidden=True,
        )
        return Absent(name)

    def _cannot(self, node: ast.Selected, hint: str) -> Body:
        self._error("CEP0904", node.span, f"`{node.op}` cannot take this", hint)
        return All(tuple(self.body(item) for item in node.items))

    def _repeat(self, node: ast.Repeat, kind: Kind = Kind.SET) -> Body:
        if node.most is not None and node.most < node.least:
            self._error(
                "CEP0411",
                node.span,
                f"no set has at least {node.least} and at most {node.most} events",
                f"write the smaller number first: `{node.stream.text}{{{node.most},{node.least}}} {node.var.text}`",
            )
        elif node.most == 0:
            written = unparse_body(ast.Not(item=_step(node), span=node.span))
            self._error("CEP0411", node.span, "a set of no events", f"write `{written}`")
        return self._bind(node, Many(node.var.text, node.least, node.most), kind)

    def _not(self, item: ast.Body, whole: ast.Not) -> Body:
        """What `NOT item` says; `whole` is what is written, for the findings."""
        if isinstance(item, ast.Step):
            return self._bind(item, Absent(item.var.text), Kind.ABSENT)
        if isinstance(item, ast.Or):
            return All(tuple(self._not(part, whole) for part in item.items))
        if isinstance(item, ast.Optional):
            written = f"NOT {item.stream.text} {item.var.text}"
            self._error("CEP0411", item.span, "NOT of an event that need not come", f"write `{written}`")
            return self._bind(item, Absent(item.var.text), Kind.ABSENT)
        if not isinstance(item, ast.Repeat):
            self._not_of(item, whole)
            return self.body(item)
        if item.most is not None or item.least == 0:
            self._not_so_many(item)
            return self._bind(item, Many(item.var.text, 0, None), Kind.SET)
        if item.least == 1:
            return self._bind(item, Absent(item.var.text), Kind.ABSENT)
        return self._bind(item, Many(item.var.text, 0, item.least - 1), Kind.SET)

    def _not_so_many(self, item: ast.Repeat) -> None:
        """NOT of a quantifier other than `{n,}`: what it asks for is two ranges of numbers, or nothing."""
        stream, var = item.stream.text, item.var.text
        if item.most is None:
            what, instead = "there are always at least 0 events", f"NOT {stream} {var}"
        elif item.least == 0:
            what, instead = (
                f"NOT at most {item.most} is at least {item.most + 1}",
                f"{stream}{{{item.most + 1},}} {var}",
            )
        else:
            what = "NOT takes `{n,}` alone: fewer or more would be two sets"
            instead = f"NOT {stream}{{{item.least},}} {var}"
        self._error("CEP0411", item.span, what, f"write `{instead}`")

    def _not_of(self, item: ast.Body, whole: ast.Not) -> None:
        if isinstance(item, ast.Not):
            hint = f"write `{unparse_body(item.item)}`"
        else:
            hint = "NOT takes one event, `NOT B b`, or several of which none may come, `NOT OR(B b, C c)`"
        what = item.op if isinstance(item, ast.Selected) else type(item).__name__.upper()
        self._error("CEP0904", whole.span, f"NOT of {what} is not supported yet", hint)

    def _bind(self, step: ast.Step | ast.Repeat | ast.Optional, made: Body, kind: Kind) -> Body:
        name, stream = step.var.text, self._scope.streams.get(step.stream.text)
        if stream is None:
            self.good = False
            if self._scope.complete:
                self._unknown_stream(step.stream)
        if name in self.steps:
            self._error(
                "CEP0208",
                step.var.span,
                f"variable `{name}` is bound twice",
                "give each event a variable of its own",
                labels=(Label(self.steps[name].var, "first bound here"),),
            )
            return made
        self.steps[name] = Bound(name=name, kind=kind, stream=stream, var=step.var.span, source=step.stream.span)
        return made

    def _unknown_stream(self, name: ast.Name) -> None:
        known = list(self._scope.streams)
        self._error(
            "CEP0201",
            name.span,
            f"unknown stream `{name.text}`",
            did_you_mean(name.text, known)
            or ("declare it with `STREAM`, or `IMPORT` the file that does" if not known else None),
            notes=("the streams are " + ", ".join(known),) if known else (),
        )


def _step(node: ast.Repeat) -> ast.Step:
    return ast.Step(stream=node.stream, var=node.var, span=node.span)


# --- shape -----------------------------------------------------------------------------------------------------------


def _starts(body: Body, written: ast.Body, diagnostics: Diagnostics) -> bool:
    """CEP0409 where no event can make a match: neither a single one nor those of one set that is not empty."""
    sets = [step for step in steps(body) if isinstance(step, Many)]
    if singles(body) or (len(sets) == 1 and sets[0].least > 0) or not list(steps(body)):
        return True
    if len(sets) > 1:
        what, hint = (
            "nothing but sets: no event says when there is a match",
            "add a single event that they come before or after",
        )
    elif sets:
        what = f"`{sets[0].var}` may be empty, and there is nothing else: no event makes a match"
        hint = "write a set of at least one event, or add a single event that something is asked of"
    else:
        what, hint = (
            "nothing but NOT: no event makes a match",
            "add the event that something is missing after or before: `SEQ(A a, NOT B b)`",
        )
    diagnostics.error("CEP0409", written.span, what, hint=hint)
    return False


def _apart(body: Body, bound: dict[str, Bound], diagnostics: Diagnostics) -> bool:
    """CEP0412 where two sets of a SEQ have no single event between them: nothing says where one ends."""
    good = True
    for earlier, later in _touching(body):
        good = False
        first, second = bound[earlier], bound[later]
        diagnostics.error(
            "CEP0412",
            second.var,
            f"nothing stands between the sets `{earlier}` and `{later}`: no event says where one ends",
            hint="put a single event between them, or use AND(...) if their order does not matter",
            labels=[Label(first.var, "the other set")],
        )
    return good


def _runs(body: Body, bound: dict[str, Bound], diagnostics: Diagnostics) -> bool:
    """CEP0904 where a run has no neighbour that it could end or start at."""
    loose = [place.step.var for place in places(body) if _is_run(place.step) and not (place.after or place.before)]
    if not singles(body):
        return True
    for name in loose:
        diagnostics.error(
            "CEP0904",
            bound[name].var,
            f"nothing says where the run `{name}` ends: in an AND it has no neighbour",
            hint="put it before or after an event with SEQ(...)",
        )
    return not loose


def _is_run(step: Body) -> bool:
    return isinstance(step, Many) and step.run


def _touching(body: Body) -> Iterator[tuple[str, str]]:
    """Pairs of sets of neighbouring items of a SEQ that nothing separates."""
    if not isinstance(body, (Seq, All, Any)):
        return
    for item in body.items:
        yield from _touching(item)
    if isinstance(body, Seq):
        solid = [item for item in body.items if not all(_is_not(step) for step in steps(item))]
        for earlier, later in pairwise(solid):
            last, first = next(_open(earlier, -1), None), next(_open(later, 0), None)
            if last is not None and first is not None:
                yield last, first


def _open(body: Body, end: int) -> Iterator[str]:
    """The sets that no single event shuts off from the body's end: its first (0) or its last (-1)."""
    if isinstance(body, Many):
        yield body.var
    elif isinstance(body, (All, Any)):
        for item in body.items:
            yield from _open(item, end)
    elif isinstance(body, Seq):
        solid = [item for item in body.items if not all(_is_not(step) for step in steps(item))]
        if solid:
            yield from _open(solid[end], end)


def _is_not(step: Body) -> bool:
    return not isinstance(step, (One, Many))

"""Random typed expressions, and their text in the language.

The generator makes `cep.ir.expr` trees, not texts: the tree is what the expression means, and the text is derived from
it with the syntactic sugar of the language (BETWEEN, NOT IN, simple CASE, `!=` ...). A parser or checker that reads the
text as something else is found by the comparison with the SQL of the tree.

`Rng` is anything with the methods of `random.Random`, so that hypothesis can stand behind it and shrink.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random as Rng

from cep.ir.expr import COMPARISONS, Call, Col, Const, Expr, timestamp_text
from cep.ir.types import MICROS, Type

EPOCH = 1_704_067_200_000_000
"""2024-01-01T00:00:00Z, where the generated streams begin."""
SECOND = 1_000_000

INTS = (-2, -1, 0, 1, 1, 2, 2, 3, 3, 4)
DOUBLES = (-1.5, -0.0, 0.0, 0.5, 0.5, 1.0, 1.0, 2.0, 2.5, 3.0)
STRINGS = ("", "a", "a", "A", "b", "b", "ab", "Ab", "aXb", "a b", "a.b", "a%", "a_b", "é", "日本", "Z", "it's", "a\\b")
EDGE_INTS = (2**63 - 1, -(2**63), 2**62, -(2**62), 2**53 + 1, 10**12)
EDGE_DOUBLES = (1e308, -1e308, 5e-324, 1e16, 0.1, 2.0**53, float("inf"), float("-inf"), float("nan"))
LIKES = ("a%", "%b", "_", "a b", "a.b", "% %", "a_b", "%", "", "%X%", "A%", "a\\%", "__", "%本")
DURATIONS = (0, SECOND // 2, SECOND, 2 * SECOND, 3 * SECOND, 60 * SECOND)


def random_value(rng: Rng, type_: Type, *, nulls: float = 0.15, edges: float = 0.05) -> int | float | str | bool | None:
    """A value for an attribute: from a small domain so that joins meet, sometimes NULL, sometimes an edge value."""
    if rng.random() < nulls:
        return None
    if type_ is Type.INT:
        return rng.choice(EDGE_INTS) if rng.random() < edges else rng.choice(INTS)
    if type_ is Type.DOUBLE:
        return rng.choice(EDGE_DOUBLES) if rng.random() < edges else rng.choice(DOUBLES)
    if type_ is Type.STRING:
        return rng.choice(STRINGS)
    if type_ is Type.BOOLEAN:
        return rng.random() < 0.5
    return EPOCH + rng.randint(0, 12) * SECOND // 2


def _constant(rng: Rng, type_: Type) -> Const:
    if type_ is Type.DURATION:
        return Const(rng.choice(DURATIONS), type_)
    if type_ is Type.INT:
        return Const(rng.choice(INTS), type_)
    if type_ is Type.DOUBLE:
        return Const(rng.choice(DOUBLES), type_)
    return Const(random_value(rng, type_, nulls=0), type_)


def _number_call(rng: Rng, type_: Type, cols: Sequence[Col], depth: int) -> Expr:
    inner = depth - 1
    own = ("/", "cast") if type_ is Type.DOUBLE else ("length",)
    kind = rng.choice(("+", "-", "*", "%", "neg", "abs", "round", "any", *own))
    if kind in ("neg", "abs", "round"):
        return Call(kind, (value(rng, type_, cols, inner),), type_)
    if kind == "length":
        return Call("length", (value(rng, Type.STRING, cols, inner),), type_)
    if kind == "cast":
        return Call("cast", (value(rng, Type.INT, cols, inner),), type_)
    if kind == "any":
        return _any_call(rng, type_, cols, depth)
    return Call(kind, (value(rng, type_, cols, inner), value(rng, type_, cols, inner)), type_)


def _any_call(rng: Rng, type_: Type, cols: Sequence[Col], depth: int) -> Expr:
    """Operations that exist for every type that has an order."""
    inner = depth - 1
    kind = rng.choice(("coalesce", "greatest", "least", "case"))
    if kind == "case":
        arms: list[Expr] = []
        subject = value(rng, Type.INT, cols, 0) if rng.random() < 0.4 else None
        for _ in range(rng.randint(1, 2)):
            when = condition(rng, cols, inner) if subject is None else _simple_when(rng, subject)
            arms += [when, value(rng, type_, cols, inner)]
        otherwise = Const(None, type_) if rng.random() < 0.4 else value(rng, type_, cols, inner)
        return Call("case", (*arms, otherwise), type_)
    args = tuple(value(rng, type_, cols, inner) for _ in range(rng.randint(2, 3)))
    return Call(kind, args, type_)


def _simple_when(rng: Rng, subject: Expr) -> Expr:
    return Call("=", (subject, _constant(rng, Type.INT)), Type.BOOLEAN)


def value(rng: Rng, type_: Type, cols: Sequence[Col], depth: int) -> Expr:
    """An expression of a type over some columns."""
    if type_ is Type.BOOLEAN:
        return condition(rng, cols, depth)
    fitting = [col for col in cols if col.type is type_]
    if depth <= 0 or rng.random() < 0.3:
        if fitting and rng.random() < 0.75:
            return rng.choice(fitting)
        return _constant(rng, type_)
    if type_ in (Type.INT, Type.DOUBLE):
        return _number_call(rng, type_, cols, depth)
    inner = depth - 1
    kind = rng.random()
    if type_ is Type.STRING and kind < 0.6:
        return Call(rng.choice(("lower", "upper")), (value(rng, type_, cols, inner),), type_)
    if type_ is Type.TIMESTAMP and kind < 0.6:
        moved = (value(rng, type_, cols, inner), value(rng, Type.DURATION, cols, inner))
        return Call(rng.choice(("+", "-")), moved, type_)
    if type_ is Type.DURATION:
        if kind < 0.4:
            moments = (value(rng, Type.TIMESTAMP, cols, inner), value(rng, Type.TIMESTAMP, cols, inner))
            return Call("-", moments, type_)
        if kind < 0.6:
            factor = value(rng, rng.choice((Type.INT, Type.INT, Type.DOUBLE)), cols, 0)
            return Call("*", (value(rng, type_, cols, inner), factor), type_)
        spans = (value(rng, type_, cols, inner), value(rng, type_, cols, inner))
        return Call(rng.choice(("+", "-")), spans, type_)
    return _any_call(rng, type_, cols, depth)


def _comparable(rng: Rng, cols: Sequence[Col]) -> Type:
    present = sorted({col.type for col in cols} - {Type.BOOLEAN}, key=lambda t: t.value)
    return rng.choice(present) if present and rng.random() < 0.9 else rng.choice((Type.INT, Type.DURATION))


def condition(rng: Rng, cols: Sequence[Col], depth: int) -> Expr:
    """A boolean expression over some columns."""
    boolean = Type.BOOLEAN
    inner = depth - 1
    flags = [col for col in cols if col.type is boolean]
    kind = rng.choice(("compare", "compare", "compare", "between", "in", "like", "isnull", "not", "and", "or", "flag"))
    if depth <= 0 and kind in ("not", "and", "or"):
        kind = "compare"
    if kind == "flag" and flags:
        return rng.choice(flags)
    if kind in ("and", "or"):
        return Call(kind, (condition(rng, cols, inner), condition(rng, cols, inner)), boolean)
    if kind == "not":
        return Call("not", (condition(rng, cols, inner),), boolean)
    if kind == "isnull":
        tested = rng.choice(cols) if cols else value(rng, Type.INT, cols, inner)
        return Call("isnull", (tested,), boolean)
    if kind == "like":
        return Call("like", (value(rng, Type.STRING, cols, inner), Const(rng.choice(LIKES), Type.STRING)), boolean)
    type_ = _comparable(rng, cols)
    subject = value(rng, type_, cols, max(inner, 0))
    if kind == "in":
        items = tuple(_constant(rng, type_) for _ in range(rng.randint(1, 3)))
        return Call("in", (subject, *items), boolean)
    if kind == "between":
        low, high = value(rng, type_, cols, 0), value(rng, type_, cols, 0)
        return between(subject, low, high)
    op = rng.choice(COMPARISONS)
    if type_ is Type.DOUBLE and rng.random() < 0.3:  # a DOUBLE against an INT
        return Call(op, (subject, Call("cast", (value(rng, Type.INT, cols, max(inner, 0)),), type_)), boolean)
    return Call(op, (subject, value(rng, type_, cols, max(inner, 0))), boolean)


def between(subject: Expr, low: Expr, high: Expr) -> Expr:
    """`subject BETWEEN low AND high`, as the language spells it out."""
    sides = (Call(">=", (subject, low), Type.BOOLEAN), Call("<=", (subject, high), Type.BOOLEAN))
    return Call("and", sides, Type.BOOLEAN)


# --- text ----------------------------------------------------------------------------------------------------------

_LEVELS = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6, "neg": 7}
_LEVELS |= dict.fromkeys((*COMPARISONS, "in", "like", "isnull"), 4)
_ATOM = 9


def duration(micros: int) -> str:
    for unit, size in sorted(MICROS.items(), key=lambda item: -item[1]):
        if micros and micros % size == 0:
            return f"{micros // size} {unit}S"
    return f"{micros / 1000:g} MILLISECONDS" if micros else "0 SECONDS"


def _const(const: Const) -> tuple[str, int]:
    number = const.value
    if number is None:
        return "NULL", _ATOM
    if const.type is Type.TIMESTAMP:
        return f"TIMESTAMP '{timestamp_text(int(number))}'", _ATOM
    if const.type is Type.DURATION:
        micros = int(number)
        return (duration(micros), _ATOM) if micros >= 0 else (f"-{duration(-micros)}", 7)
    if const.type is Type.BOOLEAN:
        return ("TRUE" if number else "FALSE"), _ATOM
    if const.type is Type.STRING:
        return "'" + str(number).replace("'", "''") + "'", _ATOM
    spelled = repr(float(number)) if const.type is Type.DOUBLE else repr(int(number))
    return spelled, 7 if spelled.startswith("-") else _ATOM


def text(expr: Expr, rng: Rng | None = None) -> str:
    """The expression in the language; `rng` chooses among spellings that mean the same."""
    return _text(expr, rng or Rng(0))[0]


def _wrapped(expr: Expr, least: int, rng: Rng) -> str:
    spelled, level = _text(expr, rng)
    return f"({spelled})" if level < least or rng.random() < 0.05 else spelled


def _is_between(expr: Expr) -> bool:
    if not (isinstance(expr, Call) and expr.op == "and" and len(expr.args) == 2):
        return False
    low, high = expr.args
    if not (isinstance(low, Call) and isinstance(high, Call)):
        return False
    return (low.op, high.op) == (">=", "<=") and low.args[0] == high.args[0]


def _case(args: Sequence[Expr], rng: Rng) -> str:
    whens, thens = args[:-1:2], args[1::2]
    subjects = {when.args[0] for when in whens if isinstance(when, Call) and when.op == "="}
    is_simple = len(subjects) == 1 and all(isinstance(w, Call) and w.op == "=" for w in whens) and rng.random() < 0.7
    spelled = "CASE " + (_text(next(iter(subjects)), rng)[0] + " " if is_simple else "")
    for when, then in zip(whens, thens, strict=True):
        tested = when.args[1] if is_simple and isinstance(when, Call) else when
        spelled += f"WHEN {_text(tested, rng)[0]} THEN {_text(then, rng)[0]} "
    if not (isinstance(args[-1], Const) and args[-1].value is None):
        spelled += f"ELSE {_text(args[-1], rng)[0]} "
    return spelled + "END"


def _text(expr: Expr, rng: Rng) -> tuple[str, int]:
    if isinstance(expr, Const):
        return _const(expr)
    if isinstance(expr, Col):
        return str(expr), _ATOM
    op, args = expr.op, expr.args
    level = _LEVELS.get(op, _ATOM)
    if op == "cast":  # arithmetic makes a DOUBLE of it wherever it stands; the checker's own cast does so next to one
        return f"{_wrapped(args[0], 6, rng)} * 1.0", 6
    if op == "case":
        return _case(args, rng), _ATOM
    if op == "not":
        return _not(args[0], rng)
    if _is_between(expr) and rng.random() < 0.7:
        return _between(expr, rng, ""), 4
    if op in ("and", "or"):
        word = f" {rng.choice((op.upper(), op.upper(), op))} "
        return word.join(_wrapped(arg, level + 1, rng) for arg in args), level
    if op in ("in", "like", "isnull"):
        return _tested(expr, rng, ""), level
    if op == "neg":
        return f"-{_wrapped(args[0], level + 1, rng)}", level
    if op in _LEVELS:
        spelled = {"<>": rng.choice(("<>", "!=")), "=": rng.choice(("=", "=", "=="))}.get(op, op)
        left, right = _without_implied_casts(args, rng)
        left_least = level + 1 if op in COMPARISONS else level
        return f"{_wrapped(left, left_least, rng)} {spelled} {_wrapped(right, level + 1, rng)}", level
    name = rng.choice((op.upper(), op.upper(), op))
    return f"{name}({', '.join(_text(arg, rng)[0] for arg in args)})", _ATOM


def _without_implied_casts(args: Sequence[Expr], rng: Rng) -> list[Expr]:
    """Operands as they can be written: an INT next to a DOUBLE needs no cast."""
    casts = [isinstance(arg, Call) and arg.op == "cast" for arg in args]
    if sum(casts) != 1 or rng.random() < 0.2:
        return list(args)
    return [arg.args[0] if isinstance(arg, Call) and arg.op == "cast" else arg for arg in args]


def _between(expr: Expr, rng: Rng, negation: str) -> str:
    assert isinstance(expr, Call)
    low, high = expr.args
    assert isinstance(low, Call)
    assert isinstance(high, Call)
    ends = f"{_wrapped(low.args[1], 5, rng)} AND {_wrapped(high.args[1], 5, rng)}"
    return f"{_wrapped(low.args[0], 5, rng)} {negation}BETWEEN {ends}"


def _tested(expr: Call, rng: Rng, negation: str) -> str:
    subject = _wrapped(expr.args[0], 5, rng)
    if expr.op == "isnull":
        return f"{subject} IS {negation}NULL"
    if expr.op == "like":
        return f"{subject} {negation}LIKE {_text(expr.args[1], rng)[0]}"
    return f"{subject} {negation}IN ({', '.join(_text(item, rng)[0] for item in expr.args[1:])})"


def _not(inner: Expr, rng: Rng) -> tuple[str, int]:
    if isinstance(inner, Call) and rng.random() < 0.7:
        if inner.op in ("in", "like", "isnull"):
            return _tested(inner, rng, "NOT "), 4
        if _is_between(inner):
            return _between(inner, rng, "NOT "), 4
    return f"NOT {_wrapped(inner, 3, rng)}", 3

"""A contradiction that the compiler claims must be one: brute force over a small domain is the judge."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from cep.compiler.satisfiable import satisfiable
from cep.compiler.shared.bounds import alternatives
from cep.compiler.shared.differences import conflict, largest_gap
from cep.diagnostics import Diagnostics, Severity
from cep.ir.body import All, Body, One, Seq
from cep.ir.expr import COMPARISONS, Call, Col, Const, Expr, Value, columns
from cep.ir.model import Condition, Pattern, Stream, Variable
from cep.ir.types import Type
from cep.source import Source

BIG = 2**53
DOMAIN: dict[Type, list[Value]] = {
    # BIG and BIG + 1 are one DOUBLE: a prover that forgets rounding claims too much here.
    Type.INT: [-1, 0, 1, 2, 3, BIG, BIG + 1, None],
    Type.DOUBLE: [-1.0, 0.0, 0.5, 1.0, 2.0, float(BIG), float("inf"), None],
    Type.STRING: ["", "a", "ab", "b", None],
    Type.BOOLEAN: [True, False, None],
    Type.TIMESTAMP: [0, 1, 2, 3, 5],
}
STREAM = Stream(
    name="S",
    columns=(
        ("ts", Type.TIMESTAMP), ("x", Type.INT), ("y", Type.INT), ("d", Type.DOUBLE), ("s", Type.STRING),
        ("f", Type.BOOLEAN),
    ),
    time="ts",
)  # fmt: skip
TEXT = Source("s.cep", "x" * 400)


def evaluate(expr: Expr, row: Mapping[Col, Value]) -> Value:
    """SQL's three-valued logic, written for reading."""
    if isinstance(expr, Col):
        return row[expr]
    if isinstance(expr, Const):
        return expr.value
    args = [evaluate(arg, row) for arg in expr.args]
    op = expr.op
    if op == "and":
        return False if False in args else None if None in args else True
    if op == "or":
        return True if True in args else None if None in args else False
    if op == "isnull":
        return args[0] is None
    if op == "in":
        found = [None if None in (args[0], item) else args[0] == item for item in args[1:]]
        return True if True in found else None if None in found else False
    if None in args:
        return None
    table = {
        "not": lambda a: not a,
        "neg": lambda a: -a,
        "abs": abs,
        "cast": float,
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "=": lambda a, b: a == b,
        "<>": lambda a, b: a != b,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    }
    result: Value = table[op](*args)
    if expr.type is Type.INT and isinstance(result, int) and not -(2**63) <= result < 2**63:
        return None
    return None if result != result else result  # NaN is NULL


def cols(type_: Type) -> st.SearchStrategy[Expr]:
    return st.sampled_from([Col(v, name, t) for v in "ab" for name, t in STREAM.columns if t is type_])


def consts(type_: Type) -> st.SearchStrategy[Expr]:
    return st.sampled_from([Const(v, type_) for v in DOMAIN[type_] if v is not None and v != float("inf")])


def call(op: str, type_: Type, *args: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.tuples(*args).map(lambda done: Call(op, done, type_))


N, D, T, S, B = Type.INT, Type.DOUBLE, Type.TIMESTAMP, Type.STRING, Type.BOOLEAN
LENGTH = st.integers(-4, 4).map(lambda n: Const(n, Type.DURATION))
SMALL = st.integers(-2, 2).map(lambda n: Const(n, N))
INTS = st.one_of(
    cols(N), cols(N), consts(N), call("+", N, cols(N), consts(N)), call("-", N, cols(N), cols(N)),
    call("*", N, SMALL, cols(N)), call("neg", N, cols(N)), call("abs", N, call("-", N, cols(N), SMALL)),
)  # fmt: skip
DOUBLES = st.one_of(
    cols(D), cols(D), consts(D), call("cast", D, cols(N)), call("cast", D, cols(N)), call("+", D, cols(D), consts(D)),
)  # fmt: skip
TIMES = st.one_of(cols(T), consts(T), call("+", T, cols(T), LENGTH), call("-", T, cols(T), LENGTH))
GAPS = st.one_of(
    LENGTH,
    call("-", Type.DURATION, cols(T), cols(T)),
    call("abs", Type.DURATION, call("-", Type.DURATION, cols(T), cols(T))),
)
TEXTS = st.one_of(cols(S), consts(S))


def compared(values: st.SearchStrategy[Expr], ops: tuple[str, ...] = COMPARISONS) -> st.SearchStrategy[Expr]:
    return st.sampled_from(ops).flatmap(lambda op: call(op, B, values, values))


ATOMS = st.one_of(
    compared(INTS), compared(DOUBLES), compared(TIMES), compared(GAPS), compared(TEXTS),
    compared(st.one_of(cols(B), consts(B)), ("=", "<>")), cols(B),
    call("isnull", B, st.one_of(cols(N), cols(S), cols(D))),
    st.tuples(cols(N), st.lists(consts(N), min_size=1, max_size=3)).map(lambda p: Call("in", (p[0], *p[1]), B)),
)  # fmt: skip
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        call("not", B, inner),
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)).map(
            lambda p: Call(p[0], tuple(p[1]), B)
        ),
    ),
    max_leaves=4,
)


ANY_ORDER = All((One("a"), One("b")))


def pattern_of(exprs: list[Expr], body: Body = ANY_ORDER, window: int | None = None) -> Pattern:
    return Pattern(
        name="P",
        variables=tuple(Variable(name=v, stream=STREAM, span=TEXT.span(0, 1)) for v in "ab"),
        body=body,
        conditions=tuple(Condition(expr=e, span=TEXT.span(10 * i, 10 * i + 5)) for i, e in enumerate(exprs)),
        partition_by=(),
        window=window,
        distinct=False,
        fields=(),
        span=TEXT.span(0, 400),
    )


def codes(pattern: Pattern) -> list[str]:
    found = Diagnostics()
    satisfiable(pattern, found)
    return [item.code for item in found if item.severity is Severity.ERROR]


def brute_force(pattern: Pattern) -> bool:
    """Whether some choice of values from the domain satisfies everything."""
    a, b = Col("a", "ts", T), Col("b", "ts", T)
    used = dict.fromkeys(col for c in pattern.conditions for col in columns(c.expr))
    if pattern.order or pattern.window is not None:
        used |= dict.fromkeys([a, b])
    assume(len(used) <= 5)
    for values in itertools.product(*(DOMAIN[col.type] for col in used)):
        row = dict(zip(used, values, strict=True))
        if pattern.order and not row[a] < row[b]:  # type: ignore[operator]
            continue
        if pattern.window is not None and abs(row[a] - row[b]) > pattern.window:  # type: ignore[operator]
            continue
        if all(evaluate(c.expr, row) is True for c in pattern.conditions):
            return True
    return False


@settings(max_examples=600, deadline=None)
@given(
    st.lists(CONDITIONS, min_size=1, max_size=4),
    st.sampled_from([All((One("a"), One("b"))), Seq((One("a"), One("b")))]),
    st.sampled_from([None, 1, 2, 3]),
)
def test_what_is_called_impossible_has_no_solution(exprs: list[Expr], body: Body, window: int | None) -> None:
    pattern = pattern_of(exprs, body, window)
    claimed = codes(pattern)
    event(f"claimed: {bool(claimed)}")
    if claimed:
        assert not brute_force(pattern), claimed


@settings(max_examples=300, deadline=None)
@given(st.lists(compared(st.one_of(cols(N), SMALL)), min_size=2, max_size=4))
def test_comparisons_of_integers_without_arithmetic_are_decided(exprs: list[Expr]) -> None:
    """Completeness where it can be promised: attributes and small constants, compared, conjoined."""
    assume(not any(isinstance(e, Call) and e.op == "<>" for e in exprs))
    pattern = pattern_of(exprs)
    # Every satisfiable set has a solution near its constants: at most four attributes, constants in -2..2.
    used = list(dict.fromkeys(col for e in exprs for col in columns(e)))
    near = itertools.product(range(-6, 7), repeat=len(used))
    exists = any(all(evaluate(e, dict(zip(used, v, strict=True))) for e in exprs) for v in near)
    assert bool(codes(pattern)) is not exists


@settings(max_examples=200, deadline=None)
@given(st.lists(compared(TIMES), max_size=3), LENGTH, LENGTH)
def test_an_implied_window_is_implied(exprs: list[Expr], up: Expr, down: Expr) -> None:
    a, b = Col("a", "ts", T), Col("b", "ts", T)
    exprs = [*exprs, Call("<", (a, Call("+", (b, up), T)), B), Call("<=", (Call("-", (b, down), T), a), B)]
    bounds = [bound for e in exprs if len(ways := alternatives(e)) == 1 for bound in ways[0]]
    gap = largest_gap(bounds, [a, b])
    event(f"bounded: {gap is not None}")
    if gap is None:
        return
    for x, y in itertools.product(range(-3, 9), repeat=2):
        if all(evaluate(e, {a: x, b: y}) for e in exprs):
            assert abs(x - y) <= gap


def test_a_cycle_names_only_the_bounds_that_contradict() -> None:
    x, y = Col("a", "x", N), Col("b", "x", N)
    low = Call("<", (x, Const(5, N)), B)
    unrelated = Call("<", (Col("a", "y", N), Const(1, N)), B)
    high = Call(">", (y, Const(9, N)), B)
    equal = Call("=", (x, y), B)
    bounds = [bound for e in (low, unrelated, high, equal) for bound in alternatives(e, e)[0]]
    cycle = conflict(bounds)
    assert cycle is not None
    assert {str(bound.reason) for bound in cycle} == {str(low), str(high), str(equal)}


@pytest.mark.parametrize("value", [BIG + 1, BIG])
def test_integers_that_are_one_double_are_not_told_apart(value: int) -> None:
    x, y = Col("a", "x", N), Col("a", "y", N)
    cast_equal = Call("=", (Call("cast", (x,), D), Call("cast", (y,), D)), B)
    exprs: list[Expr] = [Call("=", (x, Const(value, N)), B), Call("<>", (x, y), B), cast_equal]
    assert codes(pattern_of(exprs)) == []

"""Random syntax trees: everything that a parser can produce, and nothing else."""

from __future__ import annotations

from hypothesis import strategies as st

from cep.ir import ast
from cep.ir.types import EPOCH_UNITS, MICROS
from cep.source import Source
from cep.syntax import literals

_AT = Source("random.cep", "").span(0, 0)

plain_names = st.sampled_from(
    [
        "a",
        "b",
        "Trans",
        "amnt",
        "day",
        "timestamp",
        "COUNT",
        "Seconds",
        "by",
        "watermark",
        "hour",
        "_x1",
        "x" * 40,
        "max",
        "Order",
        "epoch",
        "idle",
        "After",
        "FIRST",
        "run",
    ]
)
odd_names = st.sampled_from(["in", "SELECT", "end", "null", "größe", "a b", '"', "--", "/*", "'", "1", "where", "a;b"])
names = st.builds(ast.Name, text=st.one_of(plain_names, plain_names, odd_names), span=st.just(_AT))
texts = st.text(st.characters(exclude_characters="\r\n", exclude_categories=()), max_size=8)

_counts = st.one_of(st.integers(0, 100), st.floats(0, 1000, allow_nan=False).map(abs))
_numbers = st.one_of(
    st.integers(0, 2**63 - 1),
    st.just(-(2**63)),
    st.floats(0, allow_nan=False, allow_infinity=False).map(abs),
)
_timestamps = st.sampled_from(["2024-01-01", "2024-01-01T10:20:30.5+02:00", "0001-01-01 00:00", "9999-12-31T23:59:59Z"])


def _node(kind: type[ast.Node], **parts: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.builds(kind, span=st.just(_AT), **parts)


durations = _node(ast.DurationLiteral, count=_counts, unit=st.sampled_from(sorted(MICROS)))
strings = _node(ast.StringLiteral, value=texts)
leaves = st.one_of(
    _node(ast.Attribute, var=names, attr=names),
    _node(ast.Bare, name=names),
    _node(ast.NumberLiteral, value=_numbers),
    strings,
    _node(ast.BooleanLiteral, value=st.booleans()),
    _node(ast.NullLiteral),
    durations,
    _timestamps.map(lambda text: ast.TimestampLiteral(micros=literals.timestamp(text) or 0, text=text, span=_AT)),
    _node(ast.Call, func=names, args=st.just(()), star=st.booleans()),
)


def _tuples(items: st.SearchStrategy[object], least: int = 1) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(items, min_size=least, max_size=3).map(tuple)


def _negative(operand: ast.Expr) -> ast.Unary:
    return ast.Unary(op="-", operand=operand, span=_AT)


def _above(part: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    operators = st.sampled_from(["+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR"])
    whens = _node(ast.When, condition=part, result=part)
    return st.one_of(
        _node(ast.Binary, op=operators, left=part, right=part),
        _node(ast.Binary, op=operators, left=part, right=part),
        _node(ast.Unary, op=st.just("NOT"), operand=part),
        part.map(_negative),
        _node(ast.Call, func=names, args=_tuples(part), distinct=st.booleans()),
        _node(ast.InList, operand=part, items=_tuples(part), negated=st.booleans()),
        _node(ast.Between, operand=part, low=part, high=part, negated=st.booleans()),
        _node(ast.Like, operand=part, pattern=part, negated=st.booleans()),
        _node(ast.IsNull, operand=part, negated=st.booleans()),
        _node(ast.Case, operand=st.none() | part, whens=_tuples(whens), otherwise=st.none() | part),
    )


expressions = st.recursive(leaves, _above, max_leaves=12)


def _repeat(limits: tuple[int, int | None], stream: ast.Name, var: ast.Name) -> ast.Repeat:
    return ast.Repeat(stream=stream, var=var, least=limits[0], most=limits[1], span=_AT)


_limits = st.tuples(st.integers(0, 9), st.none() | st.integers(0, 9))
bodies = st.recursive(
    st.one_of(
        _node(ast.Step, stream=names, var=names),
        st.builds(_repeat, _limits, names, names),
        _node(ast.Optional, stream=names, var=names),
    ),
    lambda part: st.one_of(
        _node(ast.Seq, items=_tuples(part)),
        _node(ast.And, items=_tuples(part)),
        _node(ast.Or, items=_tuples(part)),
        _node(ast.Not, item=part),
        _node(ast.Selected, op=st.sampled_from(["FIRST", "LAST", "NEXT", "RUN"]), items=_tuples(part)),
    ),
    max_leaves=6,
)
_types = st.sampled_from(["INT", "DOUBLE", "STRING", "BOOLEAN", "TIMESTAMP", "Money"])
_formats = st.one_of(
    st.none(), _node(ast.EpochFormat, unit=st.sampled_from(sorted(EPOCH_UNITS))), _node(ast.TextFormat, text=strings)
)
_columns = _node(ast.ColumnDecl, name=names, type=st.builds(ast.Name, text=_types, span=st.just(_AT)), format=_formats)
_items = _node(ast.ReturnItem, expr=expressions, alias=st.none() | names)
statements = st.one_of(
    _node(ast.Import, path=strings),
    _node(
        ast.StreamDecl,
        name=names,
        columns=_tuples(_columns),
        timestamp_by=st.none() | names,
        watermark=st.none() | durations,
        idle_after=st.none() | durations,
        max_ahead=st.none() | durations,
        order_by=st.none() | names,
    ),
    _node(
        ast.PatternDecl,
        name=names,
        body=bodies,
        where=st.none() | expressions,
        partition_by=_tuples(names, 0),
        window=st.one_of(st.none(), _node(ast.Within, duration=durations), _node(ast.Unbounded)),
        returns=st.none() | _node(ast.Return, distinct=st.booleans(), items=_tuples(_items)),
    ),
)
files = _node(ast.File, statements=_tuples(statements, 0))

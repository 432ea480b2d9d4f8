"""Expressions over whole Arrow columns.

`evaluate` gives the meaning that `cep.ir.expr` writes down, on arrays: one kernel call per operation and batch, never a
Python loop per row (but for INT arithmetic that overflows, which is redone exactly). TIMESTAMP and DURATION values are
int64 microseconds here, on the way in and out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.ma  # Arrow loads it with the first array it makes: not while the first events wait
import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.expr import Call, Col, Const, Expr
from cep.ir.types import Type

ARROW_TYPES: dict[Type, pa.DataType] = {
    Type.INT: pa.int64(),
    Type.DOUBLE: pa.float64(),
    Type.STRING: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Type.DURATION: pa.duration("us"),
}
"""The Arrow type of a column of each type, as events and matches carry it."""

COMPUTED_TYPES = ARROW_TYPES | {Type.TIMESTAMP: pa.int64(), Type.DURATION: pa.int64(), Type.NULL: pa.int64()}
"""The Arrow type that `evaluate` returns for each type."""

_TIMES = (ARROW_TYPES[Type.TIMESTAMP], ARROW_TYPES[Type.DURATION])

Array = Any
Columns = Callable[[Col], Array]


def evaluate(expr: Expr, columns: Columns, length: int) -> Array:
    """The values of an expression as an array of `length`. O(operations · length).

    `columns` supplies the array of an attribute; timestamps may come as Arrow timestamps or as int64.
    """
    value = _eval(expr, columns)
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, length)
    return value


def holds(conditions: tuple[Expr, ...], columns: Columns, length: int) -> Array | None:
    """A mask, as an Arrow array, of the rows where all conditions are true (not NULL); None where all rows are."""
    mask: Array = None
    for condition in conditions:
        part = _eval(condition, columns)
        if isinstance(part, pa.Scalar):
            if part.as_py() is not True:
                return pa.repeat(False, length)
            continue
        mask = part if mask is None else pc.and_kleene(mask, part)
    return None if mask is None else without_nulls(mask, False)


def as_computed(array: Array) -> Array:
    """An event column as the operations want it: times as int64 microseconds, no NaN, no dictionary."""
    array = in_one(array)
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if array.type in _TIMES:
        return array.view(pa.int64())
    if pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        return array.cast(
            pa.timestamp("us", tz="UTC") if pa.types.is_timestamp(array.type) else pa.duration("us")
        ).cast(pa.int64())
    if pa.types.is_floating(array.type):
        return without_nan(array)
    return array


def in_one(array: Array) -> Array:
    """A column as one array: itself, not a copy, where it has one chunk."""
    if not isinstance(array, pa.ChunkedArray):
        return array
    return array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()


def without_nulls(array: Array, instead: Any) -> Array:
    """An array with something else in place of NULL; itself, not a copy, where there is none."""
    return pc.fill_null(array, instead) if array.null_count else array


def without_nan(array: Array) -> Array:
    """NaN becomes NULL and -0.0 becomes 0.0, so that equal numbers have equal bits."""
    if isinstance(array, pa.Scalar):
        value = array.as_py()
        return pa.scalar(None if value is None or value != value else value + 0.0, pa.float64())
    values = array.to_numpy(zero_copy_only=False)
    bad = np.isnan(values)
    if bad.any():
        return pa.array(values + 0.0, mask=bad)
    return pa.array(values + 0.0) if (values == 0).any() else array


def _eval(expr: Expr, columns: Columns) -> Array:
    if isinstance(expr, Col):
        return as_computed(columns(expr))
    if isinstance(expr, Const):
        return pa.scalar(expr.value, COMPUTED_TYPES[expr.type])
    args = [_eval(arg, columns) for arg in expr.args]
    if expr.op in ("+", "-", "*", "neg", "abs"):
        return _arithmetic(expr, args)
    if expr.op in _COMPARE:
        return _compare(expr.op, args)
    return _OPERATIONS[expr.op](expr, args)


# --- arithmetic ----------------------------------------------------------------------------------------------------

_CHECKED = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
    "neg": pc.negate_checked,
    "abs": pc.abs_checked,
}
_EXACT: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": abs,
}


def _arithmetic(expr: Call, args: list[Array]) -> Array:
    if expr.type is Type.DOUBLE:
        args = [arg.cast(pa.float64(), safe=False) for arg in args]
        return without_nan(_CHECKED[expr.op](*args))
    if expr.op == "*" and any(pa.types.is_floating(arg.type) for arg in args):  # DURATION * DOUBLE
        product = pc.multiply(*(arg.cast(pa.float64(), safe=False) for arg in args))
        rounded = pc.round(product, round_mode="half_towards_infinity")
        return pc.if_else(pc.less(pc.abs(rounded), 2.0**63), rounded, None).cast(pa.int64())
    try:
        return _CHECKED[expr.op](*args)
    except pa.ArrowInvalid:
        return _exact(_EXACT[expr.op], args)


def _exact(operation: Callable[..., Any], args: list[Array]) -> Array:
    """Redo an INT operation with Python's integers; what leaves 64 bits is NULL."""
    length = (
        max(len(arg) for arg in args if not isinstance(arg, pa.Scalar))
        if any(not isinstance(arg, pa.Scalar) for arg in args)
        else None
    )
    lists = [[arg.as_py()] * (length or 1) if isinstance(arg, pa.Scalar) else arg.to_pylist() for arg in args]
    values = []
    for row in zip(*lists, strict=True):
        result = None if any(v is None for v in row) else operation(*row)
        values.append(result if result is not None and -(2**63) <= result < 2**63 else None)
    return pa.scalar(values[0], pa.int64()) if length is None else pa.array(values, pa.int64())


def _divide(_: Call, args: list[Array]) -> Array:
    left, right = (arg.cast(pa.float64(), safe=False) for arg in args)  # beyond 2**53, the nearest DOUBLE
    return without_nan(pc.divide(left, _null_if_zero(right)))


def _modulo(expr: Call, args: list[Array]) -> Array:
    if all(isinstance(arg, pa.Scalar) for arg in args):
        return _modulo(expr, [pa.repeat(args[0], 1), args[1]])[0]
    length = next(len(arg) for arg in args if not isinstance(arg, pa.Scalar))
    arrays = [pa.repeat(arg, length) if isinstance(arg, pa.Scalar) else arg for arg in args]
    target = pa.float64() if expr.type is Type.DOUBLE else pa.int64()
    left, right = arrays[0].cast(target), _null_if_zero(arrays[1].cast(target))
    valid = pc.and_(pc.is_valid(left), pc.is_valid(right)).to_numpy(zero_copy_only=False)
    a = without_nulls(left, 0).to_numpy(zero_copy_only=False)
    b = without_nulls(right, 1).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        # numpy's fmod traps on the one quotient that leaves 64 bits; its remainder is 0 like that of any -1.
        safe = np.where(b == -1, 1, b) if target == pa.int64() else b
        result = pa.array(np.fmod(a, safe), mask=~valid)
    return without_nan(result) if target == pa.float64() else result


def _null_if_zero(value: Array) -> Array:
    return pc.if_else(pc.equal(value, pa.scalar(0, value.type)), pa.scalar(None, value.type), value)


def _round(expr: Call, args: list[Array]) -> Array:
    digits = args[1].as_py() if len(args) > 1 else 0
    if digits is None:
        return pa.scalar(None, COMPUTED_TYPES[expr.type])
    if pa.types.is_integer(args[0].type) and digits >= 0:
        return args[0]
    return without_nan(pc.round(args[0].cast(pa.float64()), ndigits=digits, round_mode="half_towards_infinity")).cast(
        COMPUTED_TYPES[expr.type]
    )


# --- comparison and logic ------------------------------------------------------------------------------------------

_COMPARE = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _compare(op: str, args: list[Array]) -> Array:
    left, right = args
    if left.type != right.type:
        target = pa.float64() if pa.types.is_floating(left.type) or pa.types.is_floating(right.type) else None
        target = target or (right.type if left.type == pa.null() else left.type)
        left, right = left.cast(target), right.cast(target)
    if pa.types.is_boolean(left.type):
        left, right = left.cast(pa.int8()), right.cast(pa.int8())
    return _COMPARE[op](left, right)


def _is_null(_: Call, args: list[Array]) -> Array:
    if isinstance(args[0], pa.Scalar):
        return pa.scalar(not args[0].is_valid, pa.bool_())
    return pc.is_null(args[0]) if args[0].null_count else pa.scalar(False, pa.bool_())


def _fold(kernel: Callable[[Array, Array], Array]) -> Callable[[Call, list[Array]], Array]:
    def run(_: Call, args: list[Array]) -> Array:
        result = args[0]
        for arg in args[1:]:
            result = kernel(result, arg)
        return result

    return run


def _in(_: Call, args: list[Array]) -> Array:
    result = _compare("=", [args[0], args[1]])
    for item in args[2:]:
        result = pc.or_kleene(result, _compare("=", [args[0], item]))
    return result


def like_regex(pattern: str) -> str:
    r"""The regular expression of a LIKE pattern, anchored at both ends.

    >>> like_regex("a%b_")
    '^(?s:a.*b.)$'
    """
    parts = {"%": ".*", "_": "."}
    return "^(?s:" + "".join(parts.get(char) or re.escape(char) for char in pattern) + ")$"


def _like(_: Call, args: list[Array]) -> Array:
    pattern = args[1].as_py()
    if pattern is None:
        return pa.scalar(None, pa.bool_())
    return pc.match_substring_regex(args[0], like_regex(pattern))


def _case(expr: Call, args: list[Array]) -> Array:
    target = COMPUTED_TYPES[expr.type]
    result = args[-1].cast(target)
    for condition, value in zip(reversed(args[:-1:2]), reversed(args[1:-1:2]), strict=True):
        result = pc.if_else(pc.fill_null(condition, False), value.cast(target), result)
    return result


def _extreme(kernel: Callable[..., Array]) -> Callable[[Call, list[Array]], Array]:
    def run(expr: Call, args: list[Array]) -> Array:
        target = COMPUTED_TYPES[expr.type]
        cast = [arg.cast(target) for arg in args]
        if target == pa.bool_():
            return kernel(*(arg.cast(pa.int8()) for arg in cast), skip_nulls=True).cast(pa.bool_())
        return kernel(*cast, skip_nulls=True)

    return run


_OPERATIONS: dict[str, Callable[[Call, list[Array]], Array]] = {
    "/": _divide,
    "%": _modulo,
    "round": _round,
    "and": _fold(pc.and_kleene),
    "or": _fold(pc.or_kleene),
    "not": lambda _, args: pc.invert(args[0]),
    "isnull": _is_null,
    "in": _in,
    "like": _like,
    "case": _case,
    "cast": lambda _, args: args[0].cast(pa.float64(), safe=False),  # beyond 2**53: the nearest DOUBLE
    "lower": lambda _, args: pc.utf8_lower(args[0]),
    "upper": lambda _, args: pc.utf8_upper(args[0]),
    "length": lambda _, args: pc.utf8_length(args[0]).cast(pa.int64()),
    "coalesce": lambda expr, args: pc.coalesce(*(arg.cast(COMPUTED_TYPES[expr.type]) for arg in args)),
    "greatest": _extreme(pc.max_element_wise),
    "least": _extreme(pc.min_element_wise),
}

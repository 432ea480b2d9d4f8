"""Syntax tree to canonical text: `parse(unparse(file)) == file`.

For trees that a parser can produce: names are not empty, strings and names hold no line break, numbers are finite and
not negative (but for the smallest integer), and durations are not negative. Comments are not part of a tree; to lay out
a file that people wrote, use `cep.syntax.fmt`. Parentheses appear only where precedence asks for them.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from cep.ir import ast
from cep.syntax import literals

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
RESERVED = frozenset(
    """STREAM PATTERN IMPORT SEQ AND OR NOT WHERE PARTITION WITHIN UNBOUNDED RETURN DISTINCT AS IN BETWEEN LIKE IS
    NULL TRUE FALSE CASE WHEN THEN ELSE END""".split()  # noqa: SIM905 - one word a line reads worse
)
"""Words that name nothing unless they are quoted. (A test keeps this equal to the grammar.)"""

_OR, _AND, _NOT, _TEST, _SUM, _PRODUCT, _SIGN, _PRIMARY = range(1, 9)
_LEVELS = {"OR": _OR, "AND": _AND, "+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}


def unparse(file: ast.File) -> str:
    """The canonical text of a file; it ends with a line break unless the file is empty."""
    return "\n".join(unparse_statement(statement) for statement in file.statements)


def unparse_statement(statement: ast.Statement) -> str:
    """The lines of one statement."""
    if isinstance(statement, ast.Import):
        return f"IMPORT {_quote(statement.path.value)};\n"
    if isinstance(statement, ast.StreamDecl):
        return _stream(statement)
    assert isinstance(statement, ast.PatternDecl)
    return _pattern(statement)


def unparse_expr(expr: ast.Expr) -> str:
    """An expression on one line."""
    return _expr(expr, _OR)


def unparse_name(name: ast.Name | str) -> str:
    """A name, in double quotes where it needs them.

    >>> unparse_name("acc"), unparse_name("in")
    ('acc', '"in"')
    """
    text = name if isinstance(name, str) else name.text
    if _PLAIN.fullmatch(text) and text.upper() not in RESERVED:
        return text
    return '"' + text.replace('"', '""') + '"'


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _stream(stream: ast.StreamDecl) -> str:
    names = [unparse_name(column.name) for column in stream.columns]
    width = max(len(name) for name in names)
    columns = ",\n".join(
        f"  {name:<{width}} {unparse_name(column.type)}{_format(column.format)}"
        for name, column in zip(names, stream.columns, strict=True)
    )
    by = f" TIMESTAMP BY {unparse_name(stream.timestamp_by)}" if stream.timestamp_by else ""
    watermark = f" WATERMARK {_expr(stream.watermark, _OR)}" if stream.watermark else ""
    idle = f" IDLE AFTER {_expr(stream.idle_after, _OR)}" if stream.idle_after else ""
    ahead = f" MAX AHEAD {_expr(stream.max_ahead, _OR)}" if stream.max_ahead else ""
    order = f" ORDER BY {unparse_name(stream.order_by)}" if stream.order_by else ""
    return f"STREAM {unparse_name(stream.name)} (\n{columns}\n){by}{watermark}{idle}{ahead}{order};\n"


def _format(written: ast.EpochFormat | ast.TextFormat | None) -> str:
    if written is None:
        return ""
    return (
        f" EPOCH {written.unit}S" if isinstance(written, ast.EpochFormat) else f" FORMAT {_quote(written.text.value)}"
    )


def _pattern(pattern: ast.PatternDecl) -> str:
    lines = [f"PATTERN {unparse_name(pattern.name)}", unparse_body(pattern.body)]
    if pattern.where is not None:
        lines.append("WHERE " + "\n    AND ".join(_expr(term, _NOT) for term in _conjuncts(pattern.where)))
    if pattern.partition_by:
        lines.append("PARTITION BY " + ", ".join(unparse_name(key) for key in pattern.partition_by))
    if isinstance(pattern.window, ast.Within):
        lines.append(f"WITHIN {_expr(pattern.window.duration, _OR)}")
    elif pattern.window is not None:
        lines.append("UNBOUNDED")
    if pattern.returns is not None:
        items = ",\n    ".join(
            _expr(item.expr, _OR) + (f" AS {unparse_name(item.alias)}" if item.alias else "")
            for item in pattern.returns.items
        )
        lines.append(f"RETURN {'DISTINCT ' if pattern.returns.distinct else ''}{items}")
    return "\n  ".join(lines) + ";\n"


def _conjuncts(expr: ast.Expr) -> list[ast.Expr]:
    """The operands of the outermost ANDs that a parser would nest to the left."""
    terms = []
    while isinstance(expr, ast.Binary) and expr.op == "AND":
        terms.append(expr.right)
        expr = expr.left
    return [expr, *reversed(terms)]


def unparse_body(body: ast.Body) -> str:
    """The body of a pattern on one line."""
    if isinstance(body, ast.Step):
        return f"{unparse_name(body.stream)} {unparse_name(body.var)}"
    if isinstance(body, ast.Repeat):
        return f"{unparse_name(body.stream)}{_quantifier(body)} {unparse_name(body.var)}"
    if isinstance(body, ast.Optional):
        return f"{unparse_name(body.stream)}? {unparse_name(body.var)}"
    if isinstance(body, ast.Not):
        return f"NOT {unparse_body(body.item)}"
    assert isinstance(body, (ast.Seq, ast.And, ast.Or, ast.Selected))
    op = body.op if isinstance(body, ast.Selected) else type(body).__name__.upper()
    return f"{op}({', '.join(unparse_body(item) for item in body.items)})"


def _quantifier(body: ast.Repeat) -> str:
    if body.most is None and body.least < 2:
        return "*+"[body.least]
    if body.least == body.most:
        return f"{{{body.least}}}"
    return f"{{{body.least},{'' if body.most is None else body.most}}}"


def _expr(expr: ast.Expr, context: int) -> str:
    """An expression; in parentheses where it binds less tightly than `context` asks."""
    level, text = _leveled(expr)
    return text if level >= context else f"({text})"


def _leveled(expr: ast.Expr) -> tuple[int, str]:
    match expr:
        case ast.Binary(op=op, left=left, right=right):
            level = _LEVELS.get(op, _TEST)
            loose = level + (level == _TEST)  # comparisons do not chain
            return level, f"{_expr(left, loose)} {op} {_expr(right, level + 1)}"
        case ast.Unary(op="NOT", operand=operand):
            return _NOT, f"NOT {_expr(operand, _NOT)}"
        case ast.Unary(operand=operand):
            return _SIGN, f"-{_expr(operand, _PRIMARY)}"  # `--` would start a comment
        case ast.InList(operand=operand, items=items, negated=negated):
            listed = ", ".join(_expr(item, _OR) for item in items)
            return _TEST, f"{_expr(operand, _SUM)}{_not(negated)} IN ({listed})"
        case ast.Between(operand=operand, low=low, high=high, negated=negated):
            limits = f"{_expr(low, _SUM)} AND {_expr(high, _SUM)}"
            return _TEST, f"{_expr(operand, _SUM)}{_not(negated)} BETWEEN {limits}"
        case ast.Like(operand=operand, pattern=pattern, negated=negated):
            return _TEST, f"{_expr(operand, _SUM)}{_not(negated)} LIKE {_expr(pattern, _SUM)}"
        case ast.IsNull(operand=operand, negated=negated):
            return _TEST, f"{_expr(operand, _SUM)} IS{_not(negated)} NULL"
        case ast.NumberLiteral(value=value):
            return _PRIMARY if value >= 0 else _SIGN, repr(value)
    return _PRIMARY, _primary(expr)


def _primary(expr: ast.Expr) -> str:
    match expr:
        case ast.Attribute(var=var, attr=attr):
            return f"{unparse_name(var)}.{unparse_name(attr)}"
        case ast.StringLiteral(value=text):
            return _quote(text)
        case ast.BooleanLiteral(value=value):
            return "TRUE" if value else "FALSE"
        case ast.NullLiteral():
            return "NULL"
        case ast.TimestampLiteral():
            return f"TIMESTAMP {_quote(_timestamp(expr))}"
        case ast.DurationLiteral(count=count, unit=unit):
            return f"{count!r} {unit}{'' if count == 1 else 'S'}"
        case ast.Bare(name=name):
            return unparse_name(name)
        case ast.Call(func=func, args=args, star=star, distinct=distinct):
            listed = "*" if star else ", ".join(_expr(arg, _OR) for arg in args)
            return f"{unparse_name(func)}({'DISTINCT ' if distinct else ''}{listed})"
        case ast.Case(operand=operand, whens=whens, otherwise=otherwise):
            parts = ["CASE", *([_expr(operand, _OR)] if operand else ())]
            parts += [f"WHEN {_expr(when.condition, _OR)} THEN {_expr(when.result, _OR)}" for when in whens]
            parts += [f"ELSE {_expr(otherwise, _OR)}"] if otherwise else []
            return " ".join([*parts, "END"])
    raise TypeError(f"not an expression: {expr!r}")


def _not(negated: bool) -> str:
    return " NOT" if negated else ""


def _timestamp(expr: ast.TimestampLiteral) -> str:
    """The text as written; made from the value where the two differ (a tree made by a program)."""
    if literals.timestamp(expr.text) == expr.micros:
        return expr.text
    moment = datetime(1970, 1, 1) + timedelta(microseconds=expr.micros)  # noqa: DTZ001 - UTC by the `Z` below
    return moment.isoformat() + "Z"

"""Find out what the names at the top of the files mean: the streams, their attributes, their event times.

The result holds every stream that can be used, also those with something wrong in them: what is wrong has been
reported, and `Scope.untyped` lets the checker stay silent about attributes whose type nobody knows. Of two streams with
one name the first counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cep import limits
from cep.compiler.load import Unit
from cep.diagnostics import Diagnostics, Label, did_you_mean
from cep.ir import ast
from cep.ir.model import Stream
from cep.ir.time_format import problem
from cep.ir.types import COLUMN_TYPES, MICROS, TimeFormat, Type
from cep.source import Span

MAX_INT = 2**63 - 1
RESERVED = "_sign"
"""The column in which a batch says that an event is taken back; see `runtime.intake.batches`."""

HIDING = frozenset(
    {"CEP0001", "CEP0002", "CEP0003", "CEP0004", "CEP0101", "CEP0102", "CEP0103", "CEP0107", "CEP0108", "CEP0110"}
)
"""Findings after which part of what was written is not in the tree."""

TYPE_SYNONYMS = {
    Type.INT: "BIGINT INTEGER LONG INT64 INT32 SMALLINT TINYINT SHORT BYTE NUMBER UINT64 SERIAL",
    Type.DOUBLE: "FLOAT FLOAT64 FLOAT32 DECIMAL NUMERIC REAL MONEY",
    Type.STRING: "VARCHAR TEXT CHAR STR UUID CLOB NVARCHAR KEYWORD",
    Type.BOOLEAN: "BOOL BIT LOGICAL",
    Type.TIMESTAMP: "DATETIME DATE TIME TIMESTAMPTZ TIMESTAMP_LTZ INSTANT",
}
"""What other systems call our types: edit distance alone would turn `DECIMAL` into nothing and `TEXT` into nothing."""

_BY_SYNONYM = {synonym: type_ for type_, synonyms in TYPE_SYNONYMS.items() for synonym in synonyms.split()}
_COLUMN_TYPES = {type_.value: type_ for type_ in COLUMN_TYPES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The streams by name, and what is known to be missing.

    `untyped` holds (stream, attribute) pairs that were declared with an unknown type. `timeless` names streams whose
    `TIMESTAMP BY` is wrong: they have no event time, but that has been said. `complete` is false where a syntax or file
    error may have hidden streams: an unknown stream is then no finding.
    """

    streams: dict[str, Stream]
    declared: dict[str, ast.StreamDecl]
    untyped: frozenset[tuple[str, str]]
    timeless: frozenset[str]
    complete: bool


def resolve(unit: Unit, diagnostics: Diagnostics) -> Scope:
    """The scope of a unit. O(size of the declarations)."""
    complete = not any(item.code in HIDING for item in diagnostics)
    streams: dict[str, Stream] = {}
    declared: dict[str, ast.StreamDecl] = {}
    untyped: set[tuple[str, str]] = set()
    timeless: set[str] = set()
    patterns: dict[str, Span] = {}
    for file in (*unit.imported, unit.file):
        for statement in file.statements:
            if isinstance(statement, ast.StreamDecl):
                name = statement.name.text
                if name in declared:
                    _twice("CEP0205", "stream", statement.name, declared[name].name.span, diagnostics)
                    _stream(statement, set(), set(), diagnostics)
                    continue
                declared[name] = statement
                streams[name] = _stream(statement, untyped, timeless, diagnostics)
            elif isinstance(statement, ast.PatternDecl) and file is unit.file:
                name = statement.name.text
                if name in patterns:
                    _twice("CEP0206", "pattern", statement.name, patterns[name], diagnostics)
                patterns.setdefault(name, statement.name.span)
    return Scope(
        streams=streams,
        declared=declared,
        untyped=frozenset(untyped),
        timeless=frozenset(timeless),
        complete=complete,
    )


def duration_micros(literal: ast.DurationLiteral, diagnostics: Diagnostics) -> int | None:
    """The length of a duration; None, and a diagnostic, where it leaves 64 bits of microseconds."""
    try:
        micros = round(literal.count * MICROS[literal.unit])
    except (OverflowError, ValueError):  # infinity and NaN have no integer
        micros = MAX_INT + 1
    if abs(micros) > MAX_INT:
        diagnostics.error(
            "CEP0104", literal.span, "duration out of range", hint="the longest duration is about 106 million days"
        )
        return None
    return micros


def _twice(code: str, kind: str, name: ast.Name, first: Span, diagnostics: Diagnostics) -> None:
    diagnostics.error(
        code,
        name.span,
        f"{kind} `{name.text}` is declared twice",
        hint=f"rename or remove one of the two {kind}s",
        labels=[Label(first, "first declared here")],
    )


def _stream(
    decl: ast.StreamDecl, untyped: set[tuple[str, str]], timeless: set[str], diagnostics: Diagnostics
) -> Stream:
    name = decl.name.text
    first: dict[str, ast.Name] = {}
    columns: list[tuple[str, Type]] = []
    if len(decl.columns) > limits.COLUMNS:
        diagnostics.error(
            "CEP0430",
            decl.name.span,
            f"stream `{name}` has {len(decl.columns):,} attributes",
            hint=f"a stream has at most {limits.COLUMNS:,}: leave out those that no pattern uses",
        )
    for column in decl.columns[: limits.COLUMNS]:
        attr = column.name.text
        type_ = _column_type(column, diagnostics)
        if attr in first:
            diagnostics.error(
                "CEP0207",
                column.name.span,
                f"attribute `{attr}` is declared twice in stream `{name}`",
                hint="rename or remove one of the two",
                labels=[Label(first[attr].span, "first declared here")],
            )
            continue
        first[attr] = column.name
        if attr == RESERVED:
            diagnostics.error(
                "CEP0210",
                column.name.span,
                f"attribute name `{attr}` is reserved",
                hint="it tells insertions from corrections: give the attribute another name",
            )
            continue
        if type_ is None:
            untyped.add((name, attr))
        else:
            columns.append((attr, type_))
    time = _event_time(decl, dict(columns), untyped, diagnostics)
    if decl.timestamp_by is not None and time is None:
        timeless.add(name)
    watermark = duration_micros(decl.watermark, diagnostics) if decl.watermark is not None else 0
    ahead = duration_micros(decl.max_ahead, diagnostics) if decl.max_ahead is not None else None
    idle = duration_micros(decl.idle_after, diagnostics) if decl.idle_after is not None else None
    _need_event_time(decl, diagnostics)
    return Stream(
        name=name,
        columns=tuple(columns),
        time=time,
        watermark=watermark or 0,
        max_ahead=ahead,
        order=_order(decl, dict(columns), time, untyped, diagnostics),
        formats=tuple(_formats(decl, dict(columns), diagnostics)),
        idle_after=idle,
    )


def _need_event_time(decl: ast.StreamDecl, diagnostics: Diagnostics) -> None:
    """CEP0420: what is said of the event time of a stream that has none."""
    clauses = (("IDLE AFTER", decl.idle_after), ("MAX AHEAD", decl.max_ahead), ("ORDER BY", decl.order_by))
    for clause, node in clauses:
        if node is not None and decl.timestamp_by is None:
            candidates = [column.name.text for column in decl.columns if column.type.text.upper() == "TIMESTAMP"]
            diagnostics.error(
                "CEP0420",
                node.span,
                f"{clause} needs an event time, and stream `{decl.name.text}` has none",
                hint=f"add `TIMESTAMP BY {candidates[0]}` before it" if candidates else "add `TIMESTAMP BY` before it",
            )


def _order(
    decl: ast.StreamDecl,
    columns: dict[str, Type],
    time: str | None,
    untyped: set[tuple[str, str]],
    diagnostics: Diagnostics,
) -> str | None:
    """The attribute that orders events of one moment."""
    if decl.order_by is None:
        return None
    stream, attr, span = decl.name.text, decl.order_by.text, decl.order_by.span
    if (stream, attr) in untyped:
        return None
    if attr not in columns:
        diagnostics.error(
            "CEP0203",
            span,
            f"unknown attribute `{attr}` on stream `{stream}`",
            hint=did_you_mean(attr, columns),
            notes=[f"{stream} has " + ", ".join(columns)] if columns else [],
        )
        return None
    if attr == time or columns[attr] is Type.BOOLEAN:
        what = "is the event time" if attr == time else f"is {columns[attr]}"
        diagnostics.error(
            "CEP0313",
            span,
            f"ORDER BY `{attr}` orders nothing: it {what}",
            hint="name an attribute that rises from event to event at one moment, such as a sequence number",
        )
        return None
    return attr if time is not None else None


def _formats(
    decl: ast.StreamDecl, columns: dict[str, Type], diagnostics: Diagnostics
) -> Iterator[tuple[str, TimeFormat]]:
    """How the TIMESTAMP attributes are written, where the declaration says it."""
    for column in decl.columns:
        written, type_ = column.format, columns.get(column.name.text)
        if written is None or type_ is None:
            continue
        if type_ is not Type.TIMESTAMP:
            diagnostics.error(
                "CEP0311",
                written.span,
                f"a format says how a TIMESTAMP is written, and `{column.name.text}` is {type_}",
                hint=f"declare `{column.name.text} TIMESTAMP`, or leave the format out",
            )
        elif isinstance(written, ast.EpochFormat):
            yield column.name.text, TimeFormat("epoch", written.unit)
        elif (wrong := problem(written.text.value)) is not None:
            diagnostics.error(
                "CEP0312",
                written.text.span,
                f"this format does not name a moment: {wrong}",
                hint="directives are those of strptime, e.g. FORMAT '%Y-%m-%d %H:%M:%S'",
            )
        else:
            yield column.name.text, TimeFormat("text", written.text.value)


def _column_type(column: ast.ColumnDecl, diagnostics: Diagnostics) -> Type | None:
    written = column.type.text
    folded = written.upper()
    if folded in _COLUMN_TYPES:
        return _COLUMN_TYPES[folded]
    synonym = _BY_SYNONYM.get(folded)
    diagnostics.error(
        "CEP0211",
        column.type.span,
        f"unknown type `{written}`",
        hint=f"did you mean `{synonym}`?" if synonym else did_you_mean(written, _COLUMN_TYPES),
        notes=["the types are " + ", ".join(_COLUMN_TYPES)],
    )
    return None


def _event_time(
    decl: ast.StreamDecl, columns: dict[str, Type], untyped: set[tuple[str, str]], diagnostics: Diagnostics
) -> str | None:
    if decl.timestamp_by is None:
        return None
    stream, attr, span = decl.name.text, decl.timestamp_by.text, decl.timestamp_by.span
    if (stream, attr) in untyped:
        return None
    candidates = [name for name, type_ in columns.items() if type_ is Type.TIMESTAMP]
    offer = f"{stream} has the TIMESTAMP " + ", ".join(candidates) if candidates else None
    if attr not in columns:
        diagnostics.error(
            "CEP0203",
            span,
            f"unknown attribute `{attr}` on stream `{stream}`",
            hint=did_you_mean(attr, candidates or columns) or offer,
            notes=[f"{stream} has " + ", ".join(columns)] if columns else [],
        )
        return None
    if columns[attr] is not Type.TIMESTAMP:
        declared = next(column for column in decl.columns if column.name.text == attr)
        diagnostics.error(
            "CEP0307",
            span,
            f"event time `{attr}` is {columns[attr]}, not TIMESTAMP",
            hint=offer or f"declare `{attr} TIMESTAMP`: integers in events are read as milliseconds since the epoch",
            labels=[Label(declared.type.span, "declared here")],
        )
        return None
    return attr

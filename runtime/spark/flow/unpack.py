"""Unpack matches: from blobs to rows, in `mapInArrow`.

A row is (id, pattern, start, end, fields, key): `fields` is the JSON object of the match record, `key` the partition
key as text for sinks that want one (NULL where the pattern has none, or does not return it).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.expr import Col, Expr
from cep.ir.plan import Fold, Plan
from cep.ir.types import Type
from connectors.files.match_writer import hex_text, json_text
from runtime.spark.blobs import from_blob
from runtime.spark.worker import settle

MATCHES = "id STRING, pattern STRING, start TIMESTAMP, end TIMESTAMP, fields STRING, key STRING"
"""The Spark schema of matches."""
_TIME = pa.timestamp("us", "UTC")
_ARROW = pa.schema(
    [
        ("id", pa.string()),
        ("pattern", pa.string()),
        ("start", _TIME),
        ("end", _TIME),
        ("fields", pa.string()),
        ("key", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is needed of a plan to write its matches: the fields, and which of them make the partition key."""

    pattern: str
    fields: tuple[tuple[str, Type], ...]
    key: tuple[str, ...] | None

    @classmethod
    def of(cls, plan: Plan) -> Shape:
        """Of a plan."""
        return cls(
            pattern=plan.pattern,
            fields=tuple((field.name, field.type) for field in plan.fields),
            key=key_fields(plan),
        )


def key_fields(plan: Plan) -> tuple[str, ...] | None:
    """The fields that carry the partition key, in its order; None where a part of it is not returned.

    With alternatives, a field that carries it in each of them.
    """
    if plan.partition_key is None:
        return None
    attributes = dict(plan.partition_key)
    streams = {leaf.var: leaf.stream for leaf in plan.leaves}
    size = len(next(iter(attributes.values())))
    found: list[str | None] = [None] * size
    of_sets = _of_sets(plan)
    for number, field in enumerate(plan.fields):
        exprs = [part.fields[number].expr for part in plan.parts]
        exprs = [of_sets.get(expr, expr) if isinstance(expr, Col) else expr for expr in exprs]
        of = {_place(expr, streams, attributes) for expr in exprs}
        place = of.pop()
        if place is not None and not of:
            found[place] = found[place] or field.name
    names = [name for name in found if name is not None]
    return tuple(names) if len(names) == size else None


def _place(expr: Expr, streams: Mapping[str, str], attributes: Mapping[str, tuple[str, ...]]) -> int | None:
    """Which part of the partition key an expression is; None where it is none."""
    if not isinstance(expr, Col) or expr.attr not in attributes[streams[expr.var]]:
        return None
    return attributes[streams[expr.var]].index(expr.attr)


def _of_sets(plan: Plan) -> dict[Col, Col]:
    """Values of sets, each with the attribute that it is of where it is that of one of their events: `FIRST(b.k)`."""
    asked = [(leaf.var, ask) for leaf in plan.leaves for ask in leaf.asks]
    asked += [(step.into, step) for step in plan.steps() if isinstance(step, Fold)]
    found: dict[Col, Col] = {}
    for var, fold in asked:
        for each in fold.folded if isinstance(fold, Fold) else ():
            value = Col(fold.var, "", each.type)
            if each.op in ("FIRST", "LAST", "MIN", "MAX") and isinstance(each.arg, Col):
                value = each.arg
            found[Col(var, each.name, each.type)] = value
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacker:
    """The function for `mapInArrow`."""

    shapes: tuple[Shape, ...]

    @classmethod
    def of(cls, plans: Iterable[Plan]) -> Unpacker:
        """For the matches of plans."""
        return cls(shapes=tuple(Shape.of(plan) for plan in plans))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Matches, a batch for each blob."""
        by_name = {shape.pattern: shape for shape in self.shapes}
        for batch in batches:
            for pattern, blob in zip(batch.column("pattern"), batch.column("blob"), strict=True):
                if blob.is_valid:
                    yield to_rows(from_blob(blob.as_buffer()), by_name[pattern.as_py()])
        settle()


def to_rows(matches: pa.Table, shape: Shape) -> pa.RecordBatch:
    """Matches as the engine gives them, as rows."""
    batch = matches.combine_chunks().to_batches()[0]
    return pa.RecordBatch.from_arrays(
        [
            hex_text(batch.column("_id")),
            pa.repeat(pa.scalar(shape.pattern), batch.num_rows),
            batch.column("_start").cast(_TIME),
            batch.column("_end").cast(_TIME),
            fields_json(batch, shape.fields),
            _key(batch, shape),
        ],
        schema=_ARROW,
    )


def fields_json(batch: pa.RecordBatch, fields: Sequence[tuple[str, Type]]) -> pa.Array:
    """The `fields` object of each match as JSON text, as `cep replay` writes it."""
    parts: list[Any] = []
    for index, (name, _) in enumerate(fields):
        parts.append(("{" if index == 0 else ", ") + json.dumps(name, ensure_ascii=False) + ": ")
        parts.append(json_text(batch.column(name)))
    if not parts:
        return pa.repeat(pa.scalar("{}"), batch.num_rows)
    return pc.binary_join_element_wise(*parts, "}", "")


def _key(batch: pa.RecordBatch, shape: Shape) -> pa.Array:
    if shape.key is None:
        return pa.nulls(batch.num_rows, pa.string())
    return key_text([batch.column(name) for name in shape.key], [dict(shape.fields)[name] for name in shape.key])


def key_text(columns: Sequence[pa.Array], types: Sequence[Type]) -> pa.Array:
    """A partition key as text: its value, or a JSON array where it has several parts."""
    if len(columns) > 1:
        texts = [json_text(column) for column in columns]
        return pc.binary_join_element_wise("[", pc.binary_join_element_wise(*texts, ", "), "]", "")
    if types[0] is Type.STRING:
        return columns[0].cast(pa.string())
    return pc.utf8_trim(json_text(columns[0]), '"')

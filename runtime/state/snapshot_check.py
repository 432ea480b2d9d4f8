"""What must hold of a snapshot's content before any of it is used.

A checksum tells damage from what was written, not from what somebody made up, and Arrow's readers trust offsets and
lengths: a forged one reads beyond its buffers. So everything is held against the plan first: the header's fields and
their ranges, the schema of each part, every buffer, offset, text and null count (Arrow's full validation), rows that
the pattern's filters let through, tuples that are all different. Nothing is allocated by what a header claims.

Guaranteed: `SnapshotError`, or content that an engine of this plan could have written. Not checked: that it did; who
can write snapshots can make up events.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from cep.ir.expr import columns as columns_of
from cep.ir.plan import Fold, Leaf, Plan
from runtime.arrays.columnar import as_computed, holds
from runtime.intake.batches import as_type

_LEAST, _MOST = -(2**63), 2**63 - 1
_OLD = (pa.field("_content", pa.uint64()), pa.field("_id", pa.binary(16)))
"""What rows had beside the attributes of their events in version 3."""
_ROWS_ALONE = pa.field("_", pa.null())
"""What rows have where nothing is kept of their events: a batch without columns does not know how long it is."""


class SnapshotError(ValueError):
    """Bytes that are no snapshot, or one of another version or plan."""


def damaged(what: str) -> SnapshotError:
    """The error for content that cannot be right."""
    return SnapshotError(f"the snapshot is damaged: {what}")


# --- the header ----------------------------------------------------------------------------------------------------


def read_header(text: bytes) -> dict[str, Any]:
    """The header's JSON: an object whose `sizes` are those of the parts."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(f"its header is no JSON ({error})") from error
    if not isinstance(header, dict):
        raise damaged("its header is no JSON object")
    for name, kind in (("plan", str), ("pattern", str), ("leaves", list), ("sizes", list), ("counters", dict)):
        if not isinstance(header.get(name), kind):
            raise damaged(f"`{name}` is missing in its header, or is no {kind.__name__}")
    if not all(_is_int(size) and size >= 0 for size in header["sizes"]):
        raise damaged("a size in its header is no number")
    return header


def check_header(header: Mapping[str, Any], plan: Plan, counters: Mapping[str, int], *, old: bool, others: int) -> None:
    """Everything that the header says, for an engine of this plan with these counters and so many parts beside rows."""
    variables = [leaf.var for leaf in plan.leaves]
    if header["leaves"] != variables:
        raise damaged(f"it has rows of {header['leaves']}, the pattern has the variables {variables}")
    if len(header["sizes"]) != len(variables) + others:
        raise damaged(f"it has {len(header['sizes'])} parts, expected {len(variables) + others}")
    if "watermark" not in header or not (header["watermark"] is None or _is_int(header["watermark"])):
        raise damaged("its watermark is no number of microseconds")
    if not old and ("id_key" not in header or not isinstance(header["id_key"], str | None)):
        raise damaged("its id key is neither null nor text")
    for name in counters:
        if not _is_int(header["counters"].get(name)):
            raise damaged(f"its counter `{name}` is no number")
    newest = header.get("newest", {})  # not there before the engine kept it
    timed = {stream.name for stream in plan.streams if stream.time is not None}
    if not isinstance(newest, dict) or not newest.keys() <= timed or not all(map(_is_int, newest.values())):
        raise damaged("its newest event times are not those of the pattern's streams")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and _LEAST <= value <= _MOST


# --- the parts -----------------------------------------------------------------------------------------------------


def read_rows(part: bytes, leaf: Leaf, *, old: bool) -> Any:
    """The rows of one variable as a record batch that fits its leaf."""
    what = f"the rows of {leaf.var}"
    wanted = [pa.field(name, as_type(type_)) for name, type_ in (*leaf.columns, *leaf.derived)]
    batch = read_part(part, what, [*wanted, *_OLD] if old else wanted or [_ROWS_ALONE])
    ends = [
        each.name for ask in leaf.asks if isinstance(ask, Fold) for each in ask.folded if each.op in ("first", "last")
    ]
    if any(batch.column(name).null_count for name in ends):
        raise damaged(f"{what} have some that were not worked out")
    _check_filters(batch, leaf, what)
    return batch


def read_waiting(part: bytes, leaf: Leaf, watermark: int | None) -> Any:
    """The rows of one variable that wait, none of them due; those at the very watermark lie aside."""
    what = f"the waiting rows of {leaf.var}"
    batch = read_part(part, what, [pa.field(name, as_type(type_)) for name, type_ in leaf.columns])
    _check_filters(batch, leaf, what)
    assert leaf.time is not None
    assert leaf.hold is not None
    times = batch.column(leaf.time)
    if times.null_count:
        raise damaged(f"{what} have some without a time")
    moments = times.to_numpy()
    if watermark is not None and (moments[moments < watermark] <= watermark - leaf.hold).any():
        raise damaged(f"{what} have some that are due")
    return batch


def _check_filters(batch: Any, leaf: Leaf, what: str) -> None:
    columns = {name: as_computed(batch.column(name)) for name, _ in leaf.columns}
    known = tuple(test for test in leaf.filter if {col.attr for col in columns_of(test)} <= columns.keys())
    mask = holds(known, lambda col: columns[col.attr], batch.num_rows)
    if mask is not None and mask.true_count < batch.num_rows:
        raise damaged(f"{what} have some that the pattern does not let through")


def read_part(part: bytes, what: str, wanted: Sequence[pa.Field]) -> Any:
    """The one record batch of an Arrow IPC stream, with these columns, every buffer of it validated."""
    schema = pa.schema(wanted)
    try:
        with pa.ipc.open_stream(pa.py_buffer(part)) as reader:
            if not reader.schema.equals(schema):
                # Its names are not shown: they need not even be text.
                raise damaged(f"{what} have other columns than {_named(schema)}")
            batch = reader.read_next_batch()
            batch.validate(full=True)
            if next(reader, None) is not None:
                raise damaged(f"{what} come twice")
    except (pa.ArrowException, StopIteration, OSError, MemoryError, OverflowError) as error:
        raise damaged(f"{what} cannot be read: {error}") from error
    return batch


def _named(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)

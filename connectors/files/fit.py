"""Do the records of a stream have what its declaration says? Counted while they are read, told at the end.

`Seen` counts the events and, for each column that the patterns use, the values that are not NULL: what Arrow knows of a
batch anyway. Names are looked at only where that is not enough: a column without any value in a block of JSON Lines is
searched for in the text of that block, and some of its records are parsed for the names that are there instead. Data
that fit cost nothing more.

`misfits` makes sentences of it: columns that no record has (with the name that was probably meant), columns that are
always NULL, events without a time or a partition key. Not looked at: columns that no pattern uses, and the names in
blocks whose columns all have a value.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from cep.diagnostics import did_you_mean
from cep.ir.model import Stream
from cep.ir.plan import Plan

MOST_NAMES = 500
"""Names that are remembered of a stream."""
SAMPLE = 20
"""Records of a block that are parsed for their names."""
MOST_SAMPLED = 1000
_DEPTH = 4
_SHOWN = 12


@dataclass(slots=True)
class Seen:
    """What was seen of the records of one stream."""

    events: int = 0
    values: dict[str, int] = field(default_factory=dict)
    """By column: events that have a value in it."""
    present: set[str] = field(default_factory=set)
    """Columns that some record names, be it with NULL."""
    names: dict[str, None] = field(default_factory=dict)
    """Names at the top level of records, in the order they were found."""
    nested: dict[str, None] = field(default_factory=dict)
    """Paths of names within objects, e.g. `user.id`."""
    sampled: int = 0

    def count(self, batch: pa.RecordBatch) -> None:
        """Count the events of a batch and their values."""
        self.events += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            self.values[name] = self.values.get(name, 0) + batch.num_rows - column.null_count

    def record(self, record: Mapping[str, object]) -> None:
        """Note the names of a record."""
        self.columns(record)
        self.sampled += 1
        for name, value in record.items():
            if isinstance(value, dict):
                self._nested(value, name, _DEPTH)

    def columns(self, names: Iterable[str]) -> None:
        """Note names that all records have: those of a header or a schema."""
        for name in names:
            self.present.add(name)
            if len(self.names) < MOST_NAMES:
                self.names[name] = None

    def _nested(self, record: Mapping[str, object], path: str, depth: int) -> None:
        for name, value in record.items():
            if len(self.nested) >= MOST_NAMES:
                return
            below = f"{path}.{name}"
            if isinstance(value, dict) and depth:
                self._nested(value, below, depth - 1)
            else:
                self.nested[below] = None

    def look(self, data: bytes, batch: pa.RecordBatch) -> None:
        """Search a block of JSON Lines for the columns that have no value in it."""
        missing = [
            name
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
            if column.null_count == batch.num_rows and name not in self.present
        ]
        if not missing or not batch.num_rows:
            return
        if self.sampled < MOST_SAMPLED:
            for line in data.split(b"\n", SAMPLE)[:SAMPLE]:
                self.line(line)
        for name in missing:
            self._search(data, name)

    def _search(self, data: bytes, name: str) -> None:
        """Parse the first records that have the name somewhere, until one has it at the top."""
        text = json.dumps(name, ensure_ascii=False).encode()
        at = data.find(text)
        for _ in range(SAMPLE):
            if at < 0 or name in self.present:
                return
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            self.line(data[data.rfind(b"\n", 0, at) + 1 : end])
            at = data.find(text, end)

    def line(self, line: bytes) -> None:
        """Note the names of a record in JSON, if it is one."""
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return
        if isinstance(record, dict):
            self.record(record)

    def add(self, other: Seen) -> None:
        """Take in what was seen of other records of the stream."""
        self.events += other.events
        for name, count in other.values.items():
            self.values[name] = self.values.get(name, 0) + count
        self.present |= other.present
        self.names |= other.names
        self.nested |= other.nested


def keys_of(plans: Sequence[Plan], stream: str) -> list[str]:
    """The columns by which some pattern partitions a stream."""
    keys = [dict(plan.partition_key or ()).get(stream, ()) for plan in plans]
    return list(dict.fromkeys(name for names in keys for name in names))


def misfits(stream: Stream, keys: Collection[str], seen: Seen) -> list[str]:
    """What does not fit, a sentence each; nothing where there was no event.

    >>> from cep.ir.types import Type
    >>> seen = Seen(events=2, values={"usr": 0}, names={"User": None})
    >>> misfits(Stream(name="Login", columns=(("usr", Type.STRING),)), [], seen)
    ['stream `Login`: no record has a column `usr`: did you mean `User`?']
    """
    if not seen.events:
        return []
    found = []
    counted = dict.fromkeys(([stream.time] if stream.time else []) + list(keys))
    for column, count in seen.values.items():
        if count == 0 and seen.names and column not in seen.present:
            found.append(f"no record has a column `{column}`{_instead(stream, column, seen)}")
        elif count == 0:
            where = "is NULL in all" if column in seen.present else "has no value in any of"
            found.append(f"column `{column}` {where} {seen.events:,} events")
        elif column in counted and count < seen.events:
            role = "time" if column == stream.time else "partition key"
            found.append(f"{seen.events - count:,} of {seen.events:,} events have no {role} (`{column}` is NULL)")
    return [f"stream `{stream.name}`: {text}" for text in found]


def _instead(stream: Stream, column: str, seen: Seen) -> str:
    """What a missing column is called instead, if anything."""
    declared = {name for name, _ in stream.columns}
    objects = {path.partition(".")[0] for path in seen.nested}
    unknown = [name for name in seen.names if name not in declared and name not in objects]
    hint = did_you_mean(column, unknown)
    if hint is not None:
        return f": {hint}"
    paths = {path: path for path in seen.nested} | {path.replace(".", "_"): path for path in seen.nested}
    paths |= {path.rpartition(".")[2]: path for path in reversed(seen.nested)}
    near = did_you_mean(column, paths)
    if near is not None:
        path = paths[near.split("`")[1]]
        return (
            f": there is `{path}`, but fields within objects are not read yet; bring it to the top, e.g. with "
            f"jq -c '.{column} = .{path}'"
        )
    shown = ", ".join(f"`{name}`" for name in unknown[:_SHOWN]) + (", ..." if len(unknown) > _SHOWN else "")
    return f" (columns that are there and not declared: {shown})" if unknown else ""

"""Files of matches: JSON Lines and CSV as text, Parquet and Arrow as typed columns, straight from the engine's batches.

The typed formats and CSV have the columns `id`, `pattern`, `start`, `end` and one per field. Several patterns share a
file: a field that a pattern does not have is NULL in its rows, and two patterns with a field of one name must agree on
its type. A field that is itself called `id`, `pattern`, `start` or `end` becomes `fields.id` and so on. Times are
timestamps in microseconds, UTC; a duration is its number of microseconds, as in JSON.

Guaranteed: text is written in whole lines, whatever ends the run. A Parquet or Arrow file appears under its name when
it is complete: it is written beside it and moved. A run that is stopped, or ends at a bad record, completes the file
with the matches found until then; one that is killed leaves what was there before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.plan import Plan
from cep.ir.types import Type
from connectors.files.match_writer import (
    INTERNAL,
    double_texts,
    hex_text,
    text_bytes,
    timestamp_texts,
    write_all,
    write_matches,
)
from connectors.files.values import ARROW

ROWS = 131_072
"""Rows of a row group, or of a batch in an Arrow file."""
BYTES = 64 << 20
"""Rows are also written once they are as large as this."""
_TIME = ARROW[Type.TIMESTAMP]
_TYPES = {**ARROW, Type.DURATION: pa.int64()}
_ALWAYS = (("id", pa.string()), ("pattern", pa.string()), ("start", _TIME), ("end", _TIME))
_TO_QUOTE = '[",\\r\\n]|^$'


class FieldsDifferError(ValueError):
    """Patterns whose matches do not fit into one table; the text is for the user."""


class Matches(Protocol):
    """An open file of matches."""

    def write(self, batches: Iterable[pa.RecordBatch], plan: Plan) -> Iterator[int]:
        """Write matches of a pattern; yields how many after each step, so that a caller can stop in between."""

    def flush(self) -> None:
        """Hand over what is readable line by line."""

    def close(self) -> None:
        """Write what is pending and complete the file."""


class JsonLines:
    """One object a line."""

    def __init__(self, out: IO[bytes], plans: Sequence[Plan]) -> None:
        _ = plans
        self._out = out
        self.flush = out.flush

    def write(self, batches: Iterable[pa.RecordBatch], plan: Plan) -> Iterator[int]:
        """Whole lines."""
        return write_matches(batches, plan.pattern, self._out)

    def close(self) -> None:
        """Write what is pending."""
        self._out.flush()


class Table:
    """The columns of a file, and how the matches of each pattern become rows of it. See the module's text."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        types: dict[str, tuple[pa.DataType, Type, str]] = {}
        for plan in plans:
            for field in plan.fields:
                kind = _TYPES[field.type]
                known = types.get(field.name)
                if known is None:
                    types[field.name] = (kind, field.type, plan.pattern)
                elif known[0] != kind:
                    raise FieldsDifferError(
                        f"field `{field.name}` is {known[1]} in pattern {known[2]} and {field.type} in {plan.pattern}: "
                        "rename one of them with AS, choose patterns with --pattern, or write JSON Lines"
                    )
        self._fields = list(types)
        taken = {name for name, _ in _ALWAYS}
        names = [f"fields.{name}" if name in taken else name for name in types]
        self.schema = pa.schema([*_ALWAYS, *zip(names, (kind for kind, _, _ in types.values()), strict=True)])

    def rows(self, batch: pa.RecordBatch, pattern: str) -> pa.RecordBatch:
        """Matches of a pattern as rows. Text keeps its dictionary: `plain` takes it away."""
        count = batch.num_rows
        name = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([pattern]))
        arrays: list[pa.Array] = [hex_text(batch.column("_id")), name, batch.column("_start"), batch.column("_end")]
        present = {column: index for index, column in enumerate(batch.schema.names) if column not in INTERNAL}
        for field, column in zip(self._fields, list(self.schema)[len(_ALWAYS) :], strict=True):
            index = present.get(field)
            array = pa.nulls(count, column.type) if index is None else batch.column(index)
            arrays.append(array.cast(column.type) if pa.types.is_duration(array.type) else array)
        return pa.RecordBatch.from_arrays(arrays, names=self.schema.names)


def plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Rows in the types of a schema: text without a dictionary, numbers that are not finite NULL as in JSON."""
    arrays = []
    for array, field in zip(batch.columns, schema, strict=True):
        whole = array.cast(field.type) if array.type != field.type else array
        if pa.types.is_floating(field.type):
            finite = pc.is_finite(whole)
            whole = whole if pc.all(finite).as_py() is not False else pc.if_else(finite, whole, None)
        arrays.append(whole)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class Csv:
    """A header and one line a match. NULL is empty; an empty text is quoted."""

    def __init__(self, out: IO[bytes], plans: Sequence[Plan]) -> None:
        self._out = out
        self._table = Table(plans)
        self.flush = out.flush
        names = pa.array(self._table.schema.names)
        write_all(out, memoryview((",".join(_quoted(names).to_pylist()) + "\n").encode()))

    def write(self, batches: Iterable[pa.RecordBatch], plan: Plan) -> Iterator[int]:
        """Whole lines."""
        for batch in batches:
            for start in range(0, batch.num_rows, ROWS // 2):
                rows = self._table.rows(batch.slice(start, ROWS // 2), plan.pattern)
                texts = [csv_text(array) for array in rows.columns]
                first, *rest = texts
                parts = [first, *(part for text in rest for part in (pa.scalar(","), text)), pa.scalar("\n")]
                write_all(self._out, text_bytes(pc.binary_join_element_wise(*parts, pa.scalar(""))))
                yield rows.num_rows

    def close(self) -> None:
        """Write what is pending."""
        self._out.flush()


def csv_text(array: pa.Array) -> pa.Array:
    """The values of a column as fields of CSV.

    >>> csv_text(pa.array(["a", "", None, 'say "x", y'])).to_pylist()
    ['a', '""', '', '"say ""x"", y"']
    """
    kinds = pa.types
    if kinds.is_dictionary(array.type):
        return pc.fill_null(csv_text(array.dictionary).take(array.indices), "")
    if kinds.is_timestamp(array.type):
        text = timestamp_texts(array)
    elif kinds.is_floating(array.type):
        text = double_texts(array)
    elif kinds.is_string(array.type):
        text = _quoted(array)
    else:
        text = array.cast(pa.string())
    return pc.fill_null(text, "") if text.null_count else text


def _quoted(array: pa.Array) -> pa.Array:
    special = pc.match_substring_regex(array, _TO_QUOTE)
    if not pc.any(special).as_py():
        return array
    return pc.if_else(special, pc.binary_join_element_wise('"', pc.replace_substring(array, '"', '""'), '"', ""), array)


class Columnar:
    """Rows collected to large batches, written by a `writer` of Arrow."""

    def __init__(self, out: IO[bytes], plans: Sequence[Plan], writer: Callable[[IO[bytes], pa.Schema], Any]) -> None:
        self._table = Table(plans)
        self._writer = writer(out, self._table.schema)
        self._held: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, batches: Iterable[pa.RecordBatch], plan: Plan) -> Iterator[int]:
        """Hold rows, and write them when there are many."""
        for batch in batches:
            for start in range(0, batch.num_rows, ROWS):
                rows = plain(self._table.rows(batch.slice(start, ROWS), plan.pattern), self._table.schema)
                self._held.append(rows)
                self._rows += rows.num_rows
                self._bytes += rows.nbytes
                if self._rows >= ROWS or self._bytes >= BYTES:
                    self._write()
                yield rows.num_rows

    def _write(self) -> None:
        if self._held:
            self._writer.write_table(pa.Table.from_batches(self._held).combine_chunks())
            self._held, self._rows, self._bytes = [], 0, 0

    def flush(self) -> None:
        """Nothing is readable before the end."""

    def close(self) -> None:
        """Write what is held, and the footer."""
        self._write()
        self._writer.close()


def _parquet(out: IO[bytes], plans: Sequence[Plan]) -> Columnar:
    from pyarrow.parquet import ParquetWriter

    # Each id is there once: a dictionary of them would only cost.
    def writer(sink: IO[bytes], schema: pa.Schema) -> Any:
        names = [name for name in schema.names if name != "id"]
        return ParquetWriter(sink, schema, compression="zstd", use_dictionary=names, store_schema=False)

    return Columnar(out, plans, writer)


def _arrow(out: IO[bytes], plans: Sequence[Plan]) -> Columnar:
    return Columnar(out, plans, lambda sink, schema: pa.ipc.new_file(sink, schema))


MATCH_WRITERS: dict[str, Callable[[IO[bytes], Sequence[Plan]], Matches]] = {
    "jsonl": JsonLines,
    "csv": Csv,
    "parquet": _parquet,
    "arrow": _arrow,
}
"""By the names of `connectors.formats.MATCH_FORMATS`."""
WHOLE_FILES = frozenset(("parquet", "arrow"))
"""Formats that nobody can read before they are complete."""


@contextmanager
def open_matches(out: str, kind: str, plans: Sequence[Plan]) -> Iterator[Matches]:
    """A file of matches under construction; `-` is standard output.

    Left by an exception, a file that must be whole is given up, and what was there under its name stays.
    `FieldsDifferError` where the patterns do not fit into one table.
    """
    make = MATCH_WRITERS[kind]
    if out == "-":
        matches = make(sys.stdout.buffer, plans)
        yield matches
        with suppress(BrokenPipeError):  # whoever wrote last was told
            matches.close()
        return
    path = Path(out)
    beside = kind in WHOLE_FILES and (path.is_file() or not path.exists())
    target = path.with_name(f".{path.name}.{os.getpid()}.part") if beside else path
    try:
        with target.open("wb") as sink:
            matches = make(sink, plans)
            try:
                yield matches
            except BaseException:
                with suppress(Exception):  # the writer must not be left open; what it writes is thrown away
                    matches.close()
                raise
            matches.close()
        if beside:
            target.replace(path)
    finally:
        if beside:
            target.unlink(missing_ok=True)

"""Directories whose names hold the values of a column: `day=2024-03-01/part-0.parquet`, as Hive and Spark write them.

A directory of events is read with everything below it that lies in directories `NAME=VALUE`, however deep; other
directories within it are not entered, as in Spark. Where a stream declares a column of such a name, its value comes
from the path, typed as declared, and wins over a column of the same name in the file. `NAME=__HIVE_DEFAULT_PARTITION__`
is NULL. Names and values may be percent-encoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from cep.ir.types import Type
from connectors.files.errors import InputError
from connectors.files.values import ARROW, Columns, arrow_schema, from_text

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def is_partition(name: str) -> bool:
    """Whether a directory's name holds a value.

    >>> is_partition("day=2024-03-01"), is_partition("archive"), is_partition("_day=1"), is_partition("=1")
    (True, False, False, False)
    """
    return "=" in name[1:] and not name.startswith((".", "_"))


def files_below(directory: Path) -> Iterator[Path]:
    """The files in a directory and in its partitions."""
    for child in directory.iterdir():
        if child.is_file():
            if not child.name.startswith((".", "_")):
                yield child
        elif is_partition(child.name) and child.is_dir() and not child.is_symlink():
            yield from files_below(child)


def partition_names(directory: Path) -> list[str]:
    """The names of the columns by which a directory is partitioned, outermost first."""
    child = next((item for item in sorted(directory.iterdir()) if is_partition(item.name) and item.is_dir()), None)
    return [] if child is None else [unquote(child.name.partition("=")[0]), *partition_names(child)]


def partition_values(path: Path, parts: Iterable[str], columns: Columns) -> dict[str, object]:
    """The values of columns that the directories of a file hold; `InputError` where one is no value of its column."""
    types = dict(columns)
    values: dict[str, object] = {}
    for part in parts:
        name, equals, text = part.partition("=")
        name, text = unquote(name), unquote(text)
        if not equals or name not in types:
            continue
        try:
            empty = text == NO_VALUE or (not text and types[name] is not Type.STRING)
            values[name] = None if empty else from_text(text, types[name])
        except ValueError as error:
            raise InputError(f'{path}: directory "{part}": {error}') from error
    return values


def with_values(
    batch: pa.RecordBatch, columns: Sequence[tuple[str, Type]], values: dict[str, object]
) -> pa.RecordBatch:
    """A batch with constant columns in their places."""
    arrays = []
    for name, type_ in columns:
        if name not in values:
            arrays.append(batch.column(name))
            continue
        kind = pa.int64() if type_ is Type.TIMESTAMP else ARROW[type_]
        constant = pa.repeat(pa.scalar(values[name], kind), batch.num_rows)
        arrays.append(constant.view(ARROW[type_]) if type_ is Type.TIMESTAMP else constant)
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(columns))

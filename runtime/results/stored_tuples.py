"""The tuples of a DISTINCT output in a snapshot: each as rows that show it, its computed values, and its lives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.types import Type
from runtime.arrays.columnar import COMPUTED_TYPES
from runtime.arrays.hash_table import HashTable
from runtime.results.distinct import Alive
from runtime.results.tuples import pack, unpack
from runtime.state.snapshot_check import damaged, read_part

_WHAT = "the tuples of DISTINCT"
_LIVES = pa.list_(pa.list_(pa.int64(), 3))


def dump(alive: Alive, stored: Mapping[str, np.ndarray], watermark: int | None) -> Any:
    """As a record batch; `stored` are the rows of each leaf that the snapshot has, in its order."""
    shape = alive._shape
    numbers = alive._alive_at(watermark)
    parts = unpack(alive._table.keys(numbers), shape.width)
    rows = []
    for var, look in zip(shape.shown, parts, strict=False):
        looks = alive._leaves[var].look
        assert looks is not None
        place = np.full(len(alive._leaves[var].looks), -1, dtype=np.int64)
        here = looks.at(stored[var])
        place[here[::-1]] = np.arange(len(here))[::-1]  # the first row of each look
        rows.append(place[look])
    keys = [*rows, *parts[len(rows) :]] or [np.zeros(len(numbers), dtype=np.int64)]
    order = np.lexsort(tuple(reversed(keys)))  # whatever the table's order is in this process
    if rows:
        order = order[np.logical_and.reduce([each[order] >= 0 for each in rows])]
    columns = {f"row of {var}": pa.array(each[order]) for var, each in zip(shape.shown, rows, strict=True)}
    for (_, field), values, part in zip(shape.computed, shape.values, parts[len(rows) :], strict=True):
        columns[f"value of {field.name}"] = pa.array(values.values(part[order]), _type(field.type))
    if alive._dated:
        some = numbers[order]
        columns["until"] = pa.array(alive._until.at(some))
        present = zip(*(part.at(some).tolist() for part in alive._present), strict=True)
        lives = [[*alive._earlier.get(n, ()), life] for n, life in zip(some.tolist(), present, strict=True)]
        columns["lives"] = pa.array(lives, _LIVES)
    return pa.record_batch(columns) if columns else pa.record_batch({"none": pa.nulls(len(order))})


def load(alive: Alive, part: bytes, rows: Mapping[str, int]) -> None:
    """From a snapshot, once the leaves are filled with so many `rows`; `SnapshotError` for what cannot be right."""
    shape = alive._shape
    batch = _checked(alive, part, rows)
    numbers = []
    for var in shape.shown:
        look = alive._leaves[var].look
        assert look is not None
        numbers.append(look.at(batch.column(f"row of {var}").to_numpy()))
    for (_, field), values in zip(shape.computed, shape.values, strict=True):
        numbers.append(values.encode(batch.column(f"value of {field.name}")))
    keys = pack(numbers, batch.num_rows)
    if np.unique(np.stack(keys), axis=1).shape[1] < batch.num_rows:
        raise damaged(f"{_WHAT} have one twice")
    alive._table = HashTable.of(keys)
    if not alive._dated:
        return
    alive._until.extend(batch.column("until").to_numpy())
    lives = [[tuple(life) for life in each] for each in batch.column("lives").to_pylist()]
    for place, part_ in enumerate(alive._present):
        part_.extend(np.array([each[-1][place] for each in lives], dtype=np.int64))
    alive._earlier = {number: each[:-1] for number, each in enumerate(lives) if len(each) > 1}


def _checked(alive: Alive, part: bytes, rows: Mapping[str, int]) -> Any:
    """The tuples as a record batch whose rows exist and whose lives are lives."""
    shape = alive._shape
    wanted = [pa.field(f"row of {var}", pa.int64()) for var in shape.shown]
    wanted += [pa.field(f"value of {field.name}", _type(field.type)) for _, field in shape.computed]
    if alive._dated:
        wanted += [pa.field("until", pa.int64()), pa.field("lives", _LIVES)]
    batch = read_part(part, _WHAT, wanted or [pa.field("none", pa.null())])
    for var in shape.shown:
        places = batch.column(f"row of {var}")
        inside = places.to_numpy(zero_copy_only=False)
        if places.null_count or ((inside < 0) | (inside >= rows[var])).any():
            raise damaged(f"{_WHAT} show rows of {var} that are not there")
    if alive._dated and batch.num_rows:  # Arrow does not look at the offsets of no lists, and trips over them
        lives = batch.column("lives")
        each = lives.flatten()
        if batch.column("until").null_count or lives.null_count or each.null_count or each.flatten().null_count:
            raise damaged(f"{_WHAT} have a NULL")
        if not pc.min(pc.list_value_length(lives)).as_py():
            raise damaged(f"{_WHAT} have one without a life")
    return batch


def _type(type_: Type) -> pa.DataType:
    return COMPUTED_TYPES.get(type_, pa.int64())

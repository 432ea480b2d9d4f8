"""A workload's events as files: Arrow by stream for Python, one CSV in order of arrival for Java.

The CSV begins with a line for each stream (`name,column:type,...`) and an empty line; each event is the number of its
stream and its values. Timestamps are milliseconds there: all times in the workloads are whole seconds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.workloads import Workload

CSV = "events.csv"
_TYPES = {pa.int64(): "long", pa.float64(): "double", pa.string(): "string"}


def write(workload: Workload, directory: Path) -> None:
    """All files of a workload."""
    data = workload.data()
    for name, table in data.items():
        with pa.ipc.new_file(directory / f"{name}.arrow", table.schema) as file:
            file.write_table(table.combine_chunks())
    heads = []
    lines: list[pa.Array] = []
    arrivals = []
    for number, (name, table) in enumerate(data.items()):
        columns = [column for column in table.column_names if column != "_arrival"]
        values = [_plain(table[column]) for column in columns]
        heads.append(",".join([name, *(f"{c}:{_TYPES[v.type]}" for c, v in zip(columns, values, strict=True))]))
        texts = [pc.cast(value, pa.string()) for value in values]
        lines.append(pc.binary_join_element_wise(str(number), *texts, ","))
        arrivals.append(table["_arrival"].to_numpy() if "_arrival" in table.column_names else np.arange(len(table)))
    order = np.argsort(np.concatenate(arrivals), kind="stable")
    events = pa.chunked_array([chunk for line in lines for chunk in line.chunks]).take(pa.array(order))
    with (directory / CSV).open("w", encoding="utf-8") as text:
        text.write("\n".join(heads) + "\n\n")
        text.writelines(f"{line}\n" for line in events.to_pylist())


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        return pc.divide(column.cast(pa.int64()), 1000)
    return column


def read(directory: Path) -> dict[str, pa.Table]:
    """The streams, in memory."""
    return {path.stem: pa.ipc.open_file(path.read_bytes()).read_all() for path in sorted(directory.glob("*.arrow"))}

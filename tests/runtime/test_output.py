"""Matches as other tools read them: a dictionary holds each text once, and pandas takes every push."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from cep.ir.types import Type
from runtime import Engine
from runtime.arrays.columns import StringColumn, make_column
from tests.runtime.support import SECOND, batch, compiled

TEXT = "STREAM T (ts TIMESTAMP, k STRING, x INT) TIMESTAMP BY ts;"
PATTERNS = {
    "bag": f"{TEXT} PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR;",
    "distinct": f"{TEXT} PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR RETURN DISTINCT a.k AS k, b.x AS x;",
    "computed": f"{TEXT} PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR RETURN UPPER(a.k) AS k, b.k AS l;",
}


@pytest.mark.parametrize("name", PATTERNS)
def test_pandas_reads_the_matches_of_every_push(name: str) -> None:
    engine = Engine(compiled(PATTERNS[name]))
    for push in range(3):
        rows = [
            {"ts": (10 * push + i) * SECOND, "k": "uv"[i % 2] if i else None, "x": 10 * push + i} for i in range(10)
        ]
        found = engine.push(batch(engine.plan, "T", rows)).read_all()
        frame = found.to_pandas()
        assert len(frame) == found.num_rows > 0
        for column in found.column_names:
            if isinstance(found.schema.field(column).type, pa.DictionaryType):
                assert frame[column].tolist() == found[column].to_pylist()


@pytest.mark.parametrize("rows", [[0], [5, 1, 5], [0, 2999], list(range(0, 3000, 7)), list(range(1000, 1100)), []])
def test_a_dictionary_has_each_text_once(rows: list[int]) -> None:
    """In all ways that a dictionary is made: of the whole column, of a slice of it, of some rows."""
    texts = [None if i % 11 == 0 else f"t{i % 5}" for i in range(3000)]
    column = make_column(Type.STRING)
    assert isinstance(column, StringColumn)
    column.extend(pa.array(texts))
    for repeats in (None, np.full(len(rows), 3)):
        found = column.take(np.array(rows, dtype=np.int64), repeats)
        found.validate(full=True)
        assert len(set(found.dictionary.to_pylist())) == len(found.dictionary)
        wanted = [texts[row] for row in rows for _ in range(1 if repeats is None else 3)]
        assert found.to_pylist() == wanted

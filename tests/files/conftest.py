from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from cep.ir.model import Stream
from cep.ir.types import Type
from connectors.files import ErrorPolicy, read_events

TRANS = Stream(
    name="Trans",
    columns=(
        ("ts", Type.TIMESTAMP),
        ("acc", Type.STRING),
        ("amnt", Type.DOUBLE),
        ("n", Type.INT),
        ("ok", Type.BOOLEAN),
    ),
    time="ts",
)

Read = Callable[..., list[dict[str, object]]]


@pytest.fixture
def trans() -> Stream:
    return TRANS


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Writes a file and gives its events as dictionaries, TIMESTAMP in microseconds."""

    def run(
        data: bytes | str, name: str = "events.jsonl", policy: ErrorPolicy | None = None
    ) -> list[dict[str, object]]:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return rows(list(read_events(str(path), TRANS, policy=policy)))

    return run


def rows(batches: list[pa.RecordBatch]) -> list[dict[str, object]]:
    out: list[dict[str, object]] = []
    for batch in batches:
        assert batch.schema.field("ts").type == pa.timestamp("us", "UTC")
        assert batch.schema.names == [name for name, _ in TRANS.columns]
        batch.validate(full=True)
        numbers = batch.column("ts").cast(pa.int64())
        out += batch.set_column(0, "ts", numbers).to_pylist()
    return out

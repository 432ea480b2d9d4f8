"""Rows of matches, and of late events, as lines."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from connectors.files.match_writer import json_text


def lines(batch: pa.RecordBatch) -> list[str]:
    """Rows of matches as `cep replay` writes them."""
    parts = (
        '{"id": "', batch.column("id"), '", "pattern": ', json_text(batch.column("pattern")),
        ', "start": ', json_text(batch.column("start")), ', "end": ', json_text(batch.column("end")),
        ', "fields": ', batch.column("fields"), "}\n", "",
    )  # fmt: skip
    texts: list[str] = pc.binary_join_element_wise(*parts).to_pylist()
    return texts


def values(batch: pa.RecordBatch) -> list[str]:
    """Rows that have their line in `value`, such as late events."""
    return [f"{line}\n" for line in batch.column("value").to_pylist()]

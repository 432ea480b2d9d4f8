"""Patterns as Spark Structured Streaming jobs: `cep run`, and `detect` for DataFrames of your own.

    import cep
    from runtime.spark import detect

    matches = detect(cep.compile(text), {"Trans": transactions})
    matches.writeStream.format("parquet").option("checkpointLocation", ...).start(...)

Importing this package does not import PySpark: `detect` does, when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.spark.errors import JobError

if TYPE_CHECKING:
    from runtime.spark.flow.dataflow import detect

__all__ = ["JobError", "detect"]


def __getattr__(name: str) -> object:
    """Load PySpark only when it is needed."""
    if name == "detect":
        from runtime.spark.flow.dataflow import detect

        return detect
    raise AttributeError(f"module 'runtime.spark' has no attribute {name!r}")

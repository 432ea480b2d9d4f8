"""The runtime: the incremental engine, and what runs it.

>>> import cep, runtime, pyarrow as pa
>>> plan = cep.compile("STREAM T (x INT); PATTERN P AND(T a) WHERE a.x > 1 UNBOUNDED;")["P"]
>>> runtime.Engine(plan).push(pa.table({"x": [1, 2]})).read_all().num_rows
1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.engine import Engine
    from runtime.intake.batches import BatchError
    from runtime.snapshot import SnapshotError

__all__ = ["BatchError", "Engine", "SnapshotError"]

_HOMES = {"BatchError": "runtime.intake.batches", "Engine": "runtime.engine", "SnapshotError": "runtime.snapshot"}


def __getattr__(name: str) -> object:
    """Load numpy and pyarrow only when the engine is asked for: the CLI imports this package for its commands."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'runtime' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What the package offers, loaded or not."""
    return sorted({*globals(), *__all__})

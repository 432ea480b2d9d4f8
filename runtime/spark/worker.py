"""Python workers: what is done once in each.

Spark keeps its workers, and has each collect garbage after every task. A full collection walks all that was ever
imported (pandas, PySpark, this package), a tenth of a second and more, and the next task of the micro-batch waits for
it. Frozen objects are not walked: collections then cost what the tasks themselves left behind.
"""

from __future__ import annotations

import gc

_settled = False


def settle() -> None:
    """Freeze what this process has loaded, the first time only. Called by a task that has loaded what it needs."""
    global _settled
    if not _settled:
        _settled = True
        gc.freeze()

"""What is done once in each Python worker, seen in a process of its own."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import gc
from runtime.spark.flow.pack import Packer
list(Packer(stream="S", time=None, targets=())(iter([])))
frozen = gc.get_freeze_count()
keep = [[] for _ in range(1000)]
list(Packer(stream="S", time=None, targets=())(iter([])))
print(frozen, gc.get_freeze_count())
"""


def test_what_a_worker_has_imported_is_not_collected_again_after_each_task() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    first, second = map(int, done.stdout.split())
    assert first > 10_000, "modules, functions and classes"
    assert second <= first, "once"

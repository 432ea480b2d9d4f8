"""The memory that is told is that of this process, not of the one that started it."""

from __future__ import annotations

import subprocess
import sys

from runtime.memory import peak_rss

LARGE = 400_000_000


def test_a_small_program_started_by_a_large_one_is_small() -> None:
    held = bytearray(LARGE)
    held[::4096] = b"x" * len(held[::4096])  # pages count once they are written
    assert peak_rss() >= LARGE
    told = subprocess.run(
        [sys.executable, "-c", "from runtime.memory import peak_rss; print(peak_rss())"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 5_000_000 < int(told.stdout) < LARGE // 2

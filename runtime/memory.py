"""How much memory this process has held.

Not `ru_maxrss` where there is better: it survives `exec`, so it begins with the size of the process that started this
one, and a small program started by a large one seems large.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def peak_rss() -> int:
    """The largest resident size of this process so far, in bytes."""
    if _STATUS.exists():
        line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024

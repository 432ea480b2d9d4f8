"""Run schedules by hand: `python -m tests.simulation [--schedules N] [--seed FIRST] [--faults KIND,...]`.

Prints what was injected how often and what came of it; with one schedule, its history.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.simulation.faults import KINDS
from tests.simulation.schedule import Tally, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--schedules", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of the first schedule")
    parser.add_argument("--faults", default=",".join(KINDS), help="the kinds to draw from")
    chosen = parser.parse_args()
    kinds = tuple(chosen.faults.split(","))
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        parser.error(f"no such fault: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    tally = Tally()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=memory()) as directory:
        for outcome in run(range(chosen.seed, chosen.seed + chosen.schedules), Path(directory), kinds):
            tally.add(outcome)
            if outcome.broken or chosen.schedules == 1:
                print(outcome.report())  # noqa: T201 - a command
    print(f"{tally.table()}\n{time.perf_counter() - began:.0f} s")  # noqa: T201 - a command
    return 1 if tally.broken else 0


def memory() -> str | None:
    """A directory that is in memory, where there is one."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


sys.exit(main())

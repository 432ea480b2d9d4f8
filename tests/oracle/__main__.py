"""Compare the engine with DuckDB for as long as wanted: `python -m tests.oracle --cases 2000 --seed 0`.

What a case is, and what counts as one comparison, is in tests.oracle.many: (pattern, set of events), judged after every
push. Cases are made of their seeds alone. Seeds go up from `--seed`; with `--progress FILE` a run that is taken up
again goes on where that file says, and counts on.

Differences are printed with pattern and events and counted; the exit status is 1 where there was one. With `--mistake
NAME` the engine makes a mistake (tests.oracle.mistakes), and the run ends when it is found.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.oracle.harness import Disagreement
from tests.oracle.many import Tally, compare
from tests.oracle.mistakes import MISTAKES, mistaken
from tests.oracle.sql import Database


@dataclass(slots=True)
class Progress:
    """How far a run has come."""

    first: int
    next: int
    tally: Tally = field(default_factory=Tally)
    differences: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @classmethod
    def of(cls, path: Path | None, seed: int) -> Progress:
        """What a file says, or a beginning."""
        if path is None or not path.exists():
            return cls(seed, seed)
        known = json.loads(path.read_text())
        return cls(**{**known, "tally": Tally(**known["tally"])})

    def store(self, path: Path) -> None:
        new = path.with_suffix(".new")
        new.write_text(json.dumps(asdict(self)))
        new.replace(path)

    def __str__(self) -> str:
        tally = self.tally
        rate = tally.comparisons / max(self.seconds, 1e-9)
        of_cpu = tally.comparisons / max(self.cpu_seconds, 1e-9)
        return (
            f"seeds {self.first}..{self.next - 1}: {tally.comparisons:,} comparisons ({tally.alone:,} alone, "
            f"{tally.side_by_side:,} side by side; {tally.matching:,} with matches), {self.differences} differences, "
            f"{self.seconds:.0f} s, {rate:.1f} comparisons/s ({of_cpu:.1f} per second of CPU); "
            f"go on with --seed {self.next}"
        )


def run(given: argparse.Namespace) -> Progress:
    """Compare until the cases or the seconds are over, or a mistake is found."""
    database = Database()
    progress = Progress.of(given.progress, given.seed)
    begun = told = time.monotonic()
    before = progress.seconds, progress.cpu_seconds - time.process_time()
    for cases in range(1, given.cases + 1):
        try:
            compare(database, progress.next, progress.tally, streams=given.streams, lanes=given.lanes)
        except Disagreement as problem:
            progress.differences += 1
            print(f"--- seed {progress.next}: {problem}", flush=True)
        progress.next += 1
        now = time.monotonic()
        progress.seconds = before[0] + now - begun
        progress.cpu_seconds = before[1] + time.process_time()
        found = given.mistake is not None and progress.differences > 0
        ended = found or now - begun >= given.seconds or cases == given.cases
        if ended or now - told >= given.every:
            told = now
            print(progress, flush=True)
            if given.progress is not None:
                progress.store(given.progress)
        if ended:
            break
    return progress


def main(arguments: list[str] | None = None) -> int:
    """Run and print; see the module's text."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--cases", type=int, default=1000, help="how many patterns (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--streams", type=int, default=12, help="sets of events with an engine each (default 12)")
    parser.add_argument("--lanes", type=int, default=48, help="sets of events that share one engine (default 48)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds")
    parser.add_argument("--every", type=float, default=60, help="print where it stands every so many seconds")
    parser.add_argument("--progress", type=Path, help="go on where this file says, and keep it up to date")
    parser.add_argument("--mistake", choices=MISTAKES, help="put this mistake into the engine; end when it is found")
    given = parser.parse_args(arguments)
    if given.mistake is None:
        return 1 if run(given).differences else 0
    with mistaken(given.mistake):
        return 0 if run(given).differences else 1


if __name__ == "__main__":
    sys.exit(main())

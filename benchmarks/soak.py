"""Hours of random input: memory must stay flat. `python -m benchmarks.soak --minutes 60`.

Engines of every kind (a chain, values in a window, nested, cyclic, DISTINCT, corrections without a window) are fed
events whose keys and texts never come twice, some late, some too late, some duplicated, with snapshots and restores in
between. Every ten seconds the resident memory is printed. After the warm-up (the first fifth of the run, at least 30
seconds) it may not grow by more than `--bound-mb`; if it does the exit status is 1.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

import cep
from runtime import Engine

SECOND = 1_000_000
STREAM = "STREAM T (ts TIMESTAMP, k STRING, x INT, y INT) TIMESTAMP BY ts WATERMARK 5 SECONDS;"
PATTERNS = {
    "chain": "SEQ(T a, T b, T c) WHERE a.x < 20 AND b.x < 20 AND c.x > 80 PARTITION BY k WITHIN 1 MINUTE",
    "values": "SEQ(T a, T b) WHERE a.x < b.y - 40 PARTITION BY k WITHIN 1 MINUTE",
    "nested": "SEQ(T a, AND(T b, T c)) WHERE b.y < c.y - 50 AND a.x < 30 PARTITION BY k WITHIN 1 MINUTE",
    "cyclic": "AND(T a, T b, T c) WHERE a.x < b.y AND b.x < c.y AND c.x < a.y - 60 PARTITION BY k WITHIN 1 MINUTE",
    "tuples": "SEQ(T a, T b) WHERE a.x > 70 PARTITION BY k WITHIN 1 MINUTE RETURN DISTINCT b.k AS k, b.x AS x",
    "corrections": "AND(T a, T b) WHERE a.x < b.y - 40 PARTITION BY k UNBOUNDED",
}
BATCH = 2000
PER_SECOND = 200
"""Events per second of event time: 12,000 in a window."""


def resident() -> int:
    """Bytes of resident memory; the peak so far where the system does not tell the present."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def events(rng: np.random.Generator, number: int) -> pa.Table:
    """Batch `number`: its own keys, jitter within the watermark, a few stragglers, a few duplicates."""
    i = np.arange(number * BATCH, (number + 1) * BATCH)
    jitter = rng.integers(0, 4 * SECOND, BATCH)
    jitter[rng.random(BATCH) < 0.01] = 90 * SECOND
    keys = (i // 4000) * 1000 + rng.integers(0, 1000, BATCH)
    table = pa.table(
        {
            "ts": pa.array(i * SECOND // PER_SECOND + 100 * SECOND - jitter).cast(pa.timestamp("us", "UTC")),
            "k": [f"account-{key:012d}" for key in keys],
            "x": rng.integers(0, 100, BATCH),
            "y": rng.integers(0, 100, BATCH),
        }
    )
    rows = rng.permutation(BATCH)
    rows[:20] = rows[20:40]
    return table.take(rows)


def drain(engine: Engine, batch: pa.Table, watermark: int | None) -> int:
    """Push and read to the end, keeping nothing."""
    return sum(found.num_rows for found in engine.push(batch, watermark))


class Windowed:
    """One windowed pattern, restored from its own snapshot now and then."""

    def __init__(self, name: str) -> None:
        self.plan = cep.compile(f"{STREAM} PATTERN {name} {PATTERNS[name]};")[name]
        self.engine = Engine(self.plan)
        self.newest = 0
        self.matches = 0

    def step(self, rng: np.random.Generator, batch: pa.Table) -> None:
        """One batch."""
        self.newest = max(self.newest, int(np.max(batch["ts"].cast(pa.int64()).to_numpy())))
        self.matches += drain(self.engine, batch, self.newest - 5 * SECOND)
        if rng.random() < 0.02:
            self.engine = Engine.restore(self.plan, self.engine.snapshot())
        if rng.random() < 0.05:
            self.engine.count()


class Corrected(Windowed):
    """A pattern without a window whose events are all taken back some batches later."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.waiting: list[pa.Table] = []

    def step(self, rng: np.random.Generator, batch: pa.Table) -> None:
        """One batch in, one out."""
        self.waiting.append(batch)
        signed = [batch.append_column("_sign", pa.array(np.ones(BATCH, dtype=np.int8)))]
        if len(self.waiting) > 4:
            old = self.waiting.pop(int(rng.integers(0, len(self.waiting) - 1)))
            signed.append(old.append_column("_sign", pa.array(np.full(BATCH, -1, dtype=np.int8))))
        self.matches += drain(self.engine, pa.concat_tables(signed), None)


def soak(seconds: float, bound: int, seed: int, tell: Callable[[str], None]) -> bool:
    """Run for so long; whether memory stayed within the bound after the warm-up."""
    rng = np.random.default_rng(seed)
    runs = [Corrected(name) if name == "corrections" else Windowed(name) for name in PATTERNS]
    start = time.monotonic()
    warm, told, number = max(30.0, seconds / 5), start, 0
    base: int | None = None
    worst = 0
    while (now := time.monotonic()) - start < seconds:
        batch = events(rng, number)
        number += 1
        for run in runs:
            run.step(rng, batch)
        if now - told < 10:
            continue
        told = now
        gc.collect()
        size = resident()
        if now - start < warm:
            base = max(base or 0, size)
        elif base is not None:
            worst = max(worst, size - base)
        state = sum(run.engine.stats()["bytes"] for run in runs)
        tell(
            f"{now - start:7.0f} s  {number * BATCH:12,} events  {sum(run.matches for run in runs):14,} matches  "
            f"state {state / 2**20:6.1f} MiB  resident {size / 2**20:7.1f} MiB"
            + ("  (warm-up)" if now - start < warm else f"  {(size - (base or 0)) / 2**20:+.1f}")
        )
    late = [run.engine.stats()["late"] for run in runs]
    tell(f"{number * BATCH:,} events, {sum(late):,} late; grew by at most {worst / 2**20:.1f} MiB after the warm-up")
    for run in runs:
        run.engine._check()  # noqa: SLF001 - the invariants still hold at the end
    return worst <= bound


def main(argv: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Random input for a long time; fails when memory grows.")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--bound-mb", type=float, default=48, help="growth allowed after the warm-up (default 48)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    flat = soak(options.minutes * 60, int(options.bound_mb * 2**20), options.seed, lambda line: print(line, flush=True))
    print("memory is flat" if flat else f"memory grew by more than {options.bound_mb:g} MiB")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())

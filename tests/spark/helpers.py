"""Events, patterns and the answers of an engine in this process, to compare jobs with."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import cep
import runtime
from connectors.files.match_writer import match_lines
from runtime.spark.errors import Final, judge
from runtime.spark.job.start import Job, prepare
from runtime.spark.job.supervise import Supervisor, pause_before
from runtime.spark.watch.progress import Batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from cep.ir.plan import Plan

START = 1_704_067_200_000_000
CARD = """
STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE) TIMESTAMP BY ts WATERMARK 10 SECONDS;
PATTERN CardTesting
  SEQ(Trans s1, Trans s2, Trans l)
  WHERE s1.acc = s2.acc AND s2.acc = l.acc AND s1.amnt < 100 AND s2.amnt < 100 AND l.amnt > 400
  WITHIN 1 MINUTE
  RETURN l.acc AS acc, s1.ts AS first_ts, l.ts AS last_ts, l.amnt AS amount;
"""
JOB = (
    CARD
    + """
STREAM Login (at TIMESTAMP, user STRING, ok BOOLEAN, tries INT) TIMESTAMP BY at WATERMARK 10 SECONDS;
PATTERN Takeover
  SEQ(Login a, Trans t)
  WHERE a.user = t.acc AND a.ok AND t.amnt > 300
  WITHIN 20 SECONDS;
PATTERN Rising
  SEQ(Trans a, Trans b)
  WHERE a.acc = b.acc AND b.amnt > a.amnt * 4 AND a.amnt > 20
  WITHIN 30 SECONDS
  RETURN DISTINCT b.acc AS acc;
PATTERN SameAmount
  AND(Trans a, Login b)
  WHERE b.tries * 100 > a.amnt AND a.amnt > 450 AND b.tries = 5
  WITHIN 2 SECONDS
  RETURN a.acc AS acc, b.user AS user;
"""
)


def trans(count: int, seed: int = 0, accounts: int = 7, step: int = 500_000) -> pa.Table:
    rng = random.Random(seed)
    return pa.table(
        {
            "ts": pa.array([START + i * step for i in range(count)], pa.timestamp("us", "UTC")),
            "acc": [f"A{rng.randrange(accounts)}" for _ in range(count)],
            "amnt": [None if rng.random() < 0.02 else round(rng.uniform(0, 500), 2) for _ in range(count)],
        }
    )


def logins(count: int, seed: int = 1, accounts: int = 7, step: int = 1_700_000) -> pa.Table:
    rng = random.Random(seed)
    return pa.table(
        {
            "at": pa.array([START + 1000 + i * step for i in range(count)], pa.timestamp("us", "UTC")),
            "user": [f"A{rng.randrange(accounts)}" for _ in range(count)],
            "ok": [rng.random() < 0.6 for _ in range(count)],
            "tries": pa.array([rng.randrange(6) for _ in range(count)], pa.int64()),
        }
    )


def expected(plans: Sequence[Plan], events: Mapping[str, pa.Table]) -> Counter[str]:
    """The lines of all matches, from one engine for each pattern and one push."""
    found: Counter[str] = Counter()
    for plan in plans:
        used = {leaf.stream for leaf in plan.leaves}
        for batch in runtime.Engine(plan).push({name: table for name, table in events.items() if name in used}):
            found.update(match_lines(batch, plan.pattern).to_pylist())
    return found


def shuffled(table: pa.Table, time: str, disorder: int, seed: int) -> pa.Table:
    """Events out of order by at most `disorder` microseconds."""
    rng = random.Random(seed)
    times = table.column(time).cast(pa.int64()).to_pylist()
    order = sorted(range(len(times)), key=lambda i: times[i] + rng.randrange(disorder))
    return table.take(pa.array(order))


def cut(table: pa.Table, parts: int, seed: int) -> list[pa.Table]:
    """A table in pieces of random size."""
    rng = random.Random(seed)
    places = sorted(rng.randrange(table.num_rows + 1) for _ in range(parts - 1))
    ends = [0, *places, table.num_rows]
    return [table.slice(a, b - a) for a, b in pairwise(ends)]


def write_parts(directory: Path, parts: Sequence[pa.Table], first: int = 0) -> Path:
    """Parquet files that Spark takes in this order (it goes by modification time)."""
    import os

    directory.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(parts, first):
        path = directory / f"part-{number:04d}.parquet"
        pq.write_table(part, path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return directory


def lines_in(directory: Path) -> Counter[str]:
    """What a plain reader finds."""
    return Counter(line for path in sorted(directory.glob("*.jsonl")) for line in path.open(encoding="utf-8"))


def ids(lines: Counter[str]) -> Counter[str]:
    return Counter({json.loads(line)["id"]: count for line, count in lines.items()})


ATTEMPTS = 10
"""How often a test that is not about failures is tried."""


def to_the_end(start: Callable[[], StreamingQuery]) -> list[Any]:
    """Run a query to the end of its input, again after a failure that may pass; the batches' progresses.

    A busy machine is slow to start Python workers, and Spark waits for ten seconds.
    """
    said: list[Any] = []
    for attempt in range(1, ATTEMPTS + 1):
        query = None
        try:
            query = start()
            query.awaitTermination()
            break
        except Exception as error:
            verdict = judge(error)
            if attempt == ATTEMPTS or isinstance(verdict, Final) or verdict.tries is not None:
                raise
            time.sleep(pause_before(attempt))
        finally:
            said += [each for each in (query.recentProgress if query else ()) if "addBatch" in each.durationMs]
    return said


class Shared:
    """For `runtime.spark.job.supervise`: every attempt in the session of the tests."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    def open(self) -> SparkSession:
        return self.spark

    def discard(self, spark: SparkSession | None, *, java: bool = False) -> None:
        pass


def run_job(spark: SparkSession, job: Job, plans: Sequence[Plan]) -> list[Batch]:
    """A job in the session of the tests, started again after what may pass; its batches."""
    prepared = prepare(job, plans)
    batches: list[Batch] = []
    Supervisor(
        prepared=prepared,
        sessions=Shared(spark),
        report=batches.append,
        restarted=lambda: None,
        stopping=lambda: False,
    ).run()
    return batches


def tuples(lines: Iterable[str]) -> set[str]:
    """What matches say, whenever they say it."""
    return {json.dumps(json.loads(line)["fields"]) for line in lines}


def compiled(text: str, *names: str) -> list[Any]:
    plans = cep.compile(text)
    return [plans[name] for name in names] if names else list(plans.values())

"""Writes what a release leaves behind: snapshots of engines and the checkpoint of a job, half-way through the events.

`python -m tests.compatibility.write VERSION` stores them under `tests/compatibility/VERSION`, to be opened by every
later release (`test_compatibility.py`). Run it once for each release, with that release's code; never again.
"""

from __future__ import annotations

import random
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import cep
import runtime

HERE = Path(__file__).parent
PATTERNS = HERE / "patterns.cep"
EVENTS = 240
HALF = 120
PLACE = "/@WHERE@"
"""Stands for the directory above checkpoint and events: Spark writes it in full into some of its files."""


def events(first: int = 0, last: int = EVENTS) -> pa.Table:
    """Some of the events: the same in every release."""
    rng = random.Random(16)
    rows = [
        {
            "ts": 1_717_200_000_000_000 + i // 2 * 1_500_000 - rng.randrange(2) * 3_000_000,
            "acc": rng.choice(["A1", "ä2", "", None, "A5"]),
            "amnt": rng.choice([None, 5.0, 20.5, 99.99, 150.0, 310.0, 450.25]),
            "n": rng.choice([None, 1, 2, -3]),
            "ok": rng.choice([True, False, None]),
        }
        for i in range(EVENTS)
    ]
    table = pa.Table.from_pylist(rows[first:last], schema=pa.schema(
        [("ts", pa.int64()), ("acc", pa.string()), ("amnt", pa.float64()), ("n", pa.int64()), ("ok", pa.bool_())]
    ))  # fmt: skip
    return table.set_column(0, "ts", table.column("ts").cast(pa.timestamp("us", "UTC")))


def watermark(table: pa.Table) -> int:
    """What the stream's `WATERMARK` makes of events."""
    newest: int = pc.max(table.column("ts").cast(pa.int64())).as_py()
    return newest - 10_000_000


def has_paths(path: Path) -> bool:
    """Whether a file of a checkpoint is text that may name its directory."""
    return "sources" in path.parts or "_metadata" in path.parts


def run_once(source: Path, where: Path, spark: Any) -> None:
    """The job over what is in `source`, with its checkpoint and output in `where`."""
    from runtime.spark.job.start import Job
    from tests.spark.helpers import ATTEMPTS, run_job

    job = Job(
        inputs={"Trans": str(source)},
        out=str(where / "out"),
        checkpoint=str(where / "checkpoint"),
        once=True,
        buckets=2,
        restart=f"on-failure:{ATTEMPTS}",
    )
    run_job(spark, job, list(cep.compile_file(str(PATTERNS)).values()))


def main(version: str) -> None:
    """Write everything of one release."""
    from runtime.spark.job.session import open_session

    target = HERE / version
    target.mkdir()
    first = events(0, HALF)
    for name, plan in cep.compile_file(str(PATTERNS)).items():
        engine = runtime.Engine(plan)
        engine.push(first, watermark(first)).read_all()
        (target / f"{name}.snapshot").write_bytes(engine.snapshot())
    with tempfile.TemporaryDirectory() as directory:
        where = Path(directory)
        (where / "Trans").mkdir()
        pq.write_table(first, where / "Trans" / "part-0000.parquet")
        spark = open_session("cep", "local[2]", {}, 2, local_checkpoint=True)
        run_once(where / "Trans", where, spark)
        spark.stop()
        for path in (where / "checkpoint").rglob("*"):
            if path.name.endswith(".crc"):
                path.unlink()
            elif path.is_file() and has_paths(path):
                path.write_text(path.read_text().replace(str(where), PLACE))
        with tarfile.open(target / "checkpoint.tar.gz", "w:gz") as archive:
            archive.add(where / "checkpoint", "checkpoint")


if __name__ == "__main__":
    main(sys.argv[1])

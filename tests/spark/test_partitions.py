"""A job reads directories of partitions as `cep replay` does, and counts the values of its columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from runtime.spark.errors import JobError
from runtime.spark.job.start import Job
from runtime.spark.watch.fit import Fit
from tests.spark.helpers import ATTEMPTS, compiled, run_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATTERN = """\
STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE, day STRING, shop INT) TIMESTAMP BY ts WATERMARK 2 DAYS;
PATTERN Rise
  SEQ(Trans a, Trans b)
  WHERE a.acc = b.acc AND b.amnt > a.amnt
  WITHIN 2 DAYS
  RETURN a.day AS first, b.day AS last, b.shop AS shop;
"""


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_directories_of_partitions_are_read_with_the_values_in_their_names(
    spark: SparkSession, tmp_path: Path, ending: str
) -> None:
    early = {"ts": "2024-03-01T12:00:00Z", "acc": "x", "amnt": 1.0}
    late = {"ts": "2024-03-02T00:00:00Z", "acc": "x", "amnt": 2.0}
    write(tmp_path / f"Trans/day=2024-03-01/shop=7/part-0.{ending}", [early, {**early, "acc": None}])
    write(tmp_path / f"Trans/day=2024-03-02/shop=8/part-0.{ending}", [late])
    plans = compiled(PATTERN)
    job = Job(
        inputs={"Trans": str(tmp_path / "Trans")}, out=str(tmp_path / "out"), checkpoint=str(tmp_path / "checkpoint"),
        once=True, buckets=2, restart=f"on-failure:{ATTEMPTS}",
    )  # fmt: skip
    batches = run_job(spark, job, plans)
    (file,) = (tmp_path / "out").glob("*.jsonl")
    assert json.loads(file.read_text())["fields"] == {"first": "2024-03-01", "last": "2024-03-02", "shop": 8}

    counted = [batch for batch in batches if batch.total_events]
    assert sum(batch.values["Trans"]["acc"] for batch in counted) == 2
    assert sum(batch.values["Trans"]["ts"] for batch in counted) == 3
    fit = Fit(plans, job.inputs, kind=None, strict=True)

    def look() -> None:
        for batch in counted:
            fit.look(batch)

    with pytest.raises(JobError, match=r"1 of . events have no partition key \(`acc` is NULL\)"):
        look()

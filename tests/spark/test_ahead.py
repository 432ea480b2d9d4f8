"""Jobs and DataFrames with events that are dated ahead of the clock, and with times in declared formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cep
from cep.ir.types import Type
from connectors.files.times import OFF, TimeColumn, at_clock
from connectors.kafka.decode import decode
from runtime.spark import detect
from runtime.spark.errors import JobError
from runtime.spark.job.start import Job
from tests.spark.helpers import ATTEMPTS, compiled, run_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXT = """
STREAM T (at TIMESTAMP, n INT) TIMESTAMP BY at WATERMARK 1 SECOND;
PATTERN P SEQ(T a, T b) WHERE a.n < b.n WITHIN 1 HOUR RETURN a.n AS a, b.n AS b;
"""
FIRST = [("2024-01-01T00:00:00Z", 1), ("9000-01-01T00:00:00Z", 2)]
SECOND = [("2024-01-01T00:00:10Z", 3)]


def write(folder: Path, kind: str, number: int, rows: list[tuple[str, int]]) -> None:
    folder.mkdir(exist_ok=True)
    if kind == "parquet":
        times = pa.array([at for at, _ in rows]).cast(pa.timestamp("us", "UTC"))
        pq.write_table(pa.table({"at": times, "n": [n for _, n in rows]}), folder / f"{number}.parquet")
    else:
        text = "".join(json.dumps({"at": at, "n": n}) + "\n" for at, n in rows)
        (folder / f"{number}.jsonl").write_text(text)


def run(spark: SparkSession, where: Path, into: str = "out", **options: Any) -> list[tuple[int, int]]:
    """The matches of a job over `where/in` that reads a file a batch."""
    job = Job(
        inputs={"T": str(where / "in")},
        out=str(where / into),
        checkpoint=str(where / f"checkpoint-{into}"),
        once=True,
        buckets=1,
        max_files=1,
        restart=f"on-failure:{ATTEMPTS}",
        **options,
    )
    run_job(spark, job, compiled(TEXT))
    return sorted((match["fields"]["a"], match["fields"]["b"]) for match in written(where / into))


def written(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in folder.glob("*.jsonl") for line in path.open()]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_an_event_ahead_does_not_blind_a_job(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """By default: the limit is a day. The second file, in a batch of its own, is not late."""
    write(tmp_path / "in", kind, 1, FIRST)
    write(tmp_path / "in", kind, 2, SECOND)
    with pytest.raises(JobError, match="at most 1 DAY after the clock of this machine"):
        run(spark, tmp_path)
    letters = tmp_path / "letters"
    assert run(spark, tmp_path, on_error=f"dead-letter={letters}") == [(1, 3)]
    (letter,) = [json.loads(line) for path in letters.iterdir() for line in path.open()]
    assert "--max-ahead" in letter["error"]
    assert "9000-01-01" in letter["raw"]


def test_the_way_back_for_a_job_that_is_blinded(spark: SparkSession, tmp_path: Path) -> None:
    """As in docs/deploying.md: a new checkpoint. What was found before comes again, with the same ids."""
    write(tmp_path / "in", "jsonl", 1, [("2024-01-01T00:00:00Z", 1), ("2024-01-01T00:00:05Z", 2)])
    write(tmp_path / "in", "jsonl", 2, FIRST[1:])
    write(tmp_path / "in", "jsonl", 3, SECOND)
    assert run(spark, tmp_path, max_ahead=OFF) == [(1, 2)]
    write(tmp_path / "in", "jsonl", 4, [("2024-01-01T00:00:20Z", 4)])
    assert run(spark, tmp_path) == [(1, 2)], "a restart does not heal: the checkpoint remembers"
    assert run(spark, tmp_path, "again", on_error="skip") == [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
    (before,) = written(tmp_path / "out")
    assert before["id"] in {match["id"] for match in written(tmp_path / "again")}


def test_dataframes_obey_the_clause_and_the_formats(spark: SparkSession) -> None:
    text = """
    STREAM T (at TIMESTAMP {format}, n INT) TIMESTAMP BY at MAX AHEAD 1 DAY;
    PATTERN P AND(T a) WHERE a.n > 0 UNBOUNDED RETURN a.at AS at, a.n AS n;
    """

    def found(written: str, rows: str) -> list[tuple[str, int]]:
        frame = spark.sql(f"SELECT * FROM VALUES {rows} AS t(at, n)")
        matches = detect(cep.compile(text.format(format=written)), {"T": frame}).collect()
        return sorted((json.loads(row.fields)["at"], json.loads(row.fields)["n"]) for row in matches)

    moments = [("2024-01-01T12:00:00Z", 1), ("2024-01-01T12:00:01Z", 2)]
    assert found("", "('2024-01-01T12:00:00', 1), ('2024-01-01T12:00:01', 2), ('9000-01-01', 3)") == moments
    assert found("EPOCH SECONDS", "(1704110400, 1), (1704110401, 2), (200000000000, 3)") == moments
    assert found("EPOCH SECONDS", "(1704110400.0D, 1), (1704110401.0D, 2), (2e11D, 3)") == moments
    nanos = "(1704110400000000999L, 1), (1704110401000000000L, 2)"
    assert found("EPOCH NANOSECONDS", nanos) == moments
    assert found("FORMAT '%d.%m.%Y %T'", "('1.1.2024 12:00:00', 1), ('1.1.2024 12:00:01', 2)") == moments


def test_records_of_a_topic_are_checked_where_they_are_decoded() -> None:
    """Both Kafka sources decode with columns that know the clock."""
    now = 1_704_110_400_000_000
    columns = at_clock([("at", TimeColumn(None, 86_400_000_000)), ("n", Type.INT)], now)
    values = [b'{"at": "2024-01-02T12:00:00Z", "n": 1}', b'{"at": "2024-01-02T12:00:00.000001Z", "n": 2}']
    batch, errors = decode(pa.array(values, pa.binary()), columns)
    assert batch.column("n").to_pylist() == [1, None]
    assert [error.row for error in errors] == [1]
    assert "which says 2024-01-01T12:00:00Z (--max-ahead, MAX AHEAD)" in errors[0].reason

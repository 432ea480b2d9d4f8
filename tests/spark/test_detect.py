"""`detect` on streaming and batch DataFrames gives the matches of an engine in this process, with the same ids."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cep
from connectors.staging import STAGED
from runtime.spark import JobError, detect
from runtime.spark.ends.directory import FilePublication, FileStager
from runtime.spark.ends.sinks import Outlet
from tests.spark.helpers import (
    CARD,
    JOB,
    compiled,
    cut,
    expected,
    ids,
    lines_in,
    logins,
    shuffled,
    to_the_end,
    trans,
    tuples,
    write_parts,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TRANS = "ts TIMESTAMP, acc STRING, amnt DOUBLE"
LOGIN = "at TIMESTAMP, user STRING, ok BOOLEAN, tries BIGINT"
SECOND = 1_000_000


def stream(spark: SparkSession, path: Path, schema: str) -> DataFrame:
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(path))


def run(matches: DataFrame, out: Path, checkpoint: Path) -> list[Any]:
    """Run to the end of the input; what the batches reported."""
    rows = matches.mapInArrow(FileStager(directory=str(out), job="job"), STAGED)
    outlet = Outlet(matches=FilePublication(directory=str(out), job="job").publish)
    writer = rows.writeStream.foreachBatch(outlet).outputMode("append")
    return to_the_end(writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start)


@pytest.mark.parametrize("buckets", [1, 2, 7])
def test_a_job_of_several_patterns_and_streams_finds_what_an_engine_finds(
    spark: SparkSession, tmp_path: Path, buckets: int
) -> None:
    plans = compiled(JOB)
    events = {"Trans": trans(500, buckets), "Login": logins(150, buckets)}
    for name, time in (("Trans", "ts"), ("Login", "at")):
        pieces = cut(shuffled(events[name], time, 9 * SECOND, buckets), 3, buckets)
        write_parts(tmp_path / name, pieces)
    matches = detect(
        plans,
        {"Trans": stream(spark, tmp_path / "Trans", TRANS), "Login": stream(spark, tmp_path / "Login", LOGIN)},
        buckets=buckets,
    )
    progress = run(matches, tmp_path / "out", tmp_path / "checkpoint")
    bag = [plan for plan in plans if not plan.distinct]
    distinct = [plan for plan in plans if plan.distinct]
    found = lines_in(tmp_path / "out")
    of_distinct = Counter({line: count for line, count in found.items() if '"pattern": "Rising"' in line})
    assert found - of_distinct == expected(bag, events)
    # It may be emitted again once it was not alive, and what it began with depends on the order of arrival.
    assert tuples(of_distinct) == tuples(expected(distinct, events))
    assert sum(p.observedMetrics["cep"].late or 0 for p in progress) == 0
    assert sum(p.observedMetrics["cep:Trans"].events or 0 for p in progress) == 500
    # One scan of each source, however many patterns use it.
    assert sum(p.numInputRows for p in progress) == 650


def test_a_batch_dataframe_gives_the_same_matches(spark: SparkSession) -> None:
    plans = compiled(JOB)
    events = {"Trans": trans(500, 3), "Login": logins(150, 3)}
    frames = {name: spark.createDataFrame(table) for name, table in events.items()}
    rows = detect(plans, frames, buckets=3).collect()
    assert Counter(row.id for row in rows) == ids(expected(plans, events))
    row = next(row for row in rows if row.pattern == "CardTesting")
    assert row.key.startswith("A")
    assert row.start < row.end


def test_the_watermark_is_the_least_of_the_streams_and_counts_events_that_no_pattern_wants(
    spark: SparkSession, tmp_path: Path
) -> None:
    events = trans(240)
    slow = logins(30)
    write_parts(tmp_path / "Trans", cut(events, 3, 8))
    write_parts(tmp_path / "Login", [slow.slice(0, 10), slow.slice(10, 10), slow.slice(20, 10)])
    plan = compiled(JOB.replace("t.amnt > 300", "t.amnt > 100000"), "Takeover")
    matches = detect(
        plan,
        {"Trans": stream(spark, tmp_path / "Trans", TRANS), "Login": stream(spark, tmp_path / "Login", LOGIN)},
        buckets=1,
    )
    progress = run(matches, tmp_path / "out", tmp_path / "checkpoint")
    # Login's newest time in the first two files is that of its 20th event; its watermark is 10 seconds behind.
    assert progress[-1].eventTime["watermark"] == "2024-01-01T00:00:22.301Z"


def test_late_events_are_dropped_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    events = trans(200)
    write_parts(tmp_path / "Trans", [events.slice(100), events.slice(0, 100)])
    plans = compiled(CARD)
    progress = run(
        detect(plans, {"Trans": stream(spark, tmp_path / "Trans", TRANS)}, buckets=2),
        tmp_path / "out",
        tmp_path / "checkpoint",
    )
    # The watermark after the first file is 10 seconds before event 199: events up to 178 are older.
    late = sum(p.observedMetrics["cep"].late or 0 for p in progress)
    usable = [row["amnt"] for row in events.slice(0, 100).to_pylist() if row["amnt"] is not None]
    assert late == sum(amount < 100 or amount > 400 for amount in usable)
    assert lines_in(tmp_path / "out") == expected(plans, {"Trans": events.slice(100)})


def test_columns_come_in_several_types(spark: SparkSession) -> None:
    text = """
    STREAM T (at TIMESTAMP, n INT, x DOUBLE, missing STRING) TIMESTAMP BY at;
    PATTERN P AND(T a) WHERE a.n > 1 UNBOUNDED RETURN a.at AS at, a.x AS x, a.missing AS missing;
    """
    frame = spark.sql(
        "SELECT * FROM VALUES (1704067200000L, 1S, 2), (1704067201500L, 2S, 3) AS t(at, n, x)"
    ).selectExpr("at", "n", "CAST(x AS DECIMAL(5, 1)) AS x", "'unknown' AS other")
    (row,) = detect(cep.compile(text), {"T": frame}).collect()
    assert row.fields == '{"at": "2024-01-01T00:00:01.500Z", "x": 3.0, "missing": null}'
    texts = frame.selectExpr(
        "element_at(array('2024-01-01', '2024-01-01T01:00:00+01:00'), CAST(n AS INT)) AS at", "n", "x"
    )
    (row,) = detect(cep.compile(text), {"T": texts}).collect()
    assert row.fields.startswith('{"at": "2024-01-01T00:00:00Z"')


def test_what_does_not_fit_is_said_before_anything_runs(spark: SparkSession) -> None:
    plans = compiled(CARD)
    with pytest.raises(JobError, match="stream `Trans` has no events: bind it"):
        detect(plans, {})
    with pytest.raises(JobError, match=r"column `amnt` is declared DOUBLE, found string"):
        detect(plans, {"Trans": spark.sql("SELECT now() AS ts, 'a' AS acc, 'x' AS amnt")})
    with pytest.raises(JobError, match=r"expected a column `ts`, found tss, acc; did you mean `tss`\?"):
        detect(plans, {"Trans": spark.sql("SELECT now() AS tss, 'a' AS acc")})
    with pytest.raises(JobError, match="two called `CardTesting`"):
        detect([*plans, *plans], {"Trans": spark.sql("SELECT now() AS ts")})


def test_another_state_store_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    name = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(name)
    write_parts(tmp_path / "Trans", [trans(1)])
    spark.conf.set(name, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(JobError, match="expected the RocksDB state store, found HDFSBackedStateStoreProvider"):
            detect(compiled(CARD), {"Trans": stream(spark, tmp_path / "Trans", TRANS)})
    finally:
        spark.conf.set(name, str(before))

"""Patterns that wait, on Spark: the matches of an engine in this process, when and not before they are final."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import runtime
from connectors.files.match_writer import match_lines
from runtime.spark import JobError, detect
from runtime.spark.flow.dataflow import EMPTY_BATCHES
from runtime.spark.watch.progress import batch_of
from tests.spark.helpers import START, compiled, cut, ids, lines_in, logins, shuffled, trans, tuples, write_parts
from tests.spark.test_detect import LOGIN, TRANS, run, stream
from tests.spark.test_waiting import JOB, STREAMS, TRAILING, at, login, settled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
NAMES = ("Trans", "Login")


@pytest.fixture(autouse=True)
def batches_without_data(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(EMPTY_BATCHES)
    spark.conf.set(EMPTY_BATCHES, "true")
    yield
    spark.conf.set(EMPTY_BATCHES, str(before))


def watermark(progress: Any) -> int:
    return int(datetime.fromisoformat(progress.eventTime["watermark"]).timestamp() * 1000) * 1000


def job(spark: SparkSession, directory: Path, plans: Any, buckets: int) -> list[Any]:
    """Run to the end of what is there, in a query of its own: engines are built from the log."""
    frames = {name: stream(spark, directory / name, schema) for name, schema in zip(NAMES, (TRANS, LOGIN), strict=True)}
    return run(detect(plans, frames, buckets=buckets), directory / "out", directory / "checkpoint")


@pytest.mark.parametrize("buckets", [1, 2])
def test_what_waits_is_put_out_when_it_is_final_across_batches_and_restarts(
    spark: SparkSession, tmp_path: Path, buckets: int
) -> None:
    plans = compiled(JOB)
    events = {"Trans": trans(500, buckets), "Login": logins(150, buckets)}
    pieces = {
        name: cut(shuffled(events[name], time, 9 * SECOND, buckets), 4, buckets)
        for name, time in (("Trans", "ts"), ("Login", "at"))
    }
    seen: dict[str, pa.Table] = {}
    for part in (slice(0, 2), slice(2, 4)):
        for name in NAMES:
            write_parts(tmp_path / name, pieces[name][part], part.start)
            seen[name] = pa.concat_tables(pieces[name][: part.stop])
        progress = job(spark, tmp_path, plans, buckets)
        found = lines_in(tmp_path / "out")
        once = [f'"pattern": "{plan.pattern}"' for plan in plans if plan.distinct]
        distinct = Counter({line: count for line, count in found.items() if any(name in line for name in once)})
        reached = watermark(progress[-1])
        assert ids(found - distinct) == ids(settled([p for p in plans if not p.distinct], seen, reached))
        assert tuples(distinct) == tuples(settled([p for p in plans if p.distinct], seen, reached))
        assert sum(p.observedMetrics["cep"].late or 0 for p in progress) == 0
    waiting = batch_of(progress[-1], NAMES, []).waiting
    assert sum(rows for rows, _ in waiting.values()) > 0
    assert all(due is None or due > reached for _, due in waiting.values())


def test_the_end_of_a_batch_dataframe_settles_everything(spark: SparkSession) -> None:
    plans = compiled(JOB)
    events = {"Trans": trans(300, 3), "Login": logins(90, 3)}
    frames = {name: spark.createDataFrame(table) for name, table in events.items()}
    found = Counter((row.pattern, row.id) for row in detect(plans, frames, buckets=3).collect())
    wanted: Counter[tuple[str, str]] = Counter()
    for plan in plans:
        engine = runtime.Engine(plan)
        mine = {stream.name: events[stream.name] for stream in plan.streams}
        for batch in (*engine.push(mine, None), *engine.finish()):
            wanted.update((plan.pattern, each) for each in ids(Counter(match_lines(batch, plan.pattern).to_pylist())))
    assert found == wanted


def test_silence_is_told_in_a_bucket_that_gets_no_events(spark: SparkSession, tmp_path: Path) -> None:
    plans = compiled(STREAMS + TRAILING)
    write_parts(tmp_path / "Trans", [at(0)["Trans"]])
    write_parts(tmp_path / "Login", [login(1).pop("Login").slice(0, 0)])
    job(spark, tmp_path, plans, 2)
    assert not lines_in(tmp_path / "out")
    # The watermark moves by events of other accounts, and the last batch has none at all.
    write_parts(tmp_path / "Trans", [at(25, "A1")["Trans"]], 1)
    write_parts(tmp_path / "Login", [other_login(25.002)], 1)
    progress = job(spark, tmp_path, plans, 2)
    assert watermark(progress[-1]) == START + 15 * SECOND, "the window ends with this moment"
    assert progress[-1].numInputRows == 0
    assert not lines_in(tmp_path / "out")
    write_parts(tmp_path / "Trans", [at(25.001, "A1")["Trans"]], 2)
    write_parts(tmp_path / "Login", [other_login(25.002)], 2)  # Spark does not remember what each stream had reached
    progress = job(spark, tmp_path, plans, 2)
    assert watermark(progress[-1]) == START + 15 * SECOND + 1000
    (line,) = lines_in(tmp_path / "out")
    assert '"a.acc":"A0"' in line.replace(": ", ":")
    assert sum(lines_in(tmp_path / "out").values()) == 1


def test_a_session_that_never_tells_of_the_watermark_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set(EMPTY_BATCHES, "false")
    write_parts(tmp_path / "Trans", [at(0)["Trans"]])
    write_parts(tmp_path / "Login", [login(1)["Login"]])
    with pytest.raises(JobError, match=r"noDataMicroBatches.enabled=true for a pattern that waits"):
        job(spark, tmp_path, compiled(STREAMS + TRAILING), 2)


def other_login(seconds: float) -> pa.Table:
    table = login(seconds)["Login"]
    return table.set_column(1, "user", pa.array(["A3"]))

"""Events that share a moment with another of their key: counted in each batch, told when they begin and at the end."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from structlog.testing import capture_logs

from runtime.spark.job.start import Job
from runtime.spark.state import cache, host
from runtime.spark.state.processor import Matcher
from runtime.spark.watch.progress import Batch, batch_of
from runtime.spark.watch.ties import Ties
from tests.spark.fakes import Store, packed, run_batch
from tests.spark.helpers import ATTEMPTS, START, compiled, run_job, write_parts
from tests.spark.test_late import TWO_KEYS, made, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

ORDERED = TWO_KEYS.replace("WATERMARK 10 SECONDS", "WATERMARK 10 SECONDS ORDER BY device")


def events(*rows: tuple[int, str, int]) -> pa.Table:
    """Second, account and device of events that every pattern wants."""
    return pa.table(
        {
            "ts": pa.array([START + at * 1_000_000 for at, _, _ in rows], pa.timestamp("us", "UTC")),
            "acc": [account for _, account, _ in rows],
            "device": pa.array([device for _, _, device in rows], pa.int64()),
            "amnt": [200.0] * len(rows),
            "note": [""] * len(rows),
        }
    )


CROWD = events((1, "A1", 1), (1, "A1", 2), (1, "A1", 3), (2, "A1", 4), (2, "A2", 4), (3, "A2", 5), (1, "A2", 6))
"""Three share moment and account, two moment and device."""


def put_out(plans: Sequence[Any], table: pa.Table, *, hosted: bool = False) -> dict[tuple[str, str], int]:
    parts = made(plans, every_column=False)
    cache._ENGINES = {}
    rows = run_batch(
        Matcher(parts, "0123456789ab", hosted=hosted), Store(), list(packed(parts, {"Trans": table}, place)), None
    )
    found: dict[tuple[str, str], int] = {}
    for row in rows:
        if row["ties"]:
            key = row["pattern"], row["stream"]
            found[key] = found.get(key, 0) + row["ties"]
    return found


@pytest.mark.parametrize("hosted", [False, True])
def test_each_group_counts_by_its_own_key(hosted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(host, "_LONGEST_PATH", 107)
    assert put_out(compiled(TWO_KEYS), CROWD, hosted=hosted) == {("ByAccount", "Trans"): 3, ("ByDevice", "Trans"): 2}


def test_nothing_is_counted_where_an_attribute_orders_them_or_no_seq_compares_them() -> None:
    assert put_out(compiled(ORDERED), CROWD) == {}
    assert put_out(compiled(TWO_KEYS, "Alone"), CROWD) == {}
    assert put_out(compiled(TWO_KEYS), CROWD.slice(3)) == {("ByDevice", "Trans"): 2}


def batch(number: int = 0, **ties: int) -> Batch:
    return Batch(
        number=number, events={}, matches={}, late=0, watermark=None, lag=None, state_bytes=0, rebuilt=0, seconds=0.0,
        commit_seconds=0.0, ties=ties,
    )  # fmt: skip


def test_they_are_told_when_they_begin_and_at_the_end_and_not_in_between() -> None:
    with capture_logs() as logs, Ties() as ties:
        ties.look(batch(Trans=0, Login=0))
        assert logs == []
        ties.look(batch(Trans=3))
        ties.look(batch(Login=1))
        assert len(logs) == 2
        ties.look(batch(Trans=4))
        assert len(logs) == 2
    assert [(log["stream"], log["events"]) for log in logs] == [("Trans", 3), ("Login", 1), ("Trans", 7)]
    assert logs[2]["what"] == (
        "7 events share a moment with another of their key; SEQ does not order them: ORDER BY in the stream"
    )


def test_they_are_told_also_where_the_job_fails() -> None:
    with capture_logs() as logs, suppress(RuntimeError), Ties() as ties:
        ties.look(batch(Trans=3))
        ties.look(batch(Trans=3))
        raise RuntimeError
    assert [log["events"] for log in logs] == [3, 6]


def test_of_several_keys_a_batch_reports_the_one_with_most() -> None:
    counts = {"ties:Trans:ByAccount": 3, "ties:Trans:ByDevice": 5, "ties:Login:ByAccount": None, "late": 0}
    progress = SimpleNamespace(
        observedMetrics={"cep": SimpleNamespace(asDict=lambda: counts)},
        sources=[], eventTime={}, durationMs={}, batchId=4,
    )  # fmt: skip
    assert batch_of(progress, ["Trans", "Login"], []).ties == {"Trans": 5, "Login": 0}


def test_a_job_counts_them(spark: SparkSession, tmp_path: Path) -> None:
    write_parts(tmp_path / "Trans", [CROWD.slice(0, 4), CROWD.slice(4)])
    job = Job(
        inputs={"Trans": str(tmp_path / "Trans")},
        out=str(tmp_path / "out"),
        checkpoint=str(tmp_path / "checkpoint"),
        once=True,
        buckets=2,
        restart=f"on-failure:{ATTEMPTS}",
    )
    batches = run_job(spark, job, compiled(TWO_KEYS))
    assert sum(batch.ties.get("Trans", 0) for batch in batches) == 3

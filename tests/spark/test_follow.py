"""Every batch is counted exactly once: after idleness, when many pass at once, and when the job is stopped."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runtime.spark.ends.directory import FilePublication
from runtime.spark.job.start import Job, prepare
from runtime.spark.job.supervise import Supervisor
from tests.spark.helpers import ATTEMPTS, CARD, Shared, compiled, trans, write_parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from runtime.spark.watch.progress import Batch

PATIENCE = 600.0


class Running:
    """A job over `where/Trans` to `where/out`, followed in a thread."""

    def __init__(self, spark: SparkSession, where: Path, pause: float = 0, **options: Any) -> None:
        settings: dict[str, Any] = {"buckets": 2, "max_files": 1, "restart": f"on-failure:{ATTEMPTS}"} | options
        job = Job(
            inputs={"Trans": str(where / "Trans")}, out=str(where / "out"), checkpoint=str(where / "c"), **settings
        )
        prepared = prepare(job, compiled(CARD))
        self.batches: list[Batch] = []
        self.stop = threading.Event()
        self.pause = pause
        self._supervisor = Supervisor(
            prepared=prepared,
            sessions=Shared(spark),
            report=self._report,
            restarted=lambda: None,
            stopping=self.stop.is_set,
        )
        self.errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._follow)
        self._thread.start()

    def _follow(self) -> None:
        try:
            self._supervisor.run()
        except BaseException as error:
            self.errors.append(error)

    def _report(self, batch: Batch) -> None:
        time.sleep(self.pause)
        self.batches.append(batch)

    def wait(self) -> None:
        """Until the query ends by itself."""
        self._thread.join(PATIENCE)

    def end(self) -> list[tuple[int, int]]:
        """Ask it to stop; what it reported: (batch, events)."""
        self.stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        assert not self.errors, self.errors
        return [(batch.number, batch.total_events) for batch in self.batches]


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def idle_soon(spark: SparkSession) -> Any:
    """Spark says after a moment of idleness, instead of ten seconds, that there is nothing to do."""
    name = "spark.sql.streaming.noDataProgressEventInterval"
    spark.conf.set(name, "100")
    yield
    spark.conf.unset(name)


@pytest.mark.usefixtures("idle_soon")
def test_the_first_batch_after_idleness_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    write_parts(tmp_path / "Trans", [trans(30)])
    job = Running(spark, tmp_path)
    until(lambda: (tmp_path / "c" / "commits" / "0").exists())
    time.sleep(2)  # several times what it takes to be called idle
    write_parts(tmp_path / "Trans", [trans(45).slice(30)], first=1)
    until(lambda: (tmp_path / "c" / "commits" / "1").exists())
    time.sleep(2)
    write_parts(tmp_path / "Trans", [trans(65).slice(45)], first=2)
    until(lambda: (tmp_path / "c" / "commits" / "2").exists())
    assert job.end() == [(0, 30), (1, 15), (2, 20)]


@pytest.mark.slow
def test_no_batch_is_lost_among_many_short_ones(spark: SparkSession, tmp_path: Path) -> None:
    """Spark keeps the last few progresses only; the report here is slower than the batches."""
    name = "spark.sql.streaming.numRecentProgressUpdates"
    spark.conf.set(name, "1")
    try:
        events = trans(60)
        write_parts(tmp_path / "Trans", [events.slice(number * 10, 10) for number in range(6)])
        job = Running(spark, tmp_path, once=True, pause=3.0)
        job.wait()
        assert job.end() == [(number, 10) for number in range(6)]
    finally:
        spark.conf.unset(name)


def test_the_batch_in_flight_is_finished_and_counted_and_no_other_is_begun(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, release = threading.Event(), threading.Event()
    publish = FilePublication.publish

    def slow(*arguments: Any) -> None:
        entered.set()
        release.wait(PATIENCE)
        publish(*arguments)

    monkeypatch.setattr(FilePublication, "publish", slow)
    write_parts(tmp_path / "Trans", [trans(30), trans(45).slice(30), trans(65).slice(45)])
    job = Running(spark, tmp_path)
    assert entered.wait(PATIENCE)
    job.stop.set()
    time.sleep(1)  # it must not give up on the batch meanwhile
    release.set()
    assert job.end() == [(0, 30)]
    assert [path.name for path in (tmp_path / "c" / "commits").glob("[0-9]*")] == ["0"]


@pytest.mark.slow
def test_batches_before_a_failure_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    write_parts(tmp_path / "Trans", [trans(30), trans(45).slice(30)])
    broken = tmp_path / "Trans" / "part-0002.parquet"
    broken.write_bytes(b"PAR1 no more")
    os.utime(broken, (1_700_000_002, 1_700_000_002))
    job = Running(spark, tmp_path, once=True)
    job.wait()
    assert "cannot be read" in str(job.errors)
    job.errors.clear()
    assert job.end() == [(0, 30), (1, 15)]


def test_a_stop_before_the_first_batch_begins_none(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "Trans").mkdir()
    job = Running(spark, tmp_path, kind="parquet")
    assert job.end() == []

"""A query on its way: every batch that it commits is reported exactly once, and it is stopped between two batches.

Spark tells of a batch in a *progress*, after it has committed the batch. While there is nothing to do it tells of that
too, in progresses that carry the number of the batch to come; only those with an `addBatch` are batches. They come
through a listener, so none is missed however many pass between two looks (`recentProgress` keeps the last hundred), and
the listener hears of the query's end after all of its batches.

Stopping: Spark's `stop` interrupts whatever runs, also between the commit of a batch and its progress. So the batch
function of the sink stands behind a *gate*. Once the gate is closed no further batch is committed; the one that is
inside is waited for, and then the query is stopped.

Not guaranteed: a driver that is killed between the commit of a batch and its progress does not report that batch; nor
is there a gate on a Spark Connect server, where the sink runs: there the batch that is interrupted is repeated by the
next run.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from connectors.cap import Tally
from runtime.spark.watch.progress import Batch, batch_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_POLL = 0.2
_FAREWELL = 30.0
"""Seconds to wait for the listener to hear that the query has ended; it takes milliseconds where Java is alive."""


class GateClosedError(Exception):
    """The job is being stopped: this batch is left to the next run."""


class Gate:
    """Lets batches through to the sink until it is closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._entered: int | None = None

    def enter(self, batch: int) -> None:
        """A batch comes; `GateClosedError` where no more are wanted."""
        with self._lock:
            if self._closed:
                raise GateClosedError
            self._entered = batch

    def close(self) -> int | None:
        """Let no batch through any more. The last one that went through, None where there was none."""
        with self._lock:
            self._closed = True
            return self._entered

    def __reduce__(self) -> tuple[type[Gate], tuple[()]]:
        """A copy on a Connect server is open: nobody there can close it."""
        return Gate, ()


@dataclass(frozen=True, slots=True)
class Gated:
    """For `foreachBatch`: a batch function behind a gate."""

    gate: Gate
    function: Callable[[DataFrame, int], None]

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Process a batch, if it may pass."""
        self.gate.enter(batch)
        self.function(rows, batch)


class Progresses:
    """What the queries of a session say of themselves, from now on."""

    def __init__(self, spark: SparkSession) -> None:
        from pyspark.sql.streaming.listener import StreamingQueryListener

        said: deque[Any] = deque()
        ended: set[str] = set()
        news = threading.Condition()

        class Listener(StreamingQueryListener):
            def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names
                pass

            def onQueryProgress(self, event: Any) -> None:  # noqa: N802
                said.append(event.progress)

            def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
                with news:
                    ended.add(str(event.runId))
                    news.notify_all()

        self._said = said
        self._ended = ended
        self._news = news
        self._spark = spark
        self._listener = Listener()
        spark.streams.addListener(self._listener)

    def fresh(self) -> Iterator[Any]:
        """The progresses that came since the last call."""
        while self._said:
            yield self._said.popleft()

    def wait_for_end(self, run: str) -> bool:
        """Wait until the end of a run has been heard of: all of its progresses have, then."""
        with self._news:
            return self._news.wait_for(lambda: run in self._ended, _FAREWELL)

    def close(self) -> None:
        """Listen no more."""
        with contextlib.suppress(Exception):  # Java may be gone
            self._spark.streams.removeListener(self._listener)


@dataclass(slots=True, kw_only=True)
class Running:
    """A query that was started, with what is needed to follow it."""

    query: StreamingQuery
    progresses: Progresses
    gate: Gate
    streams: Sequence[str]
    patterns: Sequence[str]
    topics: Sequence[str]
    tally: Tally = field(default_factory=Tally)
    reported: int = field(default=-1, init=False)

    def batches(self, progresses: Iterator[Any]) -> Iterator[Batch]:
        """Of what was said, the batches of this run that were not reported yet."""
        run = str(self.query.runId)
        for progress in progresses:
            if str(progress.runId) == run and "addBatch" in progress.durationMs and progress.batchId > self.reported:
                self.reported = progress.batchId
                batch = batch_of(progress, self.streams, self.patterns, self.topics)
                yield replace(
                    batch,
                    truncated=self.tally.truncated.pop(batch.number, 0),
                    too_large=self.tally.too_large.pop(batch.number, 0),
                )


def follow(running: Running, report: Callable[[Batch], None], stopping: Callable[[], bool]) -> None:
    """Report each batch until the query ends, or until it has finished its batch after `stopping` says so.

    Raises what ended the query, when all batches before that were reported.
    """
    query = running.query
    try:
        while not query.awaitTermination(_POLL):  # type: ignore[arg-type]  # fractions of a second are fine
            for batch in running.batches(running.progresses.fresh()):
                report(batch)
            if stopping():
                inside = running.gate.close()
                if inside is None or running.reported >= inside:
                    query.stop()
                    break
    except Exception as error:
        if not (stopping() and GateClosedError.__name__ in str(error)):
            raise
    finally:
        _report_the_rest(running, report)
        running.progresses.close()


def _report_the_rest(running: Running, report: Callable[[Batch], None]) -> None:
    """The query has ended: what was not reported yet."""
    missed: list[Any] = []
    with contextlib.suppress(Exception):  # Java may be gone, and then nothing more will be said
        if not running.query.isActive and not running.progresses.wait_for_end(str(running.query.runId)):
            missed = list(running.query.recentProgress)
    for batch in running.batches(iter([*running.progresses.fresh(), *missed])):
        report(batch)

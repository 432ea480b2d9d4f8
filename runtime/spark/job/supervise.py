"""A job that lives through passing trouble: its query is started again from the checkpoint, after a while.

A failure that may pass (`runtime.spark.errors.judge`) ends the attempt: its session is stopped, and with it go its
Python workers and engine hosts. The next attempt has a session of its own, with a new Java process where the old one
is gone, takes the next generation at the publisher, and goes on from the checkpoint. Between attempts lies one second,
then two, four and so on up to a minute; a batch that succeeds starts the count anew. A signal ends the wait at once.

Failures that will not pass, those before the first start included, end the job.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import structlog

from runtime.spark.errors import Final, JobError, SparkStartError, judge
from runtime.spark.job.start import Prepared, is_local, redacted, ship, start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from runtime.spark.watch.progress import Batch

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
TRIES_OF_ONE_RUN = 3
"""Restarts in a row with `--once`: somebody waits for the end."""
_POLL = 0.1
logger = structlog.get_logger()


def restarts(text: str, *, once: bool) -> int | None:
    """How many restarts in a row `--restart` allows; None: as many as it takes. `ValueError` says what is expected.

    >>> restarts("never", once=False), restarts("on-failure", once=False), restarts("on-failure:5", once=True)
    (0, None, 5)
    """
    kind, colon, count = text.partition(":")
    if kind == "never" and not colon:
        return 0
    if kind == "on-failure" and not colon:
        return TRIES_OF_ONE_RUN if once else None
    if kind == "on-failure" and count.isdecimal() and int(count) > 0:
        return int(count)
    raise ValueError(f"expected never, on-failure or on-failure:N with N restarts in a row, found {text!r}")


class Sessions(Protocol):
    """Where attempts get their sessions from."""

    def open(self) -> SparkSession:
        """A session for an attempt."""

    def discard(self, spark: SparkSession | None, *, java: bool = False) -> None:
        """The attempt is over; `java`: the next one wants a new Java process."""


@dataclass(frozen=True, slots=True)
class OwnSessions:
    """Sessions as `cep run` opens them."""

    prepared: Prepared

    def open(self) -> SparkSession:
        """See `Sessions`."""
        from runtime.spark.ends import manifest as manifests
        from runtime.spark.job.session import open_session
        from runtime.spark.job.start import redacted

        job = self.prepared.job
        return open_session(
            job.name,
            job.master,
            job.conf,
            self.prepared.manifest.buckets,
            local_checkpoint=manifests.local(job.checkpoint) is not None,
            debug=job.debug,
            redact=lambda line: redacted(job, line),
        )

    def discard(self, spark: SparkSession | None, *, java: bool = False) -> None:
        """See `Sessions`."""
        from runtime.spark.job.session import discard

        discard(spark, java=java)


@dataclass(slots=True, kw_only=True)
class Supervisor:
    """Runs a job to its end. `report` gets each batch, `restarted` is called before each new attempt.

    `stopping` says that the job is to end; it may raise `JobError`, e.g. where the lease is lost.
    """

    prepared: Prepared
    sessions: Sessions
    report: Callable[[Batch], None]
    restarted: Callable[[], None]
    stopping: Callable[[], bool]
    _failures: int = field(default=0, init=False)
    _started: bool = field(default=False, init=False)

    def run(self) -> None:
        """Until the input or the job ends. `JobError` where a failure will not pass, or did not."""
        while True:
            try:
                self._attempt()
            except Exception as error:
                pause = self._pause_after(error)
            else:
                return
            if pause is None or self._wait(pause):
                return
            self.restarted()

    def _attempt(self) -> None:
        from runtime.spark.watch.follow import follow

        job = self.prepared.job
        spark, java = None, False
        try:
            spark = self.sessions.open()
            if not is_local(job.master):
                ship(spark)
            running = start(self.prepared, spark)
            self._started = True
            if self._failures:
                logger.info("restarted", attempt=self._failures + 1)
            follow(running, self._good, self.stopping)
        except Exception as error:
            verdict = judge(error)
            java = not isinstance(verdict, Final) and verdict.needs_java
            raise
        finally:
            self.sessions.discard(spark, java=java)

    def _good(self, batch: Batch) -> None:
        if self._failures:
            logger.info("recovered", batch=batch.number, failures=self._failures)
            self._failures = 0
        self.report(batch)

    def _pause_after(self, error: Exception) -> float | None:
        """Seconds to wait before the next attempt, None where the job was to end anyway; else raises `JobError`."""
        job = self.prepared.job
        verdict = judge(error)
        reason = redacted(job, verdict.reason)
        if isinstance(verdict, Final) or (isinstance(error, SparkStartError) and not self._started):
            raise JobError(reason) from error
        self._failures += 1
        allowed = restarts(job.restart, once=job.once)
        limits = [limit for limit in (allowed, verdict.tries) if limit is not None]
        if self._asked_to_stop():
            logger.warning("failed_while_stopping", reason=reason, then="the next run repeats the batch")
            return None
        if limits and self._failures > min(limits):
            tried = f" (tried {self._failures} times)" if self._failures > 1 else ""
            raise JobError(f"{reason}{tried}") from error
        pause = pause_before(self._failures)
        logger.warning("restart", reason=reason, failure=self._failures, pause_seconds=pause)
        return pause

    def _asked_to_stop(self) -> bool:
        with suppress(JobError):
            return self.stopping()
        return False

    def _wait(self, seconds: float) -> bool:
        """Whether the job was to end before the time was over."""
        until = time.monotonic() + seconds
        while not self.stopping():
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(_POLL, left))
        return True


def pause_before(restart: int) -> float:
    """Seconds before the n-th restart in a row.

    >>> [pause_before(number) for number in (1, 2, 3, 7, 1000)]
    [1.0, 2.0, 4.0, 60.0, 60.0]
    """
    return min(LONGEST_PAUSE, FIRST_PAUSE * (1 << min(restart - 1, 30)))

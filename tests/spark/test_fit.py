"""A job tells once what its events do not have; with --strict-schema it ends, after the batch."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from cep.compiler.pipeline import compile_source
from cep.source import Source
from runtime.spark.errors import JobError
from runtime.spark.watch.fit import Fit
from runtime.spark.watch.progress import Batch

PLANS = compile_source(
    Source(
        "p.cep",
        "STREAM Login (ts TIMESTAMP, usr STRING, city STRING) TIMESTAMP BY ts;"
        "PATTERN P SEQ(Login a, Login b) WHERE a.usr = b.usr AND a.city <> b.city WITHIN 1 MINUTE RETURN a.usr AS usr;",
    )
).plans


def batch(events: int, **values: int) -> Batch:
    return Batch(
        number=0, events={"Login": events}, matches={}, late=0, watermark=None, lag=None, state_bytes=0, rebuilt=0,
        seconds=0.0, commit_seconds=0.0, values={"Login": values},
    )  # fmt: skip


def told(fit: Fit, given: Batch) -> list[str]:
    with capture_logs() as logs:
        fit.look(given)
    assert all(log["log_level"] == "warning" for log in logs)
    return [log["what"] for log in logs]


def test_a_column_without_values_is_told_once() -> None:
    fit = Fit(PLANS, {"Login": "kafka:logins"}, kind=None, strict=False)
    assert told(fit, batch(10, ts=10, usr=0, city=10)) == [
        "stream `Login`: column `usr` has no value in any of 10 events"
    ]
    assert told(fit, batch(10, ts=10, usr=0, city=10)) == []


def test_events_without_time_or_key_are_told_once_and_counted() -> None:
    fit = Fit(PLANS, {"Login": "kafka:logins"}, kind=None, strict=False)
    assert told(fit, batch(10, ts=10, usr=10, city=9)) == []
    assert told(fit, batch(10, ts=7, usr=9, city=9)) == [
        "stream `Login`: 3 of 20 events have no time (`ts` is NULL)",
        "stream `Login`: 1 of 20 events have no partition key (`usr` is NULL)",
    ]
    assert told(fit, batch(10, ts=7, usr=9, city=9)) == []


def test_a_batch_without_events_says_nothing() -> None:
    assert told(Fit(PLANS, {"Login": "kafka:logins"}, kind=None, strict=True), batch(0, ts=0, usr=0, city=0)) == []


def test_the_names_in_files_are_looked_up(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"ts": 0, "User": "u", "city": "A"}\n')
    fit = Fit(PLANS, {"Login": str(tmp_path)}, kind=None, strict=False)
    assert told(fit, batch(1, ts=1, usr=0, city=1)) == [
        "stream `Login`: no record has a column `usr`: did you mean `User`?"
    ]


def test_strict_ends_the_job() -> None:
    fit = Fit(PLANS, {"Login": "kafka:logins"}, kind=None, strict=True)
    fit.look(batch(1, ts=1, usr=1, city=1))
    with pytest.raises(JobError, match="--strict-schema: stream `Login`: 1 of 2 events have no time"):
        fit.look(batch(1, ts=0, usr=1, city=1))

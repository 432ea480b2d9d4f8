"""What a batch did, as Prometheus reads it."""

from __future__ import annotations

import socket
import urllib.request
from dataclasses import replace

import pytest
from prometheus_client import generate_latest

from runtime.spark.errors import JobError
from runtime.spark.watch.fit import Fit
from runtime.spark.watch.metrics import Metrics
from runtime.spark.watch.progress import Batch, log_fields, status_line
from tests.spark.test_fit import PLANS
from tests.spark.test_fit import batch as logins

BATCH = Batch(
    number=1, events={"T": 20, "U": 5}, matches={"P": 2}, late=3, watermark=None, lag=None, state_bytes=10, rebuilt=0,
    seconds=1.0, commit_seconds=0.1, offset_lag={"T": 7}, refused={"T": 4, "U": 0}, truncated=9, too_large=2,
)  # fmt: skip


def test_counters_add_up_over_batches() -> None:
    metrics = Metrics()
    metrics.update(BATCH)
    metrics.update(BATCH)
    served = generate_latest(metrics.registry).decode().splitlines()
    for line in (
        'cep_events_total{stream="T"} 40.0',
        'cep_matches_total{pattern="P"} 4.0',
        'cep_late_events_total{policy="drop"} 6.0',
        "cep_matches_truncated_total 18.0",
        "cep_matches_too_large_total 4.0",
        'cep_dead_letters_total{stream="T"} 8.0',
        'cep_dead_letters_total{stream="U"} 0.0',
        'cep_kafka_consumer_lag{stream="T"} 7.0',
    ):
        assert line in served


def test_what_waits_is_that_of_all_slots_each_as_it_was_seen_last() -> None:
    metrics = Metrics()
    assert "cep_next_due_timestamp NaN" in generate_latest(metrics.registry).decode().splitlines()
    metrics.update(replace(BATCH, waiting={7: (3, 20_000_000), -8: (2, 15_000_000)}))
    metrics.update(replace(BATCH, waiting={-8: (0, None)}))
    served = generate_latest(metrics.registry).decode().splitlines()
    assert "cep_waiting_rows 3.0" in served
    assert "cep_next_due_timestamp 20.0" in served


def test_late_events_that_are_kept_are_told_from_those_that_are_not() -> None:
    metrics = Metrics("keep")
    metrics.update(BATCH)
    served = generate_latest(metrics.registry).decode()
    assert 'cep_late_events_total{policy="keep"} 3.0' in served
    assert 'policy="drop"' not in served


def test_events_and_columns_that_do_not_fit_are_counted() -> None:
    metrics = Metrics()
    fit = Fit(PLANS, {"Login": "kafka:logins"}, strict=True)
    with pytest.raises(JobError):
        fit.look(logins(10, ts=7, usr=10, city=0))
    metrics.update(BATCH, fit=fit)
    served = generate_latest(metrics.registry).decode().splitlines()
    assert 'cep_unfit_events_total{column="ts",stream="Login"} 3.0' in served
    assert 'cep_unfit_events_total{column="usr",stream="Login"} 0.0' in served
    assert 'cep_empty_columns{stream="Login"} 1.0' in served
    fit.look(logins(10, ts=9, usr=10, city=1))
    metrics.update(BATCH, fit=fit)
    fit.look(logins(0))
    metrics.update(BATCH, fit=fit)
    served = generate_latest(metrics.registry).decode().splitlines()
    assert 'cep_unfit_events_total{column="ts",stream="Login"} 4.0' in served, "a batch without events adds nothing"
    assert 'cep_empty_columns{stream="Login"} 0.0' in served


def test_refused_records_are_said() -> None:
    assert "3 late  4 refused" in status_line(BATCH)
    assert log_fields(BATCH)["refused"] == 4


def test_matches_that_were_not_written_are_said() -> None:
    assert "2 matches  9 TRUNCATED  2 too large" in status_line(BATCH)
    assert (log_fields(BATCH)["truncated"], log_fields(BATCH)["too_large"]) == (9, 2)


def test_they_are_served_where_they_are_told_to_be_and_nowhere_else() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    metrics = Metrics()
    metrics.serve(port, "127.0.0.1")
    assert b"cep_restarts_total 0.0" in urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", port))
    with pytest.raises(JobError, match=f"--metrics-port {port} on --metrics-address 127.0.0.1: Address already in use"):
        Metrics().serve(port, "127.0.0.1")

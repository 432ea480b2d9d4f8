"""What a batch did, as Prometheus reads it."""

from __future__ import annotations

from prometheus_client import generate_latest

from runtime.spark.metrics import Metrics
from runtime.spark.progress import Batch, log_fields, status_line

BATCH = Batch(
    number=1, events={"T": 20, "U": 5}, matches={"P": 2}, late=3, watermark=None, lag=None, state_bytes=10, rebuilt=0,
    seconds=1.0, commit_seconds=0.1, offset_lag={"T": 7}, refused={"T": 4, "U": 0},
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
        'cep_dead_letters_total{stream="T"} 8.0',
        'cep_dead_letters_total{stream="U"} 0.0',
        'cep_kafka_consumer_lag{stream="T"} 7.0',
    ):
        assert line in served


def test_refused_records_are_said() -> None:
    assert "3 late  4 refused" in status_line(BATCH)
    assert log_fields(BATCH)["refused"] == 4

"""Prometheus metrics of a job, on a registry of its own, fed from the driver: one update per batch."""

from __future__ import annotations

from typing import Any

from runtime.spark.errors import JobError
from runtime.spark.progress import Batch


class Metrics:
    """What `--metrics-port` serves. Needs prometheus-client."""

    def __init__(self) -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
        except ImportError:
            raise JobError("--metrics-port needs prometheus-client: pip install 'cep-engine[metrics]'") from None
        self.registry = CollectorRegistry()
        with_registry: dict[str, Any] = {"registry": self.registry}
        self.events = Counter("cep_events_total", "Events read", ["stream"], **with_registry)
        self.matches = Counter("cep_matches_total", "Matches found", ["pattern"], **with_registry)
        self.late = Counter(
            "cep_late_events_total", "Events dropped: older than the watermark", ["policy"], **with_registry
        )
        self.refused = Counter(
            "cep_dead_letters_total", "Records that were no events: skipped, or sent away", ["stream"], **with_registry
        )
        self.rebuilt = Counter("cep_rebuilt_engines_total", "Engines rebuilt from the log", **with_registry)
        self.watermark = Gauge("cep_watermark_timestamp_seconds", "The watermark", **with_registry)
        self.lag = Gauge("cep_event_time_lag_seconds", "How far the watermark is behind the clock", **with_registry)
        self.state = Gauge(
            "cep_state_bytes", "Events kept for their windows, in the buckets last used", **with_registry
        )
        self.process = Histogram(
            "cep_process_seconds", "Duration of batches", buckets=(0.5, 1, 2, 5, 10, 30, 60, 120, 300), **with_registry
        )
        self.checkpoint = Gauge("cep_checkpoint_seconds", "Time to write offsets of the last batch", **with_registry)
        self.kafka_lag = Gauge("cep_kafka_consumer_lag", "Offsets behind the newest", ["stream"], **with_registry)

    def serve(self, port: int) -> None:
        """Answer on `port`; `JobError` where it is taken."""
        from prometheus_client import start_http_server

        try:
            start_http_server(port, registry=self.registry)
        except OSError as error:
            raise JobError(f"--metrics-port {port}: {error.strerror}") from error

    def update(self, batch: Batch) -> None:
        """Count a batch."""
        for stream, count in batch.events.items():
            self.events.labels(stream).inc(count)
        for pattern, count in batch.matches.items():
            self.matches.labels(pattern).inc(count)
        self.late.labels("drop").inc(batch.late)
        for stream, count in batch.refused.items():
            self.refused.labels(stream).inc(count)
        self.rebuilt.inc(batch.rebuilt)
        if batch.watermark is not None and batch.lag is not None:
            self.watermark.set(batch.watermark.timestamp())
            self.lag.set(batch.lag)
        self.state.set(batch.state_bytes)
        self.process.observe(batch.seconds)
        self.checkpoint.set(batch.commit_seconds)
        for stream, count in batch.offset_lag.items():
            self.kafka_lag.labels(stream).set(count)

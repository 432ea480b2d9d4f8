"""Prometheus metrics of a job, on a registry of its own, fed from the driver: one update per batch."""

from __future__ import annotations

import math
from typing import Any

from runtime.spark.errors import JobError
from runtime.spark.watch.fit import Fit
from runtime.spark.watch.progress import Batch


class Metrics:
    """What `--metrics-port` serves. Needs prometheus-client. `late` says what becomes of late events: drop, or keep."""

    def __init__(self, late: str = "drop") -> None:
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
        except ImportError:
            raise JobError("--metrics-port needs prometheus-client: pip install 'cep-engine[metrics]'") from None
        self.registry = CollectorRegistry()
        with_registry: dict[str, Any] = {"registry": self.registry}
        self.events = Counter("cep_events_total", "Events read", ["stream"], **with_registry)
        self.matches = Counter("cep_matches_total", "Matches found", ["pattern"], **with_registry)
        self.truncated = Counter(
            "cep_matches_truncated_total", "Matches dropped: more than --max-matches-per-batch", **with_registry
        )
        self.too_large = Counter(
            "cep_matches_too_large_total", "Matches too large for the topic: sent to its dead letters", **with_registry
        )
        self.late = Counter(
            "cep_late_events_total", "Events dropped: older than the watermark", ["policy"], **with_registry
        ).labels(late)
        self.refused = Counter(
            "cep_dead_letters_total", "Records that were no events: skipped, or sent away", ["stream"], **with_registry
        )
        self.unfit = Counter(
            "cep_unfit_events_total", "Events without their time or key", ["stream", "column"], **with_registry
        )
        self.empty = Gauge(
            "cep_empty_columns", "Columns that no event so far has a value in", ["stream"], **with_registry
        )
        self.rebuilt = Counter("cep_rebuilt_engines_total", "Engines rebuilt from the log", **with_registry)
        self.restarts = Counter("cep_restarts_total", "Restarts of the query after a failure", **with_registry)
        self.watermark = Gauge("cep_watermark_timestamp_seconds", "The watermark", **with_registry)
        self.lag = Gauge("cep_event_time_lag_seconds", "How far the watermark is behind the clock", **with_registry)
        self.jumps = Counter(
            "cep_watermark_jumps_total", "Batches that moved the watermark by more than the window", **with_registry
        )
        self._jumps = 0
        self.state = Gauge(
            "cep_state_bytes", "Events kept for their windows, in the buckets last used", **with_registry
        )
        self.waiting = Gauge(
            "cep_waiting_rows", "Events held back until the watermark has passed their gaps", **with_registry
        )
        self.due = Gauge(
            "cep_next_due_timestamp", "The watermark that the first of them waits for; NaN: none waits", **with_registry
        )
        self.due.set(math.nan)
        self._slots: dict[int, tuple[int, int | None]] = {}
        self.process = Histogram(
            "cep_process_seconds", "Duration of batches", buckets=(0.5, 1, 2, 5, 10, 30, 60, 120, 300), **with_registry
        )
        self.checkpoint = Gauge("cep_checkpoint_seconds", "Time to write offsets of the last batch", **with_registry)
        self.kafka_lag = Gauge("cep_kafka_consumer_lag", "Offsets behind the newest", ["stream"], **with_registry)

    def serve(self, port: int, address: str) -> None:
        """Answer on a port of an address of this machine; `JobError` where it is taken, or not of this machine."""
        from prometheus_client import start_http_server

        try:
            start_http_server(port, address, registry=self.registry)
        except OSError as error:
            raise JobError(f"--metrics-port {port} on --metrics-address {address}: {error.strerror}") from error

    def update(self, batch: Batch, jumps: int = 0, fit: Fit | None = None) -> None:
        """Count a batch; `jumps` is how often the watermark has jumped so far, `fit` has looked at the batch."""
        if fit is not None:
            for (stream, column), count in fit.missing.items():
                self.unfit.labels(stream, column).inc(count)
            for stream, count in fit.empty.items():
                self.empty.labels(stream).set(count)
        self.jumps.inc(max(0, jumps - self._jumps))
        self._jumps = max(jumps, self._jumps)
        for stream, count in batch.events.items():
            self.events.labels(stream).inc(count)
        for pattern, count in batch.matches.items():
            self.matches.labels(pattern).inc(count)
        self.truncated.inc(batch.truncated)
        self.too_large.inc(batch.too_large)
        self.late.inc(batch.late)
        for stream, count in batch.refused.items():
            self.refused.labels(stream).inc(count)
        self.rebuilt.inc(batch.rebuilt)
        if batch.watermark is not None and batch.lag is not None:
            self.watermark.set(batch.watermark.timestamp())
            self.lag.set(batch.lag)
        self.state.set(batch.state_bytes)
        self._slots |= batch.waiting
        self.waiting.set(sum(rows for rows, _ in self._slots.values()))
        self.due.set(min((due / 1e6 for _, due in self._slots.values() if due is not None), default=math.nan))
        self.process.observe(batch.seconds)
        self.checkpoint.set(batch.commit_seconds)
        for stream, count in batch.offset_lag.items():
            self.kafka_lag.labels(stream).set(count)

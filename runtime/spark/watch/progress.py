"""What a batch did, as Spark reports it: one line on a terminal, one JSON log line anywhere else, and metrics."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from runtime.spark.flow.dataflow import BEATS, METRICS, TIES, VALUES, WAITING

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One batch. `events` were read, `late` of them dropped; `rebuilt` engines were made anew from the log.

    `refused` are records of topics that were no events, and were skipped or sent to the dead letters. Of the matches,
    `truncated` were dropped because a batch may not have more, `too_large` went to the dead letters of the output.

    `lag` is how far the watermark is behind the clock. None: no watermark yet. `state_bytes` is what the logs of the
    buckets that had events hold.
    """

    number: int
    events: Mapping[str, int]
    matches: Mapping[str, int]
    late: int
    watermark: datetime | None
    lag: float | None
    state_bytes: int
    rebuilt: int
    seconds: float
    commit_seconds: float
    offset_lag: Mapping[str, int] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By stream and column: the events that have a value in it."""
    truncated: int = 0
    too_large: int = 0
    ties: Mapping[str, int] = field(default_factory=dict)
    """By stream whose events a SEQ compares: those that share a moment with another of their key, in this batch.

    With several keys, those by the key that has most of them."""

    waiting: Mapping[int, tuple[int, int | None]] = field(default_factory=dict)
    """By slot that the batch visited: the rows that wait, and the watermark (in microseconds) that the first waits for.

    A slot that a timer visited after its events is told of twice, the last one last."""

    @property
    def idle(self) -> bool:
        """Whether it did nothing that anybody would want to know of."""
        counts = (self.total_events, self.total_matches, self.total_refused, self.late, self.rebuilt, self.truncated)
        return not any((*counts, self.too_large))

    @property
    def total_events(self) -> int:
        """Events of all streams."""
        return sum(self.events.values())

    @property
    def total_refused(self) -> int:
        """Refused records of all streams."""
        return sum(self.refused.values())

    @property
    def total_matches(self) -> int:
        """Matches of all patterns."""
        return sum(self.matches.values())


def batch_of(progress: Any, streams: Sequence[str], patterns: Sequence[str], topics: Sequence[str] = ()) -> Batch:
    """From a StreamingQueryProgress. `streams` are in the order of the job's sources; `topics` are those on Kafka."""
    observed = progress.observedMetrics.get(METRICS)
    counts = observed.asDict() if observed is not None else {}
    sources = list(progress.sources)
    events = {name: _count(progress.observedMetrics.get(f"{METRICS}:{name}"), "events") for name in streams}
    watermark = _watermark(progress.eventTime)
    durations = progress.durationMs
    return Batch(
        number=progress.batchId,
        values={name: _values(progress.observedMetrics.get(f"{METRICS}:{name}")) for name in streams},
        events=events,
        matches={name: int(counts.get(f"matches:{name}") or 0) for name in patterns},
        late=int(counts.get("late") or 0),
        ties=_ties(counts),
        waiting=_waiting(counts),
        watermark=watermark,
        lag=time.time() - watermark.timestamp() if watermark is not None else None,
        state_bytes=int(counts.get("log_bytes") or 0),
        rebuilt=int(counts.get("rebuilt") or 0),
        seconds=durations.get("triggerExecution", 0) / 1000,
        commit_seconds=(durations.get("walCommit", 0) + durations.get("commitOffsets", 0)) / 1000,
        offset_lag={
            name: int(float(source.metrics["maxOffsetsBehindLatest"]))
            for name, source in zip(streams, sources, strict=False)
            if source.metrics and "maxOffsetsBehindLatest" in source.metrics
        },
        # A source counts records, the stream counts what became events of them.
        refused={
            name: source.numInputRows - events[name] - _count(progress.observedMetrics.get(f"{METRICS}:{name}"), BEATS)
            for name, source in zip(streams, sources, strict=False)
            if name in topics and f"{METRICS}:{name}" in progress.observedMetrics
        },
    )


def _values(observed: Any) -> dict[str, int]:
    """By column of a stream: the events of the batch that have a value in it."""
    counts = observed.asDict() if observed is not None else {}
    return {name.removeprefix(VALUES): int(count or 0) for name, count in counts.items() if name.startswith(VALUES)}


def _ties(counts: Mapping[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, count in counts.items():
        if name.startswith(TIES):
            stream = name.removeprefix(TIES).partition(":")[0]
            found[stream] = max(found.get(stream, 0), int(count or 0))
    return found


def _waiting(counts: Mapping[str, Any]) -> dict[int, tuple[int, int | None]]:
    return {slot: (rows, due) for slot, rows, due in counts.get(WAITING) or ()}


def _count(observed: Any, name: str) -> int:
    return int(observed.asDict().get(name) or 0) if observed is not None else 0


def _watermark(event_time: Mapping[str, str]) -> datetime | None:
    text = event_time.get("watermark")
    if text is None:
        return None
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment > _EPOCH else None


def status_line(batch: Batch) -> str:
    """For people.

    >>> status_line(Batch(number=3, events={"T": 2000}, matches={"P": 1}, late=2, watermark=_EPOCH, lag=3725.0,
    ...     state_bytes=1536, rebuilt=0, seconds=1.25, commit_seconds=0.1))
    'batch 3  2,000 events  1 match  2 late  watermark 1970-01-01T00:00:00Z  lag 1h02m  state 1.5 KB  1.2 s'
    """
    matches = batch.total_matches
    parts = [
        f"batch {batch.number}",
        f"{batch.total_events:,} events",
        f"{matches:,} match{'' if matches == 1 else 'es'}",
        *([f"{batch.truncated:,} TRUNCATED"] if batch.truncated else []),
        *([f"{batch.too_large:,} too large"] if batch.too_large else []),
        *([f"{batch.late:,} late"] if batch.late else []),
        *([f"{batch.total_refused:,} refused"] if batch.total_refused else []),
        f"watermark {batch.watermark.isoformat(timespec='seconds').replace('+00:00', 'Z') if batch.watermark else '-'}",
        f"lag {_span(batch.lag)}",
        f"state {_size(batch.state_bytes)}",
        f"{batch.seconds:.1f} s",
    ]
    return "  ".join(parts)


def log_fields(batch: Batch) -> dict[str, Any]:
    """For machines."""
    return {
        "batch": batch.number,
        "events": batch.total_events,
        "matches": batch.total_matches,
        **({"truncated": batch.truncated} if batch.truncated else {}),
        **({"too_large": batch.too_large} if batch.too_large else {}),
        "late": batch.late,
        "refused": batch.total_refused,
        "watermark": batch.watermark.isoformat().replace("+00:00", "Z") if batch.watermark else None,
        "lag_seconds": round(batch.lag, 3) if batch.lag is not None else None,
        "state_bytes": batch.state_bytes,
        "rebuilt": batch.rebuilt,
        "seconds": batch.seconds,
        **({"offset_lag": dict(batch.offset_lag)} if batch.offset_lag else {}),
    }


def _span(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    whole = int(max(0, seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86_400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86_400}d{whole % 86_400 // 3600:02d}h"


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TB"

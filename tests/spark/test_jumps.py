"""What a job says of its watermark."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import cep
from runtime.spark.watch.jumps import Jumps
from runtime.spark.watch.metrics import Metrics
from runtime.spark.watch.progress import Batch

TEXT = """
STREAM S (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;
PATTERN P SEQ(S a, S b) PARTITION BY k WITHIN 1 HOUR RETURN a.k AS k;
PATTERN Q SEQ(S a, S b) PARTITION BY k WITHIN 2 HOURS RETURN a.k AS k;
"""
NOON = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)


def batch(number: int, watermark: datetime | None, lag: float = 60.0) -> Batch:
    return Batch(
        number=number,
        events={},
        matches={},
        late=0,
        watermark=watermark,
        lag=lag if watermark is not None else None,
        state_bytes=0,
        rebuilt=0,
        seconds=0.0,
        commit_seconds=0.0,
    )


def look(*batches: Batch) -> tuple[list[list[str]], int]:
    jumps = Jumps(list(cep.compile(TEXT).values()))
    return [[finding.event for finding in jumps.look(item)] for item in batches], jumps.total


def test_a_jump_is_a_move_by_more_than_the_longest_window() -> None:
    fine = batch(0, None), batch(1, NOON), batch(2, NOON + 2 * HOUR)
    assert look(*fine) == ([[], [], []], 0)
    assert look(*fine, batch(3, NOON + 5 * HOUR)) == ([[], [], [], ["watermark_jump"]], 1)


def test_a_backlog_is_said_once_and_counted_each_time() -> None:
    moves = [batch(number, NOON + 3 * number * HOUR) for number in range(4)]
    assert look(*moves, batch(4, NOON + 9 * HOUR), batch(5, NOON + 12 * HOUR)) == (
        [[], ["watermark_jump"], [], [], [], ["watermark_jump"]],
        4,
    )


def test_ahead_of_the_clock_and_long_ago() -> None:
    (first, second, third), _ = look(batch(0, NOON, -5.0), batch(1, NOON, -4.0), batch(2, NOON))
    assert (first, second, third) == (["watermark_ahead"], [], [])
    assert look(batch(0, datetime(1970, 1, 20, tzinfo=timezone.utc)))[0] == [["watermark_long_ago"]]


def test_the_sentence_says_how_far() -> None:
    jumps = Jumps(list(cep.compile(TEXT).values()))
    jumps.look(batch(0, NOON))
    (finding,) = jumps.look(batch(1, NOON + 24 * HOUR))
    assert finding.fields["watermark"] == "2024-01-02T12:00:00Z"
    assert "moved by 1 DAY in one batch" in finding.fields["why"]


def test_the_metric_counts_each_jump_once() -> None:
    metrics = Metrics()
    for total in (0, 1, 1, 3):
        metrics.update(batch(0, NOON), total)
    assert metrics.registry.get_sample_value("cep_watermark_jumps_total") == 3

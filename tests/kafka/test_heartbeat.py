"""Silent topics: a source that has read everything says so, and what waits for the watermark is told in time, once."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from cep.ir.types import Type
from connectors.kafka import offsets as plan
from connectors.kafka.config import KafkaFailureError
from connectors.kafka.reading import Beat, Range
from connectors.kafka.settings import Heartbeat, Settings, source_options
from connectors.kafka.source import KafkaStreamReader
from tests.kafka.jobs import cep
from tests.kafka.test_job_crash import PATIENCE, start  # noqa: F401 - a fixture

pytestmark = pytest.mark.kafka

COLUMNS = (("ts", Type.TIMESTAMP), ("k", Type.STRING))
DELAY = 2_000


def reader(config, name: str) -> KafkaStreamReader:
    return KafkaStreamReader(
        Settings.of(source_options(config, topic=name, columns=COLUMNS, heartbeat=Heartbeat("ts", DELAY)))
    )


def records(count: int) -> list[tuple[int, None, bytes]]:
    return [(0, None, b'{"ts": 1704067200000, "k": "a"}')] * count


def test_a_source_that_has_read_everything_says_up_to_when(config, topic, send):
    name = topic()
    send(name, records(10))
    source = reader(config, name)
    first = source.initialOffset()
    behind = source.latestOffset(first, ReadMaxRows(4))
    assert plan.beat_of(behind) is None, "six are left: who knows of when they are"
    before = time.time_ns() // 1_000_000
    whole = source.latestOffset(behind, ReadMaxRows(6))
    beat = plan.beat_of(whole)
    assert beat is not None
    assert before - Heartbeat("ts", DELAY).period <= beat <= time.time_ns() // 1_000_000

    read, told = source.partitions(behind, whole)
    assert (read, told) == (Range(name, 0, 4, 10, read.id), Beat(beat))
    (batch,) = source.read(told)
    (row,) = batch.to_pylist()
    assert row.pop("ts").timestamp() * 1000 == beat - DELAY
    assert set(row.values()) == {None}, "not even an offset: it is no record"
    assert batch.schema.equals(next(iter(source.read(read))).schema), "but a row like others"


def test_while_nothing_comes_there_is_a_beat_from_time_to_time(config, topic, send):
    name = topic()
    send(name, records(1))
    source = reader(config, name)
    at = source.latestOffset(source.initialOffset(), ReadAllAvailable())
    deadline = time.monotonic() + PATIENCE
    while (now := source.latestOffset(at, ReadAllAvailable())) == at:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert plan.decode(now) == plan.decode(at)
    assert source.partitions(at, now) == [Beat(plan.beat_of(now))]


def test_what_has_come_and_is_not_read_silences_it(config, topic, send):
    name = topic()
    send(name, records(1))
    source = reader(config, name)
    at = source.latestOffset(source.initialOffset(), ReadAllAvailable())
    send(name, records(9))
    time.sleep(Heartbeat("ts", DELAY).period / 1000)
    behind = source.latestOffset(at, ReadMaxRows(5))
    assert plan.beat_of(behind) == plan.beat_of(at)
    assert source.partitions(at, behind) == [Range(name, 0, 1, 6, plan.identity_of(behind).topics.get(name))]


def test_a_clock_that_was_ahead_and_is_put_right_does_not_silence_it(config, topic, send):
    name = topic()
    send(name, records(1))
    source = reader(config, name)
    at = source.latestOffset(source.initialOffset(), ReadAllAvailable())
    ahead = plan.with_beat(at, (plan.beat_of(at) or 0) + 86_400_000)
    now = source.latestOffset(ahead, ReadAllAvailable())
    assert plan.beat_of(at) <= plan.beat_of(now) < plan.beat_of(ahead)
    assert source.partitions(ahead, now) == [Beat(plan.beat_of(now))]


def test_a_query_that_reads_what_is_there_ends_in_spite_of_the_clock(config, topic, send):
    name = topic()
    send(name, records(6))
    source = reader(config, name)
    source.prepareForTriggerAvailableNow()
    at, seen = source.initialOffset(), []
    for _ in range(3):
        at = source.latestOffset(at, ReadMaxRows(5))
        seen.append(plan.beat_of(at))
        time.sleep(Heartbeat("ts", DELAY).period / 1000)
    assert seen == [None, source.target_beat, source.target_beat]
    assert source.latestOffset(at, ReadMaxRows(5)) == at, "nothing new: the query ends"


def test_half_of_the_options_is_refused(config):
    options = source_options(config, topic="t", columns=COLUMNS) | {"heartbeatColumn": "ts"}
    with pytest.raises(KafkaFailureError, match="heartbeatColumn and heartbeatDelay together"):
        Settings.of(options)


# --- the job ---------------------------------------------------------------------------------------------------------

PATTERN = """
STREAM Ordered (ts TIMESTAMP, k STRING) TIMESTAMP BY ts IDLE AFTER 1 SECOND;
STREAM Shipped (ts TIMESTAMP, k STRING) TIMESTAMP BY ts IDLE AFTER 1 SECOND;
PATTERN NotShipped
  SEQ(Ordered o, NOT Shipped s)
  PARTITION BY k
  WITHIN 2 SECONDS
  RETURN o.k AS k;
"""
KILLS = max(2, int(os.environ.get("CEP_KILLS", "40")) // 2)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("real")
def test_what_is_due_while_nothing_comes_is_told_once_through_kills_between_timer_and_commit(
    kafka,
    topic,
    send,
    committed,
    start,  # noqa: F811 - the fixture
    tmp_path: Path,
):
    """Orders are dated a little ahead, so that no load makes them late: they are there before their time."""
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    pattern, checkpoint = tmp_path / "orders.cep", tmp_path / "checkpoint"
    pattern.write_text(PATTERN)
    ordered, shipped, sink = topic(2), topic(2), topic()
    arguments = cep(
        "run", pattern, "--in", f"Ordered=kafka:{ordered}", "--in", f"Shipped=kafka:{shipped}", "--out",
        f"kafka:{sink}", "--bootstrap", kafka.bootstrap, "--checkpoint", checkpoint, "--master", "local[2]",
        "--buckets", 2, "--kafka-source", "python",
    )  # fmt: skip

    def order(number: int) -> float:
        """Send two orders, one of them shipped in time; when the other is due, by the clock."""
        at = int(time.time() * 1000) + 3_000
        text = '{{"ts": {}, "k": "{}"}}'.format
        send(ordered, [(number % 2, None, text(at, f"{what}{number}").encode()) for what in ("gone", "left")])
        send(shipped, [(0, None, text(at + 1_000, f"gone{number}").encode())])
        return at / 1000 + 2 + 1

    def planned() -> int:
        return max(
            (int(path.name) for path in (checkpoint / "offsets").glob("[0-9]*") if path.name.isdigit()), default=-1
        )

    def wait(what, done) -> None:
        deadline = time.monotonic() + PATIENCE
        while not done():
            assert driver.process.poll() is None, f"seed {seed}: {driver.words[-3000:]}"
            assert time.monotonic() < deadline, f"seed {seed}: {what}: {driver.words[-3000:]}"
            time.sleep(0.05)

    for number in range(KILLS):
        driver = start(arguments, tmp_path / f"{number}.log", checkpoint)
        assert driver.works()
        due = order(number)
        while time.time() < due:
            time.sleep(0.05)
        before = planned()  # the beats that follow make it due, and the batch after them tells of it
        wait("no heartbeat", lambda before=before: planned() > before)
        time.sleep(chance.uniform(0, 1.5))
        driver.kill(chance)
    driver = start(arguments, tmp_path / "last.log", checkpoint)
    order(KILLS)
    wait("the last is never told", lambda: any(m.value().find(f"left{KILLS}".encode()) > 0 for m in committed(sink)))
    driver.process.terminate()
    assert driver.process.wait() == 0, driver.words[-3000:]

    found = [json.loads(message.value())["fields"]["k"] for message in committed(sink)]
    assert sorted(found) == sorted(f"left{number}" for number in range(KILLS + 1)), f"seed {seed}"

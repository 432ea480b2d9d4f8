"""The whole job through `kill -9`, a broker that restarts, and a second driver: every alert once, in order."""

from __future__ import annotations

import json
import os
import random
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from connectors.files.values import iso_micros
from connectors.kafka.cluster import ensure_topics
from connectors.testing import kafka_for_tests
from tests.kafka.jobs import PATTERN, ROOT, command, environment, events, replayed, write_jsonl
from tests.spark.test_crash import descendants, kill

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("real")]

EVENTS = 200_000
KILLS = min(10, int(os.environ.get("CEP_KILLS", "10")))
BATCH = 4_000
"""Offsets in a batch: enough batches for all kills to fall among them."""
PATIENCE = 300.0


class Driver:
    """A `cep run` process, its words in a file."""

    def __init__(self, arguments: list[str], log: Path, checkpoint: Path) -> None:
        self.log, self._commits = log, checkpoint / "commits"
        self._before = self.committed
        with log.open("wb") as out:
            self.process = subprocess.Popen(arguments, cwd=ROOT, env=environment(), stdout=out, stderr=out)

    @property
    def committed(self) -> int:
        """Batches that Spark has written down as done."""
        return len(list(self._commits.glob("[0-9]*")))

    @property
    def words(self) -> str:
        return self.log.read_text(errors="replace")

    def works(self) -> bool:
        """Wait until it has finished a batch; False where it ended before."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            if self.committed > self._before:
                return True
            assert time.monotonic() < deadline, f"no batch in {PATIENCE:.0f} s: {self.words[-2000:]}"
            time.sleep(0.1)
        return False

    def kill(self, chance: random.Random) -> str:
        """SIGKILL to the Python half of the driver, to its Java half, or to all of it at once; what is left, later."""
        children = descendants(self.process.pid)
        java = [pid for pid, what in children.items() if "/java " in what]
        what = chance.choice(["python", "java", "all"] if java else ["python"])
        for pid in {"python": [self.process.pid], "java": java, "all": [self.process.pid, *children]}[what]:
            kill(pid)
        time.sleep(chance.uniform(0, 2))
        for pid in (self.process.pid, *children):
            kill(pid)
        self.process.wait()
        return what


@pytest.fixture
def start():
    """Starts drivers; whatever is left of them when the test ends is killed."""
    started: list[Driver] = []

    def driver(arguments: list[str], log: Path, checkpoint: Path) -> Driver:
        started.append(Driver(arguments, log, checkpoint))
        return started[-1]

    yield driver
    for left in started:
        if left.process.poll() is None:
            left.kill(random.Random(0))


def in_order(messages) -> bool:
    """Whether the matches of each key are in the order of their ends."""
    newest: dict[bytes, int] = {}
    for message in messages:
        end = iso_micros(json.loads(message.value())["end"])
        if end < newest.get(message.key(), 0):
            return False
        newest[message.key()] = end
    return True


def assert_each_once(messages, expected: list[str]) -> None:
    found = Counter(message.value().decode() for message in messages)
    wanted = Counter(expected)
    assert found == wanted, f"{(found - wanted).total()} too many, {(wanted - found).total()} missing"
    assert len({json.loads(line)["id"] for line in expected}) == len(expected)
    assert in_order(messages)


@pytest.fixture(scope="module")
def kafka():
    """A broker of our own: the others' must not restart."""
    with kafka_for_tests() as cluster:
        yield cluster


def test_killed_ten_times_and_the_broker_once_every_alert_is_there_once(
    kafka, config, topic, send, committed, start, tmp_path
):
    seed = random.randrange(1 << 30)
    chance = random.Random(seed)
    pattern, checkpoint = tmp_path / "card.cep", tmp_path / "checkpoint"
    pattern.write_text(PATTERN)
    source, sink = topic(4), topic(3)
    table = events(EVENTS)
    file = write_jsonl(tmp_path / "events.jsonl", table)
    send(source, ((-1, str(event["acc"]).encode(), json.dumps(event).encode()) for event in table))
    arguments = command(kafka.bootstrap, pattern, source, sink, checkpoint, "--once", "--max-offsets", BATCH)

    kills: Counter[str] = Counter()
    restarted = False
    while kills.total() < KILLS:
        driver = start(arguments, tmp_path / f"{kills.total()}.log", checkpoint)
        if kills.total() % 2:
            time.sleep(chance.uniform(3, 15))  # into the start, or the repetition of the batch that was cut off
        elif driver.works():
            time.sleep(chance.uniform(0, 4))
        if kills.total() >= KILLS // 2 and not restarted:
            kafka.kill()
            time.sleep(chance.uniform(0, 3))
            kafka.start()
            ensure_topics(config, [source], timeout=60)
            restarted = True
            time.sleep(chance.uniform(0, 4))
        assert driver.process.poll() != 0, f"done after {kills.total()} kills: more batches are needed (seed {seed})"
        kills[driver.kill(chance)] += 1
    last = start(arguments, tmp_path / "last.log", checkpoint)
    assert last.process.wait(1800) == 0, last.words[-2000:]

    expected = replayed(pattern, file)
    assert len(expected) > 1000
    assert_each_once(committed(sink), expected)
    assert restarted


def test_of_two_drivers_the_older_one_is_fenced_and_says_so(kafka, topic, send, committed, start, tmp_path):
    pattern, checkpoint = tmp_path / "card.cep", tmp_path / "checkpoint"
    pattern.write_text(PATTERN)
    source, sink = topic(2), topic(2)
    arguments = command(kafka.bootstrap, pattern, source, sink, checkpoint)
    sent: list[dict[str, object]] = []
    enough = threading.Event()

    def feed() -> None:
        while not enough.is_set():
            table = events(1000, after=len(sent))  # so many that a batch has matches
            send(source, ((-1, str(event["acc"]).encode(), json.dumps(event).encode()) for event in table))
            sent.extend(table)
            enough.wait(1)

    feeder = threading.Thread(target=feed)
    feeder.start()
    older = start(arguments, tmp_path / "older.log", checkpoint)
    newer: list[Driver] = []
    try:
        assert older.works(), older.words[-2000:]
        lock = checkpoint / "cep-job.lock"
        lock.rename(checkpoint / "lost")  # as on a file system that has lost its locks: else the newer one is refused
        newer.append(start(arguments, tmp_path / "newer.log", checkpoint))
        assert older.process.wait(PATIENCE) == 2, older.words[-2000:]
        # Both may have begun the same batch: then Spark stops the newer one as well, and it is started again.
        while not newer[-1].works():
            assert "another job is running with the same checkpoint" in newer[-1].words
            assert len(newer) < 3
            newer.append(start(arguments, tmp_path / f"newer-{len(newer)}.log", checkpoint))
    finally:
        enough.set()
        feeder.join()
    newer[-1].kill(random.Random(0))
    (said,) = [line for line in older.words.splitlines() if line.lower().startswith("error")]
    assert "was taken over by a newer publisher" in said or "another job is running with the same checkpoint" in said

    last = start([*arguments, "--once"], tmp_path / "last.log", checkpoint)
    assert last.process.wait(PATIENCE) == 0, last.words[-2000:]
    expected = replayed(pattern, write_jsonl(tmp_path / "events.jsonl", sent))
    assert expected
    assert_each_once(committed(sink), expected)

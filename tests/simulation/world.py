"""A world: one cluster, one checkpoint, the drivers that work on it, and what has become of each event.

`install` puts the simulated clients, clock and disk where the code under test looks for the real ones; everything else
that runs is that code itself: `runtime.spark.job.start`, `runtime.spark.ends.kafka_ends`, and all of
`connectors.kafka`.
"""

from __future__ import annotations

import random
import shutil
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import confluent_kafka
import pyspark
from pyarrow import fs

import cep
from cep.ir.plan import Plan
from connectors import staging as stagings
from connectors.cap import Tally
from connectors.kafka import publisher
from connectors.kafka.parts import PartLimits
from connectors.kafka.settings import Settings, source_options
from connectors.kafka.source import KafkaStreamReader
from runtime.spark.ends import manifest
from runtime.spark.job import start as jobs
from runtime.spark.job.outputs import outputs
from tests.simulation import admin, clients
from tests.simulation.broker import Broker, Log, Stored, Transaction
from tests.simulation.clock import Clock
from tests.simulation.disk import Staging
from tests.simulation.faults import Faults
from tests.simulation.process import KilledError, Process
from tests.simulation.source import Event
from tests.simulation.spark import Checkpoint, Frame, Query

INPUT, OUTPUT = "events", "matches"
MARKERS, LETTERS = f"{OUTPUT}.cep-commits", f"{OUTPUT}.dlq"
PATTERN = "STREAM E (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;\nPATTERN P AND(E a) WITHIN 1 HOUR RETURN a.k AS k;\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a schedule fixes for its whole length."""

    partitions: int
    limit: int | None
    record_bytes: int
    topic_bytes: int
    timeout: float
    slowness: float
    large: bool
    many: bool
    inline: int
    part: int


@dataclass(slots=True)
class Options:
    """What the operator puts on the command line of the next start."""

    on_data_loss: str = "fail"
    on_rewind: str = "fail"


class World:
    """Everything there is in a schedule."""

    def __init__(self, rng: random.Random, directory: Path, setup: Setup, kinds: frozenset[str], rate: float) -> None:
        self.rng = rng
        self.setup = setup
        self.clock = Clock()
        self.broker = Broker(rng)
        self.clock.on_tick = self.broker.tick
        self.faults = Faults(rng, self, kinds, rate)
        self.directory = directory
        self.checkpoint = Checkpoint(directory / "checkpoint")
        self.staging = Staging(self)
        self.slowness = setup.slowness
        self.leaderless = 0.0
        self.task = 0
        self.depth = 0
        self.started = 0
        self.others: list[Driver] = []
        self.backups: list[dict[str, bytes]] = []
        self.events: dict[int, Event] = {}
        self.gone: set[int] = set()
        """Events that Kafka no longer has."""
        self.never_due: set[int] = set()
        """Those that it no longer had when the job first looked: nobody promised them."""
        self.went_back = self.lost_markers = False
        self.moved = False
        """Whether the events of a key are in one partition no longer: then they have no order."""
        self.lines: list[str] = []
        self.outside = Process(self, "outside")
        self._running = [self.outside]
        self.take_over_with: Any = None
        self.broker.create(INPUT, setup.partitions)
        self.broker.create(OUTPUT, 2, {"max.message.bytes": str(setup.topic_bytes)})
        self.broker.create(LETTERS, 1, {"max.message.bytes": str(64 << 20)})

    def trace(self, line: str) -> None:
        self.lines.append(f"{self.clock.now:8.2f} {line}")

    def planned_first(self) -> None:
        """The job has written down its first batch: from here on it answers for what the topic has."""
        self.never_due |= self.gone

    def is_running(self, process: Process) -> bool:
        """Whether a process stands somewhere in the middle of an effect."""
        return process in self._running

    @property
    def current(self) -> Process:
        """The process that is running."""
        return self._running[-1]

    @contextmanager
    def running(self, process: Process) -> Iterator[None]:
        self._running.append(process)
        try:
            yield
        finally:
            self._running.pop()

    # Input

    def feed(self, count: int) -> None:
        """New events. A key stays in its partition."""
        topic = self.broker.topics[INPUT]
        for _ in range(count):
            number = len(self.events)
            matches = self.rng.choice((0, 1, 1, 1, 2)) if self.rng.random() < 0.9 else self.rng.randrange(3, 8)
            large = self.setup.large and self.rng.random() < 0.1
            if self.setup.many and self.rng.random() < 0.1:
                matches = self.rng.randrange(30, 90)
            event = Event(number, "k" * self.rng.randrange(1, 5), max(matches, 1) if large else matches, large)
            self.events[number] = event
            log = topic.logs[len(event.key) % len(topic.logs)]
            if self.rng.random() < 0.1:
                self._abort(log, event)
            log.append(Stored(0, event.key.encode(), event.encode(), timestamp=int(self.clock.wall * 1000)))

    def _abort(self, log: Log, event: Event) -> None:
        """Somebody wrote the event in a transaction, gave it up, and writes it again."""
        given_up = Transaction(self.clock.now, outcome=False)
        log.append(Stored(0, event.key.encode(), event.encode(), transaction=given_up))
        log.append(Stored(0, None, None, transaction=given_up, control=True))

    def _present(self) -> set[int]:
        logs = self.broker.topics[INPUT].logs
        return {Event.decode(stored.value or b"").number for log in logs for stored in log.visible(committed=True)}

    def recreate_input(self) -> bool:
        """The input topic is deleted and made anew, with fewer records than before, or with enough."""
        self.gone |= self._present()
        had = sum(log.end for log in self.broker.topics[INPUT].logs)
        self.broker.delete(INPUT)
        self.broker.create(INPUT, self.setup.partitions)
        self.feed(self.rng.choice((0, had // 2, had, had + 5, 2 * had + 5)))
        return True

    def add_partition(self) -> bool:
        """The input topic gets one more; from now on keys may go elsewhere."""
        self.broker.topics[INPUT].logs.append(Log())
        self.moved = True
        return True

    def expire_input(self) -> bool:
        """Retention removes the head of a partition."""
        before = self._present()
        log = self.rng.choice(self.broker.topics[INPUT].logs)
        log.expire(self.rng.randrange(log.start, log.end + 1))
        lost = before - self._present()
        self.gone |= lost
        return bool(lost)

    # Markers. That the checkpoint goes back *and* markers are lost, before a driver could notice the first, is left
    # out: then nothing knows any more what was published, which docs/kafka.md says.

    def lose_markers(self, *, at_rest: bool) -> bool:
        topic = self.broker.topics.get(MARKERS)
        if topic is None or self.went_back:
            return False
        self.lost_markers = True
        if at_rest and self.rng.random() < 0.5:
            self.broker.delete(MARKERS)
            return True
        return topic.logs[0].expire(self.rng.choice((topic.logs[0].end, topic.logs[0].end // 2))) > 0

    def compact(self) -> bool:
        topic = self.broker.topics.get(MARKERS)
        if topic is None or topic.settings.get("cleanup.policy") != "compact":
            return False
        return topic.logs[0].compact(self.rng.randrange(topic.logs[0].end + 1)) > 0

    def spoil_marker_topic(self) -> bool:
        """Somebody makes it, or makes it anew, with the defaults: its records expire, or there are two partitions."""
        partitions, policy = self.rng.choice(((1, "delete"), (2, "compact"), (3, "delete"), (1, "compact,delete")))
        topic = self.broker.topics.get(MARKERS)
        if topic is None:
            self.broker.create(MARKERS, partitions, {"cleanup.policy": policy})
        else:
            topic.settings["cleanup.policy"] = policy
        return True

    def expire_markers(self) -> None:
        """What retention does to a marker topic that is not compacted only, in the time that a job is stopped."""
        topic = self.broker.topics.get(MARKERS)
        if topic is not None and not self.went_back and "delete" in topic.settings.get("cleanup.policy", "delete"):
            self.lost_markers = True
            topic.logs[0].expire(topic.logs[0].end)

    # Checkpoint

    def _stop_all(self) -> None:
        """Who exchanges a checkpoint stops the job first."""
        for other in self.others:
            other.kill()
        self.others.clear()

    def restore_backup(self) -> bool:
        if not self.backups or self.lost_markers:
            return False
        self._stop_all()
        self.went_back = True
        self.checkpoint.restore(self.rng.choice(self.backups))
        return True

    def lose_spark(self) -> bool:
        """Spark's part of the checkpoint goes back, or is gone; what this project keeps there stays."""
        self._stop_all()
        older = self.rng.choice(self.backups) if self.backups and self.rng.random() < 0.5 else {}
        self.checkpoint.restore(older, only_spark=True)
        return self.checkpoint.directory.joinpath(manifest.NAME).exists()

    # Drivers

    def take_over(self, seconds: float) -> None:
        """While a driver stands still, another one starts, or goes on: the first wakes up as a zombie."""
        self.depth += 1
        try:
            self.clock.advance(seconds)
            self.take_over_with()
        finally:
            self.depth -= 1


class Driver:
    """A process that runs the job, as `cep run` does from `prepare` to the end of the query."""

    def __init__(self, world: World, options: Options, *, once: bool = False) -> None:
        self.world = world
        self.options = options
        self.once = once
        world.started += 1
        self.process = Process(world, f"driver {world.started}")
        self.query: Query | None = None
        self.done = 0
        """Batches that went through."""

    def start(self) -> None:
        world = self.world
        with world.running(self.process):
            stagings.INLINE = world.setup.inline
            prepared = jobs.prepare(self._job(), [_plan()])
            frame, publication = outputs(prepared, Frame(), Tally())
            stager = stagings.RowStager(staging=frame.stager.matches.staging)
            topic = source_options(
                jobs.kafka_config(prepared.job),
                topic=INPUT,
                max_offsets=world.setup.limit,
                fail_on_data_loss=prepared.job.on_data_loss == "fail",
            )
            reader = KafkaStreamReader(Settings.of(topic))
            if self.once:
                reader.prepareForTriggerAvailableNow()
            world.went_back = world.lost_markers = False
            self.query = Query(self.process, world.checkpoint, reader, stager, publication, self._task)

    def _job(self) -> jobs.Job:
        setup = self.world.setup
        known = {field.name for field in fields(jobs.Job)}
        chosen: dict[str, Any] = {
            "inputs": {"E": f"kafka:{INPUT}"},
            "out": f"kafka:{OUTPUT}",
            "checkpoint": str(self.world.checkpoint.directory),
            "bootstrap": "simulated:9092",
            "buckets": 1,
            "kafka_options": {
                "message.max.bytes": str(setup.record_bytes),
                "transaction.timeout.ms": str(int(setup.timeout * 1000)),
            },
            "on_data_loss": self.options.on_data_loss,
            "on_rewind": self.options.on_rewind,
        }
        return jobs.Job(**{name: value for name, value in chosen.items() if name in known})

    def _task(self, number: int) -> None:
        self.world.task = number

    def step(self) -> bool:
        assert self.query is not None
        with self.world.running(self.process):
            return self.query.step()

    def kill(self) -> None:
        """From outside, between two steps."""
        self.process.dead = True


@cache
def _plan() -> Plan:
    (plan,) = cep.compile(PATTERN).values()
    return plan


class Holder:
    """The world that the patched names lead to."""

    world: World


def install() -> Any:
    """A context in which the code under test lives in `Holder.world`."""

    @contextmanager
    def installed() -> Iterator[type[Holder]]:
        fakes = SimpleNamespace(
            uuid4=lambda: uuid.UUID(int=Holder.world.rng.getrandbits(128), version=4), UUID=uuid.UUID
        )
        clock = _Delegate()
        here = [name for name in sys.modules if name.startswith(("connectors.kafka", "connectors.staging"))]
        patches = [
            patch.object(confluent_kafka, "Producer", _made(clients.Producer)),
            patch.object(confluent_kafka, "Consumer", _made(clients.Consumer)),
            patch.object(confluent_kafka.admin, "AdminClient", _made(admin.AdminClient)),
            patch.object(pyspark.TaskContext, "get", lambda: SimpleNamespace(partitionId=lambda: Holder.world.task)),
            patch.object(publisher, "PartLimits", lambda: PartLimits(records=Holder.world.setup.part)),
            patch.object(stagings, "INLINE", stagings.INLINE),
            patch.object(stagings, "place", lambda place: (fs.PyFileSystem(Holder.world.staging), place)),
            patch.object(stagings, "uuid", fakes),
            patch.object(manifest, "uuid", fakes),
            patch.object(manifest, "write_local", _write),
            *(
                patch.object(sys.modules[name], "time", clock)
                for name in here
                if getattr(sys.modules[name], "time", None) is time
            ),
        ]
        for one in patches:
            one.start()
        try:
            yield Holder
        finally:
            for one in reversed(patches):
                one.stop()

    return installed()


def _write(directory: Path, name: str, text: str, *, new: bool = False) -> None:
    """A file of the checkpoint, all at once; it is made, or replaced."""
    directory.mkdir(parents=True, exist_ok=True)

    def act() -> None:
        with (directory / name).open("x" if new else "w") as file:
            file.write(text)

    Holder.world.current.disk(f"write {name}", act)


class _Delegate:
    """The clock of the world that is current."""

    def __getattr__(self, name: str) -> Any:
        return getattr(Holder.world.clock, name)


def _made(kind: Any) -> Any:
    return lambda settings, logger=None: kind(settings, Holder.world.current)  # noqa: ARG005 - as confluent_kafka's


def clear(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)


__all__ = ["Driver", "Holder", "KilledError", "Options", "Setup", "World", "clear", "install"]

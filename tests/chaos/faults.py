"""Faults: each is begun, lasts a while, and is healed. What is killed stays dead until its keeper starts it again."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import resource
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.stage import Stage, members
from tests.spark.test_crash import kill

Heal = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong: `begin` makes it so and returns what ends it; None where there was nobody to hurt."""

    name: str
    begin: Callable[[Stage, random.Random], Heal | None]
    seconds: tuple[float, float]


def _nothing() -> None:
    """What has been killed is started by whoever keeps it."""


PARTS = {
    "driver": lambda what: "cep.cli run" in what,
    "driver JVM": lambda what: "/java " in what and "SparkSubmit" in what,
    "executor": lambda what: "CoarseGrainedExecutorBackend" in what,
    "worker": lambda what: "pyspark.daemon" in what,
    "host": lambda what: "runtime.spark.state.host" in what,
}
"""The processes of a job, by what their command lines say."""


def _victims(stage: Stage, part: str) -> list[int]:
    job = stage.job
    return [pid for pid, what in members(job).items() if PARTS[part](what)] if job is not None else []


def _killed(part: str) -> Fault:
    def begin(stage: Stage, chance: random.Random) -> Heal | None:
        victims = _victims(stage, part)
        if not victims:
            return None
        kill(chance.choice(victims))
        return _nothing

    return Fault(f"kill {part}", begin, (1, 6))


def _paused(part: str) -> Fault:
    """SIGSTOP, and SIGCONT later: whoever wakes up may find that others have taken its place."""

    def begin(stage: Stage, chance: random.Random) -> Heal | None:
        victims = _victims(stage, part)
        if not victims:
            return None
        victim = chance.choice(victims)
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGSTOP)

        def heal() -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGCONT)

        return heal

    return Fault(f"pause {part}", begin, (3, 25))


def _broker_killed(stage: Stage, chance: random.Random) -> Heal | None:
    node = chance.randint(1, stage.brokers)
    stage.kafka.kill(node)
    return lambda: stage.kafka.start(node)


def _network(mode: str, *, everywhere: bool = False) -> Callable[[Stage, random.Random], Heal | None]:
    def begin(stage: Stage, chance: random.Random) -> Heal | None:
        chosen = range(len(stage.proxies)) if everywhere else [chance.randrange(len(stage.proxies))]
        for number in chosen:
            stage.proxies.set(number, mode)

        def heal() -> None:
            for number in chosen:
                stage.proxies.set(number, "open")

        return heal

    return begin


def _disk_full(stage: Stage, _chance: random.Random) -> Heal | None:
    ballast = stage.disk / "ballast"
    if not os.path.ismount(stage.disk):
        return None
    _fill(ballast)
    return lambda: ballast.unlink(missing_ok=True)


def _fill(ballast: Path) -> None:
    piece = bytes(1 << 14)
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(piece)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def _memory(stage: Stage, chance: random.Random) -> Heal | None:
    """No more memory for a Python process of the job than it has now: its next large allocation fails."""
    victims = _victims(stage, "host") + _victims(stage, "worker")
    if not victims:
        return None
    victim = chance.choice(victims)
    try:
        pages = int(Path(f"/proc/{victim}/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + (1 << 20)
        before = resource.prlimit(victim, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    except (OSError, ProcessLookupError):
        return None

    def heal() -> None:
        with contextlib.suppress(OSError, ProcessLookupError):
            resource.prlimit(victim, resource.RLIMIT_AS, before)

    return heal


def _ahead(stage: Stage, chance: random.Random) -> Heal | None:
    """An event of somebody whose clock runs years ahead: not an event, and nobody else may become late by it."""
    stage.send_ahead(chance.randrange(2, 30))
    return _nothing


KILLS = (*map(_killed, PARTS), Fault("kill broker", _broker_killed, (1, 10)))
OTHERS = (
    *map(_paused, ("driver", "driver JVM", "executor", "worker", "host")),
    Fault("partition, cut", _network("cut"), (2, 15)),
    Fault("partition, silent", _network("silent"), (2, 15)),
    Fault("partition, all brokers", _network("cut", everywhere=True), (2, 15)),
    Fault("slow network", _network("slow", everywhere=True), (3, 15)),
    Fault("disk full", _disk_full, (2, 10)),
    Fault("no memory", _memory, (3, 10)),
    Fault("clock ahead", _ahead, (0, 1)),
)

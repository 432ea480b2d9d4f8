"""What goes wrong, and how often. Drawn from the schedule's random numbers, counted by kind, told to the trace.

Every effect of a process (a request to the broker, something on disk) is a place where any of the schedule's faults may
happen: before it, after it, or with its answer lost. A schedule has only some kinds of faults, so that each also
happens without the others.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.simulation.process import AnswerLostError, Process

if TYPE_CHECKING:
    from tests.simulation.world import World

AT_EFFECTS = (
    "kill",
    "zombie",
    "pause",
    "partition",
    "timeout",
    "leader change",
    "clock jump",
    "marker loss",
    "compaction",
    "topic recreated",
    "partition added",
    "retention",
)
"""May happen at any effect."""
AT_REST = ("checkpoint restored", "Spark's part lost", "marker loss", "topic recreated", "wrong marker topic")
"""Happen, or also happen, while no driver runs."""
LOCAL = ("disk full", "buffer full", "duplicate delivery")
"""Happen at certain effects only."""
OF_THE_WORLD = ("match too large", "slow broker", "many matches")
"""Chosen for a schedule as a whole."""
KINDS = tuple(dict.fromkeys((*AT_EFFECTS, *AT_REST, *LOCAL, *OF_THE_WORLD)))
MOST = 60
"""Faults of a schedule: where zombies wake zombies, it would never end."""
_RARE = ("marker loss", "topic recreated", "retention", "partition added")


class Faults:
    """The faults of one schedule. `quiet`: nothing happens any more."""

    def __init__(self, rng: random.Random, world: World, kinds: frozenset[str], rate: float) -> None:
        self.rng = rng
        self.world = world
        self.kinds = kinds
        self.rate = rate
        self.quiet = False
        self.counts: Counter[str] = Counter()
        self._before = [kind for kind in AT_EFFECTS if kind in kinds and kind != "timeout"]
        self._after = [kind for kind in ("kill", "timeout") if kind in kinds]
        self._full_until = 0.0
        self.once: dict[str, Callable[[], None]] = {}
        """For histories that are written down: what happens before the next effect of a name."""

    def happens(self, kind: str, what: str) -> None:
        self.counts[kind] += 1
        self.quiet = self.quiet or self.counts.total() >= MOST
        self.world.trace(f"! {kind} at {what}")

    def before(self, process: Process, what: str) -> None:
        if self.once and what in self.once:
            self.once.pop(what)()
        if self.quiet or not self._before or self.rng.random() >= self.rate:
            return
        kind = self.rng.choice(self._before)
        if kind in _RARE and self.rng.random() < 0.7:
            return
        self._inject(kind, process, f"{process.name}: before {what}")

    def after(self, process: Process, what: str) -> None:
        if self.quiet or not self._after or self.rng.random() >= self.rate:
            return
        kind = self.rng.choice(self._after)
        self.happens(kind, f"{process.name}: after {what}")
        if kind == "kill":
            process.kill()
        raise AnswerLostError(what)

    def after_disk(self, process: Process, what: str) -> None:
        if not self.quiet and "kill" in self.kinds and self.rng.random() < self.rate:
            self.happens("kill", f"{process.name}: after {what}")
            process.kill()

    def disk_is_full(self, process: Process, what: str) -> bool:
        if self.quiet or "disk full" not in self.kinds:
            return False
        if self.world.clock.now < self._full_until:
            return True
        if self.rng.random() < self.rate:
            self.happens("disk full", f"{process.name}: {what}")
            self._full_until = self.world.clock.now + self.rng.choice((0.0, 5.0, 60.0))
            return True
        return False

    def buffer_is_full(self, process: Process) -> bool:
        if self.quiet or "buffer full" not in self.kinds or self.rng.random() >= self.rate:
            return False
        self.happens("buffer full", f"{process.name}: produce")
        return True

    def task_runs_twice(self, process: Process) -> bool:
        if self.quiet or "duplicate delivery" not in self.kinds or self.rng.random() >= 0.2:
            return False
        self.happens("duplicate delivery", f"{process.name}: task")
        return True

    def at_rest(self) -> None:
        """Between two runs of the job."""
        for kind in AT_REST:
            if not self.quiet and kind in self.kinds and self.rng.random() < 0.25:
                self._inject(kind, None, "rest")

    def _inject(self, kind: str, process: Process | None, where: str) -> None:
        world, rng = self.world, self.rng
        if kind == "zombie" and world.depth >= 2:
            return
        did = True
        if process is not None and kind == "partition":
            process.down = world.clock.now + rng.choice((1.0, 20.0, 100.0, 400.0))
        elif process is not None and kind == "kill":
            self.happens(kind, where)
            process.kill()
        elif kind == "zombie":
            self.happens(kind, where)
            world.take_over(rng.choice((0.0, 1.0, 400.0)))
            return
        elif kind == "pause":
            world.clock.advance(rng.choice((1.0, 30.0, 500.0)))
        elif kind == "leader change":
            world.leaderless = world.clock.now + rng.choice((0.5, 5.0, 40.0))
        elif kind == "clock jump":
            world.clock.jump(rng.choice((-86_400.0, -10.0, 10.0, 3600.0, 200_000.0)))
        elif kind == "marker loss":
            did = world.lose_markers(at_rest=process is None)
        elif kind == "compaction":
            did = world.compact()
        elif kind == "topic recreated":
            did = world.recreate_input()
        elif kind == "partition added":
            did = world.add_partition()
        elif kind == "retention":
            did = world.expire_input()
        elif kind == "wrong marker topic":
            did = world.spoil_marker_topic()
        elif kind == "checkpoint restored":
            did = world.restore_backup()
        elif kind == "Spark's part lost":
            did = world.lose_spark()
        if did:
            self.happens(kind, where)

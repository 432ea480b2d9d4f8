"""A simulated process: what it asks of the broker and of the disk, and how it dies.

A process that was killed must leave no trace after that point, but Python runs `finally` and `except` blocks while
`KilledError` passes through them. So every effect of a dead process raises `KilledError` again and does nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tests.simulation.broker import Broker
    from tests.simulation.world import World

T = TypeVar("T")
LATENCY = 0.01
_FOR_EVER = 120.0


class KilledError(BaseException):
    """The process is gone; nobody may handle this but the simulation."""


class NoAnswerError(Exception):
    """The request did not arrive."""


class AnswerLostError(Exception):
    """The request was carried out, and nobody knows."""


class Process:
    """`down` is the time until which the broker cannot be reached from here."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.dead = False
        self.down = 0.0
        self.full = False

    def alive(self) -> None:
        if self.dead:
            raise KilledError(self.name)

    def kill(self) -> None:
        self.dead = True
        raise KilledError(self.name)

    def request(self, what: str, action: Callable[[Broker], Any], timeout: float) -> Any:
        """A round trip to the broker, with everything that can happen on the way there and back."""
        self.alive()
        world = self.world
        world.faults.before(self, what)
        self.alive()
        unreachable = max(self.down, world.leaderless) - world.clock.now
        if unreachable > 0:
            patience = timeout if timeout > 0 else _FOR_EVER
            world.clock.advance(min(unreachable, patience))
            if unreachable > patience:
                raise NoAnswerError(what)
        result = action(world.broker)
        world.clock.advance(LATENCY * world.slowness)
        world.faults.after(self, what)
        self.alive()
        return result

    def queue_is_full(self) -> bool:
        """Whether the client's buffer has no room just now."""
        return self.world.faults.buffer_is_full(self)

    def disk(self, what: str, action: Callable[[], T]) -> T:
        """Something on the file system of checkpoint and staging."""
        self.alive()
        faults = self.world.faults
        faults.before(self, what)
        self.alive()
        if faults.disk_is_full(self, what):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        result = action()
        faults.after_disk(self, what)
        self.alive()
        return result

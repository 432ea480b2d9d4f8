"""One schedule: a random history of a job and its surroundings, and whether the promise held.

The promise: a `read_committed` consumer sees each match exactly once; or the job refuses to go on and says why, and the
way out that it names leads on (matches again, or a loss, only where that way out says so).

After some rounds with faults, the faults end, the operator does what the refusals say, and the job must come to the end
of its input: a job that stands still for ever breaks the promise as well.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from connectors.kafka.config import KafkaFailureError
from connectors.kafka.marker import SMALLEST_RECORD
from runtime.spark.errors import JobError
from tests.simulation.faults import KINDS, OF_THE_WORLD
from tests.simulation.process import KilledError
from tests.simulation.spark import ConcurrentQueryError
from tests.simulation.world import LETTERS, MARKERS, OUTPUT, Driver, Holder, Options, Setup, World, clear, install

PATIENCE = 12
"""Starts without faults after which a job must have come to its end."""


PARTS = (1, 5, 20, 100_000)
"""Records of a transaction, at most: small, so that batches have parts."""


class ViolationError(AssertionError):
    """The promise was broken."""


@dataclass(slots=True)
class Outcome:
    """What happened in a schedule. `broken` says how the promise was broken, None where it held."""

    seed: int
    kinds: frozenset[str]
    injected: Counter[str]
    refusals: Counter[str]
    broken: str | None = None
    lost: int = 0
    doubled: int = 0
    repeated: int = 0
    """Matches that came again because the operator chose so."""
    forgone: int = 0
    """Events that Kafka no longer had, and of which the job said so."""
    matches: int = 0
    trace: list[str] = field(default_factory=list)

    def report(self) -> str:
        lines = "\n".join(self.trace)
        return (
            f"seed {self.seed}: {self.broken or 'the promise held'}\nfaults: {', '.join(sorted(self.kinds))}\n{lines}\n"
            f"Run it again: python -m tests.simulation --seed {self.seed}"
        )


class Schedule:
    """A schedule that a seed determines. `kinds` narrows the faults it may draw from."""

    def __init__(self, seed: int, directory: Path, kinds: tuple[str, ...] = KINDS) -> None:
        self.seed = seed
        self.rng = rng = random.Random(seed)
        some = [kind for kind in kinds if rng.random() < 0.35] or [rng.choice(kinds)]
        chosen = frozenset(some)
        setup = Setup(
            partitions=rng.choice((1, 1, 2, 3)),
            limit=rng.choice((None, 3, 10)),
            record_bytes=rng.choice((SMALLEST_RECORD, 1_000_000)) if "match too large" in chosen else 1_000_000,
            topic_bytes=1000 if "match too large" in chosen else 1_048_588,
            timeout=30.0 if "slow broker" in chosen else 180.0,
            slowness=100.0 if "slow broker" in chosen else 1.0,
            large="match too large" in chosen,
            many="many matches" in chosen or "slow broker" in chosen,
            part=rng.choice(PARTS),
            inline=600 if "disk full" in chosen else rng.choice((600, 1 << 20, 1 << 20, 1 << 20)),
        )
        clear(directory)
        self.world = World(rng, directory, setup, chosen, rng.choice((0.005, 0.02, 0.06)))
        self.world.take_over_with = self._take_over
        self.options = Options()
        self.refusals: Counter[str] = Counter()
        self.told: set[int] = set()
        """Events that Kafka no longer has, and of which the job said so."""
        self.allowed: Counter[str] = Counter()
        self.reordered = False
        self.world.faults.counts.update(chosen.intersection(OF_THE_WORLD))
        if "wrong marker topic" in chosen and rng.random() < 0.5:
            self.world.spoil_marker_topic()
            self.world.faults.counts["wrong marker topic"] += 1

    def run(self) -> Outcome:
        Holder.world = world = self.world
        broken = None
        try:
            for _ in range(self.rng.randrange(2, 7)):
                world.feed(self.rng.randrange(0, 12))
                self._round()
                world.faults.at_rest()
                if self.rng.random() < 0.5:
                    world.expire_markers()
            self._finish()
        except ViolationError as violation:
            broken = str(violation)
        result = Outcome(self.seed, world.faults.kinds, world.faults.counts, self.refusals, broken, trace=world.lines)
        self._count(result)
        return result

    # Faults happen

    def _round(self) -> None:
        """A driver runs until something ends it, or somebody stops it."""
        if self.rng.random() < 0.3 and self.world.others:
            driver = self.world.others.pop()  # the one that took over goes on
        else:
            driver = Driver(self.world, self.options, once=self.rng.random() < 0.2)
            self.options = Options()
            if not self._try(driver, driver.start):
                return
        for _ in range(self.rng.randrange(1, 6)):
            if not self._try(driver, driver.step):
                return
            if self.rng.random() < 0.3:
                self.world.feed(self.rng.randrange(0, 6))
            if self.rng.random() < 0.3:
                self.world.backups.append(self.world.checkpoint.backup())
        if self.rng.random() < 0.3:
            self.world.others.append(driver)  # it is not known to live, and comes back
        else:
            driver.kill()

    def _take_over(self) -> None:
        awake = [other for other in self.world.others if not self.world.is_running(other.process)]
        if awake and self.rng.random() < 0.5:
            driver = awake[-1]
        else:
            driver = Driver(self.world, Options())
            if not self._try(driver, driver.start):
                return
            self.world.others.append(driver)
        for _ in range(self.rng.randrange(0, 4)):
            if not self._try(driver, driver.step):
                if driver in self.world.others:
                    self.world.others.remove(driver)
                return

    def _try(self, driver: Driver, action: object) -> bool:
        """Whether the driver still lives after it did something."""
        world = self.world
        what = getattr(action, "__name__", "")
        number = driver.query.batch if driver.query else None
        if driver.query is None and driver.options.on_rewind == "republish":
            self._allow_again()
        try:
            done = action()  # type: ignore[operator]
        except ViolationError:
            raise
        except KilledError:
            world.trace(f"{driver.process.name} was killed ({what})")
        except (KafkaFailureError, JobError, ConcurrentQueryError, OSError) as error:
            self._refused(driver, error)
        except Exception as error:
            world.trace(f"{driver.process.name} crashed: {error!r}")
            raise ViolationError(f"an error that names nothing to the user: {type(error).__name__}: {error}") from error
        else:
            world.trace(f"{driver.process.name} {what} {number if what == 'step' else ''} {done}")
            if driver.options.on_data_loss == "continue":
                self.told |= world.gone  # it goes on, and warns
            driver.done += bool(done)
            return True
        driver.process.dead = True
        return False

    # The operator

    def _refused(self, driver: Driver, error: Exception) -> None:
        text = str(error)
        self.world.trace(f"{driver.process.name} ended: {type(error).__name__}: {text}")
        if not text or any(empty in text for empty in ("Erroneous state", "Local: Fatal error")):
            raise ViolationError(f"a refusal that names no reason: {type(error).__name__}: {text}")
        self.refusals[type(error).__name__] += 1
        if driver.done == 0:  # an option stays until a batch went through with it
            self.options = replace(driver.options)
        if "events were lost before they were read" in text:
            self.told |= self.world.gone
            self.options.on_data_loss = "continue"
        elif "--on-rewind republish" in text:
            self.options.on_rewind = "republish"
            if f"delete {MARKERS}" in text:
                self.world.broker.delete(MARKERS)
        elif "--add-config cleanup.policy=compact" in text:
            self.world.broker.topics[MARKERS].settings["cleanup.policy"] = "compact"

    def _allow_again(self) -> None:
        """The operator has chosen that what is published up to here may come once more."""
        self.reordered = True
        for id_, times in self._published().items():
            self.allowed[id_] = max(self.allowed[id_], times)

    # The end

    def _finish(self) -> None:
        world = self.world
        world.faults.quiet = True
        for other in world.others:
            other.kill()
        for _ in range(PATIENCE):
            world.clock.advance(500.0)
            driver = Driver(world, self.options)
            self.options = Options()
            if not self._try(driver, driver.start):
                continue
            for _step in range(400):
                before = driver.query.batch if driver.query else 0
                if not self._try(driver, driver.step):
                    break
                if driver.query and driver.query.batch == before:
                    self._check()
                    return
        raise ViolationError(f"the job stands still: {world.lines[-1]}")

    def _published(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for name in (OUTPUT, LETTERS):
            topic = self.world.broker.topics[name]
            for log in topic.logs:
                for stored in log.visible(committed=True):
                    found[dict(stored.headers)["ce_id"].decode()] += 1  # type: ignore[union-attr]
        return found

    def _check(self) -> None:
        published = self._published()
        events = self.world.events
        expected = {id_: event.number for event in events.values() for id_ in event.ids()}
        strange = sorted(set(published) - set(expected))
        if strange:
            raise ViolationError(f"matches that nobody found: {strange[:5]}")
        doubled = [id_ for id_, times in published.items() if times > 1 + self.allowed[id_]]
        if doubled:
            raise ViolationError(f"{len(doubled)} matches doubled: {sorted(doubled)[:5]}")
        lost = [id_ for id_, number in expected.items() if not published[id_] and number not in self.world.gone]
        if lost:
            raise ViolationError(f"{len(lost)} matches lost: {sorted(lost)[:5]}")
        untold = self.world.gone - self.world.never_due - self.told
        forgone = [id_ for id_, number in expected.items() if not published[id_] and number in untold]
        if forgone:
            raise ViolationError(f"{len(forgone)} matches lost with their events, in silence: {sorted(forgone)[:5]}")
        self._check_order()

    def _check_order(self) -> None:
        if self.reordered or self.world.moved:
            return
        for log in self.world.broker.topics[OUTPUT].logs:
            newest: dict[bytes | None, str] = {}
            for stored in log.visible(committed=True):
                id_ = dict(stored.headers)["ce_id"].decode()  # type: ignore[union-attr]
                if id_ < newest.get(stored.key, ""):
                    raise ViolationError(f"out of order: {id_} after {newest[stored.key]}, both of {stored.key!r}")
                newest[stored.key] = id_

    def _count(self, result: Outcome) -> None:
        published = self._published()
        result.matches = len(published)
        for event in self.world.events.values():
            for id_ in event.ids():
                times = published[id_]
                if times > 1 + self.allowed[id_]:
                    result.doubled += 1
                elif times > 1:
                    result.repeated += 1
                elif not times and event.number in self.world.gone:
                    result.forgone += 1
                elif not times:
                    result.lost += 1


def run(seeds: Iterable[int], directory: Path, kinds: tuple[str, ...] = KINDS) -> Iterator[Outcome]:
    """Run schedules one after another, in a directory that is theirs. Nothing is logged."""
    logging.disable(logging.CRITICAL)
    try:
        with install():
            for seed in seeds:
                yield Schedule(seed, directory / "job", kinds).run()
    finally:
        logging.disable(logging.NOTSET)


class Tally:
    """What many schedules came to, by fault."""

    def __init__(self) -> None:
        self.schedules = self.matches = self.refused = 0
        self.broken: list[Outcome] = []
        self.injected: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.by_kind: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}

    def add(self, outcome: Outcome) -> None:
        self.schedules += 1
        self.matches += outcome.matches
        self.injected += outcome.injected
        self.refusals += outcome.refusals
        self.refused += bool(outcome.refusals)
        if outcome.broken:
            self.broken.append(outcome)
        for kind in outcome.injected:
            row = self.by_kind[kind]
            row["schedules"] += 1
            row["refused"] += bool(outcome.refusals)
            for name in ("lost", "doubled", "repeated", "forgone"):
                row[name] += getattr(outcome, name)

    def table(self) -> str:
        """Markdown: each row counts the schedules in which its fault happened, whatever else did there."""
        rows = [
            "| fault | injected | schedules | with a refusal | lost | doubled | again, as chosen | gone, and told |",
            "|---|---|---|---|---|---|---|---|",
        ]
        rows += [
            f"| {kind} | {self.injected[kind]:,} | {row['schedules']:,} | {row['refused']:,} | {row['lost']} | "
            f"{row['doubled']} | {row['repeated']:,} | {row['forgone']:,} |"
            for kind, row in self.by_kind.items()
        ]
        refusals = ", ".join(f"{name} {count:,}" for name, count in self.refusals.most_common()) or "none"
        summary = f"{self.schedules:,} schedules, {self.matches:,} matches, {len(self.broken)} broken"
        return "\n".join([*rows, f"{summary}; refusals: {refusals}"])

"""Histories that the simulation has found, one by one: what the job must say, or do, in each."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from connectors.kafka import offsets
from connectors.kafka.config import KafkaFailureError
from connectors.kafka.decide import InputRange
from connectors.kafka.offsets import DataLossError
from connectors.kafka.publisher import RewindError
from runtime.spark.ends.offset_log import OffsetLog
from runtime.spark.errors import Final, judge
from tests.simulation.broker import Stored
from tests.simulation.source import Event
from tests.simulation.world import INPUT, MARKERS, OUTPUT, Driver, Holder, Options, Setup, World, install

SETUP = Setup(
    partitions=1, limit=4, record_bytes=1_000_000, topic_bytes=1_048_588, timeout=60.0, slowness=1.0, large=False,
    many=False, inline=1 << 20, part=100_000,
)  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with install():
        Holder.world = World(random.Random(1), tmp_path, SETUP, frozenset(), 0.0)
        feed(Holder.world, 8)
        yield Holder.world


def feed(world: World, count: int, partition: int = 0) -> None:
    """Events with one match each."""
    for _ in range(count):
        event = Event(len(world.events), "k", 1)
        world.events[event.number] = event
        world.broker.write(INPUT, partition, Stored(0, b"k", event.encode()))


def started(world: World, **options: str) -> Driver:
    driver = Driver(world, Options(**options))
    driver.start()
    return driver


def steps(driver: Driver) -> None:
    while driver.step():
        pass


def run_to_the_end(world: World, **options: str) -> None:
    steps(started(world, **options))


def published(world: World) -> list[int]:
    """The events whose matches a `read_committed` consumer sees."""
    logs = world.broker.topics[OUTPUT].logs
    ids = [dict(stored.headers)["ce_id"] for log in logs for stored in log.visible(committed=True)]
    return sorted(int(id_.partition(b".")[0]) for id_ in ids)


def full_disk() -> None:
    raise OSError(28, "No space left on device")


def test_without_faults_each_match_is_published_once(world):
    run_to_the_end(world)
    assert published(world) == list(range(8))


def test_the_first_batch_starts_where_it_was_planned_to_whatever_retention_did(world):
    """Spark asks where to start again when it runs the first batch again."""
    driver = started(world)
    world.faults.once["coordinator"] = full_disk
    with pytest.raises(OSError, match="No space left"):
        driver.step()
    world.broker.topics[INPUT].logs[0].expire(3)

    with pytest.raises(DataLossError, match=r"events\[0\] begins at offset 3: 3 offsets from 0 on are gone"):
        run_to_the_end(world)
    run_to_the_end(world, on_data_loss="continue")
    assert published(world) == list(range(3, 8))


def test_that_start_is_what_notices_the_loss(world, monkeypatch):
    """The same history with the repair taken out: the events are gone, and nothing says so."""
    monkeypatch.setattr(offsets, "start_of", lambda _: None)
    driver = started(world)
    world.faults.once["coordinator"] = full_disk
    with pytest.raises(OSError, match="No space left"):
        driver.step()
    world.broker.topics[INPUT].logs[0].expire(3)
    run_to_the_end(world)
    assert published(world) == list(range(3, 8))


@pytest.mark.parametrize("moment", ["list offsets", "fetch"])
def test_a_topic_that_is_made_anew_while_a_batch_is_planned_or_read_is_noticed(world, moment):
    driver = started(world)
    driver.step()

    def recreate() -> None:
        world.broker.delete(INPUT)
        world.broker.create(INPUT)
        feed(world, 20)

    world.faults.once[moment] = recreate
    with pytest.raises(DataLossError, match="events was deleted and made anew"):
        steps(driver)
    run_to_the_end(world, on_data_loss="continue")
    assert published(world) == [0, 1, 2, 3, *range(8, 28)]


def test_the_head_of_a_new_partition_that_is_gone_before_the_first_look_is_a_loss(world):
    run_to_the_end(world)
    world.add_partition()
    feed(world, 5, partition=1)
    world.broker.topics[INPUT].logs[1].expire(2)

    with pytest.raises(DataLossError, match=r"events\[1\] begins at offset 2: 2 offsets from 0 on are gone"):
        run_to_the_end(world)
    run_to_the_end(world, on_data_loss="continue")
    assert published(world) == [*range(8), 10, 11, 12]


def test_an_older_backup_of_the_checkpoint_is_refused_and_can_be_published_from(world):
    run_to_the_end(world)
    backup = world.checkpoint.backup()
    feed(world, 4)
    run_to_the_end(world)
    world.checkpoint.restore(backup)
    feed(world, 2)
    world.setup = replace(SETUP, limit=None)

    with pytest.raises(RewindError, match=r"events\[0\] 8-12, now it has events\[0\] 8-14"):
        run_to_the_end(world)
    run_to_the_end(world, on_rewind="republish")
    assert published(world) == sorted([*range(14), *range(8, 12)])


def test_a_marker_topic_that_is_gone_is_noticed(world):
    run_to_the_end(world)
    world.broker.delete(MARKERS)
    feed(world, 1)
    with pytest.raises(RewindError, match="markers were lost"):
        run_to_the_end(world)
    run_to_the_end(world, on_rewind="republish")
    assert published(world) == list(range(9))


def test_a_limit_of_records_that_has_no_room_for_markers_is_refused_at_once(world):
    """A marker grows with the batches it remembers: the job would stop at one of them, and at every start after it."""
    world.setup = replace(SETUP, limit=1, record_bytes=2000)
    feed(world, 80)
    with pytest.raises(KafkaFailureError, match=r"message.max.bytes=2000 .* expected at least 16,384") as refused:
        run_to_the_end(world)
    assert judge(refused.value) == Final(str(refused.value))
    assert published(world) == []

    world.setup = replace(SETUP, limit=1, record_bytes=16_384)
    run_to_the_end(world)
    assert published(world) == list(range(88))


def test_a_marker_topic_that_has_no_room_for_markers_is_refused_with_the_command_to_change_it(world):
    world.broker.create(MARKERS, 1, {"cleanup.policy": "compact", "max.message.bytes": "2000"})
    with pytest.raises(KafkaFailureError, match=r"max.message.bytes=2000, expected at least 16,384.*\n.*--add-config"):
        run_to_the_end(world)
    world.broker.topics[MARKERS].settings["max.message.bytes"] = "16384"
    run_to_the_end(world)
    assert published(world) == list(range(8))


def test_a_marker_of_more_partitions_than_a_record_has_room_for_says_so(world, monkeypatch):
    world.setup = replace(SETUP, record_bytes=16_384)
    many = {f"0:events[{number}]": 123_456_789 for number in range(1000)}
    monkeypatch.setattr(OffsetLog, "__call__", lambda _log, batch: InputRange(None, many | {"b": batch}))
    with pytest.raises(KafkaFailureError, match=r"the marker of batch 0 .* 1,001 positions .* message.max.bytes"):
        run_to_the_end(world)
    assert published(world) == []

"""The topics that Spark's own connector reads are compared with those of the checkpoint, with each batch."""

from __future__ import annotations

import json
import pickle
from types import SimpleNamespace

import pyarrow as pa
import pytest

from connectors.kafka.offsets import DataLossError
from runtime.spark.ends.sinks import Outlet
from runtime.spark.ends.topics import NAME, TopicGuard, check_topics
from tests.kafka.jobs import delete, make_anew


def test_nothing_of_a_batch_is_published_where_the_check_fails():
    done = []

    def check() -> None:
        done.append("check")
        raise DataLossError([])

    class Rows:
        def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
            done.append("run")
            return pa.table({})

    outlet = Outlet(matches=lambda *_: done.append("publish"), late=lambda *_: done.append("late"), check=check)
    with pytest.raises(DataLossError):
        outlet(Rows(), 3)
    assert done == ["run", "check"], "after all of it was read, and before anything is written"


@pytest.mark.kafka
@pytest.mark.usefixtures("real")
def test_a_topic_that_was_made_anew_is_noticed_with_the_next_batch(config, topic, tmp_path):
    name, other, checkpoint = topic(), topic(), str(tmp_path)
    check_topics(checkpoint, config, [name, other], fail=True)
    guards = [TopicGuard(checkpoint, config, [name, other], fail=fail) for fail in (True, False)]
    for guard in guards:
        guard()
    before = json.loads((tmp_path / NAME).read_text())
    make_anew(config, name)
    for guard in (guards[0], pickle.loads(pickle.dumps(guards[0])), guards[0]):
        with pytest.raises(DataLossError, match=f"{name} was deleted and made anew .*--on-data-loss continue"):
            guard()
    assert json.loads((tmp_path / NAME).read_text()) == before
    guards[1]()  # warns, and goes on with the topic that is there
    after = json.loads((tmp_path / NAME).read_text())
    assert after["topics"][other] == before["topics"][other]
    assert after["topics"][name] != before["topics"][name]
    guards[1]()
    TopicGuard(checkpoint, config, [name, other], fail=True)()


@pytest.mark.kafka
@pytest.mark.usefixtures("real")
def test_a_topic_that_is_gone_is_left_to_the_connector(config, topic, tmp_path):
    name = topic()
    check_topics(str(tmp_path), config, [name], fail=True)
    guard = TopicGuard(str(tmp_path), config, [name], fail=True)
    delete(config, name)
    guard()


def test_topics_without_ids_cost_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("runtime.spark.ends.topics.admin_client", lambda _: pytest.fail("nobody is asked"))
    TopicGuard(str(tmp_path), SimpleNamespace(), ["t"], fail=True)()

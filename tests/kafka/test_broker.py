"""The brokers that tests run on: they stop with their owner, and fail over."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from connectors import testing
from connectors.kafka.built_in import BuiltInCluster
from connectors.kafka.cluster import ensure_topics
from connectors.kafka.config import KafkaConfig, KafkaFailureError
from connectors.kafka.publisher import PublishResult, Record, TransactionalPublisher
from connectors.testing import RealKafka, kafka_for_tests

pytestmark = pytest.mark.kafka

OWNER = """
import time
from connectors.testing import RealKafka
broker = RealKafka()
print(*(process.pid for process in broker._processes.values()), flush=True)
time.sleep(300)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("real")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="the parent-death signal is set with setpriv")
def test_a_broker_does_not_outlive_an_owner_that_is_killed():
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    assert b"kafka.Kafka" in Path(f"/proc/{pid}/cmdline").read_bytes()
    owner.send_signal(signal.SIGKILL)
    owner.wait()

    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("real")
def test_publication_survives_the_loss_of_a_broker():
    with RealKafka(brokers=3) as cluster:
        config = cluster.config
        ensure_topics(config, ["alerts"], partitions=3, replication=3)
        with TransactionalPublisher(config, f"job-{uuid.uuid4().hex[:8]}", topic="alerts") as publisher:
            for batch in range(6):
                if batch == 2:
                    cluster.kill(3)
                if batch == 4:
                    cluster.start(3)
                records = [Record(b"k%d" % n, b"%d:%d" % (batch, n)) for n in range(30)]
                assert publisher.publish(batch, records) == PublishResult(batch, 30)
            assert publisher.last_committed() == 5


def no_broker() -> Path:
    raise KafkaFailureError("no artifacts today")


def test_without_the_artifacts_the_built_in_cluster_serves_with_a_notice(monkeypatch, capsys):
    monkeypatch.setattr(testing, "fetch_broker", no_broker)
    monkeypatch.delenv("CEP_REQUIRE_KAFKA", raising=False)
    with kafka_for_tests() as cluster:
        assert isinstance(cluster, BuiltInCluster)
    assert "NOTICE: no real Kafka broker (no artifacts today)" in capsys.readouterr().err


def test_ci_insists_on_the_real_broker(monkeypatch):
    monkeypatch.setattr(testing, "fetch_broker", no_broker)
    monkeypatch.setenv("CEP_REQUIRE_KAFKA", "1")
    with pytest.raises(KafkaFailureError, match="no artifacts today"), kafka_for_tests():
        pass


def test_the_publisher_works_on_the_built_in_cluster_too():
    """As in the demo: markers and skipping work there, isolation and fencing do not exist."""
    with BuiltInCluster(topics={"alerts": 2}) as cluster:
        config = KafkaConfig.of({"bootstrap.servers": cluster.bootstrap})
        job = f"job-{os.getpid()}"
        with TransactionalPublisher(config, job, topic="alerts") as publisher:
            assert publisher.publish(0, [Record(b"k", b"v")]) == PublishResult(0, 1)
        with TransactionalPublisher(config, job, topic="alerts") as publisher:
            assert publisher.publish(0, [Record(b"k", b"v")]) == PublishResult(0, 1, skipped=True)


def test_a_cluster_is_closed_with_its_port():
    port = testing.free_port()
    for _ in range(2):
        with BuiltInCluster(port=port) as cluster:
            assert cluster.bootstrap == f"127.0.0.1:{port}"

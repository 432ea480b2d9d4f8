"""A Kafka broker for tests: the real one, from its published Java artifacts, on free loopback ports.

`RealKafka` fetches the broker by its Maven coordinates once, into the user's cache, formats a KRaft log directory and
starts one Java process a broker. `kafka_for_tests` starts it, or says clearly why it cannot and falls back to
librdkafka's built-in cluster, which has no isolation and no fencing; with CEP_REQUIRE_KAFKA=1 it fails instead.

Guaranteed: no broker outlives the process that started it (on Linux, by a parent-death signal; elsewhere, unless that
process is killed outright). Nothing but loopback addresses is listened on.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from connectors.artifacts import fetch
from connectors.kafka.built_in import BuiltInCluster
from connectors.kafka.config import KafkaConfig, KafkaFailureError

KAFKA_VERSION = "4.1.0"
LOG4J_VERSION = "2.24.3"
OLDER_CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.0",
    "org.apache.commons:commons-pool2:2.12.0",
)
START_TIMEOUT = 90.0
_CLUSTER_ID = "5L6g3nShT-eMCtK--X86sw"
_LOG4J = """<Configuration status="ERROR"><Appenders><Console name="out">
<PatternLayout pattern="%d %p %c{1} %m%n"/></Console></Appenders>
<Loggers><Root level="WARN"><AppenderRef ref="out"/></Root></Loggers></Configuration>
"""
_JVM = (
    "-Xms128m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-Djava.awt.headless=true",
)


def fetch_broker() -> Path:
    """The directory with the broker's jars, fetched the first time; `KafkaFailureError` says why not."""
    jars = fetch(
        f"kafka-{KAFKA_VERSION}",
        [
            f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
            f"org.apache.logging.log4j:log4j-slf4j-impl:{LOG4J_VERSION}",
        ],
    )
    settings = jars / "log4j2.xml"
    if not settings.exists():
        settings.write_text(_LOG4J)
    return jars


def fetch_connector() -> list[Path]:
    """The jars of Spark's own Kafka connector; `KafkaFailureError` says why not.

    Registries may lack that of the newest Spark. The one before it works there too, with what it needs spelt out.
    """
    spark = version("pyspark")
    try:
        jars = fetch(f"spark-kafka-{spark}", [f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}"])
    except KafkaFailureError:
        jars = fetch("spark-kafka-older", OLDER_CONNECTOR, alone=True)
    return sorted(jars.glob("*.jar"))


def free_port() -> int:
    """A loopback port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RealKafka:
    """One or more brokers of Apache Kafka; the first is the controller as well.

    `proxy` puts something between brokers and clients: given a broker's port it says which one clients are sent to
    instead. Brokers talk to each other past it.
    """

    def __init__(
        self,
        *,
        brokers: int = 1,
        settings: Mapping[str, str] | None = None,
        proxy: Callable[[int], int] | None = None,
    ) -> None:
        self._jars = fetch_broker()
        self._directory = Path(tempfile.mkdtemp(prefix="cep-kafka-"))
        self._ports = [free_port() for _ in range(brokers)]
        self._advertised = [proxy(port) for port in self._ports] if proxy else self._ports
        self._internal = [free_port() for _ in range(brokers)] if proxy else []
        self._controller = free_port()
        self._settings = dict(settings or {})
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self._advertised)
        try:
            for node in range(1, brokers + 1):
                self._format(node)
            for node in range(1, brokers + 1):
                self.start(node)
            self._wait(brokers)
        except BaseException:
            self.close()
            raise

    @property
    def config(self) -> KafkaConfig:
        """Settings of a client."""
        return KafkaConfig.of({"bootstrap.servers": self.bootstrap})

    def start(self, node: int = 1) -> None:
        """Start a broker that is not running."""
        command = [*_dies_with_us(), *self._java(), "kafka.Kafka", str(self._properties(node))]
        with (self._directory / f"{node}.log").open("ab") as log:
            self._processes[node] = subprocess.Popen(  # noqa: S603 - the command is ours
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self._directory
            )

    def kill(self, node: int = 1) -> None:
        """End a broker without warning."""
        process = self._processes.pop(node)
        process.kill()
        process.wait()

    def close(self) -> None:
        """Stop every broker and remove its data."""
        for process in self._processes.values():
            process.kill()  # the data is thrown away: an orderly shutdown would cost seconds for nothing
        for process in self._processes.values():
            process.wait()
        self._processes.clear()
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> RealKafka:  # noqa: PYI034 - Self is Python 3.11's
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _java(self) -> list[str]:
        java = shutil.which("java")
        if java is None:
            raise KafkaFailureError("a real broker needs java on the PATH")
        log4j = self._jars / "log4j2.xml"
        return [java, *_JVM, f"-Dlog4j2.configurationFile={log4j}", "-cp", f"{self._jars}/*"]

    def _properties(self, node: int) -> Path:
        path = self._directory / f"{node}.properties"
        count = len(self._ports)
        replicas, least = str(min(3, count)), str(max(1, min(2, count - 1)))
        settings = {
            "process.roles": "broker,controller" if node == 1 else "broker",
            "node.id": str(node),
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller}",
            **self._listeners(node),
            "log.dirs": str(self._directory / f"data-{node}"),
            "auto.create.topics.enable": "false",
            "default.replication.factor": replicas,
            "min.insync.replicas": least,
            "offsets.topic.replication.factor": replicas,
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": least,
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": least,
            "share.coordinator.state.topic.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "log.retention.check.interval.ms": "1000",
            "log.initial.task.delay.ms": "500",
            "message.max.bytes": str(64 << 20),
            "replica.fetch.max.bytes": str(64 << 20),
        } | self._settings
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return path

    def _listeners(self, node: int) -> dict[str, str]:
        controller = f",CONTROLLER://127.0.0.1:{self._controller}" if node == 1 else ""
        internal = f",INTERNAL://127.0.0.1:{self._internal[node - 1]}" if self._internal else ""
        return {
            "listeners": f"PLAINTEXT://127.0.0.1:{self._ports[node - 1]}{internal}{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self._advertised[node - 1]}{internal}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "INTERNAL" if internal else "PLAINTEXT",
        }

    def _format(self, node: int) -> None:
        done = subprocess.run(  # noqa: S603 - the command is ours
            [*self._java(), "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._properties(node))],
            capture_output=True,
            text=True,
            timeout=START_TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise KafkaFailureError(f"the broker's storage cannot be formatted: {(done.stdout + done.stderr)[-800:]}")

    def _wait(self, brokers: int) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline:
            for node, process in self._processes.items():
                if process.poll() is not None:
                    raise KafkaFailureError(f"broker {node} ended with {process.returncode}: {self.log(node)[-1500:]}")
            try:
                if len(admin.list_topics(timeout=1).brokers) == brokers:
                    return
            except KafkaException:
                continue
        raise KafkaFailureError(f"the broker did not start in {START_TIMEOUT:.0f} s: {self.log(1)[-1500:]}")

    def log(self, node: int = 1) -> str:
        """What a broker has said."""
        path = self._directory / f"{node}.log"
        return path.read_text(errors="replace") if path.exists() else ""


def _dies_with_us() -> list[str]:
    """A command prefix under which a process gets SIGKILL when this one ends."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", signal.SIGKILL.name[3:], "--"] if setpriv and sys.platform == "linux" else []


@contextmanager
def kafka_for_tests(*, brokers: int = 1) -> Iterator[RealKafka | BuiltInCluster]:
    """A broker for a test session, stopped at the end. See the module's text for what it falls back to."""
    try:
        cluster: RealKafka | BuiltInCluster = RealKafka(brokers=brokers)
    except KafkaFailureError as error:
        if os.environ.get("CEP_REQUIRE_KAFKA") == "1":
            raise
        sys.stderr.write(f"\nNOTICE: no real Kafka broker ({error}); tests use librdkafka's built-in cluster\n")
        cluster = BuiltInCluster(brokers=brokers)
    with cluster:
        yield cluster

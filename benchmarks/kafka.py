"""From an event on a topic to its alert on another: events a second, and how long an alert takes.

    python -m benchmarks.kafka [--rates N ...] [--seconds S] [--sources python jvm] [--json FILE]

A real broker, `cep run` and a `read_committed` consumer, each a process or thread of its own on this machine. For each
rate the producer sends card transactions for `--seconds`. One triple in 300 events is planted: small, small, large on
an account of its own, so that every alert is known beforehand; one that is missing or there twice is an error. Event
time is a clock of its own, one millisecond an event.

* *latency* of an alert: from before the last event of its triple is handed to the producer to when the consumer has it.
* *events/s*: all events of a rate, over the time from the first one sent to the last alert seen. It comes close to the
  rate where the job keeps up. *sent/s* is what the producer managed.

The job is warm when it is measured. `jvm` is Spark's own connector, fetched by its Maven coordinates once (an older one
where a registry lacks the newest); where that is not possible the reason is printed and stored.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import facts
from connectors.kafka.cluster import ensure_topics
from connectors.kafka.config import KafkaConfig, KafkaFailureError
from connectors.testing import RealKafka, fetch_connector

RESULTS = Path(__file__).parent / "results"
PATTERN = """
STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE, sent INT) TIMESTAMP BY ts WATERMARK 2 MINUTES;
PATTERN CardTesting
  SEQ(Trans s1, Trans s2, Trans l)
  WHERE s1.acc = s2.acc AND s2.acc = l.acc AND s1.amnt < 100 AND s2.amnt < 100 AND l.amnt > 400
  WITHIN 1 MINUTE
  RETURN l.acc AS acc, l.sent AS sent;
"""
TRIPLE_EVERY = 300
"""Events, of which one triple is planted."""
PARTITIONS = 2


class Alerts:
    """A consumer that notes when it saw which alert."""

    def __init__(self, config: KafkaConfig, topic: str) -> None:
        from confluent_kafka import Consumer, TopicPartition

        settings = {"fetch.wait.max.ms": 10, "group.id": "bench", "isolation.level": "read_committed"}
        self._consumer = Consumer(config.client(settings, enable_auto_commit=False, auto_offset_reset="earliest"))
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        self.seen: dict[str, float] = {}
        self.twice: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while not self._stop.is_set():
            for message in self._consumer.consume(10_000, 0.02):
                now = time.time()
                if message.error() is None:
                    fields = json.loads(message.value() or b"{}")["fields"]
                    if fields["acc"] in self.seen:
                        self.twice.append(fields["acc"])
                    self.seen[fields["acc"]] = now - fields["sent"] / 1e6
        self._consumer.close()

    def close(self) -> None:
        """Stop reading."""
        self._stop.set()
        self._thread.join()


class Feed:
    """A producer of transactions at a rate."""

    def __init__(self, config: KafkaConfig, topic: str) -> None:
        from confluent_kafka import Producer

        self._topic = topic
        self._producer = Producer(
            config.client({"linger.ms": 5, "compression.type": "lz4", "queue.buffering.max.messages": 2_000_000})
        )
        self._random = np.random.default_rng(7)
        self._triples = 0
        self._clock = 1_704_067_200_000

    def send(self, rate: int, seconds: float) -> tuple[int, list[str]]:
        """Send for a time; how many events, and the accounts of the triples among them."""
        planted: list[str] = []
        clock = self._clock
        count, started = 0, time.perf_counter()
        accounts = self._random.integers(0, 10_000, 1 << 16).tolist()
        amounts = self._random.uniform(100, 400, 1 << 16).round(2).tolist()
        produce, topic = self._producer.produce, self._topic
        while (elapsed := time.perf_counter() - started) < seconds:
            due = min(int(elapsed * rate), count + 5_000)
            if due <= count:
                time.sleep(0.002)
                continue
            micros = time.time_ns() // 1000
            for number in range(count, due):
                place = number % TRIPLE_EVERY
                if place < 3:
                    if place == 0:
                        self._triples += 1
                    account, amount = f"fraud{self._triples:07d}", (10.0, 20.0, 500.0)[place]
                    if place == 2:
                        planted.append(account)
                        micros = time.time_ns() // 1000
                else:
                    account, amount = f"acc{accounts[number & 0xFFFF]:05d}", amounts[number & 0xFFFF]
                value = f'{{"ts": {clock + number}, "acc": "{account}", "amnt": {amount}, "sent": {micros}}}'
                while True:
                    try:
                        produce(topic, value, account)
                        break
                    except BufferError:
                        self._producer.poll(0.05)
            count = due
            self._producer.poll(0)
        self._clock += count
        if self._producer.flush(60):
            raise KafkaFailureError("the broker did not take all events in a minute")
        return count, planted


def start_job(directory: Path, bootstrap: str, topics: tuple[str, str], source: str, jars: Sequence[Path]) -> Any:
    """`cep run`, its words in a file."""
    (directory / "card.cep").write_text(PATTERN)
    command = [
        sys.executable, "-m", "cep.cli", "run", str(directory / "card.cep"), "--in", f"Trans=kafka:{topics[0]}",
        "--out", f"kafka:{topics[1]}", "--bootstrap", bootstrap, "--checkpoint", str(directory / "checkpoint"),
        "--kafka-source", source, "--master", "local[2]", "--buckets", "2",
        *(("--conf", f"spark.jars={','.join(map(str, jars))}") if jars else ()),
    ]  # fmt: skip
    environment = {"SPARK_LOCAL_IP": "127.0.0.1", **os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path.cwd()), os.environ.get("PYTHONPATH")]))
    with (directory / "log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment)


def wait_for(alerts: Alerts, wanted: Sequence[str], job: Any, patience: float) -> bool:
    """Whether all wanted alerts are seen in time."""
    deadline = time.monotonic() + patience
    while not all(account in alerts.seen for account in wanted):
        if job.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def measure(
    kafka: RealKafka, source: str, jars: Sequence[Path], rates: Sequence[int], seconds: float, patience: float
) -> list[dict[str, Any]]:
    """The rows of one source."""
    topics = (f"events-{source}", f"alerts-{source}")
    ensure_topics(kafka.config, topics, partitions=PARTITIONS)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        alerts, feed = Alerts(kafka.config, topics[1]), Feed(kafka.config, topics[0])
        job = start_job(directory, kafka.bootstrap, topics, source, jars)
        try:
            for _ in range(3):  # the first batches start workers and compile
                _, warm = feed.send(1_000, 2)
                if not wait_for(alerts, warm, job, patience):
                    log = (directory / "log").read_text(errors="replace").strip().splitlines()
                    raise KafkaFailureError(f"the job did not start: {(log or ['no words'])[-1][:300]}")
            for rate in rates:
                row = one_rate(alerts, feed, job, rate, seconds, patience)
                rows.append({"source": source} | row)
                print(line(rows[-1]), flush=True)
                if row["missing"]:
                    break  # what is left over would be measured with the next rate
        finally:
            job.send_signal(signal.SIGTERM)
            try:
                job.wait(60)
            except subprocess.TimeoutExpired:
                job.kill()
                job.wait()
            alerts.close()
    return rows


def one_rate(alerts: Alerts, feed: Feed, job: Any, rate: int, seconds: float, patience: float) -> dict[str, Any]:
    """Send at a rate and wait for the alerts."""
    load, started = os.getloadavg()[0], time.perf_counter()
    count, planted = feed.send(rate, seconds)
    sent = time.perf_counter() - started
    wait_for(alerts, planted, job, patience)
    total = time.perf_counter() - started
    latencies = np.array([alerts.seen[account] for account in planted if account in alerts.seen])
    points = np.percentile(latencies, [50, 90, 99, 100]).tolist() if len(latencies) else [None] * 4
    return {
        "rate": rate,
        "events": count,
        "sent_per_second": count / sent,
        "events_per_second": count / total,
        "alerts": len(latencies),
        "missing": len(planted) - len(latencies),
        "twice": len(alerts.twice),
        "latency_seconds": dict(zip(("p50", "p90", "p99", "max"), points, strict=True)),
        "load_average_before": load,
    }


def line(row: dict[str, Any]) -> str:
    """A row for people."""
    head = f"{row['source']:<8}{row['rate']:>9,}"
    shown = "".join(f"{'-' if point is None else f'{point:.2f}':>8}" for point in row["latency_seconds"].values())
    wrong = f"  {row['missing']} missing, {row['twice']} twice" if row["missing"] or row["twice"] else ""
    return (
        f"{head}{row['sent_per_second']:>10,.0f}{row['events_per_second']:>10,.0f}{row['alerts']:>9,}{shown}"
        f"{row['load_average_before']:>7.1f}{wrong}"
    )


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kafka")
    parser.add_argument("--rates", type=int, nargs="+", default=[1_000, 10_000, 50_000], help="events a second")
    parser.add_argument("--seconds", type=float, default=30, help="how long to send at each rate")
    parser.add_argument("--patience", type=float, default=180, help="seconds to wait for the last alert")
    parser.add_argument("--sources", nargs="+", choices=["python", "jvm"], default=["python", "jvm"])
    parser.add_argument("--json", type=Path, default=RESULTS / "kafka.json")
    options = parser.parse_args()
    machine = facts()
    rows: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    print(f"{'source':<8}{'rate':>9}{'sent/s':>10}{'events/s':>10}{'alerts':>9}{'p50 s':>8}{'p90 s':>8}{'p99 s':>8}"
          f"{'max s':>8}{'load':>7}")  # fmt: skip
    with RealKafka() as kafka:
        for source in options.sources:
            try:
                jars = fetch_connector() if source == "jvm" else []
                rows += measure(kafka, source, jars, options.rates, options.seconds, options.patience)
            except KafkaFailureError as error:  # noqa: PERF203 - one source, one verdict
                skipped[source] = str(error)
                print(f"{source:<8}skipped: {error}", flush=True)
    options.json.parent.mkdir(exist_ok=True)
    content = {"machine": machine, "seconds": options.seconds, "results": rows, "skipped": skipped}
    options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 1 if any(row["missing"] or row["twice"] for row in rows) or not rows else 0


if __name__ == "__main__":
    sys.exit(main())

"""`python -m examples.demo`: start a broker, feed it, run the job, show the alerts as they arrive, sum up.

The broker is librdkafka's built-in one, in this process, on the loopback interface; the job is `cep run` in a process
of its own, exactly as a user would start it. Everything ends with the demo, also after Ctrl-C.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Consumer, Producer, TopicPartition
from rich.console import Console

import cep
import runtime
from connectors.kafka.built_in import BuiltInCluster
from examples.demo.transactions import Morning, morning

PATTERNS = Path(__file__).with_name("fraud.cep")
PARTITIONS = 2
HOURS = 3
PATIENCE = 150
"""Seconds without all alerts before the demo gives up."""
COLOURS = {"CardTesting": "red", "RisingAmounts": "yellow", "TwoCountries": "cyan"}


def expected_alerts(feed: Morning) -> Counter[str]:
    """How many matches each pattern has, by the engine alone: what the job has to deliver."""
    table = pa.table({name: [event[name] for event in feed.events] for name in feed.events[0]})
    table = table.set_column(0, "ts", pc.cast(table["ts"], pa.timestamp("us", tz="UTC")))
    found: Counter[str] = Counter()
    for name, plan in cep.compile_file(str(PATTERNS)).items():
        found[name] = runtime.Engine(plan).push(table).read_all().num_rows
    return found


def feed_topic(bootstrap: str, feed: Morning, done: threading.Event) -> None:
    """Produce all events in order, the bulk at once and the last tenth slowly, so that there is something to watch."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
    slow_from = len(feed.events) * 9 // 10
    for number, event in enumerate(feed.events):
        if done.is_set():
            return
        producer.produce("transactions", json.dumps(event).encode(), str(event["acc"]).encode())
        producer.poll(0)
        if number >= slow_from and number % 400 == 0:
            time.sleep(1)
    producer.flush(30)


@contextmanager
def job(bootstrap: str, folder: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`cep run` in a process of its own; stopped with SIGTERM, killed if that does not help."""
    command = [
        *(sys.executable, "-m", "cep", "run", str(PATTERNS)),
        *("--in", "Trans=kafka:transactions", "--out", "kafka:alerts", "--bootstrap", bootstrap),
        *("--checkpoint", folder, "--master", "local[2]", "--max-offsets", "20000"),
    ]
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("wb") as sink, subprocess.Popen(command, stdout=sink, stderr=sink, env=environment) as process:  # noqa: S603 - our own command
        try:
            yield process
        finally:
            with suppress(subprocess.TimeoutExpired):
                process.send_signal(signal.SIGTERM)
                process.wait(60)
            if process.poll() is None:
                process.kill()


def alerts(bootstrap: str, process: subprocess.Popen[bytes], wanted: int) -> Iterator[dict[str, Any]]:
    """Alerts as they are committed, until there are as many as wanted, the job ends or patience does."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "demo", "isolation.level": "read_committed"}
    consumer = Consumer(settings | {"auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.assign([TopicPartition("alerts", number, 0) for number in range(PARTITIONS)])
    found = 0
    quiet_since = time.monotonic()
    try:
        while found < wanted and process.poll() is None and time.monotonic() - quiet_since < PATIENCE:
            message = consumer.poll(0.5)
            if message is None or message.error() is not None:
                continue
            quiet_since = time.monotonic()
            found += 1
            yield json.loads(message.value() or b"{}")
    finally:
        consumer.close()


def show(console: Console, alert: dict[str, Any]) -> None:
    """One alert, one line."""
    fields = "  ".join(f"{name}={value}" for name, value in alert["fields"].items())
    colour = COLOURS.get(alert["pattern"], "white")
    console.print(f"  [{colour}]{alert['pattern']:<14}[/] {alert['end']}  {fields}", highlight=False, soft_wrap=True)


def main() -> int:
    """Run the demo; 0 if every planted fraud was found and the alerts are those of the engine by itself."""
    console = Console()
    feed = morning(hours=HOURS, start=round((time.time() - HOURS * 3600) * 1000) * 1000)  # up to now, as a live feed is
    wanted = expected_alerts(feed)
    total = sum(wanted.values())
    console.print(f"{len(feed.events):,} card transactions with {sum(map(len, feed.planted.values()))} planted frauds")
    seen: Counter[str] = Counter()
    accounts: dict[str, set[str]] = {pattern: set() for pattern in feed.planted}
    done = threading.Event()
    with (
        BuiltInCluster(topics={"transactions": PARTITIONS, "alerts": PARTITIONS}) as cluster,
        tempfile.TemporaryDirectory(prefix="cep-demo-") as folder,
    ):
        log = Path(folder) / "job.log"
        console.print(f"broker on {cluster.bootstrap}; starting the Spark job (this takes a few seconds) ...")
        started = time.monotonic()
        feeder = threading.Thread(target=feed_topic, args=(cluster.bootstrap, feed, done), daemon=True)
        feeder.start()
        first: float | None = None
        try:
            with job(cluster.bootstrap, str(Path(folder) / "checkpoint"), log) as process:
                for alert in alerts(cluster.bootstrap, process, total):
                    first = time.monotonic() if first is None else first
                    show(console, alert)
                    seen[alert["pattern"]] += 1
                    accounts[alert["pattern"]].add(alert["fields"]["acc"])
                elapsed = time.monotonic() - started
        finally:
            done.set()
            feeder.join(5)
        if seen != wanted:
            console.print("\n[red]the job did not deliver all alerts; the end of its log:[/]")
            console.print("\n".join(log.read_text(errors="replace").splitlines()[-25:]), highlight=False, markup=False)
    return summary(console, feed, wanted, seen, accounts, elapsed)


def summary(
    console: Console,
    feed: Morning,
    wanted: Counter[str],
    seen: Counter[str],
    accounts: dict[str, set[str]],
    elapsed: float,
) -> int:
    """Planted frauds found, alerts, throughput."""
    console.print()
    good = seen == wanted
    for pattern, planted in feed.planted.items():
        found = len(planted & accounts[pattern])
        false = len(accounts[pattern] - planted)
        good = good and found == len(planted) and not false
        console.print(
            f"{pattern:<14} {found} of {len(planted)} planted frauds found, {seen[pattern]} of {wanted[pattern]} alerts"
            f", {false} accounts wrongly named",
            highlight=False,
            soft_wrap=True,
        )
    rate = len(feed.events) / elapsed
    console.print(
        f"{len(feed.events):,} events through Kafka and Spark in {elapsed:.0f} s with start-up: {rate:,.0f} events/s",
        highlight=False,
        soft_wrap=True,
    )
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)

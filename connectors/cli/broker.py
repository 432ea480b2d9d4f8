"""`cep broker`: a throw-away Kafka broker in this process, for trying things out.

It is librdkafka's built-in cluster; `connectors.kafka.built_in` says what it has and what it has not. It listens on the
loopback interface, keeps the newest 5 MB or so of each partition in memory, and ends with Ctrl-C.
"""

from __future__ import annotations

import signal
import sys
import threading

import click

from connectors.kafka.built_in import BuiltInCluster
from connectors.kafka.config import KafkaFailureError


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), help="The port to bootstrap from (default: a free one).")
@click.option("--topic", "topics", multiple=True, metavar="NAME[:PARTITIONS]", help="A topic to make. May be repeated.")
def broker(port: int | None, topics: tuple[str, ...]) -> None:
    """Start a throw-away Kafka broker for trying things out; prints its address and runs until Ctrl-C."""
    wanted = {}
    for text in topics:
        name, _, count = text.partition(":")
        if not name or (count and (not count.isdigit() or int(count) == 0)):
            raise click.UsageError(f"--topic expects NAME or NAME:PARTITIONS, found {text!r}")
        wanted[name] = int(count or 1)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        with BuiltInCluster(topics=wanted, port=port) as cluster:
            sys.stdout.write(cluster.bootstrap + "\n")
            sys.stdout.flush()
            click.echo(
                "a broker in memory, for trying things out: no isolation, no fencing, 5 MB a partition. Ctrl-C ends it",
                err=True,
            )
            stop.wait()
    except KafkaFailureError as error:
        raise click.ClickException(str(error)) from None

"""`cep tail kafka:TOPIC`: print the matches that arrive on a topic.

Reads committed records only, as the consumers of a job should; commits nothing, so it can run beside them. Within a
partition the order is the topic's; across partitions there is none. Records that are no matches are shown as they are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from connectors.cli.options import client_config, client_options, topic_name
from connectors.kafka.cluster import offsets, partitions_of, unreachable
from connectors.kafka.config import KafkaConfig, KafkaFailureError, logger

if TYPE_CHECKING:
    from confluent_kafka import Message


@click.command()
@click.argument("topic", metavar="kafka:TOPIC", callback=topic_name)
@client_options
@click.option("--from-beginning", is_flag=True, help="Start with what the topic holds, not with what comes next.")
@click.option("--once", is_flag=True, help="Stop at the end of what is there.")
@click.option("--pattern", metavar="NAME", help="Only matches of this pattern.")
@click.option("--count", type=click.IntRange(1), metavar="N", help="Stop after N matches.")
@click.option("--json", "as_json", is_flag=True, help="Print the records' values, one a line.")
def tail(
    topic: str,
    bootstrap: str,
    properties: tuple[str, ...],
    from_beginning: bool,
    once: bool,
    pattern: str | None,
    count: int | None,
    as_json: bool,
) -> None:
    """Print the matches that arrive on a Kafka topic."""
    shown = 0
    try:
        for message in _messages(client_config(bootstrap, properties), topic, from_beginning, once):
            value = message.value() or b""
            match = _match(value)
            if pattern is not None and (match is None or match.get("pattern") != pattern):
                continue
            sys.stdout.write((value.decode("utf-8", "backslashreplace") if as_json else _line(message, match)) + "\n")
            sys.stdout.flush()
            shown += 1
            if count is not None and shown >= count:
                return
    except KafkaFailureError as error:
        raise click.ClickException(str(error)) from None


def _messages(config: KafkaConfig, topic: str, from_beginning: bool, once: bool) -> Iterator[Message]:
    from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

    places = partitions_of(config, topic, None)
    if not places:
        raise KafkaFailureError(f"no such topic: {topic} (at {config.bootstrap})")
    start = offsets(config, places, "earliest" if from_beginning else "latest")
    end = offsets(config, places, "latest") if once else {}
    open_ = {place for place in places if once and start[place] < end[place]}
    settings = config.client(
        {"isolation.level": "read_committed"},
        group_id="cep-tail",
        enable_auto_commit=False,
        enable_auto_offset_store=False,
        enable_partition_eof=True,
        auto_offset_reset="earliest",
    )
    consumer = Consumer(settings, logger=logger)
    try:
        consumer.assign([TopicPartition(*place, offset) for place, offset in start.items()])
        while not once or open_:
            message = consumer.poll(0.5)
            if message is None:
                continue
            error = message.error()
            place = (message.topic() or topic, message.partition() or 0)
            offset = message.offset() or 0
            if error is None:
                if not once or offset < end[place]:
                    yield message
                if once and offset + 1 >= end[place]:
                    open_.discard(place)
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - librdkafka's name
                open_.discard(place)
            elif error.fatal() or not error.retriable():
                raise unreachable(config, KafkaException(error))
    finally:
        consumer.close()


def _match(value: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(value)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("fields"), dict) else None


def _line(message: Message, match: dict[str, Any] | None) -> str:
    where = f"{message.topic()}[{message.partition()}]@{message.offset()}"
    if match is None:
        return f"{where}  {(message.value() or b'').decode('utf-8', 'backslashreplace')}"
    fields = "  ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in match["fields"].items()
    )
    return f"{match.get('end') or '-':<20}  {match.get('pattern')}  {fields}  ({str(match.get('id'))[:8]} {where})"

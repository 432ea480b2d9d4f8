"""`cep produce FILE --to kafka:TOPIC`: send a file of events to a topic.

JSON Lines are sent as they are, line by line; CSV and Parquet rows become JSON objects, empty fields left out. With
`--time`, events go out in the order of that field, for which the file is held in memory; without it, in the file's.
Every record is confirmed by the broker, or the command fails and says how many were not.
"""

from __future__ import annotations

import json
import sys
import time as clock
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from connectors.cli.options import client_config, client_options, topic_name
from connectors.files import InputError
from connectors.files.blocks import read_blocks
from connectors.files.jsonl import parse_object
from connectors.files.values import iso_micros
from connectors.formats import EVENT_FORMATS, event_format
from connectors.kafka.cluster import error_of, partitions_of, unreachable
from connectors.kafka.config import KafkaConfig, KafkaFailureError, logger

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

BLOCK = 4 << 20
_FLUSH = 120.0
Event = tuple[bytes, dict[str, Any] | None]
"""A value to send, and its fields where they are known."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--to", "topic", callback=topic_name, required=True, metavar="kafka:TOPIC", help="The topic to send to.")
@client_options
@click.option("--key", metavar="FIELD", help="The field whose value is the record's key.")
@click.option("--time", "time_field", metavar="FIELD", help="Send in the order of this TIMESTAMP field.")
@click.option("--stream", metavar="PATTERNS.cep[:STREAM]", help="Take --time from a stream's declaration.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), metavar="N", help="At most N records a second.")
@click.option(
    "--format", "kind", type=click.Choice(EVENT_FORMATS), help="The file's format, where its name does not say."
)
def produce(
    file: Path,
    topic: str,
    bootstrap: str,
    properties: tuple[str, ...],
    key: str | None,
    time_field: str | None,
    stream: str | None,
    rate: float | None,
    kind: str | None,
) -> None:
    """Send a file of events to a Kafka topic."""
    chosen = kind or ("jsonl" if str(file) == "-" else event_format(file))
    if chosen is None:
        raise click.UsageError(f"{file}: the name does not say the format: use --format {'|'.join(EVENT_FORMATS)}")
    time_field = time_field or (_time_of(stream) if stream else None)
    config = client_config(bootstrap, properties)
    try:
        if not partitions_of(config, topic, None):
            logger.info("topic %s is not there yet: the broker makes it, or refuses", topic)
        events = _events(file, chosen, fields=key is not None or time_field is not None)
        if time_field is not None:
            events = _in_order(events, time_field, file)
        with _Sender(config, topic, rate) as sender:
            for value, fields in events:
                sender.send(value, _key(fields, key))
        click.echo(f"{sender.confirmed:,} records to {topic}", err=True)
    except (KafkaFailureError, InputError) as error:
        raise click.ClickException(str(error)) from None


class _Sender:
    """Sends records, shows progress on a terminal, and insists on delivery."""

    def __init__(self, config: KafkaConfig, topic: str, rate: float | None) -> None:
        from confluent_kafka import Producer

        self.config = config
        self.topic = topic
        self.rate = rate
        self.sent = self.confirmed = self.failed = 0
        self.reason: KafkaError | None = None
        self.begin = self.told = clock.monotonic()
        settings = {"enable.idempotence": True, "linger.ms": 20, "compression.type": "lz4"}
        self.producer: Producer = Producer(config.client(settings), logger=logger)

    def send(self, value: bytes, key: bytes | None) -> None:
        from confluent_kafka import KafkaException

        if self.rate is not None:
            ahead = self.begin + self.sent / self.rate - clock.monotonic()
            if ahead > 0:
                self.producer.poll(ahead)
        deadline = clock.monotonic() + _FLUSH
        while True:
            try:
                self.producer.produce(self.topic, value, key, on_delivery=self._delivered)
                break
            except BufferError:
                self.producer.poll(0.1)
                if clock.monotonic() > deadline:
                    raise unreachable(self.config, TimeoutError("no record is taken")) from None
            except KafkaException as error:
                reason = error_of(error)
                raise KafkaFailureError(f"{self.topic}: {reason.str() if reason else error}") from None
        self.producer.poll(0)
        self.sent += 1
        if self.reason is not None:
            self._refuse()
        if sys.stderr.isatty() and clock.monotonic() - self.told > 1:
            self.told = clock.monotonic()
            click.echo(f"\r{self.confirmed:,} of {self.sent:,} confirmed", nl=False, err=True)

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self.confirmed += 1
        else:
            self.failed += 1
            self.reason = self.reason or error

    def _refuse(self) -> None:
        assert self.reason is not None
        raise KafkaFailureError(
            f"{self.topic}: a record was not taken: {self.config.redact(self.reason.str())} "
            f"({self.confirmed:,} of {self.sent:,} confirmed)"
        )

    def __enter__(self) -> _Sender:  # noqa: PYI034 - Self is Python 3.11's
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.producer.purge()
            return
        left = self.producer.flush(_FLUSH)
        if sys.stderr.isatty() and self.told > self.begin:
            click.echo("", err=True)
        if self.reason is not None:
            self._refuse()
        if left:
            raise KafkaFailureError(f"{self.topic}: {left:,} records were not confirmed within {_FLUSH:.0f} s")


def _events(file: Path, kind: str, *, fields: bool) -> Iterator[Event]:
    if kind == "jsonl":
        yield from _lines(file, fields=fields)
        return
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    try:
        batches = (
            pc.open_csv(file, parse_options=pc.ParseOptions(delimiter="\t" if ".tsv" in file.suffixes else ","))
            if kind == "csv"
            else pq.ParquetFile(file).iter_batches()
        )
        for batch in batches:
            for row in batch.to_pylist():
                known = {name: _plain(value) for name, value in row.items() if value is not None and value != ""}
                yield json.dumps(known, ensure_ascii=False).encode(), known
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _lines(file: Path, *, fields: bool) -> Iterator[Event]:
    for block in read_blocks(file, BLOCK):
        for number, line in enumerate(block.data.split(b"\n"), block.line):
            text = line.strip()
            if not text:
                continue
            try:
                yield text, parse_object(text) if fields else None
            except ValueError as error:
                raise InputError(f"{file}:{number}: {error}") from None


def _in_order(events: Iterator[Event], field: str, file: Path) -> Iterator[Event]:
    keyed = []
    for number, (value, fields) in enumerate(events):
        assert fields is not None
        keyed.append((_micros(fields.get(field), field, file, number + 1), number, value, fields))
    keyed.sort(key=lambda item: item[:2])
    for _, _, value, fields in keyed:
        yield value, fields


def _micros(value: object, field: str, file: Path, number: int) -> int:
    if isinstance(value, int):
        return value * 1000
    try:
        if isinstance(value, str):
            return iso_micros(value)
    except ValueError as error:
        raise InputError(f'{file}: record {number}: "{field}": {error}') from None
    raise InputError(f'{file}: record {number}: "{field}": expected a TIMESTAMP, found {json.dumps(value)}')


def _key(fields: dict[str, Any] | None, key: str | None) -> bytes | None:
    if key is None or fields is None:
        return None
    value = fields.get(key)
    if value is None:
        return None
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value


def _time_of(text: str) -> str | None:
    """The event time of the stream that `PATTERNS.cep[:STREAM]` names."""
    import cep
    from cep.diagnostics import CepError

    path, _, name = text.partition(":")
    try:
        patterns = cep.compile_file(path)
    except (OSError, CepError) as error:
        raise click.ClickException(f"--stream {text}: {error}") from None
    streams = {stream.name: stream for plan in patterns.values() for stream in plan.streams}
    if not name and len(streams) == 1:
        name = next(iter(streams))
    if name not in streams:
        raise click.UsageError(f"--stream: expected one of {path}:{{{', '.join(sorted(streams))}}}")
    return streams[name].time

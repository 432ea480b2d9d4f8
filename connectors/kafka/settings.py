"""The options of the Spark source `cep-kafka`, checked; `connectors.kafka.source` describes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from connectors.files.times import Column, of_json, to_json
from connectors.files.values import iso_micros
from connectors.kafka.config import KafkaConfig, KafkaFailureError
from connectors.kafka.decode import DECODERS, MAX_VALUE_BYTES


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Rows that say how far a silent stream has come: which column has the event's time, and how late events are.

    `delay` is in milliseconds: an event is in its topic at most so long after its time.
    """

    column: str
    delay: int

    @property
    def period(self) -> int:
        """How often there is one while nothing else comes, in milliseconds."""
        return min(MOST_PERIOD, max(LEAST_PERIOD, self.delay // 10))


LEAST_PERIOD, MOST_PERIOD = 1_000, 5_000
"""Bounds for the time between two heartbeats: each is a batch, and what it decides should not wait for long."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of the source, checked."""

    config: KafkaConfig
    topic: str | None
    pattern: str | None
    start: str | int
    limit: int | None
    fail_on_loss: bool
    columns: tuple[Column, ...] | None
    decoder: str
    max_value_bytes: int
    idle: float
    heartbeat: Heartbeat | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Settings:
        """The settings that options give; `KafkaFailureError` names the option that is wrong."""
        lower = {name.lower(): value for name, value in options.items()}
        topic, pattern = lower.get("subscribe"), lower.get("subscribepattern")
        if (topic is None) == (pattern is None):
            raise KafkaFailureError("expected one of the options subscribe (a topic) and subscribePattern (a regex)")
        columns = lower.get("columns")
        decoder = lower.get("format", "json")
        if decoder not in DECODERS:
            raise KafkaFailureError(f"format: expected one of {', '.join(sorted(DECODERS))}, found {decoder!r}")
        return cls(
            KafkaConfig.from_options(lower),
            topic,
            pattern,
            starting_offsets(lower.get("startingoffsets", "earliest")),
            _positive(lower, "maxOffsetsPerTrigger"),
            _flag(lower, "failOnDataLoss", default=True),
            None if columns is None else of_json(json.loads(columns)),
            decoder,
            _positive(lower, "maxValueBytes") or MAX_VALUE_BYTES,
            float(_positive(lower, "idleTimeout") or 120),
            _heartbeat(lower),
        )


def source_options(
    config: KafkaConfig,
    *,
    topic: str | None = None,
    pattern: str | None = None,
    columns: Sequence[Column] | None = None,
    start: str | int = "earliest",
    max_offsets: int | None = None,
    fail_on_data_loss: bool = True,
    heartbeat: Heartbeat | None = None,
) -> dict[str, str]:
    """The options for `spark.readStream.format("cep-kafka").options(**...)`."""
    chosen: dict[str, str | None] = {
        "subscribe": topic,
        "subscribePattern": pattern,
        "startingOffsets": str(start),
        "maxOffsetsPerTrigger": None if max_offsets is None else str(max_offsets),
        "failOnDataLoss": str(fail_on_data_loss).lower(),
        "columns": None if columns is None else json.dumps(to_json(columns)),
        "heartbeatColumn": None if heartbeat is None else heartbeat.column,
        "heartbeatDelay": None if heartbeat is None else str(heartbeat.delay),
    }
    return config.options() | {name: value for name, value in chosen.items() if value is not None}


def starting_offsets(text: str) -> str | int:
    """`earliest`, `latest`, or a time in milliseconds since the epoch."""
    if text in ("earliest", "latest"):
        return text
    try:
        return int(text) if text.isdigit() else iso_micros(text) // 1000
    except ValueError:
        raise KafkaFailureError(
            f"startingOffsets: expected earliest, latest, a time in ISO-8601 or milliseconds, found {text!r}"
        ) from None


def _heartbeat(options: Mapping[str, str]) -> Heartbeat | None:
    column, delay = options.get("heartbeatcolumn"), _positive(options, "heartbeatDelay")
    if column is None and delay is None:
        return None
    if column is None or delay is None or "columns" not in options:
        raise KafkaFailureError("expected the options columns, heartbeatColumn and heartbeatDelay together")
    return Heartbeat(column, delay)


def _positive(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name.lower())
    if text is None:
        return None
    if not text.isdigit() or int(text) == 0:
        raise KafkaFailureError(f"{name}: expected a positive number, found {text!r}")
    return int(text)


def _flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name.lower(), str(default)).lower()
    if text not in ("true", "false"):
        raise KafkaFailureError(f"{name}: expected true or false, found {text!r}")
    return text == "true"

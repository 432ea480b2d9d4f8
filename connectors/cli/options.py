"""Options that the Kafka commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from connectors.kafka.config import KafkaConfig

Command = TypeVar("Command", bound=Callable[..., Any])


def client_options(command: Command) -> Command:
    """`--bootstrap HOST:PORT` and `-X name=value`."""
    command = click.option(
        "-X",
        "properties",
        multiple=True,
        metavar="NAME=VALUE",
        help="A property of librdkafka; a value env:NAME or file:PATH is looked up. May be repeated.",
    )(command)
    return click.option(
        "--bootstrap", required=True, envvar="CEP_BOOTSTRAP", metavar="HOST:PORT", help="A broker to start from."
    )(command)


def client_config(bootstrap: str, properties: tuple[str, ...]) -> KafkaConfig:
    """The settings that the options give."""
    chosen = {"bootstrap.servers": bootstrap}
    for text in properties:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"-X expects NAME=VALUE, found {name!r}")
        chosen[name] = value
    return KafkaConfig.of(chosen)


def topic_name(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    """The topic of `kafka:TOPIC`; the callback of an argument or option."""
    scheme, colon, topic = value.partition(":")
    if scheme != "kafka" or not colon or not topic:
        raise click.BadParameter(f"expected kafka:TOPIC, found {value!r}")
    return topic

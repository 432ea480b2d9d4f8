"""Client settings, with secrets that stay secret.

A `KafkaConfig` holds what the user wrote: any librdkafka property by its own name. A value may be a reference,
`env:NAME` or `file:PATH`; it is resolved by `client()`, in the process that opens the connection, and never before:
what is pickled, logged or shown in Spark's plans is the reference. Secrets that were written out are masked in
`repr`, in `safe()` and in every error raised here (`redact`).

Not guaranteed: librdkafka's own `debug=conf` output, which the user must ask for, and Spark's display of its options
(use a reference).
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PREFIX = "kafka."
"""What precedes a librdkafka property among the options of a Spark source or sink."""
MASK = "***"
_SECRET = re.compile(
    r"password|secret|token|credential|passphrase|\.key\.pem$|sasl\.jaas|apikey|api\.key", re.IGNORECASE
)
_REFERENCE = re.compile(r"(env|file):(.+)", re.DOTALL)

logger = logging.getLogger("connectors.kafka")


class KafkaFailureError(Exception):
    """Kafka, or what was asked of it, is at fault; the text is for the user and says what to do."""


def is_secret(name: str) -> bool:
    """Whether the value of a property must not be shown.

    >>> is_secret("sasl.password"), is_secret("ssl.key.password"), is_secret("linger.ms")
    (True, True, False)
    """
    return _SECRET.search(name) is not None


def is_reference(value: str) -> bool:
    """Whether a value says where the real one is.

    >>> is_reference("env:PASSWORD"), is_reference("hunter2")
    (True, False)
    """
    return _REFERENCE.fullmatch(value) is not None


@dataclass(frozen=True, slots=True, repr=False)
class KafkaConfig:
    """Properties of a client, by librdkafka's names.

    >>> KafkaConfig.of({"bootstrap.servers": "127.0.0.1:9092", "sasl.password": "hunter2"})
    KafkaConfig(bootstrap.servers='127.0.0.1:9092', sasl.password='***')
    """

    properties: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, properties: Mapping[str, object]) -> KafkaConfig:
        """The settings in a mapping; `KafkaFailureError` where no broker is named."""
        config = cls(tuple(sorted((name, str(value)) for name, value in properties.items())))
        if not config.bootstrap:
            raise KafkaFailureError(
                "no Kafka broker named: give --bootstrap HOST:PORT (option kafka.bootstrap.servers)"
            )
        return config

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> KafkaConfig:
        """The settings among a Spark source's or sink's options: those with the prefix `kafka.`."""
        return cls.of({name[len(PREFIX) :]: value for name, value in options.items() if name.startswith(PREFIX)})

    @property
    def bootstrap(self) -> str:
        """The brokers to start from, as written."""
        return dict(self.properties).get("bootstrap.servers", "")

    def options(self) -> dict[str, str]:
        """The settings as options of the Spark source and sink, references unresolved."""
        return {PREFIX + name: value for name, value in self.properties}

    def safe(self) -> dict[str, str]:
        """The settings without secrets, for logs."""
        return {name: MASK if is_secret(name) and not is_reference(value) else value
                for name, value in self.properties}  # fmt: skip

    def client(self, defaults: Mapping[str, object] | None = None, **fixed: object) -> dict[str, Any]:
        """Settings for a client: `defaults` below what the user wrote, `fixed` (with `_` for `.`) above it.

        References are resolved here; a missing one is an error that names it.
        """
        resolved = {name: _resolve(name, value) for name, value in self.properties}
        above = {name.replace("_", "."): value for name, value in fixed.items()}
        return {"log_level": 4, **(defaults or {}), **resolved, **above}

    def redact(self, text: str) -> str:
        """A text without the secrets of these settings, resolved ones included."""
        secrets = set()
        for name, value in self.properties:
            if is_secret(name):
                if not is_reference(value):
                    secrets.add(value)
                with suppress(KafkaFailureError):  # the reference itself may be the problem that is being reported
                    secrets.add(_resolve(name, value))
        for _ in range(3):  # within other texts, within other texts: Spark writes our errors into its own, as JSON
            secrets |= {form(secret)[1:-1] for secret in secrets for form in (json.dumps, repr)}
        for secret in sorted(secrets - {""}, key=len, reverse=True):
            text = text.replace(secret, MASK)
        return text

    def __repr__(self) -> str:
        return f"KafkaConfig({', '.join(f'{name}={value!r}' for name, value in self.safe().items())})"


def _resolve(name: str, value: str) -> str:
    reference = _REFERENCE.fullmatch(value)
    if reference is None:
        return value
    kind, where = reference.groups()
    if kind == "env":
        found = os.environ.get(where)
        if found is None:
            raise KafkaFailureError(f"{name} refers to the environment variable {where}, which is not set here")
        return found
    try:
        return Path(where).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise KafkaFailureError(f"{name} refers to the file {where}, which cannot be read: {reason}") from None

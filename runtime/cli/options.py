"""Option types of the commands: `STREAM=PATH`, sizes in bytes, durations, `--on-error`, `--id-key`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from cep.ir.types import MICROS

if TYPE_CHECKING:
    from collections.abc import Callable

    from connectors.files.errors import ErrorPolicy
    from runtime.state.id_key import IdKey

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?)i?B?", re.ASCII | re.IGNORECASE)
_DURATION = re.compile(r"(\d{1,9}(?:\.\d+)?)\s*([A-Za-z]+)", re.ASCII)
SMALLEST_MEMORY = 1 << 20
STRICT_SCHEMA = (
    "Fail where records do not fit their stream: columns missing or always NULL, events without time or key."
)


class StreamPath(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """`STREAM=PATH`, as a pair."""

    name = "STREAM=PATH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Split at the first `=`."""
        if isinstance(value, tuple):
            return value
        stream, equals, path = str(value).partition("=")
        if not (stream and equals and path):
            self.fail(f"expected STREAM=PATH, e.g. Trans=events.jsonl, found {value!r}", param, ctx)
        if path.startswith("kafka:"):
            self.fail(f"{path} is a Kafka topic: replay reads files (`cep run` reads Kafka)", param, ctx)
        return stream, path


class Size(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A number of bytes, with a unit.

    >>> Size().convert("256MB", None, None), Size().convert("1.5g", None, None)
    (268435456, 1610612736)
    """

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Bytes."""
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"expected a size such as 256MB or 2GB, found {value!r}", param, ctx)
        size = int(float(match[1]) * _UNITS[match[2].upper()])
        if size < SMALLEST_MEMORY:
            self.fail(f"expected at least 1MB, found {value!r}", param, ctx)
        return size


class MaxAhead(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A duration as in the language, in microseconds, or `off`.

    >>> MaxAhead().convert("1 DAY", None, None), MaxAhead().convert("90 minutes", None, None)
    (86400000000, 5400000000)
    """

    name = "DURATION|off"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Microseconds; `connectors.files.times.OFF` for `off`."""
        from connectors.files.times import OFF

        if isinstance(value, int):
            return value
        text = str(value).strip()
        if text.lower() == "off":
            return OFF
        match = _DURATION.fullmatch(text)
        unit = match[2].upper().removesuffix("S") if match is not None else ""
        if match is None or unit not in MICROS:
            self.fail(f"expected a duration such as '1 DAY' or '90 MINUTES', or off, found {value!r}", param, ctx)
        return round(float(match[1]) * MICROS[unit])


class OnError(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """`fail`, `skip` or `dead-letter=FILE`."""

    name = "fail|skip|dead-letter=FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ErrorPolicy:
        """The policy."""
        from connectors.files.errors import ErrorPolicy  # brings Arrow, which `--help` does not need

        if isinstance(value, ErrorPolicy):
            return value
        try:
            return ErrorPolicy.parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class KeyPlace(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """`env:NAME`, as the key that is there."""

    name = "env:NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> IdKey:
        """The key. What was given instead of a place is not repeated: it may be the key."""
        from runtime.state.id_key import IdKey, IdKeyError

        if isinstance(value, IdKey):
            return value
        try:
            return IdKey.named(str(value))
        except IdKeyError as error:
            self.fail(str(error), param, ctx)


def id_key_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--id-key`, as all commands that make ids have it."""
    return click.option(
        "--id-key",
        type=KeyPlace(),
        metavar="env:NAME",
        help="Make ids with the key in this environment variable, so that nobody without it can forge one. The same "
        "key gives the same ids.",
    )(command)

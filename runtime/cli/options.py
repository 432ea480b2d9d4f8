"""Option types of the commands: `STREAM=PATH`, sizes in bytes, `--on-error`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from connectors.files.errors import ErrorPolicy

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?)i?B?", re.ASCII | re.IGNORECASE)
SMALLEST_MEMORY = 1 << 20


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

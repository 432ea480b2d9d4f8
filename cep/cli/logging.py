"""Logging of the commands that run for a while: readable lines on a terminal, JSON lines anywhere else.

Only the CLI configures logging; the library asks `structlog.get_logger()` and says what happened. Lines go to stderr.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cep.cli.terminal import wants_color

if TYPE_CHECKING:
    from structlog.typing import Processor

LEVELS = ("debug", "info", "warning", "error")


def configure(level: str = "info") -> None:
    """Set up structlog for this process; the last call counts.

    Loggers are not cached, so that a logger made before the call follows it and stays picklable.
    """
    import structlog

    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if sys.stderr.isatty():
        last: list[Processor] = [structlog.dev.ConsoleRenderer(colors=wants_color(sys.stderr))]
    else:
        last = [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=shared + last,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )

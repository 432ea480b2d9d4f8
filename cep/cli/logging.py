"""Logging of the commands that run for a while: readable lines on a terminal, JSON lines anywhere else.

Only the CLI configures logging; the library asks `structlog.get_logger()`, or Python's own `logging` where a client
library wants one of those, and says what happened. Either way lines look the same. They go to stderr.

Tracebacks have files, lines and messages, never the values of variables: those may be passwords, or people's data.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from cep.cli.terminal import wants_color

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import Processor

LEVELS = ("debug", "info", "warning", "error")


class _Stderr(logging.Handler):
    """Writes to whatever stderr is at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(self.format(record) + "\n")


_HANDLER = _Stderr(logging.WARNING)


def configure(level: str = "info", redact: Callable[[str], str] | None = None) -> None:
    """Set up structlog and `logging` for this process; the last call counts. Of others, warnings are heard.

    `redact` takes out of each line what must not be seen.

    Loggers are not cached, so that a logger made before the call follows it and stays picklable.
    """
    import structlog

    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if sys.stderr.isatty():
        last: list[Processor] = [
            structlog.dev.ConsoleRenderer(
                colors=wants_color(sys.stderr), exception_formatter=structlog.dev.plain_traceback
            )
        ]
    else:
        plain = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        last = [structlog.processors.ExceptionRenderer(plain), structlog.processors.JSONRenderer()]
    if redact is not None:
        last.append(lambda _logger, _name, line: redact(str(line)))
    structlog.configure(
        processors=shared + last,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    _HANDLER.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.getLogger().addHandler(_HANDLER)  # once, however often it is called

"""What the CLI knows of the terminal: whether to colour, and how wide it is."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

NOT_A_TERMINAL = 120
"""The width of output that goes to a file or a pipe: the same on every machine."""


def wants_color(stream: TextIO) -> bool:
    """`NO_COLOR` beats `FORCE_COLOR` beats asking whether `stream` is a terminal; an empty value is not set."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width(stream: TextIO) -> int:
    """Columns of the terminal behind `stream`, a constant for anything else."""
    return shutil.get_terminal_size((NOT_A_TERMINAL, 24)).columns if stream.isatty() else NOT_A_TERMINAL

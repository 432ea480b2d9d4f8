"""Runs in a process of its own: ways of looking at a pattern file, over some inputs; prints what each took.

`python -m tests.hostile.judge FOLDER WAY,... NAME...`; a JSON object on stdout: by input and way, CPU seconds; and
`megabytes`, the most that the process has had.
"""

from __future__ import annotations

import contextlib
import io
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

CPU_SECONDS = 60
"""For one input. The kernel ends the process here: nothing that is judged may come near."""


def judge(name: str, file: Path, wanted: list[str]) -> dict[str, float]:
    from cep.cli import main
    from cep.lsp.analysis import analyse
    from cep.source import Source
    from tests.hostile.inputs import INPUTS

    text = INPUTS[name]()
    file.write_text(text, encoding="utf-8")
    ways: dict[str, Callable[[], object]] = {
        "validate": lambda: main(["validate", str(file)]),
        "fmt --diff": lambda: main(["fmt", "--diff", str(file)]),
        "explain text": lambda: main(["explain", str(file)]),
        "validate json": lambda: main(["validate", str(file), "--output-format", "json"]),
        "lsp": lambda: analyse(Source(str(file), text), {}),
        "explain svg": lambda: main(["explain", str(file), "--format", "svg"]),
        "explain dot": lambda: main(["explain", str(file), "--format", "dot"]),
    }
    taken: dict[str, float] = {}
    for way in wanted:
        before = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            ways[way]()
        taken[way] = time.process_time() - before
    return taken


def allow(seconds: int) -> None:
    """Let the process have so many more seconds of CPU."""
    soon = int(time.process_time()) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soon, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def main(folder: str, ways: str, *names: str) -> None:
    from runtime.memory import peak_rss

    taken: dict[str, object] = {}
    for name in names:
        allow(CPU_SECONDS)
        taken[name] = judge(name, Path(folder) / "hostile.cep", ways.split(","))
    sys.stdout.write(json.dumps({**taken, "megabytes": peak_rss() / 2**20}))


if __name__ == "__main__":
    main(*sys.argv[1:])

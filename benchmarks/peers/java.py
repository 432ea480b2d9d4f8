"""The Java module: building it, and the command that runs one engine of it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

MODULE = Path(__file__).parent / "java"
ENGINES = {"esper": "esper", "esper-join": "esper", "flink-cep": "flink-cep", "siddhi": "siddhi"}
"""Engines of the table, and what the module calls them."""
_OPENED = ("java.lang", "java.util", "java.time")


def missing() -> str | None:
    """What has to be installed before anything can be built."""
    absent = [tool for tool in ("java", "mvn") if shutil.which(tool) is None]
    if not absent:
        return None
    return f"{' and '.join(absent)} not found: Esper, Flink CEP and Siddhi need a JDK (17 or later) and Maven"


def build() -> None:
    """Compile the module and fetch what it needs; offline where everything is there already."""
    command = ["mvn", "-q", "-B", "package"]
    done = subprocess.run([*command, "-o"], cwd=MODULE, capture_output=True, text=True, check=False)
    if done.returncode:
        done = subprocess.run(command, cwd=MODULE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"{MODULE} was not built: {' '.join(command)} said\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )


def versions() -> dict[str, str]:
    """The engines' versions, as pinned."""
    text = (MODULE / "pom.xml").read_text(encoding="utf-8")
    return dict(re.findall(r"<(esper|flink|siddhi)\.version>(.*?)<", text))


def command(engine: str, events: Path, query: Path, check: str, cap: float, memory: float) -> list[str]:
    """Run an engine; the heap is limited to `memory` gigabytes."""
    target = MODULE / "target"
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    limits = [f"-Xmx{int(memory * 1024)}m", "-XX:+ExitOnOutOfMemoryError"]
    classes = f"{target / 'peers.jar'}:{target / 'lib'}/*"
    arguments = [ENGINES[engine], str(events), str(query), check, str(cap)]
    return ["java", *limits, *opened, "-cp", classes, "peers.Main", *arguments]

"""Java artifacts by their Maven coordinates, fetched once into the user's cache: what tests and benchmarks run against.

Guaranteed: a directory of jars is there whole or not at all, also where two processes fetch it at once.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from connectors.kafka.config import KafkaFailureError

_PATIENCE = 600.0
_ALL = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


def cache_directory() -> Path:
    """Where jars are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "cep"


def fetch(name: str, coordinates: Sequence[str], *, alone: bool = False) -> Path:
    """The directory with the jars of `group:artifact:version` and, unless `alone`, of all that they need.

    `name` is its place in the cache. `KafkaFailureError` says why they cannot be had.
    """
    jars = cache_directory() / name / "jars"
    if jars.is_dir():
        return jars
    maven, java = shutil.which("mvn"), shutil.which("java")
    if java is None or maven is None:
        raise KafkaFailureError(f"fetching {name} needs {'java' if java is None else 'mvn'} on the PATH")
    jars.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=jars.parent) as scratch:
        pom, fetched = Path(scratch) / "pom.xml", Path(scratch) / "jars"
        pom.write_text(_pom(coordinates, alone=alone))
        command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
        try:
            done = subprocess.run(  # noqa: S603 - the command is ours
                [*command, f"-DoutputDirectory={fetched}"],
                capture_output=True,
                text=True,
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise KafkaFailureError(f"fetching {name} took more than {_PATIENCE / 60:.0f} minutes") from None
        if done.returncode or not fetched.is_dir():
            said = done.stdout + done.stderr
            artifact = re.search(r"org\.apache\.[\w.]+:[\w.-]+:(?:jar|pom):[\w.-]+", said)
            raise KafkaFailureError(f"Maven cannot fetch {artifact[0] if artifact else f'{name}: {said[-800:]}'}")
        if not jars.exists():  # somebody else may have been quicker
            fetched.rename(jars)
    return jars


def _pom(coordinates: Sequence[str], *, alone: bool) -> str:
    wanted = ""
    for coordinate in coordinates:
        group, artifact, version = coordinate.split(":")
        parts = f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        wanted += f"<dependency>{parts}{_ALL if alone else ''}</dependency>\n"
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>\n'
        "<groupId>cep</groupId><artifactId>wanted</artifactId><version>1</version><packaging>pom</packaging>\n"
        f"<dependencies>\n{wanted}</dependencies></project>\n"
    )

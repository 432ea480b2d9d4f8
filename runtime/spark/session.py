"""The Spark session of `cep run`: what it needs, checked before a JVM is started."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.spark.errors import JobError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_SPARK = (4, 1)
OLDEST_JAVA = 17
_TELLING = re.compile(r"Exception|Error|error:", re.ASCII)
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
DEFAULTS = {
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    # Only what changed is uploaded with each batch, instead of whole files.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Nothing waits for the watermark: a batch without events would do nothing.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # Fewer, larger Arrow batches on the way to Python.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}
_LOCAL_CHECKPOINT = {
    # Hadoop without its native library starts `readlink` four times for each file that is renamed through the other
    # manager: forty processes a batch.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # On a local file system Hadoop itself keeps a checksum beside each file; a second one doubles the files.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}


def check_python() -> None:
    """PySpark and what its state API needs; `JobError` says what to install."""
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        raise JobError("Spark is not installed: pip install 'cep-engine[spark]'") from None
    numbers = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if numbers < OLDEST_SPARK:
        raise JobError(f"expected Spark {'.'.join(map(str, OLDEST_SPARK))} or newer, found {found}")
    for module, package in (("pandas", "pandas>=2.2,<3"), ("google.protobuf", "pyspark[connect]"), ("grpc", "grpcio")):
        if not _importable(module):
            raise JobError(f"Spark's Python workers need {module}: pip install '{package}'")


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a parent package
        return False


def check_java() -> None:
    """A Java that Spark runs on; `JobError` says what is missing."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        where = f"JAVA_HOME is {home}, where there is none" if home else "there is none on the PATH"
        raise JobError(f"Spark needs Java {OLDEST_JAVA} or newer, and {where}: install one, or set JAVA_HOME")
    shown = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - the user's own
    match = re.search(r'version "(\d+)(?:\.(\d+))?', shown.stderr + shown.stdout)
    if match is None:
        raise JobError(f"Spark needs Java {OLDEST_JAVA} or newer: `{java} -version` did not say its version")
    major = int(match[2] or 0) if match[1] == "1" else int(match[1])
    if major < OLDEST_JAVA:
        raise JobError(f"Spark needs Java {OLDEST_JAVA} or newer, found Java {major} ({java}): set JAVA_HOME")


def open_session(
    name: str,
    master: str | None,
    conf: Mapping[str, str],
    buckets: int | None,
    *,
    local_checkpoint: bool = False,
    debug: bool = False,
) -> SparkSession:
    """A session as a job needs it. Settings of the user win; `JobError` where it cannot be had."""
    check_python()
    if "SPARK_CONNECT_MODE_ENABLED" not in os.environ and not str(master or "").startswith("sc://"):
        check_java()
    # Spark would take any python3 on the PATH, which need not have our packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    chosen = master or os.environ.get("MASTER")
    if chosen and chosen.startswith("sc://"):
        builder = builder.remote(chosen)
    elif chosen:
        builder = builder.master(chosen)
    settings = {**DEFAULTS, "spark.log.level": "WARN" if debug else "OFF"}
    if chosen is None or chosen.startswith("local"):
        settings["spark.ui.enabled"] = "false"
    if local_checkpoint:
        settings.update(_LOCAL_CHECKPOINT)
    if buckets is not None:
        settings["spark.sql.shuffle.partitions"] = str(buckets)
    settings.update(conf)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with tempfile.NamedTemporaryFile("w+", prefix="cep-spark-", suffix=".log", errors="replace") as log:
        try:
            with jvm_output(2 if debug else log.fileno()):
                return builder.getOrCreate()
        except (PySparkException, RuntimeError, OSError) as error:
            log.seek(0)
            said = [line.strip() for line in log if _TELLING.search(line)]
            raise JobError(f"Spark did not start: {said[0] if said else str(error).splitlines()[0]}") from error


@contextmanager
def jvm_output(descriptor: int) -> Iterator[None]:
    """Within, started processes write output and errors there: stdout is for matches, stderr for our own words."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        for number, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, number)
            os.close(copy)

"""The Spark session of `cep run`: what it needs, checked before a JVM is started.

Settings reach a Java process that is started here through a file that only we can read, never through its command
line, which everybody on the machine can (`spark.driver.memory` and `spark.driver.extraJavaOptions` excepted: those are
for the command line).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.spark.errors import JobError, SparkStartError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_SPARK = (4, 1)
OLDEST_JAVA = 17
_TELLING = re.compile(r"Exception|Error|error:", re.ASCII)
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_SECRETS = r"(?i)secret|password|token|access[.]?key|credential|passphrase|jaas|[.]pem$|api[.]?key"
DEFAULTS = {
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    # Only what changed is uploaded with each batch, instead of whole files.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Where no pattern waits for the watermark, a batch without events would do nothing; `job.start` knows.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # Fewer, larger Arrow batches on the way to Python.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # On a busy machine Java and Python need longer than the usual 15 seconds to shake hands.
    "spark.python.authenticate.socketTimeout": "120s",
    # What must not be shown in plans, event logs and the UI: Spark does not know where Kafka has its passwords.
    "spark.redaction.regex": _SECRETS,
    "spark.sql.redaction.options.regex": f"{_SECRETS}|url",
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
    redact: Callable[[str], str] = str,
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
        builder = builder.master(patient(chosen))
    settings = {**DEFAULTS, "spark.log.level": "WARN" if debug else "OFF"}
    if chosen is None or chosen.startswith("local"):
        settings["spark.ui.enabled"] = "false"
    if local_checkpoint:
        settings.update(_LOCAL_CHECKPOINT)
    if buckets is not None:
        settings["spark.sql.shuffle.partitions"] = str(buckets)
    settings.update(conf)
    launched = not (chosen or "").startswith("sc://") and _launches(settings)
    if launched:
        settings |= {"spark.app.name": name} | ({"spark.master": patient(chosen)} if chosen else {})
        builder = SparkSession.builder
    else:
        builder = builder.config(map={**settings})
    with tempfile.NamedTemporaryFile("w+", prefix="cep-spark-", suffix=".log", errors="replace") as log:
        try:
            with jvm_output(_redacting(redact) if debug else log.fileno()), _submitted(settings if launched else {}):
                return _quiet(builder.getOrCreate())
        except (PySparkException, RuntimeError, OSError) as error:
            log.seek(0)
            said = [line.strip() for line in log if _TELLING.search(line)]
            raise SparkStartError(f"Spark did not start: {said[0] if said else str(error).splitlines()[0]}") from error


def _quiet(spark: SparkSession) -> SparkSession:
    """Keep PySpark from printing a traceback of its own when Java ends: that is told by who finds out."""
    server = getattr(getattr(spark, "_sc", None), "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None
    return spark


def patient(master: str) -> str:
    """A local master that tries a task again, as every other does by itself: a Python worker can fail to start.

    >>> patient("local"), patient("local[2]"), patient("local[2,1]"), patient("yarn")
    ('local[1,4]', 'local[2,4]', 'local[2,1]', 'yarn')
    """
    local = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    return f"local[{local[1] or 1},4]" if local else master


def discard(spark: SparkSession | None, *, java: bool = False) -> None:
    """Stop a session, so that the next `open_session` makes a new one; with a new Java process where the old is gone.

    `java` ends a process that is there still. One that was there before us (`spark-submit`) is left alone. With the
    session end its Python workers, and with those the engine hosts.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with suppress(Exception):  # Java may be what failed
        if spark is not None:
            spark.stop()
    gateway = SparkContext._gateway  # noqa: SLF001 - there is no other way to take leave of a dead process
    if gateway is None or (not java and _answers(gateway)):
        return
    process = getattr(gateway, "proc", None)
    if process is None:
        return
    with suppress(Exception):
        gateway.shutdown()
    process.kill()
    process.wait()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001 - as above
    SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001 - as above


def _answers(gateway: Any) -> bool:
    try:
        gateway.jvm.java.lang.System.nanoTime()
    except Exception:  # whatever it is, there is no answer
        return False
    return True


def _launches(settings: Mapping[str, str]) -> bool:
    """Whether a session needs a Java process that is not there yet."""
    from pyspark import SparkContext

    elsewhere = {"PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE"} & set(
        os.environ
    )
    connect = {"spark.remote", "spark.api.mode"} & set(settings)
    return not elsewhere and not connect and SparkContext._gateway is None  # noqa: SLF001 - as in `discard`


@contextmanager
def _submitted(settings: Mapping[str, str]) -> Iterator[None]:
    """Within, a Java process that PySpark starts gets these settings."""
    if not settings:
        yield
        return
    name = "PYSPARK_SUBMIT_ARGS"
    before = os.environ.get(name)
    arguments = shlex.split(before or "pyspark-shell")
    with tempfile.NamedTemporaryFile("w", prefix="cep-", suffix=".properties", encoding="utf-8") as file:  # mode 0600
        if "--properties-file" in arguments:  # Spark takes one such file
            place = arguments.index("--properties-file")
            _, theirs = arguments[place : place + 2]
            del arguments[place : place + 2]
            file.write(Path(theirs).read_text(encoding="utf-8") + "\n")
        file.writelines(f"{_escaped(key)}={_escaped(value)}\n" for key, value in settings.items())
        file.flush()
        os.environ[name] = shlex.join(["--properties-file", file.name, "--load-spark-defaults", *arguments])
        try:
            yield
        finally:
            os.environ.pop(name)
            if before is not None:
                os.environ[name] = before


def _escaped(text: str) -> str:
    r"""A key or a value of a Java properties file.

    >>> _escaped("a b=c\\d\né")
    'a\\u0020b\\u003dc\\u005cd\\u000aé'
    """
    return "".join(f"\\u{ord(c):04x}" if c in " \t\n\r\f=:#!\\" else c for c in text)


def _redacting(redact: Callable[[str], str]) -> int:
    """Where Java and its Python workers write with `--debug`: lines come out on stderr, without secrets.

    The descriptor stays open for as long as this process lives, as those that it is handed to do.
    """
    reading, writing = os.pipe()
    out = os.dup(2)

    def pump() -> None:
        with os.fdopen(reading, errors="replace") as lines:
            for line in lines:
                os.write(out, redact(line).encode(errors="replace"))

    threading.Thread(target=pump, daemon=True, name="java-output").start()
    return writing


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

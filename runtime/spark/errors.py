"""Failures of a job: what to tell the user in one message, and whether trying again can help.

Spark reports a failure of ours wrapped in several of its own, with the Java stack of each. `explain` finds the one that
says something to the user. The rest is for `--debug`.

`judge` says whether a failure may pass. One that will not (a pattern, a setting, a record, a right that is missing,
another driver) must not be tried again for ever; one that may (a process that died, a broker that is away, a full disk)
must not end a job. What is not known either way is tried again a few times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OURS = (
    "BadRecordError",
    "InputError",
    "PatternChangedError",
    "JobError",
    "KafkaFailureError",
    "DataLossError",
    "PublishError",
    "FencedError",
    "RewindError",
    "TooManyMatchesError",
    "BatchError",
    "HostLostError",
)
# What Spark, Java and Python say, and what it means to the user (None: what was said).
_OTHER_VERSION = "the checkpoint was written by another version: use a new checkpoint"
_FINAL = (
    ("PATH_NOT_FOUND", "a file or directory of the job does not exist (any more)"),
    ("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", _OTHER_VERSION),
    ("STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", _OTHER_VERSION),
    ("CONCURRENT_STREAM_LOG_UPDATE", "another job is running with the same checkpoint: stop it, or use another one"),
    ("No module named 'google", "the Python workers lack protobuf: install pyspark[connect] where Spark's workers run"),
    ("cannot import name 'descriptor' from 'google", "the Python workers lack protobuf: is PYSPARK_PYTHON set?"),
    ("ModuleNotFoundError: ", None),
    ("PYTHON_VERSION_MISMATCH", "driver and workers run different Python versions: set PYSPARK_PYTHON"),
    ("AuthenticationException", "the Kafka brokers refuse the credentials: check sasl.* and security.protocol"),
    ("AuthorizationException", "the Kafka brokers refuse access: the user lacks a right on the topic or the group"),
    ("KAFKA_DATA_LOSS", "Kafka removed records before they were read: see --on-data-loss"),
    ("data may have been lost", "Kafka removed records before they were read: see --on-data-loss"),
)
_PASSING = (
    ("No space left on device", "no space is left on a disk"),
    ("Disk quota exceeded", "a disk quota is used up"),
    ("All masters are unresponsive", "the Spark master does not answer: is it running, and is the address right?"),
    ("failed to connect back", "a Python worker did not start within Spark's ten seconds: the machine is busy"),
    ("Python worker exited unexpectedly", "a Python worker was killed or crashed"),
    ("ExecutorLostFailure", "an executor was lost"),
    ("Executor heartbeat timed out", "an executor did not answer in time"),
    ("SparkContext was shut down", "the Spark application was ended from outside"),
    ("stopped SparkContext", "the Spark application was ended from outside"),
    ("FetchFailed", "a part of the batch was lost with its executor"),
    ("Too many open files", "too many files are open: raise the limit (ulimit -n)"),
    ("Cannot allocate memory", "the machine has no memory left for another process"),
    ("Resource temporarily unavailable", "the machine has no room left for another process"),
    ("Input/output error", "a disk could not be read or written"),
    ("Stale file handle", "a network file system lost a file that was open"),
    ("TimeoutException", None),
    ("Connection refused", None),
    ("Connection reset", None),
    ("Connection timed out", None),
    ("Broken pipe", None),
    ("UnknownHostException", None),
    ("NoRouteToHostException", None),
)
_MEMORY = "OutOfMemoryError"
_DOUBTFUL = (
    ("CANNOT_LOAD_STATE_STORE", "the state in the checkpoint cannot be read: the checkpoint is damaged or incomplete"),
    ("FAILED_READ_FILE", "an input file cannot be read: it is damaged, or changed while it was read"),
    (_MEMORY, "a Java process ran out of memory: raise spark.driver.memory or spark.executor.memory"),
)
DOUBTFUL_TRIES = 3
"""How often in a row a failure is met with a restart of which nobody knows whether it will help."""

# A plan, which Spark may print along, holds such a text as part of an expression: `concat(BadRecordError: , _topic#4,`.
_OUR_LINE = re.compile(
    rf"(?<![^\s\]])(?:connectors\.kafka\.(?:\w+\.)+(?=\w+Error: )|(?:[\w.]*\.)?(?=(?:{'|'.join(_OURS)}): ))"
    r"(?P<kind>\w+): (?P<text>[^\n]+)"
)
_STATE = re.compile(r"\s*SQLSTATE: \w{5}$")
_PYTHON_LINE = re.compile(r"^(?:[\w.]+\.)?(?P<kind>[A-Z]\w*(?:Error|Exception)): (?P<text>[^\n]+)", re.MULTILINE)
_REFUSED = re.compile(r"authenticat|authoriz|certificate verify failed|access denied", re.IGNORECASE)
_AWAY = re.compile(r"cannot reach Kafka|no record from offset|took no record")


class JobError(Exception):
    """A job that cannot be built or run; the text is for the user."""


class SparkStartError(JobError):
    """Spark did not start. A matter of settings, unless it had started before."""


@dataclass(frozen=True, slots=True)
class Passing:
    """Trying again may help: at most `tries` times in a row (None: as often as it takes)."""

    reason: str
    tries: int | None = None
    needs_java: bool = False
    """Whether Spark's Java process should be a new one."""


@dataclass(frozen=True, slots=True)
class Final:
    """Trying again is of no use."""

    reason: str


def judge(error: BaseException) -> Passing | Final:
    """Whether a failure may pass."""
    reason = explain(error)
    if isinstance(error, SparkStartError):
        return Passing(reason, needs_java=True)
    if isinstance(error, JobError):
        return Final(reason)
    if java_is_gone(error):
        return Passing(reason, needs_java=True)
    text = f"{type(error).__name__}: {error}"
    ours = list(_OUR_LINE.finditer(text))
    if ours or _is_kafka(error):
        return _judge_ours(error, ours[-1]["kind"] if ours else type(error).__name__, reason)
    refused = type(error).__name__ in ("AnalysisException", "ParseException", "IllegalArgumentException")
    if refused or any(mark in text for mark, _ in _FINAL):
        return Final(reason)
    if any(mark in text for mark, _ in _PASSING):
        return Passing(reason)
    return Passing(reason, DOUBTFUL_TRIES, needs_java=_MEMORY in text)


def _judge_ours(error: BaseException, name: str, reason: str) -> Passing | Final:
    """Of our own classes. Those of Kafka may say themselves, by an attribute `passing`, what they are."""
    says = getattr(error, "passing", None) if _is_kafka(error) else None
    if says is None:
        says = getattr(_kafka_classes().get(name), "passing", None)
    if _REFUSED.search(reason) or says is False:
        return Final(reason)
    if says or name == "HostLostError" or _AWAY.search(reason):
        return Passing(reason)
    return Passing(reason, DOUBTFUL_TRIES) if name in ("KafkaFailureError", "PublishError") else Final(reason)


def _is_kafka(error: BaseException) -> bool:
    return any(cls.__name__ == "KafkaFailureError" for cls in type(error).__mro__)


def _kafka_classes() -> dict[str, type]:
    """The classes of Kafka's failures by name: Spark hands over names, not objects."""
    import connectors.kafka.offsets
    import connectors.kafka.publisher  # noqa: F401 - for the classes in it
    from connectors.kafka.config import KafkaFailureError

    found: dict[str, type] = {}
    waiting: list[type] = [KafkaFailureError]
    while waiting:
        cls = waiting.pop()
        found[cls.__name__] = cls
        waiting.extend(cls.__subclasses__())
    return found


def java_is_gone(error: BaseException) -> bool:
    """Whether a failure is that of a driver whose Java process has ended."""
    return (
        isinstance(error, ConnectionError)
        or type(error).__name__ == "Py4JNetworkError"
        or "Answer from Java side is empty" in str(error)
    )


def explain(error: BaseException) -> str:
    r"""The one thing to tell the user about a failure.

    >>> explain(RuntimeError("Traceback ...\nconnectors.files.errors.BadRecordError: a.jsonl:3: expected INT\n at X"))
    'a.jsonl:3: expected INT'
    """
    if isinstance(error, JobError):
        return str(error)
    if java_is_gone(error):
        return "Spark's Java process has ended: start the job again, it goes on from its checkpoint"
    text = str(error)
    ours = _OUR_LINE.findall(text)
    if ours:
        return _STATE.sub("", str(ours[-1][1]).strip())
    for mark, meaning in (*_FINAL, *_PASSING, *_DOUBTFUL):
        if mark in text and meaning is not None:
            return meaning
    python = list(_PYTHON_LINE.finditer(text))
    if python:
        return f"{python[-1]['kind']}: {python[-1]['text']}".strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    cause = re.search(r"terminated with exception: (.+)", first)
    return (cause[1] if cause else first)[:500]

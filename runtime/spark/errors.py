"""Failures of a job in one message: what was expected, what was found, what to do.

Spark reports a failure of ours wrapped in several of its own, with the Java stack of each. `explain` finds the one that
says something to the user. The rest is for `--debug`.
"""

from __future__ import annotations

import re

_OURS = (
    "BadRecordError",
    "InputError",
    "PatternChangedError",
    "JobError",
    "KafkaFailureError",
    "DataLossError",
    "PublishError",
    "FencedError",
    "BatchError",
)
# A plan, which Spark may print along, holds such a text as part of an expression: `concat(BadRecordError: , _topic#4,`.
_OUR_LINE = re.compile(rf"(?<![^\s\]])(?:[\w.]*\.)?(?:{'|'.join(_OURS)}): (?P<text>[^\n]+)")
_STATE = re.compile(r"\s*SQLSTATE: \w{5}$")
_PYTHON_LINE = re.compile(r"^(?:[\w.]+\.)?(?P<kind>[A-Z]\w*(?:Error|Exception)): (?P<text>[^\n]+)", re.MULTILINE)
_KNOWN = (
    ("PATH_NOT_FOUND", "a file or directory of the job does not exist (any more)"),
    ("CANNOT_LOAD_STATE_STORE", "the state in the checkpoint cannot be read: the checkpoint is damaged or incomplete"),
    ("STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", "the checkpoint was written by another version: use a new checkpoint"),
    ("STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", "the checkpoint was written by another version: use a new checkpoint"),
    ("CONCURRENT_STREAM_LOG_UPDATE", "another job is running with the same checkpoint: stop it, or use another one"),
    ("FAILED_READ_FILE", "an input file cannot be read: it is damaged, or changed while it was read"),
    ("No module named 'google", "the Python workers lack protobuf: install pyspark[connect] where Spark's workers run"),
    ("cannot import name 'descriptor' from 'google", "the Python workers lack protobuf: is PYSPARK_PYTHON set?"),
    ("PYTHON_VERSION_MISMATCH", "driver and workers run different Python versions: set PYSPARK_PYTHON"),
    ("OutOfMemoryError", "a Java process ran out of memory: raise spark.driver.memory or spark.executor.memory"),
    ("All masters are unresponsive", "the Spark master does not answer: is it running, and is the address right?"),
    ("No space left on device", "no space is left on a disk"),
)


class JobError(Exception):
    """A job that cannot be built or run; the text is for the user."""


def explain(error: BaseException) -> str:
    r"""The one thing to tell the user about a failure.

    >>> explain(RuntimeError("Traceback ...\nconnectors.files.errors.BadRecordError: a.jsonl:3: expected INT\n at X"))
    'a.jsonl:3: expected INT'
    """
    if isinstance(error, JobError):
        return str(error)
    if isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError":
        return "Spark's Java process has ended: start the job again, it goes on from its checkpoint"
    text = str(error)
    ours = _OUR_LINE.findall(text)
    if ours:
        return _STATE.sub("", str(ours[-1]).strip())
    for mark, meaning in _KNOWN:
        if mark in text:
            return meaning
    python = list(_PYTHON_LINE.finditer(text))
    if python:
        return f"{python[-1]['kind']}: {python[-1]['text']}".strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    cause = re.search(r"terminated with exception: (.+)", first)
    return (cause[1] if cause else first)[:500]

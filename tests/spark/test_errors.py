"""Of all that Spark says about a failure, the user is told what matters, and the job whether it may pass."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.errors import AnalysisException

from connectors.kafka.config import KafkaFailureError
from connectors.kafka.publisher import FencedError, PublishError
from runtime.spark.errors import DOUBTFUL_TRIES, Final, JobError, Passing, explain, judge

PLAN = """
=== Streaming Query ===
Logical Plan:
~WriteToMicroBatchDataSource cep-kafka
+- Project [ts#0, acc#1]
   +- Filter CASE WHEN isnull(_error#8) THEN true ELSE cast(raise_error(USER_RAISED_EXCEPTION, map(errorMessage, \
concat(BadRecordError: , _topic#4, [, cast(_partition#5 as string), ] offset , cast(_offset#6L as string)))) END
"""


def test_an_expression_in_a_plan_is_not_an_error_message() -> None:
    text = f"[STREAM_FAILED] Query terminated with exception: something else{PLAN}"
    assert explain(RuntimeError(text)) == "something else"


def test_the_exception_wins_over_the_plan_wherever_it_stands() -> None:
    said = "[USER_RAISED_EXCEPTION] BadRecordError: t[1] offset 17: not JSON SQLSTATE: P0001"
    assert explain(RuntimeError(said + PLAN)) == "t[1] offset 17: not JSON"
    assert explain(RuntimeError(PLAN + said)) == "t[1] offset 17: not JSON"


def test_errors_of_ours_are_found_in_python_tracebacks_beside_a_plan() -> None:
    text = f"Traceback (most recent call last):\nconnectors.kafka.publisher.FencedError: job 1 was taken over\n{PLAN}"
    assert explain(RuntimeError(text)) == "job 1 was taken over"
    text = f"Traceback (most recent call last):\nconnectors.kafka.offsets.DataLossError: t[0]: 5 records\n{PLAN}"
    assert explain(RuntimeError(text)) == "t[0]: 5 records"


# --- whether it may pass -------------------------------------------------------------------------------------------

FOR_EVER = None
FEW = DOUBTFUL_TRIES

FAILED = "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: "
ABORTED = (
    FAILED
    + "Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent failure: Lost task 0.3 in "
    "stage 3.0 (TID 9) (127.0.0.1 executor driver): "
)
WORKER = 'org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File "worker.py", line 1\n'

MAY_PASS = {
    "a worker that does not connect back": (
        RuntimeError(
            f"{ABORTED}org.apache.spark.SparkException: Python worker failed to connect back.\n\tat org.apache."
            "spark.api.python.PythonWorkerFactory.createSimpleWorker(PythonWorkerFactory.scala:1)\nCaused by: java.net."
            "SocketTimeoutException: Timed out while waiting for the Python worker to connect back"
        ),
        FOR_EVER,
        "a Python worker did not start within Spark's ten seconds: the machine is busy",
    ),
    "a worker that crashed": (
        RuntimeError(f"{ABORTED}org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\njava.io"),
        FOR_EVER,
        "a Python worker was killed or crashed",
    ),
    "a lost executor": (
        RuntimeError(f"{ABORTED}ExecutorLostFailure (executor 1 exited caused by one of the running tasks)"),
        FOR_EVER,
        "an executor was lost",
    ),
    "an executor without a heartbeat": (
        RuntimeError(f"{ABORTED}Executor heartbeat timed out after 125000 ms"),
        FOR_EVER,
        "an executor did not answer in time",
    ),
    "a host that died": (
        RuntimeError(
            f"{ABORTED}{WORKER}runtime.spark.state.host.HostLostError: the process with the engines has ended\n"
        ),
        FOR_EVER,
        "the process with the engines has ended",
    ),
    "a broker that is away, from the driver": (
        KafkaFailureError("cannot reach Kafka at b:9092: Broker transport failure. Check the address"),
        FOR_EVER,
        "cannot reach Kafka at b:9092: Broker transport failure. Check the address",
    ),
    "a broker that is away, from the source": (
        RuntimeError(
            f"{FAILED}[PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR] Failed when Python streaming data source perform "
            "latestOffset: Traceback\nconnectors.kafka.config.KafkaFailureError: cannot reach Kafka at b:9092: away\n"
        ),
        FOR_EVER,
        "cannot reach Kafka at b:9092: away",
    ),
    "a broker that takes nothing": (
        RuntimeError(f"{FAILED}Traceback\nconnectors.kafka.publisher.PublishError: the broker took no record of t\n"),
        FOR_EVER,
        "the broker took no record of t",
    ),
    "a full disk": (
        RuntimeError(f"{ABORTED}java.io.IOException: No space left on device\n\tat java.base/sun.nio"),
        FOR_EVER,
        "no space is left on a disk",
    ),
    "a state store that a full disk keeps from loading": (
        RuntimeError(f"{ABORTED}[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] ...\nIOException: No space left on device"),
        FOR_EVER,
        "no space is left on a disk",
    ),
    "a Java process that has gone": (
        ConnectionRefusedError(111, "Connection refused"),
        FOR_EVER,
        "Spark's Java process has ended: start the job again, it goes on from its checkpoint",
    ),
    "a Java process that goes": (
        Py4JNetworkError("Answer from Java side is empty"),
        FOR_EVER,
        "Spark's Java process has ended: start the job again, it goes on from its checkpoint",
    ),
    "a master that has gone": (
        RuntimeError(f"{ABORTED}Job 4 cancelled because SparkContext was shut down"),
        FOR_EVER,
        "the Spark application was ended from outside",
    ),
    "too little memory in Java": (
        RuntimeError(f"{ABORTED}java.lang.OutOfMemoryError: Java heap space"),
        FEW,
        "a Java process ran out of memory: raise spark.driver.memory or spark.executor.memory",
    ),
    "a damaged checkpoint": (
        RuntimeError(f"{ABORTED}[CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] Error reading"),
        FEW,
        "the state in the checkpoint cannot be read: the checkpoint is damaged or incomplete",
    ),
    "a file that cannot be read": (
        RuntimeError(f"{ABORTED}[FAILED_READ_FILE.NO_HINT] Encountered error while reading file"),
        FEW,
        "an input file cannot be read: it is damaged, or changed while it was read",
    ),
    "something odd in a worker": (RuntimeError(f"{ABORTED}{WORKER}TypeError: odd\n"), FEW, "TypeError: odd"),
    "something odd on the driver": (ZeroDivisionError("division by zero"), FEW, "division by zero"),
}  # fmt: skip

WILL_NOT = {
    "a setting": JobError("--in Trans=x: no such file or directory"),
    "a bad record of a file": RuntimeError(f"{ABORTED}{WORKER}x.errors.BadRecordError: a.jsonl:3: expected INT"),
    "a bad record of a topic": RuntimeError(
        f"{ABORTED}[USER_RAISED_EXCEPTION] BadRecordError: t[1] offset 17: not JSON SQLSTATE: P0001"
    ),
    "a pattern": RuntimeError(f"{ABORTED}{WORKER}processor.PatternChangedError: pattern `P` is not the one"),
    "fencing": RuntimeError(f"{FAILED}Traceback\nconnectors.kafka.publisher.FencedError: job 1 was taken over"),
    "fencing, on the driver": FencedError("job 1 was taken over by a newer publisher"),
    "data loss": RuntimeError(f"{FAILED}Traceback\nconnectors.kafka.offsets.DataLossError: t[0]: 5 records"),
    "data loss, from Spark's source": RuntimeError(f"{FAILED}[KAFKA_DATA_LOSS.START_OFFSET_RESET] Some data may"),
    "credentials": RuntimeError(f"{FAILED}kafka.common.errors.SaslAuthenticationException: failed"),
    "credentials of ours": KafkaFailureError("cannot reach Kafka at b:9092: SASL authentication error"),
    "a right": RuntimeError(f"{FAILED}org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized"),
    "a right of ours": RuntimeError(
        f"{FAILED}Traceback\nconnectors.kafka.publisher.PublishError: cannot commit: Topic authorization failed (X)"
    ),
    "another job": RuntimeError(f"{FAILED}[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log"),
    "another version": RuntimeError(f"{FAILED}[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] Provided value schema"),
    "a package": RuntimeError(f"{ABORTED}{WORKER}ModuleNotFoundError: No module named 'pyarrow'"),
    "another Python": RuntimeError(f"{ABORTED}[PYTHON_VERSION_MISMATCH] Python in worker has different version"),
    "a path": RuntimeError("[PATH_NOT_FOUND] Path does not exist: file:/x"),
    "a column": AnalysisException("[UNRESOLVED_COLUMN] A column with name `x` cannot be resolved"),
}  # fmt: skip


@pytest.mark.parametrize("case", MAY_PASS)
def test_what_may_pass(case: str) -> None:
    error, tries, reason = MAY_PASS[case]
    verdict = judge(error)
    assert isinstance(verdict, Passing)
    assert (verdict.reason, verdict.tries) == (reason, tries)
    gone = "Java process" in reason
    assert verdict.needs_java == gone


@pytest.mark.parametrize("case", WILL_NOT)
def test_what_will_not(case: str) -> None:
    assert isinstance(judge(WILL_NOT[case]), Final)


def test_a_failure_of_kafka_may_say_itself_what_it_is() -> None:
    class RefusedMarkerError(KafkaFailureError):
        passing = False

    class AwayError(KafkaFailureError):
        passing = True

    assert isinstance(judge(RefusedMarkerError("cannot reach Kafka")), Final)
    assert judge(AwayError("odd")) == Passing("odd")


def test_a_class_of_kafka_says_it_also_where_spark_hands_over_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{FAILED}Traceback\nconnectors.kafka.publisher.PublishError: refused marker"
    assert judge(RuntimeError(text)) == Passing("refused marker", FEW)
    monkeypatch.setattr(PublishError, "passing", False, raising=False)
    assert judge(RuntimeError(text)) == Final("refused marker")


def test_a_class_of_kafka_that_nothing_is_known_of_is_final() -> None:
    text = f"{FAILED}Traceback\nconnectors.kafka.ledger.RewindError: batch 3 has another range"
    assert judge(RuntimeError(text)) == Final("batch 3 has another range")

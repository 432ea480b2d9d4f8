"""Of all that Spark says about a failure, the user is told the one thing that matters."""

from __future__ import annotations

from runtime.spark.errors import explain

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

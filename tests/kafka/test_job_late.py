"""Late events to a topic of their own, in the transactions of the matches: each exactly once, whatever is repeated."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import cep
from connectors.cap import Cap, Tally
from connectors.kafka.sink import Publication
from connectors.staging import Staged, stage
from runtime.spark.job.start import Job
from tests.kafka.jobs import PATTERN, START, STEP, events, replayed, write_jsonl
from tests.spark.helpers import ATTEMPTS, lines_in, run_job

pytestmark = pytest.mark.kafka


def matches(count: int) -> pa.RecordBatch:
    ids = [f"{n:032x}" for n in range(count)]
    return pa.RecordBatch.from_pydict(
        {
            "key": ["k"] * count,
            "value": [json.dumps({"id": id_}) for id_ in ids],
            "id": ids,
            "pattern": ["P"] * count,
            "time": [None] * count,
        },
        pa.schema([(name, pa.string()) for name in ("key", "value", "id", "pattern", "time")]),
    )


def late(*texts: str) -> pa.RecordBatch:
    lines = [json.dumps({"stream": "T", "reason": "late", "event": {"text": text, "short": 1}}) for text in texts]
    return pa.RecordBatch.from_pydict({"key": ["k"] * len(lines), "value": lines, "id": [""] * len(lines)})


def staged(staging: str, found: int, *texts: str) -> list[Staged]:
    parts = list(stage(iter([matches(found)]), staging, 0))
    return parts + [part._replace(late=True) for part in stage(iter([late(*texts)]), staging, 0)]


def test_matches_and_late_events_of_a_batch_are_published_together_and_once(config, topic, committed, tmp_path):
    out, side, job, staging = topic(), topic(), f"job-{uuid.uuid4().hex[:8]}", str(tmp_path / "s")
    tally = Tally()
    publication = Publication(
        config=config, topic=out, late_topic=side, job_id=job, staging=staging, cap=Cap(2, "truncate"), tally=tally
    )
    for _ in range(2):  # the second time as after a crash
        publication.publish(staged(staging, 3, "a", "b", "c"), 0)
    publication.publish(staged(staging, 0, "d"), 1)
    assert [json.loads(message.value())["id"] for message in committed(out)] == [f"{n:032x}" for n in range(2)]
    assert tally.truncated == {0: 1}, "the limit is one of matches"
    found = committed(side)
    assert [json.loads(message.value())["event"]["text"] for message in found] == ["a", "b", "c", "d"]
    assert [(message.key(), message.headers()) for message in found] == [
        (b"k", [("content-type", b"application/json")])
    ] * 4


@pytest.mark.usefixtures("real")
def test_a_late_event_too_large_for_its_topic_is_put_aside(config, topic, committed, tmp_path):
    out, side, job, staging = topic(), topic(max_message_bytes="2000"), f"job-{uuid.uuid4().hex[:8]}", str(tmp_path)
    publication = Publication(config=config, topic=out, late_topic=side, job_id=job, staging=staging)
    long = uuid.uuid4().hex * 100
    publication.publish(staged(staging, 1, "a", "".join(uuid.uuid4().hex for _ in long), "z"), 0)
    assert [json.loads(message.value())["event"]["text"] for message in committed(side)] == ["a", "z"]
    (letter,) = committed(f"{side}.dlq")
    assert json.loads(letter.value()) == {"stream": "T", "reason": "late", "event": {"short": 1}, "dropped": ["text"]}
    assert len(committed(out)) == 1


# --- jobs ------------------------------------------------------------------------------------------------------------

HOUR = 3600 * 1000 // STEP
"""Events in an hour: the watermark is half an hour behind."""


def useful(table):
    """The events that the pattern could have used: Spark lets no others through."""
    return [event for event in table if not 50 <= event["amnt"] <= 450]


def job_of(kafka, source: str, out: str, side: str, checkpoint: Path) -> Job:
    return Job(
        inputs={"Trans": f"kafka:{source}"},
        out=out,
        late=side,
        checkpoint=str(checkpoint),
        bootstrap=kafka.bootstrap,
        kafka_source="python",
        once=True,
        buckets=2,
        restart=f"on-failure:{ATTEMPTS}",
    )


@pytest.mark.spark
@pytest.mark.parametrize("out", ["topic", pytest.param("directory", marks=pytest.mark.slow)])
def test_a_job_tells_of_late_events_through_restarts(spark, kafka, topic, send, committed, tmp_path, out):
    source, sink, side, checkpoint = topic(), topic(2), topic(2), tmp_path / "checkpoint"
    pattern = tmp_path / "card.cep"
    pattern.write_text(PATTERN)
    plans = list(cep.compile_file(str(pattern)).values())
    target = f"kafka:{sink}" if out == "topic" else str(tmp_path / "out")

    def feed(table) -> None:
        send(source, ((0, str(event["acc"]).encode(), json.dumps(event).encode()) for event in table))

    def run() -> int:
        job = job_of(kafka, source, target, f"kafka:{side}", checkpoint)
        return sum(batch.late for batch in run_job(spark, job, plans))

    def told() -> Counter[tuple[bytes, str]]:
        found = [(message.key(), json.loads(message.value())) for message in committed(side)]
        for _, line in found:
            assert {**line, "event": 0} == {
                "stream": "Trans",
                "reason": "late",
                "watermark": "2024-01-01T00:30:00Z",
                "patterns": ["CardTesting"],
                "source": f"kafka:{source}",
                "event": 0,
            }
        return Counter((key, json.dumps(line["event"]["amnt"])) for key, line in found)

    def as_told(table) -> Counter[tuple[bytes, str]]:
        return Counter((event["acc"].encode(), json.dumps(event["amnt"])) for event in useful(table))

    on_time = [*events(500, after=HOUR - 499)]
    assert on_time[-1]["ts"] == START + HOUR * STEP
    feed(on_time)
    assert run() == 0
    assert committed(side) == []
    first, second = events(200, after=HOUR // 4), events(30, after=HOUR // 2 - 30)
    feed(first)
    assert run() == len(useful(first)) > 20
    assert told() == as_told(first)
    newest = max(checkpoint.glob("commits/[0-9]*"), key=lambda path: int(path.name))
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
    assert run() == len(useful(first)), "the batch is repeated"
    assert told() == as_told(first), "and its late events are not"
    feed(second)
    assert run() == len(useful(second)) > 1
    assert told() == as_told([*first, *second])
    wanted = Counter(replayed(pattern, write_jsonl(tmp_path / "all.jsonl", on_time)))
    assert wanted
    if out == "topic":
        assert Counter(message.value().decode() for message in committed(sink)) == wanted
    else:
        assert Counter({line.rstrip("\n"): count for line, count in lines_in(tmp_path / "out").items()}) == wanted

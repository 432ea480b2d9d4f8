"""The whole job as a user runs it: `cep run` from topic to topic, against a broker, in a process of its own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import cep
from runtime.spark.job.start import Job, prepare
from runtime.spark.job.supervise import Supervisor
from tests.kafka.jobs import PATTERN, ROOT, command, environment, events, replayed, write_jsonl
from tests.spark.helpers import ATTEMPTS, Shared

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

SECRET, WRITTEN = "hunter2-by-reference", "hunter2-written-out"
POISON = {
    b"no-json": b"{not json",
    b"wrong-type": b'{"ts": "2024-01-01T00:00:00Z", "acc": 7, "amnt": "much"}',
    b"too-long": b'{"acc": "' + b"x" * 10_000_000 + b'"}',
    b"no-utf8": b'{"acc": "\xff\xfe"}',
    b"tombstone": None,
}
OLD = 1_700_000_000_123
"""The timestamp of the poison records, in milliseconds."""


@pytest.fixture
def pattern(tmp_path):
    path = tmp_path / "card.cep"
    path.write_text(PATTERN)
    return path


def run(arguments: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments, cwd=ROOT, env=environment(**variables), capture_output=True, text=True, check=False, timeout=300
    )


def feed(send, topic: str, table: list[dict[str, object]]) -> None:
    send(topic, ((-1, str(event["acc"]).encode(), json.dumps(event).encode()) for event in table))


def everything_under(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file())


def test_alerts_are_replays_and_poison_is_put_aside_and_secrets_stay_secret(
    kafka, topic, send, committed, pattern, tmp_path
):
    source, sink, checkpoint = topic(3), topic(2), tmp_path / "checkpoint"
    first, second = events(3000), events(1500, after=3000)
    file = write_jsonl(tmp_path / "events.jsonl", first + second)
    (tmp_path / "password").write_text(SECRET + "-file\n")
    arguments = [
        *command(kafka.bootstrap, pattern, source, sink, checkpoint, "--once", "--on-error", "dead-letter"),
        *("--kafka-option", "sasl.password=env:CEP_TEST_PASSWORD"),
        *("--kafka-option", f"ssl.key.password=file:{tmp_path}/password"),
        *("--kafka-option", f"ssl.keystore.password={WRITTEN}"),
    ]

    feed(send, source, first)
    send(source, ((0, key, value, [("trace", b"\x00\xff")], OLD) for key, value in POISON.items()))
    done = run(arguments, CEP_TEST_PASSWORD=SECRET)
    assert done.returncode == 0, done.stderr
    shown = done.stdout + done.stderr
    logged = [json.loads(line) for line in done.stderr.splitlines()]  # all of it is JSON
    batches = [entry for entry in logged if entry["event"] == "batch"]
    assert sum(batch["refused"] for batch in batches) == len(POISON)
    assert sum(batch["events"] for batch in batches) == len(first)

    feed(send, source, second)
    debugging = [*arguments[:3], "--debug", *arguments[3:]]
    done = run(debugging, CEP_TEST_PASSWORD=SECRET)
    assert done.returncode == 0, done.stderr
    shown += done.stdout + done.stderr

    found = committed(sink)
    assert sorted(message.value().decode() for message in found) == sorted(replayed(pattern, file))
    assert len(found) > 20
    for message in found:
        match = json.loads(message.value())
        headers = dict(message.headers())
        assert headers["ce_id"] == match["id"].encode()
        assert message.key() == match["fields"]["acc"].encode()

    letters = {message.key(): message for message in committed(f"{source}.dlq")}
    assert {key: message.value() for key, message in letters.items()} == POISON
    for message in letters.values():
        headers = dict(message.headers())
        assert headers["trace"] == b"\x00\xff"
        assert headers["__connect.errors.topic"] == source.encode()
        assert headers["__connect.errors.partition"] == b"0"
        assert headers["__connect.errors.exception.message"]
        assert headers["__connect.errors.timestamp"] == str(OLD).encode()

    assert SECRET not in shown
    assert WRITTEN not in shown
    assert SECRET.encode() not in everything_under(checkpoint)


@pytest.mark.slow
def test_with_fail_the_job_names_the_record_and_goes_on_once_told_to(
    spark, kafka, topic, send, committed, pattern, tmp_path
):
    source, sink, checkpoint = topic(2), topic(), tmp_path / "checkpoint"
    table = events(400)
    file = write_jsonl(tmp_path / "events.jsonl", table)
    send(source, ((1, b"k", json.dumps(event).encode()) for event in table[:17]))
    send(source, [(1, b"k", b"{not json")])
    send(source, ((1, b"k", json.dumps(event).encode()) for event in table[17:]))
    arguments = [
        *command(kafka.bootstrap, pattern, source, sink, checkpoint, "--once"),
        *("--kafka-option", f"sasl.password={WRITTEN}"),
    ]

    done = run(arguments)
    assert done.returncode == 2, done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.lower().startswith("error")]
    assert f"{source}[1] offset 17: " in error
    assert "JSON" in error
    assert committed(sink) == []
    assert WRITTEN not in done.stdout + done.stderr

    # In the session of these tests: a process would take half a minute to show the same.
    job = Job(
        inputs={"Trans": f"kafka:{source}"},
        out=f"kafka:{sink}",
        checkpoint=str(checkpoint),
        bootstrap=kafka.bootstrap,
        kafka_source="python",
        kafka_options={"sasl.password": WRITTEN},
        on_error="skip",
        once=True,
        restart=f"on-failure:{ATTEMPTS}",
    )
    prepared = prepare(job, list(cep.compile_file(str(pattern)).values()))
    Supervisor(
        prepared=prepared,
        sessions=Shared(spark),
        report=lambda _: None,
        restarted=lambda: None,
        stopping=lambda: False,
    ).run()
    assert sorted(message.value().decode() for message in committed(sink)) == sorted(replayed(pattern, file))

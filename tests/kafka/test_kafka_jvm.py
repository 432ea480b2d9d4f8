"""Settings for Spark's own connector: translated, left out or refused, never ignored."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest

from connectors.kafka.config import KafkaConfig, KafkaFailureError
from connectors.testing import fetch_connector
from runtime.spark.ends.kafka_jvm import jvm_options
from runtime.spark.errors import JobError
from tests.kafka.jobs import PATTERN, ROOT, command, environment, events, make_anew, replayed, write_jsonl


def options(**properties: str) -> dict[str, str]:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    found = jvm_options(KafkaConfig.of({"bootstrap.servers": "b:1"} | given))
    assert found.pop("kafka.bootstrap.servers") == "b:1"
    return found


def test_user_and_password_become_a_login_module_and_references_are_resolved(monkeypatch, tmp_path):
    monkeypatch.setenv("USER_NAME", "ann")
    (tmp_path / "password").write_text('qu"ote\\\n')
    assert options(
        security_protocol="sasl_ssl",
        sasl_mechanisms="SCRAM-SHA-512",
        sasl_username="env:USER_NAME",
        sasl_password=f"file:{tmp_path}/password",
        ssl_ca_location="/ca.pem",
    ) == {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="ann" password="qu\\"ote\\\\";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": "/ca.pem",
    }


def test_a_reference_to_nothing_is_named():
    with pytest.raises(KafkaFailureError, match="environment variable NOT_THERE"):
        options(sasl_password="env:NOT_THERE", sasl_username="u", sasl_mechanism="PLAIN")


def test_settings_of_the_producer_do_not_concern_the_source():
    assert options(linger_ms="5", acks="all", compression_type="zstd", message_max_bytes="1") == {}


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("ssl.key.location", "use ssl.keystore.location and ssl.keystore.type=PEM"),
        ("queued.max.messages.kbytes", "leave it out"),
        ("ssl.truststor.location", "leave it out"),
        ("debug", "leave it out"),
    ],
)
def test_what_has_no_counterpart_is_refused(name, advice):
    with pytest.raises(JobError, match=f"--kafka-option {name}: .*{advice}.* --kafka-source python"):
        jvm_options(KafkaConfig.of({"bootstrap.servers": "b:1", name: "x"}))


def test_half_a_login_or_two_are_refused():
    with pytest.raises(JobError, match=r"sasl\.password is missing"):
        options(sasl_username="u", sasl_mechanism="PLAIN")
    with pytest.raises(JobError, match=r"expected one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512.* found GSSAPI"):
        options(sasl_username="u", sasl_password="p", sasl_mechanism="GSSAPI")
    with pytest.raises(JobError, match="found both"):
        options(sasl_username="u", sasl_password="p", sasl_mechanism="PLAIN", sasl_jaas_config="x")


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("real")
def test_a_job_reads_through_the_connector(kafka, topic, send, committed, tmp_path):
    """The same alerts as replay, from two runs of one checkpoint; a record that is no event is put aside."""
    pattern, source, sink = tmp_path / "card.cep", topic(2), topic()
    pattern.write_text(PATTERN)
    table = events(3000)
    file = write_jsonl(tmp_path / "events.jsonl", table)
    jars = ",".join(map(str, fetch_connector()))
    arguments = [
        *command(kafka.bootstrap, pattern, source, sink, tmp_path / "checkpoint", "--once", "--on-error", "skip"),
        *("--kafka-source", "jvm", "--conf", f"spark.jars={jars}"),
    ]
    for part in (table[:2000], table[2000:]):
        send(source, [(-1, str(event["acc"]).encode(), json.dumps(event).encode()) for event in part])
        send(source, [(0, b"k", b"{not json")])
        done = subprocess.run(
            arguments, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == 0, done.stderr
        logged = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
        assert sum(entry["refused"] for entry in logged if entry["event"] == "batch") == 1
    expected = replayed(pattern, file)
    assert expected
    assert sorted(message.value().decode() for message in committed(sink)) == sorted(expected)


def batches_of(process: subprocess.Popen[str], said: list[str]) -> Iterator[int]:
    """The numbers of batches with events that a job reports, until it ends; all that it says is noted."""
    assert process.stderr is not None
    for line in process.stderr:
        said.append(line)
        entry = json.loads(line) if line.startswith("{") else {}
        if entry.get("event") == "batch" and entry["events"]:
            yield entry["batch"]


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("real")
def test_a_topic_that_is_made_anew_while_a_job_waits_is_noticed_before_anything_is_published(
    kafka, config, topic, send, committed, tmp_path
):
    """The connector goes on at the old offsets, among other records, without a word."""
    pattern, source, sink = tmp_path / "card.cep", topic(), topic()
    pattern.write_text(PATTERN)

    def feed(table) -> None:
        send(source, [(0, str(event["acc"]).encode(), json.dumps(event).encode()) for event in table])

    jars = ",".join(map(str, fetch_connector()))
    arguments = [
        *command(kafka.bootstrap, pattern, source, sink, tmp_path / "checkpoint", "--trigger", "20 seconds"),
        *("--kafka-source", "jvm", "--conf", f"spark.jars={jars}"),
    ]
    feed(events(1000))
    lines: list[str] = []
    process = subprocess.Popen(arguments, cwd=ROOT, env=environment(), stderr=subprocess.PIPE, text=True)
    try:
        batches = batches_of(process, lines)
        assert next(batches, None) is not None, lines
        before = len(committed(sink))
        assert before
        make_anew(config, source)
        feed(events(3000, after=1000))
        assert next(batches, None) is None, "it published what it read in the other topic"
        assert process.wait() == 2
    finally:
        process.kill()
    said = "".join(lines)
    assert f"{source} was deleted and made anew" in said or "Kafka removed records" in said, said
    assert "--on-data-loss" in said
    assert len(committed(sink)) == before

"""The Kafka commands, as a user runs them: in processes of their own, against librdkafka's built-in cluster."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from connectors.kafka.built_in import BuiltInCluster
from connectors.kafka.cluster import partitions_of
from connectors.kafka.config import KafkaConfig
from connectors.testing import free_port

pytestmark = pytest.mark.kafka
CEP = [sys.executable, "-m", "cep.cli"]


@pytest.fixture(scope="module")
def cluster():
    with BuiltInCluster(topics={"events": 2, "alerts": 1, "ordered": 1}) as started:
        yield started


def cep(*arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*CEP, *arguments], capture_output=True, text=True, timeout=timeout, check=False)


def test_produce_then_tail_gives_the_lines_back(cluster, tmp_path):
    file = tmp_path / "events.jsonl"
    lines = [json.dumps({"ts": n, "acc": f"a{n % 3}", "text": "é"}, ensure_ascii=False) for n in range(50)]
    file.write_text("\n".join(lines) + "\n\n", encoding="utf-8")

    sent = cep("produce", str(file), "--to", "kafka:events", "--key", "acc", "--bootstrap", cluster.bootstrap)
    shown = cep("tail", "kafka:events", "--from-beginning", "--once", "--json", "--bootstrap", cluster.bootstrap)

    assert (sent.returncode, sent.stdout) == (0, ""), sent.stderr
    assert "50 records to events" in sent.stderr
    assert shown.returncode == 0, shown.stderr
    assert sorted(shown.stdout.splitlines()) == sorted(lines)


def test_produce_sends_in_the_order_of_the_event_time(cluster, tmp_path):
    file = tmp_path / "events.csv"
    file.write_text("ts,n\n2024-01-01T00:00:03Z,3\n2024-01-01T00:00:01Z,1\n2024-01-01T00:00:02Z,\n")

    sent = cep("produce", str(file), "--to", "kafka:ordered", "--time", "ts", "--bootstrap", cluster.bootstrap)
    shown = cep("tail", "kafka:ordered", "--from-beginning", "--once", "--json", "--bootstrap", cluster.bootstrap)

    assert sent.returncode == 0, sent.stderr
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [row.get("n") for row in rows] == [1, None, 3]
    assert rows[0]["ts"].startswith("2024-01-01T00:00:01")


def test_tail_shows_matches_of_a_pattern_and_stops_after_a_count(cluster, tmp_path):
    file = tmp_path / "alerts.jsonl"
    file.write_text(
        "\n".join(
            json.dumps(
                {"id": f"{n:032x}", "pattern": "P" if n % 2 else "Q", "start": None, "end": "2024-01-01T00:00:00Z",
                 "fields": {"acc": f"a{n}", "amount": n}}
            )
            for n in range(10)
        )
    )  # fmt: skip
    cep("produce", str(file), "--to", "kafka:alerts", "--bootstrap", cluster.bootstrap)

    shown = cep(
        *(
            "tail",
            "kafka:alerts",
            "--from-beginning",
            "--pattern",
            "P",
            "--count",
            "2",
            "--bootstrap",
            cluster.bootstrap,
        )
    )

    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines() == [
        "2024-01-01T00:00:00Z  P  acc=a1  amount=1  (00000000 alerts[0]@1)",
        "2024-01-01T00:00:00Z  P  acc=a3  amount=3  (00000000 alerts[0]@3)",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tail", "alerts", "--bootstrap", "127.0.0.1:1"), "expected kafka:TOPIC, found 'alerts'"),
        (("tail", "kafka:a"), "--bootstrap"),
        (("produce", "x.txt", "--to", "kafka:a", "--bootstrap", "127.0.0.1:1"), "--format"),
        (("broker", "--topic", "a:none"), "NAME:PARTITIONS"),
    ],
)
def test_bad_usage_is_status_2_with_the_reason(arguments, message):
    done = cep(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_topic_and_a_bad_line_are_failures(cluster, tmp_path):
    missing = cep("tail", "kafka:no-such-topic", "--bootstrap", cluster.bootstrap)
    assert (missing.returncode, "no such topic: no-such-topic" in missing.stderr) == (2, True)

    file = tmp_path / "bad.jsonl"
    file.write_text('{"acc": 1}\n{"acc": \n')
    bad = cep("produce", str(file), "--to", "kafka:events", "--key", "acc", "--bootstrap", cluster.bootstrap)
    assert bad.returncode == 2
    assert f"{file}:2: expected a JSON object" in bad.stderr


def test_broker_prints_its_address_and_runs_until_interrupted():
    port = free_port()
    process = subprocess.Popen(
        [*CEP, "broker", "--port", str(port), "--topic", "a:3", "--topic", "b"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"127.0.0.1:{port}\n"
        config = KafkaConfig.of({"bootstrap.servers": f"127.0.0.1:{port}"})
        assert partitions_of(config, "a", None) == [("a", 0), ("a", 1), ("a", 2)]
        assert partitions_of(config, "b", None) == [("b", 0)]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()

"""Secrets stay secret: in texts, in logs, in pickles of references."""

from __future__ import annotations

import logging
import pickle

import pytest

from connectors.kafka.cluster import partitions_of
from connectors.kafka.config import KafkaConfig, KafkaFailureError, is_secret

SECRET = "hunter2-very-secret"


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "ssl.key.password",
        "ssl.keystore.password",
        "sasl.oauthbearer.client.secret",
        "my.token",
        "x.secret",
    ],
)
def test_secrets_are_masked_in_everything_that_is_shown(name):
    config = KafkaConfig.of({"bootstrap.servers": "b:1", name: SECRET})
    assert is_secret(name)
    assert SECRET not in repr(config)
    assert SECRET not in str(config.safe())
    assert SECRET not in config.redact(f"librdkafka said: {SECRET} is wrong")
    assert config.client()[name] == SECRET


def test_references_are_resolved_at_use_and_never_stored(monkeypatch, tmp_path):
    monkeypatch.setenv("KAFKA_PASSWORD", SECRET)
    file = tmp_path / "key"
    file.write_text(SECRET + "-2\n")
    config = KafkaConfig.of(
        {"bootstrap.servers": "b:1", "sasl.password": "env:KAFKA_PASSWORD", "ssl.key.password": f"file:{file}"}
    )

    assert SECRET.encode() not in pickle.dumps(config)
    assert SECRET not in str(config.options())
    client = pickle.loads(pickle.dumps(config)).client()

    assert (client["sasl.password"], client["ssl.key.password"]) == (SECRET, SECRET + "-2")
    assert config.redact(f"{SECRET}-2") == "***"


def test_a_reference_to_nothing_names_itself(monkeypatch, tmp_path):
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(KafkaFailureError, match=r"sasl\.password refers to the environment variable NOT_SET"):
        KafkaConfig.of({"bootstrap.servers": "b:1", "sasl.password": "env:NOT_SET"}).client()
    with pytest.raises(KafkaFailureError, match=r"refers to the file .*nope.*No such file"):
        KafkaConfig.of({"bootstrap.servers": "b:1", "sasl.password": f"file:{tmp_path / 'nope'}"}).client()


def test_logs_and_errors_of_a_failing_connection_hold_no_secret(caplog, capfd, monkeypatch):
    monkeypatch.setattr("connectors.kafka.cluster.TIMEOUT", 1.0)
    config = KafkaConfig.of(
        {
            "bootstrap.servers": "127.0.0.1:1",
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "me",
            "sasl.password": SECRET,
            "log_level": "7",
        }
    )
    with caplog.at_level(logging.DEBUG), pytest.raises(KafkaFailureError) as caught:
        partitions_of(config, "t", None)

    out, err = capfd.readouterr()
    assert "cannot reach Kafka at 127.0.0.1:1" in str(caught.value)
    assert SECRET not in caplog.text + out + err + str(caught.value)


def test_settings_pass_through_below_what_must_hold():
    config = KafkaConfig.from_options({"kafka.bootstrap.servers": "b:1", "kafka.linger.ms": "7", "other": "x"})
    client = config.client({"linger.ms": 1, "acks": "all"}, group_id="g")
    assert (client["linger.ms"], client["acks"], client["group.id"]) == ("7", "all", "g")
    assert "other" not in client


def test_no_broker_named():
    with pytest.raises(KafkaFailureError, match="--bootstrap"):
        KafkaConfig.of({})

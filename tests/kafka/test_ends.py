"""What the command line says reaches the source: start, limits and what to do about lost events."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner

from cep.types import Type
from connectors.kafka.config import KafkaConfig
from runtime.spark import cli
from runtime.spark.kafka_ends import KafkaInput, read_kafka
from tests.kafka.jobs import PATTERN

COLUMNS = (("acc", Type.STRING),)
CONFIG = KafkaConfig.of({"bootstrap.servers": "b:1", "fetch.wait.max.ms": "5"})


def options_of(**settings) -> dict[str, str]:
    """All options that a source was given, whether by `option` or by `options`."""
    spark = MagicMock()
    reader = spark.readStream.format.return_value
    reader.options.return_value = reader.option.return_value = reader
    read_kafka(spark, KafkaInput(topic="t", config=CONFIG, on_error="skip", **settings), COLUMNS)
    given: dict[str, str] = {}
    for name, arguments, keywords in reader.mock_calls:
        if name == "options":
            given |= keywords
        elif name == "option":
            given[arguments[0]] = arguments[1]
    return given


@pytest.mark.parametrize("source", ["python", "jvm"])
@pytest.mark.parametrize(("fail", "said"), [(True, "true"), (False, "false")])
def test_data_loss_fails_or_not_as_asked(source, fail, said):
    given = options_of(source=source, fail_on_data_loss=fail, max_offsets=7)
    assert given["failOnDataLoss"] == said
    assert str(given["maxOffsetsPerTrigger"]) == "7"
    assert given["subscribe"] == "t"


def test_the_jvm_connector_gets_its_own_names_and_reads_what_is_committed():
    given = options_of(source="jvm", starting_offsets="2026-01-01T00:00:00Z")
    assert given["kafka.fetch.max.wait.ms"] == "5"
    assert given["kafka.isolation.level"] == "read_committed"
    assert given["startingTimestamp"] == "1767225600000"
    assert "startingOffsets" not in given
    assert options_of(source="jvm", starting_offsets="latest")["startingOffsets"] == "latest"


@pytest.mark.parametrize(("arguments", "expected"), [((), "fail"), (("--on-data-loss", "continue"), "continue")])
def test_the_option_reaches_the_job(monkeypatch, tmp_path, arguments, expected):
    jobs = []
    monkeypatch.setattr(cli, "_run", lambda job, *_: jobs.append(job) or 0)
    (tmp_path / "card.cep").write_text(PATTERN)
    done = CliRunner().invoke(
        cli.run, [str(tmp_path / "card.cep"), "--in", "Trans=kafka:t", "--checkpoint", "c", *arguments]
    )
    assert done.exit_code == 0, done.output
    assert [job.on_data_loss for job in jobs] == [expected]

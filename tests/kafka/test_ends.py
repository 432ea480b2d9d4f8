"""What the command line says reaches the source: start, limits and what to do about lost events."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner

import cep
from cep.ir.types import Type
from connectors.kafka.config import KafkaConfig
from runtime.spark import cli
from runtime.spark.ends.kafka_ends import KafkaInput, read_kafka
from runtime.spark.ends.manifest import Manifest
from runtime.spark.errors import JobError
from runtime.spark.job.start import Job, Prepared, _sources
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
    given = options_of(source="jvm", starting_offsets="2024-01-01T00:00:00Z")
    assert given["kafka.fetch.max.wait.ms"] == "5"
    assert given["kafka.isolation.level"] == "read_committed"
    assert given["startingTimestamp"] == "1704067200000"
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


def test_the_limits_of_a_batch_and_what_to_do_with_a_rewind_reach_the_job(monkeypatch, tmp_path):
    jobs = []
    monkeypatch.setattr(cli, "_run", lambda job, *_: jobs.append(job) or 0)
    (tmp_path / "card.cep").write_text(PATTERN)
    bound = [str(tmp_path / "card.cep"), "--in", "Trans=kafka:t", "--checkpoint", "c"]
    more = ["--on-rewind", "republish", "--max-matches-per-batch", "5", "--on-too-many", "truncate"]
    assert CliRunner().invoke(cli.run, bound).exit_code == 0
    assert CliRunner().invoke(cli.run, [*bound, *more]).exit_code == 0
    assert [(job.on_rewind, job.max_matches, job.on_too_many) for job in jobs] == [
        ("fail", None, "fail"),
        ("republish", 5, "truncate"),
    ]


@pytest.mark.parametrize(("asked", "each"), [(None, 500_000), (7, 3), (1, 1)])
def test_the_limit_of_offsets_is_that_of_all_streams_and_there_is_one(tmp_path, asked, each):
    pattern = (
        "STREAM A (ts TIMESTAMP, k INT) TIMESTAMP BY ts WATERMARK 1 SECOND;"
        "STREAM B (ts TIMESTAMP, k INT) TIMESTAMP BY ts WATERMARK 1 SECOND;"
        "PATTERN P SEQ(A a, B b) WHERE a.k = b.k WITHIN 1 MINUTE;"
    )
    plans = tuple(cep.compile(pattern).values())
    job = Job(
        inputs={"A": "kafka:a", "B": "kafka:b"}, out="-", checkpoint=str(tmp_path), bootstrap="b:1", max_offsets=asked
    )
    manifest = Manifest(job="j", buckets=2, streams=("A", "B"))
    given = _sources(Prepared(job=job, plans=plans, manifest=manifest, changes=()), MagicMock())
    assert [topic.max_offsets for topic in given.values()] == [each, each]


def test_offsets_with_ids_are_not_given_to_the_jvm_connector(tmp_path):
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text('v1\n{}\n{"t": {"0": 5, "id": "Zk"}, "": {"cluster": "C"}}')
    with pytest.raises(JobError, match="use --kafka-source python"):
        options_of(source="jvm", checkpoint=str(tmp_path))
    assert "columns" in options_of(source="auto", checkpoint=str(tmp_path))
    assert "columns" not in options_of(source="auto")

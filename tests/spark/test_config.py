"""`cep run --config`: keys of the file are options, and so are those of its tables; the command line wins over each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from runtime.spark import cli
from runtime.spark.job.start import Job
from tests.spark.helpers import JOB


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The job that a command line and a file make, and the secrets that the command line shows."""
    seen: list[tuple[Job, list[str]]] = []

    def noted(job: Job, _plans: Any, _port: Any, _address: Any, exposed: list[str]) -> int:
        seen.append((job, exposed))
        return 0

    monkeypatch.setattr(cli, "_run", noted)
    (tmp_path / "p.cep").write_text(JOB)

    def invoke(text: str, *more: str) -> tuple[Job, list[str]] | Result:
        (tmp_path / "job.toml").write_text(text)
        result = CliRunner().invoke(cli.run, [str(tmp_path / "p.cep"), "--config", str(tmp_path / "job.toml"), *more])
        return seen.pop() if result.exit_code == 0 else result

    return invoke


FILE = """
checkpoint = "c"
bootstrap = "b:1"
buckets = 3

[in]
Trans = "kafka:trades"
Login = "kafka:logins"

[kafka-option]
"sasl.username" = "me"
"sasl.password" = "hunter2"

[conf]
"spark.driver.memory" = "2g"
"spark.executor.cores" = 4
"""


def test_tables_are_merged_key_by_key_and_the_command_line_wins(run: Any) -> None:
    job, _ = run(
        FILE,
        *("--conf", "spark.executor.cores=2", "--conf", "spark.eventLog.enabled=true"),
        *("--kafka-option", "sasl.username=you", "--in", "Login=logins/"),
        *("--buckets", "5"),
    )
    assert job.conf == {
        "spark.driver.memory": "2g",
        "spark.executor.cores": "2",
        "spark.eventLog.enabled": "true",
    }
    assert job.kafka_options == {"sasl.username": "you", "sasl.password": "hunter2"}
    assert job.inputs == {"Trans": "kafka:trades", "Login": "logins/"}
    assert job.buckets == 5


def test_the_file_alone_is_enough(run: Any) -> None:
    job, exposed = run(FILE)
    assert job.conf == {"spark.driver.memory": "2g", "spark.executor.cores": "4"}
    assert job.inputs == {"Trans": "kafka:trades", "Login": "kafka:logins"}
    assert exposed == []


def test_secrets_of_the_file_are_not_on_the_command_line(run: Any) -> None:
    assert run(FILE, "--kafka-option", "linger.ms=5")[1] == []
    assert run(FILE, "--kafka-option", "ssl.key.password=hunter3")[1] == ["ssl.key.password"]


def test_an_input_that_is_given_twice_on_the_command_line_is_refused(run: Any) -> None:
    refused = run(FILE, "--in", "Login=a", "--in", "Login=b")
    assert "--in Login=... is given twice" in refused.output


@pytest.mark.parametrize(
    ("text", "said"),
    [("conf = 3", "expected a table [conf]"), ("[confs]\na = 1", "no option `confs`: did you mean")],
)
def test_what_is_no_table_or_no_option_is_refused(run: Any, text: str, said: str) -> None:
    assert said in run(text).output

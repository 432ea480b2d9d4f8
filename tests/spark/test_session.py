"""Settings reach Java through a file that only we can read, as they were written."""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runtime.spark.job.session import _submitted
from tests.conftest import ODD_SETTING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARGUMENTS = "PYSPARK_SUBMIT_ARGS"


def test_settings_are_in_a_file_of_ours_for_as_long_as_java_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ARGUMENTS, raising=False)
    with _submitted({"spark.cep.password": "canary 5ecret"}):
        said = os.environ[ARGUMENTS]
        assert "canary" not in said
        option, name, defaults, what = shlex.split(said)
        assert (option, defaults, what) == ("--properties-file", "--load-spark-defaults", "pyspark-shell")
        file = Path(name)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text() == "spark.cep.password=canary\\u00205ecret\n"
    assert not file.exists()
    assert ARGUMENTS not in os.environ


def test_what_the_user_submits_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mine.properties").write_text("spark.mine=1\nspark.both=1")
    mine = f"--jars a.jar --properties-file {tmp_path}/mine.properties pyspark-shell"
    monkeypatch.setenv(ARGUMENTS, mine)
    with _submitted({"spark.both": "2"}):
        words = shlex.split(os.environ[ARGUMENTS])
        assert words.count("--properties-file") == 1
        assert words[-3:] == ["--jars", "a.jar", "pyspark-shell"]
        assert Path(words[1]).read_text() == "spark.mine=1\nspark.both=1\nspark.both=2\n"
    assert os.environ[ARGUMENTS] == mine


def test_a_setting_arrives_as_it_was_written(spark: SparkSession) -> None:
    assert spark.conf.get("spark.cep.odd") == ODD_SETTING

"""What all tests share: one Spark session for a run, opened as `cep run` opens its own, and a JVM that starts fast."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent
ODD_SETTING = 'a = b\\c \t#!: "é" $HOME'
"""A setting of the session with all that could get lost on the way to Java."""


@pytest.fixture(scope="session", autouse=True)
def _environment() -> Iterator[None]:
    """For this process and those that tests start: Spark on loopback, its workers with our code.

    Jobs here are short: most of their time is that of the optimising compiler, which would pay off later.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from runtime.spark.job.session import open_session

    warehouse = str(tmp_path_factory.mktemp("warehouse"))
    conf = {
        "spark.driver.memory": "2g",
        "spark.sql.warehouse.dir": warehouse,
        "spark.log.level": "ERROR",
        "spark.cep.odd": ODD_SETTING,
    }
    master = os.environ.get("CEP_TEST_MASTER", "local[2]")  # `make crash` also takes a cluster of three processes
    session = open_session("cep-tests", master, conf, 2, local_checkpoint=True)
    yield session
    session.stop()

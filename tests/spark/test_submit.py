"""The two other ways onto a cluster: `spark-submit` as docs/deploying.md has it, and Spark Connect."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.spark.helpers import CARD, compiled, cut, expected, lines_in, trans, write_parts

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SUBMIT = Path(sys.executable).with_name("spark-submit")
CONNECT = """
import os, sys
from collections import Counter
import cep
from pyspark.sql import SparkSession
from runtime.spark import detect
from runtime.spark.job.session import DEFAULTS

archive, pattern, events, target, checkpoint = sys.argv[1:]
spark = SparkSession.builder.remote("local[2]").config(map=DEFAULTS).getOrCreate()
assert type(spark).__module__.startswith("pyspark.sql.connect"), type(spark)
spark.addArtifacts(archive, pyfile=True)
frame = spark.readStream.schema("ts TIMESTAMP, acc STRING, amnt DOUBLE").option("maxFilesPerTrigger", 1).parquet(events)
found = detect(cep.compile(open(pattern).read()), {"Trans": frame}, buckets=2)
writer = found.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
query = writer.format("json").start(target)
query.awaitTermination()
assert query.exception() is None, query.exception()
print(" ".join(sorted(row.id for row in spark.read.schema("id STRING").json(target).collect())))
spark.stop()
"""


@pytest.fixture
def job(tmp_path: Path) -> tuple[Path, Path, Path]:
    """The zip, a pattern and its events, in a directory that is not the repository."""
    (tmp_path / "card.cep").write_text(CARD)
    write_parts(tmp_path / "Trans", cut(trans(400), 3, 4))
    archive = tmp_path / "cep_engine.zip"
    subprocess.run([sys.executable, "-m", "runtime.spark.package", str(archive)], cwd=ROOT, check=True)
    return archive, tmp_path / "card.cep", tmp_path / "Trans"


def run(command: list[str], where: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_spark_submit(job: tuple[Path, Path, Path], tmp_path: Path) -> None:
    archive, pattern, events = job
    page = (ROOT / "docs" / "deploying.md").read_text()
    recipe = re.search(r"where `run.py` is\n\n```python\n(.*?)```", page, re.DOTALL)
    assert recipe
    (tmp_path / "run.py").write_text(recipe[1])
    run(
        [
            str(SUBMIT), "--master", "local-cluster[2,1,1024]", "--py-files", str(archive), "run.py",
            "run", str(pattern), "--in", f"Trans={events}", "--out", str(tmp_path / "out"),
            "--checkpoint", str(tmp_path / "checkpoint"), "--once", "--max-files", "1", "--buckets", "2",
        ],
        tmp_path,
    )  # fmt: skip
    assert lines_in(tmp_path / "out") == expected(compiled(CARD), {"Trans": trans(400)})


def test_spark_connect(job: tuple[Path, Path, Path], tmp_path: Path) -> None:
    archive, pattern, events = job
    (tmp_path / "connect.py").write_text(CONNECT)
    arguments = [str(archive), str(pattern), str(events), str(tmp_path / "out"), str(tmp_path / "checkpoint")]
    said = run([sys.executable, "connect.py", *arguments], tmp_path)
    wanted = expected(compiled(CARD), {"Trans": trans(400)})
    assert wanted
    found = said.split()
    assert sorted(found) == sorted(line[8:40] for line in wanted.elements())

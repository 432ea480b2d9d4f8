"""Jobs to a directory whose checkpoint is not what it was: nothing is lost or doubled without a word."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runtime.spark.errors import JobError
from tests.spark.helpers import CARD, compiled, expected, lines_in, trans, write_parts
from tests.spark.test_run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def plans() -> list[Any]:
    return compiled(CARD)


def lose_spark(checkpoint: Path) -> None:
    """All but what this project keeps there."""
    for part in checkpoint.iterdir():
        if part.is_dir():
            shutil.rmtree(part)
        elif not part.name.startswith("cep-"):
            part.unlink()


def test_a_batch_that_read_something_else_does_not_replace_the_one_of_its_number(
    spark: SparkSession, tmp_path: Path, plans: list[Any]
) -> None:
    """Spark's part of the checkpoint is lost, and the files of then are gone: it counts from 0, over other events."""
    first, second = trans(150), trans(300).slice(150)
    write_parts(tmp_path / "Trans", [first])
    run(spark, plans, tmp_path)
    before = lines_in(tmp_path / "out")
    assert before == expected(plans, {"Trans": first})
    lose_spark(tmp_path / "checkpoint")
    shutil.rmtree(tmp_path / "Trans")
    write_parts(tmp_path / "Trans", [second], first=1)
    said = r"batch 0 of job .* with files up to 0, now it has files up to 0 \(others of the same number\).*--on-rewind"
    with pytest.raises(JobError, match=said):
        run(spark, plans, tmp_path)
    assert lines_in(tmp_path / "out") == before
    run(spark, plans, tmp_path, on_rewind="republish")
    assert lines_in(tmp_path / "out") == expected(plans, {"Trans": second})
    assert sum((lines_in(path) for path in (tmp_path / "out" / "_replaced").iterdir()), start=before - before) == before

"""What earlier releases wrote is opened by this one: snapshots of engines, and checkpoints of jobs.

Ids may differ from those of releases before 0.1.0 (they were made unforgeable since), so matches are compared by what
they say: pattern and fields.
"""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import cep
import runtime
from connectors.files.match_writer import match_lines
from tests.compatibility.write import HALF, HERE, PATTERNS, PLACE, events, has_paths, run_once, watermark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VERSIONS = sorted(path.name for path in HERE.iterdir() if (path / "checkpoint.tar.gz").exists())
PLANS = cep.compile_file(str(PATTERNS))


def said(lines: Any) -> Counter[str]:
    matches = map(json.loads, lines)
    return Counter(json.dumps([match["pattern"], match["fields"]]) for match in matches)


def pushed(engine: runtime.Engine, table: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    for batch in engine.push(table, watermark(table)):
        found += said(match_lines(batch, engine.plan.pattern).to_pylist())
    return found


def second_half(name: str) -> Counter[str]:
    """What an engine of this release says to the second half of the events, having seen the first."""
    engine = runtime.Engine(PLANS[name])
    pushed(engine, events(0, HALF))
    return pushed(engine, events(HALF))


def test_there_is_something_to_open() -> None:
    assert "0.1.0.dev" in VERSIONS
    for name, plan in PLANS.items():
        without = pushed(runtime.Engine(plan), events(HALF))
        assert second_half(name) != without, "what is stored decides"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", PLANS)
def test_a_snapshot_of_an_earlier_release_goes_on(version: str, name: str) -> None:
    engine = runtime.Engine.restore(PLANS[name], (HERE / version / f"{name}.snapshot").read_bytes())
    engine._check()
    assert pushed(engine, events(HALF)) == second_half(name)


@pytest.mark.spark
@pytest.mark.parametrize("version", VERSIONS)
def test_a_checkpoint_of_an_earlier_release_goes_on(version: str, spark: SparkSession, tmp_path: Path) -> None:
    with tarfile.open(HERE / version / "checkpoint.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    for path in (tmp_path / "checkpoint").rglob("*"):
        if path.is_file() and has_paths(path):
            path.write_text(path.read_text().replace(PLACE, str(tmp_path)))
    source = tmp_path / "Trans"
    source.mkdir()
    pq.write_table(events(0, HALF), source / "part-0000.parquet")
    pq.write_table(events(HALF), source / "part-0001.parquet")
    run_once(source, tmp_path, spark)
    lines = [line for path in (tmp_path / "out").glob("*.jsonl") for line in path.open(encoding="utf-8")]
    assert said(lines) == sum((second_half(name) for name in PLANS), Counter())

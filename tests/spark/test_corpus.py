"""The whole corpus and random patterns on Spark: the matches of an engine in this process, with the same ids.

Many cases share a query: their results are united, each with its number. A query costs seconds, a case does not.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

import runtime
from cep.compiler.pipeline import compile_source
from cep.source import Source
from runtime.spark import detect
from runtime.spark.sql import SPARK_TYPES, quote
from tests.corpus.test_corpus import HERE, MATCHING, parse_events
from tests.oracle.generate import random_case
from tests.oracle.harness import record_batch
from tests.spark.helpers import cut, write_parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cep.plan import Plan


class Case(NamedTuple):
    name: str
    plan: Plan
    events: dict[str, pa.Table]


def from_corpus() -> list[Case]:
    cases = []
    for name in MATCHING:
        (plan,) = compile_source(Source("pattern.cep", (HERE / name / "pattern.cep").read_text())).plans
        rows = parse_events(HERE / name / "events.jsonl", plan.streams)
        cases.append(Case(name, plan, tables(plan, rows)))
    return cases


def from_seeds(count: int) -> list[Case]:
    cases = []
    for seed in range(count):
        case = random_case(seed)
        plans = compile_source(Source("random.cep", str(case))).plans
        if plans:
            cases.append(Case(f"seed {seed}", plans[0], tables(plans[0], case.events)))
    return cases


def tables(plan: Plan, rows: dict[str, Any]) -> dict[str, pa.Table]:
    used = {leaf.stream for leaf in plan.leaves}
    return {
        stream.name: pa.Table.from_batches([record_batch(stream, rows[stream.name])])
        for stream in plan.streams
        if stream.name in used
    }


def answer(case: Case) -> Counter[str]:
    batches = runtime.Engine(case.plan).push(case.events)
    return Counter(value.hex() for batch in batches for value in batch.column("_id").to_pylist())


def check(cases: list[Case], rows: list[Any]) -> None:
    found: dict[int, Counter[str]] = {number: Counter() for number in range(len(cases))}
    for row in rows:
        found[row.number][row.id] += 1
    for number, case in enumerate(cases):
        wanted, got = answer(case), found[number]
        if case.plan.distinct:  # a tuple may come again once it was not alive; see the language
            wanted, got = Counter(set(wanted)), Counter(set(got))
        assert got == wanted, case.name


THIRDS = [(slice(part, None, 3), buckets) for part, buckets in enumerate((1, 2, 7))]
ALL = [pytest.param(*third, marks=pytest.mark.slow) for third in THIRDS]


@pytest.mark.parametrize(("chosen", "buckets"), [(slice(None, None, 7), 3), *ALL])
def test_batch_dataframes(spark: SparkSession, chosen: slice, buckets: int) -> None:
    cases = (from_corpus() + from_seeds(30))[chosen]
    parts = []
    for number, case in enumerate(cases):
        frames = {name: spark.createDataFrame(table) for name, table in case.events.items()}
        found = detect([case.plan], frames, buckets=buckets)
        parts.append(found.select(F.lit(number).alias("number"), "id"))
    check(cases, reduce(lambda a, b: a.unionAll(b), parts).collect())


@pytest.mark.slow
@pytest.mark.parametrize(("chosen", "buckets"), THIRDS)
def test_streams_cut_anywhere(spark: SparkSession, tmp_path: Path, chosen: slice, buckets: int) -> None:
    rng = random.Random(buckets)
    everything = (from_corpus() + from_seeds(60))[chosen]
    for group in range(0, len(everything), 12):
        cases = everything[group : group + 12]
        parts = []
        for number, case in enumerate(cases):
            frames = {}
            for stream in case.plan.streams:
                if stream.name in case.events:
                    table = case.events[stream.name]
                    if stream.time is not None:
                        table = table.sort_by(stream.time)
                    where = tmp_path / f"{group}-{number}" / stream.name
                    write_parts(where, cut(table, 3, rng.randrange(1000)))
                    frames[stream.name] = read(spark, where, stream)
            found = detect([case.plan], frames, buckets=buckets, metrics=f"cep{number}")
            parts.append(found.select(F.lit(number).alias("number"), "id"))
        name = f"corpus_{buckets}_{group}"
        writer = reduce(lambda a, b: a.unionAll(b), parts).writeStream.format("memory").queryName(name)
        writer = writer.option("checkpointLocation", str(tmp_path / name)).trigger(availableNow=True)
        writer.start().awaitTermination()
        check(cases, spark.table(name).collect())


def read(spark: SparkSession, where: Path, stream: Any) -> DataFrame:
    schema = ", ".join(f"{quote(name)} {SPARK_TYPES[type_]}" for name, type_ in stream.columns)
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(where))

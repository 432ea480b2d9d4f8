"""The whole corpus and random patterns on Spark: the matches of an engine in this process, with the same ids.

Many cases share a query: their results are united, each with its number. A query costs seconds, a case does not.
"""

from __future__ import annotations

import json
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
from connectors.files.match_writer import match_lines
from runtime.spark import detect
from runtime.spark.flow.dataflow import EMPTY_BATCHES
from runtime.spark.sql import SPARK_TYPES, quote
from runtime.testing import canonical
from tests.corpus.test_corpus import HERE, MATCHING, parse_events
from tests.oracle.cases import random_case
from tests.oracle.harness import record_batch
from tests.oracle.judge import one_order_of_ids
from tests.spark.helpers import cut, write_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from cep.ir.plan import Plan


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


def answer(case: Case, *, finished: bool) -> Counter[tuple[str, str]]:
    """Ids and fields; with `finished` also of what waits at the end of the events."""
    engine = runtime.Engine(case.plan)
    batches = list(engine.push(case.events))
    batches += list(engine.finish()) if finished else []
    lines = (json.loads(line) for batch in batches for line in match_lines(batch, case.plan.pattern).to_pylist())
    return Counter((match["id"], canonical(match["fields"])) for match in lines)


def check(cases: list[Case], rows: list[Any], *, finished: bool = False) -> None:
    found: dict[int, Counter[tuple[str, str]]] = {number: Counter() for number in range(len(cases))}
    for row in rows:
        found[row.number][(row.id, canonical(json.loads(row.fields)))] += 1
    for number, case in enumerate(cases):
        wanted, got = answer(case, finished=finished), found[number]
        if one_order_of_ids(case.plan):
            assert got == wanted, case.name
        else:  # a tuple may come again once it was not alive, and what it began with is a matter of arrival
            assert {fields for _, fields in got} == {fields for _, fields in wanted}, case.name


THIRDS = [(slice(part, None, 3), buckets) for part, buckets in enumerate((1, 2, 7))]
ALL = [pytest.param(*third, marks=pytest.mark.slow) for third in THIRDS]


@pytest.mark.parametrize(("chosen", "buckets"), [(slice(None, None, 7), 3), *ALL])
def test_batch_dataframes(spark: SparkSession, chosen: slice, buckets: int) -> None:
    cases = (from_corpus() + from_seeds(30))[chosen]
    parts = []
    for number, case in enumerate(cases):
        frames = {name: spark.createDataFrame(table) for name, table in case.events.items()}
        found = detect([case.plan], frames, buckets=buckets)
        parts.append(found.select(F.lit(number).alias("number"), "id", "fields"))
    check(cases, reduce(lambda a, b: a.unionAll(b), parts).collect(), finished=True)


@pytest.mark.slow
@pytest.mark.parametrize(("chosen", "buckets"), THIRDS)
def test_streams_cut_anywhere(spark: SparkSession, tmp_path: Path, chosen: slice, buckets: int) -> None:
    in_streams(spark, tmp_path, (from_corpus() + from_seeds(60))[chosen], buckets)


def test_alternatives_in_streams_cut_anywhere(spark: SparkSession, tmp_path: Path) -> None:
    """In more than one bucket: an optional event, alternatives of two streams, DISTINCT over them."""
    chosen = ("or/o2_distinct_over_branches", "or/one_name_for_two_streams", "or/optional_at_the_end")
    in_streams(spark, tmp_path, [case for case in from_corpus() if case.name in chosen], 3)


@pytest.fixture(autouse=True)
def _batches_without_data(spark: SparkSession) -> Iterator[None]:
    """What waits is settled by them, as in a job with a pattern that does."""
    before = spark.conf.get(EMPTY_BATCHES)
    spark.conf.set(EMPTY_BATCHES, "true")
    yield
    spark.conf.set(EMPTY_BATCHES, str(before))


def in_streams(spark: SparkSession, tmp_path: Path, everything: list[Case], buckets: int) -> None:
    rng = random.Random(buckets)
    # A query has one watermark, the least of all its streams: what waits would wait for the events of other cases.
    groups = [[case] for case in everything if case.plan.waits]
    rest = [case for case in everything if not case.plan.waits]
    groups += [rest[first : first + 12] for first in range(0, len(rest), 12)]
    for group, cases in enumerate(groups):
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
            parts.append(found.select(F.lit(number).alias("number"), "id", "fields"))
        name = f"corpus_{buckets}_{group}"
        writer = reduce(lambda a, b: a.unionAll(b), parts).writeStream.format("memory").queryName(name)
        writer = writer.option("checkpointLocation", str(tmp_path / name)).trigger(availableNow=True)
        writer.start().awaitTermination()
        check(cases, spark.table(name).collect())


def read(spark: SparkSession, where: Path, stream: Any) -> DataFrame:
    schema = ", ".join(f"{quote(name)} {SPARK_TYPES[type_]}" for name, type_ in stream.columns)
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(where))

"""`runtime.spark.detect`: patterns over DataFrames, as a DataFrame of matches. The whole dataflow is in this file.

    events ─ watermark ─ project, filter, bucket (JVM) ─ pack ─┐
    events ─ watermark ─ project, filter, bucket (JVM) ─ pack ─┴ union ─ group by slot: engines ─ unpack ─ matches

Only the public DataFrame API is used, so it serves classic sessions and Spark Connect, notebooks and spark-submit. On
Connect the packages `cep`, `runtime` and `connectors` must be importable on the server's workers
(`spark.addArtifacts(zip, pyfile=True)`, see `runtime.spark.package`), and what Connect itself lacks is lacking.

The watermark is taken from all events, before any filter: an event that no pattern wants still says how late it is.
Spark's own rule for late rows is of no use, since a packed row is not an event and Spark drops a row that is *at* the
watermark: packed rows therefore carry a time in the far future, and the operator drops late events one by one.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - PySpark's own convention

from cep.ir.plan import Plan
from runtime.spark.errors import JobError
from runtime.spark.flow.ahead import limited
from runtime.spark.flow.batch import batch_matcher
from runtime.spark.flow.pack import PACKED, PLACE, Packer
from runtime.spark.flow.schema import HEARTBEAT, fitted
from runtime.spark.flow.unpack import MATCHES, Unpacker
from runtime.spark.layout import Feed, Layout, Member, layout
from runtime.spark.sql import quote
from runtime.spark.state.cache import NewEngine, new_engine
from runtime.spark.state.processor import OUTPUT, Matcher
from runtime.state.id_key import IdKey

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

METRICS = "cep"
"""Under this name a query's progress has `observedMetrics` of the job, and under `cep:STREAM` those of a stream."""
BEATS = "beats"
"""Under this name, the metrics of a stream count the rows that are no events and say how far it has come."""
VALUES = "values:"
"""With this prefix, the metrics of a stream count the values of a column."""
TIES = "ties:"
"""With this prefix and a stream's name, the metrics of the job count its ties in each group of patterns."""
WAITING = "waiting"
"""Under this name, the metrics of the job say what the slots that a batch visited hold back."""
EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"
"""The setting with which Spark runs a batch when the watermark has moved and no event has come."""
DEFAULT_BUCKETS = 2
_FAR_FUTURE = 32_503_680_000  # the year 3000, in seconds
_EVENT_TIME = {"spark.watermarkDelayMs": 0}
"""The mark by which Spark knows an event-time column. `withWatermark` would set it too, and is allowed only once."""


def detect(
    patterns: Mapping[str, Plan] | Iterable[Plan],
    streams: Mapping[str, DataFrame],
    *,
    buckets: int | None = None,
    on_pattern_change: str = "fail",
    generations: Mapping[str, int] | None = None,
    metrics: str = METRICS,
    make_engine: Any = new_engine,
    id_key: bytes | IdKey | None = None,
) -> DataFrame:
    """The matches of patterns (from `cep.compile`) in the events of streams, as a DataFrame.

    Columns: id STRING, pattern STRING, start TIMESTAMP, end TIMESTAMP, fields STRING (a JSON object), key STRING.
    All DataFrames are streaming ones (write the result in Append mode), or all are batch ones; a batch gives the
    matches of `cep replay`. A streaming DataFrame must not have a watermark of its own: the declaration has one.

    `buckets` is the parallelism of patterns with a partition key, fixed for the life of a checkpoint, as is
    `spark.sql.shuffle.partitions`; the best value for both is the number of cores. `on_pattern_change` says what
    happens to a pattern that differs from the one the checkpoint was written with: `fail`, or `restart` with nothing
    remembered. `metrics` names what the query's progress reports; two results in one query need two names. With
    `id_key` ids are keyed; it travels to the executors with the plans, and is in no log, setting or checkpoint.

    Rows that `MAX AHEAD` of their stream refuses are left out; without the clause there is no limit. `IDLE AFTER` is
    not used: while a stream is silent, what waits for the watermark is not put out.

    Raises `JobError` where a stream is missing, a column does not fit, the state store is not RocksDB, or a pattern
    waits for the watermark and the session has switched off the batches that tell of it (`EMPTY_BATCHES`).
    """
    packed = packed_matches(
        patterns,
        _not_ahead(patterns, streams),
        buckets=buckets,
        on_pattern_change=on_pattern_change,
        generations=generations,
        metrics=metrics,
        make_engine=make_engine,
        id_key=id_key,
    )
    return unpacked(packed, plans_of(patterns))


def _not_ahead(patterns: Mapping[str, Plan] | Iterable[Plan], streams: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """The events without those that `MAX AHEAD` of their stream refuses."""
    declared = {stream.name: stream for plan in plans_of(patterns) for stream in plan.streams}
    found = dict(streams)
    for name, stream in declared.items():
        if name in found and stream.max_ahead is not None:
            found[name] = limited(fitted(found[name], stream, stream.columns), stream, stream.max_ahead)
    return found


def plans_of(patterns: Mapping[str, Plan] | Iterable[Plan]) -> tuple[Plan, ...]:
    """The plans, in order of their patterns' names; `JobError` where two share one."""
    plans = tuple(patterns.values()) if isinstance(patterns, Mapping) else tuple(patterns)
    if not plans:
        raise JobError("expected at least one pattern, found none")
    names = [plan.pattern for plan in plans]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise JobError(f"expected patterns with different names in one job, found two called `{twice[0]}`")
    return tuple(sorted(plans, key=lambda plan: plan.pattern))


def packed_matches(
    patterns: Mapping[str, Plan] | Iterable[Plan],
    streams: Mapping[str, DataFrame],
    *,
    buckets: int | None = None,
    on_pattern_change: str = "fail",
    generations: Mapping[str, int] | None = None,
    metrics: str = METRICS,
    make_engine: Any = new_engine,
    id_key: bytes | IdKey | None = None,
    keep_late: bool = False,
) -> DataFrame:
    """Like `detect`, with matches still packed (`processor.OUTPUT`), and with `keep_late` the late events too."""
    if id_key is not None:
        key = IdKey(id_key) if isinstance(id_key, bytes) else id_key
        make_engine = NewEngine(key) if make_engine is new_engine else partial(make_engine, id_key=key)
    plans = plans_of(patterns)
    made = make_layout(plans, streams, buckets or _default_buckets(streams), generations or {}, every_column=keep_late)
    streaming = _streaming(streams)
    feeds = {feed.stream.name: feed for feed in made.feeds}
    parts = [
        packed(streams[name], feeds[name], metrics, keep_late=keep_late) if name in feeds else _unused(streams[name])
        for name in sorted(streams)
    ]
    events = parts[0]
    for part in parts[1:]:
        events = events.unionByName(part)
    if streaming:
        _need_rocksdb(next(iter(streams.values())))
        if waits(plans):
            _need_empty_batches(next(iter(streams.values())))
        # Also where no stream has event time, and the watermark is that of 1970: a checkpoint cannot change its mode
        # when the first pattern over a stream with event time comes, or the last one goes.
        never = F.timestamp_seconds(F.lit(_FAR_FUTURE))
        events = events.withColumn("never", never.alias("never", metadata=_EVENT_TIME))
        matcher = Matcher(made, uuid.uuid4().hex, on_pattern_change, make_engine, keep_late=keep_late)
        found = events.groupBy("slot").transformWithState(matcher, OUTPUT, "Append", "EventTime")
    else:
        found = events.groupBy("slot").applyInArrow(batch_matcher(made, make_engine), OUTPUT)
    return found.observe(metrics, *_metrics(plans, made)) if streaming else found


def unpacked(found: DataFrame, plans: Iterable[Plan]) -> DataFrame:
    """Matches as rows."""
    return found.select("pattern", "blob").filter("blob IS NOT NULL").mapInArrow(Unpacker.of(plans), MATCHES)


def make_layout(
    plans: tuple[Plan, ...],
    streams: Mapping[str, Any],
    buckets: int,
    generations: Mapping[str, int],
    *,
    every_column: bool = False,
) -> Layout:
    """The layout of a job; `JobError` where a stream has no DataFrame."""
    used = {leaf.stream: plan.stream(leaf.stream) for plan in plans for leaf in plan.leaves}
    missing = sorted(set(used) - set(streams))
    if missing:
        raise JobError(f"stream `{missing[0]}` has no events: bind it, e.g. --in {missing[0]}=DIR")
    members = [Member(plan=plan, generation=generations.get(plan.pattern, 0)) for plan in plans]
    return layout(members, used, buckets, every_column=every_column)


def packed(events: DataFrame, feed: Feed, metrics: str = METRICS, *, keep_late: bool = False) -> DataFrame:
    """The events of one stream, packed by slot."""
    events = fitted(events, feed.stream, feed.columns)
    if events.isStreaming:
        if feed.stream.time is not None:
            events = events.withWatermark(feed.stream.time, f"{-(-feed.stream.watermark // 1000)} milliseconds")
        # Spark moves filters below a watermark, which then sees fewer events; it does not move them below a count.
        beats = HEARTBEAT in events.columns
        is_event = F.when(~F.col(HEARTBEAT), 1) if beats else F.lit(1)
        counts = [F.count(is_event).alias("events")]
        counts += [
            F.count(F.when(is_event.isNotNull(), F.col(quote(name)))).alias(f"{VALUES}{name}")
            for name, _ in feed.columns
        ]
        if beats:
            counts.append(F.count(F.when(F.col(HEARTBEAT), 1)).alias(BEATS))
        events = events.observe(f"{metrics}:{feed.stream.name}", *counts)
        if beats:
            events = events.filter(~F.col(HEARTBEAT)).drop(HEARTBEAT)
    packer = Packer(
        stream=feed.stream.name,
        time=feed.stream.time,
        targets=tuple((target.slots, target.columns) for target in feed.targets),
        whole=tuple(name for name, _ in feed.columns) if keep_late else (),
    )
    return _narrow(events, feed).mapInArrow(packer, PACKED)


def _unused(events: DataFrame) -> DataFrame:
    """No rows: the checkpoint numbers the sources, so a stream stays in the job when the last pattern on it goes."""
    return events.filter("FALSE").selectExpr(
        *(f"CAST(NULL AS {kind}) AS {name}" for name, kind in (column.split() for column in PACKED.split(", ")))
    )


def _narrow(events: DataFrame, feed: Feed) -> DataFrame:
    """The columns and rows that some pattern can use, with the bucket of each row in each group (NULL: not there)."""
    places = [f"{PLACE}{index}" for index in range(len(feed.targets))]
    columns = [quote(name) for name, _ in feed.columns]
    chosen = events.selectExpr(
        *columns, *(f"{target.place} AS {place}" for target, place in zip(feed.targets, places, strict=True))
    )
    return chosen.filter(f"coalesce({', '.join([*places, 'CAST(NULL AS INT)'])}) IS NOT NULL")


def _streaming(streams: Mapping[str, DataFrame]) -> bool:
    kinds = {name: frame.isStreaming for name, frame in streams.items()}
    if len(set(kinds.values())) > 1:
        batch = next(name for name, streaming in kinds.items() if not streaming)
        raise JobError(f"expected all streams to be streaming DataFrames or all batch ones: `{batch}` is a batch one")
    return next(iter(kinds.values()))


def _default_buckets(streams: Mapping[str, DataFrame]) -> int:
    frame = next(iter(streams.values()), None)
    chosen = frame.sparkSession.conf.get("spark.sql.shuffle.partitions") if frame is not None else None
    return int(chosen or DEFAULT_BUCKETS)


def _need_rocksdb(frame: DataFrame) -> None:
    provider = frame.sparkSession.conf.get("spark.sql.streaming.stateStore.providerClass") or ""
    if not provider.endswith("RocksDBStateStoreProvider"):
        raise JobError(
            f"expected the RocksDB state store, found {provider.rpartition('.')[2]}: set "
            "spark.sql.streaming.stateStore.providerClass to "
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        )


def waits(plans: Iterable[Plan]) -> bool:
    """Whether some pattern holds events back until the watermark has passed them."""
    return any(plan.hold is not None for plan in plans)


def _need_empty_batches(frame: DataFrame) -> None:
    if frame.sparkSession.conf.get(EMPTY_BATCHES) == "false":
        raise JobError(
            f"expected {EMPTY_BATCHES}=true for a pattern that waits (a `NOT` is decided when the watermark has passed "
            "it): without it nothing is put out while no event comes"
        )


def _metrics(plans: Iterable[Plan], made: Layout) -> list[Any]:
    totals = [
        F.sum(name).alias(name)
        for name in ("events", "late", "matches", "entries", "log_bytes", "rebuilt", "caught_up")
    ]
    totals += [
        F.sum(F.when(F.col("pattern") == plan.pattern, F.col("matches"))).alias(f"matches:{plan.pattern}")
        for plan in plans
    ]
    for group in made.groups:
        pattern = group.members[0].plan.pattern
        for stream in group.unordered:
            mine = (F.col("pattern") == pattern) & (F.col("stream") == stream)
            totals.append(F.sum(F.when(mine, F.col("ties"))).alias(f"{TIES}{stream}:{pattern}"))
    if any(group.waits for group in made.groups):
        slots = F.when(F.col("slot").isNotNull(), F.array("slot", "waiting", "due"))
        totals.append(F.collect_list(slots).alias(WAITING))
    return totals

"""The Spark data source `cep-kafka`: Kafka topics as a streaming DataFrame, without the JVM connector.

Offsets are planned on the driver and live in Spark's checkpoint; no consumer group commits anything. Executors read one
partition's range each and hand over Arrow batches.

Options (names as in Spark, in any case; librdkafka properties with the prefix `kafka.`):

    kafka.bootstrap.servers   required
    subscribe | subscribePattern   a topic, or a regular expression over whole topic names
    startingOffsets           earliest (default) | latest | a time: milliseconds since the epoch or ISO-8601
    maxOffsetsPerTrigger      at most so many offsets a batch
    failOnDataLoss            true (default): fail where retention overtook the query; false: warn and go on
    columns                   JSON `[["ts", "TIMESTAMP"], ...]`: decode these; without it, records come raw. A time
                              can have its format and how far ahead (microseconds) it may be beside it (`times.to_json`)
    format                    json (the decoder)
    maxValueBytes             longer values are errors
    idleTimeout               seconds without progress after which a read fails (default 120)
    heartbeatColumn, heartbeatDelay   events are in the topic at most so many milliseconds after the time in this
                              column: whenever everything was read, also where nothing came for seconds, a batch has a
                              row whose time is that of the clock less the delay, and whose other columns are NULL

Decoded rows have the columns asked for and `_topic`, `_partition`, `_offset`, `_timestamp`, `_error`, `_key`, `_value`,
`_headers`; the last four are NULL except for records that could not be decoded, where `_error` says why and the others
hold the record untouched. Raw rows have `key`, `value`, `headers`, `topic`, `partition`, `offset`, `timestamp`.

Guaranteed: each offset range is read whole or the task fails; only committed records are read (`isolation.level` can be
set); data loss is never silent, and neither is a topic that was deleted and made anew, or another cluster: ids of both
are kept with the offsets. A limit counts offsets, of which transactions and compaction use up some.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from cep.ir.types import Type
from connectors.files.times import plain
from connectors.kafka import offsets as plan
from connectors.kafka.cluster import TIMEOUT, Identity, Partition, TopicGoneError, admin_client, identified, offsets
from connectors.kafka.config import KafkaFailureError, logger
from connectors.kafka.reading import Beat, Range, heartbeat, read
from connectors.kafka.settings import Settings

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient
    from pyspark.sql import SparkSession

FORMAT = "cep-kafka"
_SPARK = {
    Type.INT: "bigint",
    Type.DOUBLE: "double",
    Type.STRING: "string",
    Type.BOOLEAN: "boolean",
    Type.TIMESTAMP: "timestamp",
}
_HEADERS = "array<struct<key: string, value: binary>>"
_ENVELOPE = (
    "_topic string, _partition int, _offset bigint, _timestamp timestamp, "
    f"_error string, _key binary, _value binary, _headers {_HEADERS}"
)
_RAW = f"key binary, value binary, headers {_HEADERS}, topic string, partition int, offset bigint, timestamp timestamp"


class KafkaDataSource(DataSource):
    """`spark.readStream.format("cep-kafka")`."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return FORMAT

    def schema(self) -> str:
        """The columns asked for and the record's envelope, or raw records."""
        columns = Settings.of(self.options).columns
        if columns is None:
            return _RAW
        return ", ".join([*(f"`{name}` {_SPARK[type_]}" for name, type_ in plain(columns)), _ENVELOPE])

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802, ARG002 - Spark's names
        """The source."""
        return KafkaStreamReader(Settings.of(self.options))


def register(spark: SparkSession) -> None:
    """Make the format known to a session."""
    spark.dataSource.register(KafkaDataSource)


class KafkaStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans offsets on the driver, reads them on executors."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.target: plan.Positions | None = None
        self.target_beat: int | None = None
        self.reported: plan.Offsets | None = None
        self._admin: AdminClient | None = None
        self._seen: Identity | None = None

    def __getstate__(self) -> dict[str, object]:
        """What executors get: they do not plan."""
        return {**self.__dict__, "_admin": None}

    # On the driver

    def initialOffset(self) -> plan.Offsets:  # noqa: N802 - Spark's name
        """Where a new query starts."""
        places, identity = self._places()
        if not places:
            wanted = self.settings.topic or f"matching {self.settings.pattern}"
            raise KafkaFailureError(
                f"no such topic: {wanted} (at {self.settings.config.bootstrap}). Create it, or check the name"
            )
        self._seen = identity
        return plan.encode(self._offsets(places, self.settings.start), identity, first=True)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The limit that the options set."""
        return ReadAllAvailable() if self.settings.limit is None else ReadMaxRows(self.settings.limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Remember where the topics end now: the query stops there."""
        self.target_beat = _now()
        self.target = self._offsets(self._places()[0], "latest")

    def latestOffset(self, start: plan.Offsets, limit: ReadLimit) -> plan.Offsets:  # noqa: N802 - Spark's name
        """Where the next batch ends."""
        now = _now()  # before the ends are asked for: what had arrived by now is not behind them
        places, identity, begin, end = self._extent()
        self.reported = plan.encode(end)
        position = plan.decode(start)
        stale = self._stale(plan.identity_of(start), identity, [name for name, _ in places])
        self._seen = identity
        appeared = {place: 0 for place in end if place not in position and place[0] not in stale}
        position = {place: offset for place, offset in position.items() if place[0] not in stale}
        for loss in self._losses({**position, **appeared}, begin, end):
            place = (loss.topic, loss.partition)
            if place in appeared:
                continue  # retention was faster than the first look at it
            if plan.is_new(loss):
                del position[place]
            elif loss.found is not None:
                position[place] = loss.found
        if self.target is not None:
            target = self.target
            end = {place: min(offset, target[place]) for place, offset in end.items() if place in target}
        rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        positions = plan.advance(position, begin, end, rows)
        reached = plan.encode(positions, identity)
        reached = plan.with_beat(reached, self._beat(plan.beat_of(start), now, whole=positions == end))
        if plan.is_first(start):
            return plan.with_start(reached, plan.decode(start))
        return start if plan.same(start, reached) else reached

    def reportLatestOffset(self) -> plan.Offsets | None:  # noqa: N802 - Spark's name
        """Where the topics ended at the last look, for the query's progress."""
        return self.reported

    def partitions(self, start: plan.Offsets, end: plan.Offsets) -> Sequence[InputPartition]:
        """One task a partition that has anything to read; none of a topic that was made anew in between.

        Spark asks for `initialOffset` again to run the first batch, in every attempt; what counts is where it was
        planned to start.
        """
        until, planned, first = plan.decode(end), plan.identity_of(end), plan.start_of(end)
        begin, before = (plan.decode(start), plan.identity_of(start)) if first is None else (first, planned)
        stale = {change.topic for change in plan.changes(before, planned) if isinstance(change, plan.Replaced)}
        if self._seen is None:  # a batch that an earlier run has planned
            self._seen = self._places()[1]
        stale |= self._stale(planned, self._seen, sorted({topic for topic, _ in until}))
        ranges: list[InputPartition] = [
            Range(topic, number, begin[topic, number], offset, planned.topics.get(topic))
            for (topic, number), offset in until.items()
            if topic not in stale and offset > begin.get((topic, number), offset)
        ]
        beat = plan.beat_of(end)
        if self.settings.heartbeat is not None and beat is not None and beat != plan.beat_of(start):
            ranges.append(Beat(beat))
        return ranges

    def _beat(self, before: int | None, now: int, *, whole: bool) -> int | None:
        """The last moment of which it is known that everything that had arrived by then is read in this batch."""
        heartbeat = self.settings.heartbeat
        if heartbeat is None or not whole:
            return before
        # A query that reads what is there and ends has one beat; the clock would never let it end. A clock that was
        # ahead and is put right goes back: a watermark does not, and the next beats must not wait until it is there.
        return self.target_beat if self.target is not None else now - now % heartbeat.period

    def _client(self) -> AdminClient:
        """One connection for all batches."""
        if self._admin is None:
            self._admin = admin_client(self.settings.config)
        return self._admin

    def _places(self) -> tuple[list[Partition], Identity]:
        return identified(self.settings.config, self.settings.topic, self.settings.pattern, admin=self._client())

    def _extent(self) -> tuple[list[Partition], Identity, plan.Positions, plan.Positions]:
        """What is there, and where it begins and ends. A topic may go after it was listed: then all is asked again."""
        patience = time.monotonic() + TIMEOUT
        while True:
            places, identity = self._places()
            try:
                return places, identity, self._offsets(places, "earliest"), self._offsets(places, "latest")
            except TopicGoneError:
                if time.monotonic() > patience:
                    raise
                time.sleep(0.1)

    def _offsets(self, places: Sequence[Partition], at: str | int) -> plan.Positions:
        committed = dict(self.settings.config.properties).get("isolation.level") != "read_uncommitted"
        return offsets(self.settings.config, places, at, committed=committed, admin=self._client())

    def _stale(self, before: Identity, now: Identity, topics: Sequence[str]) -> set[str]:
        """Topics that are not those the offsets were planned for; raises where the user wants no loss."""
        changes = plan.changes(before, now)
        if changes and self.settings.fail_on_loss:
            raise plan.DataLossError(changes)
        stale = plan.stale_topics(before, now, topics)
        for change in changes:
            logger.warning("data loss: %s; starting at the beginning of what is there", change)
        return stale

    def _losses(self, start: plan.Positions, begin: plan.Positions, end: plan.Positions) -> list[plan.Loss]:
        losses = plan.lost(start, begin, end)
        if losses and self.settings.fail_on_loss:
            raise plan.DataLossError(losses)
        for loss in losses:
            logger.warning("data loss: %s; going on without", loss)
        return losses

    # On executors

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of a range as Arrow batches, in offset order."""
        if isinstance(partition, Beat):
            return iter([heartbeat(self.settings, partition)])
        assert isinstance(partition, Range)
        return read(self.settings, partition)


def _now() -> int:
    return int(time.time() * 1000)

"""Matches from Spark to Kafka: executors stage those of a batch (`connectors.staging`), the driver publishes them.

It publishes (`Publication`, in `foreachBatch`) with one publisher for as long as the query runs: a transaction then
costs a few round trips to the broker.

Rows need a column `value` (the match as JSON, binary or string). `key` (binary or string) is the record's key; `id`,
`pattern` and `time` (strings) make the CloudEvents headers, which are otherwise read from the value. `end`, a time, is
only sorted by.

Late events of the batch, which need `value` and may have `key`, go to a topic of their own in the same transactions,
after the matches.

Guaranteed: `connectors.kafka.publisher`'s promises, for Spark offers a batch again with its id until it is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from connectors.cap import Cap, Tally
from connectors.kafka.cloudevents import CONTENT_TYPE, headers, headers_of
from connectors.kafka.config import KafkaConfig, KafkaFailureError
from connectors.kafka.decide import FAIL, InputRange
from connectors.kafka.publisher import Ledger, PublishResult, TransactionalPublisher
from connectors.kafka.record import Record
from connectors.staging import Staged, remove, remove_stale, rows_of, staged_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(kw_only=True)
class Publication:
    """For `foreachBatch`, on the driver: the staged rows of a batch, published.

    `generation` is what `claim` gave this driver, so that an older one is fenced. `source` is the records'
    `ce_source`, `/cep/<job>` where it is not given. `late_topic` takes late events; it is `topic` itself where they are
    all there is to publish. For the rest see `TransactionalPublisher`.
    """

    config: KafkaConfig
    topic: str
    job_id: str
    staging: str
    generation: int | None = None
    source: str | None = None
    late_topic: str | None = None
    ranges: Callable[[int], InputRange | None] | None = None
    ledger: Ledger | None = None
    on_rewind: str = FAIL
    cap: Cap = field(default_factory=Cap)
    tally: Tally = field(default_factory=Tally)
    _publisher: TransactionalPublisher | None = field(default=None, init=False, repr=False)

    def __call__(self, staged: DataFrame, batch: int) -> None:
        """Run the batch and publish it."""
        self.publish(staged_of(staged), batch)

    def publish(self, staged: Sequence[Staged], batch: int) -> PublishResult:
        """Publish what tasks have staged, in their order; files are removed once that is done."""
        result = PublishResult(batch, 0)
        if staged:
            (most,) = self.cap.kept([sum(part.rows for part in staged if not part.late)], batch, self.tally)
            source = self.source or f"/cep/{self.job_id}"
            result = self._open().publish(batch, StagedRecords(staged, self.staging, source, most, self.late_topic))
            if result.too_large:
                self.tally.too_large[batch] = result.too_large
        remove(staged, self.staging)
        return result

    def _open(self) -> TransactionalPublisher:
        if self._publisher is None:
            remove_stale(self.staging)
            self._publisher = TransactionalPublisher(
                self.config,
                self.job_id,
                topic=self.topic,
                also=() if self.late_topic is None else (self.late_topic,),
                generation=self.generation,
                ranges=self.ranges,
                ledger=self.ledger,
                on_rewind=self.on_rewind,
            )
        return self._publisher

    def __getstate__(self) -> dict[str, object]:
        """A copy, e.g. on a Spark Connect server, opens a publisher of its own."""
        return {**self.__dict__, "_publisher": None}


class StagedRecords(Iterable[Record]):
    """The records of staged rows: `most` matches, in their order, then the late events; can be read again."""

    def __init__(
        self,
        staged: Sequence[Staged],
        staging: str,
        source: str,
        most: int | None = None,
        late_topic: str | None = None,
    ) -> None:
        self.matches = [part for part in staged if not part.late]
        self.late = [part for part in staged if part.late]
        self.staging = staging
        self.source = source
        self.most = most
        self.late_topic = late_topic

    def __iter__(self) -> Iterator[Record]:
        every = (record for batch in rows_of(self.matches, self.staging) for record in records_of(batch, self.source))
        yield from islice(every, self.most)
        for batch in rows_of(self.late, self.staging):
            yield from late_records_of(batch, self.late_topic)


def late_records_of(batch: pa.RecordBatch, topic: str | None) -> Iterator[Record]:
    """The records of rows of late events."""
    for key, value in zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True):
        yield Record(_bytes(key), _bytes(value), (("content-type", CONTENT_TYPE),), topic)


def records_of(batch: pa.RecordBatch, source: str) -> Iterator[Record]:
    """The records of rows that have the sink's columns."""
    columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
    count = batch.num_rows
    keys = columns.get("key", [None] * count)
    named = all(name in columns for name in ("id", "pattern", "time"))
    for row, (key, value) in enumerate(zip(keys, columns["value"], strict=True)):
        data = _bytes(value)
        if data is None:
            raise KafkaFailureError("the sink got a row whose value is NULL: a match has a value")
        found = (
            headers(columns["id"][row], columns["pattern"][row], columns["time"][row], source)
            if named
            else headers_of(data, source)
        )
        yield Record(_bytes(key), data, found)


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value

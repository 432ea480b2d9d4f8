"""The source: every record once, in limits, whatever the topic does meanwhile.

Most tests drive the reader as Spark does, planning on one object and reading on pickled copies of it; two go through
Spark itself.
"""

from __future__ import annotations

import json
import pickle

import pytest

from cep.ir.types import Type
from connectors.kafka.config import KafkaConfig, KafkaFailureError
from connectors.kafka.offsets import DataLossError, decode, identity_of
from connectors.kafka.settings import Settings, source_options
from connectors.kafka.source import KafkaStreamReader
from tests.kafka.jobs import delete, make_anew
from tests.spark.helpers import to_the_end

pytestmark = pytest.mark.kafka
COLUMNS = [("ts", Type.TIMESTAMP), ("acc", Type.STRING), ("amnt", Type.DOUBLE)]


def event(n: int) -> bytes:
    return json.dumps({"ts": f"2024-01-01T00:00:{n % 60:02d}Z", "acc": f"a{n % 7}", "amnt": n, "more": [1]}).encode()


class Drive:
    """A query: plans batches until nothing is left, and keeps what was read."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options
        self.position: dict[str, dict[str, int]] | None = None
        self.rows: list[dict[str, object]] = []
        self.batches: list[int] = []

    def run(self) -> list[dict[str, object]]:
        """Start, or restart, and stop at the end of what is there; the rows read in this run."""
        reader = KafkaStreamReader(Settings.of(self.options))
        if self.position is None:
            self.position = reader.initialOffset()
        reader.prepareForTriggerAvailableNow()
        new = []
        while True:
            end = json.loads(json.dumps(reader.latestOffset(self.position, reader.getDefaultReadLimit())))
            if end == self.position:
                self.rows += new
                return new
            count = 0
            for part in reader.partitions(self.position, end):
                worker, task = pickle.loads(pickle.dumps((reader, part)))
                for batch in worker.read(task):
                    new += batch.to_pylist()
                    count += batch.num_rows
            self.batches.append(count)
            self.position = end

    def amounts(self) -> list[float]:
        return sorted(row["amnt"] for row in self.rows)


def test_every_record_once_in_limits_and_on_from_there(config, topic, send):
    name = topic(3)
    send(name, [(n % 3, None, event(n)) for n in range(1000)])
    query = Drive(source_options(config, topic=name, columns=COLUMNS, max_offsets=400))

    query.run()
    send(name, [(0, None, event(n)) for n in range(1000, 1010)])
    query.run()

    assert query.batches == [400, 400, 200, 10]
    assert query.amounts() == list(range(1010))
    assert len({(row["_partition"], row["_offset"]) for row in query.rows}) == 1010
    assert all(row["_error"] is None and row["_value"] is None and row["_topic"] == name for row in query.rows)


@pytest.mark.parametrize("limit", [1, 5, None])
@pytest.mark.usefixtures("real")
def test_transactions_and_their_control_records_do_not_hang_or_leak(config, topic, limit):
    from confluent_kafka import Producer

    name = topic(1)
    producer = Producer(config.client(None, transactional_id=f"x-{name}"))
    producer.init_transactions(30)
    for n in range(6):
        producer.begin_transaction()
        producer.produce(name, event(n))
        producer.flush(10)
        if n % 2:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
    producer.begin_transaction()
    producer.produce(name, event(99))
    producer.flush(10)
    query = Drive(source_options(config, topic=name, columns=COLUMNS, max_offsets=limit))

    query.run()
    assert query.amounts() == [0, 2, 4]

    producer.commit_transaction(30)
    query.run()
    assert query.amounts() == [0, 2, 4, 99]


def test_raw_records_come_untouched(config, topic, send):
    name = topic(1)
    send(name, [(0, b"\x00k", b"\xff\x00", [("h", b"1")], 1_700_000_000_123), (0, None, None)])

    first, second = Drive(source_options(config, topic=name)).run()

    assert (first["key"], first["value"], first["topic"], first["partition"], first["offset"]) == (
        b"\x00k",
        b"\xff\x00",
        name,
        0,
        0,
    )
    assert first["headers"] == [{"key": "h", "value": b"1"}]
    assert first["timestamp"].timestamp() == 1_700_000_000.123
    assert (second["key"], second["value"]) == (None, None)


@pytest.mark.usefixtures("real")
def test_topics_by_pattern_and_those_that_appear_later(config, topic, send):
    from connectors.kafka.cluster import ensure_topics

    first, second = topic(1), topic(1)
    send(first, [(0, None, event(1))])
    query = Drive(source_options(config, pattern=f"{first}|{second}|{first}-.*", columns=COLUMNS, start="latest"))
    query.run()
    assert query.rows == []

    ensure_topics(config, [f"{first}-new"])
    send(f"{first}-new", [(0, None, event(2))])
    send(second, [(0, None, event(3))])
    query.run()

    assert sorted((row["_topic"], row["amnt"]) for row in query.rows) == sorted([(f"{first}-new", 2), (second, 3)])


@pytest.mark.usefixtures("real")
def test_partitions_added_while_a_query_runs_are_read_from_their_beginning(config, topic, send):
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewPartitions

    name = topic(1)
    send(name, [(0, None, event(n)) for n in range(5)])
    query = Drive(source_options(config, topic=name, columns=COLUMNS, start="latest", max_offsets=3))
    query.run()
    admin = AdminClient(config.client())
    for future in admin.create_partitions([NewPartitions(name, 3)]).values():
        future.result(30)
    send(name, [(n % 3, None, event(n)) for n in range(10, 22)])
    query.run()

    assert query.amounts() == list(range(10, 22))
    assert {row["_partition"] for row in query.rows} == {0, 1, 2}


@pytest.mark.usefixtures("real")
def test_start_by_timestamp(config, topic, send):
    name = topic(2)
    send(name, [(n % 2, None, event(n), None, 1_700_000_000_000 + n * 1000) for n in range(20)])

    for start in ("2023-11-14T22:13:35Z", 1_700_000_015_000):
        query = Drive(source_options(config, topic=name, columns=COLUMNS, start=start))
        query.run()
        assert query.amounts() == list(range(15, 20))

    after = Drive(source_options(config, topic=name, columns=COLUMNS, start="2024-01-01T00:00:00Z"))
    assert after.run() == []


def delete_before(config: KafkaConfig, name: str, offset: int) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    admin = AdminClient(config.client())
    for future in admin.delete_records([TopicPartition(name, 0, offset)]).values():
        future.result(30)


@pytest.mark.usefixtures("real")
def test_records_deleted_before_they_were_read_fail_the_query(config, topic, send):
    name = topic(1)
    send(name, [(0, None, event(n)) for n in range(10)])
    query = Drive(source_options(config, topic=name, columns=COLUMNS))
    query.run()
    send(name, [(0, None, event(n)) for n in range(10, 20)])
    delete_before(config, name, 15)

    with pytest.raises(DataLossError) as caught:
        query.run()

    assert f"{name}[0] begins at offset 15: 5 offsets from 10 on are gone" in str(caught.value)
    assert "--on-data-loss continue" in str(caught.value)


@pytest.mark.usefixtures("real")
def test_records_deleted_before_they_were_read_are_passed_over_with_a_warning(config, topic, send, caplog):
    name = topic(1)
    send(name, [(0, None, event(n)) for n in range(10)])
    query = Drive(source_options(config, topic=name, columns=COLUMNS, fail_on_data_loss=False))
    query.run()
    send(name, [(0, None, event(n)) for n in range(10, 20)])
    delete_before(config, name, 15)
    query.run()

    assert query.amounts() == [*range(10), *range(15, 20)]
    assert f"data loss: {name}[0] begins at offset 15" in caplog.text


@pytest.mark.usefixtures("real")
def test_records_deleted_between_planning_and_reading(config, topic, send):
    name = topic(1)
    send(name, [(0, None, event(n)) for n in range(10)])
    for fail in (True, False):
        reader = KafkaStreamReader(Settings.of(source_options(config, topic=name, fail_on_data_loss=fail)))
        (part,) = reader.partitions({name: {"0": 0}}, {name: {"0": 10}})
        delete_before(config, name, 4)
        if fail:
            with pytest.raises(DataLossError, match="begins at offset 4"):
                list(reader.read(part))
        else:
            assert sum(batch.num_rows for batch in reader.read(part)) == 6


@pytest.mark.usefixtures("real")
def test_a_topic_that_was_made_anew_is_data_loss(config, topic, send, caplog):
    from confluent_kafka.admin import AdminClient
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    name = topic(1)
    send(name, [(0, None, event(n)) for n in range(3)])
    start = {name: {"0": 100}}
    strict = KafkaStreamReader(Settings.of(source_options(config, topic=name)))
    with pytest.raises(DataLossError, match="made anew"):
        strict.latestOffset(start, ReadAllAvailable())

    lenient = KafkaStreamReader(Settings.of(source_options(config, topic=name, fail_on_data_loss=False)))
    assert decode(lenient.latestOffset(start, ReadAllAvailable())) == {(name, 0): 0}
    assert decode(lenient.latestOffset({name: {"0": 0}}, ReadAllAvailable())) == {(name, 0): 3}
    assert "data loss" in caplog.text

    admin = AdminClient(config.client())
    for future in admin.delete_topics([name]).values():
        future.result(30)
    with pytest.raises(DataLossError, match="is gone"):
        strict.latestOffset({name: {"0": 1}}, ReadAllAvailable())


@pytest.mark.usefixtures("real")
def test_a_topic_that_was_made_anew_with_enough_records_is_known_by_its_id(config, topic, send, caplog):
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    name = topic(1)
    send(name, [(0, None, event(n)) for n in range(10)])

    def reader(*, fail: bool = True) -> KafkaStreamReader:
        return KafkaStreamReader(Settings.of(source_options(config, topic=name, fail_on_data_loss=fail)))

    first = reader()
    begin = first.initialOffset()
    done = first.latestOffset(begin, ReadAllAvailable())
    assert decode(done) == {(name, 0): 10}
    old = identity_of(done).topics[name]
    make_anew(config, name)
    send(name, [(0, None, event(n)) for n in range(100, 120)])

    with pytest.raises(DataLossError) as caught:
        reader().latestOffset(done, ReadAllAvailable())
    assert f"{name} was deleted and made anew" in str(caught.value)
    assert f"the id {old}" in str(caught.value)
    with pytest.raises(DataLossError, match="made anew"):  # a batch that was planned before it was
        reader().partitions(begin, done)

    lenient = reader(fail=False)
    assert lenient.partitions(begin, done) == []
    restart = lenient.latestOffset(done, ReadAllAvailable())
    assert decode(restart) == {(name, 0): 0}
    assert lenient.partitions(done, restart) == []
    assert "starting at the beginning" in caplog.text
    end = lenient.latestOffset(restart, ReadAllAvailable())
    (part,) = lenient.partitions(restart, end)
    assert (part.start, part.end) == (0, 20)
    # A checkpoint of an earlier version has no ids, and learns them.
    learned = reader().latestOffset({name: {"0": 5}}, ReadAllAvailable())
    assert identity_of(learned).topics[name] == identity_of(end).topics[name] != old


def test_another_cluster_is_told(config, topic, send):
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    name = topic(1)
    send(name, [(0, None, event(n)) for n in range(10)])
    reader = KafkaStreamReader(Settings.of(source_options(config, topic=name)))
    elsewhere = {name: {"0": 3, "id": "Other"}, "": {"cluster": "Elsewhere"}}
    with pytest.raises(DataLossError, match="written with the cluster Elsewhere, this is the cluster"):
        reader.latestOffset(elsewhere, ReadAllAvailable())
    lenient = KafkaStreamReader(Settings.of(source_options(config, topic=name, fail_on_data_loss=False)))
    assert decode(lenient.latestOffset(elsewhere, ReadAllAvailable())) == {(name, 0): 0}


def test_a_missing_topic_and_wrong_options_say_so(config):
    with pytest.raises(KafkaFailureError, match="no such topic: nowhere"):
        KafkaStreamReader(Settings.of(source_options(config, topic="nowhere"))).initialOffset()
    for options, message in (
        ({}, "subscribe"),
        ({"subscribe": "a", "startingOffsets": "soon"}, "startingOffsets"),
        ({"subscribe": "a", "maxOffsetsPerTrigger": "-1"}, "maxOffsetsPerTrigger"),
        ({"subscribe": "a", "failOnDataLoss": "maybe"}, "failOnDataLoss"),
        ({"subscribe": "a", "format": "avro"}, "json"),
    ):
        with pytest.raises(KafkaFailureError, match=message):
            Settings.of(config.options() | options)


def test_the_reader_pickles(config):
    reader = KafkaStreamReader(Settings.of(source_options(config, topic="t", columns=COLUMNS)))
    assert pickle.loads(pickle.dumps(reader)).settings == reader.settings


def run(spark, options, checkpoint, out):
    """Process what is there, keep it as files, and return the batches' sizes."""

    def start():
        return (
            spark.readStream.format("cep-kafka")
            .options(**options)
            .load()
            .writeStream.format("parquet")
            .option("path", str(out))
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )

    return [progress["numInputRows"] for progress in to_the_end(start) if progress["numInputRows"]]


@pytest.mark.spark
def test_through_spark_all_records_once_in_limited_batches_and_on_from_there(spark, config, topic, send, tmp_path):
    name = topic(3)
    send(name, [(n % 3, None, event(n)) for n in range(1000)])
    options = source_options(config, topic=name, columns=COLUMNS, max_offsets=400)

    batches = run(spark, options, tmp_path / "c", tmp_path / "out")
    send(name, [(0, None, event(n)) for n in range(1000, 1010)])
    later = run(spark, options, tmp_path / "c", tmp_path / "out")

    assert max(batches) <= 400
    assert sum(batches) == 1000
    assert later == [10]
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert sorted(row.amnt for row in rows) == list(range(1010))
    assert len({(row._partition, row._offset) for row in rows}) == 1010
    assert {row._topic for row in rows} == {name}
    assert all(row._error is None and row._value is None for row in rows)


@pytest.mark.spark
def test_through_spark_poison_records_are_flagged_and_kept_whole(spark, config, topic, send, tmp_path):
    name = topic(1)
    bad = [b"not json", None, b"", b'{"acc": "\xff"}', b'{"amnt": "12"}', b"[1]", b'{"amnt": 1'.ljust(9_000_000)]
    headers = [("trace", b"\x00\xff"), ("none", None)]
    send(name, [(0, b"k", event(0)), *((0, b"key", value, headers) for value in bad), (0, None, event(1))])

    options = source_options(config, topic=name, columns=COLUMNS)
    run(spark, options, tmp_path / "c", tmp_path / "out")

    rows = sorted(spark.read.parquet(str(tmp_path / "out")).collect(), key=lambda row: row._offset)
    assert [row.amnt for row in rows if row._error is None] == [0, 1]
    flagged = [row for row in rows if row._error is not None]
    assert [None if row._value is None else bytes(row._value) for row in flagged] == bad
    assert all(bytes(row._key) == b"key" for row in flagged)
    assert [(h.key, h.value and bytes(h.value)) for h in flagged[0]._headers] == headers
    assert "not json" not in flagged[0]._error
    assert flagged[1]._error == "expected a JSON object, found no value (a tombstone)"
    assert flagged[4]._error == '"amnt": expected DOUBLE, found "12"'
    assert "at most 8,388,608 bytes" in flagged[6]._error


@pytest.mark.usefixtures("real")
def test_a_topic_that_goes_after_it_was_listed_is_gone_not_unreachable(config, topic, send, monkeypatch):
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    name = topic(1)
    send(name, [(0, None, event(n)) for n in range(3)])
    reader = KafkaStreamReader(Settings.of(source_options(config, topic=name)))
    listed = [reader._places()]
    delete(config, name)
    later = reader._places
    monkeypatch.setattr(reader, "_places", lambda: listed.pop() if listed else later())
    with pytest.raises(DataLossError, match="is gone"):
        reader.latestOffset({name: {"0": 1}}, ReadAllAvailable())
    assert not listed

"""Whole jobs whose checkpoint, or topic, is not what it was: nothing is lost or doubled without a word."""

from __future__ import annotations

import json
import random
import shutil
import string

import pytest

import cep
from connectors.files.values import iso_micros
from runtime.spark.errors import explain
from runtime.spark.job.start import Job, prepare, start
from runtime.spark.watch.follow import follow
from tests.kafka.jobs import PATTERN, events, make_anew, replayed, write_jsonl

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture
def pattern(tmp_path):
    path = tmp_path / "card.cep"
    path.write_text(PATTERN)
    return path


@pytest.fixture
def run(spark, kafka, pattern, tmp_path):
    """A job from a source to a topic, until it has done what is there; what it says where it fails, and its batches."""

    def once(source: str, sink: str, **options):
        job = Job(
            inputs={"Trans": source},
            out=sink,
            checkpoint=str(tmp_path / "checkpoint"),
            bootstrap=options.pop("bootstrap", kafka.bootstrap),
            kafka_source="python",
            once=True,
            **options,
        )
        batches = []
        try:
            prepared = prepare(job, list(cep.compile_file(str(pattern)).values()))
            follow(start(prepared, spark), batches.append, lambda: False)
        except Exception as error:  # whatever it is, it must explain itself
            return explain(error), batches
        return None, batches

    return once


def feed(send, topic: str, table) -> None:
    send(topic, ((-1, str(event["acc"]).encode(), json.dumps(event).encode()) for event in table))


def lines(messages) -> list[str]:
    return sorted(message.value().decode() for message in messages)


@pytest.mark.parametrize("kind", ["topic", pytest.param("files", marks=pytest.mark.slow)])
def test_a_restored_backup_is_refused_and_with_republish_nothing_is_missing(
    topic, send, committed, pattern, tmp_path, run, kind
):
    checkpoint, backup, sink = tmp_path / "checkpoint", tmp_path / "backup", topic(2)
    table = [events(1000), events(1000, after=1000), events(1000, after=2000)]
    name = topic(2)
    directory = tmp_path / "in"
    directory.mkdir()
    source = f"kafka:{name}" if kind == "topic" else str(directory)

    def more(part: int) -> None:
        if kind == "topic":
            feed(send, name, table[part])
        else:
            write_jsonl(directory / f"{part}.jsonl", table[part])

    more(0)
    assert run(source, f"kafka:{sink}")[0] is None
    shutil.copytree(checkpoint, backup)
    more(1)
    assert run(source, f"kafka:{sink}")[0] is None
    before = lines(committed(sink))
    assert before == sorted(replayed(pattern, write_jsonl(tmp_path / "two.jsonl", table[0] + table[1])))

    shutil.rmtree(checkpoint)
    shutil.copytree(backup, checkpoint)
    more(2)
    said, _ = run(source, f"kafka:{sink}")
    assert said is not None
    assert "batch 1 of job" in said
    assert "--on-rewind republish" in said
    assert (f"{name}[0]" if kind == "topic" else "files 0-") in said
    assert lines(committed(sink)) == before

    assert run(source, f"kafka:{sink}", on_rewind="republish")[0] is None
    expected = sorted(replayed(pattern, write_jsonl(tmp_path / "all.jsonl", table[0] + table[1] + table[2])))
    found = lines(committed(sink))
    assert sorted(set(found)) == expected
    assert len(found) > len(expected)
    assert run(source, f"kafka:{sink}")[0] is None  # nothing is left to do, and nothing to refuse


@pytest.mark.slow
def test_a_checkpoint_without_spark_s_part_is_refused(topic, send, committed, tmp_path, run):
    name, sink, checkpoint = topic(2), topic(), tmp_path / "checkpoint"
    feed(send, name, events(1000))
    assert run(f"kafka:{name}", f"kafka:{sink}")[0] is None
    before = lines(committed(sink))
    for part in checkpoint.iterdir():
        if part.is_dir():
            shutil.rmtree(part)
        elif not part.name.startswith("cep-"):
            part.unlink()
    feed(send, name, events(1000, after=1000))
    said, _ = run(f"kafka:{name}", f"kafka:{sink}")
    assert said is not None
    assert "batch 0 of job" in said
    assert lines(committed(sink)) == before


@pytest.mark.usefixtures("real")
def test_a_topic_that_was_made_anew_is_noticed(config, topic, send, committed, pattern, tmp_path, run):
    name, sink = topic(), topic()
    first, second = events(400), events(1200, after=400)
    feed(send, name, first)
    assert run(f"kafka:{name}", f"kafka:{sink}")[0] is None

    make_anew(config, name)
    feed(send, name, second)
    said, _ = run(f"kafka:{name}", f"kafka:{sink}")
    assert said is not None
    assert f"{name} was deleted and made anew" in said
    assert "--on-data-loss continue" in said

    assert run(f"kafka:{name}", f"kafka:{sink}", on_data_loss="continue")[0] is None
    assert run(f"kafka:{name}", f"kafka:{sink}")[0] is None
    expected = sorted(replayed(pattern, write_jsonl(tmp_path / "all.jsonl", first + second)))
    assert lines(committed(sink)) == expected


def test_too_many_matches_fail_or_are_cut_with_an_alarm(topic, send, committed, pattern, tmp_path, run):
    name, sink = topic(), topic()
    table = [event | {"acc": "A1"} for event in events(100)]
    feed(send, name, table)
    expected = replayed(pattern, write_jsonl(tmp_path / "all.jsonl", table))
    assert len(expected) > 10
    said, _ = run(f"kafka:{name}", f"kafka:{sink}", max_matches=10)
    assert said is not None
    assert f"has {len(expected)} matches, more than --max-matches-per-batch 10" in said
    assert committed(sink) == []

    said, (batch,) = run(f"kafka:{name}", f"kafka:{sink}", max_matches=10, on_too_many="truncate")
    assert said is None
    assert batch.truncated == len(expected) - 10
    found = [message.value().decode() for message in committed(sink)]
    assert (
        found == sorted(expected, key=lambda line: (iso_micros(json.loads(line)["end"]), json.loads(line)["id"]))[:10]
    )


@pytest.mark.usefixtures("real")
def test_a_match_too_large_is_put_aside_and_the_job_goes_on(topic, send, committed, pattern, tmp_path, run):
    name, sink = topic(), topic(max_message_bytes="3000")
    long = "".join(random.Random(1).choices(string.ascii_letters, k=9000))  # nothing to compress
    table = [event | {"acc": long if number < 60 else "A1"} for number, event in enumerate(events(120))]
    feed(send, name, table)
    expected = replayed(pattern, write_jsonl(tmp_path / "all.jsonl", table))
    assert 0 < sum(long in line for line in expected) < len(expected)
    said, batches = run(f"kafka:{name}", f"kafka:{sink}", kafka_options={"message.max.bytes": "17000"})
    assert said is None
    put_aside = sum(batch.too_large for batch in batches)
    assert put_aside == sum(long in line for line in expected)
    letters = committed(f"{sink}.dlq")
    ids = {json.loads(line)["id"] for line in expected}
    assert {json.loads(letter.value())["id"] for letter in letters} <= ids
    assert len(letters) == put_aside
    assert len(committed(sink)) == len(expected) - put_aside
    assert run(f"kafka:{name}", f"kafka:{sink}")[0] is None

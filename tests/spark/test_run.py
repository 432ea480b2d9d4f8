"""`cep run` over files: restarts, pattern changes, exactly-once output. Jobs run in the session of these tests."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from runtime import Engine
from runtime.spark.errors import JobError
from runtime.spark.flow.dataflow import make_layout
from runtime.spark.job.start import Job
from runtime.spark.watch.progress import Batch
from runtime.state.id_key import IdKey
from tests.conftest import ROOT
from tests.spark.helpers import (
    ATTEMPTS,
    CARD,
    JOB,
    compiled,
    cut,
    expected,
    lines_in,
    logins,
    run_job,
    trans,
    write_parts,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


STREAMS = ("Trans", "Login")


def run(spark: SparkSession, plans: Sequence[Any], where: Path, **options: Any) -> list[Batch]:
    """A job over `where/<Stream>` to `where/out`, to the end of the input."""
    inputs = {path.name: str(path) for path in where.iterdir() if path.name in STREAMS}
    settings: dict[str, Any] = {"buckets": 2, "max_files": 1, "restart": f"on-failure:{ATTEMPTS}"} | options
    job = Job(inputs=inputs, out=str(where / "out"), checkpoint=str(where / "checkpoint"), once=True, **settings)
    return run_job(spark, job, plans)


def test_a_job_goes_on_where_it_was_and_patterns_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    events = trans(450)
    first, second, third = (events.slice(i * 150, 150) for i in range(3))
    write_parts(tmp_path / "Trans", cut(first, 2, 1))
    write_parts(tmp_path / "Login", [logins(1)])
    old = compiled(CARD)
    batches = run(spark, old, tmp_path)
    assert sum(batch.events["Trans"] for batch in batches) == 150
    assert lines_in(tmp_path / "out") == expected(old, {"Trans": first})

    # Written differently, and with a second pattern beside it.
    both = compiled("-- reformatted\n" + CARD.replace("\n  WHERE", " WHERE") + CARD[CARD.index("PATTERN") :].replace(
        "CardTesting", "Second"
    ))  # fmt: skip
    write_parts(tmp_path / "Trans", [second], first=2)
    run(spark, both, tmp_path)
    seen = pa.concat_tables([first, second])
    new = [plan for plan in both if plan.pattern == "Second"]
    assert lines_in(tmp_path / "out") == expected(old, {"Trans": seen}) + expected(new, {"Trans": second})

    # The new one goes again; the old one changes, and is refused or starts anew.
    write_parts(tmp_path / "Trans", [third], first=3)
    changed = compiled(CARD.replace("> 400", "> 450"))
    with pytest.raises(JobError, match="--on-pattern-change restart"):
        run(spark, changed, tmp_path)
    before = lines_in(tmp_path / "out")
    run(spark, changed, tmp_path, on_pattern_change="restart")
    assert lines_in(tmp_path / "out") - before == expected(changed, {"Trans": third})


def test_keyed_ids_are_those_of_the_engine_and_the_key_is_nowhere(spark: SparkSession, tmp_path: Path) -> None:
    secret = "a key that nobody may see"
    key = IdKey(secret.encode())
    plans = compiled(CARD)
    events = trans(300)
    write_parts(tmp_path / "Trans", cut(events, 2, 1))
    run(spark, plans, tmp_path, id_key=key)
    (plan,) = plans
    wanted = Engine(plan, id_key=key).push({"Trans": events}).read_all()["_id"].to_pylist()
    found = [json.loads(line) for file in (tmp_path / "out").glob("*.jsonl") for line in file.read_text().splitlines()]
    assert Counter(match["id"] for match in found) == Counter(id_.hex() for id_ in wanted)
    assert found
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or secret.encode() not in file.read_bytes(), file
    with pytest.raises(JobError, match="written with another id key"):
        run(spark, plans, tmp_path)


def test_text_files_follow_the_rules_of_replay(spark: SparkSession, tmp_path: Path) -> None:
    rows = trans(80).to_pylist()
    source = tmp_path / "Trans"
    source.mkdir()
    with (source / "a.jsonl").open("w") as file:
        for number, row in enumerate(rows[:50]):
            millis = round(row["ts"].timestamp() * 1000)
            moment = millis if number % 2 else row["ts"].isoformat()
            file.write(json.dumps({**row, "ts": moment, "unknown": [1]}) + "\n")
    with (source / "b.csv").open("w") as file:
        file.write("amnt,acc,ts\n")
        for row in rows[50:]:
            file.write(f"{'' if row['amnt'] is None else row['amnt']},{row['acc']},{row['ts'].isoformat()}\n")
    (source / "notes.txt").write_text("not events")
    plans = compiled(CARD)
    run(spark, plans, tmp_path, max_files=None)
    assert lines_in(tmp_path / "out") == expected(plans, {"Trans": trans(80)})
    (source / "c.jsonl").write_text('{"ts": 0, "acc": "A1", "amnt": "much"}\n')
    with pytest.raises(JobError) as failure:
        run(spark, plans, tmp_path)
    assert str(failure.value) == f'{source}/c.jsonl:1: "amnt": expected DOUBLE, found "much"'
    run(spark, plans, tmp_path, on_error=f"dead-letter={tmp_path}/bad")
    (letter,) = (tmp_path / "bad").iterdir()
    assert json.loads(letter.read_text())["line"] == 1


def slots_of(plans: Sequence[Any]) -> set[int]:
    return set(make_layout(tuple(plans), dict.fromkeys(STREAMS), 2, {}).by_slot())


def slots_with_state(spark: SparkSession, checkpoint: Path) -> set[int]:
    """The slots of which the last batch left anything in Spark's state."""
    reader = spark.read.format("statestore").option("path", str(checkpoint))
    meta, log, times = (
        reader.option("stateVarName", name).load().select("key.slot") for name in ("meta", "log", "times")
    )
    return {row.slot for row in meta.union(log).union(times).collect()}


def test_when_the_last_pattern_of_a_key_goes_its_stream_stays_a_source_and_its_state_goes(
    spark: SparkSession, tmp_path: Path
) -> None:
    both, stays = compiled(JOB, "CardTesting", "Takeover"), compiled(JOB, "CardTesting")
    events, hours_later = trans(90), trans(3, step=3 * 3_600_000_000).slice(1)
    checkpoint = tmp_path / "checkpoint"
    write_parts(tmp_path / "Trans", [events.slice(0, 30), events.slice(30, 30)])
    write_parts(tmp_path / "Login", [logins(30)])
    run(spark, both, tmp_path)
    before = lines_in(tmp_path / "out")
    assert slots_with_state(spark, checkpoint) == slots_of(both)

    rest = pa.concat_tables([events.slice(60), hours_later.slice(0, 1)])
    write_parts(tmp_path / "Trans", [rest, hours_later.slice(1)], first=2)
    run(spark, stays, tmp_path)
    grown, known = (expected(stays, {"Trans": table}) for table in (events, events.slice(0, 60)))
    assert lines_in(tmp_path / "out") - before == grown - known
    assert slots_with_state(spark, checkpoint) == slots_of(stays)


def test_the_last_pattern_over_a_stream_with_event_time_can_go(spark: SparkSession, tmp_path: Path) -> None:
    timeless = """
    STREAM Login (at TIMESTAMP, user STRING, ok BOOLEAN, tries INT);
    PATTERN Again AND(Login a, Login b) WHERE a.user = b.user AND a.tries < b.tries UNBOUNDED;
    """
    stays = compiled(timeless)
    events = logins(40)
    write_parts(tmp_path / "Trans", [trans(20)])
    write_parts(tmp_path / "Login", [events.slice(0, 20)])
    run(spark, compiled(CARD + timeless), tmp_path)
    write_parts(tmp_path / "Login", [events.slice(20)], first=1)
    run(spark, stays, tmp_path)
    found = Counter({line: n for line, n in lines_in(tmp_path / "out").items() if '"pattern": "Again"' in line})
    assert found == expected(stays, {"Login": events})


def cli(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [sys.executable, "-m", "cep.cli", "run", *args],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def failure(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert "\tat " not in result.stderr
    return result.stderr


class TestFailuresAreExplained:
    @pytest.fixture
    def args(self, tmp_path: Path) -> list[str]:
        (tmp_path / "card.cep").write_text(CARD)
        write_parts(tmp_path / "Trans", [trans(3)])
        return [
            str(tmp_path / "card.cep"), "--in", f"Trans={tmp_path}/Trans", "--out", str(tmp_path / "out"),
            "--checkpoint", str(tmp_path / "checkpoint"), "--once",
        ]  # fmt: skip

    def test_no_java(self, args: list[str]) -> None:
        message = failure(cli(*args, env={"JAVA_HOME": "/nowhere"}))
        assert "Spark needs Java 17 or newer, and JAVA_HOME is /nowhere, where there is none" in message

    def test_no_input(self, args: list[str], tmp_path: Path) -> None:
        args[2] = f"Trans={tmp_path}/missing"
        assert "missing: no such file or directory" in failure(cli(*args))

    def test_no_checkpoint_and_no_binding(self, args: list[str]) -> None:
        assert "no --checkpoint" in failure(cli(*args[:5]))
        assert "no input for `Trans`" in failure(cli(args[0], *args[3:]))

    def test_a_checkpoint_that_cannot_be_written(self, args: list[str], tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        args[6] = str(tmp_path / "file" / "checkpoint")
        assert "cannot be written" in failure(cli(*args))

    def test_no_broker_named(self, args: list[str]) -> None:
        args[2] = "Trans=kafka:transactions"
        assert "kafka:transactions needs --bootstrap HOST:PORT" in failure(cli(*args))

    def test_options_in_a_file(self, args: list[str], tmp_path: Path) -> None:
        config = tmp_path / "job.toml"
        config.write_text('checkpont = "x"\n')
        assert "no option `checkpont`: did you mean" in failure(cli(*args, "--config", str(config)))
        config.write_text('checkpoint = "/nowhere/x"\nonce = true\n[in]\nTrans = "/nowhere/events"\n')
        assert "/nowhere/events: no such file or directory" in failure(cli(args[0], "--config", str(config)))


@pytest.mark.spark
def test_the_command_prints_matches_logs_json_serves_metrics_and_finishes_its_batch_at_sigterm(tmp_path: Path) -> None:
    (tmp_path / "card.cep").write_text(CARD)
    write_parts(tmp_path / "Trans", [trans(120)])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    out, log = tmp_path / "matches", tmp_path / "log"
    with out.open("w") as output, log.open("w") as errors:
        job = subprocess.Popen(
            [
                sys.executable, "-m", "cep.cli", "run", str(tmp_path / "card.cep"), "--in", f"Trans={tmp_path}/Trans",
                "--checkpoint", str(tmp_path / "checkpoint"), "--master", "local[2]", "--metrics-port", str(port),
                "--trigger", "200 milliseconds",
            ],
            cwd=ROOT, stdout=output, stderr=errors,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + 600
        while '"batch": 0' not in log.read_text() and job.poll() is None and time.monotonic() < deadline:
            time.sleep(0.2)
        served = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        job.terminate()
        assert job.wait(300) == 0, log.read_text()
    finally:
        job.kill()
    assert 'cep_events_total{stream="Trans"} 120.0' in served
    assert "cep_process_seconds_count 1.0" in served
    assert Counter(out.open(encoding="utf-8")) == expected(compiled(CARD), {"Trans": trans(120)})
    logged = [json.loads(line) for line in log.read_text().splitlines()]
    assert [entry["events"] for entry in logged if entry["event"] == "batch"] == [120]

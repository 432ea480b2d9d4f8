"""`cep run --late`: what a job drops as late comes out beside its matches, each event once, as replay tells it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from connectors.staging import Staged
from runtime.spark import cli
from runtime.spark.ends.directory import FilePublication, FileStager
from runtime.spark.ends.lines import values
from runtime.spark.ends.sinks import Outlet, Stager
from runtime.spark.errors import JobError
from runtime.spark.flow.late import LateUnpacker
from runtime.spark.flow.unpack import Unpacker
from runtime.spark.job.start import Job, _check_ends
from runtime.spark.layout import Layout, Member, layout
from runtime.spark.state import cache
from runtime.spark.state.processor import Matcher
from tests.spark.fakes import Store, packed, run_batch
from tests.spark.helpers import ATTEMPTS, START, compiled, expected, lines_in, run_job, write_parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000
TWO_KEYS = """
STREAM Trans (ts TIMESTAMP, acc STRING, device INT, amnt DOUBLE, note STRING) TIMESTAMP BY ts WATERMARK 10 SECONDS;
PATTERN ByAccount SEQ(Trans a, Trans b) WHERE a.acc = b.acc AND a.amnt < b.amnt WITHIN 1 MINUTE RETURN a.acc AS acc;
PATTERN ByDevice SEQ(Trans a, Trans b) WHERE a.device = b.device AND a.amnt > 100 AND b.amnt > 100 WITHIN 1 MINUTE
  RETURN a.device AS device;
PATTERN Alone AND(Trans a) WHERE a.amnt > 450 WITHIN 1 MINUTE RETURN a.acc AS acc;
"""


def events(*seconds: float, start: int = 0) -> pa.Table:
    """An event at each of these moments; every third has no amount, so that only one group could want it."""
    count = len(seconds)
    return pa.table(
        {
            "ts": pa.array([START + round(at * SECOND) for at in seconds], pa.timestamp("us", "UTC")),
            "acc": [f"A{n % 2}" for n in range(count)],
            "device": pa.array([n % 3 for n in range(count)], pa.int64()),
            "amnt": [float(n * 97 % 500) for n in range(count)],
            "note": [f'no {start + n} "quoted"' for n in range(count)],
        }
    )


def moment(at: float) -> str:
    whole, rest = divmod(round(at * 1000), 1000)
    return f"2024-01-01T00:{whole // 60:02d}:{whole % 60:02d}{f'.{rest:03d}' if rest else ''}Z"


def told(table: pa.Table, watermark: float, patterns: Sequence[str], **more: str) -> Counter[str]:
    """The lines of events that are all late."""
    common = {"stream": "Trans", "reason": "late", "watermark": moment(watermark), "patterns": list(patterns), **more}
    return Counter(
        json.dumps({**common, "event": {**row, "ts": moment(row["ts"].timestamp() - START // SECOND)}})
        for row in table.to_pylist()
    )


def made(plans: Sequence[Any], *, every_column: bool = True) -> Layout:
    streams = {stream.name: stream for plan in plans for stream in plan.streams}
    return layout([Member(plan=plan) for plan in plans], streams, 2, every_column=every_column)


def place(_stream: str, row: Mapping[str, Any], target: Any) -> int | None:
    """Where Spark would send an event: as the filters of `TWO_KEYS` say."""
    if "device" in target.place:
        return int(row["device"]) % len(target.slots) if row["amnt"] > 100 else None
    if len(target.slots) == 1:
        return 0 if row["amnt"] > 450 else None
    return int(row["acc"][1:]) % len(target.slots)


def put_out(plans: Sequence[Any], table: pa.Table, watermark: float, *, keep_late: bool = True) -> list[dict[str, Any]]:
    """What the operator puts out for a batch."""
    parts = made(plans, every_column=keep_late)
    cache._ENGINES = {}
    store = Store()
    rows = list(packed(parts, {"Trans": table}, place, keep_late=keep_late))
    out = run_batch(
        Matcher(parts, "job", hosted=False, keep_late=keep_late), store, rows, START + int(watermark * SECOND)
    )
    out.append({"logged": {slot: [entry[2] for entry in state["log"].values()] for slot, state in store.now.items()}})
    return out


def test_an_event_comes_out_once_and_whole_however_many_groups_drop_it() -> None:
    plans = compiled(TWO_KEYS)
    assert len(made(plans).groups) == 3
    table = events(*(n / 10 for n in range(200)))
    *rows, _ = put_out(plans, table, 12.5)
    late = [(row["stream"], row["watermark"], row["blob"]) for row in rows if row["stream"] is not None]
    lines = Counter(
        value
        for batch in LateUnpacker.of(plans, {"Trans": "kafka:trades"})(late)
        for value in batch.column("value").to_pylist()
    )
    assert lines == told(table.slice(0, 125), 12.5, ["Alone", "ByAccount", "ByDevice"], source="kafka:trades")
    assert sum(row["late"] for row in rows) == 125
    (batch, *_) = LateUnpacker.of(plans, {})(late)
    assert set(batch.column("key").to_pylist()) <= {"A0", "A1"}, "the key of the first pattern that has one"
    assert '"source"' not in batch.column("value")[0].as_py()


def test_without_the_option_nothing_comes_out_and_the_log_is_the_same_either_way() -> None:
    plans = compiled(TWO_KEYS)
    table = events(*(n / 10 for n in range(200)))
    *rows, log = put_out(plans, table, 12.5, keep_late=False)
    assert all(row["stream"] is None for row in rows)
    assert sum(row["late"] for row in rows) == 125
    assert put_out(plans, table, 12.5)[-1] == log, "what late events are told with is not kept with the others"


def test_a_task_puts_matches_and_late_events_away_apart(tmp_path: Path) -> None:
    plans = compiled(TWO_KEYS)
    table = events(*(n / 10 for n in range(200)))
    *rows, _ = put_out(plans, table, 12.5)
    names = ("pattern", "stream", "blob", "watermark")
    given = pa.RecordBatch.from_pylist([{name: row[name] for name in names} for row in rows if row["blob"] is not None])
    out, late = tmp_path / "out", tmp_path / "late"
    stager = Stager(
        unpack=Unpacker.of(plans),
        matches=FileStager(directory=str(out), job="job"),
        unpack_late=LateUnpacker.of(plans, {}),
        late=FileStager(directory=str(late), job="job", text=values),
    )
    parts = [Staged(**row) for batch in stager(iter([given.slice(0, 2), given.slice(2)])) for row in batch.to_pylist()]
    assert Counter(part.late for part in parts) == {False: 1, True: 1}
    assert not lines_in(out)
    assert not lines_in(late)

    outlet = Outlet(
        matches=FilePublication(directory=str(out), job="job").publish,
        late=FilePublication(directory=str(late), job="job", kind="late").publish,
    )
    outlet(Rows(parts), 3)
    assert lines_in(out) == expected(plans, {"Trans": table.slice(125)})
    written = {line.rstrip("\n"): count for line, count in lines_in(late).items()}
    assert written == told(table.slice(0, 125), 12.5, ["Alone", "ByAccount", "ByDevice"])
    assert [path.name for path in late.glob("*.jsonl")] == ["late-job-000000003-00000.jsonl"]


class Rows:
    """What tasks staged, as Spark hands it over."""

    def __init__(self, parts: Sequence[Staged]) -> None:
        self.parts = parts

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        return pa.Table.from_pylist([part._asdict() for part in self.parts])


# --- where they may go ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("late", "said"),
    [
        ("-", "--late -: expected kafka:TOPIC or a directory"),
        ("out", "--late out: expected a directory of its own, found that of --out"),
        ("out/../in/late", "--late out/../in/late: expected a directory of its own, found that of --in Trans"),
        ("s3://bucket/late", "--late s3://bucket/late: expected a directory on a mounted file system"),
        ("kafka:late", "kafka:late needs --bootstrap"),
        ("file", "--late file: File exists"),
    ],
)
def test_an_end_that_is_no_end_for_late_events_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(JobError) as refused:
        _check_ends(Job(inputs={"Trans": "in"}, out="out", checkpoint="checkpoint", late=late))
    assert str(refused.value).startswith(said)


def test_a_topic_of_events_or_matches_is_refused_before_anybody_is_asked() -> None:
    for late, other in (("kafka:a", "--in Trans"), ("kafka:b", "--out")):
        job = Job(inputs={"Trans": "kafka:a"}, out="kafka:b", checkpoint="c", bootstrap="127.0.0.1:1", late=late)
        with pytest.raises(JobError, match=f"--late {late}: expected a topic of its own, found that of {other}"):
            _check_ends(job)


def test_the_command_line_and_the_file_say_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    jobs: list[Job] = []
    monkeypatch.setattr(cli, "_run", lambda job, *_: jobs.append(job) or 0)
    (tmp_path / "p.cep").write_text(TWO_KEYS)
    (tmp_path / "job.toml").write_text('late = "kafka:late"\n')
    line = [str(tmp_path / "p.cep"), "--in", "Trans=x", "--checkpoint", "c"]
    for more in ([], ["--late", "dir"], ["--config", str(tmp_path / "job.toml")]):
        assert CliRunner().invoke(cli.run, [*line, *more]).exit_code == 0
    assert [job.late for job in jobs] == [None, "dir", "kafka:late"]


# --- a job ---------------------------------------------------------------------------------------------------------


def test_a_job_writes_each_late_event_once_whatever_is_repeated(spark: SparkSession, tmp_path: Path) -> None:
    plans = compiled(TWO_KEYS)
    first, second, third = events(*range(100)), events(30, 95, 85.5, start=100), events(200, 40, start=200)
    out, late, checkpoint = tmp_path / "out", tmp_path / "late", tmp_path / "checkpoint"

    def run() -> int:
        job = Job(
            inputs={"Trans": str(tmp_path / "Trans")},
            out=str(out),
            late=str(late),
            checkpoint=str(checkpoint),
            once=True,
            buckets=2,
            max_files=1,
            restart=f"on-failure:{ATTEMPTS}",
        )
        return sum(batch.late for batch in run_job(spark, job, plans))

    source = str(tmp_path / "Trans")
    names = ["Alone", "ByAccount", "ByDevice"]
    dropped = told(second.slice(0, 1), 89, names, source=source) + told(second.slice(2), 89, names, source=source)

    def written() -> Counter[str]:
        return Counter({line.rstrip("\n"): count for line, count in lines_in(late).items()})

    write_parts(tmp_path / "Trans", [first, second])
    assert run() == 2
    assert written() == dropped
    # As if the driver was killed before Spark wrote down that the last batch, which has them, is done.
    newest = max(checkpoint.glob("commits/[0-9]*"), key=lambda path: int(path.name))
    newest.unlink()
    newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
    assert run() == 2
    assert written() == dropped
    write_parts(tmp_path / "Trans", [third], first=2)
    assert run() == 1
    assert written() == dropped + told(third.slice(1), 89, names, source=source)
    on_time = pa.concat_tables([first, second.slice(1, 1), third.slice(0, 1)])
    assert lines_in(out) == expected(plans, {"Trans": on_time})

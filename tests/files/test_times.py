"""Columns of times: declared formats, and events that are dated ahead of the clock."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cep.ir.model import Stream
from cep.ir.types import TimeFormat, Type
from connectors.files import BadRecordError, ErrorPolicy, Input
from connectors.files.times import OFF, TimeColumn, at_clock, max_ahead, of_json, readable, to_json

SECOND = 1_000_000
HOUR = 3600 * SECOND
NOON = 1_704_110_400 * SECOND  # 2024-01-01T12:00:00Z
EPOCH = {unit: TimeFormat("epoch", unit) for unit in ("SECOND", "MILLISECOND", "MICROSECOND", "NANOSECOND")}
LOG = TimeFormat("text", "%d/%b/%Y:%T %z")


def stream(written: TimeFormat | None = None) -> Stream:
    return Stream(
        name="S",
        columns=(("ts", Type.TIMESTAMP), ("x", Type.INT)),
        time="ts",
        formats=(("ts", written),) if written is not None else (),
    )


def events(path: Path, what: Stream, policy: ErrorPolicy | None = None, **limit: int) -> list[tuple[int | None, int]]:
    source = Input.find(what, str(path), max_ahead=limit.get("ahead"))
    source = Input(source.stream, source.files, source.columns, source.max_ahead, limit.get("now", 0))
    found = []
    for _, piece in source.pieces(policy or ErrorPolicy()):
        times = piece.batch.column("ts").cast(pa.int64()).to_pylist()
        found += list(zip(times, piece.batch.column("x").to_pylist(), strict=True))
    return found


def write(tmp_path: Path, kind: str, times: list[object]) -> Path:
    path = tmp_path / f"events.{kind}"
    if kind == "jsonl":
        path.write_text("".join(json.dumps({"ts": at, "x": x}) + "\n" for x, at in enumerate(times)))
    elif kind == "csv":
        path.write_text("ts,x\n" + "".join(f"{'' if at is None else at},{x}\n" for x, at in enumerate(times)))
    else:
        pq.write_table(pa.table({"ts": times, "x": list(range(len(times)))}), path)
    return path


KINDS = pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])


@KINDS
@pytest.mark.parametrize(
    ("unit", "times"),
    [
        ("SECOND", [1_704_110_400, None, 1_704_110_401]),
        ("SECOND", [1_704_110_400.0, None, 1_704_110_401.0]),
        ("MILLISECOND", [1_704_110_400_000, None, 1_704_110_401_000]),
        ("MICROSECOND", [NOON, None, NOON + SECOND]),
        ("NANOSECOND", [NOON * 1000 + 999, None, (NOON + SECOND) * 1000]),
    ],
)
def test_numbers_since_the_epoch(tmp_path: Path, kind: str, unit: str, times: list[object]) -> None:
    assert events(write(tmp_path, kind, times), stream(EPOCH[unit])) == [(NOON, 0), (None, 1), (NOON + SECOND, 2)]


@KINDS
def test_fractions_of_a_second(tmp_path: Path, kind: str) -> None:
    times = [1_704_110_400.5, 1_704_110_400.123456, 0.25]
    found = events(write(tmp_path, kind, times), stream(EPOCH["SECOND"]))
    assert [at for at, _ in found] == [NOON + 500_000, NOON + 123_456, 250_000]


@KINDS
def test_text_in_a_format(tmp_path: Path, kind: str) -> None:
    times = ["01/Jan/2024:13:00:00 +0100", None, "01/jan/2024:12:00:01 Z"]
    assert events(write(tmp_path, kind, times), stream(LOG)) == [(NOON, 0), (None, 1), (NOON + SECOND, 2)]


@KINDS
def test_what_does_not_fit_is_a_bad_record_that_names_the_format(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, kind, ["01/Jan/2024:12:00:00 Z", "2024-01-01T12:00:00Z", "01/Jan/2024:12:00:02 Z"])
    policy = ErrorPolicy("skip")
    assert events(path, stream(LOG), policy) == [(NOON, 0), (NOON + 2 * SECOND, 2)]
    assert policy.count == 1
    assert '"ts": expected TIMESTAMP (text, FORMAT \'%d/%b/%Y:%T %z\'), found "2024-01-01T12:00:00Z"' in str(
        policy.first
    )


@pytest.mark.parametrize("value", ['"1704110400"', "true", "[1]", "1e300", '"noon"'])
def test_json_that_is_no_number_of_seconds(tmp_path: Path, value: str) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(f'{{"ts": 1704110400, "x": 0}}\n{{"ts": {value}, "x": 1}}\n')
    policy = ErrorPolicy("skip")
    assert events(path, stream(EPOCH["SECOND"]), policy) == [(NOON, 0)]
    assert "EPOCH SECONDS" in str(policy.first)


def test_a_timestamp_of_parquet_needs_no_format(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    pq.write_table(pa.table({"ts": pa.array([NOON], pa.timestamp("us", "UTC")), "x": [0]}), path)
    assert events(path, stream(LOG)) == events(path, stream(EPOCH["SECOND"])) == [(NOON, 0)]


def test_a_verdict_does_not_depend_on_neighbours(tmp_path: Path) -> None:
    """A record alone (where Arrow reads it) and beside a bad one (where it is read exactly) is the same."""
    values = ["1704110400", "1704110400.5", "17041104000e-1", "-1", "0", "1.0000004e-6", "253402300799", "null", "NaN"]
    for value in values:
        line = f'{{"ts": {value}, "x": 1}}\n'
        alone, beside = tmp_path / "alone.jsonl", tmp_path / "beside.jsonl"
        alone.write_text(line)
        beside.write_text(line + "nonsense\n")
        assert events(alone, stream(EPOCH["SECOND"])) == events(beside, stream(EPOCH["SECOND"]), ErrorPolicy("skip")), (
            value
        )


# --- ahead of the clock --------------------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("written", [None, EPOCH["SECOND"]])
def test_an_event_ahead_of_the_clock_is_a_bad_record(tmp_path: Path, kind: str, written: TimeFormat | None) -> None:
    unit = SECOND if written is not None else 1000
    path = write(tmp_path, kind, [at // unit for at in (NOON, NOON + 2 * HOUR, NOON + HOUR)])
    policy = ErrorPolicy("skip")
    assert events(path, stream(written), policy, ahead=HOUR, now=NOON) == [(NOON, 0), (NOON + HOUR, 2)]
    assert policy.count == 1
    assert str(policy.first).endswith(
        '"ts": expected a time at most 1 HOUR after the clock of this machine, which says 2024-01-01T12:00:00Z '
        "(--max-ahead, MAX AHEAD), found 2024-01-01T14:00:00Z"
    )


@KINDS
def test_under_fail_the_first_ends_the_run_and_names_its_line(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, kind, [NOON // 1000, (NOON + 2 * HOUR) // 1000])
    with pytest.raises(BadRecordError, match="--max-ahead") as caught:
        events(path, stream(), ahead=HOUR, now=NOON)
    assert caught.value.line == (3 if kind == "csv" else 2)


def test_only_the_event_time_is_limited(tmp_path: Path) -> None:
    what = Stream(name="S", columns=(("ts", Type.TIMESTAMP), ("due", Type.TIMESTAMP), ("x", Type.INT)), time="ts")
    path = tmp_path / "e.jsonl"
    path.write_text('{"ts": 0, "due": "9000-01-01T00:00:00Z", "x": 1}\n')
    assert events(path, what, ahead=HOUR, now=NOON) == [(0, 1)]


def test_without_a_limit_any_time_is_an_event(tmp_path: Path) -> None:
    path = write(tmp_path, "jsonl", ["9000-01-01T00:00:00Z"])
    assert len(events(path, stream())) == 1


def test_which_limit_holds() -> None:
    silent, said = stream(), Stream(name="S", columns=stream().columns, time="ts", max_ahead=HOUR)
    assert (max_ahead(silent, None), max_ahead(silent, None, 24 * HOUR)) == (None, 24 * HOUR)
    assert (max_ahead(said, None), max_ahead(said, None, 24 * HOUR)) == (HOUR, HOUR)
    assert (max_ahead(said, 5), max_ahead(said, OFF, 24 * HOUR)) == (5, None)


def test_columns_pass_through_the_options_of_a_source() -> None:
    what = Stream(
        name="S",
        columns=(("ts", Type.TIMESTAMP), ("at", Type.TIMESTAMP), ("x", Type.INT)),
        time="ts",
        formats=(("at", LOG), ("ts", EPOCH["SECOND"])),
    )
    columns = readable(what, what.columns, HOUR)
    assert of_json(json.loads(json.dumps(to_json(columns)))) == columns
    assert at_clock(columns, NOON)[0] == ("ts", TimeColumn(EPOCH["SECOND"], HOUR, NOON))
    assert at_clock(columns, NOON)[1:] == columns[1:]

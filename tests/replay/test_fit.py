"""Data that do not fit their stream are told: columns missing or always NULL, events without time or key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cep.ir.model import Stream
from cep.ir.types import Type
from connectors.files import ErrorPolicy, Input
from connectors.files.fit import Seen, misfits

from .conftest import Cep, lines, write_events

PATTERN = """\
STREAM Login (ts TIMESTAMP, usr STRING, city STRING, unused INT) TIMESTAMP BY ts;
PATTERN Twice
  SEQ(Login a, Login b)
  WHERE a.usr = b.usr AND a.city <> b.city
  WITHIN 1 MINUTE
  RETURN a.usr AS usr;
"""
GOOD = [{"ts": 0, "usr": "u", "city": "A"}, {"ts": 1000, "usr": "u", "city": "B"}]


@pytest.fixture
def login(tmp_path: Path) -> Path:
    (tmp_path / "p.cep").write_text(PATTERN)
    return tmp_path


def write(path: Path, records: list[dict[str, Any]]) -> None:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif path.suffix == ".csv":
        rows = [",".join("" if value is None else str(value) for value in record.values()) for record in records]
        path.write_text("".join(line + "\n" for line in [",".join(records[0]), *rows]))
    else:
        write_events(path, records)


def renamed(**names: str) -> list[dict[str, Any]]:
    return [{names.get(key, key): value for key, value in record.items()} for record in GOOD]


MISSING = [
    (renamed(usr="User"), "no record has a column `usr`: did you mean `User`?"),
    (renamed(ts="TS", usr="USR"), "no record has a column `ts`: did you mean `TS`?"),
    (
        renamed(usr="account_number"),
        "no record has a column `usr` (columns that are there and not declared: `account_number`)",
    ),
    ([{**record, "usr": None} for record in GOOD], "column `usr` is NULL in all 2 events"),
    ([{**GOOD[0], "ts": None}, GOOD[1]], "1 of 2 events have no time (`ts` is NULL)"),
    ([GOOD[0], {**GOOD[1], "usr": None}], "1 of 2 events have no partition key (`usr` is NULL)"),
]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize(("records", "said"), MISSING)
def test_replay_tells_what_does_not_fit(login: Path, capfd: Any, records: Any, said: str, ending: str) -> None:
    from cep.cli import main

    write(login / f"e.{ending}", records)
    command = ["replay", str(login / "p.cep"), "--in", f"Login={login}/e.{ending}", "--out", str(login / "m.jsonl")]
    assert main(command) == 0
    err = capfd.readouterr().err
    assert f"warning: stream `Login`: {said}\n" in err
    assert "2 events, 0 matches" in err
    assert "unused" not in err, "a column that no pattern uses is no matter"
    assert main([*command, "--strict-schema"]) == 2
    assert f"Error: stream `Login`: {said}\n" in capfd.readouterr().err


def test_data_that_fit_are_not_talked_about(cep: Cep, login: Path) -> None:
    write_events(login / "e.jsonl", GOOD)
    done = cep("replay", "p.cep", "--in", "Login=e.jsonl", "--strict-schema")
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert len(lines(done.stdout)) == 1


def test_strict_or_not_the_matches_are_written(cep: Cep, login: Path) -> None:
    write_events(login / "e.jsonl", [*GOOD, {"ts": None, "usr": "u", "city": "C"}])
    done = cep("replay", "p.cep", "--in", "Login=e.jsonl", "--strict-schema", "--out", "m.parquet")
    assert done.returncode == 2
    assert "Error: stream `Login`: 1 of 3 events have no time (`ts` is NULL)" in done.stderr
    assert pq.read_table(login / "m.parquet").num_rows == 1


@pytest.mark.parametrize(
    ("record", "path"),
    [
        ({"ts": 0, "city": "A", "user": {"usr": "u"}}, "user.usr"),
        ({"ts": 0, "city": "A", "actor": {"user": {"usr": "u", "n": 1}}}, "actor.user.usr"),
    ],
)
def test_a_field_within_an_object_is_named_with_its_path(cep: Cep, login: Path, record: Any, path: str) -> None:
    write_events(login / "e.jsonl", [record])
    done = cep("replay", "p.cep", "--in", "Login=e.jsonl")
    assert (
        f"no record has a column `usr`: there is `{path}`, but fields within objects are not read yet; bring it to the "
        f"top, e.g. with jq -c '.usr = .{path}'" in done.stderr
    )


def test_inputs_of_one_stream_are_judged_together(cep: Cep, login: Path) -> None:
    write_events(login / "one.jsonl", [{"ts": 0, "usr": "u"}])
    write_events(login / "two.jsonl", [{"ts": 1, "usr": "u", "city": "B"}])
    done = cep("replay", "p.cep", "--in", "Login=one.jsonl", "--in", "Login=two.jsonl", "--strict-schema")
    assert done.returncode == 0, done.stderr


def test_a_csv_header_in_another_case_is_told(cep: Cep, login: Path) -> None:
    (login / "e.csv").write_text("TS,USR,CITY\n0,u,A\n")
    done = cep("replay", "p.cep", "--in", "Login=e.csv")
    assert done.returncode == 2
    assert (
        "expected a header with some of ts, usr, city, unused, found TS, USR, CITY: did you mean `ts`?" in done.stderr
    )


def test_cep_test_tells_and_with_strict_schema_fails(cep: Cep, login: Path) -> None:
    case = login / "cases" / "one"
    case.mkdir(parents=True)
    (case / "pattern.cep").write_text(PATTERN)
    write_events(case / "events.jsonl", renamed(usr="User"))
    (case / "expected.jsonl").write_text("")
    said = "stream `Login`: no record has a column `usr`: did you mean `User`?"
    done = cep("test", "cases")
    assert (done.returncode, done.stdout) == (0, "passed cases/one\n1 passed, 0 failed\n")
    assert done.stderr == f"warning: cases/one: {said}\n"
    done = cep("test", "cases", "--strict-schema")
    assert (done.returncode, done.stdout) == (1, f"FAILED cases/one\n  {said}\n0 passed, 1 failed\n")


def test_cep_test_looks_at_events_that_name_their_stream(cep: Cep, login: Path) -> None:
    case = login / "cases" / "two"
    case.mkdir(parents=True)
    text = (
        "STREAM A (n INT); STREAM B (n INT, m INT); PATTERN P AND(A a, B b) WHERE a.n = b.n UNBOUNDED RETURN a.n AS n;"
    )
    (case / "pattern.cep").write_text(text)
    write_events(case / "events.jsonl", [{"stream": "A", "n": 1}, {"stream": "B", "nn": 1}])
    (case / "expected.jsonl").write_text("")
    done = cep("test", "cases", "--strict-schema")
    assert done.returncode == 1
    assert "  stream `B`: no record has a column `n`: did you mean `nn`?\n" in done.stdout
    assert "`m`" not in done.stdout


def test_a_column_that_comes_late_in_a_large_file_is_found(tmp_path: Path) -> None:
    stream = Stream(name="S", columns=(("n", Type.INT), ("late", Type.INT)))
    records = [{"n": number, "x": "y" * 50} for number in range(5000)]
    records[4000]["late"] = None  # type: ignore[assignment]
    write_events(tmp_path / "e.jsonl", records)
    seen = Seen()
    rows = sum(piece.batch.num_rows for _, piece in Input.find(stream, str(tmp_path / "e.jsonl")).pieces(
        ErrorPolicy(), block=64 << 10, seen=seen
    ))  # fmt: skip
    assert rows == 5000
    assert misfits(stream, [], seen) == ["stream `S`: column `late` is NULL in all 5,000 events"]


def test_data_that_fit_are_not_parsed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(name="S", columns=(("n", Type.INT),))
    write_events(tmp_path / "e.jsonl", [{"n": 1, "other": 2}] * 100)
    monkeypatch.setattr(json, "loads", None)
    seen = Seen()
    list(Input.find(stream, str(tmp_path / "e.jsonl")).pieces(ErrorPolicy(), seen=seen))
    assert (seen.events, seen.values, seen.names) == (100, {"n": 100}, {})


def test_no_events_are_no_misfit(cep: Cep, login: Path) -> None:
    (login / "e.jsonl").write_text("")
    assert cep("replay", "p.cep", "--in", "Login=e.jsonl", "--strict-schema").returncode == 0

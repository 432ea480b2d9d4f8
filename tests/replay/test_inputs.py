"""Inputs of `cep replay` that are not what they seem, and directories of partitions."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cep.ir.model import Stream
from cep.ir.types import Type
from connectors.files import read_events

from .conftest import Cep, event, write_events

EVENTS = [event(0, "x", 1.0), event(1, "x", 2.0)]


@pytest.mark.parametrize(
    ("text", "found", "program"),
    [
        (json.dumps(EVENTS), "an array of objects", ".[]"),
        (json.dumps(EVENTS, indent=2), "an array of objects", ".[]"),
        ("\n [\n" + ",\n".join(map(json.dumps, EVENTS)) + "]\n", "an array of objects", ".[]"),
        ("[\n", "an array of objects", ".[]"),
        ("".join(json.dumps(item, indent=2) + "\n" for item in EVENTS), "an object over several lines", "."),
    ],
)
@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_json_that_is_not_lines_is_refused_with_the_way_to_convert_it(
    cep: Cep, folder: Path, text: str, found: str, program: str, on_error: str
) -> None:
    (folder / "e.json").write_text(text)
    done = cep("replay", "p.cep", "--in", "Trans=e.json", "--on-error", on_error)
    assert done.returncode == 2
    assert done.stderr == (
        f"Error: e.json: expected JSON Lines, one object a line, found {found}: convert it, e.g. with "
        f"jq -c '{program}' e.json > events.jsonl\n"
    )


def test_an_array_on_one_long_line_is_refused_before_it_is_read(cep: Cep, folder: Path) -> None:
    (folder / "e.json").write_text("[" + ",".join([json.dumps(EVENTS[0])] * 100_000))
    done = cep("replay", "p.cep", "--in", "Trans=e.json")
    assert "found an array of objects" in done.stderr


def test_a_line_with_an_array_of_numbers_is_a_bad_record(cep: Cep, folder: Path) -> None:
    (folder / "e.jsonl").write_text("[1, 2]\n" + json.dumps(EVENTS[0]) + "\n")
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--on-error", "skip")
    assert done.returncode == 0
    assert "1 event, 0 matches, 1 bad record" in done.stderr


def test_cep_test_refuses_an_array_too(cep: Cep, folder: Path) -> None:
    case = folder / "cases" / "one"
    case.mkdir(parents=True)
    (case / "pattern.cep").write_text(
        "STREAM A (n INT); STREAM B (n INT); PATTERN P AND(A a, B b) WHERE a.n = b.n UNBOUNDED;"
    )
    (case / "events.jsonl").write_text('[{"stream": "A", "n": 1}]')
    write_events(case / "expected.jsonl", [])
    done = cep("test", "cases")
    assert done.returncode == 1
    assert "found an array of objects: convert it" in done.stdout


# --- directories of partitions -------------------------------------------------------------------------------------

DAYS = """\
STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE, day STRING, shop INT) TIMESTAMP BY ts;
PATTERN Rise
  SEQ(Trans a, Trans b)
  WHERE a.acc = b.acc AND b.amnt > a.amnt
  WITHIN 2 DAYS
  RETURN a.day AS first, b.day AS last, b.shop AS shop;
"""


def write(path: Path, records: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    elif path.suffix == ".csv":
        path.write_text("ts,acc,amnt\n" + "".join(f"{r['ts']},{r['acc']},{r['amnt']}\n" for r in records))
    else:
        write_events(path, records)


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
@pytest.mark.parametrize("spec", ["data", "data/day=*/*/part*", "data/day=2024-03-0[12]/*/*"])
def test_directories_of_partitions_are_read_in_order_of_time(cep: Cep, folder: Path, ending: str, spec: str) -> None:
    (folder / "p.cep").write_text(DAYS)
    late = {"ts": "2024-03-02T00:00:00Z", "acc": "x", "amnt": 2.0}
    early = {"ts": "2024-03-01T12:00:00Z", "acc": "x", "amnt": 1.0}
    # The directory that comes first by name has the later event.
    write(folder / f"data/day=2024-03-01/shop=7/part-0.{ending}", [late])
    write(folder / f"data/day=2024-03-02/shop=__HIVE_DEFAULT_PARTITION__/part-0.{ending}", [early])
    write(folder / f"data/_temporary/day=2024-03-02/part-1.{ending}", [early])
    write(folder / f"data/archive/part-1.{ending}", [early])
    done = cep("replay", "p.cep", "--in", f"Trans={spec}")
    assert done.returncode == 0, done.stderr
    assert "2 events, 1 match" in done.stderr
    assert [json.loads(line)["fields"] for line in done.stdout.splitlines()] == [
        {"first": "2024-03-02", "last": "2024-03-01", "shop": 7}
    ]


def test_the_event_time_may_be_in_the_path(cep: Cep, folder: Path) -> None:
    write(folder / "data/ts=2024-03-02 01%3A00%3A00/e.jsonl", [{"acc": "x", "amnt": 2.0}])
    write(folder / "data/ts=2024-03-02/e.jsonl", [{"acc": "x", "amnt": 1.0, "ts": "1999-01-01"}])
    (folder / "p.cep").write_text(DAYS.replace("WITHIN 2 DAYS", "WITHIN 1 HOUR").replace("b.day", "b.ts"))
    done = cep("replay", "p.cep", "--in", "Trans=data", "--memory", "1MB")
    assert [json.loads(line)["fields"]["last"] for line in done.stdout.splitlines()] == ["2024-03-02T01:00:00Z"]


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_rows_are_counted_where_all_that_is_wanted_is_in_the_path(folder: Path, ending: str) -> None:
    stream = Stream(name="S", columns=(("n", Type.INT), ("day", Type.STRING)))
    path = folder / f"data/day=1/e.{ending}"
    path.parent.mkdir(parents=True)
    if ending == "parquet":
        pq.write_table(pa.table({"n": ["bad", "1"]}), path)
    else:
        path.write_text('{"n": "bad"}\n{"n": 1}\n' if ending == "jsonl" else "n\nbad\n1\n")
    batches = list(read_events(str(folder / "data"), stream, columns=["day"]))
    assert [row for batch in batches for row in batch.to_pylist()] == [{"day": "1"}, {"day": "1"}]


def test_a_directory_that_is_no_value_of_its_column_is_named(cep: Cep, folder: Path) -> None:
    (folder / "p.cep").write_text(DAYS)
    write(folder / "data/shop=seven/e.jsonl", [event(0, "x", 1.0)])
    done = cep("replay", "p.cep", "--in", "Trans=data")
    assert done.returncode == 2
    assert 'data/shop=seven/e.jsonl: directory "shop=seven": expected INT, found "seven"' in done.stderr


def test_files_in_other_directories_get_a_hint(cep: Cep, folder: Path) -> None:
    write(folder / "data/2024/e.jsonl", [event(0, "x", 1.0)])
    done = cep("replay", "p.cep", "--in", "Trans=data")
    assert done.returncode == 2
    assert (
        "in the directory, found none (directories within it are read where they are called NAME=VALUE; for "
        in done.stderr
    )
    assert "data/2024/e.jsonl use data/**/*.jsonl)" in done.stderr
    assert cep("replay", "p.cep", "--in", "Trans=data/**/*.jsonl").returncode == 0

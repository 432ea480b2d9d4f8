"""A record that takes an event back (`_sign`) is refused at every end, never counted as one more event."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cep.ir.model import Stream
from cep.ir.types import Type
from connectors.kafka.decode import decode

from .conftest import Cep, event, lines, write_events

EVENTS = [event(0, "x", 1.0), event(1, "x", 2.0)]
RECORDS = [*EVENTS, {**EVENTS[1], "_sign": -1}, event(2, "x", 3.0)]
REFUSED = '"_sign": expected no value, found'


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist([{"_sign": None, **record} for record in records]), path)
    elif path.suffix == ".csv":
        rows = [",".join(str(record.get(name, "")) for name in ("ts", "acc", "amnt", "_sign")) for record in records]
        path.write_text("ts,acc,amnt,_sign\n" + "".join(row + "\n" for row in rows))
    else:
        write_events(path, records)
    return path


@pytest.mark.parametrize(("name", "line"), [("e.jsonl", 3), ("e.csv", 4), ("e.parquet", 3)])
def test_replay_refuses_a_correction_and_says_what_to_do(cep: Cep, folder: Path, name: str, line: int) -> None:
    write(folder / name, RECORDS)
    done = cep("replay", "p.cep", "--in", f"Trans={name}", "--pattern", "Rise")
    assert done.returncode == 2
    assert f"{name}:{line}: {REFUSED}" in done.stderr
    assert "corrections are not read from records yet" in done.stderr


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv", "e.parquet"])
def test_a_refused_correction_goes_where_on_error_says(cep: Cep, folder: Path, name: str) -> None:
    write(folder / name, RECORDS)
    done = cep("replay", "p.cep", "--in", f"Trans={name}", "--pattern", "Rise", "--on-error", "dead-letter=bad.jsonl")
    assert done.returncode == 0, done.stderr
    assert "3 events, 3 matches, 1 bad record" in done.stderr
    (letter,) = lines((folder / "bad.jsonl").read_text())
    assert letter["error"].startswith(REFUSED)
    assert "_sign" in letter["raw"] or name == "e.csv"


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv", "e.parquet"])
def test_a_sign_without_a_value_is_no_correction(cep: Cep, folder: Path, name: str) -> None:
    write(folder / name, EVENTS if name != "e.jsonl" else [{**record, "_sign": None} for record in EVENTS])
    done = cep("replay", "p.cep", "--in", f"Trans={name}", "--pattern", "Rise")
    assert done.returncode == 0, done.stderr
    assert "2 events, 1 match" in done.stderr


@pytest.mark.parametrize("key", ['"_sign"', '"\\u005fsign"'])
def test_an_escape_does_not_hide_a_correction(cep: Cep, folder: Path, key: str) -> None:
    (folder / "e.jsonl").write_text(f'{{"ts": 0, "acc": "x", {key}: -1}}\n')
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl")
    assert done.returncode == 2
    assert f"e.jsonl:1: {REFUSED} -1" in done.stderr


@pytest.mark.parametrize("tagged", [False, True])
def test_cep_test_refuses_a_correction(cep: Cep, folder: Path, tagged: bool) -> None:
    case = folder / "cases" / "one"
    case.mkdir(parents=True)
    text = "STREAM A (n INT); STREAM B (n INT); PATTERN P AND(A a, B b) WHERE a.n = b.n UNBOUNDED;"
    records: list[dict[str, Any]] = [{"stream": "A", "n": 1}, {"stream": "B", "n": 1, "_sign": -1}]
    if not tagged:
        text, records = (
            "STREAM A (n INT); PATTERN P AND(A a, A b) WHERE a.n = b.n UNBOUNDED;",
            [{"n": 1}, {"n": 1, "_sign": -1}],
        )
    (case / "pattern.cep").write_text(text)
    write_events(case / "events.jsonl", records)
    (case / "expected.jsonl").write_text("")
    done = cep("test", "cases")
    assert done.returncode == 1
    assert f"events.jsonl:2: {REFUSED} -1" in done.stdout


def test_a_kafka_record_with_a_sign_is_refused() -> None:
    values = [json.dumps(record).encode() for record in RECORDS]
    _, errors = decode(pa.array(values, pa.binary()), [("acc", Type.STRING)])
    assert [error.row for error in errors] == [2]
    assert errors[0].reason.startswith(REFUSED)


def test_a_dataframe_with_a_sign_is_refused() -> None:
    from runtime.spark.errors import JobError
    from runtime.spark.flow.schema import fitted

    columns = (("acc", Type.STRING),)
    fields = [
        SimpleNamespace(name=name, dataType=SimpleNamespace(simpleString=lambda: "string")) for name in ("acc", "_sign")
    ]
    events: Any = SimpleNamespace(schema=SimpleNamespace(fields=fields))
    with pytest.raises(JobError, match="stream `Trans`: found a column `_sign`: corrections are not read yet"):
        fitted(events, Stream(name="Trans", columns=columns), columns)

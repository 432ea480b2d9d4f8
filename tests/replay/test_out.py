"""`cep replay --out`: the name's ending is the format, and every format says the same."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cep.compiler.pipeline import compile_source
from cep.source import Source
from connectors.files import match_files
from connectors.formats import MATCH_ENDINGS, MATCH_FORMATS

from .conftest import Cep, event, lines, write_events

MANY = """\
STREAM Trans (ts TIMESTAMP, acc STRING, amnt DOUBLE, n INT, ok BOOLEAN) TIMESTAMP BY ts;
PATTERN Every
  AND(Trans a, Trans b)
  WHERE a.acc = b.acc
  WITHIN 1 MINUTE
  RETURN a.acc AS acc, a.amnt AS amnt, b.n AS n, b.ok AS ok, b.ts - a.ts AS gap, a.ts AS start;
PATTERN Other
  SEQ(Trans a, Trans b)
  WITHIN 10 SECONDS
  RETURN a.acc AS acc, b.n AS second;
"""
EVENTS = [
    {"ts": "2024-01-01T00:00:00Z", "acc": 'say "x", y', "amnt": 1.0, "n": 1, "ok": True},
    {"ts": "2024-01-01T00:00:01.5Z", "acc": "", "amnt": 1e300, "n": None, "ok": False},
    {"ts": "2024-01-01T00:00:02.000001Z", "acc": 'say "x", y', "amnt": None, "n": -(2**63), "ok": None},
    {"ts": "2024-01-01T00:00:03Z", "acc": "two\nlines", "amnt": 0.1, "n": 2, "ok": True},
    {"ts": "2024-01-01T00:00:04Z", "acc": None, "amnt": 0.1, "n": 2, "ok": True},
]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    (tmp_path / "p.cep").write_text(MANY)
    write_events(tmp_path / "e.jsonl", EVENTS)
    return tmp_path


def replay(cep: Cep, out: str, *more: str) -> str:
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--out", out, *more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def flat(match: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """A match as a row of a table."""
    own = {name: match[name] for name in ("id", "pattern", "start", "end")}
    fields = {("fields.start" if name == "start" else name): value for name, value in match["fields"].items()}
    return {name: {**own, **fields}.get(name) for name in names}


def as_json(table: pa.Table) -> list[dict[str, Any]]:
    """Rows with times as JSON has them."""
    rows = table.to_pylist()
    for row in rows:
        for name in ("start", "end", "fields.start"):
            if row[name] is not None:
                text = row[name].isoformat(timespec="microseconds").replace("+00:00", "")
                whole = text.removesuffix("000000").rstrip(".")
                row[name] = (whole if "." not in whole else text.removesuffix("000")) + "Z"
    return rows


COLUMNS = ["id", "pattern", "start", "end", "acc", "amnt", "n", "ok", "gap", "fields.start", "second"]


@pytest.mark.parametrize("name", ["m.parquet", "m.pq", "m.arrow", "m.feather"])
def test_typed_files_hold_the_matches_of_json_lines_in_typed_columns(cep: Cep, many: Path, name: str) -> None:
    matches = lines(replay(cep, "-"))
    replay(cep, name)
    table = pa.ipc.open_file(many / name).read_all() if name[2:] in ("arrow", "feather") else pq.read_table(many / name)
    time = pa.timestamp("us", "UTC")
    assert table.schema.remove_metadata() == pa.schema(
        [
            ("id", pa.string()), ("pattern", pa.string()), ("start", time), ("end", time), ("acc", pa.string()),
            ("amnt", pa.float64()), ("n", pa.int64()), ("ok", pa.bool_()), ("gap", pa.int64()), ("fields.start", time),
            ("second", pa.int64()),
        ]
    )  # fmt: skip
    assert as_json(table) == [flat(match, COLUMNS) for match in matches]
    assert [item.name for item in many.iterdir() if item.name.startswith(".")] == []


def test_csv_holds_the_matches_of_json_lines(cep: Cep, many: Path) -> None:
    matches = lines(replay(cep, "-"))
    replay(cep, "m.csv")
    header, *rows = csv.reader((many / "m.csv").open(newline=""))
    assert header == COLUMNS

    def text(value: object) -> str:
        return "" if value is None else json.dumps(value) if isinstance(value, (bool, float)) else str(value)

    assert rows == [[text(value) for value in flat(match, COLUMNS).values()] for match in matches]
    assert ',"",' in (many / "m.csv").read_text(), "an empty text is no NULL"


def test_csv_of_matches_is_read_back_as_events(cep: Cep, many: Path) -> None:
    replay(cep, "m.csv", "--pattern", "Every")
    (many / "q.cep").write_text(
        "STREAM M (id STRING, start TIMESTAMP, acc STRING, amnt DOUBLE, n INT, ok BOOLEAN) TIMESTAMP BY start;"
        "PATTERN Q AND(M a, M b) WHERE a.id = b.id WITHIN 1 SECOND RETURN a.id AS id, a.acc AS acc, a.amnt AS amnt;"
    )
    done = cep("replay", "q.cep", "--in", "M=m.csv")
    assert done.returncode == 0, done.stderr
    found = sorted((m["fields"]["id"], m["fields"]["acc"], m["fields"]["amnt"]) for m in lines(done.stdout))
    matches = lines(replay(cep, "-", "--pattern", "Every"))
    assert found == sorted((m["id"], m["fields"]["acc"], m["fields"]["amnt"]) for m in matches)


@pytest.mark.parametrize("kind", MATCH_FORMATS)
def test_out_format_says_it_for_stdout_and_odd_names(cep: Cep, many: Path, kind: str) -> None:
    ending = {"jsonl": "jsonl", "csv": "csv", "parquet": "parquet", "arrow": "arrow"}[kind]
    replay(cep, f"m.{ending}")
    replay(cep, "m.odd", "--out-format", kind)
    assert (many / "m.odd").read_bytes() == (many / f"m.{ending}").read_bytes()
    if kind in ("jsonl", "csv"):
        assert replay(cep, "-", "--out-format", kind) == (many / f"m.{ending}").read_text()


def test_names_without_an_ending_and_devices_get_json_lines(cep: Cep, many: Path) -> None:
    replay(cep, "matches")
    assert lines((many / "matches").read_text()) == lines(replay(cep, "/dev/stdout"))


def test_an_unknown_ending_is_refused_with_those_that_are_known(cep: Cep, many: Path) -> None:
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--out", "m.xlsx")
    assert done.returncode == 2
    assert "m.xlsx: the name does not say a format: expected .jsonl" in done.stderr
    assert all(ending in done.stderr for ending in [*MATCH_ENDINGS, "--out-format"])
    assert not (many / "m.xlsx").exists()


def test_every_format_has_a_writer() -> None:
    assert set(match_files.MATCH_WRITERS) == set(MATCH_FORMATS) == set(MATCH_ENDINGS.values())


def test_fields_of_one_name_and_two_types_are_refused_before_anything_is_overwritten(cep: Cep, many: Path) -> None:
    (many / "p.cep").write_text(MANY.replace("b.n AS second", "b.amnt AS n"))
    (many / "m.csv").write_text("precious")
    for name in ("m.csv", "m.parquet"):
        done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--out", name)
        assert done.returncode == 2
        assert "field `n` is INT in pattern Every and DOUBLE in Other: rename one of them with AS" in done.stderr
        assert "--pattern" in done.stderr
    assert (many / "m.csv").read_text() == "precious"
    assert cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--out", "m.csv", "--pattern", "Other").returncode == 0
    assert cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--out", "m.jsonl").returncode == 0


@pytest.mark.parametrize("name", ["m.parquet", "m.arrow", "m.csv"])
def test_a_bad_record_leaves_a_file_with_the_matches_before_it(cep: Cep, folder: Path, name: str) -> None:
    (folder / "e.jsonl").write_text(
        "".join(json.dumps(event(n, f"x{n // 4}", float(n))) + "\n" for n in range(20_000)) + '{"amnt": "bad"}\n'
    )
    command = ("replay", "p.cep", "--in", "Trans=e.jsonl", "--arrival-order", "--memory", "1MB", "--pattern", "Rise")
    assert cep(*command, "--out", "m.jsonl").returncode == 2
    assert cep(*command, "--out", name).returncode == 2
    count = len(lines((folder / "m.jsonl").read_text()))
    assert count > 0
    if name == "m.csv":
        assert len((folder / name).read_text().splitlines()) == count + 1
    else:
        table = pq.read_table(folder / name) if name == "m.parquet" else pa.ipc.open_file(folder / name).read_all()
        assert table.num_rows == count


def test_a_file_that_must_be_whole_is_replaced_only_when_it_is(tmp_path: Path) -> None:
    plans = compile_source(Source("p.cep", MANY)).plans
    target = tmp_path / "m.parquet"
    target.write_text("the one before")

    def fail() -> None:
        with match_files.open_matches(str(target), "parquet", plans):
            assert target.read_text() == "the one before"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "the one before"
    assert list(tmp_path.iterdir()) == [target]
    with match_files.open_matches(str(target), "parquet", plans):
        pass
    assert pq.read_table(target).num_rows == 0


def test_rows_are_collected_to_large_row_groups(cep: Cep, folder: Path) -> None:
    rng = random.Random(3)
    write_events(folder / "e.jsonl", [event(n * 0.2, f"a{rng.randint(0, 3)}", rng.random()) for n in range(4000)])
    done = cep("replay", "p.cep", "--in", "Trans=e.jsonl", "--out", "m.parquet", "--batch-size", "100")
    assert done.returncode == 0, done.stderr
    file = pq.ParquetFile(folder / "m.parquet")
    assert file.metadata.num_rows > 100_000
    assert file.metadata.num_row_groups == -(-file.metadata.num_rows // match_files.ROWS)

"""The examples hold what they say: through the command, against SQL written by hand, and against what was planted."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from cep.cli import cli
from cep.diagnostics import Diagnostics
from cep.ir import ast
from cep.ir.expr import timestamp_text
from cep.ir.types import Type
from cep.source import Source
from cep.syntax.parse import parse
from cep.syntax.unparse import unparse, unparse_expr
from runtime.testing import canonical, case_events, compile_case, load_case, run_case

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/pattern.cep"))
SQL = Path(__file__).parent / "sql"

EXPECTED_WARNINGS = {
    "failed_logins": {"CEP0505"},  # a set is whole when its stream has moved on
    "port_scan": {"CEP0505"},
    "structuring_total": {"CEP0505"},
    "cash_out_any_way": {"CEP0505"},  # that nobody has confirmed is known when all streams have moved on
    "order_not_shipped": {"CEP0505"},  # whether an order was shipped is known when both streams have moved on
    "circular_transfers": {"CEP0503", "CEP0504"},  # a triangle, and no account takes part in all three transfers
    "front_running": {"CEP0504"},  # the first and the last trade are compared by price, all three by time
    "port_scan_then_connect": {"CEP0504"},  # the probes are compared with each other, and all with the connection
    "privilege_escalation_exfiltration": {"CEP0503"},  # joined by user here and by host there
    "structuring": {"CEP0504"},  # the sum of three amounts, and three different branches
}
_DATE = re.compile(r"\b2[0-9]{3}-[0-9]{2}-[0-9]{2}(?=T)")
SQL_TYPES = {
    Type.INT: "BIGINT",
    Type.DOUBLE: "DOUBLE",
    Type.STRING: "VARCHAR",
    Type.BOOLEAN: "BOOLEAN",
    Type.TIMESTAMP: "TIMESTAMP",
}


def cep(*arguments):
    return CliRunner().invoke(cli, list(map(str, arguments)), prog_name="cep")


def generator(name):
    return importlib.import_module(f"examples.{name}.generate")


def expected(name):
    lines = (EXAMPLES / name / "expected.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@cache
def plans(name):
    return compile_case(load_case(EXAMPLES / name)).plans


@cache
def files(name):
    """Stream to the file with its events."""
    streams = {stream.name: stream for plan in plans(name) for stream in plan.streams}
    found = {}
    for stream in streams:
        endings = [EXAMPLES / name / f"{stream}.jsonl", EXAMPLES / name / f"{stream}.csv"]
        found[stream] = next((path for path in endings if path.exists()), EXAMPLES / name / "events.jsonl")
    return streams, found


def test_there_are_the_patterns_that_practitioners_ask_for():
    assert len(NAMES) >= 13


def test_all_examples_pass_their_tests():
    result = cep("test", EXAMPLES)
    assert (result.exit_code, result.output.splitlines()[-1]) == (0, f"{len(NAMES)} passed, 0 failed")


def test_all_files_are_formatted():
    result = cep("fmt", "--check", *sorted(EXAMPLES.glob("*/*.cep")))
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("name", NAMES)
def test_validates_with_no_warning_but_the_expected(name):
    result = cep("validate", EXAMPLES / name / "pattern.cep", "--output-format", "json")
    (file,) = json.loads(result.stdout)["files"]
    assert result.exit_code == 0
    assert {item["code"] for item in file["diagnostics"]} == EXPECTED_WARNINGS.get(name, set())


@pytest.mark.parametrize("name", NAMES)
def test_the_generator_writes_the_files_that_are_there(name):
    module = generator(name)
    made = module.files() if hasattr(module, "files") else module.generate().files()
    there = {path.name for path in (EXAMPLES / name).iterdir() if path.suffix in (".jsonl", ".csv")}
    assert set(made) == there - {"expected.jsonl"}
    for file, text in made.items():
        path = EXAMPLES / name / file
        assert path.read_text(encoding="utf-8") == text, f"python -m examples.{name}.generate changes {file}"
        assert path.stat().st_size < 200_000


def test_recorded_data_lie_well_in_the_past():
    """Nothing may depend on the machine's date: an event ahead of its clock is not an event for `cep run`."""
    recorded = [*EXAMPLES.rglob("*.jsonl"), *EXAMPLES.rglob("*.csv"), *(ROOT / "tests" / "corpus").rglob("*.jsonl")]
    recorded += [*(ROOT / "cep" / "cli" / "templates").rglob("*.jsonl"), ROOT / "README.md", *ROOT.glob("docs/*.md")]
    dated = {str(path.relative_to(ROOT)): _DATE.findall(path.read_text(encoding="utf-8")) for path in recorded}
    assert {path: max(found) for path, found in dated.items() if found and max(found) > "2024-12-31"} == {}
    assert sum(map(len, dated.values())) > 20_000


@pytest.mark.parametrize("name", NAMES)
def test_what_was_planted_is_found_and_nothing_else(name):
    plants = generator(name).generate().plants
    assert sum(plant.matches > 0 for plant in plants) >= 2, "too few planted matches"
    assert sum(plant.matches == 0 for plant in plants) >= 4, "too few hard negatives"
    matches = expected(name)
    for plant in plants:
        found = [
            match
            for match in matches
            if match["pattern"] == plant.pattern and plant.fields.items() <= match["fields"].items()
        ]
        assert len(found) == plant.matches, f"{plant}: {found}"
    assert len(matches) == sum(plant.matches for plant in plants)


@pytest.mark.parametrize("name", NAMES)
def test_decoys_take_part_in_the_stream(name):
    """A hard negative whose name no event carries would pass by a typing error."""
    feed = generator(name).generate()
    values = {str(value) for events in feed.events.values() for event in events for value in event.values()}
    for plant in feed.plants:
        assert str(next(iter(plant.fields.values()))) in values, plant


@pytest.mark.parametrize("name", NAMES)
def test_sql_written_by_hand_gives_the_same(name):
    streams, paths = files(name)
    database = duckdb.connect(":memory:", config={"threads": 1})
    for stream, path in paths.items():
        types = ", ".join(f"'{column}': '{SQL_TYPES[type_]}'" for column, type_ in streams[stream].columns)
        read = "read_csv" if path.suffix == ".csv" else "read_json"
        database.execute(f"CREATE TABLE {stream} AS SELECT * FROM {read}('{path}', columns={{{types}}})")
    for plan in plans(name):
        query = database.execute((SQL / f"{plan.pattern}.sql").read_text(encoding="utf-8"))
        columns = [column for column, *_ in query.description]
        rows = [dict(zip(columns, map(json_value, row), strict=True)) for row in query.fetchall()]
        matches = [match for match in expected(name) if match["pattern"] == plan.pattern]
        if plan.distinct:
            assert Counter(map(canonical, rows)) == Counter({canonical(match["fields"]) for match in matches})
        else:
            ours = [{"_start": match["start"], "_end": match["end"], **match["fields"]} for match in matches]
            assert Counter(map(canonical, rows)) == Counter(map(canonical, ours))
        assert rows, f"{plan.pattern} finds nothing"


def json_value(value):
    if hasattr(value, "isoformat"):
        return timestamp_text(int((value - type(value)(1970, 1, 1)).total_seconds() * 1_000_000))
    return value


def test_every_query_belongs_to_a_pattern():
    patterns = {plan.pattern for name in NAMES for plan in plans(name)}
    assert {path.stem for path in SQL.glob("*.sql")} == patterns


@pytest.mark.parametrize("name", NAMES)
def test_arrival_order_and_batches_change_nothing(name):
    case = load_case(EXAMPLES / name)
    ids = {match["id"] for match in expected(name)}
    for batch_size in (1000, 64):
        outcome = run_case(case, batch_size=batch_size, arrival_order=True)
        assert {match["id"] for match in outcome.matches or ()} == ids


@pytest.mark.parametrize("name", NAMES)
def test_events_arrive_out_of_order(name):
    """Else the test of arrival order tests nothing."""
    events = case_events(load_case(EXAMPLES / name), list(files(name)[0].values()))
    times = [batch.column("ts").to_pylist() for batch in events.values()]
    assert any(one != sorted(one) for one in times)


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_is_short_and_its_command_finds_the_matches(name, tmp_path, monkeypatch):
    text = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
    assert "Hard elsewhere" in text
    assert len([line for line in text.splitlines() if line.strip()]) <= 16
    (block,) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    command, *arguments = shlex.split(block.replace("\\\n", " "))
    assert command == "cep"
    monkeypatch.chdir(ROOT)
    stats = tmp_path / "stats.json"
    result = cep(*arguments, "--arrival-order", "--stats", stats)
    assert result.exit_code == 0, result.output
    assert {json.loads(line)["id"] for line in result.stdout.splitlines()} == {match["id"] for match in expected(name)}
    assert json.loads(stats.read_text(encoding="utf-8"))["late"] == 0


def test_the_table_of_examples_lists_them_all():
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[(\w+)\]\(\1/README\.md\)", text, re.MULTILINE) == NAMES


def weaker(name):
    """Each pattern of an example without one of its conditions, or with a longer window: (what, text of the file)."""
    case = load_case(EXAMPLES / name)
    tree = parse(case.source, Diagnostics())
    for place, statement in enumerate(tree.statements):
        if not isinstance(statement, ast.PatternDecl):
            continue
        conjuncts = split(statement.where)
        changed = [
            (f"without {unparse_expr(part)}", replace(statement, where=joined([c for c in conjuncts if c is not part])))
            for part in conjuncts
        ]
        window = statement.window
        longer = replace(window, duration=replace(window.duration, count=window.duration.count * 1.1))
        changed.append(("with a longer window", replace(statement, window=longer)))
        for what, pattern in changed:
            statements = (*tree.statements[:place], pattern, *tree.statements[place + 1 :])
            yield f"{pattern.name.text} {what}", unparse(replace(tree, statements=statements))


def split(node):
    if isinstance(node, ast.Binary) and node.op.upper() == "AND":
        return [*split(node.left), *split(node.right)]
    return [] if node is None else [node]


def joined(conjuncts):
    if not conjuncts:
        return None
    result = conjuncts[0]
    for part in conjuncts[1:]:
        result = ast.Binary(span=result.span, op="AND", left=result, right=part)
    return result


@pytest.mark.parametrize("name", NAMES)
def test_the_hard_negatives_need_every_condition(name):
    """Take any condition away, or lengthen the window, and something matches that should not.

    With a NOT also what should match may not: a condition on what is absent is one more thing that it has to be.
    """
    case = load_case(EXAMPLES / name)
    wanted = len(expected(name))
    absent = any(plan.waits for plan in plans(name))
    for what, text in weaker(name):
        outcome = run_case(replace(case, source=Source(case.source.name, text)))
        assert outcome.matches is not None, f"{what}: {outcome.diagnostics}"
        assert len(outcome.matches) > wanted or (absent and len(outcome.matches) < wanted), what


# One process for all jobs: the second one finds a JVM that is warm.
RUN_ALL = """
import contextlib, json, sys
from cep.cli import main

for name, arguments, out in json.load(open(sys.argv[1])):
    with open(out, "w") as file, contextlib.redirect_stdout(file):
        status = main(arguments)
    if status:
        sys.exit(f"{name}: status {status}")
"""


@pytest.fixture(scope="module")
def spark_matches(tmp_path_factory):
    """The ids of the matches that `cep run` prints for each example."""
    where = tmp_path_factory.mktemp("jobs")
    jobs = []
    for name in NAMES:
        inputs = [part for stream, path in files(name)[1].items() for part in ("--in", f"{stream}={path}")]
        arguments = ["run", str(EXAMPLES / name / "pattern.cep"), *inputs, "--once", "--master", "local[2]"]
        jobs.append((name, [*arguments, "--checkpoint", str(where / name)], str(where / f"{name}.jsonl")))
    (where / "jobs.json").write_text(json.dumps(jobs))
    command = [sys.executable, "-c", RUN_ALL, str(where / "jobs.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return {name: [json.loads(line)["id"] for line in Path(out).read_text().splitlines()] for name, _, out in jobs}


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("name", NAMES)
def test_a_spark_job_gives_the_same_matches(name, spark_matches):
    assert sorted(spark_matches[name]) == sorted(match["id"] for match in expected(name))

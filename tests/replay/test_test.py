"""`cep test`: what passes, what fails, and how failures read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runtime.testing import CaseError, compare, find_cases, load_case, run_case

from .conftest import PATTERN, Cep, event, write_events

RISE = PATTERN[: PATTERN.index("PATTERN Twice")]
EXPECTED = {
    "pattern": "Rise",
    "start": "2024-01-01T00:00:00Z",
    "end": "2024-01-01T00:00:01Z",
    "fields": {"acc": "x", "low": 1, "high": 2, "at": "2024-01-01T00:00:01Z"},
}
TWO = """\
STREAM Login (at TIMESTAMP, usr STRING) TIMESTAMP BY at;
STREAM Pay (at TIMESTAMP, usr STRING, amnt INT) TIMESTAMP BY at;
PATTERN P SEQ(Login l, Pay p) WHERE l.usr = p.usr WITHIN 10 SECONDS RETURN p.amnt AS amnt;
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "cases" / "rise"
    path.mkdir(parents=True)
    (path / "pattern.cep").write_text(RISE)
    write_events(path / "events.jsonl", [event(0, "x", 1), event(1, "x", 2), event(0, "y", 1)])
    write_events(path / "expected.jsonl", [EXPECTED])
    return path


@pytest.mark.usefixtures("case")
def test_a_case_that_holds_passes(cep: Cep) -> None:
    done = cep("test", "cases")
    assert (done.returncode, done.stdout) == (0, "passed cases/rise\n1 passed, 0 failed\n"), done.stderr


@pytest.mark.parametrize("batch_size", [1, 2, 100])
@pytest.mark.parametrize("leave_out", ["", "id pattern", "start end", "pattern start"])
def test_an_expectation_may_say_less(case: Path, leave_out: str, batch_size: int) -> None:
    kept = {key: value for key, value in EXPECTED.items() if key not in leave_out.split()}
    write_events(case / "expected.jsonl", [kept])
    loaded = load_case(case)
    assert not compare(loaded, run_case(loaded, batch_size=batch_size))


@pytest.mark.parametrize(
    "change", [{"start": "2024-01-01T00:00:00.001Z"}, {"id": "00"}, {"pattern": "Other"}, {"fields": {"acc": "x"}}]
)
def test_what_is_said_is_compared(case: Path, change: dict[str, object]) -> None:
    write_events(case / "expected.jsonl", [EXPECTED | change])
    loaded = load_case(case)
    difference = compare(loaded, run_case(loaded))
    assert (len(difference.missing), len(difference.unexpected)) == (1, 1)


def test_matches_are_counted_not_collected(case: Path) -> None:
    write_events(case / "expected.jsonl", [EXPECTED, EXPECTED])
    loaded = load_case(case)
    difference = compare(loaded, run_case(loaded))
    assert (len(difference.missing), len(difference.unexpected)) == (1, 0)


def test_a_failure_shows_what_is_missing_and_what_is_too_much(cep: Cep, case: Path) -> None:
    wrong = [EXPECTED | {"fields": {**EXPECTED["fields"], "high": high}} for high in range(30, 55)]  # type: ignore[dict-item]
    write_events(case / "expected.jsonl", wrong)
    done = cep("test", "cases")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "FAILED cases/rise"
    assert lines[1] == "  25 missing:"
    assert lines[2].startswith('  - {"pattern": "Rise", "fields": {"acc": "x", "low": 1, "high": 30')
    assert lines[22] == "    and 5 more"
    assert lines[23] == "  1 unexpected:"
    assert lines[24].startswith('  + {"pattern": "Rise", "fields": {"acc": "x", "low": 1.0, "high": 2.0')
    assert lines[-1] == "0 passed, 1 failed"


def test_update_writes_what_comes_out_with_ids_and_then_passes(cep: Cep, case: Path) -> None:
    (case / "expected.jsonl").unlink()
    done = cep("test", "cases")
    assert done.returncode == 1
    assert "`cep test --update` writes one" in done.stdout
    assert cep("test", "cases", "--update").returncode == 0
    (written,) = (json.loads(line) for line in (case / "expected.jsonl").read_text().splitlines())
    assert len(written.pop("id")) == 32
    assert written == EXPECTED
    assert cep("test", "cases").returncode == 0


def test_update_leaves_alone_what_agrees_already(cep: Cep, case: Path) -> None:
    written = "# by hand\n" + (case / "expected.jsonl").read_text()
    (case / "expected.jsonl").write_text(written)
    assert cep("test", "cases", "--update").returncode == 0
    assert (case / "expected.jsonl").read_text() == written


@pytest.mark.parametrize(
    ("listed", "passes"),
    [
        ("CEP0203", True),
        ("CEP0203 9:29", True),
        ("CEP0203 9:29 unknown attribute `amount` on stream `Trans`", True),
        ("CEP0203 9:29 unknown attribute `amou", False),
        ("CEP0203 9:1", False),
        ("CEP0203 9:2", False),
        ("CEP0201", False),
        ("CEP0203\nCEP0203", False),
        ("", False),
    ],
)
def test_expected_errors_say_as_much_as_they_like(case: Path, listed: str, passes: bool) -> None:
    (case / "pattern.cep").write_text(RISE.replace("b.amnt >", "b.amount >"))
    (case / "expected.jsonl").unlink()
    (case / "expected.err").write_text(listed + "\n")
    loaded = load_case(case)
    assert (not compare(loaded, run_case(loaded))) == passes


def test_an_error_that_nobody_expected_fails_the_case_and_is_shown(cep: Cep, case: Path) -> None:
    (case / "pattern.cep").write_text(RISE.replace("b.amnt >", "b.amount >"))
    done = cep("test", "cases")
    assert done.returncode == 1
    assert "CEP0203 9:29 unknown attribute `amount` on stream `Trans`" in done.stdout


def test_several_streams_in_one_file_or_one_file_each(tmp_path: Path) -> None:
    (tmp_path / "pattern.cep").write_text(TWO)
    login, pay = {"at": 1000, "usr": "u"}, {"at": 2000, "usr": "u", "amnt": 7}
    write_events(tmp_path / "expected.jsonl", [{"fields": {"amnt": 7}}])
    write_events(tmp_path / "events.jsonl", [{"stream": "Login", **login}, {"stream": "Pay", **pay}])
    loaded = load_case(tmp_path)
    assert not compare(loaded, run_case(loaded))
    (tmp_path / "events.jsonl").unlink()
    write_events(tmp_path / "Login.jsonl", [login])
    (tmp_path / "Pay.csv").write_text("at,usr,amnt\n2000,u,7\n")
    assert not compare(loaded, run_case(loaded))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ['{"at": 1}'],
            'events.jsonl:1: "stream": expected one of Login, Pay, since the patterns read Login, Pay; found null',
        ),
        (['{"stream": "Login"}', '{"stream": "Pay", "amnt": "x"}'], 'events.jsonl:2: "amnt": expected INT, found "x"'),
        (["[]"], "events.jsonl:1: expected a JSON object, found an array"),
    ],
)
def test_bad_events_are_named(tmp_path: Path, lines: list[str], message: str) -> None:
    (tmp_path / "pattern.cep").write_text(TWO)
    (tmp_path / "events.jsonl").write_text("\n".join(lines))
    with pytest.raises(CaseError) as caught:
        run_case(load_case(tmp_path))
    assert str(caught.value).endswith(message)


def test_a_case_without_events_and_one_with_two_expectations(case: Path) -> None:
    (case / "events.jsonl").unlink()
    with pytest.raises(CaseError, match=r"no events of Trans: expected events\.jsonl or Trans\.jsonl"):
        run_case(load_case(case))
    (case / "expected.err").write_text("")
    with pytest.raises(CaseError, match=r"expected expected\.jsonl or expected\.err, found both"):
        load_case(case)


def test_cases_are_found_below_and_chosen_by_name(cep: Cep, case: Path, tmp_path: Path) -> None:
    for name in ("deep/er/one", "two", ".hidden/three"):
        folder = tmp_path / "cases" / name
        folder.mkdir(parents=True)
        for file in case.iterdir():
            (folder / file.name).write_text(file.read_text())
    assert [path.name for path in find_cases(tmp_path / "cases")] == ["one", "rise", "two"]
    assert cep("test", "cases", "-k", "one or two").stdout.splitlines()[-1] == "2 passed, 0 failed"
    assert cep("test", "cases", "-k", "not rise and not deep").stdout.splitlines() == [
        "passed cases/two",
        "1 passed, 0 failed",
    ]
    done = cep("test", "cases", "-k", "nothing")
    assert (done.returncode, done.stderr) == (2, "Error: no test matches -k 'nothing' in cases\n")


def test_no_directory_and_no_tests_are_bad_usage(cep: Cep, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert cep("test", "missing").returncode == 2
    done = cep("test", "empty")
    assert (done.returncode, done.stderr) == (2, "Error: no folder with a pattern.cep in empty\n")
